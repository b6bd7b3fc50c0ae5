//! `grants`: lists, adds and revokes permissions of commands that last longer than one answer.

use std::path::{Component, Path, PathBuf};

use callsheet_app::{Advice, RunView};
use callsheet_core::nouns::Slug;
use callsheet_core::visible::visible_line;
use callsheet_runtime::grants::{CommandCall, CommandLine, Grant, GrantedThing, Scope, ToolGrant, file_pattern};
use callsheet_runtime::paths::{Workspace, plain};
use callsheet_runtime::ports::{Clock, SystemClock};
use callsheet_runtime::transport_policy::withheld;

use crate::cli::{Exit, Failure, GrantsAddArgs, GrantsArgs, GrantsCommand, GrantsWhat};
use crate::setup::{Setup, civil, find_run, recorded};
use crate::wiring::{from_home, tool_specs};

pub(super) fn grants(setup: &Setup, arguments: &GrantsArgs) -> Result<Exit, Failure> {
    #[cfg(feature = "cluster")]
    if let Some(on) = &setup.on {
        return super::on_cluster::grants(setup, on, arguments.command.as_ref());
    }
    match &arguments.command {
        None => list(setup)?,
        Some(GrantsCommand::Add(add)) => {
            let scope = scope(setup, add)?;
            if matches!(add.what, GrantsWhat::Script) && scope.task.is_none() {
                return Err(Failure::usage(
                    "a script is allowed for one task of a run",
                    Advice::command("name both", ["grants", "add", "script", "--run", "RUN", "--task", "SLUG"]),
                ));
            }
            for what in wanted(setup, &add.what)? {
                give(setup, what, &scope, add)?;
            }
        }
        Some(GrantsCommand::Revoke(revoke)) => revoke.numbers.iter().try_for_each(|n| take_back(setup, *n))?,
    }
    Ok(Exit::Complete)
}

fn give(setup: &Setup, what: GrantedThing, scope: &Scope, add: &GrantsAddArgs) -> Result<(), Failure> {
    let for_ms = add.time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let grant = setup.grants().add(what, scope.clone(), for_ms).map_err(|error| unusable(setup, &error))?;
    super::say(setup, &format!("grant {}: {}", grant.n, line(&grant)))
}

/// The scope that the arguments select.
fn scope(setup: &Setup, add: &GrantsAddArgs) -> Result<Scope, Failure> {
    let Some(name) = &add.run else {
        return Ok(if add.everywhere { Scope::default() } else { setup.grants().here() });
    };
    let store = setup.existing_store()?;
    let found = find_run(&store, Some(name), |_| true, "")?;
    let known = recorded(&store, &found)?.run;
    let task = add.task.as_deref().map(|slug| named(&known, slug)).transpose()?;
    // A script is allowed for all tasks of its node.
    let of_node = |task: &Slug| known.first_of_node(task).cloned();
    let node = task.as_ref().filter(|_| matches!(add.what, GrantsWhat::Script)).and_then(of_node);
    let task = node.or(task);
    Ok(Scope { run: Some(found.run), task, ..setup.grants().here() })
}

/// The task with this name, or the part of a template that contains tasks.
fn named(run: &RunView, slug: &str) -> Result<Slug, Failure> {
    let task = Slug::new(slug);
    if run.has_part(&task) { Ok(task) } else { super::show_task::find(run, slug).map(|task| task.task.slug.clone()) }
}

fn take_back(setup: &Setup, n: u32) -> Result<(), Failure> {
    match setup.grants().revoke(n).map_err(|error| unusable(setup, &error))? {
        Some(grant) => super::say(setup, &format!("revoked grant {n}: {}", line(&grant))),
        None => Err(Failure::usage(format!("there is no grant {n}"), Advice::command("list them", ["grants"]))),
    }
}

pub(super) fn unusable(setup: &Setup, error: &std::io::Error) -> Failure {
    let file = setup.grants().file().display().to_string();
    Failure::internal(
        format!("can't use the list of grants, {file}: {error}"),
        "repair or delete the file; until then, no grant is valid",
    )
}

/// The settings that grant something, with the kinds of grants.
const SETTINGS: [(&str, &str); 4] =
    [("tools.hosts", "host"), ("tools.caches", "write"), ("tools.shown", "read"), ("tools.environment", "variable")];

fn list(setup: &Setup) -> Result<(), Failure> {
    let grants = setup.grants().all().map_err(|error| unusable(setup, &error))?;
    let mut empty = grants.is_empty();
    let confirmed: Vec<ToolGrant> = tool_specs(setup).iter().filter_map(ToolGrant::of).collect();
    for grant in &grants {
        // Only the tools of this project are known here.
        let is_here = grant.scope.project.as_ref().is_none_or(|project| *project == setup.project);
        let is_other = matches!(&grant.what, GrantedThing::Tool(tool) if is_here && !confirmed.contains(tool));
        if setup.json {
            let mut value = serde_json::to_value(grant).unwrap_or_default();
            value["ended"] = grant.has_ended(SystemClock.now_ms()).into();
            value["other_version"] = is_other.into();
            value["from"] = setup.grants().file().display().to_string().into();
            super::print_json(&value)?;
        } else {
            let words =
                if is_other { "; does not count, because the tool is not confirmed in this version" } else { "" };
            super::print(&format!("{:>3}  {}{words}\n", grant.n, line(grant)))?;
        }
    }
    for (key, kind) in SETTINGS {
        let from = setup.config.values.get(key).map(|value| value.origin.to_string()).unwrap_or_default();
        for value in setup.config.list(key) {
            empty = false;
            if setup.json {
                super::print_json(&serde_json::json!({ "what": { kind: value }, "project": null, "from": from }))?;
            } else {
                let (value, from) = (visible_line(&value), visible_line(&from));
                super::print(&format!("  -  {kind} {value}, everywhere (setting {key}, {from})\n"))?;
            }
        }
    }
    if empty && !setup.json {
        tell!("nothing is granted; see callsheet grants add --help");
    }
    Ok(())
}

/// A grant in words: what, where, and for how long.
pub(super) fn line(grant: &Grant) -> String {
    let what = grant.what.shown();
    let Scope { project, run, task } = &grant.scope;
    let place = project.as_deref().map_or("everywhere".to_owned(), |project| format!("in {}", shown(project)));
    let run = run.as_ref().map(|run| format!(", run {run}")).unwrap_or_default();
    let task = task.as_ref().map(|task| format!(", task {}", visible_line(task.as_str()))).unwrap_or_default();
    let until = grant.until.map(|until| {
        let (year, month, day, seconds) = civil(until);
        let (hour, minute) = (seconds / 3_600, seconds / 60 % 60);
        let ended = if grant.has_ended(SystemClock.now_ms()) { "ended" } else { "until" };
        format!(", {ended} {year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
    });
    format!("{what}, {place}{run}{task}{}", until.unwrap_or_default())
}

fn shown(path: &Path) -> String {
    visible_line(&path.display().to_string())
}

/// What the arguments allow, if it can be granted.
fn wanted(setup: &Setup, what: &GrantsWhat) -> Result<Vec<GrantedThing>, Failure> {
    match what {
        GrantsWhat::Host { names } => names.iter().map(|name| host(name)).collect(),
        GrantsWhat::Write { paths } => paths.iter().map(|path| writable(setup, path)).collect(),
        GrantsWhat::Read { paths } => paths.iter().map(|path| existing(path).map(GrantedThing::Read)).collect(),
        GrantsWhat::Protected { paths } => paths.iter().map(|path| protected(setup, path)).collect(),
        GrantsWhat::Variable { names } => names.iter().map(|name| variable(name)).collect(),
        GrantsWhat::Tool { names } => names.iter().map(|name| tool(setup, name)).collect(),
        GrantsWhat::Script => Ok(vec![GrantedThing::Script]),
        GrantsWhat::Changes { patterns } => patterns.iter().map(|pattern| changes(pattern)).collect(),
        #[cfg(feature = "share")]
        GrantsWhat::Approver { keys } => keys.iter().map(|key| approver(key)).collect(),
        GrantsWhat::Command { cwd, shell, words } => {
            let line = CommandLine::Shell(words.join(" "));
            let command = if *shell { line } else { CommandLine::Words(words.clone()) };
            let call = CommandCall { command, cwd: Some(cwd.clone()) };
            Ok(vec![GrantedThing::Command(call.grant(words.len()))])
        }
    }
}

#[cfg(feature = "share")]
fn approver(key: &str) -> Result<GrantedThing, Failure> {
    let known = callsheet_share::PublicKey::read(key);
    let approver = known.map(|key| GrantedThing::Approver(key.as_str().to_owned()));
    approver.ok_or_else(|| {
        let what = format!("{} is not a key", visible_line(key));
        Failure::usage(what, Advice::command("a key is callsheet-key-…; print it", ["key", "show", "FILE"]))
    })
}

fn host(name: &str) -> Result<GrantedThing, Failure> {
    if callsheet_tools::is_host(name) {
        return Ok(GrantedThing::Host(name.to_owned()));
    }
    let advice = "name a host, such as crates.io, crates.io:8443, *.npmjs.org or localhost:5432";
    Err(Failure::usage(format!("{} is not a host", visible_line(name)), advice))
}

fn changes(pattern: &str) -> Result<GrantedThing, Failure> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    match file_pattern(pattern) {
        Ok(_)
            if !pattern.is_empty()
                && Path::new(pattern).components().all(|part| matches!(part, Component::Normal(_))) =>
        {
            Ok(GrantedThing::Changes(pattern.to_owned()))
        }
        Ok(_) => Err(Failure::usage(
            format!("{} is no path below the project", visible_line(pattern)),
            "name files by their paths below the project, such as docs/**/*.md",
        )),
        Err(error) => Err(Failure::usage(
            format!("{} is no pattern of files: {}", visible_line(pattern), error.kind()),
            "use `*` within a folder, `**` across folders, `?`, `[a-z]` and `{a,b}`",
        )),
    }
}

/// A confirmed tool of a server, as it is now.
fn tool(setup: &Setup, name: &str) -> Result<GrantedThing, Failure> {
    let known = tool_specs(setup);
    let granted = known.iter().find(|spec| spec.name == name).and_then(ToolGrant::of);
    granted.map(GrantedThing::Tool).ok_or_else(|| {
        let what = format!("{} is no confirmed tool of a server", visible_line(name));
        Failure::usage(what, Advice::command("list them", ["tools"]))
    })
}

fn variable(name: &str) -> Result<GrantedThing, Failure> {
    let letters = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let why = match () {
        () if name.is_empty() || !letters => "is not the name of a variable",
        () if withheld().contains(name) => "contains the key of a provider, which commands never see",
        () => return Ok(GrantedThing::Variable(name.to_owned())),
    };
    Err(Failure::usage(format!("{} {why}", visible_line(name)), "name a variable of your environment"))
}

/// A folder that commands may be allowed to write to. Folders that a run would ignore are refused here.
fn writable(setup: &Setup, path: &Path) -> Result<GrantedThing, Failure> {
    let folder = existing(path)?;
    let workspace = workspace(setup)?;
    if workspace.may_grant_writing(&folder) {
        return Ok(GrantedThing::Write(folder));
    }
    let what = format!("commands can't be allowed to write to {}", shown(&folder));
    Err(Failure::usage(what, "name a folder that does not contain Callsheet's own folders and is not inside one"))
}

fn workspace(setup: &Setup) -> Result<Workspace, Failure> {
    let workspace = Workspace::new(&setup.project, &[]).map_err(|fault| Failure::usage(fault.to_string(), ""))?;
    Ok(setup.folders.kept().into_iter().fold(workspace, Workspace::keeping))
}

/// A protected file or folder of the project, which need not exist. A path is relative to the person's current
/// folder, or to the project if it would lead out of the project from there.
fn protected(setup: &Setup, path: &Path) -> Result<GrantedThing, Failure> {
    let path = from_home(&path.to_string_lossy());
    let here = std::env::current_dir().unwrap_or_default();
    let whole = [here.as_path(), &setup.project].map(|from| plain(&from.join(&path)));
    let below = whole.iter().find_map(|whole| whole.strip_prefix(&setup.project).ok()).unwrap_or(Path::new(""));
    if workspace(setup)?.may_grant_protected(below) {
        return Ok(GrantedThing::Protected(below.to_path_buf()));
    }
    let what = format!("commands can't be allowed to change {}", shown(&path));
    Err(Failure::usage(what, "name a file or folder of the project, except `.callsheet` and its contents"))
}

fn existing(path: &Path) -> Result<PathBuf, Failure> {
    let path = from_home(&path.to_string_lossy());
    path.canonicalize()
        .map_err(|error| Failure::usage(format!("can't use {}: {error}", shown(&path)), "create it first"))
}
