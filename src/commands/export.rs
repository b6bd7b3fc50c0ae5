//! `export`: writes a run to one file for another machine or person (spec 14).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_app::{Advice, refuse_unmasked};
use callsheet_core::view::counted;
use callsheet_runtime::paths::write_private;
use callsheet_runtime::ports::{RunSummary, Store};
use callsheet_runtime::shown::{Shown, mask_bytes};
use callsheet_share::{PackageKind, Packed, Recipient, RunRecord, collect, is_recipient, pack, seal};

use crate::cli::{Exit, ExportArgs, Failure};
use crate::setup::{Setup, find_run, recorded, store_failure};
use crate::term::ask_secret;

use super::key::{share_failure, signing_key};

pub(super) fn export(setup: &Setup, arguments: &ExportArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let found = find_run(&store, arguments.run.as_deref(), |_| true, "")?;
    let run = &found.run;
    // A cluster has a run also while it only waits for a person.
    let rests = store.hosting().is_some() && found.outcome.is_some();
    if let Some(owner) = found.owner.as_ref().filter(|_| !rests) {
        let advice = Advice::command("wait until it ends or needs you, or stop it", ["cancel", run.as_str()]);
        return Err(Failure::usage(format!("run {run} is in progress ({owner})"), advice));
    }
    if !arguments.masked && arguments.to.is_empty() && !arguments.passphrase {
        return Err(Failure::usage(
            "say who may read the run",
            Advice::command(
                "to share the whole run, encrypt it, to a key or with --passphrase",
                ["export", run.as_str(), "--to", "KEY"],
            )
            .or("to share it with masked keys", ["export", run.as_str(), "--masked"]),
        ));
    }
    if let Some(wrong) = arguments.to.iter().find(|key| !is_recipient(key)) {
        return Err(Failure::usage(
            format!("{wrong} is not a key"),
            Advice::command("a key is age1…; print it", ["key", "show", "FILE"]),
        ));
    }
    let file = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{run}.{}", if arguments.masked { "zip" } else { "age" })));
    if !arguments.force && std::fs::symlink_metadata(&file).is_ok() {
        return Err(Failure::usage(
            format!("{} exists", file.display()),
            "choose another name, or overwrite it with --force",
        ));
    }
    let (bytes, events) = packed(setup, arguments, &store, &found)?;
    write_private(&file, &bytes).map_err(|error| {
        Failure::internal(format!("can't write {}: {error}", file.display()), "choose another file with -o")
    })?;
    said(setup, &store, &found, (&file, events))
}

/// The bytes of the file, and the number of events.
fn packed(
    setup: &Setup,
    arguments: &ExportArgs,
    store: &Arc<dyn Store>,
    found: &RunSummary,
) -> Result<(Vec<u8>, usize), Failure> {
    let signer = arguments.sign.as_deref().map(signing_key).transpose()?;
    let folded = recorded(store, found)?;
    if arguments.masked {
        refuse_unmasked(&setup.runs(), &folded.run, &arguments.without_key)?;
    }
    let report = callsheet_report::report(&setup.runs(), found, &folded).into_string().into_bytes();
    let record = collect(&**store, &found.run).map_err(|fault| share_failure(&fault))?;
    let (events, count) = (record.lines(), record.entries.len());
    let RunRecord { blobs, .. } = record;
    let packed = if arguments.masked {
        let events = Shown::json(&String::from_utf8_lossy(&events)).into_string().into_bytes();
        let blobs = blobs.into_iter().map(|(id, bytes)| (id, mask_bytes(&bytes).into_owned())).collect();
        Packed { run: &found.run, kind: PackageKind::Masked, events, blobs, report }
    } else {
        Packed { run: &found.run, kind: PackageKind::Whole, events, blobs, report }
    };
    let bytes = pack(packed, signer.as_ref()).map_err(|fault| share_failure(&fault))?;
    let to = match (arguments.masked, arguments.passphrase) {
        (true, _) => return Ok((bytes, count)),
        (false, true) => Recipient::Passphrase(ask_secret("Passphrase for the file", true)?),
        (false, false) => Recipient::Keys(arguments.to.clone()),
    };
    Ok((seal(&bytes, &to).map_err(|fault| share_failure(&fault))?, count))
}

fn said(
    setup: &Setup,
    store: &Arc<dyn Store>,
    found: &RunSummary,
    (file, events): (&Path, usize),
) -> Result<Exit, Failure> {
    let run = &found.run;
    if store.has_messages(run).map_err(store_failure)? {
        tell!("note: saved answers that take effect with {} resume {run} are not in the file", setup.command);
    }
    let shown = file.display().to_string();
    if setup.json {
        super::print_json(&serde_json::json!({ "run": run, "events": events, "file": shown }))?;
        return Ok(Exit::Complete);
    }
    tell!("exported {run} with {} to:", counted(events, "event"));
    super::print(&format!("{shown}\n")).map(|()| Exit::Complete)
}
