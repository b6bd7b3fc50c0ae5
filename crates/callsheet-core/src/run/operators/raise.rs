//! Raises a limit of one task of a tree for a person. The new limit is valid for every task of the same node.

use std::sync::Arc;

use crate::nouns::{Limits, Slug, TaskLimits};
use crate::record::Plan;
use crate::run::Run;
use crate::template::operators::{ITERATIONS, TIMEOUT};
use crate::template::{ErrorKind, Halt, Node, Reason, Resource, TaskError};

use super::tree::Trees;
use super::{NodeInstance, Operators};

/// The attempts at one task.
const ATTEMPTS: &str = "attempts";

/// Splits the name of a task's limit, which is written as `TASK.NAME`.
pub(in crate::run) fn split(limit: &str) -> Option<(Slug, &str)> {
    let (task, name) = limit.rsplit_once('.')?;
    Some((Slug::new(task), name))
}

/// Whether a failed task continues with what it has once this limit of it is raised. `None` if that depends on what it
/// has. More attempts are further handlers.
pub(in crate::run) fn continues_with(name: &str) -> Option<bool> {
    match name {
        ITERATIONS => Some(true),
        ATTEMPTS => Some(false),
        _ => None,
    }
}

/// The current value of a task's limit, by its name. `None` if the task has no such limit.
pub(in crate::run) fn limit_of(run: &Run, task: &Slug, name: &str) -> Option<f64> {
    if let Some(op) = run.operators.get(task) {
        return of_node(run.operators.node(op)?, name, &defaults(&run.settings().limits));
    }
    // The limits that end the items of a list are those of the items.
    if run.tasks.get(task)?.task.for_each.is_some() {
        return None;
    }
    let own = own_of_limits(&run.tasks.get(task)?.skill.as_ref()?.limits.task, name);
    own.or_else(|| default_of(&run.settings().limits, name))
}

/// The limit of a task that caused an error, as `TASK.NAME`, and its current value.
pub(in crate::run) fn limit_of_error(run: &Run, error: &TaskError) -> Option<(String, f64)> {
    let name = match &error.kind {
        ErrorKind::ResourceExhaustion { resource, .. } => match resource {
            Resource::Turns => "max_turns",
            Resource::Output => "max_output_bytes",
            Resource::Calls => "max_calls",
            Resource::Tokens => "max_tokens",
            Resource::Cost => "max_cost_usd",
            Resource::Context => return None,
        },
        ErrorKind::TaskFailure { reason: Reason::ExecutionTimeout, .. } => TIMEOUT,
        ErrorKind::TaskFailure { details: Some(details), .. } => match details.halt {
            Some(Halt::IterationsExhausted) => ITERATIONS,
            // No limit lets a loop repeat its results.
            Some(Halt::NoProgress) if details.iteration_history.is_none() => "no_progress_repeats",
            _ => return None,
        },
        _ => return None,
    };
    let at = error.location.as_ref()?;
    let is_there = |op: &&NodeInstance| {
        let node = run.operators.node(op).filter(|_| op.failed());
        node.is_some_and(|node| {
            let place = node.origin.spot.place;
            node.origin.file == at.file && (place.line, place.column) == (at.line, at.column)
        })
    };
    let op = run.operators.iter().find(is_there)?;
    if name == TIMEOUT {
        return limit_of_time(run, op);
    }
    if let ErrorKind::ResourceExhaustion { limit, .. } = &error.kind
        && let Some(above) = run.operators.ancestry(op).find(|above| sets(run, above, name, *limit))
    {
        return Some((format!("{}.{name}", above.id), *limit));
    }
    Some((format!("{}.{name}", op.id), limit_of(run, &op.id, name)?))
}

/// Whether a task sets a limit to this value.
fn sets(run: &Run, op: &NodeInstance, name: &str, limit: f64) -> bool {
    let own = run.operators.node(op).and_then(|node| own_of_node(node, name));
    own.is_some_and(|own| own.total_cmp(&limit).is_eq())
}

/// The limit of time that ended a task: its own, or that of a task above it, whichever leaves less.
fn limit_of_time(run: &Run, op: &NodeInstance) -> Option<(String, f64)> {
    let of_op = limit_of(run, &op.id, TIMEOUT).map(|max| (op, max));
    let above = run.operators.ancestry(op).skip(1);
    let of_above = above.filter_map(|above| Some((above, own_of_node(run.operators.node(above)?, TIMEOUT)?)));
    let left = |(op, max): &(&NodeInstance, f64)| {
        #[allow(clippy::cast_precision_loss)]
        let spent = op.clock.spent_ms(run.clock.now()) as f64;
        (max * 1_000.0 - spent).max(0.0)
    };
    let least = of_op.into_iter().chain(of_above).min_by(|one, other| left(one).total_cmp(&left(other)));
    least.map(|(op, max)| (format!("{}.{TIMEOUT}", op.id), max))
}

/// The limits of tasks of a tree that set none: those of the run. Conversations of templates have fewer turns.
fn defaults(limits: &Limits) -> Limits {
    Limits { max_turns: Limits::of_templates().max_turns, ..limits.clone() }
}

/// The current value of a limit of a node.
fn of_node(node: &Node, name: &str, defaults: &Limits) -> Option<f64> {
    own_of_node(node, name).or_else(|| default_of(defaults, name))
}

/// The value that a node sets for a limit: that of its operator or of its `limits`, whichever is smaller.
fn own_of_node(node: &Node, name: &str) -> Option<f64> {
    if name == ATTEMPTS {
        return node.recovery.attempts.map(f64::from);
    }
    let of_operator = node.kind.operator().limit(name).map(f64::from);
    let own = own_of_limits(&node.limits, name);
    of_operator.map(|of_operator| own.map_or(of_operator, |own| own.min(of_operator))).or(own)
}

fn own_of_limits(own: &TaskLimits, name: &str) -> Option<f64> {
    own.entries().into_iter().find(|(own, _)| *own == name).map(|(_, value)| value)
}

/// The value of a limit that is not set. The calls, tokens and cost of a task have no default limit.
fn default_of(limits: &Limits, name: &str) -> Option<f64> {
    match name {
        "max_turns" => Some(f64::from(limits.max_turns)),
        TIMEOUT => Some(f64::from(limits.timeout_seconds)),
        "max_items" => Some(f64::from(limits.max_items)),
        "no_progress_repeats" => Some(f64::from(limits.no_progress_repeats)),
        _ => None,
    }
}

impl Trees<'_> {
    /// Raises a limit of a task from here on.
    pub fn raise(&mut self, task: &Slug, name: &str, max: f64) {
        let Some(op) = self.0.operators.get(task) else {
            if let Some(policy) = self.0.tasks.get_mut(task).and_then(|task| task.skill.as_mut()) {
                policy.limits.task.set(name, max);
            }
            return;
        };
        let (number, mount) = (op.number, op.mount);
        let Some(node) = self.0.operators.node(op) else { return };
        let was = own_of_node(node, name);
        let raised = Raised { task: number, name: name.to_owned(), was, max };
        self.0.operators.raise_node(&raised);
        self.0.operators.mounts.get_mut(mount).into_iter().for_each(|mount| mount.raised.push(raised.clone()));
        self.change_op(number, |op| op.raised(name, max));
        self.limit_leaves(mount);
        self.note_all_limits();
    }

    /// Gives the current limits of their nodes to the handlers and processes of a tree that can still use them.
    pub(super) fn limit_leaves(&mut self, mount: usize) {
        let operators = &self.0.operators;
        let of_tree = operators.iter().filter(|op| op.mount == mount && (!op.is_closed() || op.failed()));
        let limits = of_tree.filter_map(|op| Some((op.leaf()?, operators.node(op)?.limits.clone())));
        for (leaf, limits) in limits.collect::<Vec<_>>() {
            self.0.tasks.at_mut(leaf).into_iter().for_each(|task| super::leaf::limit(task, &limits));
        }
    }
}

/// A limit that a person raised.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Raised {
    /// The number of the task.
    task: usize,
    name: String,
    /// The value that the node set before.
    was: Option<f64>,
    max: f64,
}

impl Operators {
    /// Raises a limit in the node of a task.
    fn raise_node(&mut self, raised: &Raised) {
        let Raised { task, name, max, .. } = raised;
        let Some((op, node)) = self.at(*task).and_then(|op| Some((op, self.node(op)?))) else { return };
        let (mount, template) = (op.mount, op.template.clone());
        let own = self.tree_of(op).and_then(|tree| tree.templates.get(&template));
        let place = own.and_then(|own| own.body.walk().into_iter().position(|other| std::ptr::eq(other, node)));
        if let (Some(place), Some(mount)) = (place, self.mounts.get_mut(mount)) {
            let template = Arc::make_mut(&mut mount.tree).templates.get_mut(&template);
            let node = template.and_then(|template| nth(&mut template.body, &mut { place }));
            node.into_iter().for_each(|node| set_limit(node, name, *max));
        }
    }

    /// Raises the limits in the nodes of an edited tree again, except those that the edit changed.
    pub(super) fn raise_again(&mut self, mount: usize) {
        let raised = self.mounts.get(mount).map(|mount| mount.raised.clone()).unwrap_or_default();
        for raised in raised {
            let now = self.at(raised.task).and_then(|op| self.node(op)).map(|node| own_of_node(node, &raised.name));
            if now == Some(raised.was) {
                self.raise_node(&raised);
            }
        }
    }
}

impl NodeInstance {
    /// Gives the higher limit to a task that is already open. A loop that ended continues after its last iteration.
    pub(super) fn raised(&mut self, name: &str, max: f64) {
        self.continues = name == ITERATIONS;
        if let (TIMEOUT, Some(Plan::Process { timeout_seconds, .. })) =
            (name, self.opened.as_mut().map(|opened| &mut opened.plan))
        {
            *timeout_seconds = whole(max);
        }
    }
}

/// The node at this place below a node, in document order. The node itself is the first.
fn nth<'a>(node: &'a mut Node, place: &mut usize) -> Option<&'a mut Node> {
    if *place == 0 {
        return Some(node);
    }
    *place -= 1;
    node.children_mut().into_iter().find_map(|child| nth(child, place))
}

fn set_limit(node: &mut Node, name: &str, max: f64) {
    if name == ATTEMPTS {
        node.recovery.attempts = Some(whole(max));
        return;
    }
    let is_of_operator = node.kind.operator().limit(name).is_some();
    if is_of_operator {
        node.kind.set_limit(name, whole(max));
    }
    if !is_of_operator || own_of_limits(&node.limits, name).is_some() {
        node.limits.set(name, max);
    }
}

/// Converts a limit to a count. Values above the range become the largest count.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(max: f64) -> u32 {
    max as u32
}
