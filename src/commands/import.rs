//! `import`: imports a run from another machine, or a signed approval (spec 14). The whole file is checked first. What
//! it approves counts only if it is signed with a key that the person granted.

use std::io::Read;
use std::path::Path;

use callsheet_app::{Advice, Cursor, Order, Receipt, RunCommand, RunControl};
use callsheet_core::nouns::RunId;
use callsheet_core::record::AnsweredBy;
use callsheet_core::view::counted;
use callsheet_core::visible::visible_line;
use callsheet_runtime::ports::Grants;
use callsheet_share::{
    Adopted, ApprovedGate, FILE, PublicKey, RunRecord, SignedApproval, Unsealing, adopt, is_approval, is_sealed,
    needs_passphrase, open, unpack,
};

use crate::cli::{Exit, Failure, ImportArgs};
use crate::setup::{Setup, find_run, recorded};
use crate::term::ask_secret;

use super::key::{key_text, share_failure};

pub(super) fn import(setup: &Setup, arguments: &ImportArgs) -> Result<Exit, Failure> {
    let bytes = read(&arguments.file)?;
    if is_approval(&bytes) {
        return approval(setup, &bytes);
    }
    let bytes = if is_sealed(&bytes) { opened(arguments, &bytes)? } else { bytes };
    let unpacked = unpack(&bytes).map_err(|fault| share_failure(&fault))?;
    let (run, signer) = (unpacked.run.clone(), unpacked.signer.clone());
    let record = RunRecord::of(unpacked).map_err(|fault| share_failure(&fault))?;
    let store = setup.store()?;
    let known = record.known_to(&*store, &run).map_err(|fault| share_failure(&fault))?;
    accepted(setup, arguments, &record, (&run, known), signer.as_ref())?;
    let adopted = adopt(&store, &run, &record).map_err(|fault| share_failure(&fault))?;
    said(setup, &run, &adopted)
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let name = file.display();
    let failed = |error: std::io::Error| Failure::usage(format!("can't read {name}: {error}"), "");
    let most = u64::try_from(FILE).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    std::fs::File::open(file).map_err(failed)?.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > FILE {
        return Err(Failure::usage(
            format!("{name} is larger than {} MiB", FILE / 1_048_576),
            "an export is never that large",
        ));
    }
    Ok(bytes)
}

fn opened(arguments: &ImportArgs, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let with = match &arguments.key {
        _ if needs_passphrase(bytes) => Unsealing::Passphrase(ask_secret("Passphrase of the file", false)?),
        Some(file) => Unsealing::Identities(key_text(file)?),
        None => {
            let advice =
                Advice::command("name the key file to which it was encrypted", ["import", "FILE", "--key", "KEYFILE"]);
            return Err(Failure::usage("this file is encrypted to a key", advice));
        }
    };
    open(bytes, &with).map_err(|fault| share_failure(&fault))
}

/// Refuses a run from elsewhere unless the person trusts its signer, or accepts it once.
fn accepted(
    setup: &Setup,
    arguments: &ImportArgs,
    record: &RunRecord,
    (run, known): (&RunId, usize),
    signer: Option<&PublicKey>,
) -> Result<(), Failure> {
    if known >= record.entries.len() || signer.is_some_and(|key| setup.grants().has_approver(key.as_str(), run)) {
        return Ok(());
    }
    let who = signer.map_or_else(|| "nobody signed it".to_owned(), |key| format!("{} signed it", key.as_str()));
    if record.has_approvals_after(known) {
        return Err(Failure::usage(
            format!("run {run} contains approvals from elsewhere, and no key that you granted signed it: {who}"),
            Advice::command(
                "ask for an export with --sign; if you trust its key",
                ["grants", "add", "approver", "KEY"],
            ),
        ));
    }
    if arguments.trust {
        return Ok(());
    }
    let file = arguments.file.display().to_string();
    let known = "a resumed run uses its own settings, tools and templates; if you know who made this one";
    let accept = match signer {
        Some(key) => Advice::command(known, ["grants", "add", "approver", key.as_str()]).and("or once, with --trust"),
        None => Advice::command(known, ["import", &file, "--trust"]),
    };
    Err(Failure::usage(format!("run {run} was made elsewhere, and no key that you granted signed it: {who}"), accept))
}

fn said(setup: &Setup, run: &RunId, adopted: &Adopted) -> Result<Exit, Failure> {
    let Adopted { before, now } = *adopted;
    let store = setup.store()?;
    let found = find_run(&store, Some(run.as_str()), |found| found.run == *run, "")?;
    let differing = setup.runs().differing_files(run, &recorded(&store, &found)?.run)?;
    if setup.json {
        super::print_json(&serde_json::json!({
            "run": run, "events": now, "new": now.saturating_sub(before), "differing": differing,
        }))?;
        return Ok(Exit::Complete);
    }
    if !differing.is_empty() {
        tell!("note: the run changed these files, and they differ here; bring them over before you resume it here:");
        differing.iter().for_each(|file| tell!("  {}", visible_line(file)));
    }
    let words = match (before, now.saturating_sub(before)) {
        (_, 0) => format!("run {run} was here already; nothing is new"),
        (0, new) => format!("imported run {run} with {}", counted(new, "event")),
        (_, new) => format!("imported {} that continue run {run}", counted(new, "event")),
    };
    super::say(setup, &format!("{words}. Next: {} show {run}", setup.command)).map(|()| Exit::Complete)
}

/// Passes the approval in a file on to its run, if it is signed with a key that the person granted.
fn approval(setup: &Setup, bytes: &[u8]) -> Result<Exit, Failure> {
    let signed = SignedApproval::read(bytes).map_err(|fault| share_failure(&fault))?;
    let (run, key) = (&signed.run, signed.key.as_str());
    let store = setup.existing_store()?;
    let found = find_run(&store, Some(run.as_str()), |found| found.run == *run, "")?;
    if !setup.grants().has_approver(key, &found.run) {
        return Err(Failure::usage(
            format!("this approval is signed with {key}, which you have not granted"),
            Advice::command("if you know whose key it is", ["grants", "add", "approver", key]),
        ));
    }
    let runs = setup.runs();
    let view = recorded(&store, &found)?.run;
    let gates = runs.gates(&view)?;
    let mut commands = Vec::new();
    for ApprovedGate { gate, asked, tasks } in &signed.gates {
        let Some(waiting) = gates.iter().find(|view| view.gate.n == *gate) else {
            return Err(refused(&found.run, "what this file approves is not waiting here"));
        };
        if view.asked(waiting) != *asked {
            return Err(refused(&found.run, "what waits here differs from what this file approves"));
        }
        if waiting.again || waiting.unheld {
            return Err(refused(
                &found.run,
                "the signer could not see that this call is interrupted or unconfined here",
            ));
        }
        commands.push(RunCommand::Approve { gates: vec![*gate], tasks: tasks.clone(), later: false, always: None });
    }
    let (by, revision) = (AnsweredBy::Signed(key.to_owned()), Some(view.cursor()));
    let give =
        |(number, command): (usize, RunCommand)| order(&runs, &found.run, (&signed, number), (&by, revision), command);
    let receipts = commands.into_iter().enumerate().map(give).collect::<Result<Vec<_>, Failure>>()?;
    match receipts.last() {
        Some(receipt) => super::answer::say(setup, receipt),
        None => Err(Failure::usage("this file approves nothing", "")),
    }
}

fn order(
    runs: &dyn RunControl,
    run: &RunId,
    (signed, number): (&SignedApproval, usize),
    (by, revision): (&AnsweredBy, Option<Cursor>),
    command: RunCommand,
) -> Result<Receipt, Failure> {
    let key = format!("signed/{}/{number}", signed.id);
    Ok(runs.order(run, &Order { by: by.clone(), key, revision, command })?)
}

fn refused(run: &RunId, what: &str) -> Failure {
    Failure::usage(what, Advice::command("nothing was approved; see what waits", ["show", run.as_str()]))
}
