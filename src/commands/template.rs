//! `template check`, `template list`, `template show`, `template match`.

use std::path::{Path, PathBuf};

use callsheet_app::Advice;
use callsheet_core::fuzzy::did_you_mean;
use callsheet_core::template::{Issue, Node, Query, Role, Settings, Severity, match_all_templates, match_templates};
use callsheet_format::template::{Loaded, is_yaml, print_short, print_templates, read_text};
use callsheet_runtime::templates::{
    LoadedTemplates, TemplateDirs, UnreadableTemplate, check_templates, load_templates,
};
use callsheet_runtime::trust::Trusted;
use serde_json::json;

use crate::cli::{Exit, Failure, TemplateCheckArgs, TemplateCommand, TemplateMatchArgs, TemplateShowArgs};
use crate::left_out::{left_out_words, why_left_out};
use crate::library::{known, load};
use crate::setup::Setup;
use crate::term::{harmless, one_line};
use crate::wiring::template_dirs;

pub(super) fn template(setup: &Setup, command: &TemplateCommand) -> Result<Exit, Failure> {
    match command {
        TemplateCommand::Check(arguments) => check(setup, arguments),
        TemplateCommand::List => list(setup),
        TemplateCommand::Show(arguments) => show(setup, arguments),
        TemplateCommand::Match(arguments) => rank(setup, arguments),
        TemplateCommand::Run(arguments) => super::template_run::run(setup, arguments, None),
        TemplateCommand::New(arguments) => super::template_new::new(setup, arguments),
        TemplateCommand::Fmt(arguments) => super::template_fmt::fmt(setup, arguments),
        TemplateCommand::Schema => super::template_fmt::schema(),
    }
}

fn check(setup: &Setup, arguments: &TemplateCheckArgs) -> Result<Exit, Failure> {
    if let Some(path) = arguments.paths.iter().find(|path| !path.exists()) {
        return Err(Failure::usage(format!("{} does not exist", path.display()), near_files(path)));
    }
    // Checking a file does not use it, so trust is not required.
    let dirs = TemplateDirs { trusted: Trusted::everything(), ..template_dirs(setup) };
    let (known, strict) = (known(setup), arguments.strict);
    let (issues, unreadable) = if arguments.paths.is_empty() {
        let loaded = load_templates(&dirs, &known, strict);
        (loaded.library.issues().to_vec(), loaded.unreadable)
    } else {
        let paths: Vec<&Path> = arguments.paths.iter().map(PathBuf::as_path).collect();
        let checked = check_templates(&paths, &dirs, &known, strict);
        if checked.files == 0 && checked.unreadable.is_empty() {
            return Err(Failure::usage("found no template file", "templates end in .yaml or .xml"));
        }
        (checked.issues, checked.unreadable)
    };
    let blocked = report(setup, &issues, &unreadable, strict)?;
    if issues.is_empty() && unreadable.is_empty() && !setup.json {
        tell!("no issues");
    }
    Ok(if blocked { Exit::Usage } else { Exit::Complete })
}

/// Prints all issues. Returns whether one blocks.
fn report(setup: &Setup, issues: &[Issue], unreadable: &[UnreadableTemplate], strict: bool) -> Result<bool, Failure> {
    let mut blocked = !unreadable.is_empty();
    for issue in issues {
        let mut issue = issue.clone();
        if issue.blocks(strict) {
            issue.severity = Severity::Error;
            blocked = true;
        }
        if setup.json {
            super::print_json(&issue)?;
        } else {
            super::print(&format!("{issue}\n"))?;
        }
    }
    for file in unreadable {
        tell!("{}: {}", file.file, file.reason);
    }
    Ok(blocked)
}

fn list(setup: &Setup) -> Result<Exit, Failure> {
    let loaded = load(setup)?;
    for known in loaded.library.templates() {
        let template = &known.template;
        let params: Option<Vec<&str>> =
            template.params.as_ref().map(|params| params.iter().map(|param| param.name.as_str()).collect());
        let description = template.body.intent.description.to_string();
        if setup.json {
            super::print_json(&json!({
                "name": template.name, "type": template.body.kind.word(), "params": params, "tags": template.tags,
                "returns": template.returns, "layer": known.layer.as_str(), "file": template.origin.file,
                "description": description,
            }))?;
            continue;
        }
        let form = params.map(|params| format!("({})", params.join(", "))).unwrap_or_default();
        let (kind, file) = (template.body.kind.word(), harmless(&template.origin.file));
        super::print(&format!("{}{form}: {kind}, {file}\n  {}\n", template.name, one_line(&description, 300)))?;
    }
    for name in loaded.library.unavailable() {
        tell!("{} has errors; `{} template check` lists them", one_line(name, 64), setup.command);
    }
    for file in &loaded.unreadable {
        tell!("{}: {}", file.file, file.reason);
    }
    if let Some(words) = left_out_words(setup, &loaded.left_out) {
        tell!("{words}");
    }
    let sound = loaded.library.unavailable().is_empty() && loaded.unreadable.is_empty();
    Ok(if sound { Exit::Complete } else { Exit::Usage })
}

fn show(setup: &Setup, arguments: &TemplateShowArgs) -> Result<Exit, Failure> {
    let Some(name) = arguments.name.as_deref() else {
        heading(setup, "operator")?;
        for role in Role::all() {
            settings_row(setup, "operator", role.words, role.settings, role.gathers)?;
        }
        return Ok(Exit::Complete);
    };
    let loaded = load(setup)?;
    let Some(known) = loaded.library.get(name) else { return Err(unknown(setup, &loaded, name)) };
    if arguments.defaults {
        return in_force(setup, known).map(|()| Exit::Complete);
    }
    if setup.json {
        super::print_json(&known.template)?;
    } else {
        let short = is_yaml(&known.template.origin.file);
        let text = if short { print_short([&known.template]).0 } else { print_templates([&known.template]) };
        super::print(&harmless(&text))?;
        tell!("from {} ({})", known.template.origin.file, known.layer.as_str());
    }
    Ok(Exit::Complete)
}

fn unknown(setup: &Setup, loaded: &LoadedTemplates, name: &str) -> Failure {
    if let Some(failure) = why_left_out(setup, &loaded.left_out, "template", name) {
        return failure;
    }
    if loaded.library.unavailable().contains(name) {
        let what = format!("the template {} has errors", one_line(name, 64));
        return Failure::usage(what, Advice::command("list them", ["template", "check"]));
    }
    let names = loaded.library.templates().map(|known| known.template.name.as_str());
    let near = callsheet_core::fuzzy::did_you_mean(name, names);
    let near = if near.is_empty() { list_templates() } else { near.into() };
    Failure::usage(format!("there is no template {}", one_line(name, 64)), near)
}

/// Advice to choose among the templates that there are.
pub(super) fn list_templates() -> Advice {
    Advice::command("list all templates", ["template", "list"])
}

/// Prints one row of the table of context settings (spec 5). The parts of a reduce collect no outputs of their own.
fn settings_row(setup: &Setup, key: &str, name: &str, settings: Settings, gathers: bool) -> Result<(), Failure> {
    let fresh = if settings.fresh_context { "enabled" } else { "disabled" };
    let inherit = settings.inherit_context.as_str();
    let kept = gathers.then_some(settings.accumulate_data);
    let format = gathers.then(|| settings.accumulation_format.as_str());
    if setup.json {
        return super::print_json(&json!({
            key: name, "inherit_context": inherit, "accumulate_data": kept, "accumulation_format": format,
            "fresh_context": fresh,
        }));
    }
    let kept = kept.map_or("-".to_owned(), |kept| kept.to_string());
    row([name, inherit, &kept, format.unwrap_or("-"), fresh])
}

fn row([name, inherit, kept, format, fresh]: [&str; 5]) -> Result<(), Failure> {
    let name = one_line(name, 200);
    super::print(&format!("{name:<26} {inherit:<15} {kept:<15} {format:<19} {fresh}\n"))
}

fn heading(setup: &Setup, first: &str) -> Result<(), Failure> {
    let names = [first, "inherit_context", "accumulate_data", "accumulation_format", "fresh_context"];
    if setup.json { Ok(()) } else { row(names) }
}

/// Prints the settings of every task of a template.
fn in_force(setup: &Setup, known: &Loaded) -> Result<(), Failure> {
    heading(setup, "task")?;
    let mut open = vec![(known.template.name.clone(), &known.template.body)];
    while let Some((path, node)) = open.pop() {
        if !node.kind.facts().transparent {
            settings_row(setup, "task", &path, node.context.settings, true)?;
        }
        let mut children = node.children();
        children.reverse();
        let label = |child: &Node| child.id.clone().unwrap_or_else(|| child.kind.word().to_owned());
        open.extend(children.into_iter().map(|child| (format!("{path}/{}", label(child)), child)));
    }
    Ok(())
}

/// Advice with similar file names in the folder of a missing file.
pub(super) fn near_files(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = beside.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    did_you_mean(&name, names.iter().map(String::as_str))
}

/// The query from the task at `FILE#ID`, and the name of its template.
fn node_query(node: &str) -> Result<(Query, String), Failure> {
    let (file, id) = node.rsplit_once('#').unwrap_or((node, ""));
    let text = std::fs::read_to_string(file).map_err(|error| {
        let near = near_files(Path::new(file));
        let advice = if near.is_empty() { "name a template file: FILE#ID".to_owned() } else { near };
        Failure::usage(format!("can't read {file}: {error}"), advice)
    })?;
    let templates = read_text(file, &text).templates;
    let named = templates.iter().find(|template| template.name == id || id.is_empty() && templates.len() == 1);
    if let Some(template) = named {
        return Ok((Query::of_template(template), template.name.clone()));
    }
    let tasks =
        || templates.iter().flat_map(|template| template.body.walk().into_iter().map(move |node| (template, node)));
    if let Some((template, node)) = tasks().find(|(_, node)| node.id.as_deref() == Some(id)) {
        return Ok((Query::of_node(node), template.name.clone()));
    }
    let ids = tasks().filter_map(|(_, node)| node.id.as_deref());
    let known: Vec<&str> = templates.iter().map(|template| template.name.as_str()).chain(ids).collect();
    let near = callsheet_core::fuzzy::did_you_mean(id, known.iter().copied());
    let has = if known.is_empty() { "it has no tasks".to_owned() } else { format!("it has: {}", known.join(", ")) };
    let what = format!("{} has no task {}", one_line(file, 200), one_line(id, 64));
    Err(Failure::usage(what, if near.is_empty() { one_line(&has, 600) } else { near }))
}

fn rank(setup: &Setup, arguments: &TemplateMatchArgs) -> Result<Exit, Failure> {
    let loaded = load(setup)?;
    let (query, own) = match &arguments.node {
        Some(node) => node_query(node)?,
        None => (Query::of_text(&arguments.text.join(" ")), String::new()),
    };
    let templates = loaded.library.templates().map(|known| &known.template).filter(|template| template.name != own);
    let rows = if arguments.all { match_all_templates(templates, &query) } else { match_templates(templates, &query) };
    if rows.is_empty() && !setup.json {
        let call = &setup.command;
        let more = format!("`{call} template match --all` searches every operator; ");
        let more = if arguments.all { String::new() } else { more };
        tell!("no template matches; {more}`{call} template list` lists all templates");
    }
    for row in rows {
        if setup.json {
            super::print_json(&row)?;
            continue;
        }
        let terms = row.matched_terms.join(", ");
        let needs = match row.missing_inputs.as_slice() {
            [] => String::new(),
            names => format!("; needs {}", names.join(", ")),
        };
        super::print(&format!("{:.6} {} ({terms}{needs})\n", row.score, row.template))?;
    }
    Ok(Exit::Complete)
}
