//! Prints nodes as elements.

use callsheet_core::template::form::Content;
use callsheet_core::template::operators::{Case, Rows, Slot, Written};
use callsheet_core::template::{
    ApprovalWish, Argument, ArgumentValue, Command, Condition, Effects, FilePaths, FileSource, Filled, Inherit, Input,
    InputSource, Node, OnParseFailure, OutputFormat, OutputType, Piece, Recovery, SchemaChoice, Script, Stdin,
};

use super::writer::Writer;

/// The place of an operator, which determines its attributes.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// The outermost element, with the template's name.
    Top(&'a str),
    /// A slot that implies a subtype.
    Implies(&'a str),
    /// Any other place.
    Nested,
}

type Attributes = Vec<(&'static str, String)>;

/// Whether the node is written as a `task` with a type.
pub(super) fn is_typed_task(node: &Node) -> bool {
    matches!(node.kind.facts().rows, Rows::Task { .. })
}

/// Writes an operator element.
pub(super) fn operator(writer: &mut Writer, node: &Node, place: Place<'_>) {
    let Rows::Element(row) = node.kind.facts().rows else { return task(writer, node, place) };
    if let Some(template) = &node.template
        && (!node.inputs.is_empty() || node.approval != ApprovalWish::default())
    {
        return reference(writer, node, template);
    }
    let mut attributes: Attributes = node.template.iter().map(|template| ("template", template.clone())).collect();
    attributes.extend(id(node));
    attributes.extend(own_attributes(node));
    let may_be_empty = row.content == Content::Children && row.children.iter().all(|child| !child.required);
    writer.element(row.name, &attributes, may_be_empty, |writer| {
        node.kind.operator().write(&mut OwnPart(writer));
        limits(writer, node);
    });
}

fn id(node: &Node) -> Attributes {
    node.id.iter().map(|id| ("id", id.clone())).collect()
}

/// The attributes of the operator that differ from their default values.
fn own_attributes(node: &Node) -> Attributes {
    let rows = node.kind.facts().rows.attributes();
    let holds = |name: &str| rows.iter().find(|row| row.name == name).and_then(|row| row.default);
    let own = node.kind.operator().attributes().into_iter();
    own.filter(|(name, value)| holds(name) != Some(value.as_str())).collect()
}

/// Writes a call with inputs or approval as a task with `ref`.
fn reference(writer: &mut Writer, node: &Node, template: &str) {
    let mut attributes = vec![("ref", template.to_owned())];
    attributes.extend(id(node));
    approval(&mut attributes, node);
    writer.open("task", &attributes);
    let arguments = node.kind.operator().arguments();
    let (mut given, lost): (Vec<Option<Input>>, _) = arguments.iter().map(as_input).partition(Option::is_some);
    if !lost.is_empty() {
        writer.comment(&format!("{} arguments without a name or with a bare text", lost.len()));
    }
    given.extend(node.inputs.iter().cloned().map(Some));
    inputs(writer, &given.into_iter().flatten().collect::<Vec<_>>());
    limits(writer, node);
    writer.close("task");
}

/// Writes the values of an operator.
struct OwnPart<'w>(&'w mut Writer);

impl OwnPart<'_> {
    /// Writes into an element of its own, if the operator has one.
    fn within(&mut self, name: Option<&str>, write: impl FnOnce(&mut Writer)) {
        if let Some(name) = name {
            self.0.open(name, &[]);
        }
        write(self.0);
        if let Some(name) = name {
            self.0.close(name);
        }
    }
}

impl Written for OwnPart<'_> {
    fn text(&mut self, name: &str, text: &str) {
        self.0.text(name, &[], text);
    }

    fn condition(&mut self, within: &str, name: &str, condition: &Condition) {
        self.within(Some(within), |writer| writer.inline(name, &[], condition.test.as_str()));
    }

    fn node(&mut self, slot: &Slot, node: &Node) {
        self.within(Some(slot.name), |writer| operator(writer, node, Place::Implies(slot.subtype)));
    }

    fn steps(&mut self, within: Option<&str>, steps: &[Node]) {
        self.within(within, |writer| steps.iter().for_each(|step| operator(writer, step, Place::Nested)));
    }

    fn script(&mut self, within: Option<&str>, script: &Script) {
        self.within(within, |writer| script_parts(writer, script));
    }

    fn cases(&mut self, name: &str, cases: &[Case]) {
        for case in cases {
            self.0.open(name, &[("test", case.test.test.to_string())]);
            operator(self.0, &case.body, Place::Nested);
            self.0.close(name);
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        arguments.iter().for_each(|one| argument(self.0, one));
    }
}

fn argument(writer: &mut Writer, argument: &Argument) {
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
        // Writes an argument that is just as unreadable.
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

/// An argument as the input of a `ref`, if the input can express it.
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
    node.kind.operator().write(&mut OwnPart(writer));
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
    attributes.extend(own_attributes(node));
    attributes
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

/// Joins words so that reading splits them in the same way.
fn command_text(command: &Command) -> String {
    let words: Vec<String> = command.words.iter().map(quoted).collect();
    words.join(" ")
}

fn quoted(word: &Filled) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./=:,+@%^~#?*[]".contains(c);
    let plain = !word.is_empty()
        && word.pieces().iter().all(|piece| match piece {
            Piece::Literal(text) => text.chars().all(safe),
            Piece::Placeholder(..) => true,
        });
    if plain {
        return word.to_string();
    }
    let pieces = word.pieces().iter().map(|piece| match piece {
        Piece::Literal(text) => Piece::Literal(text.replace('\\', "\\\\").replace('"', "\\\"")),
        place @ Piece::Placeholder(..) => place.clone(),
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
    if let Some(attempts) = recovery.attempts {
        attributes.push(("attempts", attempts.to_string()));
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
