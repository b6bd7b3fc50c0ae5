//! Resumes or continues a run, and applies an edited sheet to a run that nobody drives.

use std::sync::Arc;

use callsheet_core::events::{self, Event};
use callsheet_core::nouns::{RunId, Settings};
use callsheet_core::record::Outcome;
use callsheet_core::run::{Effect, Run, State, ToolOutput};

use serde::{Deserialize, Serialize};

use crate::branch::refuse_elsewhere;
use crate::changes::forgotten;
use crate::driver::begin::refuse_empty;
use crate::driver::elsewhere::take_files_over;
use crate::driver::session::Session;
use crate::driver::template_files::take_over_edits;
use crate::driver::{inbox, retry};
use crate::effects::check_references::check_references;
use crate::effects::open_questions;
use crate::fault::{DriveFault, InputFault};
use crate::ports::{AskingCall, Posted, StoreFault};
use crate::services::Services;

/// How a run is resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeKind {
    /// From the point where it stopped.
    Resume,
    /// The run has ended, and a person asks for more (spec 2.17).
    Continue(String),
}

/// Resumes a run. `known` is what its log said a moment ago. `change` applies newly given settings to the recorded
/// ones. First come the changes that a person made in the meantime: answers, the edited sheet, and retried and removed
/// tasks.
///
/// # Errors
/// If another process writes the run, or there is no such run, or it cannot be resumed like that, or its edited sheet
/// has errors. In the last two cases only answers were recorded.
pub fn reopen(
    services: &Arc<Services>,
    id: &RunId,
    known: Run,
    how: ResumeKind,
    change: impl FnOnce(Settings) -> Settings,
) -> Result<Session, DriveFault> {
    let mut session = Session::open_known(Arc::clone(&services.store), id, known)?;
    if session.entries() == 0 {
        return Err(StoreFault::NoRun(id.clone()).into());
    }
    // A run from elsewhere has no folder here yet.
    services.files.create().map_err(|fault| InputFault::Folder(fault.to_string()))?;
    if let Some(branch) = &session.run().settings().branch {
        refuse_elsewhere(&services.workspace, branch).map_err(InputFault::from)?;
    }
    take_files_over(&*services.store, &services.workspace, &services.kept, (id, session.run()))?;
    let forgotten = forgotten(&services.kept, session.run());
    if !forgotten.is_empty() {
        services.notice(&format!(
            "the end of the record of {id} was lost, for example in a power cut: {} may contain changes that it does not \
             know; compare them with what you expect",
            forgotten.join(", ")
        ));
    }
    let asked: Vec<AskingCall> = open_questions(session.run()).map(|open| open.asking).collect();
    let (list_changes, last) = record_answers(&mut session, services)?;
    // A limit that was raised in the meantime counts.
    let settings = change(session.run().settings().clone());
    let answered = asked.into_iter().filter(|asked| output_of(session.run(), asked).is_some()).collect();
    let resumed = goes_on(how, settings)?;
    let ended = session.run().outcome();
    match session.edit_after(services, Some(&resumed))? {
        Some(edit) => {
            session.record_edit(services, Some(resumed), &edit, &[])?;
            report_lost_answers(services, session.run(), answered);
        }
        None => {
            session.record(services, vec![resumed])?;
        }
    }
    if let Some(run) = services.reuse.clone().filter(|run| session.run().reuses_run() != Some(run)) {
        session.record(services, vec![events::ReuseAllowed { run }.into()])?;
    }
    take_over(&mut session, services, ended)?;
    inbox::process_messages(&mut session, services, list_changes)?;
    if let Some(last) = last {
        services.store.discard(session.lock(), last)?;
    }
    if let Some(changed) = super::notified::prompts_changed(services, session.run()) {
        session.record(services, vec![changed])?;
    }
    session.doubt_views();
    session.write_views_beside(services)?;
    Ok(session)
}

/// The event with which a run goes on.
///
/// # Errors
/// A follow-up is empty.
pub(super) fn goes_on(how: ResumeKind, settings: Settings) -> Result<Event, DriveFault> {
    Ok(match how {
        ResumeKind::Resume => Event::RunResumed(events::RunResumed { settings }),
        ResumeKind::Continue(text) => {
            refuse_empty(&text)?;
            events::RunContinued { text, settings }.into()
        }
    })
}

/// Records which templates and skills changed while the run rested, now that it goes on. `ended` is how it rested.
pub(super) fn take_over(
    session: &mut Session,
    services: &Arc<Services>,
    ended: Option<Outcome>,
) -> Result<(), DriveFault> {
    take_over_edits(session, services, ended)?;
    let skills = retry::edited_skills(services, session.run())?;
    if !skills.is_empty() {
        session.record(services, vec![events::SkillsEdited { skills }.into()])?;
    }
    Ok(())
}

/// The output of a tool call that asked a person, while its task counts.
fn output_of<'a>(run: &'a Run, asked: &AskingCall) -> Option<&'a ToolOutput> {
    let task = run.task(&asked.task).filter(|task| task.state() != State::Dropped)?;
    task.run(&asked.run)?.call(&asked.call)?.output()
}

/// Reports answers to tasks that an edit changed or removed from the list.
fn report_lost_answers(services: &Services, run: &Run, answered: Vec<AskingCall>) {
    for asked in answered.iter().filter(|asked| output_of(run, asked).is_none()) {
        services.notice(&format!("the answer to {} is not used: the edit changed or removed that task", asked.task));
    }
}

/// Records the answers from other processes. Returns the changes to the list that they request, and the number of the
/// last message.
fn record_answers(session: &mut Session, services: &Services) -> Result<(Vec<Posted>, Option<u64>), DriveFault> {
    let messages = services.store.messages(session.lock())?;
    let last = messages.last().map(|(number, _)| *number);
    let (list_changes, answers): (Vec<Posted>, Vec<Posted>) =
        messages.into_iter().map(|(_, posted)| posted).partition(|posted| inbox::changes_list(&posted.message));
    inbox::process_messages(session, services, answers)?;
    if let (Some(last), true) = (last, list_changes.is_empty()) {
        // Recorded answers are not asked for again, even if the edited sheet stops what follows.
        services.store.discard(session.lock(), last)?;
    }
    Ok((list_changes, last))
}

/// Applies an edited sheet to a run that no process drives, before somebody looks at it or answers it (spec 2.18). Work
/// is left for whoever resumes the run. What needs no model is done, so that the run waits with its current gates.
/// Returns whether anything was recorded.
///
/// # Errors
/// The edited sheet has errors, or the store's fault.
pub fn apply_edit_if_idle(services: &Services, id: &RunId) -> Result<bool, DriveFault> {
    let mut session = match Session::open(Arc::clone(&services.store), id) {
        // Whoever drives the run, or may write it, applies the edit.
        Err(DriveFault::Store(StoreFault::Locked { .. } | StoreFault::ReadOnly(_))) => return Ok(false),
        opened => opened?,
    };
    if !session.run().may_edit() {
        return Ok(false);
    }
    let before = session.entries();
    let (list_changes, last) = record_answers(&mut session, services)?;
    if let Some(edit) = session.edit_after(services, None)? {
        session.record_edit(services, None, &edit, &[])?;
    }
    inbox::process_messages(&mut session, services, list_changes)?;
    if let Some(last) = last {
        services.store.discard(session.lock(), last)?;
    }
    while check_pending_references(&mut session, services)? {}
    wait_if_only_asking(&mut session, services)?;
    session.write_views(services)?;
    Ok(session.entries() > before)
}

/// Checks references that a gate waits for. Returns whether there were any.
fn check_pending_references(session: &mut Session, services: &Services) -> Result<bool, DriveFault> {
    let mut checked = Vec::new();
    for effect in session.run().outstanding() {
        if let Effect::CheckReferences { task, n, stage } = effect {
            checked.push(check_references(services, session.run(), &task, n, stage)?);
        }
    }
    Ok(session.record(services, checked)? > 0)
}

/// Makes a run wait for people if nothing but questions to them is pending.
fn wait_if_only_asking(session: &mut Session, services: &Services) -> Result<(), DriveFault> {
    let run = session.run();
    if run.outcome().is_some() {
        return Ok(());
    }
    let outcome = only_asks(run);
    session.record(services, outcome.map(|outcome| events::RunWaiting { outcome }.into()).into_iter().collect())?;
    Ok(())
}

/// How a run waits if nothing but questions to people is pending.
pub fn only_asks(run: &Run) -> Option<Outcome> {
    let asks = run.outstanding().iter().map(outcome_of).collect::<Option<Vec<Outcome>>>();
    asks.and_then(|asks| asks.into_iter().min())
}

/// How a run waits if only this effect is pending. `None` if the effect is work.
fn outcome_of(effect: &Effect) -> Option<Outcome> {
    match effect {
        Effect::AskApproval(_) => Some(Outcome::ApprovalRequired),
        Effect::AskPerson { .. } => Some(Outcome::InputRequired),
        _ => None,
    }
}
