//! Nodes as elements.

use callsheet_core::template::{
    ApprovalWish, Argument, ArgumentValue, Command, Effects, FilePaths, FileSource, Filled, Inherit, Input,
    InputSource, Kind, Node, OnError, OnParseFailure, OutputFormat, OutputType, Piece, Recovery, SchemaChoice, Script,
    Stdin,
};

use super::writer::Writer;

/// Where an operator stands, as far as its attributes go.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// Outermost, with the template's name.
    Top(&'a str),
    /// A slot that implies a subtype.
    Implies(&'a str),
    /// Anywhere else.
    Nested,
}

type Attributes = Vec<(&'static str, String)>;

/// Whether it is written as a `task` with a type.
pub(super) fn is_typed_task(node: &Node) -> bool {
    !matches!(node.kind, Kind::Call { .. } | Kind::Cond { .. } | Kind::Parallel { .. })
}

/// Writes an operator element.
pub(super) fn operator(writer: &mut Writer, node: &Node, place: Place<'_>) {
    match &node.kind {
        Kind::Call { arguments } => call(writer, node, arguments),
        Kind::Cond { cases, otherwise } => {
            writer.open("cond", &id(node));
            for case in cases {
                writer.open("case", &[("test", case.test.test.to_string())]);
                operator(writer, &case.body, Place::Nested);
                writer.close("case");
            }
            if let Some(otherwise) = otherwise {
                slot(writer, "else", otherwise, Place::Nested);
            }
            writer.close("cond");
        }
        Kind::Parallel { children, max_parallel, on_error } => {
            let mut attributes = id(node);
            bounds(&mut attributes, *max_parallel, *on_error);
            writer.open("parallel", &attributes);
            for child in children {
                operator(writer, child, Place::Nested);
            }
            writer.close("parallel");
        }
        _ => task(writer, node, place),
    }
}

fn id(node: &Node) -> Attributes {
    node.id.iter().map(|id| ("id", id.clone())).collect()
}

fn bounds(attributes: &mut Attributes, max_parallel: u32, error: OnError) {
    if max_parallel != 4 {
        attributes.push(("max_parallel", max_parallel.to_string()));
    }
    on_error(attributes, error);
}

fn on_error(attributes: &mut Attributes, on_error: OnError) {
    if on_error == OnError::Collect {
        attributes.push(("on_error", "collect".to_owned()));
    }
}

fn call(writer: &mut Writer, node: &Node, arguments: &[Argument]) {
    let template = node.template.clone().unwrap_or_default();
    if !node.inputs.is_empty() || node.approval != ApprovalWish::default() {
        let mut attributes = vec![("ref", template)];
        attributes.extend(id(node));
        approval(&mut attributes, node);
        writer.open("task", &attributes);
        let (mut given, lost): (Vec<Option<Input>>, _) = arguments.iter().map(as_input).partition(Option::is_some);
        if !lost.is_empty() {
            writer.comment(&format!("{} arguments without a name or with a bare text", lost.len()));
        }
        given.extend(node.inputs.iter().cloned().map(Some));
        inputs(writer, &given.into_iter().flatten().collect::<Vec<_>>());
        limits(writer, node);
        writer.close("task");
        return;
    }
    let mut attributes = vec![("template", template)];
    attributes.extend(id(node));
    if arguments.is_empty() && node.limits.is_empty() {
        return writer.empty("call", &attributes);
    }
    writer.open("call", &attributes);
    for argument in arguments {
        let mut attributes: Attributes = argument.name.iter().map(|name| ("name", name.clone())).collect();
        match &argument.value {
            ArgumentValue::Value(text) => {
                attributes.push(("value", text.to_string()));
                writer.empty("arg", &attributes);
            }
            ArgumentValue::From(from) => {
                attributes.push(("from", from.path.to_string()));
                writer.empty("arg", &attributes);
            }
            ArgumentValue::Bare(text) => writer.text("arg", &attributes, &text.to_string()),
            // As unreadable as it was.
            ArgumentValue::Unread => {
                attributes.push(("from", String::new()));
                writer.empty("arg", &attributes);
            }
            ArgumentValue::Operator(node) => {
                writer.open("arg", &attributes);
                operator(writer, node, Place::Nested);
                writer.close("arg");
            }
        }
    }
    limits(writer, node);
    writer.close("call");
}

/// An argument as the input of a `ref`, if that can say it.
fn as_input(argument: &Argument) -> Option<Input> {
    let source = match &argument.value {
        ArgumentValue::Value(text) if !text.is_empty() => InputSource::Text(text.clone()),
        ArgumentValue::From(from) => InputSource::From(from.clone()),
        ArgumentValue::Operator(node) => InputSource::Operator(node.clone()),
        _ => return None,
    };
    let name = argument.name.clone()?;
    Some(Input { name, source, required: true, default: None, matched: true, origin: argument.origin.clone() })
}

fn approval(attributes: &mut Attributes, node: &Node) {
    if let Some(effects) = node.approval.effects {
        attributes.push(("effects", if effects == Effects::Write { "write" } else { "read" }.to_owned()));
    }
    if let Some(required) = node.approval.required {
        attributes.push(("requires_approval", required.to_string()));
    }
}

fn slot(writer: &mut Writer, name: &str, node: &Node, place: Place<'_>) {
    writer.open(name, &[]);
    operator(writer, node, place);
    writer.close(name);
}

fn task(writer: &mut Writer, node: &Node, place: Place<'_>) {
    writer.open("task", &task_attributes(node, place));
    writer.text("description", &[], &node.intent.description.to_string());
    let texts = [
        ("instructions", &node.intent.instructions),
        ("system", &node.system),
        ("expected_output", &node.intent.expected_output),
        ("criteria", &node.intent.criteria),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        writer.text(name, &[], &text.to_string());
    }
    for (name, list) in [("model", &node.models), ("provider", &node.providers)] {
        if !list.is_empty() {
            writer.text(name, &[], &list.join(", "));
        }
    }
    inputs(writer, &node.inputs);
    if let Some(paths) = &node.refs {
        file_paths(writer, paths);
    }
    if let Some(output) = &node.output {
        output_format(writer, output);
    }
    context(writer, node);
    limits(writer, node);
    if let Some(tools) = &node.tools {
        if tools.is_empty() {
            writer.empty("allowed_tools", &[]);
        } else {
            writer.open("allowed_tools", &[]);
            for tool in tools {
                writer.text("tool", &[], tool);
            }
            writer.close("allowed_tools");
        }
    }
    recovery(writer, node.recovery);
    for (name, set) in [("manual_xml", node.manual_xml), ("disable_reparsing", node.disable_reparsing)] {
        if set {
            writer.text(name, &[], "true");
        }
    }
    own_parts(writer, node);
    writer.close("task");
}

fn task_attributes(node: &Node, place: Place<'_>) -> Attributes {
    let mut attributes = vec![("type", node.kind.word().to_owned())];
    let implied = if let Place::Implies(word) = place { word } else { "standard" };
    if node.subtype != implied {
        attributes.push(("subtype", node.subtype.clone()));
    }
    match place {
        Place::Top(name) => attributes.push(("name", name.to_owned())),
        _ => attributes.extend(id(node)),
    }
    approval(&mut attributes, node);
    match &node.kind {
        Kind::Sequential { on_error: error, .. } => on_error(&mut attributes, *error),
        Kind::Reduce { items, .. } => attributes.extend(items.iter().map(|items| ("items", items.path.to_string()))),
        Kind::Script { on_nonzero_continue: true, .. } => attributes.push(("on_nonzero", "continue".to_owned())),
        Kind::DirectorEvaluatorLoop { on_exhausted_accept: true, .. } => {
            attributes.push(("on_exhausted", "accept".to_owned()));
        }
        Kind::Map { items, item, max_parallel, on_error, .. } => {
            attributes.push(("items", items.path.to_string()));
            if item != "item" {
                attributes.push(("as", item.clone()));
            }
            bounds(&mut attributes, *max_parallel, *on_error);
        }
        _ => {}
    }
    attributes
}

/// Children of one operator.
fn own_parts(writer: &mut Writer, node: &Node) {
    match &node.kind {
        Kind::Sequential { steps, .. } => {
            writer.open("steps", &[]);
            for step in steps {
                operator(writer, step, Place::Nested);
            }
            writer.close("steps");
        }
        Kind::Reduce { initial, inner, reduction, .. } => {
            writer.text("initial_value", &[], &initial.to_string());
            slot(writer, "inner_task", inner, Place::Nested);
            slot(writer, "reduction_task", reduction, Place::Nested);
        }
        Kind::Script { script, .. } => script_parts(writer, script),
        Kind::DirectorEvaluatorLoop { director, evaluator, script, max_iterations, condition, .. } => {
            writer.text("max_iterations", &[], &max_iterations.to_string());
            slot(writer, "director", director, Place::Implies("director"));
            if let Some(script) = script {
                writer.open("script_execution", &[]);
                script_parts(writer, script);
                writer.close("script_execution");
            }
            slot(writer, "evaluator", evaluator, Place::Implies("evaluator"));
            if let Some(condition) = condition {
                writer.open("termination_condition", &[]);
                writer.inline("condition", &[], condition.test.as_str());
                writer.close("termination_condition");
            }
        }
        Kind::Map { body, .. } => slot(writer, "body", body, Place::Nested),
        _ => {}
    }
}

fn script_parts(writer: &mut Writer, script: &Script) {
    writer.inline("command", &[], &command_text(&script.command));
    writer.text("timeout", &[], &script.timeout.to_string());
    match &script.stdin {
        Some(Stdin::From(from)) => writer.empty("stdin", &[("from", from.path.to_string())]),
        Some(Stdin::Text(text)) => writer.text("stdin", &[], &text.to_string()),
        None => {}
    }
    for file in &script.input_files {
        let mut attributes = vec![("name", file.name.clone()), ("from", file.from.path.to_string())];
        if !file.suffix.is_empty() {
            attributes.push(("suffix", file.suffix.clone()));
        }
        writer.empty("input_file", &attributes);
    }
    if script.inherit == Inherit::Safe && script.variables.is_empty() {
        return;
    }
    let attributes: Attributes = match script.inherit {
        Inherit::None => vec![("inherit", "none".to_owned())],
        Inherit::Safe => Vec::new(),
        Inherit::All => vec![("inherit", "all".to_owned())],
    };
    writer.open("environment", &attributes);
    for variable in &script.variables {
        writer.text("var", &[("name", variable.name.clone())], &variable.value.to_string());
    }
    writer.close("environment");
}

/// Words joined so that reading splits them the same way.
fn command_text(command: &Command) -> String {
    let words: Vec<String> = command.words.iter().map(quoted).collect();
    words.join(" ")
}

fn quoted(word: &Filled) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./=:,+@%^~#?*[]".contains(c);
    let plain = !word.is_empty()
        && word.pieces().iter().all(|piece| match piece {
            Piece::Literal(text) => text.chars().all(safe),
            Piece::Place(..) => true,
        });
    if plain {
        return word.to_string();
    }
    let pieces = word.pieces().iter().map(|piece| match piece {
        Piece::Literal(text) => Piece::Literal(text.replace('\\', "\\\\").replace('"', "\\\"")),
        place @ Piece::Place(..) => place.clone(),
    });
    format!("\"{}\"", Filled::from_pieces(pieces))
}

fn inputs(writer: &mut Writer, inputs: &[Input]) {
    if inputs.is_empty() {
        return;
    }
    writer.open("inputs", &[]);
    for input in inputs {
        let mut attributes = vec![("name", input.name.clone())];
        if let InputSource::From(from) = &input.source {
            attributes.push(("from", from.path.to_string()));
        }
        if !input.required {
            attributes.push(("required", "false".to_owned()));
        }
        if let Some(default) = &input.default {
            attributes.push(("default", default.clone()));
        }
        if !input.matched {
            attributes.push(("match", "false".to_owned()));
        }
        match &input.source {
            InputSource::Caller | InputSource::From(_) => writer.empty("input", &attributes),
            InputSource::Text(text) => writer.text("input", &attributes, &text.to_string()),
            InputSource::Operator(node) => {
                writer.open("input", &attributes);
                operator(writer, node, Place::Nested);
                writer.close("input");
            }
        }
    }
    writer.close("inputs");
}

fn file_paths(writer: &mut Writer, paths: &FilePaths) {
    let (word, name) = match paths.source {
        FileSource::Literal => ("literal", "path"),
        FileSource::Command => ("command", "command"),
        FileSource::Description => ("description", "description"),
        FileSource::ContextDescription => ("context_description", "context_query"),
    };
    let mut attributes = Vec::new();
    if paths.source != FileSource::Literal {
        attributes.push(("source", word.to_owned()));
    }
    writer.open("file_paths", &attributes);
    match paths.source {
        FileSource::Literal => {
            for path in &paths.paths {
                writer.text(name, &[], &path.to_string());
            }
        }
        FileSource::Command => writer.inline(name, &[], &command_text(&paths.command)),
        FileSource::Description | FileSource::ContextDescription => {
            writer.text(name, &[], &paths.query.to_string());
        }
    }
    writer.close("file_paths");
}

fn output_format(writer: &mut Writer, output: &OutputFormat) {
    let word = if output.form == OutputType::Json { "json" } else { "text" };
    let mut attributes = vec![("type", word.to_owned())];
    match &output.schema {
        Some(SchemaChoice::Type(kind)) => attributes.push(("schema", kind.as_str().to_owned())),
        Some(SchemaChoice::Named(name)) => attributes.push(("schema", format!("@{name}"))),
        Some(SchemaChoice::Inline(_)) | None => {}
    }
    if output.on_parse_failure != OnParseFailure::assumed(output.schema.as_ref()) {
        let word = if output.on_parse_failure == OnParseFailure::Error { "error" } else { "fallback" };
        attributes.push(("on_parse_failure", word.to_owned()));
    }
    match &output.schema {
        Some(SchemaChoice::Inline(schema)) => writer.inline("output_format", &attributes, &schema.to_string()),
        _ => writer.empty("output_format", &attributes),
    }
}

fn context(writer: &mut Writer, node: &Node) {
    let explicit = &node.context.explicit;
    let mut attributes: Attributes = Vec::new();
    attributes.extend(explicit.inherit_context.map(|value| ("inherit_context", value.as_str().to_owned())));
    attributes.extend(explicit.accumulate_data.map(|value| ("accumulate_data", value.to_string())));
    attributes.extend(explicit.accumulation_format.map(|value| ("accumulation_format", value.as_str().to_owned())));
    let fresh = |on: bool| if on { "enabled" } else { "disabled" }.to_owned();
    attributes.extend(explicit.fresh_context.map(|value| ("fresh_context", fresh(value))));
    if !attributes.is_empty() {
        writer.empty("context_management", &attributes);
    }
}

fn limits(writer: &mut Writer, node: &Node) {
    let entries = node.limits.entries();
    if !entries.is_empty() {
        let attributes: Attributes = entries.into_iter().map(|(name, value)| (name, value.to_string())).collect();
        writer.empty("limits", &attributes);
    }
}

fn recovery(writer: &mut Writer, recovery: Recovery) {
    let mut attributes: Attributes = Vec::new();
    if recovery.attempts != 1 {
        attributes.push(("attempts", recovery.attempts.to_string()));
    }
    if !recovery.feed_issues {
        attributes.push(("feed_issues", "false".to_owned()));
    }
    if !recovery.reparse {
        attributes.push(("reparse", "false".to_owned()));
    }
    if !attributes.is_empty() {
        writer.empty("recovery", &attributes);
    }
}
