//! Tool calls of a plan (spec 3.4, 4.8 `call-dropped`): the fences after a task's list.

use std::collections::BTreeSet;

use callsheet_core::nouns::{Task, ToolCall};

use crate::markdown::Document;
use crate::reading::{Diagnostics, ReadContext};
use crate::reply::calls::{BlockForm, CallBlock, CallRules, read_plan_calls};

/// The valid calls of a task. A bad call is a warning: the refinement asks for it again, so all calls are dropped.
pub fn read(
    fences: &[usize],
    document: &Document,
    task: &Task,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Vec<ToolCall> {
    let blocks: Vec<CallBlock> = fences
        .iter()
        .filter_map(|index| document.fences.get(*index))
        .map(|fence| CallBlock {
            text: fence.content.clone(),
            form: BlockForm::Fence { tag: fence.lang.clone() },
            line: fence.span.first.saturating_add(1).min(fence.span.last),
            lenient: false,
        })
        .collect();
    let skill = context.catalog.iter().find(|skill| Some(&skill.name) == task.skill.as_ref());
    let allowed = skill.map(|skill| skill.policy.tools.as_slice()).unwrap_or_default();
    let taken_ids = BTreeSet::new();
    read_plan_calls(&blocks, &CallRules { allowed, context, taken_ids: &taken_ids, must_start: true }, notes)
}
