//! Tells an absent person that a run waits for them, with a command that they chose.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use callsheet_core::nouns::RunId;
use callsheet_runtime::paths::{ever_changeable, host_program, is_below, steady};
use callsheet_runtime::shown::Shown;
use callsheet_runtime::transport_policy::withheld;

use crate::setup::Setup;
use crate::wiring::from_home;

/// Starts the command of the setting `notify` with a sentence as its last argument. Does not wait for it.
pub fn notify(setup: &Setup, run: &RunId, why: &str) {
    let words = setup.config.list("notify");
    let Some((name, arguments)) = words.split_first() else { return };
    let changeable = ever_changeable(&setup.notes());
    let Some(program) = program(name, &[changeable, vec![setup.project.clone()]].concat()) else {
        tell!(
            "note: {} (setting notify) isn't started: it isn't found outside the folders that commands write to",
            name
        );
        return;
    };
    let project = setup.project.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The sentence begins with a fixed word, because a folder's name may look like an option.
    let sentence = Shown::text(&format!("run {run} of {project}: {why}")).into_string();
    let mut command = Command::new(&program);
    command.args(arguments).arg(&sentence).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for key in withheld() {
        command.env_remove(key);
    }
    match command.spawn() {
        // A thread waits for the end of the process, so that it does not become a zombie.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => tell!("note: can't start {name} (setting notify): {error}"),
    }
}

/// The program with a name or path, unless it is in a folder that commands can change.
fn program(name: &str, changeable: &[PathBuf]) -> Option<PathBuf> {
    if !name.contains('/') {
        return host_program(name, changeable);
    }
    steady(&from_home(name), changeable).filter(|program| !is_below(program, changeable))
}
