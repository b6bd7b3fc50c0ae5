//! The rows of blocks (spec 2.3, 2.5) and of scripts (spec 2.4).

use crate::nouns::LIMIT_ROWS;

use super::{Attribute, Child, Content, Element, ValueKind};

const NONE: &[Attribute] = &[];

/// The description of a task.
pub static DESCRIPTION: Element = Element::value("description", ValueKind::Filled);
/// The instructions for the model.
pub static INSTRUCTIONS: Element = Element::value("instructions", ValueKind::Filled);
/// The text that is added to the base prompt.
pub static SYSTEM: Element = Element::value("system", ValueKind::Filled);
/// What a good result contains.
pub static EXPECTED_OUTPUT: Element = Element::value("expected_output", ValueKind::Filled);
/// How a result is judged.
pub static CRITERIA: Element = Element::value("criteria", ValueKind::Filled);
/// Models, in order of preference.
pub static MODEL: Element = Element::value("model", ValueKind::List);
/// Providers, in order of preference.
pub static PROVIDER: Element = Element::value("provider", ValueKind::List);
/// Whether the reply is used as written.
pub static MANUAL_XML: Element = Element::value("manual_xml", ValueKind::Bool);
/// Whether a model never splits the task after a failure.
pub static DISABLE_REPARSING: Element = Element::value("disable_reparsing", ValueKind::Bool);

/// Inputs.
pub static INPUTS: Element = Element::new("inputs", NONE, &[Child::new(&INPUT).many()], Content::Children);
static INPUT: Element = Element::new(
    "input",
    &[
        Attribute::new("name", ValueKind::Ident).required(),
        Attribute::new("from", ValueKind::Path),
        Attribute::new("required", ValueKind::Bool).or("true"),
        Attribute::new("default", ValueKind::Text),
        Attribute::new("match", ValueKind::Bool).or("true"),
    ],
    &[],
    Content::Argument,
);

/// The files that a task gets.
pub static FILE_PATHS: Element = Element::new(
    "file_paths",
    &[Attribute::new("source", ValueKind::OneOf(&["literal", "command", "description", "context_description"]))
        .or("literal")],
    &[Child::new(&PATH).many(), Child::new(&PATHS_COMMAND), Child::new(&DESCRIPTION), Child::new(&CONTEXT_QUERY)],
    Content::Children,
);
static PATH: Element = Element::value("path", ValueKind::Filled);
static PATHS_COMMAND: Element = Element::value("command", ValueKind::PlainCommand);
static CONTEXT_QUERY: Element = Element::value("context_query", ValueKind::Filled);

/// The declared form of an output.
pub static OUTPUT_FORMAT: Element = Element::new(
    "output_format",
    &[
        Attribute::new("type", ValueKind::OneOf(&["json", "text"])).required(),
        Attribute::new("schema", ValueKind::Schema),
        Attribute::new("on_parse_failure", ValueKind::OneOf(&["fallback", "error"])),
    ],
    &[],
    Content::Optional(ValueKind::JsonSchema),
);

const INHERIT: ValueKind = ValueKind::OneOf(&["full", "none", "subset"]);
const FORMAT: ValueKind = ValueKind::OneOf(&["notes_only", "full_output"]);
const FRESH: ValueKind = ValueKind::OneOf(&["enabled", "disabled"]);
/// What a task is told about its surroundings.
pub static CONTEXT_MANAGEMENT: Element = Element::new(
    "context_management",
    &[
        Attribute::new("inherit_context", INHERIT),
        Attribute::new("accumulate_data", ValueKind::Bool),
        Attribute::new("accumulation_format", FORMAT),
        Attribute::new("fresh_context", FRESH),
    ],
    &[
        Child::new(&INHERIT_CONTEXT),
        Child::new(&ACCUMULATE_DATA),
        Child::new(&ACCUMULATION_FORMAT),
        Child::new(&FRESH_CONTEXT),
    ],
    Content::Children,
);
static INHERIT_CONTEXT: Element = Element::value("inherit_context", INHERIT);
static ACCUMULATE_DATA: Element = Element::value("accumulate_data", ValueKind::Bool);
static ACCUMULATION_FORMAT: Element = Element::value("accumulation_format", FORMAT);
static FRESH_CONTEXT: Element = Element::value("fresh_context", FRESH);

static LIMIT_ATTRIBUTES: [Attribute; LIMIT_ROWS.len()] = limit_attributes();

const fn limit_attributes() -> [Attribute; LIMIT_ROWS.len()] {
    let mut out = [const { Attribute::new("", ValueKind::Text) }; LIMIT_ROWS.len()];
    let mut index = 0;
    while index < LIMIT_ROWS.len() {
        out[index] = Attribute::new(LIMIT_ROWS[index].name, ValueKind::Limit(LIMIT_ROWS[index].range));
        index += 1;
    }
    out
}

/// The task's own limits.
pub static LIMITS: Element = Element::new("limits", &LIMIT_ATTRIBUTES, &[], Content::Children);

/// The tools that it may use.
pub static ALLOWED_TOOLS: Element = Element::new("allowed_tools", NONE, &[Child::new(&TOOL).many()], Content::Children);
static TOOL: Element = Element::value("tool", ValueKind::Ident);

/// How a failure is handled.
pub static RECOVERY: Element = Element::new(
    "recovery",
    &[
        Attribute::new("attempts", ValueKind::Int(1, 5)),
        Attribute::new("feed_issues", ValueKind::Bool).or("true"),
        Attribute::new("reparse", ValueKind::Bool).or("true"),
    ],
    &[],
    Content::Children,
);

/// The command that starts a process.
pub static COMMAND: Element =
    Element::new("command", NONE, &[Child::new(&ARGV).many()], Content::Either(ValueKind::Command));
static ARGV: Element = Element::new("argv", NONE, &[], Content::Optional(ValueKind::Filled));
/// The time limit of a process in seconds.
pub static TIMEOUT: Element = Element::value("timeout", ValueKind::Int(1, 86_400));
/// The standard input of a process.
pub static STDIN: Element =
    Element::new("stdin", &[Attribute::new("from", ValueKind::Path)], &[], Content::Optional(ValueKind::Filled));
/// A file that is written for a process.
pub static INPUT_FILE: Element = Element::new(
    "input_file",
    &[
        Attribute::new("name", ValueKind::Ident).required(),
        Attribute::new("from", ValueKind::Path).required(),
        Attribute::new("suffix", ValueKind::Text),
    ],
    &[],
    Content::Children,
);
/// The environment of a process.
pub static ENVIRONMENT: Element = Element::new(
    "environment",
    &[Attribute::new("inherit", ValueKind::OneOf(&["none", "safe", "all"])).or("safe")],
    &[Child::new(&VAR).many()],
    Content::Children,
);
static VAR: Element = Element::new(
    "var",
    &[Attribute::new("name", ValueKind::Ident).required()],
    &[],
    Content::Optional(ValueKind::Filled),
);
/// The rows of a process, in every place where one may be written.
pub const PROCESS: &[Child] = &[
    Child::new(&COMMAND).required(),
    Child::new(&TIMEOUT),
    Child::new(&STDIN),
    Child::new(&INPUT_FILE).many(),
    Child::new(&ENVIRONMENT),
];

/// The largest number of children that run at the same time.
pub const MAX_PARALLEL: Attribute = Attribute::new("max_parallel", ValueKind::Int(1, 64)).or("4");
/// What happens to the other children when a child fails.
pub const ON_ERROR: Attribute = Attribute::new("on_error", ValueKind::OneOf(&["fail", "collect"])).or("fail");
/// The id of an element.
pub const ID: Attribute = Attribute::new("id", ValueKind::Ident);
/// The list whose elements are processed.
pub const ITEMS: Attribute = Attribute::new("items", ValueKind::Path);
