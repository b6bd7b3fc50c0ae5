//! A plan that is still being written: its whole tasks become events (spec 2.3). The last one that is there may go on, and is
//! left alone; so is all that follows a task that has an error or names no skill.

use std::sync::{Mutex, PoisonError};

use callsheet_core::issue::{Issue, IssueCode, Severity};
use callsheet_core::record::{CallKey, EffectKey, Event};
use callsheet_core::run::Run;
use callsheet_core::spec::Slug;
use callsheet_format::reading::KnownTasks;
use callsheet_format::reply;
use callsheet_format::reply::ListReply;

use crate::fault::DriveFault;
use crate::reading::list::reconcile;
use crate::reading::{list_context, read_with};
use crate::services::Services;

/// The text of a plan as far as it is there: filled by its call, read by the driver.
#[derive(Debug, Default)]
pub(crate) struct PlanText(Mutex<Heard>);

#[derive(Debug, Default)]
struct Heard {
    call: Option<(CallKey, u64)>,
    text: String,
    /// So many bytes were read.
    read: usize,
}

/// What was written of a plan.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// By which call.
    pub(crate) key: CallKey,
    /// When that was sent, in milliseconds since the Unix epoch.
    pub(crate) sent_at: u64,
    /// Whole lines.
    pub(crate) text: String,
}

impl PlanText {
    /// A call for a plan is sent, or sent again.
    pub(crate) fn begin(&self, key: &CallKey, now_ms: u64) {
        *self.heard() = Heard { call: Some((key.clone(), now_ms)), ..Heard::default() };
    }

    /// More of its reply came.
    pub(crate) fn push(&self, text: &str) {
        self.heard().text.push_str(text);
    }

    /// All that was written, if a further line is whole.
    pub(crate) fn news(&self) -> Option<Written> {
        let mut heard = self.heard();
        let end = heard.text.rfind('\n').map_or(0, |at| at + 1);
        let (key, sent_at) = heard.call.clone().filter(|_| end > heard.read)?;
        heard.read = end;
        Some(Written { key, sent_at, text: heard.text.get(..end)?.to_owned() })
    }

    fn heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tasks of a plan that are whole and that the run does not have yet.
pub(crate) fn whole_tasks(services: &Services, run: &Run, written: &Written) -> Result<Vec<Event>, DriveFault> {
    if !run.is_outstanding(&EffectKey::Ask(written.key.clone())) {
        return Ok(Vec::new());
    }
    let loaded = services.skills(run.settings());
    let catalog = loaded.catalog.skills().cloned().collect();
    let mut context = list_context(services, run, KnownTasks::default(), run.settings(), catalog);
    context.length_stop = true;
    let reading = read_with(services, &written.text, &mut context, reply::read_plan);
    let ListReply { mut list, spans, .. } = reading.value;
    // A call that was left out has its task refined, which only the finished plan says.
    let is_wrong = |issue: &&Issue| match issue.code {
        IssueCode::ReplyTruncated => false,
        IssueCode::CallDropped => true,
        _ => issue.severity == Severity::Error,
    };
    let wrong = reading.issues.iter().filter(is_wrong).map(|issue| issue.place.span.first).min().unwrap_or(u32::MAX);
    let named = list.tasks().take_while(|task| task.skill.is_some()).count();
    let sound = spans.iter().take_while(|span| span.last < wrong).count();
    let mut whole = named.min(sound).min(spans.len().saturating_sub(1));
    let mut ends = Vec::new();
    for step in &mut list.steps {
        let tasks = step.tasks.len();
        step.tasks.truncate(whole);
        whole -= step.tasks.len();
        ends.extend((1..=step.tasks.len()).map(|number| number == tasks));
    }
    list.steps.retain(|step| !step.tasks.is_empty());
    let adopted = reconcile(services, run, ListReply { list, ..ListReply::default() }, &loaded, false)?;
    let known: Vec<&Slug> = run.steps().iter().flatten().collect();
    let read = adopted.steps.iter().flatten().map(|planned| &planned.task.slug);
    if !read.take(known.len()).eq(known.iter().copied()) {
        // It was sent again and says something else, which the finished plan decides on.
        return Ok(Vec::new());
    }
    let (now, has) = (services.clock.now_ms(), known.len());
    let new = adopted.steps.into_iter().flatten().zip(ends).skip(has);
    Ok(new
        .map(|(task, ends_section)| Event::TaskPlanned {
            key: written.key.clone(),
            skill: task.task.skill.as_ref().and_then(|skill| adopted.skills.get(skill).cloned()),
            task: Box::new(task),
            ends_section,
            ms: now.saturating_sub(written.sent_at),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use callsheet_core::spec::Phase;

    use super::*;

    #[test]
    fn only_whole_lines_of_the_last_send_are_read_and_once() {
        let plan = PlanText::default();
        plan.push("nobody asked\n");
        assert_eq!(plan.news(), None);
        let key = CallKey { phase: Phase::Plan, task: None, run: None, n: 1 };
        plan.begin(&key, 5);
        plan.push("## Tas");
        assert_eq!(plan.news(), None);
        plan.push("ks\n- **Na");
        let text = "## Tasks\n".to_owned();
        assert_eq!(plan.news(), Some(Written { key: key.clone(), sent_at: 5, text }));
        assert_eq!(plan.news(), None);
        plan.begin(&key, 9);
        assert_eq!(plan.news(), None, "what was sent again begins anew");
    }
}
