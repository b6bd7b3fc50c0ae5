//! Files that a run will need according to its author and its caller, found before its first call (spec 5): what
//! `file_paths` name after the caller's values are filled in, for each element of a list from the caller.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::record::Tree;
use crate::template::{
    ArgumentValue, Bound, Environment, FileSource, Filled, Input, InputSource, Node, Origin, Template, Trust,
    argument_value, resolve_text,
};

use super::Formats;
use super::names::root;

/// The maximum number of tasks that are examined: a list may be long, and templates may call each other.
const MOST: usize = 20_000;

/// How deep calls within calls are followed.
const DEEPEST: usize = 8;

/// A placeholder for any element, to see whether a list names files.
const ANY: &str = "\u{0}";

/// Files that are known before the first call, each with the task that needs it.
#[derive(Debug, Default)]
pub(super) struct KnownFiles<'t> {
    /// Paths and patterns.
    pub files: Vec<(String, &'t Node)>,
    /// Values of the caller that do not name a file where files are needed, under the task's name for them, with their
    /// kind.
    pub none: Vec<(String, &'static str)>,
}

/// The files that the tasks of a tree need because of the caller's values. Excluded are paths without a placeholder,
/// paths that depend on a condition or a result, and files that the task itself or an earlier one may write.
pub(super) fn known_files<'t>(tree: &'t Tree, formats: &dyn Formats, writes: &dyn Fn(&Node) -> bool) -> KnownFiles<'t> {
    let Some(entry) = tree.templates.get(&tree.entry) else { return KnownFiles::default() };
    let names = Arc::new(Environment::root(root(tree, "")));
    let found = KnownFiles::default();
    let mut search = Search { tree, formats, writes, left: MOST, calls: 0, written: false, found };
    search.node(&entry.body, &names);
    search.found
}

/// The same paths as [`known_files`], for the shell to check.
pub(super) fn known_file_paths(tree: &Tree, formats: &dyn Formats) -> BTreeSet<String> {
    known_files(tree, formats, &|_| false).files.into_iter().map(|(path, _)| path).collect()
}

/// If a path was filled with a list, or with the links of a sheet's task (spec 16), each of its paths. An empty path
/// gives none.
pub(super) fn listed(path: &str, formats: &dyn Formats) -> Vec<String> {
    if path.trim().is_empty() {
        return Vec::new();
    }
    if let Ok(paths) = serde_json::from_str::<Vec<String>>(path) {
        return paths;
    }
    let links = formats.linked_paths(path);
    if links.is_empty() { vec![path.to_owned()] } else { links }
}

/// A name whose value is known only during the run.
fn unknown() -> Bound {
    Bound::json(Value::Null, Trust::Model)
}

struct Search<'t, 'f> {
    tree: &'t Tree,
    formats: &'f dyn Formats,
    writes: &'f dyn Fn(&Node) -> bool,
    left: usize,
    calls: usize,
    /// Whether a task so far may change files.
    written: bool,
    found: KnownFiles<'t>,
}

impl<'t> Search<'t, '_> {
    fn node(&mut self, node: &'t Node, around: &Arc<Environment>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let inputs: Vec<(String, Bound)> =
            node.inputs.iter().map(|input| (input.name.clone(), self.input(input, around))).collect();
        let own = Arc::new(around.inner(inputs));
        self.written |= (self.writes)(node);
        self.paths(node, &own);
        let facts = node.kind.facts();
        if facts.guards {
            // The effects of its calls are not followed.
            self.written |= node.walk().into_iter().any(|part| part.template.is_some() || (self.writes)(part));
            return;
        }
        if let Some(called) = node.template.as_deref().and_then(|name| self.tree.templates.get(name)) {
            return self.call(node, called, &own);
        }
        let operator = node.kind.operator();
        let binds = facts.binds.iter().copied().chain(operator.item());
        let inner = Arc::new(own.inner(binds.map(|name| (name.to_owned(), unknown()))));
        let list = operator.items().and_then(|items| Some((items, own.find(&items.path).filter(is_known)?)));
        let Some((items, list, name)) = list.and_then(|(items, list)| Some((items, list, operator.element()?))) else {
            return operator.nodes().into_iter().for_each(|part| self.node(part, &inner));
        };
        let value = list.value();
        let elements = value.as_array().map(Vec::as_slice).unwrap_or_default();
        // No element waits for what another one writes.
        let written = self.written;
        let each = |search: &mut Self, element: Value| {
            let names = Arc::new(inner.inner([(name.to_owned(), Bound::json(element, list.trust))]));
            let before = std::mem::replace(&mut search.written, written);
            operator.nodes().into_iter().for_each(|part| search.node(part, &names));
            search.written |= before;
        };
        if elements.is_empty() && list.trust == Trust::Caller {
            let before = self.found.files.len();
            each(self, Value::from(ANY));
            let named = self.found.files.drain(before..).any(|(path, _)| path.contains(ANY));
            let given = if value.is_array() { "an empty list" } else { "no list" };
            self.found.none.extend(named.then(|| (items.path.to_string(), given)));
        }
        for element in elements {
            each(self, element.clone());
        }
    }

    fn input(&mut self, input: &'t Input, around: &Arc<Environment>) -> Bound {
        let given = || around.name(&input.name).cloned();
        let default = || input.default.as_deref().map(|text| Bound::json(text, Trust::Author));
        match &input.source {
            InputSource::Caller => given().or_else(default).unwrap_or_else(unknown),
            InputSource::From(from) => around.find(&from.path).unwrap_or_else(unknown),
            InputSource::Text(text) => filled(text, around).unwrap_or_else(unknown),
            InputSource::Operator(node) => {
                self.node(node, around);
                unknown()
            }
        }
    }

    fn paths(&mut self, node: &'t Node, own: &Environment) {
        let Some(refs) = node.refs.as_ref().filter(|refs| refs.source == FileSource::Literal) else { return };
        if self.written {
            return;
        }
        for path in refs.paths.iter().filter(|path| path.as_literal().is_none()) {
            let Some(value) = filled(path, own).filter(is_known) else { continue };
            let empty = value.value().as_array().is_some_and(Vec::is_empty) && value.trust == Trust::Caller;
            if let Some(name) = path.single().filter(|_| empty) {
                self.found.none.push((name.to_string(), "an empty list"));
            }
            let paths = listed(&value.text(), self.formats);
            self.found.files.extend(paths.into_iter().map(|path| (path, node)));
        }
    }

    /// Follows a call with the known arguments.
    fn call(&mut self, node: &'t Node, called: &'t Template, own: &Arc<Environment>) {
        let params = called.params.as_deref().unwrap_or_default();
        let defaults = params.iter().map(|param| {
            let default = param.default.as_deref().map(|text| Bound::json(text, Trust::Author));
            (param.name.clone(), default.unwrap_or_else(unknown))
        });
        let mut names: Vec<(String, Bound)> = defaults.collect();
        names.extend(own.own().iter().map(|(name, bound)| (name.clone(), bound.clone())));
        let mut place = 0;
        for argument in node.kind.operator().arguments() {
            let value = match &argument.value {
                ArgumentValue::Operator(nested) => {
                    self.node(nested, own);
                    unknown()
                }
                _ => argument_value(argument, own, "", None).map_or_else(|_| unknown(), |value| value.bound),
            };
            let name = argument.name.clone().or_else(|| Some(params.get(place)?.name.clone()));
            place += usize::from(argument.name.is_none());
            names.extend(name.map(|name| (name, value)));
        }
        if self.calls >= DEEPEST {
            return;
        }
        self.calls += 1;
        let names = if called.is_function() { Environment::root(names) } else { own.inner(names) };
        self.node(&called.body, &Arc::new(names));
        self.calls -= 1;
    }
}

/// Whether a value comes from an author or a caller.
fn is_known(bound: &Bound) -> bool {
    bound.trust <= Trust::Caller
}

/// A text with the known values filled in. `None` if one is missing.
fn filled(text: &Filled, names: &Environment) -> Option<Bound> {
    if let Some(path) = text.single() {
        return names.find(path);
    }
    let mut missing = Vec::new();
    let resolved = resolve_text(text, names, "", &Origin::default(), "", &mut missing);
    missing.is_empty().then(|| Bound::json(resolved.as_str(), resolved.trust()))
}
