//! The task tree of a template (spec 16), which its run executes.

mod blocks;
mod context;
mod node;
mod origin;
mod types;

pub use blocks::{
    ApprovalWish, Argument, ArgumentValue, Command, Condition, Effects, FilePaths, FileSource, Inherit, Input,
    InputFile, InputSource, OnParseFailure, OutputFormat, OutputType, PathUse, Recovery, SchemaChoice, Script, Stdin,
    UNCLEAR, Variable,
};
pub use context::{
    AccumulationFormat, Context, ContextPart, InheritContext, PartialContext, Role, Settings, Yielded, resolve,
};
pub use node::{Intent, Node, Param, Taken, Template};
pub use origin::Origin;
pub use types::{ValueType, type_word};
