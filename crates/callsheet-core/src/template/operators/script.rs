//! `script`: a process, without a shell.

use serde::{Deserialize, Serialize};

use crate::template::form::{Attribute, PROCESS, ValueKind};
use crate::template::names::Walk;
use crate::template::result::{TaskError, TaskResult};
use crate::template::tree::{Role, Script};

use super::{Facts, Kind, Known, Leaf, Names, Opening, Opens, Operator, Rows, Written};

/// A process that is a task of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// What is started.
    pub script: Script,
    /// A non-zero exit completes.
    pub on_nonzero_continue: bool,
}

const ON_NONZERO: Attribute = Attribute::new("on_nonzero", ValueKind::OneOf(&["fail", "continue"])).or("fail");

pub(super) static FACTS: Facts = Facts {
    word: "script",
    rows: Rows::Task { attributes: &[ON_NONZERO], children: PROCESS },
    read: |given| {
        let script = given.script(None)?;
        let on_nonzero_continue = given.word("on_nonzero").as_deref() == Some("continue");
        Some(Kind::Script(Process { script, on_nonzero_continue }))
    },
    leaf: Some(Leaf::Process),
    role: Role::Script,
    spawned: Role::Subtask,
    binds: &[],
    shows_inputs: false,
    looks_up: false,
    splits: false,
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

    fn script(&self) -> Option<&Script> {
        Some(&self.script)
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let word = if self.on_nonzero_continue { "continue" } else { "fail" };
        vec![("on_nonzero", word.to_owned())]
    }

    fn write(&self, to: &mut dyn Written) {
        to.script(None, &self.script);
    }

    fn walk(&self, names: &mut Walk<'_>, _: bool) {
        names.script(&self.script);
    }

    fn open(&self, at: &dyn Opening, _: &mut Names) -> Result<Opens, Box<TaskError>> {
        at.process(&self.script).map(Opens::Plan)
    }

    fn close(&self, at: &dyn Known) -> TaskResult {
        at.process(self.on_nonzero_continue)
    }
}
