//! Binds names to values and fills placeholders (spec 4). Only this module creates [`Resolved`] texts.

mod arguments;
mod environment;
mod resolve;

pub use arguments::{Evaluated, InputFault, argument_value, bind_call, bind_inputs};
pub use environment::{Bound, Datum, Environment, Trust};
pub use resolve::{
    FindTemplate, Resolved, ResolvedTask, missing_before_run, names_asked, resolve_command, resolve_task, resolve_text,
};
