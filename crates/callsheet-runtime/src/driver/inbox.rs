//! Turns messages of other processes into events.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::events::{self, Event};
use callsheet_core::nouns::Slug;
use callsheet_core::record::{Answer, AnsweredBy, Gate, GateKind, OrderId, Verdict};
use callsheet_core::run::{NodeInstance, Run};

use crate::driver::retry;
use crate::driver::session::Session;
use crate::effects::hunks::{self, HunkAnswer};
use crate::effects::{open_gates, open_questions, pending, report_invalid};
use crate::fault::DriveFault;
use crate::ports::{AskingCall, InboxMessage, Posted};
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
        InboxMessage::Retry { .. } | InboxMessage::Drop { .. } | InboxMessage::Edit { .. } => true,
        // That of a task, which may begin again with it.
        InboxMessage::Raise { limit, .. } => limit.contains('.'),
        _ => false,
    }
}

/// Records the content of messages. Discards messages that do not fit, with a notice, and without one those of an order
/// that was carried out already.
pub(crate) fn process_messages(
    session: &mut Session,
    services: &Services,
    mut messages: Vec<Posted>,
) -> Result<(), DriveFault> {
    messages.retain(|posted| may_still_answer(session.run(), services, &posted.message));
    let mut keys: BTreeSet<String> = BTreeSet::new();
    messages.retain(|posted| {
        let is_new = |order: &OrderId| !session.run().has_carried_out(&order.key) && keys.insert(order.key.clone());
        posted.order.as_ref().is_none_or(is_new)
    });
    // Gates of which one message answered a part, each with what is asked since. The next message was meant for the
    // whole gate.
    let mut rests: Vec<(Gate, Gate)> = Vec::new();
    // If several calls are equal, the answer to one closes the others.
    let open: Vec<Gate> = open_gates(session.run()).collect();
    let (messages, unused) = latest(messages);
    session.record(services, unused.into_iter().filter_map(unused_answer).collect())?;
    for Order { mut message, ids } in messages {
        if let InboxMessage::Edit { text } = message {
            session.take_edit(services, text, &ids)?;
            continue;
        }
        let is_list_change = changes_list(&message);
        let is_raise = matches!(message, InboxMessage::Raise { .. });
        let left_for = message.gate().cloned();
        if let (InboxMessage::Answer { gate, .. }, Some((_, rest))) =
            (&mut message, rests.iter().rev().find(|(whole, _)| Some(whole) == left_for.as_ref()))
        {
            *gate = Some(rest.clone());
        }
        let answered = message.gate().cloned();
        let Some(events) = events_of(session.run(), services, message)? else { continue };
        let wanted = events.len().max(1);
        let taken = session.record_for(services, events, &ids)?;
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

/// Whether the key that signed an answer elsewhere is still granted. The answer may have waited for long.
fn may_still_answer(run: &Run, services: &Services, message: &InboxMessage) -> bool {
    let (InboxMessage::Answer { by: Some(AnsweredBy::Signed(key)), .. }
    | InboxMessage::Part { by: Some(AnsweredBy::Signed(key)), .. }) = message
    else {
        return true;
    };
    let may = run.id().is_some_and(|id| services.grants.has_approver(key, id));
    if !may {
        services.notice(&format!(
            "an answer is signed with {key}, which is not granted any more, so it was not used; what it was for still waits"
        ));
    }
    may
}

/// A message that counts, and the orders that it carries out.
struct Order {
    message: InboxMessage,
    ids: Vec<OrderId>,
}

/// The messages that count, and the answers that others replace. Of two about the same thing, the later one counts.
/// Verdicts on named tasks count before a verdict on everything that waits, which then applies to the rest: to the other
/// tasks of a gate, and to the other gates.
fn latest(messages: Vec<Posted>) -> (Vec<Order>, Vec<InboxMessage>) {
    let (mut out, mut unused): (Vec<Order>, Vec<InboxMessage>) = (Vec::new(), Vec::new());
    for Posted { order, message } in messages {
        let first_drop = out.iter_mut().find_map(|other| match &mut other.message {
            InboxMessage::Drop { tasks } => Some((tasks, &mut other.ids)),
            _ => None,
        });
        if let (InboxMessage::Drop { tasks }, Some((before, ids))) = (&message, first_drop) {
            before.extend(tasks.iter().cloned());
            ids.extend(order);
            continue;
        }
        let gate = message.gate().cloned();
        let new = Order { message, ids: order.into_iter().collect() };
        let Some(gate) = gate else {
            out.push(new);
            continue;
        };
        let same = |other: &Order| other.message.gate() == Some(&gate);
        let mut replace = |out: &mut Vec<Order>, is_replaced: &dyn Fn(&Order) -> bool| {
            let replaced = out.extract_if(.., |other| is_replaced(other)).map(|other| other.message);
            unused.extend(replaced.filter(|message| *message != new.message));
        };
        match verdicts_of(&new.message).map(|verdicts| verdicts.keys().cloned().collect::<Vec<Slug>>()) {
            Some(named) => {
                let others = out.iter_mut().filter(|other| same(other));
                others.filter_map(|other| verdicts_mut(&mut other.message)).for_each(|verdicts| {
                    verdicts.retain(|slug, _| !named.contains(slug));
                });
                replace(&mut out, &|other| same(other) && verdicts_of(&other.message).is_some_and(BTreeMap::is_empty));
                let of_all = out.iter().position(|other| same(other) && verdicts_of(&other.message).is_none());
                out.insert(of_all.unwrap_or(out.len()), new);
            }
            None if names_all(&new.message) => {
                replace(&mut out, &same);
                out.push(new);
            }
            None if out.iter().any(|other| same(other) && names_all(&other.message)) => unused.push(new.message),
            None => {
                replace(&mut out, &|other| same(other) && verdicts_of(&other.message).is_none());
                out.push(new);
            }
        }
    }
    (out, unused)
}

/// The record of an answer that another one replaces, for whoever gave it.
fn unused_answer(message: InboxMessage) -> Option<Event> {
    let (gate, verdict, by) = match message {
        InboxMessage::Answer { gate: Some(gate), answer, by, .. } => (gate, answer.verdict(), by),
        InboxMessage::Part { gate: Some(gate), by, .. } => (gate, "approved in part", by),
        _ => return None,
    };
    Some(events::AnswerUnused { gate, verdict: verdict.to_owned(), by }.into())
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

/// The events of a message. `None` if the reason why it has none was already reported.
fn events_of(run: &Run, services: &Services, message: InboxMessage) -> Result<Option<Vec<Event>>, DriveFault> {
    let event = match message {
        InboxMessage::Cancel => Some(events::CancelRequested {}.into()),
        // Read as a sheet, with the session.
        InboxMessage::Edit { .. } => return Ok(None),
        InboxMessage::Raise { limit, max } => {
            let after: Option<Event> = run.after_raise(&limit).map(|(task, continues)| {
                if continues {
                    return events::TaskContinued { task }.into();
                }
                services.notice(&format!("note: {task} begins again, because nothing of it can be continued"));
                events::TaskRetried { task, skills: BTreeMap::new(), because: String::new() }.into()
            });
            return Ok(Some([events::LimitRaised { limit, max }.into()].into_iter().chain(after).collect()));
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
        InboxMessage::Retry { mut tasks, because } => {
            let named = tasks.len();
            tasks.retain(|task| !is_back(run, task));
            if tasks.is_empty() && named > 0 {
                return Ok(None);
            }
            let skills = retry::changed_skills(services, run, &tasks)?;
            let retried = |task| events::TaskRetried { task, skills: skills.clone(), because: because.clone() }.into();
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

/// Whether the resume, an edited template, or another task that runs again has already brought it back.
fn is_back(run: &Run, task: &Slug) -> bool {
    let is_replaced = run.operators().get(task).is_some_and(NodeInstance::is_former);
    is_replaced || run.state_of(task).is_some_and(|state| !state.is_ended())
}

fn is_open(run: &Run, gate: &Gate) -> bool {
    open_gates(run).any(|open| open == *gate)
}
