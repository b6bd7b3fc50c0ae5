//! Names before a run, as far as they are known: what is given or written has its value, the rest comes later (spec 4).

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::template::value::Path;

use super::{Bound, Environment};

/// What is known of a name.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    /// It has a value already.
    Value(Rc<Bound>),
    /// A later step gives it.
    Later,
}

impl Seen {
    pub(super) fn value(bound: Bound) -> Self {
        Self::Value(Rc::new(bound))
    }
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Later, Self::Later) => true,
            (Self::Value(one), Self::Value(two)) => Rc::ptr_eq(one, two) || one == two,
            _ => false,
        }
    }
}

/// What a path leads to.
pub(super) enum Look {
    Value(Bound),
    Later,
    /// Nothing binds its name.
    Unbound,
    /// The way into a value that is known ends.
    Gone,
}

/// Names in scope; inner ones hide outer ones.
#[derive(Debug)]
pub(super) struct Scope {
    names: BTreeMap<String, Seen>,
    outer: Option<Rc<Scope>>,
    /// A caller that is not known may give further names.
    open: bool,
}

impl Scope {
    pub(super) fn root(names: BTreeMap<String, Seen>, open: bool) -> Rc<Self> {
        Rc::new(Self { names, outer: None, open })
    }

    /// Of an environment whose names are all there.
    pub(super) fn given(environment: &Environment) -> Rc<Self> {
        Self::root(environment.visible().map(|(name, bound)| (name, Seen::value(bound))).collect(), false)
    }

    pub(super) fn inner(self: &Rc<Self>, names: BTreeMap<String, Seen>) -> Rc<Self> {
        if names.is_empty() {
            return Rc::clone(self);
        }
        Rc::new(Self { names, outer: Some(Rc::clone(self)), open: self.open })
    }

    /// The same names without their values.
    pub(super) fn guarded(&self) -> Rc<Self> {
        Self::root(self.all().into_keys().map(|name| (name, Seen::Later)).collect(), self.open)
    }

    fn bound(&self, name: &str) -> Option<&Seen> {
        let mut here = self;
        loop {
            if let Some(seen) = here.names.get(name) {
                return Some(seen);
            }
            here = here.outer.as_deref()?;
        }
    }

    /// A variable. Those of the system are none, only their fields are.
    pub(super) fn variable(&self, name: &str) -> Option<Seen> {
        self.bound(name).cloned().or(self.open.then_some(Seen::Later))
    }

    pub(super) fn find(&self, path: &Path) -> Look {
        match self.bound(&path.name) {
            Some(Seen::Later) => Look::Later,
            Some(Seen::Value(bound)) => bound.at(&path.steps).map_or(Look::Gone, Look::Value),
            None if self.open || path.is_of_the_system() => Look::Later,
            None => Look::Unbound,
        }
    }

    /// Every name that can be seen, to tell two environments apart.
    pub(super) fn all(&self) -> BTreeMap<String, Seen> {
        let mut all = BTreeMap::new();
        let mut here = Some(self);
        while let Some(scope) = here {
            for (name, seen) in &scope.names {
                all.entry(name.clone()).or_insert_with(|| seen.clone());
            }
            here = scope.outer.as_deref();
        }
        all
    }
}
