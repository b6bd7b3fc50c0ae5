//! Binding names to values and filling placeholders (spec 4). Only this module makes [`Resolved`] texts.

mod arguments;
mod before;
mod environment;
mod resolve;
mod scope;

pub use arguments::{Evaluated, InputFault, argument_value, bind_call, bind_inputs};
pub use before::{Fault, FindTemplate, Judge, Wrong, faults_before_run, paths_before_run};
pub use environment::{Bound, Datum, Environment, Trust};
pub use resolve::{
    Resolved, ResolvedTask, missing_before_run, names_asked, resolve_command, resolve_task, resolve_text,
};
