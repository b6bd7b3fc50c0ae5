//! Names: what is bound where, and which names nothing binds (spec 4, 8). One walk serves the check of a library and
//! the check before a run.

use std::collections::BTreeMap;

use crate::fuzzy::meant;
use crate::template::place::Spot;
use crate::template::tree::{
    Argument, ArgumentValue, Command, FilePaths, InputSource, Node, PathUse, Script, Stdin, Template,
};
use crate::template::value::{Filled, Path, Step, is_ident};

/// How a name was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Filled into a text, or named by `from`.
    Value,
    /// In an expression, where an unknown name is false.
    Expression,
    /// A required input that nothing gives.
    Input,
}

/// What the walk found.
#[derive(Clone, Debug)]
pub enum Found {
    /// Nothing binds this name.
    Unknown {
        /// The name.
        path: Path,
        /// Where it is written.
        at: Spot,
        /// The field that holds it.
        field: &'static str,
        /// The task, with those around it.
        task: String,
        /// How it is used.
        how: Use,
        /// Names in scope that may be meant.
        near: Vec<String>,
    },
    /// A command is filled from a result.
    Untrusted {
        /// The name.
        path: Path,
        /// Where it is written.
        at: Spot,
        /// The task, with those around it.
        task: String,
    },
    /// A text that looks like a name and is taken as a literal.
    Literal {
        /// The text.
        text: String,
        /// Where it is written.
        at: Spot,
        /// The task, with those around it.
        task: String,
    },
    /// A parameter or input that nothing uses.
    Unused {
        /// Its name.
        name: String,
        /// Where it is declared.
        at: Spot,
    },
}

impl Found {
    /// Template, task and field, joined by `/`.
    pub fn path(&self, template: &str) -> String {
        match self {
            Self::Unknown { task, field, .. } => format!("{task}/{field}"),
            Self::Untrusted { task, .. } => format!("{task}/command"),
            Self::Literal { task, .. } => format!("{task}/arg"),
            Self::Unused { .. } => template.to_owned(),
        }
    }
}

/// First parts of every name that a node binds for what stands inside it: its inputs and those of its operator.
pub fn bound_inside(node: &Node) -> Vec<String> {
    let mut names = bound_by_operator(node);
    names.extend(node.inputs.iter().map(|input| input.name.clone()));
    names
}

/// Those of its operator.
pub fn bound_by_operator(node: &Node) -> Vec<String> {
    let fixed = node.kind.facts().binds.iter().copied();
    fixed.chain(node.kind.operator().item()).map(str::to_owned).collect()
}

#[derive(Clone, Copy, Debug, Default)]
struct Bound {
    /// It comes from a model, a tool or a file.
    result: bool,
    used: bool,
    /// Where it was declared, if its idleness is worth a word.
    declared: Option<Spot>,
}

/// What a path is bound under: steps and files each by their own name.
fn key_of(path: &Path) -> String {
    match (path.name.as_str(), path.steps.first()) {
        ("steps" | "files", Some(Step::Name(name))) => format!("{}.{name}", path.name),
        _ => path.name.clone(),
    }
}

/// The group of a key, if it has one, and its name there.
fn parts_of(key: &str) -> (Option<&str>, &str) {
    key.split_once('.').map_or((None, key), |(group, name)| (Some(group), name))
}

/// Names that nothing binds for which near ones are looked for, in one template.
const ADVISED: usize = 100;

/// Knows a name that nothing in the tree binds.
pub type Outside<'a> = &'a dyn Fn(&str) -> bool;

/// A walk through a template.
pub struct Walk<'a> {
    bound: BTreeMap<String, Vec<Bound>>,
    log: Vec<String>,
    outside: Outside<'a>,
    task: Vec<String>,
    found: Vec<Found>,
}

/// Walks a template. `outside` knows the names of the caller.
pub fn walk(template: &Template, outside: Outside<'_>) -> Vec<Found> {
    let nothing: Outside<'_> = &|_| false;
    let outside = if template.is_function() { nothing } else { outside };
    let mut names = Walk { bound: BTreeMap::new(), log: Vec::new(), outside, task: Vec::new(), found: Vec::new() };
    let mark = names.log.len();
    for param in template.params.iter().flatten() {
        names.declare(&param.name, false, Some(param.at));
    }
    names.task.push(template.name.clone());
    names.node(&template.body);
    names.reset(mark);
    names.found
}

impl Walk<'_> {
    fn declare(&mut self, name: &str, result: bool, declared: Option<Spot>) {
        let bound = Bound { result, used: false, declared };
        self.bound.entry(name.to_owned()).or_default().push(bound);
        self.log.push(name.to_owned());
    }

    /// Binds names of an operator.
    pub(super) fn bind(&mut self, names: &[&str], result: bool) {
        for name in names {
            self.declare(name, result, None);
        }
    }

    /// What is bound from here on can be taken back.
    pub(super) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Takes back what was bound since `mark`, and tells of what was declared for nothing.
    pub(super) fn reset(&mut self, mark: usize) {
        while self.log.len() > mark {
            let Some(name) = self.log.pop() else { return };
            let Some(bound) = self.bound.get_mut(&name).and_then(Vec::pop) else { continue };
            if let Some(at) = bound.declared.filter(|_| !bound.used) {
                self.found.push(Found::Unused { name, at });
            }
        }
    }

    /// Whether something in the tree binds the path.
    fn is_bound(&self, path: &Path) -> bool {
        self.bound.get(&key_of(path)).is_some_and(|list| !list.is_empty())
    }

    /// Whether something binds the path, and whether that is a result.
    fn look_up(&mut self, path: &Path) -> Option<bool> {
        if let Some(bound) = self.bound.get_mut(&key_of(path)).and_then(|list| list.last_mut()) {
            bound.used = true;
            return Some(bound.result);
        }
        (path.is_of_the_system() || (self.outside)(&path.name)).then_some(false)
    }

    fn name(&mut self, path: &Path, at: Spot, field: &'static str, how: Use) -> bool {
        if let Some(result) = self.look_up(path) {
            return result;
        }
        let task = self.task.join("/");
        let near = self.near(path);
        self.found.push(Found::Unknown { path: path.clone(), at, field, task, how, near });
        false
    }

    /// Names in scope that may be meant by one that is not: of a step or a file those of steps or files, of another one
    /// those of steps too. Candidates cost time, and nobody reads more of them than these.
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

    /// Every placeholder of a text; true if one comes from a result.
    pub(super) fn text(&mut self, text: &Filled, field: &'static str) -> bool {
        let mut result = false;
        for (path, at) in text.places() {
            result |= self.name(path, at, field, Use::Value);
        }
        result
    }

    /// A variable; true if it is a result.
    pub(super) fn path(&mut self, used: &PathUse, field: &'static str) -> bool {
        self.name(&used.path, used.at, field, Use::Value)
    }

    fn command(&mut self, command: &Command) {
        for word in &command.words {
            for (path, at) in word.places() {
                if self.name(path, at, "command", Use::Value) {
                    let task = self.task.join("/");
                    self.found.push(Found::Untrusted { path: path.clone(), at, task });
                }
            }
        }
    }

    pub(super) fn condition(&mut self, condition: &crate::template::tree::Condition) {
        for path in condition.test.paths() {
            self.name(path, condition.at, "condition", Use::Expression);
        }
    }

    /// A node among steps, by its id, or in a slot, by the name of that.
    pub(super) fn child(&mut self, node: &Node, slot: &str) {
        self.task.push(node.id.clone().unwrap_or_else(|| slot.to_owned()));
        self.node(node);
        self.task.pop();
    }

    fn node(&mut self, node: &Node) {
        let results: Vec<bool> = node.inputs.iter().map(|input| self.input(input)).collect();
        let mark = self.log.len();
        let shown = node.kind.facts().shows_inputs;
        for (input, result) in node.inputs.iter().zip(&results) {
            self.declare(&input.name, *result, Some(input.origin.spot).filter(|_| !shown));
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
        node.kind.operator().walk(self, results.contains(&true));
        self.reset(mark);
    }

    fn input(&mut self, input: &crate::template::tree::Input) -> bool {
        match &input.source {
            // It may be given by the caller, or left out.
            InputSource::From(from) if !input.required || input.default.is_some() => {
                self.look_up(&from.path).unwrap_or(false)
            }
            // The caller's value stands in for one that is not there.
            InputSource::From(from) if self.look_up(&from.path).is_none() && (self.outside)(&input.name) => false,
            InputSource::From(from) => self.path(from, "inputs"),
            InputSource::Text(text) => self.text(text, "inputs"),
            InputSource::Operator(node) => {
                self.child(node, &input.name);
                true
            }
            InputSource::Caller => {
                let path = Path::variable(&input.name);
                let known = self.look_up(&path);
                if known.is_none() && input.required && input.default.is_none() {
                    let task = self.task.join("/");
                    let at = input.origin.spot;
                    let near = Vec::new();
                    self.found.push(Found::Unknown { path, at, field: "inputs", task, how: Use::Input, near });
                }
                known.unwrap_or(false)
            }
        }
    }

    fn file_paths(&mut self, paths: &FilePaths) {
        for path in &paths.paths {
            self.text(path, "file_paths");
        }
        self.text(&paths.query, "file_paths");
        self.command(&paths.command);
    }

    pub(super) fn script(&mut self, script: &Script) {
        for file in &script.input_files {
            self.path(&file.from, "input_file");
        }
        for file in &script.input_files {
            self.bind(&[&format!("files.{}", file.name)], false);
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

    /// A step by its id, and after one that lends them its parts by theirs (spec 8).
    pub(super) fn bind_ids(&mut self, step: &Node) {
        if step.kind.facts().lends_ids {
            step.kind.operator().nodes().into_iter().for_each(|part| self.bind_ids(part));
        }
        if let Some(id) = &step.id {
            self.bind(&[&format!("steps.{id}")], true);
        }
    }

    pub(super) fn argument(&mut self, argument: &Argument) {
        match &argument.value {
            ArgumentValue::Value(text) => drop(self.text(text, "arg")),
            ArgumentValue::From(from) => drop(self.path(from, "arg")),
            ArgumentValue::Operator(node) => self.child(node, "arg"),
            ArgumentValue::Unread => {}
            ArgumentValue::Bare(text) => {
                self.text(text, "arg");
                let Some(literal) = text.as_literal() else { return };
                // Only a single name is looked up: a path that leads somewhere was meant to be one, too.
                let taken = match Path::parse(literal) {
                    _ if is_ident(literal) => self.look_up(&Path::variable(literal)).is_none(),
                    Some(path) => self.is_bound(&path),
                    None => false,
                };
                if taken {
                    let task = self.task.join("/");
                    self.found.push(Found::Literal { text: literal.to_owned(), at: argument.origin.spot, task });
                }
            }
        }
    }
}
