//! `watch`: shows a working run on the full screen or in plain lines, whichever process drives it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callsheet_app::{Advice, RunView};
use callsheet_core::nouns::RunId;
#[cfg(feature = "cluster")]
use callsheet_runtime::ports::Signal;
use callsheet_runtime::ports::{Observer, RunSummary};
use callsheet_tui::{Leave, News, Wire};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::cli::{Exit, Failure, RunNameArgs};
use crate::driver::{Driver, hang_up};
use crate::relay::Relayed;
use crate::setup::{Setup, find_run, recorded};
use crate::term::{self, outcome_words, print_relayed};

use super::attend::attend_command;
use super::follow::Follower;
use super::front::ignores_hangup;
use super::lines::watch_lines;
#[cfg(feature = "cluster")]
use super::on_cluster::SheetGiver;
use super::viewer::viewer;

/// How often the record is read.
const LOOK: Duration = Duration::from_millis(150);

pub(super) fn watch(setup: &Setup, arguments: &RunNameArgs) -> Result<Exit, Failure> {
    if setup.json || !term::is_interactive() {
        return Err(Failure::usage("`watch` needs a terminal", Advice::command("inspect a run without one", ["show"])));
    }
    let store = setup.existing_store()?;
    let found = find_run(&store, arguments.run.as_deref(), |_| true, "")?;
    if term::has_screen() {
        return watch_screen(setup, &found.run, None);
    }
    let runtime = super::runtime()?;
    runtime.block_on(watch_lines(setup, store, &found.run, None, found.facts))
}

/// The failure for a screen that cannot be used.
pub(super) fn screen_failure(error: std::io::Error) -> Failure {
    Failure::internal(format!("can't use this terminal for a full screen: {error}"), "use --plain")
}

/// The output of a driver that is printed after the screen has closed.
type LastWords = Arc<Mutex<Vec<Relayed>>>;

/// Shows a run on the full screen until the person leaves. The screen stays open when the run ends.
pub(super) fn watch_screen(setup: &Setup, id: &RunId, mut driver: Option<Driver>) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let (wire, news) = Wire::new();
    let wire = Arc::new(wire);
    let last_words = LastWords::default();
    let pid = driver.as_ref().and_then(Driver::pid);
    let told = driver.as_mut().map(|driver| {
        let messages = driver.hand_over();
        let (wire, last_words) = (Arc::clone(&wire), Arc::clone(&last_words));
        std::thread::spawn(move || pass_on(messages, &wire, &last_words))
    });
    let follower = Follower::new(setup, Arc::clone(&store), id);
    let mut teller = Teller {
        follower,
        wire,
        driven: None,
        silent: true,
        // A driver looks at the sheet itself.
        #[cfg(feature = "cluster")]
        sheet: (setup.on.is_some() && driver.is_none())
            .then(|| (SheetGiver::new(setup.runs()), id.clone(), RunView::default())),
    };
    teller.tell();
    std::thread::spawn(move || teller.go_on());
    let left = callsheet_tui::watch(viewer(setup, id, pid), news, term::colours()).map_err(screen_failure)?;
    match left {
        Leave::Gone => gone(driver),
        Leave::Resume => attend_command(setup, &["resume", id.as_str()]),
        Leave::FollowUp(text) => attend_command(setup, &["continue", id.as_str(), "--", &text]),
        Leave::Quit => {
            let found = find_run(&store, Some(id.as_str()), |_| true, "")?;
            let run = recorded(&store, &found)?.run;
            match (driver, told) {
                (Some(driver), Some(told)) if run.about().outcome.is_some() || found.owner.is_none() => {
                    let exit = driver.end()?;
                    let _panicked = told.join();
                    last_words.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(print_relayed);
                    Ok(exit)
                }
                _ => say_left(setup, &found, &run),
            }
        }
    }
}

/// Prints the state of the run that the person leaves.
fn say_left(setup: &Setup, found: &RunSummary, run: &RunView) -> Result<Exit, Failure> {
    let (id, call) = (&found.run, &setup.command);
    let state = match (run.about().outcome, &found.owner) {
        (Some(outcome), _) => outcome_words(outcome).to_owned(),
        (None, Some(owner)) => {
            format!(
                "continues without this screen ({owner}). Look at it: {call} watch {id}; stop it: {call} cancel {id}"
            )
        }
        (None, None) => format!("not running. Next: {call} resume {id}"),
    };
    super::say(setup, &format!("run {id}: {state}")).map(|()| Exit::Complete)
}

/// Handles a lost terminal. The run stops, unless this process must outlive its terminal.
fn gone(driver: Option<Driver>) -> Result<Exit, Failure> {
    let Some(mut driver) = driver else { return Ok(Exit::Cancelled) };
    if ignores_hangup() {
        driver.leave();
    } else if let Some(pid) = driver.pid() {
        hang_up(pid);
    }
    driver.end()
}

/// Passes the driver's messages to the screen, and keeps its output.
fn pass_on(mut messages: UnboundedReceiver<Relayed>, wire: &Wire, last_words: &LastWords) {
    while let Some(relayed) = messages.blocking_recv() {
        match relayed.signal() {
            Some(signal) => wire.see(&signal),
            None => last_words.lock().unwrap_or_else(PoisonError::into_inner).push(relayed),
        }
    }
}

/// Passes news to the screen.
struct Teller {
    follower: Follower,
    wire: Arc<Wire>,
    driven: Option<bool>,
    silent: bool,
    /// Gives edits of the sheet to the cluster of the run.
    #[cfg(feature = "cluster")]
    sheet: Option<(SheetGiver, RunId, RunView)>,
}

impl Teller {
    /// Passes what is new to the screen. Returns false if the screen was closed.
    fn tell(&mut self) -> bool {
        // Read this before reporting that nobody drives the run, because streamed text must not outlive its driver.
        let (driven, is_fresh) = self.follower.owner();
        let mut listens = true;
        for entry in self.follower.entries() {
            #[cfg(feature = "cluster")]
            if let Some((_, _, run)) = &mut self.sheet {
                // The screen itself reports a faulty record.
                let _faulty = run.take(&entry);
            }
            listens &= self.wire.tell(News::Entry(Box::new(entry)));
        }
        #[cfg(feature = "cluster")]
        if let Some(refusal) = self.sheet.as_mut().and_then(|(sheet, id, run)| sheet.look(id, run)) {
            self.wire.see(&Signal::Notice(&refusal.to_string()));
        }
        let streams = self.follower.streams();
        let was_silent = std::mem::replace(&mut self.silent, streams.is_empty());
        if !(was_silent && self.silent) {
            listens &= self.wire.tell(News::Streams(streams));
        }
        if is_fresh || self.driven != Some(driven) {
            self.driven = Some(driven);
            listens &= self.wire.tell(News::Driven(driven));
        }
        listens
    }

    fn go_on(mut self) {
        while self.tell() {
            std::thread::sleep(LOOK);
        }
    }
}
