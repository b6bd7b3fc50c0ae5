//! The findings of `doctor` about the stored runs.

use std::path::Path;

use callsheet_app::Advice;
use callsheet_core::view::counted;
use callsheet_runtime::changes::forgotten;
use callsheet_runtime::driver::Session;
use callsheet_runtime::ports::Store;
use callsheet_runtime::runfiles::KeptFiles;
use callsheet_store::{Damage, SqliteStore, StoreCheck};
use std::sync::Arc;

use crate::cli::Failure;
use crate::setup::{Setup, store_failure};

use super::doctor::{Finding, bad, good};

/// Checks everything that is stored for this project.
pub(super) fn stored(setup: &Setup) -> Vec<Finding> {
    let folder = setup.store_folder();
    if !setup.has_store() {
        let words = format!("no runs in this project yet; the store will be {}", folder.display());
        return std::iter::once(good(words)).chain(lost_runs(&folder, &[])).collect();
    }
    read(&folder).unwrap_or_else(|failure| vec![bad(failure.what, failure.advice)])
}

fn read(folder: &Path) -> Result<Vec<Finding>, Failure> {
    let store = SqliteStore::open(folder).map_err(store_failure)?;
    let StoreCheck { runs, blobs, damaged } = store.check().map_err(store_failure)?;
    let store: Arc<dyn Store> = Arc::new(store);
    let mut findings: Vec<Finding> = Vec::new();
    for (run, damage) in &damaged {
        let what = run.as_ref().map_or_else(|| damage.to_string(), |run| format!("run {run}: {damage}"));
        findings.push(bad(what, advice(damage, folder)));
    }
    let known = store.runs().map_err(store_failure)?;
    for run in &known {
        let kept = KeptFiles::new(folder, &run.run).ok();
        let Ok((folded, _)) = Session::view(&store, &run.run) else { continue };
        if let Some(refused) = folded.refused_moves().first() {
            let what = format!("run {}: {refused}, which no task may do; this is a bug", run.run);
            findings.push(bad(
                what,
                Advice::command("please report it with this output", ["show", run.run.as_str(), "--events"]),
            ));
        }
        let lost = kept.map(|kept| forgotten(&kept, &folded)).unwrap_or_default();
        if run.owner.is_none() && !lost.is_empty() {
            let what =
                format!("run {}: the end of its record was lost; {} may hold its changes", run.run, lost.join(", "));
            findings.push(bad(what, "compare these files with what you expect"));
        }
    }
    let names: Vec<&str> = known.iter().map(|run| run.run.as_str()).collect();
    findings.extend(lost_runs(folder, &names));
    if findings.is_empty() {
        let whole = if runs == 1 { "is intact" } else { "are all intact" };
        findings.push(good(format!(
            "{} in the store {} {whole} ({} read)",
            counted(runs, "run"),
            folder.display(),
            counted(blobs, "text")
        )));
    } else {
        let whole = runs.saturating_sub(damaged.iter().filter(|(run, _)| run.is_some()).count());
        findings.insert(
            0,
            good(format!(
                "{whole} of {} in the store {} can be read completely",
                counted(runs, "run"),
                folder.display()
            )),
        );
    }
    Ok(findings)
}

fn advice(damage: &Damage, folder: &Path) -> String {
    let file = callsheet_store::database(folder);
    match damage {
        Damage::File(_) => {
            format!("restore {0} from a copy; `sqlite3 {0} .recover` saves what can be read", file.display())
        }
        Damage::Log { .. } => format!("restore {} from a copy, or start the run's request again", file.display()),
        Damage::Texts { .. } => {
            "a text is repaired when a run stores it again; otherwise restore the store from a copy".to_owned()
        }
    }
}

/// Runs that changed files and that the store no longer contains.
fn lost_runs(folder: &Path, known: &[&str]) -> Vec<Finding> {
    let runs = std::fs::read_dir(folder.join("kept")).into_iter().flatten().flatten();
    let lost = runs.filter(|run| run.path().join("journal").is_dir());
    let lost = lost.filter_map(|run| run.file_name().into_string().ok()).filter(|run| !known.contains(&run.as_str()));
    lost.map(|run| {
        let what = format!("run {run} changed files, and its record was lost");
        bad(what, format!("what it changed is in .callsheet/runs/{run}/changes, if that is still there"))
    })
    .collect()
}
