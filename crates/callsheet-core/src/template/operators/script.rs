//! `script`: a process, without a shell.

use serde::{Deserialize, Serialize};

use crate::template::bind::Bound;
use crate::template::form::{Attribute, PROCESS, ValueKind};
use crate::template::names::{Seen, Walk};
use crate::template::result::{TaskError, TaskResult};
use crate::template::shape::{Shape, Source};
use crate::template::tree::{InheritContext, Node, Role, Script};

use super::{
    ChildSlot, EvalPhase, Facts, Kind, Known, Leaf, Move, Names, Opening, Opens, Operator, Parts, Rows, Work, Written,
};

/// The name by which a person raises the time limit of a script.
pub(crate) const TIMEOUT: &str = "timeout_seconds";

/// A process that is a task of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The command and its settings.
    pub script: Script,
    /// Whether a non-zero exit counts as success.
    pub on_nonzero_continue: bool,
}

const ON_NONZERO: Attribute = Attribute::new("on_nonzero", ValueKind::OneOf(&["fail", "continue"])).or("fail");

const ROLE: Role = Role::new("script", InheritContext::Full, false, false);

pub(super) static FACTS: Facts = Facts {
    word: "script",
    rows: Rows::Task {
        about: "A command, without a shell",
        example: include_str!("examples/script.yaml"),
        attributes: &[ON_NONZERO],
        children: PROCESS,
    },
    read: |given| {
        let script = given.script(None)?;
        let on_nonzero_continue = given.word("on_nonzero").as_deref() == Some("continue");
        Some(Kind::Script(Process { script, on_nonzero_continue }))
    },
    leaf: Some(Leaf::Process),
    role: ROLE,
    part_role: Role::ATOMIC,
    spawned: Role::SUBTASK,
    binds: &[],
    shows_inputs: false,
    looks_up: false,
    splits: false,
    spawns: true,
    transparent: false,
    guards: false,
    lends_ids: false,
    in_order: false,
    gives_its_last: false,
};

impl Operator for Process {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn nodes(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn nodes_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }

    fn limit(&self, name: &str) -> Option<u32> {
        (name == TIMEOUT).then_some(self.script.timeout)
    }

    fn set_limit(&mut self, name: &str, max: u32) {
        if name == TIMEOUT {
            self.script.timeout = max;
        }
    }

    fn script(&self) -> Option<&Script> {
        Some(&self.script)
    }

    fn fails_with_its_command(&self) -> bool {
        !self.on_nonzero_continue
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let word = if self.on_nonzero_continue { "continue" } else { "fail" };
        vec![("on_nonzero", word.to_owned())]
    }

    fn write(&self, to: &mut dyn Written) {
        to.script(None, &self.script);
    }

    fn walk(&self, names: &mut Walk<'_>, _: Option<Seen>) -> Shape {
        names.script(&self.script);
        Shape::any().from(Source::Process)
    }

    fn below(&self, _: ChildSlot) -> Option<Work<'_>> {
        None
    }

    fn next(&self, _: &dyn Parts) -> Move {
        Move::Owe(EvalPhase::Close)
    }

    fn open(&self, at: &dyn Opening, _: &mut Names) -> Result<Opens, Box<TaskError>> {
        at.process(&self.script).map(Opens::Plan)
    }

    fn binds(&self, _: &dyn Known, _: ChildSlot) -> Vec<(String, Bound)> {
        Vec::new()
    }

    fn close(&self, at: &dyn Known) -> TaskResult {
        at.process(self.on_nonzero_continue)
    }
}
