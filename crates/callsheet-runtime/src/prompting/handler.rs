//! Handlers of templates (spec "Templates" 1): the input of a handler becomes a prompt. Its files are read when the
//! call is made.

use std::collections::BTreeSet;

use callsheet_core::evaluate::{Entry, FILE_TOKENS, FILES_TOKENS, HandlerTask, Item};
use callsheet_core::fence::fence;
use callsheet_core::file_index::FileMatch;
use callsheet_core::issue::Issue;
use callsheet_core::nouns::{Reference, Target, ToolSpec};
use callsheet_core::prompt::Note;
use callsheet_core::record::Plan;
use callsheet_core::run::{NodeInstance, Run, SPAWN_SUBTASK, TaskRun};
use callsheet_core::template::{DataSource, DataSourceKind, OutputType, SchemaChoice, Template};
use callsheet_format::prompt::HandlerPrompt;
use callsheet_format::reading::{Answer, Lookup};
use serde_json::{Value, json};

use crate::fault::DriveFault;
use crate::paths::printable;
use crate::references::{Allowance, Resolved, Wanted, answer};
use crate::services::Services;

/// The sources of files, the strongest first (spec 5).
const STRENGTH: [&str; 4] = ["explicit_request", "template_literal", "template_command", "automatic_lookup"];

/// Characters that make a path a pattern.
pub(crate) const PATTERN: [char; 2] = ['*', '?'];

/// A handler's call, as far as it is known before its files are read.
pub(crate) struct HandlerInput {
    pub prompt: HandlerPrompt,
    pub wanted: Vec<Wanted>,
    pub fraction: Option<f64>,
    pub sources: Sources,
    /// JSON Schema of the declared output.
    pub declared: Option<Value>,
}

/// The sources of a prompt's files, for the notes of the result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// Names of sources from spec 5 with the paths from each, the strongest first.
    given: Vec<(&'static str, BTreeSet<String>)>,
    /// Whether the command that lists files failed.
    command_failed: bool,
    /// Targets that must exist, or the model is not asked.
    required: BTreeSet<String>,
    /// One of these patterns that matches nothing.
    unmatched: Option<String>,
    /// The source of the first file.
    pub word: &'static str,
    pub warnings: Vec<String>,
}

/// The task of the tree that a leaf belongs to, with the plan of its handler.
fn op_of<'a>(run: &'a Run, task: &TaskRun) -> Result<&'a NodeInstance, DriveFault> {
    let op = run.operators().get(&task.task.slug);
    op.ok_or_else(|| DriveFault::defect("a handler without a task of the tree"))
}

/// The recorded task of a handler.
pub(crate) fn handler_task(services: &Services, run: &Run, task: &TaskRun) -> Result<HandlerTask, DriveFault> {
    let Some(Plan::Handler(plan)) = op_of(run, task)?.opened.as_ref().map(|opened| &opened.plan) else {
        return Err(DriveFault::defect("a handler that was never opened"));
    };
    serde_json::from_slice(&services.store.blob(&plan.task)?).map_err(DriveFault::defect)
}

pub(crate) fn input(
    services: &Services,
    run: &Run,
    task: &TaskRun,
    text_tools: &[ToolSpec],
) -> Result<HandlerInput, DriveFault> {
    let op = op_of(run, task)?;
    let plan = handler_task(services, run, task)?;
    let issues = match &op.issues {
        Some(blob) => services.text(blob)?,
        None => String::new(),
    };
    let (wanted, sources) = files(services, &plan);
    let tools = if text_tools.is_empty() {
        String::new()
    } else {
        let instructions = callsheet_format::prompt::tool_instructions(text_tools);
        Note::LoopTextTools.fill(&[("tools", &instructions)])
    };
    let declared = declared(&plan);
    // This is not recorded with the task, because it may have changed since.
    let node = run.operators().node(op);
    let fraction = node.and_then(|node| node.limits.max_context_fraction);
    let mut prompt = prompt(&plan, tools, issues);
    prompt.task = super::texts::asked_again(run, task, &prompt.task);
    Ok(HandlerInput { prompt, wanted, fraction, sources, declared })
}

/// The maximum number of templates that a request for a subtask may name, and the maximum number of characters of
/// each description.
const LISTED: usize = 40;

const LINE: usize = 200;

/// The tools that a handler is offered. The tool that asks for subtasks lists the templates that can be named (spec
/// "Templates" 12).
pub(crate) fn offered(services: &Services, run: &Run, task: &TaskRun) -> Vec<ToolSpec> {
    let tools = task.skill.as_ref().map(|skill| skill.tools.as_slice()).unwrap_or_default();
    let mut offered = services.offered_tools(tools);
    let Some(spec) = offered.iter_mut().find(|tool| tool.name == SPAWN_SUBTASK) else { return offered };
    let named = |template: &&Template| {
        let of_others = matches!(template.body.subtype.as_str(), "director" | "evaluator" | "associative_matching");
        !of_others && !template.name.contains(':') && template.name != "default_atomic"
    };
    let tree = run.operators().get(&task.task.slug).and_then(|op| run.operators().tree_of(op));
    let templates = tree.into_iter().flat_map(|tree| tree.templates.values()).filter(named);
    let lines: Vec<String> = templates.take(LISTED).map(template_line).collect();
    if !lines.is_empty() {
        let listed = Note::SubtaskTemplates.fill(&[("templates", &lines.join("\n"))]);
        spec.description = format!("{}\n\n{}", spec.description.trim_end(), listed.trim_end());
    }
    offered
}

/// A template in the list for a model, without open placeholders.
fn template_line(template: &Template) -> String {
    let taken = template.takes();
    let takes = taken.iter().map(|input| format!("{}{}", input.name, if input.required { "" } else { "?" }));
    let takes = takes.collect::<Vec<_>>().join(", ");
    let words = template.body.intent.description.to_string().replace("{{", "<").replace("}}", ">");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("- {}({takes}): {}", template.name, words.chars().take(LINE).collect::<String>())
}

fn prompt(plan: &HandlerTask, tools: String, issues: String) -> HandlerPrompt {
    let inherited = plan.inherited.iter().filter_map(|item| match item {
        Item::Text { title, text } => Some((title.clone(), text.clone())),
        Item::File(_) | Item::Looked { .. } => None,
    });
    let earlier = plan.earlier.iter().flat_map(Entry::parts).map(|(label, text)| part(&label, &text));
    let mut expected = plan.expected_output.clone();
    if !plan.criteria.is_empty() {
        expected = [expected.trim(), plan.criteria.trim()].join("\n\n").trim().to_owned();
    }
    let task = if plan.instructions == plan.description {
        plan.description.clone()
    } else {
        format!("{}\n\n{}", plan.description.trim(), plan.instructions.trim())
    };
    HandlerPrompt {
        system: plan.system.clone(),
        tools,
        files: String::new(),
        inherited: inherited.collect(),
        earlier: earlier.collect::<String>().trim().to_owned(),
        related: related(plan),
        inputs: plan.inputs.clone(),
        task,
        expected,
        output_format: output_format(plan),
        issues,
    }
}

/// A part of an earlier output: one line, or a separate fence if it has several.
fn part(label: &str, text: &str) -> String {
    if text.contains(['\n', '\r']) {
        format!("\n### {label}\n\n{}\n\n", fence("text", text).trim_end())
    } else {
        format!("{label}: {text}\n")
    }
}

/// What was looked up: the fresh files with the reason for each, and what memory found. All of it is material.
fn related(plan: &HandlerTask) -> String {
    let mut lines: Vec<String> = Vec::new();
    for FileMatch(path, why) in plan.files.related.iter().chain(&plan.files.described) {
        let path = printable(path);
        lines.push(match why {
            Some(why) => format!("{path}: {}", printable(why)),
            None => path,
        });
    }
    let said = [lines.join("\n"), plan.related.trim().to_owned()];
    said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The declared contract (spec 7.5), or the form for changes.
fn output_format(plan: &HandlerTask) -> String {
    if plan.writes {
        return Note::OutputChanges.text().to_owned();
    }
    if plan.output.as_ref().is_none_or(|output| output.form != OutputType::Json) {
        return String::new();
    }
    let schema = declared(plan).map(|schema| fence("json", &schema.to_string())).unwrap_or_default();
    Note::OutputJson.fill(&[("schema", schema.trim_end())]).trim_end().to_owned()
}

/// The declared contract as a JSON Schema, for providers that can constrain a reply to one (spec 7.5). `None` if any
/// text or any JSON is allowed.
fn declared(plan: &HandlerTask) -> Option<Value> {
    let output = plan.output.as_ref().filter(|output| output.form == OutputType::Json)?;
    match (&plan.schema, &output.schema) {
        (Some(schema), _) => Some(schema.clone()),
        (None, Some(SchemaChoice::Type(kind))) => match kind.as_str() {
            "object" => Some(json!({ "type": "object" })),
            "array" | "[]" => Some(json!({ "type": "array" })),
            "string[]" => Some(json!({ "type": "array", "items": { "type": "string" } })),
            "number" => Some(json!({ "type": "number" })),
            "boolean" => Some(json!({ "type": "boolean" })),
            "string" => Some(json!({ "type": "string" })),
            _ => None,
        },
        _ => None,
    }
}

/// References to the files that a handler wants, with patterns expanded. A missing file causes a warning (spec 5).
fn files(services: &Services, plan: &HandlerTask) -> (Vec<Wanted>, Sources) {
    let wanted_files = &plan.files;
    let mut sources = Sources { command_failed: wanted_files.command_error.is_some(), ..Sources::default() };
    let target = |path: &String| Target::File { path: path.clone(), fragment: None }.to_string();
    sources.required = wanted_files.required.iter().filter(|_| !wanted_files.explicit).map(target).collect();
    let found = |matches: &[FileMatch]| matches.iter().map(|found| found.0.clone()).collect::<Vec<String>>();
    let own = expanded(services, &wanted_files.paths, &mut sources);
    let asked = if wanted_files.explicit { "explicit_request" } else { "template_literal" };
    let given = [
        (asked, own),
        ("template_command", wanted_files.printed.clone()),
        ("explicit_request", wanted_files.inherited.clone()),
        ("automatic_lookup", found(&wanted_files.related)),
        ("deferred_lookup", found(&wanted_files.described)),
    ];
    sources.warnings.extend(wanted_files.command_error.clone());
    let mut seen = BTreeSet::new();
    let mut wanted = Vec::new();
    for (word, paths) in given {
        let mut targets = BTreeSet::new();
        for path in paths {
            let real =
                services.workspace.locate(&path).map_or_else(|_| path.clone(), |located| located.path().to_owned());
            let target = Target::File { path: path.clone(), fragment: None };
            targets.extend([target.to_string(), Target::File { path: real.clone(), fragment: None }.to_string()]);
            if seen.insert(real) {
                wanted.push(Wanted { reference: Reference { title: String::new(), target }, carried: false });
            }
        }
        sources.given.push((word, targets));
    }
    let strength = |word: &str| STRENGTH.iter().position(|known| *known == word).unwrap_or(STRENGTH.len());
    sources.given.sort_by_key(|(word, _)| strength(word));
    (wanted, sources)
}

/// Files that a pattern matches.
pub(crate) fn matching(services: &Services, pattern: &str) -> Vec<String> {
    let found = answer(&[Lookup::Glob(pattern.to_owned())], services.disk());
    let matched = found.into_values().filter_map(|answer| match answer {
        Answer::Matches(matched) => Some(matched),
        _ => None,
    });
    matched.flatten().collect()
}

/// Patterns, expanded to the files that they match. A pattern without a match counts like a missing file.
fn expanded(services: &Services, wished: &[String], sources: &mut Sources) -> Vec<String> {
    let mut paths = Vec::new();
    for path in wished {
        if !path.contains(PATTERN) {
            paths.push(path.clone());
            continue;
        }
        let matched = matching(services, path);
        if matched.is_empty() {
            let target = Target::File { path: path.clone(), fragment: None }.to_string();
            if sources.required.contains(&target) {
                sources.unmatched.get_or_insert_with(|| path.clone());
            }
            sources.warnings.push(format!("no file matches {path}"));
        }
        paths.extend(matched);
    }
    paths
}

/// The budget of a handler's files.
pub(crate) fn allowance(window: u32, scale: f64) -> Allowance {
    let budget =
        callsheet_core::nouns::Budget { reference: FILE_TOKENS, prompt: FILES_TOKENS, material: 0, preview: 0 };
    Allowance::new(&budget, None, Some(window), scale)
}

/// The first missing file that an author or the caller named.
pub(crate) fn lost_file(resolved: &Resolved, sources: &Sources) -> Option<String> {
    let required = |issue: &&Issue| issue.place.item.as_ref().is_some_and(|item| sources.required.contains(item));
    let unmatched = sources.unmatched.as_ref().map(|pattern| format!("no file matches {pattern}"));
    unmatched.or_else(|| resolved.issues.iter().find(required).map(ToString::to_string))
}

/// Which files a prompt showed, with warnings about missing ones.
pub(crate) fn shown(resolved: &Resolved, sources: &mut Sources) -> Vec<DataSource> {
    for issue in &resolved.issues {
        sources.warnings.push(issue.what.clone());
    }
    let gave = |targets: &BTreeSet<String>| resolved.blocks.iter().any(|block| targets.contains(&block.target));
    let strongest = sources.given.iter().find(|(_, targets)| gave(targets)).map(|(word, _)| *word);
    let wished = sources.given.iter().any(|(_, targets)| !targets.is_empty()) || !sources.warnings.is_empty();
    sources.word = match strongest {
        Some(word) => word,
        None if sources.command_failed => "template_command_error",
        None if wished => "resolution_failed",
        None => "none",
    };
    let is_looked_up = |target: &String| {
        let of = sources.given.iter().find(|(_, targets)| targets.contains(target));
        of.is_some_and(|(word, _)| matches!(*word, "automatic_lookup" | "deferred_lookup"))
    };
    let source = |block: &crate::references::Block| DataSource {
        kind: if is_looked_up(&block.target) { DataSourceKind::Fresh } else { DataSourceKind::File },
        name: block.target.clone(),
        bytes: u64::try_from(block.text.len()).unwrap_or(u64::MAX),
        truncated: !block.whole,
    };
    resolved.blocks.iter().map(source).collect()
}
