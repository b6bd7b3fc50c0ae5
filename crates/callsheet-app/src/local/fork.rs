//! `fork`: makes a new run with the recorded events of another run, up to some point (spec 2.18).

use std::collections::BTreeSet;

use callsheet_core::events::{CallsUnended, ChangesApplied, Event, LogEntry};
use callsheet_core::names::call_title;
use callsheet_core::nouns::{RunId, Slug, ToolCall};
use callsheet_core::record::EffectKey;
use callsheet_core::run::Run;
use callsheet_core::view::counted;
use callsheet_runtime::driver::share_files;
use callsheet_runtime::ports::{Store, StoreFault};
use callsheet_runtime::runfiles::KeptFiles;

use super::elsewhere::unkept;
use super::tasks::unknown_task;
use super::{LocalRuns, recorded};
use crate::advice::Advice;
use crate::command::Receipt;
use crate::refusal::Refusal;
use crate::words::one_line;

/// Where the events of a fork end.
enum Point {
    /// At the end of the other run.
    End,
    /// After the event with this number.
    Event(u64),
    /// Before this task began.
    Task(Slug),
}

/// What a fork gets from the other run.
struct Shared {
    entries: Vec<LogEntry>,
    /// The fold of the entries.
    run: Run,
    /// The files that the other run changed after the point.
    changed: BTreeSet<String>,
}

pub(super) fn fork(runs: &LocalRuns, id: &RunId, at: Option<&str>) -> Result<Receipt, Refusal> {
    let (store, found) = runs.found(id)?;
    let id = &found.run;
    // Refuses a record that this build cannot fold.
    let run = recorded(&store, &found)?.run.into_run();
    let point = match at {
        None => Point::End,
        Some(text) => text.parse().map_or_else(|_| Point::Task(Slug::new(text)), Point::Event),
    };
    let Shared { mut entries, run: beginning, changed } = shared(&run, id, store.read(id, 0)?, &point)?;
    if beginning.outcome().is_none() && beginning.outstanding().is_empty() {
        return Err(Refusal::usage(
            format!("run {id} had no tasks yet at that point"),
            Advice::from("give a larger number")
                .and(Advice::command("list the events", ["show", id.as_str(), "--events"])),
        ));
    }
    let fresh = fresh_name(&*store, id)?;
    let unended = unended_after(&run, &beginning);
    let events = counted(entries.len(), "event");
    let told = |last: &LogEntry| {
        let event = CallsUnended { calls: unended.clone() }.into();
        LogEntry::new(last.n.saturating_add(1), last.at, event)
    };
    let told = entries.last().filter(|_| !unended.is_empty()).map(told);
    entries.extend(told);
    if let Some(LogEntry { event: Event::RunStarted(started), .. }) = entries.first_mut() {
        started.run = fresh.clone();
    }
    match store.hosting() {
        Some(hosting) => hosting.record(&fresh, &entries)?,
        None => {
            let lock = store.lock(&fresh)?;
            let written = store.append(&lock, &entries);
            store.unlock(&lock)?;
            written?;
            let kept = |id: &RunId| KeptFiles::new(&runs.host.store_folder(), id).map_err(unkept);
            let given = share_files(&kept(id)?, &kept(&fresh)?, &beginning);
            given.map_err(|fault| Refusal::of_drive(&fault, &fresh))?;
        }
    }
    let mut notes = Advice::command("resume it", ["resume", fresh.as_str()]);
    if !changed.is_empty() {
        let files: Vec<String> = changed.into_iter().collect();
        let (count, names) = (counted(files.len(), "file"), one_line(&files.join(", "), 600));
        notes.add(format!("{id} changed {count} after this point; they stay as they are: {names}"));
        notes.add(Advice::command("to undo that", ["undo", id.as_str()]));
    }
    if !unended.is_empty() {
        let calls: Vec<String> =
            unended.iter().map(|(task, call)| format!("{task}: {}", one_line(&call_title(call), 200))).collect();
        notes.add(format!(
            "{id} started and never finished, and {fresh} asks before it runs this again: {}",
            calls.join("; ")
        ));
    }
    Ok(Receipt { notes, ..Receipt::done(&fresh, format!("{fresh} is a new run with the first {events} of {id}")) })
}

/// The calls that the whole run started after its beginning and did not finish, although they may not be repeated.
fn unended_after(whole: &Run, beginning: &Run) -> Vec<(Slug, ToolCall)> {
    let known = beginning.unended_calls();
    whole.unended_calls().into_iter().filter(|call| !known.contains(call)).collect()
}

/// The entries before the point. If a change was being written or undone at the point, the fork ends before that.
fn shared(whole: &Run, id: &RunId, mut entries: Vec<LogEntry>, point: &Point) -> Result<Shared, Refusal> {
    let last = entries.last().map_or(0, |entry| entry.n);
    let mut run = Run::new();
    let mut applying = Vec::new();
    let mut cut = None;
    for (at, entry) in entries.iter().enumerate() {
        let is_there = match point {
            Point::End => false,
            Point::Event(n) => entry.n > *n,
            Point::Task(task) => begins(&run, &entry.event, task),
        };
        if is_there {
            cut = Some(at);
            break;
        }
        let reject = |_| {
            Refusal::internal(
                format!("the record of run {id} cannot be read"),
                Advice::command("check the record", ["doctor"]),
            )
        };
        run.apply(entry).map_err(reject)?;
        if let Event::Started(started) = &entry.event
            && matches!(started.effect, EffectKey::Apply { .. } | EffectKey::RollBack { .. })
        {
            applying.push((at, started.effect.clone()));
        }
        applying.retain(|(_, effect)| run.is_in_flight(effect));
    }
    match (point, cut) {
        (Point::Event(n), None) if *n > last => {
            return Err(Refusal::usage(
                format!("run {id} has events 1 to {last}"),
                Advice::command("list them", ["show", id.as_str(), "--events"]),
            ));
        }
        (Point::Event(0), _) => {
            return Err(Refusal::usage("a fork needs at least the first event", "give a number from 1"));
        }
        (Point::Task(task), None) => return Err(not_begun(whole, id, task)),
        _ => {}
    }
    let cut = applying.first().map_or(cut.unwrap_or(entries.len()), |(begun, _)| *begun);
    let later = entries.split_off(cut);
    let stands = |applied: &&ChangesApplied| {
        let mut sets = whole.task(&applied.task).into_iter().flat_map(|task| &task.applied);
        sets.any(|set| (&set.run, set.set) == (&applied.run, applied.set) && !set.reverted)
    };
    let applied = later.iter().filter_map(|entry| match &entry.event {
        Event::ChangesApplied(applied) => Some(applied),
        _ => None,
    });
    let files = applied.filter(stands).flat_map(|applied| &applied.changes.files);
    let changed = files.map(|file| file.path.clone()).collect();
    Ok(Shared { entries, run, changed })
}

/// Whether an event begins the work of a task, or of a task inside it.
fn begins(run: &Run, event: &Event, task: &Slug) -> bool {
    let Event::Started(started) = event else { return false };
    let of = match &started.effect {
        EffectKey::Ask(key) => key.task.as_ref(),
        EffectKey::Tool { task, .. } | EffectKey::Retrieve { task, .. } => Some(task),
        _ => None,
    };
    of.is_some_and(|of| run.names_around(of).contains(task))
}

fn not_begun(run: &Run, id: &RunId, task: &Slug) -> Refusal {
    if run.state_of(task).is_some() {
        return Refusal::usage(
            format!("{task} has not begun in run {id}"),
            Advice::command("fork the whole run", ["fork", id.as_str()]),
        );
    }
    let names: Vec<&str> = run.names().into_iter().map(Slug::as_str).collect();
    unknown_task(id, task.as_str(), &names)
}

/// The first free name of a fork of a run.
fn fresh_name(store: &dyn Store, id: &RunId) -> Result<RunId, Refusal> {
    for number in 1_u32.. {
        let name = if number == 1 { format!("{id}-fork") } else { format!("{id}-fork-{number}") };
        let name = RunId::new(name);
        match store.has_messages(&name) {
            Err(StoreFault::NoRun(_)) => return Ok(name),
            known => known.map(|_| ())?,
        }
    }
    Err(Refusal::internal(format!("run {id} has too many forks"), ""))
}
