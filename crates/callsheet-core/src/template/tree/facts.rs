//! What is fixed of each operator: one row each.

use super::{Kind, Role};

/// What is fixed of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The word of `type`, or the element.
    pub word: &'static str,
    /// The row of its context settings, wherever it stands.
    pub role: Role,
    /// The same where it is spawned as a subtask.
    pub spawned: Role,
    /// Names that it binds for its parts (spec 8).
    pub binds: &'static [&'static str],
    /// Its inputs are shown or passed on even if no text names them.
    pub shows_inputs: bool,
    /// What is looked up reaches a model: processes are told nothing, `call` and `cond` are transparent.
    pub looks_up: bool,
    /// The split of a failed task may be made of it (spec 11).
    pub splits: bool,
}

const ATOMIC: Facts = Facts {
    word: "atomic",
    role: Role::Atomic,
    spawned: Role::Subtask,
    binds: &[],
    shows_inputs: true,
    looks_up: true,
    splits: true,
};

const SEQUENTIAL: Facts = Facts {
    word: "sequential",
    role: Role::Sequential,
    spawned: Role::Sequential,
    binds: &["steps", "step_results", "previous_result", "output"],
    shows_inputs: false,
    looks_up: true,
    splits: true,
};

const REDUCE: Facts = Facts {
    word: "reduce",
    role: Role::Reduce,
    spawned: Role::Reduce,
    binds: &["current_data", "current_name", "current_index", "original_input", "current_result", "accumulator"],
    shows_inputs: true,
    looks_up: true,
    splits: true,
};

const SCRIPT: Facts = Facts {
    word: "script",
    role: Role::Script,
    spawned: Role::Subtask,
    binds: &[],
    shows_inputs: false,
    looks_up: false,
    splits: false,
};

const DIRECTOR_EVALUATOR_LOOP: Facts = Facts {
    word: "director_evaluator_loop",
    role: Role::Loop,
    spawned: Role::Loop,
    binds: &[
        "original_prompt",
        "user_query",
        "iteration",
        "current_iteration",
        "evaluation_feedback",
        "next_input",
        "previous_results",
        "last_evaluation",
        "director_result",
        "script_input",
        "script_output",
        "script_stdout",
        "script_errors",
        "script_stderr",
        "script_exit_code",
        "script_timed_out",
        "evaluation",
    ],
    shows_inputs: false,
    looks_up: true,
    splits: false,
};

const MAP: Facts = Facts {
    word: "map",
    role: Role::Map,
    spawned: Role::Subtask,
    binds: &["item_index"],
    shows_inputs: false,
    looks_up: true,
    splits: true,
};

const CALL: Facts = Facts {
    word: "call",
    role: Role::Atomic,
    spawned: Role::Subtask,
    binds: &[],
    shows_inputs: true,
    looks_up: false,
    splits: true,
};

const COND: Facts = Facts {
    word: "cond",
    role: Role::Atomic,
    spawned: Role::Subtask,
    binds: &[],
    shows_inputs: false,
    looks_up: false,
    splits: false,
};

const PARALLEL: Facts = Facts {
    word: "parallel",
    role: Role::Parallel,
    spawned: Role::Subtask,
    binds: &["steps", "step_results", "previous_result", "output"],
    shows_inputs: false,
    looks_up: true,
    splits: false,
};

impl Kind {
    /// What is fixed of it.
    pub fn facts(&self) -> &'static Facts {
        match self {
            Self::Atomic => &ATOMIC,
            Self::Sequential { .. } => &SEQUENTIAL,
            Self::Reduce { .. } => &REDUCE,
            Self::Script { .. } => &SCRIPT,
            Self::DirectorEvaluatorLoop { .. } => &DIRECTOR_EVALUATOR_LOOP,
            Self::Map { .. } => &MAP,
            Self::Call { .. } => &CALL,
            Self::Cond { .. } => &COND,
            Self::Parallel { .. } => &PARALLEL,
        }
    }

    /// The word of `type`, or the element.
    pub fn word(&self) -> &'static str {
        self.facts().word
    }
}
