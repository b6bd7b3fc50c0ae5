//! Reads operators from their elements (spec 2.2-2.4), with context settings resolved (spec 5).

use callsheet_core::template::operators::Call;
use callsheet_core::template::{
    AccumulationFormat, Argument, ArgumentValue, Bytes, Code, Context, Effects, Facts, Filled, InheritContext, Input,
    InputSource, Kind, Node, Origin, PartialContext, Role, Settings, Spot, Yielded, is_ident, resolve,
};

use crate::template::grammar::{
    Element as Row, Kind as ValueKind, facts_of, is_operator_element, task_types, types_of,
};
use crate::template::report::Draft;
use crate::template::xml::Element;

use super::Reader;
use super::own_part::OwnPart;
use super::parts::{flag, list, word};
use super::values::is_call_name;

/// The place of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// The outermost element, whose name is that of its template.
    Top,
    /// The body of a template.
    Body,
    /// A step, from 0.
    Step(usize),
    /// A slot of an operator.
    Slot {
        /// The subtype of a task that names none.
        subtype: &'static str,
        /// The role of an atomic task in the slot.
        role: Role,
    },
    /// An input or an argument.
    Nested,
}

/// A setting of `context_management` as written.
struct WrittenSetting {
    text: String,
    span: Bytes,
}

impl Reader<'_> {
    /// Reads an operator element. `None` if it cannot be recognised at all.
    pub(super) fn operator(&mut self, element: &Element, position: Position) -> Option<Node> {
        self.enter(element);
        let outer = self.task;
        self.task = Some(element.tag);
        let node = match element.name.as_str() {
            "task" => self.task(element, position),
            name => facts_of(name).and_then(|(facts, row)| self.own_element(element, facts, row)),
        };
        let node = node.map(|mut node| {
            node.id = self.id(element, position);
            node
        });
        self.task = outer;
        self.leave(element);
        node
    }

    fn id(&mut self, element: &Element, position: Position) -> Option<String> {
        let given = element.attribute("id");
        if let Position::Step(index) = position {
            let own = given.map(|id| id.value.as_str()).filter(|id| is_ident(id));
            return Some(own.map_or_else(|| format!("s{index}"), str::to_owned));
        }
        if let Some(id) = given.filter(|_| element.name == "task") {
            self.tell(Code::T502, id.name_span, "`id` has no effect outside of steps", "remove it");
        }
        given.map(|id| id.value.as_str()).filter(|id| element.name != "task" && is_ident(id)).map(str::to_owned)
    }

    fn task(&mut self, element: &Element, position: Position) -> Option<Node> {
        if let Some(name) = element.attribute("name").filter(|_| position != Position::Top) {
            self.tell(Code::T502, name.name_span, "`name` has no effect here", "use `id`, or remove it");
        }
        if let Some(name) = word(element, "ref").filter(|name| is_call_name(name)) {
            let (arguments, inputs) = passed(self.inputs(element));
            let mut node = called(name, Kind::Call(Call { arguments }), self.origin(element.span));
            node.called_at = self.value_spot(element, "ref");
            node.inputs = inputs;
            self.approval(element, &mut node);
            node.limits = element.child("limits").map(|child| self.limits(child)).unwrap_or_default();
            return Some(node);
        }
        let kind = match word(element, "type") {
            Some(word) => {
                let (_, facts) = types_of(word)?;
                (facts.read)(&mut OwnPart { reader: self, element, facts })?
            }
            None => {
                let draft = Draft::new(Code::T504, element.tag, "the task has no type, so it is atomic");
                self.add(draft.expected(task_types().iter().copied()).advice("add type=\"atomic\""));
                Kind::Atomic
            }
        };
        Some(self.settings(element, kind, position))
    }

    /// Reads an atomic task in short form.
    fn short(&mut self, element: &Element, position: Position) -> Node {
        self.settings(element, Kind::Atomic, position)
    }

    /// Reads the content of a slot.
    pub(super) fn slot_of(&mut self, element: &Element, position: Position) -> Option<Node> {
        self.enter(element);
        let operator = element.elements().find(|child| is_operator_element(&child.name));
        let node = match operator {
            Some(operator) => self.operator(operator, position),
            None if element.elements().next().is_some() => Some(self.short(element, position)),
            None => None,
        };
        self.leave(element);
        node
    }

    /// Reads an operator that has an element of its own. If it calls a template, notes which.
    fn own_element(&mut self, element: &Element, facts: &'static Facts, row: &Row) -> Option<Node> {
        let calls = row.attributes.iter().any(|known| known.name == "template");
        let template = word(element, "template").filter(|name| calls && is_call_name(name));
        if calls && template.is_none() {
            return None;
        }
        let kind = (facts.read)(&mut OwnPart { reader: self, element, facts })?;
        let origin = self.origin(element.span);
        let mut node = match template {
            Some(template) => {
                Node { called_at: self.value_spot(element, "template"), ..called(template, kind, origin) }
            }
            None => {
                let mut node = Node::new(kind, origin);
                node.context.settings = facts.role.settings;
                node
            }
        };
        if let Some(limits) =
            element.child("limits").filter(|_| row.children.iter().any(|known| known.element.name == "limits"))
        {
            node.limits = self.limits(limits);
        }
        Some(node)
    }

    /// Reads everything that does not belong to the operator itself.
    fn settings(&mut self, element: &Element, kind: Kind, position: Position) -> Node {
        let mut node = Node::new(kind, self.origin(element.span));
        node.subtype = subtype(element, position);
        node.intent.description = self.filled_child(element, "description");
        node.intent.instructions = self.filled_child(element, "instructions");
        node.intent.expected_output = self.filled_child(element, "expected_output");
        node.intent.criteria = self.filled_child(element, "criteria");
        if node.kind.is_atomic() && element.child("instructions").is_none() && !self.short {
            let message = "the task has no instructions, so its description is used";
            self.tell(Code::T507, element.tag, message, "add <instructions>");
        }
        if node.intent.instructions == node.intent.description {
            node.intent.instructions = Filled::default();
        }
        node.system = self.filled_child(element, "system");
        node.models = self.word_child(element, "model").map(|text| list(&text)).unwrap_or_default();
        node.providers = self.word_child(element, "provider").map(|text| list(&text)).unwrap_or_default();
        node.inputs = self.inputs(element);
        node.refs = element.child("file_paths").map(|child| self.within(child, Self::file_paths));
        node.output = element.child("output_format").and_then(|child| self.within(child, Self::output_format));
        node.tools = element.child("allowed_tools").map(|child| self.within(child, Self::allowed_tools));
        self.check_world(element, node.tools.as_deref().unwrap_or_default(), node.refs.as_ref());
        node.limits = element.child("limits").map(|child| self.limits(child)).unwrap_or_default();
        node.recovery = element.child("recovery").map(Self::recovery).unwrap_or_default();
        if let Some(block) = element.child("recovery").filter(|_| !node.kind.is_atomic()) {
            let message = "only atomic tasks are retried; this `recovery` has no effect";
            self.tell(Code::T524, block.tag, message, "move it into the atomic tasks below");
        }
        node.manual_xml = self.bool_child(element, "manual_xml");
        node.disable_reparsing = self.bool_child(element, "disable_reparsing");
        self.approval(element, &mut node);
        node.context = self.context(element, role(&node, position), position);
        node
    }

    /// Where the value of an attribute is written, or else the element.
    pub(super) fn value_spot(&self, element: &Element, name: &str) -> Spot {
        self.origin(element.attribute(name).map_or(element.span, |known| known.value_span)).spot
    }

    fn within<T>(&mut self, element: &Element, read: impl FnOnce(&mut Self, &Element) -> T) -> T {
        self.enter(element);
        let value = read(self, element);
        self.leave(element);
        value
    }

    fn approval(&mut self, element: &Element, node: &mut Node) {
        node.approval.effects = match word(element, "effects") {
            Some("read") => Some(Effects::Read),
            Some("write") => Some(Effects::Write),
            _ => None,
        };
        node.approval.required = flag(element, "requires_approval");
        let writes = node.effects(&|tool| self.known.writes(tool)) == Effects::Write;
        if let Some(attribute) = element.attribute("requires_approval")
            && node.approval.required == Some(false)
            && writes
        {
            let draft = Draft::new(Code::T014, attribute.value_span, "a task that writes needs approval");
            self.add(
                draft.found("false").expected(["true"]).advice("remove it; this setting can only add an approval"),
            );
        }
    }

    fn inputs(&mut self, element: &Element) -> Vec<Input> {
        let Some(block) = element.child("inputs") else { return Vec::new() };
        self.enter(block);
        let mut names = Vec::new();
        let mut out = Vec::new();
        for child in block.elements().filter(|child| child.name == "input") {
            let Some(name) = word(child, "name").filter(|name| is_ident(name)) else { continue };
            self.enter(child);
            self.distinct(&mut names, "input", name, child.tag);
            let text = self.text_of(child, ValueKind::Filled);
            let operator = child.elements().find(|inner| is_operator_element(&inner.name));
            let source = match (self.path_use(child, "from"), operator) {
                (Some(from), _) => InputSource::From(from),
                (None, Some(operator)) => match self.operator(operator, Position::Nested) {
                    Some(node) => InputSource::Operator(Box::new(node)),
                    None => InputSource::Caller,
                },
                (None, None) if text.as_str().is_empty() => InputSource::Caller,
                (None, None) => InputSource::Text(self.filled(&text)),
            };
            self.leave(child);
            out.push(Input {
                name: name.to_owned(),
                source,
                required: flag(child, "required").unwrap_or(true),
                default: word(child, "default").map(str::to_owned),
                matched: flag(child, "match").unwrap_or(true),
                origin: self.origin(child.span),
            });
        }
        self.leave(block);
        out
    }

    /// The settings as written and in force (spec 5).
    fn context(&mut self, element: &Element, role: Role, position: Position) -> Context {
        let own = role.settings;
        let Some(block) = element.child("context_management") else {
            return Context { explicit: PartialContext::default(), settings: own };
        };
        self.enter(block);
        let inherit = self.setting(block, "inherit_context");
        let accumulate = self.setting(block, "accumulate_data");
        let format = self.setting(block, "accumulation_format");
        let fresh = self.setting(block, "fresh_context");
        let explicit = PartialContext {
            inherit_context: inherit.as_ref().and_then(|known| InheritContext::parse(&known.text)),
            accumulate_data: accumulate.as_ref().and_then(|known| known.text.parse().ok()),
            accumulation_format: format.as_ref().and_then(|known| AccumulationFormat::parse(&known.text)),
            fresh_context: fresh.as_ref().and_then(|known| match known.text.as_str() {
                "enabled" => Some(true),
                "disabled" => Some(false),
                _ => None,
            }),
        };
        let settings = match resolve(own, &explicit) {
            Ok((settings, yielded)) => {
                self.tell_context(block, role, &explicit, settings, yielded);
                self.tell_all_off(block, role, position, &explicit, settings);
                settings
            }
            Err(_) => {
                if let (Some(inherit), Some(fresh)) = (&inherit, &fresh) {
                    let (first, last) =
                        if inherit.span.start <= fresh.span.start { (inherit, fresh) } else { (fresh, inherit) };
                    let message = "fresh_context=\"enabled\" conflicts with inherited context";
                    let draft = Draft::new(Code::T040, last.span, message).found(&last.text);
                    let advice = "write inherit_context=\"none\" or fresh_context=\"disabled\"";
                    self.add(draft.advice(advice).related(first.span, "the other setting"));
                }
                own
            }
        };
        self.leave(block);
        Context { explicit, settings }
    }

    /// A setting that is written as an attribute or a child element. Both together are an error.
    fn setting(&mut self, block: &Element, name: &str) -> Option<WrittenSetting> {
        let attribute = block.attribute(name);
        let child = block.child(name).map(|child| (child, self.text_of(child, ValueKind::Bool)));
        match (attribute, child) {
            (None, None) => None,
            (Some(attribute), None) => {
                Some(WrittenSetting { text: attribute.value.as_str().to_owned(), span: attribute.value_span })
            }
            (given, Some((child, text))) => {
                if let Some(attribute) = given {
                    let equal = attribute.value.as_str() == text.as_str();
                    let code = if equal { Code::T013 } else { Code::T023 };
                    let draft =
                        Draft::new(code, child.tag, format!("`{name}` occurs as an attribute and as an element"));
                    let draft = draft.found(text.as_str()).advice("keep one of the two");
                    self.add(draft.related(attribute.name_span, "the attribute"));
                }
                Some(WrittenSetting { text: text.as_str().to_owned(), span: text.whole() })
            }
        }
    }

    fn tell_context(
        &mut self,
        block: &Element,
        role: Role,
        explicit: &PartialContext,
        settings: Settings,
        yielded: Option<Yielded>,
    ) {
        if role == Role::MATCHING && settings != role.settings {
            let message = "the context of a matching task is fixed: none, false, disabled";
            self.tell(Code::T014, block.tag, message, "remove <context_management>");
            return;
        }
        let message = match yielded {
            Some(Yielded::Fresh) => "inherit_context overrides fresh_context, which is disabled",
            Some(Yielded::Inherit) => "fresh_context overrides inherit_context, which is none",
            None => "",
        };
        if !message.is_empty() {
            self.tell(Code::T511, block.tag, message, "write both to make it explicit");
        }
        if explicit.accumulate_data == Some(true) && explicit.accumulation_format.is_none() {
            let message = "accumulated data keeps only notes";
            self.tell(Code::T512, block.tag, message, "write accumulation_format to make it explicit");
        }
    }

    /// Reports a task without any context. A task inside another operator still gets accumulated data, unless it says
    /// `false` itself.
    fn tell_all_off(
        &mut self,
        block: &Element,
        role: Role,
        position: Position,
        explicit: &PartialContext,
        settings: Settings,
    ) {
        let alone = matches!(position, Position::Top | Position::Body) || explicit.accumulate_data == Some(false);
        let off =
            settings.inherit_context == InheritContext::None && !settings.accumulate_data && !settings.fresh_context;
        if off && alone && role != Role::MATCHING {
            self.tell(Code::T510, block.tag, "the task gets no context", "check that you want this");
        }
    }
}

/// A call. `template:NAME` becomes NAME. `skill:NAME` stays as it is, and a skill sees only what it is given (spec
/// 16).
fn called(name: &str, kind: Kind, origin: Origin) -> Node {
    let mut node = Node::new(kind, origin);
    node.template = Some(name.strip_prefix("template:").unwrap_or(name).to_owned());
    if name.starts_with("skill:") {
        node.context.settings = Settings::alone();
    }
    node
}

/// Splits the inputs of a `ref`. Inputs with values become named arguments, as with `<arg>`. The others stay, and the
/// caller or a default gives their values.
fn passed(inputs: Vec<Input>) -> (Vec<Argument>, Vec<Input>) {
    let (mut arguments, mut kept) = (Vec::new(), Vec::new());
    for input in inputs {
        let plain = input.required && input.default.is_none() && input.matched;
        let value = match input.source {
            InputSource::Text(text) if plain => ArgumentValue::Value(text),
            InputSource::From(from) if plain => ArgumentValue::From(from),
            InputSource::Operator(node) if plain => ArgumentValue::Operator(node),
            source => {
                kept.push(Input { source, ..input });
                continue;
            }
        };
        arguments.push(Argument { name: Some(input.name), value, origin: input.origin });
    }
    (arguments, kept)
}

/// The subtype as written, or else as the slot implies.
fn subtype(element: &Element, position: Position) -> String {
    let implied = match position {
        Position::Slot { subtype, .. } => subtype,
        Position::Top | Position::Body | Position::Step(_) | Position::Nested => "standard",
    };
    word(element, "subtype").filter(|text| is_ident(text)).unwrap_or(implied).to_owned()
}

/// The role of a node for its context settings.
fn role(node: &Node, position: Position) -> Role {
    match (node.subtype.as_str(), position) {
        ("associative_matching", _) if node.kind.is_atomic() => Role::MATCHING,
        ("subtask", _) => Role::SUBTASK,
        (_, Position::Slot { role, .. }) if node.kind.is_atomic() => role,
        _ => node.kind.facts().role,
    }
}
