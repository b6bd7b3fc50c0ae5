//! The template of a subtask, modified by its request (spec 12): what the request says about context, files, depth and
//! output overrides the template.

use serde_json::{Map, Value};

use crate::template::{
    ContextPart, FilePaths, FileSource, Filled, InheritContext, Input, InputSource, Kind, Node, Origin, Param,
    PartialContext, Path, Piece, Role, Settings, Spot, SubtaskRequest, Template, ValueType, Yielded, resolve,
};

use super::request::wanted_tools;

/// The template for requests that no other template matches (spec 10).
pub(super) const DEFAULT_TEMPLATE: &str = "default_atomic";
/// The subtype of a spawned atomic (spec 2.2).
const SUBTYPE: &str = "subtask";
/// Parameters of [`DEFAULT_TEMPLATE`] that the request itself fills.
const DESCRIPTION: &str = "description";
const EXPECTED: &str = "expected_output";

/// [`DEFAULT_TEMPLATE`] if the library has none, as in records of earlier versions.
pub(super) fn default_atomic() -> Template {
    let place = |name: &str| {
        let path = Path::parse(name).map(|path| Piece::Placeholder(path, Spot::default()));
        Filled::from_pieces(path)
    };
    let param = |name: &str, default: Option<&str>| Param {
        name: name.to_owned(),
        kind: ValueType::Any,
        required: default.is_none(),
        default: default.map(str::to_owned),
        meaning: String::new(),
        at: Spot::default(),
    };
    let mut body = Node::new(Kind::Atomic, Origin::default());
    body.intent.description = place(DESCRIPTION);
    body.intent.instructions = place(DESCRIPTION);
    body.intent.expected_output = place(EXPECTED);
    SUBTYPE.clone_into(&mut body.subtype);
    body.context.settings = Role::SUBTASK.settings;
    Template {
        name: DEFAULT_TEMPLATE.to_owned(),
        params: Some(vec![param(DESCRIPTION, None), param(EXPECTED, Some(""))]),
        returns: None,
        tags: Vec::new(),
        auto_select: false,
        body,
        origin: Origin::default(),
        returns_at: Spot::default(),
    }
}

/// The template with the settings of a request. `strict` means that a subtask inherits nothing by default. `tools` are
/// those of a body that names none; a request can only remove some of them.
///
/// # Errors
/// Settings of the request that exclude each other.
pub(super) fn graft(
    template: &Template,
    request: &SubtaskRequest,
    strict: bool,
    tools: &[String],
) -> Result<(Template, Option<Yielded>), ContextPart> {
    let mut template = template.clone();
    if template.name == DEFAULT_TEMPLATE {
        take_inputs(&mut template, request);
    }
    let body = &mut template.body;
    let own = resolve(base(body, strict), &body.context.explicit).map_or_else(|_| base(body, strict), |(own, _)| own);
    let asked = request.context_management.unwrap_or_default();
    let (settings, yielded) = resolve(own, &asked)?;
    body.context.settings = settings;
    body.context.explicit = over(body.context.explicit, asked);
    if body.kind.is_atomic() && body.subtype == "standard" {
        SUBTYPE.clone_into(&mut body.subtype);
    }
    if let Some(paths) = request.file_paths.as_ref().filter(|paths| !paths.is_empty()) {
        let paths = paths.iter().map(|path| Filled::literal(path)).collect();
        body.refs = Some(FilePaths { source: FileSource::Literal, paths, ..FilePaths::default() });
    }
    if let Some(depth) = request.max_depth {
        body.limits.max_depth = Some(body.limits.max_depth.map_or(depth, |own| own.min(depth)));
    }
    if let Some(wanted) = request.expected_output.as_deref().filter(|_| body.intent.expected_output.is_empty()) {
        body.intent.expected_output = Filled::literal(wanted);
    }
    if let Some(mut wanted) = wanted_tools(request) {
        wanted.retain(|tool| body.tools.as_deref().unwrap_or(tools).contains(tool));
        body.tools = Some(wanted);
    }
    Ok((template, yielded))
}

/// Defaults of a spawned task: for an atomic task those of a subtask, for another operator its own with the pair of a
/// subtask.
fn base(body: &Node, strict: bool) -> Settings {
    let spawned = Role::SUBTASK.settings;
    let inherit_context = if strict { InheritContext::None } else { spawned.inherit_context };
    let own = body.kind.facts().spawned.settings;
    Settings { inherit_context, fresh_context: spawned.fresh_context, ..own }
}

fn over(own: PartialContext, asked: PartialContext) -> PartialContext {
    PartialContext {
        inherit_context: asked.inherit_context.or(own.inherit_context),
        accumulate_data: asked.accumulate_data.or(own.accumulate_data),
        accumulation_format: asked.accumulation_format.or(own.accumulation_format),
        fresh_context: asked.fresh_context.or(own.fresh_context),
    }
}

/// Lets the default template show all inputs that it is given.
fn take_inputs(template: &mut Template, request: &SubtaskRequest) {
    for name in request.inputs.keys() {
        template.body.inputs.push(Input {
            name: name.clone(),
            source: InputSource::Caller,
            required: false,
            default: None,
            matched: true,
            origin: Origin::default(),
        });
        let Some(params) = &mut template.params else { continue };
        if params.iter().any(|param| param.name == *name) {
            // An input with the same name as a part of the request keeps its name.
            template.body.intent.description = Filled::literal(&request.description);
            template.body.intent.instructions = Filled::literal(&request.description);
            continue;
        }
        params.push(Param {
            name: name.clone(),
            kind: ValueType::Any,
            required: false,
            default: None,
            meaning: String::new(),
            at: Spot::default(),
        });
    }
}

/// The arguments of a template for a request: its inputs and, for the default template, the text of the request.
pub(super) fn arguments(template: &Template, request: &SubtaskRequest) -> Map<String, Value> {
    let mut given = request.inputs.clone();
    if template.name == DEFAULT_TEMPLATE {
        given.entry(DESCRIPTION).or_insert_with(|| Value::from(request.description.as_str()));
        if let Some(wanted) = &request.expected_output {
            given.entry(EXPECTED).or_insert_with(|| Value::from(wanted.as_str()));
        }
    }
    given
}
