//! Finished tasks that a reply repeats (spec 4.4 `echo-dropped`, 3.5 `done-changed`).

use std::sync::Arc;

use crate::reply::{IssueCode, KnownTask, Notes, ReadContext, RepairCode};
use crate::sheet::fill::folded;
use crate::sheet::slug_of;

use super::format::label;
use super::steps::Steps;
use super::task::Draft;

/// Takes echoes of finished tasks out; steps that become empty go too.
pub fn drop_echoes(steps: Steps, context: &ReadContext, notes: &mut Notes) -> Steps {
    let mut kept: Steps = Vec::new();
    for step in steps {
        let tasks: Vec<Draft> = step.into_iter().filter(|draft| !is_echo(draft, context, notes)).collect();
        if !tasks.is_empty() {
            kept.push(tasks);
        }
    }
    kept
}

fn is_echo(draft: &Draft, context: &ReadContext, notes: &mut Notes) -> bool {
    if draft.task.name.is_empty() {
        return false;
    }
    let slug = slug_of(&draft.task.name);
    let same_name =
        |known: &&Arc<KnownTask>| known.done && (known.task.slug == slug || known.task.name == draft.task.name);
    let Some(known) = context.tasks.iter().find(same_name) else { return false };
    let same = known.task.skill == draft.task.skill && folded(&known.task.need) == folded(&draft.task.need);
    notes.set_task(Some(&draft.task.name));
    notes.set_section(Some(&draft.section));
    if same || draft.output {
        notes.retract(draft.span);
        notes.repair(RepairCode::EchoDropped, draft.span, &draft.task.name, "");
    } else {
        let facts = [("name", draft.task.name.as_str())];
        let issue = notes.issue(IssueCode::DoneChanged, "", draft.span, &facts).warning().key(label::NAME);
        notes.push(issue);
    }
    notes.set_task(None);
    notes.set_section(None);
    same || draft.output
}
