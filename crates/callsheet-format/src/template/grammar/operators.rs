//! Rows of the library, of templates and of the operators (spec 2.1-2.4).

use super::blocks::{
    ALLOWED_TOOLS, COMMAND, CONTEXT_MANAGEMENT, CRITERIA, DESCRIPTION, DISABLE_REPARSING, ENVIRONMENT, EXPECTED_OUTPUT,
    FILE_PATHS, INPUT_FILE, INPUTS, INSTRUCTIONS, LIMITS, MANUAL_XML, MODEL, OUTPUT_FORMAT, PROVIDER, RECOVERY,
    SCRIPT_EXECUTION, STDIN, SYSTEM, TERMINATION_CONDITION, TIMEOUT,
};
use super::rows::{Attribute, Child, Content, Element, Kind, OPERATOR_TYPES, Operators};

const FAIL_OR_COLLECT: Kind = Kind::OneOf(&["fail", "collect"]);

pub(super) static TEMPLATES: Element = Element::new(
    "templates",
    &[Attribute::new("version", Kind::OneOf(&["1"])).or("1")],
    &[Child::new(&TEMPLATE).many(), Child::new(&TASK).many()],
    Content::Children,
);

pub(super) static TEMPLATE: Element = Element::new(
    "template",
    &[
        Attribute::new("name", Kind::TemplateName).required(),
        Attribute::new("params", Kind::Params),
        Attribute::new("returns", Kind::Type),
        Attribute::new("tags", Kind::List),
        Attribute::new("auto_select", Kind::Bool).or("false"),
    ],
    &[Child::new(&PARAMS)],
    Content::Body,
);
static PARAMS: Element = Element::new("params", &[], &[Child::new(&PARAM).many()], Content::Children);
static PARAM: Element = Element::new(
    "param",
    &[
        Attribute::new("name", Kind::Ident).required(),
        Attribute::new("type", Kind::Type).or("any"),
        Attribute::new("required", Kind::Bool).or("true"),
        Attribute::new("default", Kind::Text),
    ],
    &[],
    Content::Optional(Kind::Text),
);

pub(super) static TASK: Element = Element::new(
    "task",
    &[
        Attribute::new("type", Kind::OneOf(OPERATOR_TYPES)).or("atomic"),
        Attribute::new("subtype", Kind::Subtype).or("standard"),
        Attribute::new("id", Kind::Ident),
        Attribute::new("name", Kind::TemplateName),
        Attribute::new("ref", Kind::CallName),
        Attribute::new("effects", Kind::OneOf(&["read", "write"])),
        Attribute::new("requires_approval", Kind::Bool),
        Attribute::new("items", Kind::Path).on(Operators::MAP.and(Operators::REDUCE)),
        Attribute::new("as", Kind::Ident).or("item").on(Operators::MAP),
        Attribute::new("max_parallel", Kind::Int(1, 64)).or("4").on(Operators::MAP),
        Attribute::new("on_error", FAIL_OR_COLLECT).or("fail").on(Operators::MAP.and(Operators::SEQUENTIAL)),
        Attribute::new("on_nonzero", Kind::OneOf(&["fail", "continue"])).or("fail").on(Operators::SCRIPT),
        Attribute::new("on_exhausted", Kind::OneOf(&["fail", "accept"])).or("fail").on(Operators::LOOP),
    ],
    &[
        Child::new(&DESCRIPTION).required(),
        Child::new(&INSTRUCTIONS).on(Operators::ATOMIC),
        Child::new(&SYSTEM).on(Operators::ATOMIC),
        Child::new(&EXPECTED_OUTPUT),
        Child::new(&CRITERIA),
        Child::new(&MODEL),
        Child::new(&PROVIDER),
        Child::new(&INPUTS).on(Operators::ALL),
        Child::new(&FILE_PATHS),
        Child::new(&OUTPUT_FORMAT),
        Child::new(&CONTEXT_MANAGEMENT),
        Child::new(&LIMITS).on(Operators::ALL),
        Child::new(&ALLOWED_TOOLS),
        Child::new(&RECOVERY),
        Child::new(&MANUAL_XML),
        Child::new(&DISABLE_REPARSING),
        Child::new(&STEPS).required().on(Operators::SEQUENTIAL),
        Child::new(&INITIAL_VALUE).required().on(Operators::REDUCE),
        Child::new(&INNER_TASK).required().on(Operators::REDUCE),
        Child::new(&REDUCTION_TASK).required().on(Operators::REDUCE),
        Child::new(&COMMAND).required().on(Operators::SCRIPT),
        Child::new(&TIMEOUT).on(Operators::SCRIPT),
        Child::new(&STDIN).on(Operators::SCRIPT),
        Child::new(&INPUT_FILE).many().on(Operators::SCRIPT),
        Child::new(&ENVIRONMENT).on(Operators::SCRIPT),
        Child::new(&DIRECTOR).required().on(Operators::LOOP),
        Child::new(&EVALUATOR).required().on(Operators::LOOP),
        Child::new(&MAX_ITERATIONS).on(Operators::LOOP),
        Child::new(&SCRIPT_EXECUTION).on(Operators::LOOP),
        Child::new(&TERMINATION_CONDITION).on(Operators::LOOP),
        Child::new(&BODY).required().on(Operators::MAP),
    ],
    Content::Children,
);

static STEPS: Element = Element::new("steps", &[], &[], Content::Operators);
static INITIAL_VALUE: Element = Element::new("initial_value", &[], &[], Content::Optional(Kind::Filled));
static INNER_TASK: Element = Element::new("inner_task", &[], &[], Content::Slot);
static REDUCTION_TASK: Element = Element::new("reduction_task", &[], &[], Content::Slot);
static DIRECTOR: Element = Element::new("director", &[], &[], Content::Slot);
static EVALUATOR: Element = Element::new("evaluator", &[], &[], Content::Slot);
static MAX_ITERATIONS: Element = Element::value("max_iterations", Kind::Int(1, 100));
static BODY: Element = Element::new("body", &[], &[], Content::Slot);

pub(super) static CALL: Element = Element::new(
    "call",
    &[Attribute::new("template", Kind::CallName).required(), Attribute::new("id", Kind::Ident)],
    &[Child::new(&ARG).many(), Child::new(&LIMITS)],
    Content::Children,
);
static ARG: Element = Element::new(
    "arg",
    &[Attribute::new("name", Kind::Ident), Attribute::new("value", Kind::Filled), Attribute::new("from", Kind::Path)],
    &[],
    Content::Argument,
);

pub(super) static COND: Element = Element::new(
    "cond",
    &[Attribute::new("id", Kind::Ident)],
    &[Child::new(&CASE).required().many(), Child::new(&ELSE)],
    Content::Children,
);
static CASE: Element = Element::new("case", &[Attribute::new("test", Kind::Expression).required()], &[], Content::Slot);
static ELSE: Element = Element::new("else", &[], &[], Content::Slot);

pub(super) static PARALLEL: Element = Element::new(
    "parallel",
    &[
        Attribute::new("id", Kind::Ident),
        Attribute::new("max_parallel", Kind::Int(1, 64)).or("4"),
        Attribute::new("on_error", FAIL_OR_COLLECT).or("fail"),
    ],
    &[],
    Content::Operators,
);
