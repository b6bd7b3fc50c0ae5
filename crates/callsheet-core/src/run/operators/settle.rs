//! Makes the transitions of trees that need no new input: opens children, requests evaluations, and ends the run with
//! its top task.

use crate::nouns::ToolEffect;
use crate::template::operators::{ChildSlot, EvalPhase, Move};

use super::tree::{TreeQuery, Trees};
use super::{NodeInstance, OpState, Operators, View};
use crate::run::{Effect, Stage, State, TaskRun};

impl Trees<'_> {
    /// Moves every tree task that can move.
    pub fn step(&mut self) -> bool {
        for leaf in self.0.tasks.changed() {
            leaf.part.into_iter().for_each(|part| self.0.operators.list.touch(part));
        }
        let mut moved = false;
        // Children come after their parents. Going backwards, a parent sees the moves of its children in the same
        // turn.
        let mut before = self.0.operators.list.len();
        while let Some(number) = self.0.operators.list.take_before(before) {
            before = number;
            let Some((what, mount)) = self.0.operators.at(number).map(|op| (TreeQuery(self.0).next_of(op), op.mount))
            else {
                continue;
            };
            match what {
                Move::Wait => continue,
                Move::Open(places) => {
                    for place in places {
                        let given = TreeQuery(self.0).given_before(number, &place);
                        self.open_op(mount, Some(number), place);
                        if let Some(closed) = given {
                            self.op_given(&closed);
                        }
                    }
                }
                Move::Owe(moment) => self.change_op(number, |op| {
                    op.evaluations = op.evaluations.saturating_add(1);
                    op.phase = OpState::Due(moment);
                }),
            }
            moved = true;
        }
        if let Some(closed) = self.0.operators.top().and_then(|top| top.closed()) {
            self.0.progress.go(Stage::Conclude(closed.outcome));
        }
        moved
    }
}

impl<'a> TreeQuery<'a> {
    fn next_of(self, op: &NodeInstance) -> Move {
        let node = self.0.operators.node(op);
        match op.phase {
            OpState::Due(_) | OpState::Seeking => Move::Wait,
            OpState::Closed(_) | OpState::Removed(_) | OpState::Former => Move::Wait,
            OpState::Matching => match self.0.operators.child(op, ChildSlot::Match) {
                None => Move::Open(vec![ChildSlot::Match]),
                Some(child) if child.is_closed() => Move::Owe(EvalPhase::Open),
                Some(_) => Move::Wait,
            },
            OpState::Gathering => {
                let wanted = node.map(Operators::nested).unwrap_or_default();
                let opened: Vec<_> = self.0.operators.children(op).collect();
                if opened.len() < wanted.len() {
                    return Move::Open(wanted);
                }
                if opened.iter().all(|child| child.is_closed()) { Move::Owe(EvalPhase::Open) } else { Move::Wait }
            }
            OpState::Open if op.reparse.is_some() => match &op.reparse {
                Some(reparse) => super::reparse::next(&self.view(op, &|_| false), reparse),
                None => Move::Wait,
            },
            OpState::Open => match (op.leaf(), &op.opened, node) {
                (Some(leaf), ..) => self.next_of_leaf(op, leaf),
                (None, Some(_), None) if op.place.is_subtask() => {
                    super::only(&self.view(op, &|_| false), ChildSlot::Body)
                }
                (None, Some(opened), Some(node)) => {
                    let writes = |tool: &str| self.0.policy(tool).effect != ToolEffect::Read;
                    super::next(&self.view(op, &writes), node, opened)
                }
                _ => Move::Owe(EvalPhase::Close),
            },
        }
    }

    fn view<'v>(self, op: &'v NodeInstance, writes: &'v dyn Fn(&str) -> bool) -> View<'v>
    where
        'a: 'v,
    {
        View { operators: &self.0.operators, op, writes }
    }

    /// The next move of a leaf. A leaf whose work is over closes. If its handler asks for subtasks, they open.
    /// Subtasks that are still running when their handler has ended return first.
    fn next_of_leaf(self, op: &NodeInstance, leaf: usize) -> Move {
        let Some(task) = self.0.tasks.at(leaf) else { return Move::Wait };
        if !task.state().is_ended() {
            let wanted = self.subtasks_asked(op, task);
            return if wanted.is_empty() { Move::Wait } else { Move::Open(wanted) };
        }
        let waits = self.0.operators.children(op).any(|child| child.place.is_subtask() && !child.is_closed());
        if waits || task.state() == State::Cancelled { Move::Wait } else { Move::Owe(EvalPhase::Close) }
    }

    /// The outstanding evaluations, in the order in which their tasks were opened.
    pub fn evaluations(self) -> Vec<Effect> {
        let works = self.0.stage().is_working();
        let due = self.0.operators.list.due().filter(|_| works);
        let evaluate = |op: &NodeInstance| match op.phase {
            OpState::Due(moment) => Some(Effect::Evaluate { task: op.id.clone(), n: op.evaluations, moment }),
            _ => None,
        };
        due.filter_map(evaluate).collect()
    }

    /// Whether the task is a writer, or a process whose tool does not only read.
    pub fn can_write(self, task: &TaskRun) -> bool {
        let mut tools = task.skill.iter().flat_map(|skill| &skill.tools);
        task.writer.is_some() || task.is_process() && tools.any(|tool| self.0.policy(tool).effect != ToolEffect::Read)
    }

    /// Whether the task may write now. In a tree, only one writer works at a time (spec 8). A writer that waits for a
    /// person does not count as working. A person may be asked about a process at any time. The process starts in its
    /// turn.
    pub fn writes_alone(self, task: &TaskRun) -> bool {
        self.writes_meanwhile(task).is_none()
    }

    /// The writer at work that a tree task must wait for before it begins to write.
    pub fn writes_meanwhile(self, task: &TaskRun) -> Option<&'a TaskRun> {
        if task.is_process() || !self.is_writer_of_tree(task) {
            return None;
        }
        self.0.tasks.with_units().find(|other| {
            other.task.slug != task.task.slug
                && self.is_writer_of_tree(other)
                && other.is_executing()
                && !self.rests(other)
        })
    }

    /// Whether a writer of a tree may go on. It may not if another writer is at work or has an earlier turn.
    pub fn has_the_turn(self, task: &TaskRun) -> bool {
        self.has_turn_before(task).is_none()
    }

    /// The writer whose turn is before that of a writer of a tree.
    pub fn has_turn_before(self, task: &TaskRun) -> Option<&'a TaskRun> {
        if task.holds_slot() || !self.is_writer_of_tree(task) {
            return None;
        }
        let mut is_earlier = true;
        self.0.tasks.with_units().find(|other| {
            if other.task.slug == task.task.slug {
                is_earlier = false;
                return false;
            }
            let works = other.holds_slot() || is_earlier && !self.rests(other);
            works && other.is_executing() && self.is_writer_of_tree(other)
        })
    }

    /// Whether other writers of trees wait for a task.
    pub fn is_writer_of_tree(self, task: &TaskRun) -> bool {
        task.part.is_some() && self.can_write(task)
    }

    /// Whether the task only waits for a person's answer or for a subtask.
    fn rests(self, task: &TaskRun) -> bool {
        let mut open = task.runs.iter().filter(|run| !run.is_ended());
        open.all(|run| {
            let mut asked = run.calls.iter().filter(|call| call.output().is_none());
            asked.any(|call| call.state.is_asking() || self.0.operators.is_subtask_tool(&call.call.name))
                || self.0.changes.waits_at_gate(&task.task.slug, &run.id)
        })
    }
}
