//! Leaves: the handler of an atomic task, and a process. Each is a task like those of a sheet, with one execution.

use crate::nouns::{Limits, SkillMode, SkillPolicy, Slug, Task, TaskLimits};
use crate::record::Plan;

use super::NodeInstance;
use super::slugs::extended;
use crate::run::{Refined, TaskRun};

/// The name of a leaf's task: the name of its operator, followed by a number from the second handler on (spec 15).
fn slug(id: &Slug, attempt: usize) -> Slug {
    if attempt <= 1 { id.clone() } else { extended(id, &format!("again-{attempt}")) }
}

/// Gives the limits of its node to a leaf, because they may have changed since it was opened.
pub(super) fn limit(task: &mut TaskRun, limits: &TaskLimits) {
    let Some(policy) = task.skill.as_mut() else { return };
    policy.limits.task.max_output_bytes = limits.max_output_bytes;
    if policy.mode == SkillMode::Handler {
        policy.limits.task.max_turns = Some(limits.max_turns.unwrap_or(Limits::of_templates().max_turns));
        policy.limits.task.timeout_seconds = limits.timeout_seconds;
    }
}

/// The task of an opened leaf. `None` for an operator with children.
pub(super) fn task(op: &NodeInstance) -> Option<TaskRun> {
    let (title, policy, writer, calls) = match &op.opened.as_ref()?.plan {
        Plan::Handler(plan) => (plan.title.clone(), plan.policy.clone(), plan.writer.clone(), Vec::new()),
        Plan::Process { call, timeout_seconds, title } => {
            let mut policy = SkillPolicy { mode: SkillMode::Process, ..SkillPolicy::default() };
            policy.tools = vec![call.name.clone()];
            policy.limits.task.timeout_seconds = Some(*timeout_seconds);
            (title.clone(), policy, None, vec![call.clone()])
        }
        _ => return None,
    };
    let slug = slug(&op.id, op.runs.len().saturating_add(1));
    let mut task = TaskRun::new(Task {
        name: slug.as_str().to_owned(),
        slug,
        aliases: Vec::new(),
        need: title,
        skill: None,
        for_each: None,
        references: Vec::new(),
        expected: String::new(),
        approval: false,
        review: None,
        calls,
        extra: String::new(),
    });
    task.skill = Some(policy);
    task.writer = writer;
    task.part = Some(op.number);
    // A leaf needs no refinement, because its inputs are bound.
    task.refined = Refined::Done;
    task.round = 1;
    Some(task)
}
