//! Turns messages of other processes into events.

use std::collections::BTreeMap;

use callsheet_core::events::{self, Event};
use callsheet_core::record::{Answer, Gate, GateKind, Verdict};
use callsheet_core::run::{Run, State};
use callsheet_core::spec::Slug;

use crate::driver::retry;
use crate::driver::session::Session;
use crate::effects::hunks::{self, HunkAnswer};
use crate::effects::{open_gates, open_questions, pending, report_invalid};
use crate::fault::DriveFault;
use crate::ports::{AskingCall, InboxMessage};
use crate::services::Services;

/// Turns messages of other processes into facts.
pub(crate) fn read_inbox(session: &mut Session, services: &Services) -> Result<(), DriveFault> {
    let messages = services.store.messages(session.lock())?;
    let Some(last) = messages.last().map(|(number, _)| *number) else { return Ok(()) };
    process_messages(session, services, messages.into_iter().map(|(_, message)| message).collect())?;
    services.store.discard(session.lock(), last)?;
    Ok(())
}

/// Whether a message changes tasks instead of answering something: it counts once the run is taken up.
pub(crate) fn changes_list(message: &InboxMessage) -> bool {
    match message {
        InboxMessage::Retry { .. } | InboxMessage::Drop { .. } => true,
        // That of a task, which may begin again with it.
        InboxMessage::Raise { limit, .. } => limit.contains('.'),
        _ => false,
    }
}

/// Records the content of messages. Discards messages that do not fit, with a notice.
pub(crate) fn process_messages(
    session: &mut Session,
    services: &Services,
    messages: Vec<InboxMessage>,
) -> Result<(), DriveFault> {
    // Gates of which one message answered a part, each with what is asked since. The next message was meant for the
    // whole gate.
    let mut rests: Vec<(Gate, Gate)> = Vec::new();
    // If several calls are equal, the answer to one closes the others.
    let open: Vec<Gate> = open_gates(session.run()).collect();
    for mut message in latest(messages) {
        let is_list_change = changes_list(&message);
        let is_raise = matches!(message, InboxMessage::Raise { .. });
        let left_for = gate_of(&message).cloned();
        if let (InboxMessage::Answer { gate, .. }, Some((_, rest))) =
            (&mut message, rests.iter().rev().find(|(whole, _)| Some(whole) == left_for.as_ref()))
        {
            *gate = Some(rest.clone());
        }
        let answered = gate_of(&message).cloned();
        let Some(events) = events_of(session.run(), services, message)? else { continue };
        let wanted = events.len().max(1);
        let taken = session.record(services, events)?;
        let closed = answered.as_ref().is_some_and(|gate| open.contains(gate) && !is_open(session.run(), gate));
        if taken < wanted && !closed {
            services.notice(if is_raise {
                "a limit was not raised: it is not set, or it is already higher"
            } else if is_list_change {
                "a task can no longer be retried or removed; `callsheet show` shows its state"
            } else {
                "ignored an answer for this run, because nothing waits for it"
            });
        }
        if let Some((whole, answered)) = left_for.zip(answered)
            && let Some(rest) = rest_of(session.run(), &answered)
        {
            rests.push((whole, rest));
        }
    }
    Ok(())
}

/// The messages that count. Of two about the same thing, the later one counts. Verdicts on named tasks count before a
/// verdict on everything that waits, which then applies to the rest: to the other tasks of a gate, and to the other
/// gates. Whoever sent them was told that they are saved.
fn latest(messages: Vec<InboxMessage>) -> Vec<InboxMessage> {
    let mut out: Vec<InboxMessage> = Vec::new();
    for message in messages {
        if let (InboxMessage::Drop { tasks }, Some(InboxMessage::Drop { tasks: before })) =
            (&message, out.iter_mut().find(|other| matches!(other, InboxMessage::Drop { .. })))
        {
            before.extend(tasks.iter().cloned());
            continue;
        }
        let Some(gate) = gate_of(&message).cloned() else {
            out.push(message);
            continue;
        };
        let same = |other: &InboxMessage| gate_of(other) == Some(&gate);
        match verdicts_of(&message).map(|verdicts| verdicts.keys().cloned().collect::<Vec<Slug>>()) {
            Some(named) => {
                out.iter_mut().filter(|other| same(other)).filter_map(verdicts_mut).for_each(|verdicts| {
                    verdicts.retain(|slug, _| !named.contains(slug));
                });
                out.retain(|other| !same(other) || verdicts_of(other).is_none_or(|verdicts| !verdicts.is_empty()));
                let of_all = out.iter().position(|other| same(other) && verdicts_of(other).is_none());
                out.insert(of_all.unwrap_or(out.len()), message);
            }
            None if names_all(&message) => {
                out.retain(|other| !same(other));
                out.push(message);
            }
            None if out.iter().any(|other| same(other) && names_all(other)) => {}
            None => {
                out.retain(|other| !same(other) || verdicts_of(other).is_some());
                out.push(message);
            }
        }
    }
    out
}

/// Whether a message covers everything that a gate asks about, and nothing else. Hunks belong to one change.
fn names_all(message: &InboxMessage) -> bool {
    matches!(message, InboxMessage::Answer { named: true, .. } | InboxMessage::Part { .. })
}

/// Verdicts on named tasks of a gate.
fn verdicts_of(message: &InboxMessage) -> Option<&BTreeMap<Slug, Verdict>> {
    match message {
        InboxMessage::Answer { answer: Answer::Each { verdicts, .. }, .. } => Some(verdicts),
        _ => None,
    }
}

fn verdicts_mut(message: &mut InboxMessage) -> Option<&mut BTreeMap<Slug, Verdict>> {
    match message {
        InboxMessage::Answer { answer: Answer::Each { verdicts, .. }, .. } => Some(verdicts),
        _ => None,
    }
}

/// What a gate still asks, after some of its tasks have an answer.
fn rest_of(run: &Run, answered: &Gate) -> Option<Gate> {
    let GateKind::BeforeRun(tasks) = &answered.kind else { return None };
    open_gates(run).find(|open| match &open.kind {
        GateKind::BeforeRun(rest) => open.n > answered.n && rest.iter().all(|slug| tasks.contains(slug)),
        _ => false,
    })
}

fn gate_of(message: &InboxMessage) -> Option<&Gate> {
    match message {
        InboxMessage::Answer { gate, .. } | InboxMessage::Part { gate, .. } => gate.as_ref(),
        _ => None,
    }
}

/// The events of a message. `None` if the reason why it has none was already reported.
fn events_of(run: &Run, services: &Services, message: InboxMessage) -> Result<Option<Vec<Event>>, DriveFault> {
    let event = match message {
        InboxMessage::Cancel => Some(events::CancelRequested {}.into()),
        InboxMessage::Raise { limit, max } => {
            // What failed begins again, with the higher limit.
            let task = limit.rsplit_once('.').map(|(task, _)| Slug::new(task)).filter(|task| has_failed(run, task));
            let retried = task.map(|task| events::TaskRetried { task, skills: BTreeMap::new() }.into());
            return Ok(Some([events::LimitRaised { limit, max }.into()].into_iter().chain(retried).collect()));
        }
        InboxMessage::Answer { gate, answer, by, .. } => {
            gate.or_else(|| open_gates(run).next()).map(|gate| events::GateAnswered { gate, answer, by }.into())
        }
        InboxMessage::Reply { text, to } => to
            .or_else(|| open_questions(run).next().map(|open| open.asking))
            .map(|AskingCall { task, run, call }| {
                services
                    .store
                    .put_blob(text.as_bytes())
                    .map(|output| events::QuestionAnswered { task, run, call, output }.into())
            })
            .transpose()?,
        InboxMessage::Part { gate, part, by } => {
            let gate = gate.or_else(|| open_gates(run).next()).filter(|gate| is_open(run, gate));
            match gate.as_ref().and_then(|gate| pending(run, gate)).zip(gate.as_ref()) {
                Some((changes, gate)) => match hunks::answer(services, changes, &part)? {
                    HunkAnswer::Answer(answer) => Some(events::GateAnswered { gate: gate.clone(), answer, by }.into()),
                    HunkAnswer::Moved(set) => hunks::adapted(services, gate, set),
                    HunkAnswer::Invalid(lines) => {
                        report_invalid(services, &lines);
                        return Ok(None);
                    }
                },
                None => None,
            }
        }
        InboxMessage::Retry { mut tasks } => {
            let named = tasks.len();
            tasks.retain(|task| !is_back(run, task));
            if tasks.is_empty() && named > 0 {
                return Ok(None);
            }
            let skills = retry::changed_skills(services, run, &tasks)?;
            let retried = |task| events::TaskRetried { task, skills: skills.clone() }.into();
            return Ok(Some(tasks.into_iter().map(retried).collect()));
        }
        InboxMessage::Drop { mut tasks } => {
            // Removes the last task of a chain first, because a task that reads a removed one is blocked and stays so.
            tasks.sort_by_key(|slug| std::cmp::Reverse(run.step_of(slug)));
            tasks.dedup();
            return Ok(Some(tasks.into_iter().map(|task| events::TaskDropped { task }.into()).collect()));
        }
    };
    Ok(Some(event.into_iter().collect()))
}

/// Whether the resume, or another task that runs again, has already brought it back.
fn is_back(run: &Run, task: &Slug) -> bool {
    match run.operators().get(task) {
        Some(op) => op.closed.is_none(),
        None => run.task(task).is_some_and(|task| !task.state().is_ended()),
    }
}

fn has_failed(run: &Run, task: &Slug) -> bool {
    match run.operators().get(task) {
        Some(op) => op.failed() && !op.former,
        None => run.task(task).is_some_and(|task| task.state() == State::Failed),
    }
}

fn is_open(run: &Run, gate: &Gate) -> bool {
    open_gates(run).any(|open| open == *gate)
}
