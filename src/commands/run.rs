//! `run`: plan and run a request, a sheet, or one skill.

use std::io::Read;

use callsheet_format::sheet::split_mark;
use callsheet_runtime::driver::{EntrySpec, begin_in};
use callsheet_runtime::fault::{DriveFault, InputFault};
use callsheet_runtime::ports::{Clock, SystemClock};

use crate::cli::{Exit, Failure, RunArgs, TemplateRunArgs};
use crate::setup::{Setup, config_failure, new_run};

use super::drive::{Front, drive_failure, prepare, to_the_end};

/// The request; `-` reads it from stdin.
pub(super) fn request_text(request: &str) -> Result<String, Failure> {
    if request != "-" {
        return Ok(request.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(4 * 1024 * 1024)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("can't read the request from stdin: {error}"), ""))?;
    Ok(split_mark(&String::from_utf8_lossy(&bytes)).1.to_owned())
}

fn entry(setup: &Setup, front: &Front, arguments: &RunArgs) -> Result<EntrySpec, Failure> {
    let words: Vec<&str> = arguments.request.iter().chain(&arguments.words).map(String::as_str).collect();
    let prompt = (!words.is_empty()).then(|| request_text(&words.join(" "))).transpose()?;
    if let Some(file) = &arguments.sheet {
        let text = std::fs::read(file)
            .map_err(|error| Failure::usage(format!("can't read the sheet {}: {error}", file.display()), ""))?;
        return Ok(EntrySpec::Sheet { text: String::from_utf8_lossy(&text).into_owned(), prompt });
    }
    let prompt = prompt.unwrap_or_default();
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the request is empty", "write what to do: callsheet run \"…\""));
    }
    if let Some(name) = &arguments.skill {
        return Ok(EntrySpec::Skill { name: name.clone(), prompt });
    }
    Ok(match super::template_run::automatic(setup, &prompt, arguments.work.strict)? {
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
        let template = TemplateRunArgs { name: name.clone(), values, files: Vec::new(), work: arguments.work.clone() };
        return super::template_run::run(setup, &template);
    }
    let mut settings = setup.config.settings().map_err(config_failure)?;
    let front = Front::new(setup, &arguments.work);
    let entry = entry(setup, &front, arguments)?;
    let store = setup.store()?;
    let words = match &entry {
        EntrySpec::Prompt(prompt) | EntrySpec::Skill { prompt, .. } | EntrySpec::Template { prompt, .. } => {
            prompt.clone()
        }
        EntrySpec::Sheet { .. } => arguments.sheet.as_ref().map(|file| file.display().to_string()).unwrap_or_default(),
    };
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let (id, session) = new_run(&store, &words, SystemClock.now_ms())?;
        let tree = match &entry {
            EntrySpec::Template { tree, .. } => Some(&**tree),
            _ => None,
        };
        let services = prepare(setup, &arguments.work, &front, store, &id, &mut settings, tree).await?;
        let sheet = match &entry {
            EntrySpec::Sheet { text, .. } => arguments.sheet.as_deref().zip(Some(text.clone())),
            _ => None,
        };
        let session = begin_in(&services, session, entry, settings).map_err(|fault| match (&fault, &sheet) {
            (DriveFault::Input(InputFault::GivenSheet(issues)), Some((file, text))) => {
                super::check::unsound(file, text, issues)
            }
            _ => drive_failure(&fault, &id),
        })?;
        to_the_end(setup, &front, services, session, &id).await
    })
}
