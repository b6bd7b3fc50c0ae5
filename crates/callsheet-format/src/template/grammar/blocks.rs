//! Rows of the blocks (spec 2.3, 2.5) and of scripts (spec 2.4).

use callsheet_core::spec::LIMIT_ROWS;

use super::rows::{Attribute, Child, Content, Element, Kind};

const NONE: &[Attribute] = &[];

pub(super) static DESCRIPTION: Element = Element::value("description", Kind::Filled);
pub(super) static INSTRUCTIONS: Element = Element::value("instructions", Kind::Filled);
pub(super) static SYSTEM: Element = Element::value("system", Kind::Filled);
pub(super) static EXPECTED_OUTPUT: Element = Element::value("expected_output", Kind::Filled);
pub(super) static CRITERIA: Element = Element::value("criteria", Kind::Filled);
pub(super) static MODEL: Element = Element::value("model", Kind::List);
pub(super) static PROVIDER: Element = Element::value("provider", Kind::List);
pub(super) static MANUAL_XML: Element = Element::value("manual_xml", Kind::Bool);
pub(super) static DISABLE_REPARSING: Element = Element::value("disable_reparsing", Kind::Bool);

pub(super) static INPUTS: Element = Element::new("inputs", NONE, &[Child::new(&INPUT).many()], Content::Children);
static INPUT: Element = Element::new(
    "input",
    &[
        Attribute::new("name", Kind::Ident).required(),
        Attribute::new("from", Kind::Path),
        Attribute::new("required", Kind::Bool).or("true"),
        Attribute::new("default", Kind::Text),
        Attribute::new("match", Kind::Bool).or("true"),
    ],
    &[],
    Content::Argument,
);

pub(super) static FILE_PATHS: Element = Element::new(
    "file_paths",
    &[Attribute::new("source", Kind::OneOf(&["literal", "command", "description", "context_description"]))
        .or("literal")],
    &[Child::new(&PATH).many(), Child::new(&PATHS_COMMAND), Child::new(&DESCRIPTION), Child::new(&CONTEXT_QUERY)],
    Content::Children,
);
static PATH: Element = Element::value("path", Kind::Filled);
static PATHS_COMMAND: Element = Element::value("command", Kind::PlainCommand);
static CONTEXT_QUERY: Element = Element::value("context_query", Kind::Filled);

pub(super) static OUTPUT_FORMAT: Element = Element::new(
    "output_format",
    &[
        Attribute::new("type", Kind::OneOf(&["json", "text"])).required(),
        Attribute::new("schema", Kind::Schema),
        Attribute::new("on_parse_failure", Kind::OneOf(&["fallback", "error"])),
    ],
    &[],
    Content::Optional(Kind::JsonSchema),
);

const INHERIT: Kind = Kind::OneOf(&["full", "none", "subset"]);
const FORMAT: Kind = Kind::OneOf(&["notes_only", "full_output"]);
const FRESH: Kind = Kind::OneOf(&["enabled", "disabled"]);
pub(super) static CONTEXT_MANAGEMENT: Element = Element::new(
    "context_management",
    &[
        Attribute::new("inherit_context", INHERIT),
        Attribute::new("accumulate_data", Kind::Bool),
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
static ACCUMULATE_DATA: Element = Element::value("accumulate_data", Kind::Bool);
static ACCUMULATION_FORMAT: Element = Element::value("accumulation_format", FORMAT);
static FRESH_CONTEXT: Element = Element::value("fresh_context", FRESH);

static LIMIT_ATTRIBUTES: [Attribute; LIMIT_ROWS.len()] = limit_attributes();

const fn limit_attributes() -> [Attribute; LIMIT_ROWS.len()] {
    let mut out = [const { Attribute::new("", Kind::Text) }; LIMIT_ROWS.len()];
    let mut index = 0;
    while index < LIMIT_ROWS.len() {
        out[index] = Attribute::new(LIMIT_ROWS[index].name, Kind::Limit(LIMIT_ROWS[index].range));
        index += 1;
    }
    out
}

pub(super) static LIMITS: Element = Element::new("limits", &LIMIT_ATTRIBUTES, &[], Content::Children);

pub(super) static ALLOWED_TOOLS: Element =
    Element::new("allowed_tools", NONE, &[Child::new(&TOOL).many()], Content::Children);
static TOOL: Element = Element::value("tool", Kind::Ident);

pub(super) static RECOVERY: Element = Element::new(
    "recovery",
    &[
        Attribute::new("attempts", Kind::Int(1, 5)).or("1"),
        Attribute::new("feed_issues", Kind::Bool).or("true"),
        Attribute::new("reparse", Kind::Bool).or("true"),
    ],
    &[],
    Content::Children,
);

pub(super) static COMMAND: Element =
    Element::new("command", NONE, &[Child::new(&ARGV).many()], Content::Either(Kind::Command));
static ARGV: Element = Element::new("argv", NONE, &[], Content::Optional(Kind::Filled));
pub(super) static TIMEOUT: Element = Element::value("timeout", Kind::Int(1, 86_400));
pub(super) static STDIN: Element =
    Element::new("stdin", &[Attribute::new("from", Kind::Path)], &[], Content::Optional(Kind::Filled));
pub(super) static INPUT_FILE: Element = Element::new(
    "input_file",
    &[
        Attribute::new("name", Kind::Ident).required(),
        Attribute::new("from", Kind::Path).required(),
        Attribute::new("suffix", Kind::Text),
    ],
    &[],
    Content::Children,
);
pub(super) static ENVIRONMENT: Element = Element::new(
    "environment",
    &[Attribute::new("inherit", Kind::OneOf(&["none", "safe", "all"])).or("safe")],
    &[Child::new(&VAR).many()],
    Content::Children,
);
static VAR: Element =
    Element::new("var", &[Attribute::new("name", Kind::Ident).required()], &[], Content::Optional(Kind::Filled));
pub(super) static SCRIPT_EXECUTION: Element = Element::new(
    "script_execution",
    NONE,
    &[
        Child::new(&COMMAND).required(),
        Child::new(&TIMEOUT),
        Child::new(&STDIN),
        Child::new(&INPUT_FILE).many(),
        Child::new(&ENVIRONMENT),
    ],
    Content::Children,
);
pub(super) static TERMINATION_CONDITION: Element =
    Element::new("termination_condition", NONE, &[Child::new(&CONDITION).required()], Content::Children);
static CONDITION: Element = Element::value("condition", Kind::Expression);
