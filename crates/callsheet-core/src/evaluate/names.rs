//! Names in scope (spec 4, 8): what surrounds a task, and what its operator binds for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::nouns::BlobId;
use crate::record::{Plan, Tree};
use crate::run::{ChildSlot, NodeInstance};
use crate::template::operators::Names;
use crate::template::{Bound, Datum, Environment, Evaluated, InputFault, Node, Template, Trust, bind_call};

use super::gave::{Gathered, Said};
use super::known_files::known_file_paths;
use super::{Evaluator, Formats};

/// What a task bound when it was opened, in the form for everything below it.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownNames {
    pub bound: Arc<BTreeMap<String, Bound>>,
    pub items: Vec<(String, Bound)>,
}

/// Names that were already read, by their hashes. The content of this cache does not change evaluations.
#[derive(Debug, Default)]
pub struct Memory {
    names: BTreeMap<BlobId, Arc<KnownNames>>,
    /// The root names of each tree, and the request from which they were made, because a caller may give long lists.
    roots: BTreeMap<usize, (String, Arc<BTreeMap<String, Bound>>)>,
    /// What parts of a task gave, by the number of the task.
    pub(super) gathered: BTreeMap<usize, Gathered>,
    pub(super) said: BTreeMap<usize, Said>,
}

fn parameters(tree: &Tree) -> Option<Result<BTreeMap<String, Bound>, InputFault>> {
    let template = tree.templates.get(&tree.entry)?;
    let params = template.params.as_ref()?;
    let given = tree.variables.iter().filter(|(name, _)| params.iter().any(|param| param.name == **name));
    let given = given.map(|(name, value)| Evaluated {
        name: Some(name.clone()),
        bound: Bound::json(value.clone(), Trust::Caller),
        literal: value.is_string(),
    });
    let root = Arc::new(Environment::root([]));
    let bound = bind_call(template, given.collect(), &root, &template.origin, &template.name);
    Some(bound.map(|environment| environment.own().clone()))
}

/// The names with which a run begins.
pub(super) fn root(tree: &Tree, prompt: &str) -> BTreeMap<String, Bound> {
    let caller = |value: &Value| Bound::json(value.clone(), Trust::Caller);
    let variables = tree.variables.iter().map(|(name, value)| (name.clone(), caller(value)));
    if let Some(Ok(parameters)) = parameters(tree) {
        return parameters;
    }
    let request = ("request".to_owned(), caller(&Value::from(prompt)));
    [request].into_iter().chain(variables).collect()
}

/// Paths of `file_paths` that are known before the first call: those that authors wrote out in any template of the
/// tree, and those from the caller's values (spec 5).
pub fn known_paths(tree: &Tree, formats: &dyn Formats) -> BTreeSet<String> {
    let mut paths = known_file_paths(tree, formats);
    paths.extend(tree.templates.values().flat_map(written_paths).map(|(path, _)| path.to_owned()));
    paths
}

/// What is wrong with the values that the caller gave to a function template. `None` if nothing is.
pub fn input_fault(tree: &Tree) -> Option<InputFault> {
    parameters(tree)?.err()
}

/// Paths of `file_paths` without a placeholder, and the tasks that name them.
pub(super) fn written_paths(template: &Template) -> impl Iterator<Item = (&str, &Node)> {
    let nodes = template.body.walk().into_iter();
    nodes.flat_map(|node| {
        node.refs.iter().flat_map(|refs| &refs.paths).filter_map(move |path| Some((path.as_literal()?, node)))
    })
}

/// How many operators have their names cached: more than surround one task.
const KEPT: usize = 64;

impl Memory {
    fn keep(&mut self, id: &BlobId, names: &Arc<KnownNames>) {
        if self.names.len() >= KEPT {
            self.names.clear();
        }
        self.names.insert(id.clone(), Arc::clone(names));
    }

    pub(super) fn keep_gathered(&mut self, task: usize, gathered: Gathered) {
        if self.gathered.len() >= KEPT {
            self.gathered.clear();
        }
        self.gathered.insert(task, gathered);
    }

    pub(super) fn keep_said(&mut self, task: usize, said: Said) {
        if self.said.len() >= KEPT {
            self.said.clear();
        }
        self.said.insert(task, said);
    }

    /// A task came back: nothing more is read of its parts.
    pub(super) fn forget(&mut self, task: usize) {
        self.gathered.remove(&task);
        self.said.remove(&task);
    }
}

impl Evaluator<'_> {
    /// What a task bound when it was opened.
    pub(super) fn names(&self, op: &NodeInstance) -> Arc<KnownNames> {
        let Some(id) = op.opened.as_ref().and_then(|opened| opened.names.as_ref()) else { return Arc::default() };
        if let Some(known) = self.memory.borrow().names.get(id) {
            return Arc::clone(known);
        }
        let Names { bound, items } = self.value(id).unwrap_or_default();
        let known = Arc::new(KnownNames { bound: Arc::new(bound), items });
        // The names of a leaf are needed only once.
        if !op.is_leaf() {
            self.memory.borrow_mut().keep(id, &known);
        }
        known
    }

    /// The lowest trust of the sources of a task.
    pub(super) fn trust(&self, op: &NodeInstance) -> Trust {
        match op.opened.as_ref().map(|opened| &opened.plan) {
            Some(Plan::Handler(_)) => Trust::Model,
            Some(Plan::Process { .. }) => Trust::Tool,
            // Its error may contain what a model wrote.
            None if op.failed() => Trust::Model,
            _ => {
                let below = self.children(op).into_iter().map(|child| self.trust(child)).max().unwrap_or_default();
                let own = self.known(op).map(|known| known.node.kind.operator().trust(&known));
                below.max(own.unwrap_or_default())
            }
        }
    }

    pub(super) fn bound(&self, op: &NodeInstance) -> Bound {
        Bound::result(self.timeless(op), self.trust(op))
    }

    /// The environment of a task, without its own inputs.
    pub(super) fn scope(&self, op: &NodeInstance) -> Arc<Environment> {
        self.scope_in(op, &self.ambient(op))
    }

    /// Like `scope`, but with what the task itself bound.
    pub(super) fn own_scope(&self, op: &NodeInstance) -> Environment {
        self.scope(op).around(Arc::clone(&self.names(op).bound))
    }

    /// What the system knows about a task, as the outermost environment (spec 4).
    pub(super) fn ambient(&self, op: &NodeInstance) -> Arc<Environment> {
        Arc::new(Environment::ambient(self.given(op)))
    }

    fn scope_in(&self, op: &NodeInstance, ambient: &Arc<Environment>) -> Arc<Environment> {
        let Some(above) = self.parent(op) else { return Arc::new(ambient.around(self.root(op))) };
        match op.place {
            ChildSlot::Body => self.called(above, ambient),
            ChildSlot::Match => Arc::new(ambient.inner(self.candidates(above))),
            ChildSlot::Split => Arc::new(ambient.inner(self.failed_task(above))),
            _ => {
                let own = Arc::new(self.scope_in(above, ambient).around(Arc::clone(&self.names(above).bound)));
                let mut names = self.binds(above, op.place);
                add_outer_steps(&mut names, &own);
                Arc::new(own.inner(names))
            }
        }
    }

    /// The arguments of the caller for a function template, with its defaults. `None` if the entry is a standard
    /// template, which sees every variable.
    ///
    /// # Errors
    /// Parameters without a value, values of wrong types.
    pub(super) fn parameters(&self) -> Option<Result<BTreeMap<String, Bound>, InputFault>> {
        parameters(self.tree)
    }

    fn root(&self, op: &NodeInstance) -> Arc<BTreeMap<String, Bound>> {
        let request = self.request(op);
        let mut memory = self.memory.borrow_mut();
        if let Some((of, known)) = memory.roots.get(&op.mount)
            && of == request
        {
            return Arc::clone(known);
        }
        let names = Arc::new(root(self.tree, request));
        memory.roots.insert(op.mount, (request.to_owned(), Arc::clone(&names)));
        names
    }

    /// The environment of a called template: a fresh root for a function template, the caller's chain for a standard
    /// one.
    fn called(&self, call: &NodeInstance, ambient: &Arc<Environment>) -> Arc<Environment> {
        let names = Arc::clone(&self.names(call).bound);
        if call.place.is_subtask() {
            // A fresh root with the inputs of the request, for any kind of template (spec 12).
            return Arc::new(ambient.around(names));
        }
        let called = self.node(call).and_then(|node| node.template.as_deref()).and_then(|name| self.template(name));
        if called.is_some_and(crate::template::Template::is_function) {
            Arc::new(ambient.around(names))
        } else {
            Arc::new(self.scope_in(call, ambient).around(names))
        }
    }

    /// The read-only names of every task.
    fn given(&self, op: &NodeInstance) -> [(String, Bound); 2] {
        let map = |pairs: [(&str, &str); 2]| {
            let pairs = pairs.map(|(name, text)| (name.to_owned(), Bound::json(text, Trust::Author)));
            Bound { datum: Datum::Map(Arc::new(pairs.into_iter().collect())), trust: Trust::Author }
        };
        let run = self.run.id().map(crate::nouns::RunId::as_str).unwrap_or_default();
        let name = self.node(op).and_then(|node| node.name.as_deref()).unwrap_or(op.id.as_str());
        [
            ("run".to_owned(), map([("id", run), ("date", &self.tree.date)])),
            ("task".to_owned(), map([("id", op.id.as_str()), ("name", name)])),
        ]
    }

    /// What the operator `above` binds for its child at this place.
    fn binds(&self, above: &NodeInstance, place: ChildSlot) -> Vec<(String, Bound)> {
        self.known(above).map(|known| known.node.kind.operator().binds(&known, place)).unwrap_or_default()
    }

    pub(super) fn element(&self, above: &NodeInstance, index: u32) -> Option<(String, Bound)> {
        self.names(above).items.get(usize::try_from(index).ok()?).cloned()
    }
}

/// Adds the steps of outer sequences. An equal id of an inner step hides the outer step (spec 4).
fn add_outer_steps(names: &mut [(String, Bound)], around: &Environment) {
    let Some(outer) = around.name("steps") else { return };
    let Some((_, inner)) = names.iter_mut().find(|(name, _)| name == "steps") else { return };
    if let (Datum::Map(outer), Datum::Map(inner_steps)) = (&outer.datum, &mut inner.datum) {
        let inner_steps = Arc::make_mut(inner_steps);
        for (id, bound) in outer.iter() {
            inner_steps.entry(id.clone()).or_insert_with(|| bound.clone());
            inner.trust = inner.trust.max(bound.trust);
        }
    }
}
