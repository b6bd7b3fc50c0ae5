//! `gc`: removes data that no run of this project needs any more.

use callsheet_core::view::counted;
use callsheet_store::{Collected, SqliteStore};

use crate::cli::{Exit, Failure, GcArgs};
use crate::setup::{Setup, store_failure};

pub(super) fn gc(setup: &Setup, arguments: &GcArgs) -> Result<Exit, Failure> {
    #[cfg(feature = "cluster")]
    if let Some(on) = &setup.on {
        let removed = on.collect(arguments.dry_run).map_err(|fault| store_failure(fault.into()))?;
        return said(
            setup,
            &Collected { blobs: removed.texts, blob_bytes: removed.bytes, ..Collected::default() },
            arguments,
        );
    }
    setup.existing_store()?;
    let store = SqliteStore::open(&setup.store_folder()).map_err(store_failure)?;
    let collected = store.collect(arguments.dry_run).map_err(store_failure)?;
    said(setup, &collected, arguments)
}

fn said(setup: &Setup, collected: &Collected, arguments: &GcArgs) -> Result<Exit, Failure> {
    if setup.json {
        let Collected { blobs, blob_bytes, empty_runs, files, file_bytes, at_work } = collected;
        super::print_json(&serde_json::json!({
            "dry_run": arguments.dry_run, "texts": blobs, "text_bytes": blob_bytes, "empty_runs": empty_runs,
            "files": files, "file_bytes": file_bytes, "at_work": at_work.as_ref().map(|(run, _)| run),
        }))?;
        return Ok(Exit::Complete);
    }
    if let Some((run, owner)) = &collected.at_work {
        tell!(
            "run {run} is at work ({owner}), so stored texts were left alone; run `callsheet gc` again when it has ended"
        );
    }
    super::say(setup, &words(collected, arguments.dry_run))?;
    Ok(Exit::Complete)
}

fn words(collected: &Collected, dry_run: bool) -> String {
    let Collected { blobs, blob_bytes, empty_runs, files, file_bytes, .. } = collected;
    let sized = |count: usize, what: &str, bytes: u64| {
        (count > 0).then(|| format!("{} ({})", counted(count, what), size(bytes)))
    };
    let parts = [
        sized(*blobs, "stored text", *blob_bytes),
        (*empty_runs > 0).then(|| format!("{} that never began", counted(*empty_runs, "run"))),
        sized(*files, "old file", *file_bytes),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let done = if dry_run { "would remove" } else { "removed" };
    if parts.is_empty() { "nothing to remove".to_owned() } else { format!("{done} {}", parts.join(", ")) }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", bytes / 1_024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}
