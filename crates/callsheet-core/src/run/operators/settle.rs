//! What follows in the tree without anybody doing anything: children open, evaluations become due, the run ends with
//! its top task.

use crate::spec::{Slug, ToolEffect};

use super::{EvalPhase, Move, OpState, Operators, Place, TaskOp, View};
use crate::run::{Effect, Reject, Run, Stage, State, TaskRun};

impl Run {
    /// One turn of settling in [`Stage::Operate`]. True if something changed.
    pub(in crate::run) fn settle_tree(&mut self) -> Result<bool, Reject> {
        // Budgets of the tree are shared, so a fact of one leaf may end another.
        self.tasks.look_again();
        let mut moved = self.end_reviews()?;
        moved |= self.end_overdue_tasks()?;
        moved |= self.end_executions()?;
        moved |= self.promote()?;
        self.refresh();
        moved |= self.step_tree();
        if self.stage != Stage::Operate {
            return Ok(true);
        }
        self.refresh();
        self.ask_before_run(Some(0));
        moved |= self.start_tasks(0)?;
        self.refresh();
        moved |= self.open_call_gates();
        Ok(moved)
    }

    /// Moves every task of a tree that can be moved.
    pub(in crate::run) fn step_tree(&mut self) -> bool {
        let mut moved = false;
        // Children are behind their parents, so a parent hears of a child in the same turn from the back.
        for number in (0..self.operators.list.len()).rev() {
            let Some((what, mount)) = self.operators.at(number).map(|op| (self.next_of(op), op.mount)) else {
                continue;
            };
            match what {
                Move::Wait => continue,
                Move::Open(places) => {
                    for place in places {
                        let given = self.given_before(number, &place);
                        self.open_op(mount, Some(number), place);
                        if let Some(closed) = given {
                            self.op_given(&closed);
                        }
                    }
                }
                Move::Owe(moment) => self.change_op(number, |op| {
                    op.evaluations = op.evaluations.saturating_add(1);
                    op.state = OpState::Due(moment);
                }),
            }
            moved = true;
        }
        if let Some(closed) = self.operators.top().and_then(|top| top.closed.as_ref()) {
            self.stage = Stage::Conclude(closed.outcome);
        }
        moved
    }

    fn next_of(&self, op: &TaskOp) -> Move {
        let node = self.operators.node(op);
        match op.state {
            _ if op.former => Move::Wait,
            OpState::Due(_) | OpState::Seeking | OpState::Closed => Move::Wait,
            OpState::Matching => match self.operators.child(op, &Place::Match) {
                None => Move::Open(vec![Place::Match]),
                Some(child) if child.closed.is_some() => Move::Owe(EvalPhase::Open),
                Some(_) => Move::Wait,
            },
            OpState::Gathering => {
                let wanted = node.map(Operators::nested).unwrap_or_default();
                let opened: Vec<_> = self.operators.children(op).collect();
                if opened.len() < wanted.len() {
                    return Move::Open(wanted);
                }
                if opened.iter().all(|child| child.closed.is_some()) { Move::Owe(EvalPhase::Open) } else { Move::Wait }
            }
            OpState::Open if op.reparse.is_some() => match &op.reparse {
                Some(reparse) => super::reparse::next(self.view(op, &|_| false), reparse),
                None => Move::Wait,
            },
            OpState::Open => match (op.leaf(), &op.opened, node) {
                (Some(leaf), ..) => self.next_of_leaf(op, &leaf),
                (None, Some(_), None) if op.place.is_subtask() => {
                    super::rules::only(self.view(op, &|_| false), Place::Body)
                }
                (None, Some(opened), Some(node)) => {
                    let writes = |tool: &str| self.policy(tool).effect != ToolEffect::Read;
                    super::next(self.view(op, &writes), node, opened)
                }
                _ => Move::Owe(EvalPhase::Close),
            },
        }
    }

    fn view<'a>(&'a self, op: &'a TaskOp, writes: &'a dyn Fn(&str) -> bool) -> View<'a> {
        View { operators: &self.operators, op, writes }
    }

    /// A leaf whose work is over is closed; one whose handler asks for subtasks opens them. Subtasks that still run when
    /// their handler has ended come back first.
    fn next_of_leaf(&self, op: &TaskOp, leaf: &Slug) -> Move {
        let Some(task) = self.tasks.get(leaf) else { return Move::Wait };
        if !task.state.is_ended() {
            let wanted = self.subtasks_asked(op, task);
            return if wanted.is_empty() { Move::Wait } else { Move::Open(wanted) };
        }
        let waits = self.operators.children(op).any(|child| child.place.is_subtask() && child.closed.is_none());
        if waits || self.is_cancelled(leaf) { Move::Wait } else { Move::Owe(EvalPhase::Close) }
    }

    fn is_cancelled(&self, leaf: &Slug) -> bool {
        self.tasks.get(leaf).is_some_and(|task| task.state == State::Cancelled)
    }

    /// Evaluations that are owed, in the order their tasks were opened.
    pub(in crate::run) fn evaluations(&self) -> impl Iterator<Item = Effect> {
        let due = self.operators.iter().filter(|_| self.stage.is_working());
        due.filter_map(|op| match op.state {
            OpState::Due(moment) => Some(Effect::Evaluate { task: op.id.clone(), n: op.evaluations, moment }),
            _ => None,
        })
    }

    /// A writer, or a process whose tool does not only read.
    pub fn can_write(&self, task: &TaskRun) -> bool {
        let mut tools = task.skill.iter().flat_map(|skill| &skill.tools);
        task.writer.is_some() || task.is_process() && tools.any(|tool| self.policy(tool).effect != ToolEffect::Read)
    }

    /// In a tree a writer works beside no other writer (spec 8). One that waits for a person does not work: asking is not
    /// writing. A process may be asked about all the same: it begins when it has the turn.
    pub(in crate::run) fn writes_alone(&self, task: &TaskRun) -> bool {
        self.writes_meanwhile(task).is_none()
    }

    /// The writer at work for which a task of a tree that can write waits before it begins.
    pub(in crate::run) fn writes_meanwhile(&self, task: &TaskRun) -> Option<&TaskRun> {
        if task.is_process() || !self.is_writer_of_tree(task) {
            return None;
        }
        self.tasks.with_units().find(|other| {
            other.task.slug != task.task.slug
                && self.is_writer_of_tree(other)
                && other.is_executing()
                && !self.rests(other)
        })
    }

    /// Whether a writer of a tree may go on: no other one works, nor does one come first that may.
    pub(in crate::run) fn has_the_turn(&self, task: &TaskRun) -> bool {
        self.has_turn_before(task).is_none()
    }

    /// The writer that has its turn before another one of a tree.
    pub(in crate::run) fn has_turn_before(&self, task: &TaskRun) -> Option<&TaskRun> {
        if task.holds_slot() || !self.is_writer_of_tree(task) {
            return None;
        }
        let mut is_earlier = true;
        self.tasks.with_units().find(|other| {
            if other.task.slug == task.task.slug {
                is_earlier = false;
                return false;
            }
            let works = other.holds_slot() || is_earlier && !self.rests(other);
            works && other.is_executing() && self.is_writer_of_tree(other)
        })
    }

    fn is_writer_of_tree(&self, task: &TaskRun) -> bool {
        self.operators.of_leaf(&task.task.slug).is_some() && self.can_write(task)
    }

    /// Nothing of the task goes on before a person has answered, or a subtask has come back.
    fn rests(&self, task: &TaskRun) -> bool {
        let mut open = task.runs.iter().filter(|run| !run.is_ended());
        open.all(|run| {
            let mut asked = run.calls.iter().filter(|call| call.output().is_none());
            asked.any(|call| call.state.is_asking() || self.operators.is_subtask_tool(&call.call.name))
                || self.has_gated_set(task, run)
        })
    }
}
