//! The walk through a template.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::fuzzy::meant;
use crate::template::place::Spot;
use crate::template::shape::{Kinds, Shape, Source, constants, declared};
use crate::template::tree::{
    Command, Condition, FilePaths, Input, InputSource, Node, PathUse, Script, Stdin, Template, ValueType,
};
use crate::template::value::{Comparison, Filled, Path, Step, Term};

use super::seen::Seen;
use super::{Around, Found, Outside, Place, Use, WalkedTemplate};

#[derive(Clone, Debug)]
struct Bound {
    seen: Seen,
    used: bool,
    /// Where it was declared, if it should be reported when it is not used.
    declared: Option<Spot>,
}

/// The key under which a path is bound. Steps and files are each bound under their own name.
fn key_of(path: &Path) -> String {
    match (path.name.as_str(), path.steps.first()) {
        ("steps" | "files", Some(Step::Name(name))) => format!("{}.{name}", path.name),
        _ => path.name.clone(),
    }
}

/// The group of a key, if it has one, and its name in the group.
fn parts_of(key: &str) -> (Option<&str>, &str) {
    key.split_once('.').map_or((None, key), |(group, name)| (Some(group), name))
}

/// The largest number of unknown names in one template for which similar names are looked for.
const ADVISED: usize = 100;

/// A walk through a template.
pub struct Walk<'a> {
    bound: BTreeMap<String, Vec<Bound>>,
    log: Vec<String>,
    pub(super) around: Around<'a>,
    file: String,
    task: Vec<String>,
    found: Vec<Found>,
    /// The named steps of the surrounding sequences.
    steps: BTreeMap<String, usize>,
    /// Whether the walked task passes outputs of earlier parts to later ones that do not name them.
    tells: bool,
    /// Whether something was called that may read any name in scope.
    pub(super) opens: bool,
    /// The results of walked tasks, by their addresses in memory.
    gave: BTreeMap<*const Node, Shape>,
    /// The paths that conditions around this place test.
    tested: Vec<Path>,
    pub(super) reaches: BTreeMap<String, String>,
}

pub(super) fn template(template: &Template, around: Around<'_>) -> (Vec<Found>, WalkedTemplate) {
    let nothing: Outside<'_> = &|_| false;
    let outside = if template.is_function() { nothing } else { around.outside };
    let mut names = Walk {
        bound: BTreeMap::new(),
        log: Vec::new(),
        around: Around { outside, ..around },
        file: template.origin.file.clone(),
        task: Vec::new(),
        found: Vec::new(),
        steps: BTreeMap::new(),
        tells: false,
        opens: false,
        gave: BTreeMap::new(),
        tested: Vec::new(),
        reaches: BTreeMap::new(),
    };
    let mark = names.log.len();
    for param in template.params.iter().flatten() {
        // A parameter of type string gets a text, never a result.
        let source = if param.kind == ValueType::String { Source::Plain } else { Source::Perhaps };
        let given = (around.given)(&param.name).filter(|value| !value.is_null()).map(Shape::of_value);
        let shape = given.unwrap_or_else(|| Shape::of_type(param.kind).from(source));
        let shape = if param.default.is_none() && !param.required { shape.or_null() } else { shape };
        let seen = Seen { of_caller: Some(param.name.as_str().into()), ..Seen::own(shape) };
        names.declare(&param.name, seen, Some(param.at));
    }
    names.task.push(template.name.clone());
    let mut gives = names.node(&template.body);
    if let Some(returns) = template.returns {
        let wanted = Shape::of_type(returns);
        if !gives.fits(&wanted) {
            names.misfit(Place::Returns, wanted.clone(), &gives, None, template.returns_at);
        }
        if !wanted.kinds.meets(Kinds::TEXT) {
            for node in undeclared(&template.body) {
                let at = node.origin.spot;
                names.found.push(Found::Undeclared { kind: returns, at, task: names.task.join("/") });
            }
        }
        if gives.kinds == Kinds::ALL || !gives.fits(&wanted) {
            gives = wanted.from(gives.source);
        }
    }
    names.reset(mark);
    (names.found, WalkedTemplate { gives, reaches: names.reaches })
}

impl Walk<'_> {
    fn declare(&mut self, name: &str, seen: Seen, declared: Option<Spot>) {
        self.bound.entry(name.to_owned()).or_default().push(Bound { seen, used: false, declared });
        self.log.push(name.to_owned());
    }

    /// Binds a name of an operator.
    pub(in crate::template) fn bind(&mut self, name: &str, seen: Seen) {
        self.declare(name, seen, None);
    }

    /// Whether something used the innermost binding of a name so far.
    pub(in crate::template) fn uses(&self, name: &str) -> bool {
        self.bound.get(name).and_then(|list| list.last()).is_some_and(|bound| bound.used)
    }

    /// Forgets what used the innermost bindings of these names.
    pub(in crate::template) fn forget_uses(&mut self, names: &[&str]) {
        for name in names {
            let bound = self.bound.get_mut(*name).and_then(|list| list.last_mut());
            bound.into_iter().for_each(|bound| bound.used = false);
        }
    }

    /// Whether a part of the walked task asks a model the same each time: it has neither tools nor files, reads none
    /// of these names, and is not told of earlier outputs.
    pub(in crate::template) fn is_blind(&self, part: &Node, names: &[&str]) -> bool {
        let asks = part.kind.is_atomic() && part.template.is_none() && part.refs.is_none();
        let has_no_tools = part.tools.as_ref().is_some_and(Vec::is_empty);
        asks && has_no_tools && !self.tells && !names.iter().any(|name| self.uses(name))
    }

    /// Reports such a part. `name` is what it should read.
    pub(in crate::template) fn blind(&mut self, part: &Node, name: &'static str) {
        self.found.push(Found::Blind { name, at: part.origin.spot, task: self.task() });
    }

    /// Reports an element of a list that nothing uses, so that the same is done for each one.
    pub(in crate::template) fn unused_element(&mut self, name: &str, at: Spot) {
        self.found.push(Found::UnusedElement { name: name.to_owned(), at, task: self.task() });
    }

    /// Returns a mark, so that later bindings can be removed.
    pub(in crate::template) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Removes the bindings made since `mark`, and reports declarations that were not used.
    pub(in crate::template) fn reset(&mut self, mark: usize) {
        while self.log.len() > mark {
            let Some(name) = self.log.pop() else { return };
            let Some(bound) = self.bound.get_mut(&name).and_then(Vec::pop) else { continue };
            if let Some(at) = bound.declared.filter(|_| !bound.used) {
                self.found.push(Found::Unused { name, at });
            }
        }
    }

    pub(super) fn tell(&mut self, found: Found) {
        self.found.push(found);
    }

    pub(super) fn task(&self) -> String {
        self.task.join("/")
    }

    /// Reports a value that does not fit its place.
    pub(super) fn misfit(&mut self, what: Place, wanted: Shape, given: &Shape, written: Option<String>, at: Spot) {
        let given = Box::new(given.clone());
        self.found.push(Found::Misfit { what, wanted, given, written, at, task: self.task() });
    }

    /// Whether something in the tree binds the path.
    pub(super) fn is_bound(&self, path: &Path) -> bool {
        self.bound.get(&key_of(path)).is_some_and(|list| !list.is_empty())
    }

    /// The binding of the variable of a path, and the steps after it.
    pub(super) fn look_up<'p>(&mut self, path: &'p Path) -> Option<(Seen, &'p [Step])> {
        let key = key_of(path);
        let own = if key == path.name { 0 } else { 1 };
        let behind = |own: usize| path.steps.get(own..).unwrap_or_default();
        if let Some(bound) = self.bound.get_mut(&key).and_then(|list| list.last_mut()) {
            bound.used = true;
            return Some((bound.seen.clone(), behind(own)));
        }
        if path.is_of_the_system() {
            return Some((Seen::own(Shape::text()), behind(1)));
        }
        (self.around.outside)(&path.name).then(|| (self.of_caller(&path.name), behind(0)))
    }

    /// A value that the caller of a standard template gives or has in scope.
    fn of_caller(&self, name: &str) -> Seen {
        Seen { of_caller: Some(name.into()), ..Seen::own(Shape::unknown()) }
    }

    fn name(&mut self, path: &Path, at: Spot, field: &'static str, how: Use) -> Seen {
        let Some((seen, steps)) = self.look_up(path) else {
            let task = self.task();
            let later = self.steps.get(&key_of(path)).is_some_and(|count| *count > 0);
            let near = if later { Vec::new() } else { self.near(path) };
            self.found.push(Found::Unknown { path: path.clone(), at, field, task, how, near, later });
            return self.of_caller(&path.name);
        };
        if seen.untested {
            self.found.push(Found::Untested { path: path.clone(), at, field, task: self.task() });
        }
        let way = match (&seen.way, seen.result) {
            (Some(way), _) => Some(format!("{way} → `{path}`").into()),
            (None, true) => Some(format!("`{path}`").into()),
            (None, false) => None,
        };
        let shape = seen.shape.path(steps).unwrap_or_else(|mut miss| {
            miss.walked += path.steps.len().saturating_sub(steps.len());
            let task = self.task();
            self.found.push(Found::Astray { path: path.clone(), miss, at, field, task });
            Shape::unknown()
        });
        let is_code = matches!(steps, [.., Step::Name(name)] if matches!(name.as_str(), "exit_code" | "exitCode"));
        // The value of a command may have a field of that name, if it is declared.
        let of_record = matches!(steps, [Step::Record, _]) || steps.len() == 1 && seen.shape.kinds == Kinds::ALL;
        if seen.ended_well && is_code && of_record {
            self.found.push(Found::AlwaysZero { path: path.clone(), at, field, task: self.task() });
        }
        if how == Use::Value
            && let Some(count) = seen.shape.lacks(steps)
        {
            self.lacking(path, path.steps.len().saturating_sub(steps.len()) + count, at, field);
        }
        Seen { shape, way, ..seen }
    }

    /// Reports a field that may be missing, unless a condition around this place tests it or a value that contains it.
    fn lacking(&mut self, path: &Path, count: usize, at: Spot, field: &'static str) {
        let steps = path.steps.get(..count).unwrap_or(&path.steps).to_vec();
        let path = Path { name: path.name.clone(), steps };
        let holds = |tested: &Path| tested.name == path.name && path.steps.starts_with(&tested.steps);
        if !self.tested.iter().any(holds) {
            self.found.push(Found::Lacking { path, at, field, task: self.task() });
        }
    }

    /// Walks through tasks that only run after these conditions were tested.
    pub(in crate::template) fn after<'c>(
        &mut self,
        conditions: impl Iterator<Item = &'c Condition>,
        walk: impl FnOnce(&mut Self) -> Shape,
    ) -> Shape {
        let before = self.tested.len();
        self.tested.extend(conditions.flat_map(|condition| condition.test.paths()).cloned());
        let shape = walk(self);
        self.tested.truncate(before);
        shape
    }

    /// Reports a fold whose first value has another kind than its joined values. `null` says that there is no value yet.
    pub(in crate::template) fn start(&mut self, start: &Shape, joined: &Shape, join: &Node) {
        if start.kinds != Kinds::NULL && !start.kinds.meets(joined.kinds) {
            let at = join.output.as_ref().map_or(join.origin.spot, |output| output.origin.spot);
            let (start, joined) = (Box::new(start.clone()), Box::new(joined.clone()));
            self.found.push(Found::Start { start, joined, at, task: self.task() });
        }
    }

    /// Reports an evaluator that cannot say `success`.
    pub(in crate::template) fn never_good(&mut self, at: Spot) {
        self.found.push(Found::NeverGood { at, task: self.task() });
    }

    /// Names in scope that are similar to an unknown one. For a step or a file, these are other steps or files. For
    /// any other name, steps are also considered. The search takes time, so it ends after a number of unknown names
    /// that nobody would read to the end.
    fn near(&self, path: &Path) -> Vec<String> {
        if self.found.len() >= ADVISED {
            return Vec::new();
        }
        let key = key_of(path);
        let (group, wanted) = parts_of(&key);
        let bound = self.bound.iter().filter(|(_, list)| !list.is_empty()).map(|(name, _)| parts_of(name));
        let near = |group: Option<&str>| {
            let near = meant(wanted, bound.clone().filter(|(other, _)| *other == group).map(|(_, name)| name));
            near.into_iter().map(|name| group.map_or(name.clone(), |group| format!("{group}.{name}"))).collect()
        };
        let own: Vec<String> = near(group);
        if own.is_empty() && group.is_none() { near(Some("steps")) } else { own }
    }

    /// Checks all placeholders of a text. A text that is a single placeholder stands for its value.
    pub(in crate::template) fn text(&mut self, text: &Filled, field: &'static str) -> Seen {
        let mut seen: Option<Seen> = None;
        for (path, at) in text.places() {
            let one = self.name(path, at, field, Use::Value);
            seen = Some(match seen {
                Some(seen) => seen.or(one),
                None => one,
            });
        }
        match (seen, text.as_literal()) {
            (Some(seen), _) if text.single().is_some() => seen,
            (Some(seen), _) => seen.with(Shape::text()),
            (None, literal) => Seen::own(Shape::one_of([literal.unwrap_or_default()])),
        }
    }

    /// Checks a variable.
    pub(in crate::template) fn path(&mut self, used: &PathUse, field: &'static str) -> Seen {
        self.name(&used.path, used.at, field, Use::Value)
    }

    /// Checks a list whose elements are processed. Returns what is known of its elements.
    pub(in crate::template) fn items(&mut self, used: &PathUse) -> Seen {
        let seen = self.path(used, "items");
        let wanted = Shape::of(Kinds::LIST);
        if !seen.shape.may_be(&wanted) {
            self.misfit(Place::Items, wanted, &seen.shape, Some(used.path.to_string()), used.at);
            return seen.with(Shape::unknown());
        }
        if seen.shape.kinds == Kinds::ALL && seen.shape.source == Source::Process {
            self.found.push(Found::Printed { path: used.path.clone(), at: used.at, task: self.task() });
        }
        let element = seen.shape.element.as_deref().filter(|element| !element.is_never()).cloned();
        let element = element.unwrap_or_else(Shape::any);
        // The elements of a list of results are results.
        let results = seen.shape.source == Source::Perhaps;
        seen.with(if results { element.from(Source::Perhaps) } else { element })
    }

    fn command(&mut self, command: &Command) {
        for word in &command.words {
            for (path, at) in word.places() {
                let seen = self.name(path, at, "command", Use::Value);
                if seen.result {
                    let own = format!("`{path}`");
                    let way = seen.way.filter(|way| **way != *own).map(|way| way.to_string());
                    self.found.push(Found::Untrusted { path: path.clone(), at, task: self.task(), way });
                } else if let Some(name) = seen.of_caller {
                    let place = format!("the command in {}:{}", self.file, at.place.line);
                    self.reaches.entry(name.to_string()).or_insert(place);
                }
            }
        }
    }

    pub(in crate::template) fn condition(&mut self, condition: &Condition) {
        let mut shapes = BTreeMap::new();
        for path in condition.test.paths() {
            let seen = self.name(path, condition.at, "condition", Use::Expression);
            shapes.insert(path, seen.shape);
        }
        let found =
            constants(condition.test.root(), &mut |path| shapes.get(path).cloned().unwrap_or_else(Shape::unknown));
        for constant in found {
            let constant = Box::new(constant);
            self.found.push(Found::Constant { constant, at: condition.at, task: self.task() });
        }
    }

    /// Whether one of these conditions always holds: they compare one value with every word that it can be.
    pub(in crate::template) fn covers<'c>(&mut self, conditions: impl Iterator<Item = &'c Condition>) -> bool {
        let mut compared: Vec<(&Path, &str)> = Vec::new();
        conditions.for_each(|condition| equalities(condition.test.root(), &mut compared));
        let Some((path, _)) = compared.first().copied() else { return false };
        let shape = self.look_up(path).and_then(|(seen, steps)| seen.shape.path(steps).ok());
        let Some(shape) = shape.filter(|shape| shape.kinds == Kinds::TEXT && !shape.absent) else { return false };
        let is_named = |word: &String| compared.iter().any(|(other, named)| *other == path && *named == *word);
        shape.words.is_some_and(|words| words.iter().all(is_named))
    }

    /// Walks through a child: a node among steps, named by its id, or a node in a slot, named by the slot. Returns
    /// the shape of its result.
    pub(in crate::template) fn child(&mut self, node: &Node, slot: &str) -> Shape {
        self.task.push(node.id.clone().unwrap_or_else(|| slot.to_owned()));
        let shape = self.node(node);
        self.task.pop();
        shape
    }

    /// The declared shape of a task's result, before the task is walked.
    pub(in crate::template) fn declared(&self, node: &Node) -> Shape {
        let output = node.output.as_ref();
        output.and_then(|output| declared(output, self.around.schema)).unwrap_or_else(Shape::any)
    }

    fn node(&mut self, node: &Node) -> Shape {
        let inputs: Vec<Seen> = node.inputs.iter().map(|input| self.input(input)).collect();
        let mark = self.log.len();
        let shown = node.kind.facts().shows_inputs;
        for (input, seen) in node.inputs.iter().zip(&inputs) {
            self.declare(&input.name, seen.clone(), Some(input.origin.spot).filter(|_| !shown));
        }
        let intent = &node.intent;
        self.text(&intent.description, "description");
        self.text(&intent.instructions, "instructions");
        self.text(&intent.expected_output, "expected_output");
        self.text(&intent.criteria, "criteria");
        self.text(&node.system, "system");
        if let Some(refs) = &node.refs {
            self.file_paths(refs);
        }
        let told = std::mem::replace(&mut self.tells, node.context.settings.accumulate_data);
        let own = match node.template.as_deref() {
            Some(name) => self.call(node, name, &inputs),
            None => node.kind.operator().walk(self, inputs.into_iter().reduce(Seen::or)),
        };
        self.tells = told;
        self.reset(mark);
        let declared = node.output.as_ref().and_then(|output| Some((output, declared(output, self.around.schema)?)));
        let shape = match declared {
            Some((output, wanted)) => {
                if !own.fits(&wanted) {
                    self.misfit(Place::Output, wanted.clone(), &own, None, output.origin.spot);
                }
                wanted.from(own.source)
            }
            None => own,
        };
        self.gave.insert(node, shape.clone());
        shape
    }

    fn input(&mut self, input: &Input) -> Seen {
        let own = match &input.source {
            // The caller may give the value or leave it out.
            InputSource::From(from) if !input.required || input.default.is_some() => {
                let known = self.look_up(&from.path).is_some();
                let seen = known.then(|| self.name(&from.path, from.at, "inputs", Use::Input));
                seen.unwrap_or_else(|| self.of_caller(&input.name))
            }
            // The caller's value replaces a missing one.
            InputSource::From(from) if self.look_up(&from.path).is_none() && (self.around.outside)(&input.name) => {
                self.of_caller(&input.name)
            }
            InputSource::From(from) => self.path(from, "inputs"),
            InputSource::Text(text) => {
                let seen = self.text(text, "inputs");
                // A list or an object that an author wrote is a value, not a text.
                let shape = match text.as_literal() {
                    Some(literal) => written(literal),
                    None if text.single().is_some() => seen.shape.clone(),
                    None => Shape::any(),
                };
                seen.with(shape)
            }
            InputSource::Operator(node) => Seen::result(self.child(node, &input.name).value()),
            InputSource::Caller => {
                let path = Path::variable(&input.name);
                let known = self.look_up(&path).map(|(seen, _)| seen);
                if known.is_none() && input.required && input.default.is_none() {
                    let task = self.task();
                    let at = input.origin.spot;
                    let (near, later) = (Vec::new(), false);
                    self.found.push(Found::Unknown { path, at, field: "inputs", task, how: Use::Input, near, later });
                }
                known.unwrap_or_else(|| self.of_caller(&input.name))
            }
        };
        match &input.default {
            Some(default) => own.or(Seen::own(written(default))),
            None if !input.required => own.clone().with(own.shape.or_null()),
            None => own,
        }
    }

    fn file_paths(&mut self, paths: &FilePaths) {
        for path in &paths.paths {
            self.text(path, "file_paths");
        }
        self.text(&paths.query, "file_paths");
        self.command(&paths.command);
    }

    pub(in crate::template) fn script(&mut self, script: &Script) {
        for file in &script.input_files {
            self.path(&file.from, "input_file");
        }
        for file in &script.input_files {
            self.bind(&format!("files.{}", file.name), Seen::own(Shape::text()));
        }
        self.command(&script.command);
        match &script.stdin {
            Some(Stdin::From(from)) => drop(self.path(from, "stdin")),
            Some(Stdin::Text(text)) => drop(self.text(text, "stdin")),
            None => {}
        }
        for variable in &script.variables {
            self.text(&variable.value, "environment");
        }
    }

    /// Notes the names of a sequence's steps when the walk enters the sequence, and forgets them when it leaves.
    pub(in crate::template) fn names_steps(&mut self, steps: &[Node], come: bool) {
        for id in steps.iter().filter_map(|step| step.id.as_deref()) {
            let count = self.steps.entry(format!("steps.{id}")).or_default();
            *count = if come { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    /// Binds a step under its id. If the step lends the ids of its parts, binds these, too (spec 8). `collects` means
    /// that the step may have failed and still be present.
    pub(in crate::template) fn bind_ids(&mut self, step: &Node, collects: bool) {
        let operator = step.kind.operator();
        if step.kind.facts().lends_ids {
            let inner = collects || operator.collects();
            operator.nodes().into_iter().for_each(|part| self.bind_ids(part, inner));
        }
        if let Some(id) = &step.id {
            self.bind(&format!("steps.{id}"), self.result_of(step, collects));
        }
    }

    /// What is known of the result of a walked step. `collects` as above.
    pub(in crate::template) fn result_of(&self, step: &Node, collects: bool) -> Seen {
        let ended_well = !collects && step.kind.operator().fails_with_its_command();
        Seen { ended_well, ..Seen::result(self.gave(step, collects)) }
    }

    /// Reports a step whose result nothing reads.
    pub(in crate::template) fn unread(&mut self, name: &str, at: Spot) {
        self.found.push(Found::Unread { name: name.to_owned(), at, task: self.task() });
    }

    /// Whether an earlier part of this walk may read names that it does not write: it calls something that sees them,
    /// or is told of earlier results.
    pub(in crate::template) fn reads_all(&self) -> bool {
        self.tells || self.opens
    }

    /// The shape of the result of a walked step.
    pub(in crate::template) fn gave(&self, step: &Node, collects: bool) -> Shape {
        let shape = self.gave.get(&std::ptr::from_ref(step)).filter(|_| !collects);
        shape.cloned().unwrap_or_else(Shape::unknown)
    }
}

/// The comparisons of values with words one of which suffices for a term.
fn equalities<'t>(term: &'t Term, out: &mut Vec<(&'t Path, &'t str)>) {
    match term {
        Term::Any(parts) => parts.iter().for_each(|part| equalities(part, out)),
        Term::Compare(left, Comparison::Equal, right) => match (&**left, &**right) {
            (Term::Path(path), Term::Literal(Value::String(word)))
            | (Term::Literal(Value::String(word)), Term::Path(path)) => out.push((path, word)),
            _ => {}
        },
        _ => {}
    }
}

/// The tasks whose replies are the result of a task, as far as nothing declares what they give.
fn undeclared(node: &Node) -> Vec<&Node> {
    match () {
        () if node.output.is_some() || node.template.is_some() => Vec::new(),
        () if node.kind.is_atomic() => vec![node],
        () => node.kind.operator().givers().into_iter().flat_map(undeclared).collect(),
    }
}

/// The shape of a text as an author wrote it. A list or an object is a value (spec 4).
fn written(text: &str) -> Shape {
    let trimmed = text.trim();
    let value = trimmed.starts_with(['[', '{']).then(|| serde_json::from_str(trimmed).ok()).flatten();
    value.map_or_else(Shape::text, |value| Shape::of_value(&value))
}
