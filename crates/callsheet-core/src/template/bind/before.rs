//! What can be judged before the first model call of a run (spec 4): names that lead nowhere and values that do not fit,
//! in a template and in all that it calls. What a step gives is taken as known and is not judged.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value;

use crate::template::names::bound_by_operator;
use crate::template::place::Spot;
use crate::template::result::{InputFaultDetails, Invalid, Location, Missing};
use crate::template::tree::{
    Argument, ArgumentValue, Case, Input, InputSource, Kind, Node, OnError, Origin, PathUse, Script, Stdin, Template,
    type_word,
};
use crate::template::value::{Filled, Foreseen, Path, Piece, is_ident};

use super::arguments::{Given, bind_params, written};
use super::resolve::missing_before_run;
use super::scope::{Look, Scope, Seen};
use super::{Bound, Environment, Trust};

/// Environments that one template is judged in: what is called often is not gone through every time.
const VISITS: usize = 16;
/// Calls in calls that are followed; what stands deeper is judged when it is opened.
const DEEP: usize = 64;
/// Calls that are told of one fault.
const CALLS: usize = 16;
/// Elements of known lists that the bodies over them are judged by, in one template and all that it calls.
const ELEMENTS: usize = 1_000;

/// Finds the templates that are called.
pub type FindTemplate<'f, 't> = dyn Fn(&str) -> Option<&'t Template> + 'f;

/// Everything that is known to be wrong before the first model call of a run: names that nothing binds anywhere in the
/// tree, paths that lead nowhere in values that are known, values of wrong types, and files that are `absent`, each with
/// those that may be meant. `most` is the longest list that is gone through.
pub fn faults_before_run<'t>(
    template: &'t Template,
    environment: &Environment,
    templates: &FindTemplate<'_, 't>,
    most: u32,
    absent: &BTreeMap<String, Vec<String>>,
) -> InputFaultDetails {
    let mut judge = Judge::new(templates, most);
    judge.absent = Some(absent);
    judge.go_through(template, Scope::given(environment));
    let mut fault = InputFaultDetails::default();
    for found in judge.told() {
        found.tell(&mut fault);
    }
    let place = |one: &Missing| (one.name.clone(), one.file.clone(), one.line, one.column);
    // A name in a called template is told with the calls that lead there.
    let told: BTreeSet<_> = fault.missing.iter().map(place).collect();
    let names = missing_before_run(template, environment, templates).into_iter();
    fault.missing.extend(names.filter(|one| !told.contains(&place(one))));
    fault.missing.sort();
    fault.missing.dedup();
    fault.invalid.sort_by(|one, two| (&one.location, &one.name).cmp(&(&two.location, &two.name)));
    fault
}

/// Paths of `file_paths` that are known before the first model call of a run: written out, or filled with what an author
/// wrote or the caller gave.
pub fn paths_before_run<'t>(
    template: &'t Template,
    environment: &Environment,
    templates: &FindTemplate<'_, 't>,
    most: u32,
) -> BTreeSet<String> {
    let mut judge = Judge::new(templates, most);
    judge.go_through(template, Scope::given(environment));
    judge.paths
}

/// A call on the way to a template.
#[derive(Debug)]
struct Call<'t> {
    origin: &'t Origin,
    task: String,
    depth: usize,
    outer: Option<Rc<Call<'t>>>,
}

/// What is wrong with a name or a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// Nothing binds it.
    Unbound,
    /// Its value is known, and the path leads nowhere in it.
    Gone,
    /// What is wanted, and what is there.
    Type(String, String),
}

/// One fault.
#[derive(Clone, Debug)]
pub struct Fault<'t> {
    /// The name.
    pub name: String,
    /// The field that uses it.
    pub field: &'static str,
    /// What is wrong.
    pub wrong: Wrong,
    /// The file.
    pub file: &'t str,
    /// Where in it.
    pub at: Spot,
    /// The task, with those around it.
    pub task: String,
    calls: Option<Rc<Call<'t>>>,
}

impl<'t> Fault<'t> {
    /// The call outside of all others, by which the fault is reached.
    pub fn outermost(&self) -> Option<&'t Origin> {
        std::iter::successors(self.calls.as_deref(), |call| call.outer.as_deref()).last().map(|call| call.origin)
    }

    fn tell(&self, fault: &mut InputFaultDetails) {
        let calls: Vec<&Call<'t>> =
            std::iter::successors(self.calls.as_deref(), |call| call.outer.as_deref()).take(CALLS).collect();
        let mut task: Vec<&str> = calls.iter().rev().map(|call| call.task.as_str()).collect();
        task.push(&self.task);
        let location = |file: &str, at: Spot, task: String| Location {
            file: file.to_owned(),
            line: at.place.line,
            column: at.place.column,
            task,
        };
        let here = location(self.file, self.at, task.join("/"));
        let calls = calls.iter().map(|call| location(&call.origin.file, call.origin.spot, call.task.clone())).collect();
        let name = self.name.clone();
        match &self.wrong {
            Wrong::Type(expected, actual) => {
                let (expected, actual) = (expected.clone(), actual.clone());
                fault.invalid.push(Invalid { name, expected, actual, location: Some(here), calls });
            }
            Wrong::Unbound | Wrong::Gone => {
                let Location { file, line, column, task } = here;
                fault.missing.push(Missing { name, field: self.field.to_owned(), task, file, line, column, calls });
            }
        }
    }
}

/// A body that is still to be gone through.
struct Visit<'t> {
    template: &'t Template,
    scope: Rc<Scope>,
    calls: Option<Rc<Call<'t>>>,
}

/// Goes through templates with what is known of their names.
pub struct Judge<'a, 't> {
    templates: &'a FindTemplate<'a, 't>,
    most: u32,
    seen: BTreeMap<&'t str, Vec<BTreeMap<String, Seen>>>,
    open: Vec<Visit<'t>>,
    task: Vec<Cow<'t, str>>,
    file: &'t str,
    /// Elements that may still be gone through one by one.
    elements: usize,
    calls: Option<Rc<Call<'t>>>,
    /// No caller is known.
    alone: bool,
    /// Files that are not there, with those that may be meant.
    absent: Option<&'a BTreeMap<String, Vec<String>>>,
    /// Files that are known.
    paths: BTreeSet<String>,
    faults: Vec<Fault<'t>>,
}

impl<'a, 't> Judge<'a, 't> {
    /// `most` calls are gone through one inside the other.
    pub fn new(templates: &'a FindTemplate<'a, 't>, most: u32) -> Self {
        let (seen, open, task, paths, faults) = Default::default();
        let (calls, alone, absent) = (None, false, None);
        Self { templates, most, seen, open, task, file: "", elements: ELEMENTS, calls, alone, absent, paths, faults }
    }

    /// What is wrong with a template whose caller is not known. How often others are gone through is counted on.
    pub fn of_template(&mut self, template: &'t Template) -> Vec<Fault<'t>> {
        let params = template.params.iter().flatten().map(|param| (param.name.clone(), Seen::Later));
        self.alone = true;
        self.go_through(template, Scope::root(params.collect(), !template.is_function()));
        self.told()
    }

    /// Each fault once for each call outside of all others.
    fn told(&mut self) -> Vec<Fault<'t>> {
        let mut told = BTreeSet::new();
        let mut faults = std::mem::take(&mut self.faults);
        faults.retain(|fault| {
            let call = fault.outermost().map(|call| call.spot.span);
            told.insert((fault.file, fault.at.span, fault.name.clone(), fault.wrong.clone(), call))
        });
        faults
    }

    fn go_through(&mut self, template: &'t Template, scope: Rc<Scope>) {
        self.open.push(Visit { template, scope, calls: None });
        while let Some(Visit { template, scope, calls }) = self.open.pop() {
            (self.calls, self.file) = (calls, &template.origin.file);
            self.task = vec![Cow::Borrowed(&template.name)];
            self.node(&template.body, &scope);
        }
    }

    /// Equal environments are gone through once, so templates that call each other come to an end.
    fn enter(&mut self, template: &'t Template, scope: Rc<Scope>, calls: Option<Rc<Call<'t>>>) {
        let seen = self.seen.entry(&template.name).or_default();
        if seen.len() >= VISITS {
            return;
        }
        let names = scope.all();
        if !seen.contains(&names) {
            seen.push(names);
            self.open.push(Visit { template, scope, calls });
        }
    }

    fn fault(&mut self, name: String, field: &'static str, at: Spot, wrong: Wrong) {
        let (task, calls) = (self.task.join("/"), self.calls.clone());
        self.faults.push(Fault { name, field, wrong, file: self.file, at, task, calls });
    }

    /// What a path leads to; `None`: nowhere, and it was told.
    fn find(&mut self, path: &Path, field: &'static str, at: Spot, scope: &Scope) -> Option<Seen> {
        let wrong = match scope.find(path) {
            Look::Value(bound) => return Some(Seen::value(bound)),
            Look::Later => return Some(Seen::Later),
            Look::Unbound => Wrong::Unbound,
            Look::Gone => Wrong::Gone,
        };
        self.fault(path.to_string(), field, at, wrong);
        None
    }

    fn text(&mut self, text: &Filled, field: &'static str, scope: &Scope) {
        for (path, at) in text.places() {
            self.find(path, field, at, scope);
        }
    }

    /// A filled text, and whether it was written as one: a placeholder alone keeps the type of its value.
    fn text_value(&mut self, text: &Filled, field: &'static str, scope: &Scope) -> Option<(Seen, bool)> {
        if let Some(path) = text.single() {
            let at = text.places().next().map(|(_, at)| at).unwrap_or_default();
            return Some((self.find(path, field, at, scope)?, false));
        }
        let (mut out, mut trust, mut later, mut whole) = (String::new(), Trust::Author, false, true);
        for piece in text.pieces() {
            match piece {
                Piece::Literal(literal) => out.push_str(literal),
                Piece::Place(path, at) => match self.find(path, field, *at, scope) {
                    Some(Seen::Value(bound)) => {
                        out.push_str(&bound.text());
                        trust = trust.max(bound.trust);
                    }
                    Some(Seen::Later) => later = true,
                    None => whole = false,
                },
            }
        }
        let seen = if later { Seen::Later } else { Seen::value(Bound::json(out, trust)) };
        whole.then_some((seen, true))
    }

    fn child(&mut self, node: &'t Node, slot: impl Into<Cow<'t, str>>, scope: &Rc<Scope>) {
        self.task.push(node.id.as_deref().map_or_else(|| slot.into(), Cow::Borrowed));
        self.node(node, scope);
        self.task.pop();
    }

    fn node(&mut self, node: &'t Node, scope: &Rc<Scope>) {
        let inputs: BTreeMap<String, Seen> =
            node.inputs.iter().map(|input| (input.name.clone(), self.input(input, scope))).collect();
        let own = scope.inner(inputs.clone());
        // Those of an operator reach its children; of its names they say themselves what they miss.
        if let Some(refs) = node.refs.as_ref().filter(|_| !matches!(node.kind, Kind::Atomic)) {
            let written = refs.paths.iter().filter(|path| path.as_literal().is_some());
            written.for_each(|path| self.file(path, &refs.origin, &own));
        }
        let inside = || own.inner(bound_by_operator(node).into_iter().map(|name| (name, Seen::Later)).collect());
        match &node.kind {
            Kind::Atomic => self.atomic(node, &own),
            Kind::Sequential { steps: children, .. } | Kind::Parallel { children, .. } => {
                let inside = inside();
                children.iter().for_each(|child| self.child(child, child.kind.word(), &inside));
            }
            Kind::Reduce { items, inner, reduction, .. } => {
                let list = match items {
                    Some(items) => self.items(node, items, &own),
                    None => Some(node.inputs.iter().filter_map(|input| inputs.get(&input.name).cloned()).collect()),
                };
                if let Some(inside) = self.inside(list.as_ref().map(|list| !list.is_empty()), &inside()) {
                    self.inner_tasks(inner, list.unwrap_or_default(), &inside);
                    self.child(reduction, "reduction_task", &inside);
                }
            }
            Kind::Script { script, .. } => self.script(script, &own),
            Kind::DirectorEvaluatorLoop { director, evaluator, script, .. } => {
                let inside = inside();
                self.child(director, "director", &inside);
                if let Some(script) = script {
                    self.script(script, &inside);
                }
                self.child(evaluator, "evaluator", &inside);
            }
            Kind::Map { items, item, on_error, body, .. } => match self.items(node, items, &own) {
                // Where what fails is only collected, an element that does not fit is no fault of the run.
                Some(list) if *on_error == OnError::Fail && list.len() <= self.elements => {
                    self.elements -= list.len();
                    for (index, element) in list.into_iter().enumerate() {
                        let index_of = Seen::value(Bound::json(index, Trust::Author));
                        let names = [(item.clone(), element), ("item_index".to_owned(), index_of)];
                        self.child(body, format!("body[{index}]"), &own.inner(names.into()));
                    }
                }
                list => {
                    if let Some(inside) = self.inside(list.map(|list| !list.is_empty()), &inside()) {
                        self.child(body, "body", &inside);
                    }
                }
            },
            Kind::Call { arguments } => self.call(node, arguments, inputs, scope),
            Kind::Cond { cases, otherwise } => self.cond(cases, otherwise.as_deref(), &own),
        }
    }

    /// The part of a reduce that reads its elements, by each of those that are known.
    fn inner_tasks(&mut self, inner: &'t Node, list: Vec<Seen>, inside: &Rc<Scope>) {
        if list.is_empty() || list.len() > self.elements {
            return self.child(inner, "inner_task", inside);
        }
        self.elements -= list.len();
        for element in list {
            self.child(inner, "inner_task", &inside.inner([("current_data".to_owned(), element)].into()));
        }
    }

    /// The first of what is written, what the caller gives, and the default.
    fn input(&mut self, input: &'t Input, scope: &Rc<Scope>) -> Seen {
        let before = self.faults.len();
        let own = match &input.source {
            InputSource::From(from) => self.find(&from.path, "inputs", from.at, scope),
            InputSource::Text(text) => {
                self.text_value(text, "inputs", scope).map(|(seen, literal)| as_written(given(seen, literal)))
            }
            InputSource::Operator(node) => {
                self.child(node, &*input.name, scope);
                return Seen::Later;
            }
            InputSource::Caller => None,
        };
        let default = || {
            let text = input.default.as_deref().map(|text| Bound::json(text, Trust::Author));
            text.map(|bound| Seen::value(written(bound, true)))
        };
        let absent = || (!input.required).then(|| Seen::value(Bound::json(Value::Null, Trust::Author)));
        if let Some(seen) = own.or_else(|| scope.variable(&input.name)).or_else(default).or_else(absent) {
            self.faults.truncate(before);
            return seen;
        }
        if matches!(input.source, InputSource::Caller) {
            self.fault(input.name.clone(), "inputs", input.origin.spot, Wrong::Unbound);
        }
        // It was told: nothing more is said of what uses it.
        Seen::Later
    }

    fn atomic(&mut self, node: &'t Node, own: &Scope) {
        let intent = &node.intent;
        self.text(&intent.description, "description", own);
        self.text(&intent.instructions, "instructions", own);
        self.text(&node.system, "system", own);
        self.text(&intent.expected_output, "expected_output", own);
        self.text(&intent.criteria, "criteria", own);
        // Its command is not started where files are given in place of it.
        if let Some(refs) = &node.refs {
            refs.paths.iter().for_each(|path| self.file(path, &refs.origin, own));
            self.text(&refs.query, "file_paths", own);
        }
    }

    /// A path of `file_paths`, as far as it is known.
    fn file(&mut self, path: &Filled, origin: &Origin, own: &Scope) {
        let Some((Seen::Value(bound), _)) = self.text_value(path, "file_paths", own) else { return };
        let written = bound.text();
        let at = path.places().next().map_or(origin.spot, |(_, at)| at);
        // A list is each of its paths. What else begins like one holds links, which are not read here.
        for path in serde_json::from_str::<Vec<String>>(&written).unwrap_or_else(|_| vec![written]) {
            if let Some(near) = self.absent.and_then(|absent| absent.get(&path)) {
                let (wanted, found) = Invalid::no_file(near);
                self.fault(path, "file_paths", at, Wrong::Type(wanted, found));
            } else if !path.trim_start().starts_with('[') {
                self.paths.insert(path);
            }
        }
    }

    fn script(&mut self, script: &'t Script, own: &Rc<Scope>) {
        for file in &script.input_files {
            self.find(&file.from.path, "input_file", file.from.at, own);
        }
        match &script.stdin {
            Some(Stdin::From(from)) => drop(self.find(&from.path, "stdin", from.at, own)),
            Some(Stdin::Text(text)) => self.text(text, "stdin", own),
            None => {}
        }
        script.variables.iter().for_each(|variable| self.text(&variable.value, "environment", own));
        let inside = own.inner([("files".to_owned(), Seen::Later)].into());
        script.command.words.iter().for_each(|word| self.text(word, "command", &inside));
    }

    /// The elements; `None`: they are not known.
    fn items(&mut self, node: &Node, items: &PathUse, own: &Scope) -> Option<Vec<Seen>> {
        let bound = match self.find(&items.path, "items", items.at, own) {
            Some(Seen::Value(bound)) => bound,
            Some(Seen::Later) => return None,
            None => return Some(Vec::new()),
        };
        let value = bound.value();
        let most = node.limits.max_items.unwrap_or(self.most);
        let actual = match value.as_array() {
            None => type_word(&value).to_owned(),
            Some(list) if u32::try_from(list.len()).is_ok_and(|count| count <= most) => {
                return Some(list.iter().map(|one| Seen::value(Bound::json(one.clone(), bound.trust))).collect());
            }
            Some(list) => format!("a list of {} elements; the limit is {most}", list.len()),
        };
        self.fault(items.path.to_string(), "items", items.at, Wrong::Type("a list".to_owned(), actual));
        Some(Vec::new())
    }

    /// The names in a part that is opened, or not, or nobody knows. Of a run, what may be passed by is judged when it is
    /// opened: its test may be there to guard it. Where no caller is known, it is judged by what is written in the part
    /// itself, which is wrong whenever it is opened.
    fn inside(&self, opened: Option<bool>, scope: &Rc<Scope>) -> Option<Rc<Scope>> {
        match opened {
            Some(true) => Some(Rc::clone(scope)),
            None if self.alone => Some(scope.guarded()),
            _ => None,
        }
    }

    /// The branch that is known to be taken, and those that may be.
    fn cond(&mut self, cases: &'t [Case], otherwise: Option<&'t Node>, own: &Rc<Scope>) {
        // `None`: an earlier branch may be taken.
        let mut reached = Some(true);
        for case in cases {
            let outcome = case.test.test.foresee(&mut |path| match own.find(path) {
                Look::Value(bound) => Foreseen::Value(bound.value()),
                Look::Later => Foreseen::Later,
                Look::Unbound | Look::Gone => Foreseen::Never,
            });
            let taken = outcome.and_then(|holds| if holds { reached } else { Some(false) });
            if let Some(inside) = self.inside(taken, own) {
                self.child(&case.body, "case", &inside);
            }
            match outcome {
                Some(true) => return,
                Some(false) => {}
                None => reached = None,
            }
        }
        if let (Some(otherwise), Some(inside)) = (otherwise, self.inside(reached, own)) {
            self.child(otherwise, "else", &inside);
        }
    }

    fn call(&mut self, node: &'t Node, arguments: &'t [Argument], inputs: BTreeMap<String, Seen>, scope: &Rc<Scope>) {
        let inputs = inputs.into_iter().map(|(name, seen)| (Some(name), given(seen, false)));
        let mut all: Vec<(Option<String>, Given)> = inputs.collect();
        let mut whole = true;
        for argument in arguments {
            let value = self.argument(argument, scope);
            whole &= value.is_some();
            all.extend(value.map(|(seen, literal)| (argument.name.clone(), given(seen, literal))));
        }
        let Some(template) = node.template.as_deref().and_then(self.templates) else { return };
        if !whole {
            return;
        }
        let known = all.iter().any(|(_, given)| given.is_some());
        let names = match &template.params {
            None => all.into_iter().filter_map(|(name, given)| Some((name?, as_written(given)))).collect(),
            Some(params) => match bind_params(params, all, &node.origin, "") {
                Ok(names) => names.into_iter().map(|(name, bound)| (name, seen(bound))).collect(),
                Err(fault) => {
                    for invalid in fault.invalid {
                        // An argument that nothing takes is told when the library is loaded (T031).
                        let position = params.iter().position(|param| param.name == invalid.name);
                        let Some(position) = position else { continue };
                        let named = |one: &&Argument| one.name.as_deref() == Some(&invalid.name);
                        let placed = arguments.get(position).filter(|one| one.name.is_none());
                        let argument = arguments.iter().find(named).or(placed);
                        let at = argument.map_or(node.origin.spot, |argument| argument.origin.spot);
                        self.fault(invalid.name, "arg", at, Wrong::Type(invalid.expected, invalid.actual));
                    }
                    for missing in fault.missing {
                        self.fault(missing.name, "params", node.origin.spot, Wrong::Unbound);
                    }
                    return;
                }
            },
        };
        // Where the caller is not known, a template that is told nothing is judged by itself.
        if self.alone && !known {
            return;
        }
        let inner = if template.is_function() { Scope::root(names, false) } else { scope.inner(names) };
        let depth = self.calls.as_ref().map_or(1, |call| call.depth + 1);
        if depth > DEEP {
            return;
        }
        let call = Call { origin: &node.origin, task: self.task.join("/"), depth, outer: self.calls.clone() };
        self.enter(template, inner, Some(Rc::new(call)));
    }

    /// As in a run (see `argument_value`).
    fn argument(&mut self, argument: &'t Argument, scope: &Rc<Scope>) -> Option<(Seen, bool)> {
        match &argument.value {
            ArgumentValue::Value(text) => self.text_value(text, "arg", scope),
            ArgumentValue::From(from) => Some((self.find(&from.path, "arg", from.at, scope)?, false)),
            ArgumentValue::Operator(node) => {
                self.child(node, "arg", scope);
                Some((Seen::Later, false))
            }
            ArgumentValue::Unread => Some((Seen::Later, false)),
            ArgumentValue::Bare(text) => {
                let (seen, literal) = self.text_value(text, "arg", scope)?;
                let Seen::Value(bound) = &seen else { return Some((Seen::Later, literal)) };
                let trusted = literal && bound.trust <= Trust::Caller;
                let value = bound.value();
                let named = value.as_str().filter(|_| trusted).map(str::trim).filter(|text| is_ident(text));
                let variable = named.and_then(|name| scope.variable(name));
                Some(variable.map_or((seen.clone(), literal), |variable| (variable, false)))
            }
        }
    }
}

fn as_written(given: Given) -> Seen {
    seen(given.map(|(bound, literal)| written(bound, literal)))
}

fn given(seen: Seen, literal: bool) -> Given {
    match seen {
        Seen::Value(bound) => Some((Rc::unwrap_or_clone(bound), literal)),
        Seen::Later => None,
    }
}

fn seen(bound: Option<Bound>) -> Seen {
    bound.map_or(Seen::Later, Seen::value)
}
