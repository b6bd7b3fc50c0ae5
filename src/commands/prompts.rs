//! `prompts list`, `prompts eject`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use callsheet_format::prompt::{PromptKey, Templates};
use callsheet_runtime::prompts::load_prompts;

use crate::cli::{Exit, Failure, PromptsCommand, PromptsEjectArgs};
use crate::left_out::left_out_words;
use crate::setup::Setup;
use crate::wiring::prompt_dirs;

pub(super) fn prompts(setup: &Setup, command: &PromptsCommand) -> Result<Exit, Failure> {
    match command {
        PromptsCommand::List => list(setup),
        PromptsCommand::Eject(arguments) => eject(setup, arguments),
    }
}

/// Prints each template that a run would use, whether it replaces the bundled one, and its faults.
fn list(setup: &Setup) -> Result<Exit, Failure> {
    let loaded = load_prompts(&prompt_dirs(setup));
    let bundled = Templates::bundled();
    let mut sound = true;
    for key in PromptKey::ALL {
        let source = loaded.templates.source(*key).filter(|source| source.path != "bundled");
        let hash = loaded.templates.hash(*key).map(|hash| hash.to_string()).unwrap_or_default();
        let state = match source {
            None => "bundled",
            Some(_) if loaded.templates.hash(*key) == bundled.hash(*key) => "same as bundled",
            Some(_) => "overridden",
        };
        let fault = loaded.templates.get(*key).err().map(|fault| fault.to_string());
        sound &= fault.is_none();
        let path = source.map(|source| source.path.as_str());
        if setup.json {
            super::print_json(&serde_json::json!({
                "name": key.as_str(), "state": state, "path": path, "hash": hash, "fault": fault,
            }))?;
            continue;
        }
        let short = hash.get(..12).unwrap_or(&hash);
        let place = path.map(|path| format!("  {path}")).unwrap_or_default();
        let wrong = fault.map(|fault| format!("\n  error: {fault}")).unwrap_or_default();
        super::print(&format!("{:<24} {short:<12}  {state}{place}{wrong}\n", key.as_str()))?;
    }
    for (file, fault) in &loaded.unknown {
        tell!("note: {}: {fault}", file.display());
    }
    if let Some(words) = left_out_words(setup, &loaded.left_out) {
        tell!("note: {words}");
    }
    for link in &loaded.links {
        tell!("note: ignored {}, because it is a link", link.display());
    }
    Ok(if sound { Exit::Complete } else { Exit::Usage })
}

/// Copies all templates or none. A file that would be overwritten stops the copy before anything is written.
fn eject(setup: &Setup, arguments: &PromptsEjectArgs) -> Result<Exit, Failure> {
    let folder = match (&arguments.folder, arguments.user) {
        (Some(folder), _) => std::path::absolute(folder).unwrap_or_else(|_| folder.clone()),
        (None, true) => setup.folders.config.join("prompts"),
        (None, false) => setup.project.join(".callsheet/prompts"),
    };
    let keys = chosen(&arguments.only)?;
    let file = |key: PromptKey| folder.join(format!("{}.md", key.as_str()));
    let is_same = |key: PromptKey| {
        callsheet_runtime::paths::read_regular(&file(key))
            .is_ok_and(|text| text == Templates::bundled_text(key).as_bytes())
    };
    let differs = |key: &&PromptKey| fs::symlink_metadata(file(**key)).is_ok() && !is_same(**key);
    let kept: Vec<String> = keys.iter().filter(differs).map(|key| file(*key).display().to_string()).collect();
    if !kept.is_empty() && !arguments.force {
        let advice = "nothing was written; choose other prompts with --only, or overwrite the files with --force";
        return Err(Failure::usage(format!("these files exist: {}", kept.join(", ")), advice));
    }
    let failed =
        |path: &Path, error: &std::io::Error| Failure::internal(format!("can't write {}: {error}", path.display()), "");
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    for key in keys.into_iter().filter(|key| !is_same(*key)) {
        let path = file(key);
        write(&path, Templates::bundled_text(key), arguments.force).map_err(|error| failed(&path, &error))?;
        if setup.json {
            super::print_json(&serde_json::json!({ "key": key.as_str(), "file": path.display().to_string() }))?;
        } else {
            super::print(&format!("{}\n", path.display()))?;
        }
    }
    Ok(Exit::Complete)
}

/// A file that somebody else creates in the meantime is not overwritten either.
fn write(path: &PathBuf, text: &str, force: bool) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    if force {
        options.write(true).create(true).truncate(true);
    } else {
        options.write(true).create_new(true);
    }
    options.open(path)?.write_all(text.as_bytes())
}

fn chosen(only: &[String]) -> Result<Vec<PromptKey>, Failure> {
    if only.is_empty() {
        return Ok(PromptKey::ALL.to_vec());
    }
    let parse = |name: &String| name.parse::<PromptKey>().map_err(|fault| Failure::usage(fault.to_string(), ""));
    only.iter().map(parse).collect()
}
