//! Tasks: what a map of keys means, and the elements of its operator.

use callsheet_core::template::{Bytes, Code};

use super::build::{Builder, Found, Keys, attribute, element, joined, meant};
use super::keys::{self, Kinds};
use crate::template::grammar::types_of;
use crate::template::report::Draft;
use crate::template::xml::{Element, Item, Mapped};
use crate::yaml::{Node, Value};

/// The keys that say what a task does, with the kinds of task.
const MARKS: &[(&str, Kinds)] = &[
    ("ask", Kinds::ASK),
    ("run", Kinds::RUN),
    ("call", Kinds::CALL),
    ("tasks", Kinds::TASKS),
    ("fold", Kinds::FOLD),
    ("make", Kinds::LOOP),
    ("judge", Kinds::LOOP),
    ("test", Kinds::LOOP),
];

/// The kinds that are written as a `task`, with the word of `type`.
const TYPES: &[(Kinds, &str)] = &[
    (Kinds::ASK, "atomic"),
    (Kinds::RUN, "script"),
    (Kinds::TASKS, "sequential"),
    (Kinds::EACH, "map"),
    (Kinds::FOLD, "reduce"),
    (Kinds::LOOP, "director_evaluator_loop"),
];

/// Keys of a task with `each` that never belong to the task for each element.
pub(super) const OF_THE_WHOLE: [&str; 4] = ["each", "at_once", "on_error", "about"];

/// The place of a task.
pub(super) struct Place {
    /// The range of its name, or of its first key.
    pub(super) tag: Bytes,
    pub(super) span: Bytes,
    /// Its name among its siblings.
    pub(super) id: Option<Mapped>,
    pub(super) outermost: bool,
}

/// Whether a value says what a task does.
fn is_task(value: &Value) -> bool {
    let does = |text: &str| ["if", "choose", "each"].contains(&text) || MARKS.iter().any(|(mark, _)| *mark == text);
    let Value::Map(entries) = value else { return false };
    entries.iter().any(|(key, _)| matches!(&key.value, Value::Scalar { text, .. } if does(text)))
}

/// The `type` of a kind.
fn type_word(kind: Kinds) -> &'static str {
    TYPES.iter().find(|(known, _)| *known == kind).map_or("atomic", |(_, word)| word)
}

/// The kind for a `type`.
pub(super) fn kind_of_type(word: &str) -> Kinds {
    TYPES.iter().find(|(_, known)| *known == word).map_or(Kinds::ASK, |(kind, _)| *kind)
}

/// Whether tasks of this kind pass results to tasks that do not name them, unless their context settings say
/// otherwise.
pub(super) fn passes_on(kind: Kinds) -> bool {
    types_of(type_word(kind)).is_some_and(|(_, facts)| facts.role.settings.accumulate_data)
}

impl Builder<'_> {
    /// Builds the task of a slot.
    pub(super) fn task_of(&mut self, node: &Node, name: &str) -> Option<Element> {
        let Value::Map(entries) = &node.value else {
            let message = format!("`{name}` holds a task, not {}", node.value.kind());
            self.tell(Code::T012, node.span, message, "write its keys below, such as `ask: …`");
            return None;
        };
        let tag = entries.first().map_or(node.span, |(key, _)| key.span);
        let keys = self.keys(entries, None);
        self.task(keys, Place { tag, span: node.span, id: None, outermost: false })
    }

    /// Builds the tasks of a list, each with its name.
    pub(super) fn steps(&mut self, node: &Node) -> Vec<Element> {
        let Value::List(items) = &node.value else {
            self.tell(
                Code::T012,
                node.span,
                format!("`tasks` is a list, not {}", node.value.kind()),
                "write `- NAME:`",
            );
            return Vec::new();
        };
        items.iter().filter_map(|item| self.step(item)).collect()
    }

    fn step(&mut self, item: &Node) -> Option<Element> {
        let Value::Map(entries) = &item.value else {
            self.tell(Code::T012, item.span, "a task is a map of keys", "write `- NAME:` and its keys below");
            return None;
        };
        let [(key, value)] = entries.as_slice() else {
            if self.is_name_alone(entries) {
                return None;
            }
            return self.task_of(item, "tasks");
        };
        let Value::Scalar { text, .. } = &key.value else { return self.task_of(item, "tasks") };
        if keys::find(text).is_some() {
            if is_task(&value.value) {
                let message = format!("`{text}` is a key of tasks, so no task can have this name");
                let draft = Draft::new(Code::T017, key.span, message).found(text);
                self.add(draft.advice(format!("rename the task, for example to `{text}_1`")));
                return None;
            }
            return self.task_of(item, "tasks");
        }
        let Value::Map(inner) = &value.value else {
            if meant(text, keys::KEYS.iter().map(|key| key.name)).is_some() {
                return self.task_of(item, "tasks");
            }
            let message = format!("the task `{text}` is {}, not a map of keys", value.value.kind());
            self.tell(Code::T012, key.span, message, "write its keys below it, such as `ask: …`");
            return None;
        };
        let id = self.name(key)?;
        let keys = self.keys(inner, None);
        self.task(keys, Place { tag: key.span, span: joined(key.span, value.span), id: Some(id), outermost: false })
    }

    /// Reports a name without keys below it, whose keys stand beside it. Returns whether it found one.
    fn is_name_alone(&mut self, entries: &[(Node, Node)]) -> bool {
        let [(name, nothing), (beside, _), ..] = entries else { return false };
        let Value::Scalar { text, .. } = &name.value else { return false };
        let is_key = |node: &Node| matches!(&node.value, Value::Scalar { text, .. } if keys::find(text).is_some());
        let is_alone = matches!(nothing.value, Value::Null) && !is_key(name) && is_key(beside);
        if is_alone {
            let message = format!("this key of the task `{text}` is not below its name");
            self.tell(Code::T012, beside.span, message, "indent it further than the name");
        }
        is_alone
    }

    /// Builds a task from its keys.
    pub(super) fn task(&mut self, keys: Keys<'_>, mut place: Place) -> Option<Element> {
        let Keys { mut found, unknown } = keys;
        if let Some(index) = found.iter().position(|found| found.key.name == "id") {
            let own = found.remove(index);
            place.id = self.word(own.value, "id").or(place.id);
        }
        let named = place.id.as_ref().map(|id| id.as_str().to_owned());
        self.names.extend(named.clone());
        let task = self.kind_of(found, unknown, place);
        if named.is_some() {
            self.names.pop();
        }
        task
    }

    fn kind_of(&mut self, found: Vec<Found<'_>>, unknown: bool, place: Place) -> Option<Element> {
        let has = |name: &str| found.iter().any(|found| found.key.name == name);
        let is_bare = has("choose") || has("call") || has("tasks") && has("at_once");
        if place.outermost && has("about") && is_bare && !has("each") {
            return self.described(found, unknown, &place);
        }
        if has("if") || has("choose") || has("else") {
            return self.choice(found, unknown, place);
        }
        if has("each") {
            return self.each(found, unknown, place);
        }
        let marks: Vec<(&'static str, Kinds, Bytes)> = found
            .iter()
            .filter_map(|found| MARKS.iter().find(|(name, _)| *name == found.key.name).map(|mark| (mark, found)))
            .map(|((name, kind), found)| (*name, *kind, found.at))
            .collect();
        let Some((first, kind, _)) = marks.first().copied() else {
            if !unknown {
                let names = ["ask", "run", "call", "tasks", "each", "fold", "make", "choose"];
                let draft = Draft::new(Code::T011, place.tag, "this task does nothing").expected(names);
                self.add(draft.advice(format!("add one of {}", names.join(", "))));
            }
            return None;
        };
        if let Some((second, _, at)) = marks.iter().find(|(_, other, _)| *other != kind) {
            let message = format!("a task does one thing, but this one has `{first}` and `{second}`");
            self.tell(Code::T023, *at, message, "make two tasks of it");
            return None;
        }
        match kind {
            Kinds::CALL => self.call(&found, place),
            Kinds::TASKS if has("at_once") => Some(self.group(&found, place)),
            kind => Some(self.typed(kind, &found, &place)),
        }
    }

    /// Builds the outermost task if it has no place for `about`: a sequence with it as the only step.
    fn described(&mut self, found: Vec<Found<'_>>, unknown: bool, place: &Place) -> Option<Element> {
        let (about, own): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.key.name == "about");
        let inside = Place { tag: place.tag, span: place.span, id: None, outermost: false };
        let task = self.kind_of(own, unknown, inside)?;
        let mut out = self.typed(Kinds::TASKS, &about, place);
        let mut steps = element("steps", place.tag, place.span);
        steps.items.push(Item::Element(task));
        out.items.push(Item::Element(steps));
        Some(out)
    }

    /// Reports a key that this kind of task does not have.
    fn misplaced(&mut self, found: Found<'_>, what: &str) {
        let draft = Draft::new(Code::T012, found.at, format!("`{}` does not belong to {what}", found.key.name));
        self.add(draft.found(found.key.name).advice("move or remove it"));
    }

    /// Builds an element that is written as a `task`.
    fn typed(&mut self, kind: Kinds, found: &[Found<'_>], place: &Place) -> Element {
        let mut out = element("task", place.tag, place.span);
        let word = type_word(kind);
        out.attributes.push(attribute("type", place.tag, Mapped::made(word, place.tag), place.tag));
        self.identify(&mut out, place);
        for one in found {
            match one.key.of.has(kind) {
                true => self.put(&mut out, *one),
                false => self.misplaced(*one, &format!("a task with `{}`", mark_of(kind))),
            }
        }
        self.defaults(&mut out, kind, found, place);
        out
    }

    fn identify(&self, out: &mut Element, place: &Place) {
        if let Some(id) = &place.id {
            out.attributes.push(attribute("id", id.whole(), id.clone(), id.whole()));
        }
    }

    /// Adds the defaults: a description, no tools, and only those results of earlier tasks that are named.
    fn defaults(&mut self, out: &mut Element, kind: Kinds, found: &[Found<'_>], place: &Place) {
        let has = |name: &str| found.iter().any(|found| found.key.name == name);
        if !has("about") && kind == Kinds::ASK {
            for item in &mut out.items {
                if let Item::Element(child) = item
                    && child.name == "instructions"
                {
                    "description".clone_into(&mut child.name);
                }
            }
        } else if !has("about") {
            if place.outermost {
                let draft = Draft::new(Code::T011, place.tag, "the template does not say what it is for");
                self.add(draft.expected(["about"]).advice("add `about: …`"));
            }
            let name = self.names.last().cloned().unwrap_or_default();
            let mut about = element("description", place.tag, place.tag);
            // A name must not be read as a placeholder.
            about.items.push(Item::Text(Mapped::made(&name.replace("{{", "{{{{"), place.tag)));
            out.items.insert(0, Item::Element(about));
        }
        if !has("tools") && kind == Kinds::ASK {
            out.items.push(Item::Element(element("allowed_tools", place.tag, place.tag)));
        }
        if !has("context") && passes_on(kind) {
            let mut context = element("context_management", place.tag, place.tag);
            let off = Mapped::made("false", place.tag);
            context.attributes.push(attribute("accumulate_data", place.tag, off, place.tag));
            out.items.push(Item::Element(context));
        }
    }

    /// Builds tasks that run at the same time.
    fn group(&mut self, found: &[Found<'_>], place: Place) -> Element {
        let mut out = element("parallel", place.tag, place.span);
        self.identify(&mut out, &place);
        for one in found {
            match one.key.name {
                _ if !one.key.of.has(Kinds::GROUP) => self.misplaced(*one, "tasks at once"),
                "tasks" => out.items.extend(self.steps(one.value).into_iter().map(Item::Element)),
                _ => self.put(&mut out, *one),
            }
        }
        out
    }

    /// Builds a task for each element. With `do`, the other keys belong to the whole.
    fn each(&mut self, found: Vec<Found<'_>>, unknown: bool, place: Place) -> Option<Element> {
        let explicit = found.iter().find(|found| found.key.name == "do").copied();
        let with = found.iter().find(|found| found.key.name == "with").copied();
        let parted = with.filter(|_| explicit.is_none()).and_then(|with| Some((with, parted(&found, with)?)));
        let (mut own, mut inner): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| {
            OF_THE_WHOLE.contains(&found.key.name) || (explicit.is_some() && found.key.name != "do")
        });
        if let Some((with, (list, rest))) = &parted {
            own.push(Found { value: list, ..*with });
            inner.retain(|found| found.key.name != "with");
            inner.extend(rest.as_ref().map(|rest| Found { value: rest, ..*with }));
        }
        let mut out = self.typed(Kinds::EACH, &own, &place);
        let mut body = match explicit {
            Some(found) => self.slot("body", found),
            None => {
                let mut body = element("body", place.tag, place.span);
                let inside = Place { tag: place.tag, span: place.span, id: None, outermost: false };
                let task = self.task(Keys { found: inner, unknown }, inside)?;
                body.items.push(Item::Element(task));
                body
            }
        };
        if body.items.is_empty() {
            return None;
        }
        body.inner = body.span;
        out.items.push(Item::Element(body));
        Some(out)
    }

    /// Builds `if` with `else`, or `choose`.
    fn choice(&mut self, found: Vec<Found<'_>>, unknown: bool, place: Place) -> Option<Element> {
        let mut out = element("cond", place.tag, place.span);
        self.identify(&mut out, &place);
        if let Some(list) = found.iter().find(|found| found.key.name == "choose").copied() {
            for one in found.iter().filter(|found| found.key.name != "choose") {
                self.misplaced(*one, "a task with `choose`");
            }
            for item in Self::list(list.value) {
                out.items.extend(self.case(item).into_iter().map(Item::Element));
            }
            return Some(out);
        }
        let (own, inner): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| matches!(found.key.name, "if" | "else"));
        let Some(test) = own.iter().find(|found| found.key.name == "if").copied() else {
            self.tell(Code::T011, place.tag, "`else` needs an `if` beside it", "add `if: …`");
            return None;
        };
        out.items.extend(self.tested(test, inner, unknown, &place).map(Item::Element));
        if let Some(otherwise) = own.iter().find(|found| found.key.name == "else").copied() {
            out.items.push(Item::Element(self.slot("else", otherwise)));
        }
        Some(out)
    }

    /// Builds an entry of `choose`.
    fn case(&mut self, item: &Node) -> Option<Element> {
        let Value::Map(entries) = &item.value else {
            self.tell(Code::T012, item.span, "an entry of `choose` is a task with `if`", "write `- if: …`");
            return None;
        };
        let keys = self.keys(entries, None);
        if let [only] = keys.found.as_slice()
            && only.key.name == "else"
        {
            return Some(self.slot("else", *only));
        }
        let tag = entries.first().map_or(item.span, |(key, _)| key.span);
        let place = Place { tag, span: item.span, id: None, outermost: false };
        let (test, inner): (Vec<_>, Vec<_>) = keys.found.into_iter().partition(|found| found.key.name == "if");
        let Some(test) = test.first() else {
            self.tell(
                Code::T011,
                tag,
                "an entry of `choose` needs `if`",
                "add `if: …`, or write `- else:` as the last",
            );
            return None;
        };
        self.tested(*test, inner, keys.unknown, &place)
    }

    /// Builds a task under a condition.
    fn tested(&mut self, test: Found<'_>, inner: Vec<Found<'_>>, unknown: bool, place: &Place) -> Option<Element> {
        let mut out = element("case", test.at, place.span);
        let expression = self.word(test.value, "if").unwrap_or_default();
        out.attributes.push(attribute("test", test.at, expression, test.value.span));
        let task = match inner.as_slice() {
            [only] if only.key.name == "do" => self.task_of(only.value, "do"),
            _ => {
                let inside = Place { tag: place.tag, span: place.span, id: None, outermost: false };
                self.task(Keys { found: inner, unknown }, inside)
            }
        };
        out.items.push(Item::Element(task?));
        Some(out)
    }

    /// Builds a call. With values that may be missing, it is a task with `ref`.
    fn call(&mut self, found: &[Found<'_>], place: Place) -> Option<Element> {
        for one in found.iter().filter(|found| !found.key.of.has(Kinds::CALL)) {
            self.misplaced(*one, "a task with `call`");
        }
        let own: Vec<Found<'_>> = found.iter().filter(|found| found.key.of.has(Kinds::CALL)).copied().collect();
        let get = |name: &str| own.iter().find(|found| found.key.name == name).copied();
        let called = get("call")?;
        let given = get("with").map(|with| self.given(with.value)).unwrap_or_default();
        let plain = given.iter().all(super::blocks::Given::is_argument)
            && get("effects").is_none()
            && get("requires_approval").is_none();
        let (name, to) = if plain { ("call", "template") } else { ("task", "ref") };
        let mut out = element(name, place.tag, place.span);
        let template = self.word(called.value, "call").unwrap_or_default();
        out.attributes.push(attribute(to, called.at, template, called.value.span));
        self.identify(&mut out, &place);
        for one in own.iter().filter(|found| !matches!(found.key.name, "call" | "with")) {
            self.put(&mut out, *one);
        }
        if plain {
            out.items.extend(given.into_iter().map(|given| Item::Element(given.argument())));
        } else if let Some(with) = get("with") {
            out.items.push(Item::Element(self.inputs(with, given)));
        }
        Some(out)
    }
}

/// The entry of `with` that gives the list of an `each`, and the entries for the task inside. `None` without such an
/// entry. The values for a call belong to the call.
fn parted(found: &[Found<'_>], with: Found<'_>) -> Option<(Node, Option<Node>)> {
    let each = found.iter().find(|found| found.key.name == "each")?;
    let (Value::Scalar { text, .. }, Value::Map(entries)) = (&each.value.value, &with.value.value) else { return None };
    if found.iter().any(|found| found.key.name == "call") {
        return None;
    }
    let path = text.split_once(" in ").map_or(text.as_str(), |(_, path)| path).trim();
    let name = path.split(['.', '[']).next().unwrap_or(path);
    let gives = |(key, _): &(Node, Node)| matches!(&key.value, Value::Scalar { text, .. } if text == name);
    let (list, rest): (Vec<_>, Vec<_>) = entries.iter().cloned().partition(gives);
    let node = |entries: Vec<(Node, Node)>| {
        (!entries.is_empty()).then(|| Node { value: Value::Map(entries), ..with.value.clone() })
    };
    Some((node(list)?, node(rest)))
}

/// The key that says what a task of this kind does.
fn mark_of(kind: Kinds) -> &'static str {
    match kind {
        Kinds::EACH => "each",
        _ => MARKS.iter().find(|(_, known)| *known == kind).map_or("choose", |(name, _)| name),
    }
}
