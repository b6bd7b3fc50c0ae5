//! Runs of a cluster from the command line: which commands know them, and how one is followed.

use std::time::Duration;

use callsheet_app::{Advice, LocalRuns, Refusal, RunView};
use callsheet_cluster::{ClusterFault, RemoteStore};
use callsheet_core::nouns::{RunId, Settings};
use callsheet_core::record::Outcome;
use callsheet_runtime::driver::ResumeKind;
use callsheet_runtime::ports::{Asked, Clock, InboxMessage, SystemClock};
use tokio_util::sync::CancellationToken;

use crate::cli::{ClusterCommand, Command, Exit, Failure, GrantsCommand, TemplateCommand, WorkArgs};
use crate::relay;
use crate::setup::{Setup, store_failure};

use super::drive::{Front, last_words};

/// How often the record is read.
const LOOK: Duration = Duration::from_millis(100);
/// How many looks at the record there are for each look at the sheet.
const SHEET_EVERY: u32 = 5;

/// The commands about clusters themselves.
pub(super) fn dispatch(setup: Setup, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Cluster(command) => super::cluster::cluster(setup, command),
        Command::Worker(arguments) => super::worker::worker(setup, arguments),
        _ => Ok(Exit::Complete),
    }
}

/// Refuses a command that would work with runs of this machine.
pub(super) fn refuse_others(setup: &Setup, command: &Command) -> Result<(), Failure> {
    let knows = match command {
        Command::Run(arguments) => is_plain(&arguments.work) && arguments.branch.is_none(),
        Command::Template(TemplateCommand::Run(arguments)) => is_plain(&arguments.work) && arguments.branch.is_none(),
        Command::Approve(_) | Command::Deny(_) => true,
        Command::Show(_) | Command::Cancel(_) | Command::Watch(_) | Command::Report(_) => true,
        Command::Drop(_) | Command::Fork(_) | Command::Undo(_) | Command::Gc(_) => true,
        #[cfg(feature = "share")]
        Command::Export(_) => true,
        Command::Plan(arguments) => is_plain(&arguments.work),
        Command::Grants(arguments) => !matches!(arguments.command, Some(GrantsCommand::Add(_))),
        #[cfg(feature = "page")]
        Command::Serve(_) => true,
        #[cfg(feature = "mcp")]
        Command::Mcp(_) => true,
        Command::Continue(arguments) => is_plain(&arguments.work),
        Command::Cluster(ClusterCommand::Workers) => true,
        Command::Runs(arguments) => arguments.adopt.is_none(),
        Command::Resume(arguments) => is_plain(&arguments.work),
        Command::Retry(arguments) => is_plain(&arguments.work) && arguments.work.settings().is_empty(),
        _ => false,
    };
    if setup.on.is_none() || knows {
        return Ok(());
    }
    let advice = match command {
        Command::Grants(_) => {
            "`approve --always` grants there; for anything else, type it in the project of the cluster"
        }
        Command::Index(_) => "an index is for lookups in its folder: type it in the project of the cluster",
        #[cfg(feature = "share")]
        Command::Import(_) => {
            "import the run on this machine, without --on; its changes are not in the project of the cluster"
        }
        _ => KNOWN,
    };
    Err(Failure::usage("this command, or one of its flags, does not work with --on", advice))
}

/// What works with runs of a cluster.
const KNOWN: &str = "these do: run, template run, plan, show, runs, watch, approve, deny, resume, continue, retry, drop, fork, undo, cancel, report, \
                     export, grants, grants revoke, gc, serve, mcp, acp";

/// Whether the flags mean something to a cluster. A recording belongs to the process that asks the model.
fn is_plain(work: &WorkArgs) -> bool {
    work.record.is_none() && work.replay.is_none() && work.reuse.is_none()
}

/// Lists what the cluster allows, or takes grants back.
pub(super) fn grants(setup: &Setup, on: &RemoteStore, command: Option<&GrantsCommand>) -> Result<Exit, Failure> {
    let failed = |fault: ClusterFault| store_failure(fault.into());
    if let Some(GrantsCommand::Revoke(revoke)) = command {
        for number in &revoke.numbers {
            let Some(grant) = on.revoke(*number).map_err(failed)? else {
                return Err(Failure::usage(
                    format!("there is no grant {number}"),
                    Advice::command("list them", ["grants"]),
                ));
            };
            super::say(setup, &format!("revoked grant {number}: {}", super::grants::line(&grant)))?;
        }
        return Ok(Exit::Complete);
    }
    let grants = on.grants().map_err(failed)?;
    for grant in &grants {
        if setup.json {
            let mut value = serde_json::to_value(grant).unwrap_or_default();
            value["ended"] = grant.has_ended(SystemClock.now_ms()).into();
            super::print_json(&value)?;
        } else {
            super::print(&format!("{:>3}  {}\n", grant.n, super::grants::line(grant)))?;
        }
    }
    if grants.is_empty() && !setup.json {
        tell!("nothing is granted there");
    }
    Ok(Exit::Complete)
}

/// Lets a run that rests go on with these settings and what a person wrote into its sheet, and shows it. `run` is the run
/// as recorded.
pub(super) async fn go_on(
    setup: &Setup,
    front: &Front,
    run: RunView,
    id: &RunId,
    how: ResumeKind,
    settings: Settings,
) -> Result<Exit, Failure> {
    let edited = setup.runs().edit_to_give(id)?;
    let store = setup.store()?;
    if let Some(hosting) = store.hosting() {
        let asked = Asked::Reopen { how, settings: Box::new(settings) };
        hosting.ask(id, asked, edited).map_err(store_failure)?;
    }
    follow(setup, front, run, id).await
}

/// Shows a run of a cluster until it ends or waits for somebody who is not there. The run goes on without this process.
/// `run` is what was shown of it.
pub(super) async fn follow(setup: &Setup, front: &Front, run: RunView, id: &RunId) -> Result<Exit, Failure> {
    match until_rest(setup, front, run, id).await? {
        (run, Some(outcome)) => {
            last_words(setup, &run, id, outcome)?;
            Ok(Exit::from(outcome))
        }
        (_, None) => Ok(Exit::Cancelled),
    }
}

/// The same without last words. Returns the run, and how it ended or that it waits. `None` if the person left.
pub(super) async fn until_rest(
    setup: &Setup,
    front: &Front,
    mut run: RunView,
    id: &RunId,
) -> Result<(RunView, Option<Outcome>), Failure> {
    let stop = CancellationToken::new();
    front.listen_for_interrupt(stop.clone(), format!("{} cancel {id}", setup.command));
    front.begins(id);
    let store = setup.store()?;
    let mut sheet = SheetGiver::new(setup.runs());
    loop {
        let (store, next) = (std::sync::Arc::clone(&store), run.cursor().0.saturating_add(1));
        let asked = id.clone();
        let read = tokio::task::spawn_blocking(move || store.read(&asked, next));
        let read = read.await.map_err(|error| Failure::internal(error.to_string(), ""))?;
        for entry in read.map_err(store_failure)? {
            let broken = |reject| Failure::internal(format!("entry {} does not fit: {reject}", entry.n), "");
            run.take(&entry).map_err(broken)?;
            run.show_to(&*front.observer, &entry);
        }
        if let Some(refusal) = sheet.look(id, &run) {
            tell!("{refusal}");
        }
        let is_watched = relay::viewer_left().is_some_and(|left| !left.is_cancelled());
        if let Some(outcome) = run.about().outcome.or_else(|| run.only_asks().filter(|_| !is_watched)) {
            return Ok((run, Some(outcome)));
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stop.cancelled() => {
                tell!("The run continues without this process. Look at it: {0} show {id}; stop it: {0} cancel {id}", setup.command);
                return Ok((run, None));
            }
        }
    }
}

/// Gives what a person writes into the sheet of a run to the cluster, while this process shows the run. A text counts once
/// it was the same in two looks, because editors write in pieces.
pub(super) struct SheetGiver {
    runs: LocalRuns,
    looks: u32,
    seen: Option<String>,
    given: Option<String>,
}

impl SheetGiver {
    pub fn new(runs: LocalRuns) -> Self {
        Self { runs, looks: 0, seen: None, given: None }
    }

    /// Looks at the sheet now and then, and gives it. Returns why it was not given.
    pub fn look(&mut self, id: &RunId, run: &RunView) -> Option<Refusal> {
        self.looks = self.looks.wrapping_add(1);
        if !self.looks.is_multiple_of(SHEET_EVERY) {
            return None;
        }
        let text = self.runs.edited_text(id, run).ok().flatten();
        if text.is_none() || text == self.given {
            self.seen = None;
        } else if text == self.seen {
            self.given = text;
            return self.give(id).err();
        } else {
            self.seen = text;
        }
        None
    }

    fn give(&self, id: &RunId) -> Result<(), Refusal> {
        let Some(text) = self.runs.edit_to_give(id)? else { return Ok(()) };
        self.runs.store()?.post(id, &InboxMessage::Edit { text }.into())?;
        Ok(())
    }
}
