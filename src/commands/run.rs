//! `run`: plan and run a request, a sheet, or one skill.

use std::io::Read;
use std::path::Path;

use callsheet_app::Advice;
use callsheet_core::nouns::Settings;
use callsheet_format::sheet::split_mark;
use callsheet_runtime::branch;
use callsheet_runtime::driver::{EntrySpec, begin_in};
use callsheet_runtime::fault::{DriveFault, InputFault};
use callsheet_runtime::ports::{Clock, SystemClock};
use callsheet_runtime::services::Services;

use crate::cli::{ContinueArgs, Exit, Failure, RunArgs, TemplateRunArgs, WorkArgs};
use crate::relay;
use crate::setup::{Setup, config_failure, new_run, run_name};

use crate::term;

use super::drive::{Front, ask_to_begin, drive_failure, prepare, to_the_end};

/// How a request and piped text are combined.
const PIPED: &str = include_str!("prompts/piped.md");

/// How a follow-up and the result of an earlier run are combined.
const EARLIER: &str = include_str!("prompts/earlier.md");

/// The name that means stdin.
const STDIN: &str = "-";

/// The request. `-` reads it from stdin.
pub(super) fn request_text(request: &str) -> Result<String, Failure> {
    if request != "-" {
        return Ok(request.to_owned());
    }
    if let Some(request) = relay::request() {
        return Ok(request);
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(4 * 1024 * 1024)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("can't read the request from stdin: {error}"), ""))?;
    Ok(split_mark(&String::from_utf8_lossy(&bytes)).1.to_owned())
}

/// The request with piped text added. Piped text without a request is the request.
fn with_piped(request: &str) -> Result<String, Failure> {
    let piped = term::piped().map_err(|error| Failure::usage(format!("can't read standard input: {error}"), ""))?;
    if let Some(cut) = piped.cut {
        tell!("note: {cut}");
    }
    let text = String::from_utf8_lossy(&piped.bytes);
    let text = split_mark(&text).1;
    if text.trim().is_empty() {
        return Ok(request.to_owned());
    }
    if request.trim().is_empty() {
        return Ok(text.to_owned());
    }
    Ok(filled(PIPED, request, text))
}

/// A form with a request and a text that it is about, in a fence.
fn filled(form: &str, request: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let mut whole = String::new();
    let mut rest = form.trim_end();
    while let Some((before, (name, behind))) = rest.split_once('{').and_then(|(b, a)| Some((b, a.split_once('}')?))) {
        let value = match name {
            "request" => request,
            "fence" => &fence,
            _ => text.trim_end_matches(['\n', '\r']),
        };
        whole.extend([before, value]);
        rest = behind;
    }
    whole + rest
}

/// Runs a request about the result of another run.
pub(super) fn follow_up(setup: &Setup, arguments: &ContinueArgs, request: &str, result: &str) -> Result<Exit, Failure> {
    let entry = EntrySpec::Prompt(filled(EARLIER, request, result));
    let called = (arguments.name.as_deref(), request);
    begin_run(setup, &arguments.work, &Front::new(setup, &arguments.work), entry, called, (None, None))
}

/// The text of a sheet file. `-` reads it from stdin.
fn sheet_text(file: &Path) -> Result<String, Failure> {
    if file.as_os_str() == STDIN {
        return request_text(STDIN);
    }
    let text = std::fs::read(file)
        .map_err(|error| Failure::usage(format!("can't read the sheet {}: {error}", file.display()), ""))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn entry(setup: &Setup, front: &Front, arguments: &RunArgs) -> Result<EntrySpec, Failure> {
    let words: Vec<&str> = arguments.request.iter().chain(&arguments.words).map(String::as_str).collect();
    let given = (!words.is_empty()).then(|| words.join(" "));
    let prompt = match given.as_deref() {
        Some("-") => Some(request_text("-")?),
        given if arguments.sheet.is_none() => Some(with_piped(given.unwrap_or_default())?),
        given => given.map(str::to_owned),
    };
    if let Some(file) = &arguments.sheet {
        let text = sheet_text(file)?;
        return Ok(EntrySpec::Sheet { text, prompt });
    }
    let prompt = prompt.unwrap_or_default();
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the request is empty", Advice::command("write what to do", ["run", "…"])));
    }
    if let Some(name) = &arguments.skill {
        return Ok(EntrySpec::Skill { name: name.clone(), prompt });
    }
    Ok(match super::template_run::automatic(setup, &prompt, setup.config.flag("strict"))? {
        Some((tree, words)) => {
            front.notice(&words);
            EntrySpec::Template { tree: Box::new(tree), prompt }
        }
        None => EntrySpec::Prompt(prompt),
    })
}

pub(super) fn run(setup: &Setup, arguments: &RunArgs) -> Result<Exit, Failure> {
    if let Some(name) = &arguments.template {
        let values = arguments.request.iter().chain(&arguments.words).cloned().collect();
        let (branch, work) = (arguments.branch.clone(), arguments.work.clone());
        let template = TemplateRunArgs { name: name.clone(), values, files: Vec::new(), branch, work };
        return super::template_run::run(setup, &template, arguments.name.as_deref());
    }
    let front = Front::new(setup, &arguments.work);
    let entry = entry(setup, &front, arguments)?;
    let words = match &entry {
        EntrySpec::Prompt(prompt) | EntrySpec::Skill { prompt, .. } | EntrySpec::Template { prompt, .. } => {
            prompt.clone()
        }
        EntrySpec::Sheet { .. } => {
            let file = arguments.sheet.as_deref().filter(|file| file.as_os_str() != STDIN);
            file.map_or_else(|| "sheet".to_owned(), |file| file.display().to_string())
        }
    };
    let called = (arguments.name.as_deref(), words.as_str());
    let places = (arguments.sheet.as_deref(), arguments.branch.as_deref());
    begin_run(setup, &arguments.work, &front, entry, called, places)
}

/// Switches to the git branch for the changes of a new run, if one was given.
pub(super) fn switch(services: &Services, settings: &mut Settings, branch: Option<&str>) -> Result<(), Failure> {
    let Some(name) = branch else { return Ok(()) };
    branch::begin(&services.workspace, name)
        .map_err(|fault| Failure::usage(format!("can't work on the branch {name}: {fault}"), ""))?;
    settings.branch = Some(name.to_owned());
    Ok(())
}

/// Begins a run that a program has named or that is named after these words, and carries it out. `file` is the file of
/// a given sheet, `branch` the git branch for its changes.
fn begin_run(
    setup: &Setup,
    work: &WorkArgs,
    front: &Front,
    entry: EntrySpec,
    (name, words): (Option<&str>, &str),
    (file, branch): (Option<&Path>, Option<&str>),
) -> Result<Exit, Failure> {
    let mut settings = setup.config.settings().map_err(config_failure)?;
    let store = setup.store()?;
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let name = name.map_or_else(|| run_name(words, SystemClock.now_ms()), str::to_owned);
        let (id, session) = new_run(&store, &name)?;
        let tree = match &entry {
            EntrySpec::Template { tree, .. } => Some(&**tree),
            _ => None,
        };
        let services = prepare(setup, work, front, store, &id, &mut settings, tree).await?;
        ask_to_begin(&services, &id, words).await?;
        switch(&services, &mut settings, branch)?;
        let sheet = match &entry {
            EntrySpec::Sheet { text, .. } => file.zip(Some(text.clone())),
            _ => None,
        };
        let session = begin_in(&services, session, entry, settings).map_err(|fault| match (&fault, &sheet) {
            (DriveFault::Input(InputFault::GivenSheet(issues)), Some((file, text))) => {
                super::check::unsound(file, text, issues)
            }
            _ => drive_failure(&fault, &id),
        })?;
        to_the_end(setup, front, services, session, &id).await
    })
}
