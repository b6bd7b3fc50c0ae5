//! `watch`: a run on the whole screen, whoever drives it.

use std::sync::Arc;
use std::time::Duration;

use callsheet_core::spec::RunId;
use callsheet_runtime::ports::Store;
use callsheet_store::LiveReader;
use callsheet_tui::{Leave, News, Wire};

use crate::cli::{ContinueArgs, Exit, Failure, ResumeArgs, RunNameArgs, WorkArgs};
use crate::setup::{Setup, find_run, recorded, store_failure};
use crate::term::{self, outcome_words};

use super::viewer::viewer;

/// How often the record is looked at.
const LOOK: Duration = Duration::from_millis(150);
/// Looks between two questions whether a process drives the run.
const OWNER_EVERY: u32 = 6;

pub(super) fn watch(setup: &Setup, arguments: &RunNameArgs) -> Result<Exit, Failure> {
    if setup.json || !term::has_screen() {
        return Err(Failure::usage(
            "`watch` needs a terminal for its screen",
            format!("inspect a run without one: {} show", setup.command),
        ));
    }
    let store = setup.existing_store()?;
    let found = find_run(&store, arguments.run.as_deref(), |_| true, "")?;
    let id = found.run.clone();
    let (wire, news) = Wire::new();
    wire.tell(News::Driven(found.owner.is_some()));
    let first = follow(&*store, &id, 1, &wire)?;
    let reader = Arc::clone(&store);
    let read = id.clone();
    let live = LiveReader::new(&setup.store_folder(), &id);
    let owner = found.owner.clone();
    std::thread::spawn(move || keep_following(&*reader, &live, (&read, owner), first, &wire));
    let left = callsheet_tui::watch(viewer(setup, &id), news, term::colours()).map_err(screen_failure)?;
    match left {
        Leave::Gone => Ok(Exit::Cancelled),
        Leave::Quit => {
            let found = find_run(&store, Some(id.as_str()), |_| true, "")?;
            let run = recorded(&store, &found)?.run;
            let state = match (run.outcome(), &found.owner) {
                (Some(outcome), _) => outcome_words(outcome).to_owned(),
                (None, Some(owner)) => format!("running ({owner})"),
                (None, None) => format!("not running. Next: {} resume {id}", setup.command),
            };
            super::say(setup, &format!("run {id}: {state}"))?;
            Ok(Exit::Complete)
        }
        Leave::Resume => {
            let run = Some(id.as_str().to_owned());
            super::resume::resume(setup, &ResumeArgs { run, answer: None, work: WorkArgs::default() })
        }
        Leave::FollowUp(text) => {
            let run = id.as_str().to_owned();
            let request = vec![text];
            let arguments = ContinueArgs { run, request, withdraw: false, work: WorkArgs::default() };
            super::continuation::continuation(setup, &arguments)
        }
    }
}

/// A screen that cannot be had.
pub(super) fn screen_failure(error: std::io::Error) -> Failure {
    Failure::internal(format!("can't use this terminal for a full screen: {error}"), "use --plain")
}

/// Tells what was recorded from an entry on; gives the number of the next.
fn follow(store: &dyn Store, id: &RunId, from: u64, wire: &Wire) -> Result<u64, Failure> {
    let entries = store.read(id, from).map_err(store_failure)?;
    let next = entries.last().map_or(from, |entry| entry.n.saturating_add(1));
    for entry in entries {
        wire.tell(News::Entry(Box::new(entry)));
    }
    Ok(next)
}

/// The same until nobody looks any more, and what the process that drives the run streams.
fn keep_following(
    store: &dyn Store,
    live: &LiveReader,
    (id, mut owner): (&RunId, Option<String>),
    mut from: u64,
    wire: &Wire,
) {
    let (mut looks, mut silent) = (0_u32, true);
    loop {
        std::thread::sleep(LOOK);
        // What cannot be read now may be read the next time.
        from = follow(store, id, from, wire).unwrap_or(from);
        looks = (looks + 1) % OWNER_EVERY;
        if looks == 0 {
            let runs = store.runs().unwrap_or_default();
            owner = runs.into_iter().find(|run| run.run == *id).and_then(|run| run.owner);
        }
        // Before it is told that nobody drives the run: nothing that was streamed outlives that.
        let streams = owner.as_deref().map(|owner| live.read(owner)).unwrap_or_default();
        let was_silent = std::mem::replace(&mut silent, streams.is_empty());
        if !(was_silent && silent || wire.tell(News::Streams(streams))) {
            return;
        }
        if looks == 0 && !wire.tell(News::Driven(owner.is_some())) {
            return;
        }
    }
}
