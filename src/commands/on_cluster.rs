//! Runs of a cluster from the command line: which commands know them, and how one is followed.

use std::time::Duration;

use callsheet_app::RunView;
use callsheet_cluster::RemoteStore;
use callsheet_core::nouns::RunId;
use callsheet_runtime::driver::ResumeKind;
use tokio_util::sync::CancellationToken;

use crate::cli::{ClusterCommand, Command, Exit, Failure, TemplateCommand, WorkArgs};
use crate::relay;
use crate::setup::{Setup, store_failure};

use super::drive::{Front, last_words};

/// How often the record is read.
const LOOK: Duration = Duration::from_millis(100);

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
        Command::Cluster(ClusterCommand::Workers) => true,
        Command::Runs(arguments) => arguments.adopt.is_none(),
        Command::Resume(arguments) => is_plain(&arguments.work),
        Command::Retry(arguments) => is_plain(&arguments.work) && arguments.work.settings().is_empty(),
        _ => false,
    };
    if setup.on.is_none() || knows {
        return Ok(());
    }
    Err(Failure::usage(
        "this command, or one of its flags, does not work with --on yet",
        "these do: run, template run, show, runs, watch, approve, deny, resume, retry, cancel, report",
    ))
}

/// Whether the flags mean something to a cluster. A recording belongs to the process that asks the model.
fn is_plain(work: &WorkArgs) -> bool {
    work.record.is_none() && work.replay.is_none() && work.reuse.is_none()
}

/// Lets a run that rests go on, and shows it. `run` is the run as recorded.
pub(super) fn resume(
    setup: &Setup,
    remote: &RemoteStore,
    work: &WorkArgs,
    id: &RunId,
    run: RunView,
    how: &ResumeKind,
) -> Result<Exit, Failure> {
    if *how != ResumeKind::Resume {
        return Err(Failure::usage("follow-ups do not work with --on yet", ""));
    }
    let front = Front::new(setup, work);
    front.begin_with(&run);
    remote.resume(id).map_err(|fault| store_failure(fault.into()))?;
    super::runtime()?.block_on(follow(setup, &front, run, id))
}

/// Shows a run of a cluster until it ends or waits for somebody who is not there. The run goes on without this process.
/// `run` is what was shown of it.
pub(super) async fn follow(setup: &Setup, front: &Front, mut run: RunView, id: &RunId) -> Result<Exit, Failure> {
    let stop = CancellationToken::new();
    front.listen_for_interrupt(stop.clone(), format!("{} cancel {id}", setup.command));
    front.begins(id);
    let store = setup.store()?;
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
        let is_watched = relay::viewer_left().is_some_and(|left| !left.is_cancelled());
        if let Some(outcome) = run.about().outcome.or_else(|| run.only_asks().filter(|_| !is_watched)) {
            last_words(setup, &run, id, outcome)?;
            return Ok(Exit::from(outcome));
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stop.cancelled() => {
                tell!("The run continues without this process. Look at it: {0} show {id}; stop it: {0} cancel {id}", setup.command);
                return Ok(Exit::Cancelled);
            }
        }
    }
}
