//! Operators out of their elements (spec 2.2-2.4), with context settings resolved (spec 5).

use callsheet_core::template::{
    AccumulationFormat, Argument, ArgumentValue, Bytes, Case, Code, Condition, Context, Effects, Expression, Filled,
    InheritContext, Input, InputSource, Kind, Node, OnError, Origin, PartialContext, Role, Settings, UNCLEAR, Yielded,
    defaults, is_ident, resolve,
};

use crate::template::grammar::{Kind as ValueKind, OPERATOR_TYPES, is_operator_element};
use crate::template::report::Draft;
use crate::template::xml::Element;

use super::Reader;
use super::parts::{count, flag, list, word};
use super::values::{is_call_name, without_braces};

/// Where an operator stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Outermost: its name is its template's.
    Top,
    /// The body of a template.
    Body,
    /// A step, from 0.
    Step(usize),
    /// `inner_task` or `reduction_task`.
    ReducePart,
    /// `director`.
    Director,
    /// `evaluator`.
    Evaluator,
    /// Any other slot, an input or an argument.
    Nested,
}

/// One setting of `context_management` as written.
struct WrittenSetting {
    text: String,
    span: Bytes,
}

impl Reader<'_> {
    /// An operator element as a node. `None` if it cannot be made out at all.
    pub(super) fn operator(&mut self, element: &Element, position: Position) -> Option<Node> {
        self.enter(element);
        let outer = self.task;
        self.task = Some(element.tag);
        let node = match element.name.as_str() {
            "task" => self.task(element, position),
            "call" => self.call(element),
            "cond" => self.cond(element),
            "parallel" => Some(self.parallel(element)),
            _ => None,
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
            let mut node = called(name, arguments, self.origin(element.span));
            node.inputs = inputs;
            self.approval(element, &mut node);
            node.limits = element.child("limits").map(|child| self.limits(child)).unwrap_or_default();
            return Some(node);
        }
        let word = match word(element, "type") {
            Some(word) if OPERATOR_TYPES.contains(&word) => word,
            Some(_) => return None,
            None => {
                let draft = Draft::new(Code::T504, element.tag, "the task has no type, so it is atomic");
                self.add(draft.expected(OPERATOR_TYPES.iter().copied()).advice("add type=\"atomic\""));
                "atomic"
            }
        };
        let kind = self.kind(element, word)?;
        Some(self.settings(element, kind, position))
    }

    /// The node of an atomic task in short form.
    fn short(&mut self, element: &Element, position: Position) -> Node {
        self.settings(element, Kind::Atomic, position)
    }

    /// What stands in a slot.
    fn slot(&mut self, parent: &Element, name: &str, position: Position) -> Option<Box<Node>> {
        let element = parent.child(name)?;
        self.slot_of(element, position).map(Box::new)
    }

    fn slot_of(&mut self, element: &Element, position: Position) -> Option<Node> {
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

    fn kind(&mut self, element: &Element, word: &str) -> Option<Kind> {
        Some(match word {
            "sequential" => {
                let steps = element.child("steps").map(|steps| self.steps(steps)).unwrap_or_default();
                Kind::Sequential { steps, on_error: on_error(element) }
            }
            "reduce" => Kind::Reduce {
                items: self.path_use(element, "items"),
                initial: self.filled_child(element, "initial_value"),
                inner: self.slot(element, "inner_task", Position::ReducePart)?,
                reduction: self.slot(element, "reduction_task", Position::ReducePart)?,
            },
            "script" => Kind::Script {
                script: self.script(element),
                on_nonzero_continue: super::parts::word(element, "on_nonzero") == Some("continue"),
            },
            "director_evaluator_loop" => {
                let condition = element.child("termination_condition").and_then(|child| child.child("condition"));
                Kind::DirectorEvaluatorLoop {
                    director: self.slot(element, "director", Position::Director)?,
                    evaluator: self.slot(element, "evaluator", Position::Evaluator)?,
                    script: element.child("script_execution").map(|child| {
                        self.enter(child);
                        let script = self.script(child);
                        self.leave(child);
                        script
                    }),
                    max_iterations: count(self.word_child(element, "max_iterations").as_deref(), 1, 100).unwrap_or(5),
                    condition: condition.and_then(|child| {
                        let text = self.text_of(child, ValueKind::Expression);
                        let test = Expression::parse(&without_braces(text.as_str())).ok()?;
                        Some(Condition { test, at: self.lines.spot(text.whole()) })
                    }),
                    on_exhausted_accept: super::parts::word(element, "on_exhausted") == Some("accept"),
                }
            }
            "map" => Kind::Map {
                items: self.path_use(element, "items")?,
                item: super::parts::word(element, "as").filter(|name| is_ident(name)).unwrap_or("item").to_owned(),
                max_parallel: count(super::parts::word(element, "max_parallel"), 1, 64).unwrap_or(4),
                on_error: on_error(element),
                body: self.slot(element, "body", Position::Nested)?,
            },
            _ => Kind::Atomic,
        })
    }

    fn steps(&mut self, element: &Element) -> Vec<Node> {
        if element.name == "steps" {
            self.path.push("steps".to_owned());
        }
        let mut names = Vec::new();
        let mut out = Vec::new();
        let steps = element.elements().filter(|child| is_operator_element(&child.name));
        for (index, child) in steps.enumerate() {
            let Some(node) = self.operator(child, Position::Step(index)) else { continue };
            let id = node.id.clone().unwrap_or_default();
            self.distinct(&mut names, "step", &id, child.attribute("id").map_or(child.tag, |id| id.value_span));
            out.push(node);
        }
        if element.name == "steps" {
            self.path.pop();
        }
        out
    }

    fn call(&mut self, element: &Element) -> Option<Node> {
        let template = word(element, "template").filter(|name| is_call_name(name))?;
        let mut arguments = Vec::new();
        let mut names = Vec::new();
        for child in element.elements().filter(|child| child.name == "arg") {
            self.enter(child);
            let written = word(child, "name");
            let name = written.map(|name| if is_ident(name) { name.to_owned() } else { UNCLEAR.to_owned() });
            if let Some(name) = name.as_ref().filter(|name| *name != UNCLEAR) {
                self.distinct(&mut names, "argument", name, child.tag);
            }
            let operator = child.elements().find(|inner| is_operator_element(&inner.name));
            let value = match (child.attribute("value"), self.path_use(child, "from"), operator) {
                (Some(value), _, _) => ArgumentValue::Value(self.filled(&value.value)),
                (None, Some(from), _) => ArgumentValue::From(from),
                (None, None, Some(operator)) => {
                    let node = self.operator(operator, Position::Nested);
                    node.map_or(ArgumentValue::Unread, |node| ArgumentValue::Operator(Box::new(node)))
                }
                (None, None, None) if child.attribute("from").is_some() => ArgumentValue::Unread,
                (None, None, None) => {
                    let text = self.text_of(child, ValueKind::Filled);
                    ArgumentValue::Bare(self.filled(&text))
                }
            };
            self.leave(child);
            arguments.push(Argument { name, value, origin: self.origin(child.span) });
        }
        let mut node = called(template, arguments, self.origin(element.span));
        node.limits = element.child("limits").map(|child| self.limits(child)).unwrap_or_default();
        Some(node)
    }

    fn cond(&mut self, element: &Element) -> Option<Node> {
        let mut cases = Vec::new();
        for child in element.elements().filter(|child| child.name == "case") {
            let Some(body) = self.slot_of(child, Position::Nested) else { continue };
            let Some(attribute) = child.attribute("test") else { continue };
            let Ok(test) = Expression::parse(&without_braces(attribute.value.as_str())) else { continue };
            cases.push(Case { test: Condition { test, at: self.lines.spot(attribute.value_span) }, body });
        }
        let otherwise = self.slot(element, "else", Position::Nested);
        Some(Node::new(Kind::Cond { cases, otherwise }, self.origin(element.span)))
    }

    fn parallel(&mut self, element: &Element) -> Node {
        let children = self.steps(element);
        let max_parallel = count(word(element, "max_parallel"), 1, 64).unwrap_or(4);
        let kind = Kind::Parallel { children, max_parallel, on_error: on_error(element) };
        let mut node = Node::new(kind, self.origin(element.span));
        node.context.settings = defaults(Role::Parallel);
        node
    }

    /// All that is not the operator's own.
    fn settings(&mut self, element: &Element, kind: Kind, position: Position) -> Node {
        let mut node = Node::new(kind, self.origin(element.span));
        node.subtype = subtype(element, position);
        node.intent.description = self.filled_child(element, "description");
        node.intent.instructions = self.filled_child(element, "instructions");
        node.intent.expected_output = self.filled_child(element, "expected_output");
        node.intent.criteria = self.filled_child(element, "criteria");
        if matches!(node.kind, Kind::Atomic) && element.child("instructions").is_none() {
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
        if let Some(block) = element.child("recovery").filter(|_| !matches!(node.kind, Kind::Atomic)) {
            let message = "only atomic tasks are retried; this `recovery` has no effect";
            self.tell(Code::T524, block.tag, message, "move it into the atomic tasks below");
        }
        node.manual_xml = self.bool_child(element, "manual_xml");
        node.disable_reparsing = self.bool_child(element, "disable_reparsing");
        self.approval(element, &mut node);
        node.context = self.context(element, role(&node, position), position);
        node
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

    /// Settings as written and in force (spec 5).
    fn context(&mut self, element: &Element, role: Role, position: Position) -> Context {
        let own = defaults(role);
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

    /// A setting as attribute or child element; both are a fault.
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
        if role == Role::Matching && settings != defaults(role) {
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

    /// Inside another operator, what it accumulates reaches a task that does not say `false` itself.
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
        if off && alone && role != Role::Matching {
            self.tell(Code::T510, block.tag, "the task gets no context", "check that you want this");
        }
    }
}

fn on_error(element: &Element) -> OnError {
    if word(element, "on_error") == Some("collect") { OnError::Collect } else { OnError::Fail }
}

/// A call. `template:NAME` is NAME; `skill:NAME` stays, and a skill sees what it is given and nothing else (spec 16).
fn called(name: &str, arguments: Vec<Argument>, origin: Origin) -> Node {
    let mut node = Node::new(Kind::Call { arguments }, origin);
    node.template = Some(name.strip_prefix("template:").unwrap_or(name).to_owned());
    if name.starts_with("skill:") {
        node.context.settings = Settings::alone();
    }
    node
}

/// Inputs of a `ref` that have a value of their own are arguments by name, as `<arg>` gives them. The others are kept:
/// the caller gives them, or a default.
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

/// As written, else as the slot implies.
fn subtype(element: &Element, position: Position) -> String {
    let implied = match position {
        Position::Director => "director",
        Position::Evaluator => "evaluator",
        _ => "standard",
    };
    word(element, "subtype").filter(|text| is_ident(text)).unwrap_or(implied).to_owned()
}

/// What a node is, as far as its context goes.
fn role(node: &Node, position: Position) -> Role {
    match (&node.kind, node.subtype.as_str()) {
        (Kind::Atomic, "associative_matching") => return Role::Matching,
        (_, "subtask") => return Role::Subtask,
        _ => {}
    }
    match (&node.kind, position) {
        (Kind::Atomic, Position::ReducePart) => Role::ReducePart,
        (Kind::Atomic, Position::Director | Position::Evaluator) => Role::LoopPart,
        (kind, _) => kind.facts().role,
    }
}
