//! `trust`: lets files of this project do what could be harmful. Trust is bound to the current content of each file.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use callsheet_app::Advice;
use callsheet_core::nouns::BlobId;
use callsheet_core::visible::{visible, visible_line};

use crate::cli::{Exit, Failure, TrustArgs};
use crate::config::{Config, HookFile, Trust};
use crate::left_out::{left_out, shown};
use crate::setup::{Setup, config_failure, project_config};

/// One file that waits for trust.
struct Waiting {
    what: String,
    gains: Vec<String>,
    file: PathBuf,
    hash: BlobId,
}

pub(super) fn trust(setup: &Setup, arguments: &TrustArgs) -> Result<Exit, Failure> {
    let mut trust = Trust::load(&setup.folders);
    if arguments.revoke {
        let was = trust.revoke(&setup.project).map_err(|error| unwritable(&error))?;
        let now = if was { "are no longer trusted" } else { "were not trusted" };
        let words = format!("the files in {} {now}", setup.project.display());
        return super::say(setup, &words).map(|()| Exit::Complete);
    }
    let waiting = waiting(setup, &trust)?;
    if waiting.is_empty() {
        let words = format!("nothing in {} needs trust", setup.project.display());
        return super::say(setup, &words).map(|()| Exit::Complete);
    }
    list(setup, &waiting)?;
    if !arguments.yes && !asked()? {
        return Err(Failure::usage(
            "nothing was trusted",
            "Callsheet skips what you do not trust; everything else works",
        ));
    }
    for one in &waiting {
        trust.grant_hash(&one.file, &one.hash).map_err(|error| unwritable(&error))?;
    }
    super::say(setup, "trusted in its current form; Callsheet asks again when a file changes").map(|()| Exit::Complete)
}

/// Trusts a file that a command has just written for this user.
pub(super) fn own(setup: &Setup, path: &Path, text: &str) -> Result<(), Failure> {
    Trust::load(&setup.folders).grant(path, text.as_bytes()).map_err(|error| unwritable(&error))
}

fn unwritable(error: &std::io::Error) -> Failure {
    Failure::internal(format!("can't write the list of trusted files: {error}"), "")
}

fn waiting(setup: &Setup, trust: &Trust) -> Result<Vec<Waiting>, Failure> {
    let mut waiting = Vec::new();
    let file = project_config(&setup.project);
    let of_hooks = trust.untrusted_hooks(&file);
    if let Ok(content) = callsheet_runtime::paths::read_regular(&file)
        && !trust.holds(&file, &content)
    {
        let config = Config::of_trusted(&file).map_err(config_failure)?;
        let gains = config.values.iter().map(|(name, value)| format!("set {name} = {}", value.value)).collect();
        waiting.push(Waiting { what: shown(setup, &file), gains, hash: BlobId::of(&content), file });
    }
    for HookFile { path, hash, hooks } in of_hooks {
        let gains = hooks.iter().map(|hook| format!("be run as the hook {hook}")).collect();
        waiting.push(Waiting { what: shown(setup, &path), gains, hash, file: path });
    }
    for one in left_out(setup)? {
        let what = format!("{} ({} {})", shown(setup, &one.path), one.kind, one.names.join(", "));
        waiting.push(Waiting { what, gains: one.gains, file: one.path, hash: one.hash });
    }
    Ok(waiting)
}

/// Prints what each file could do, without shortening or hiding anything.
fn list(setup: &Setup, waiting: &[Waiting]) -> Result<(), Failure> {
    for one in waiting {
        if setup.json {
            super::print_json(&serde_json::json!({ "what": one.what, "could": one.gains }))?;
            continue;
        }
        let gains: Vec<String> = one.gains.iter().map(|gain| visible(gain).replace('\n', "\n      ")).collect();
        super::print(&format!("{} could:\n    {}\n", visible_line(&one.what), gains.join("\n    ")))?;
    }
    Ok(())
}

fn asked() -> Result<bool, Failure> {
    if !crate::term::is_interactive() {
        let advice = Advice::command("read the list, then", ["trust", "--yes"]);
        return Err(Failure::usage("nothing was trusted: there is no terminal to ask you", advice));
    }
    tell_part!("Trust all of this as it is now? [y/N] ");
    let mut line = String::new();
    let _ended = std::io::stdin().lock().read_line(&mut line);
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
