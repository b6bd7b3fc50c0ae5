//! What is known of the values that names stand for.

use std::sync::Arc;

use crate::template::shape::Shape;

/// What is known of a value at the place where it is used.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its shape.
    pub shape: Shape,
    /// Whether it comes from a model, a tool or a file.
    pub result: bool,
    /// The value of the caller from which it is made.
    pub of_caller: Option<Arc<str>>,
    /// The names from which it is made, each in backticks.
    pub way: Option<Arc<str>>,
    /// Whether it is the outcome of a test that its loop does not have.
    pub untested: bool,
    /// Whether it is the result of a command whose task fails with any other exit code than 0.
    pub ended_well: bool,
}

impl Seen {
    /// A value of the system or an author.
    pub fn own(shape: Shape) -> Self {
        Self { shape, result: false, of_caller: None, way: None, untested: false, ended_well: false }
    }

    /// A value from a model, a tool or a file.
    pub fn result(shape: Shape) -> Self {
        Self { result: true, ..Self::own(shape) }
    }

    /// The same value with another shape.
    #[must_use]
    pub fn with(&self, shape: Shape) -> Self {
        Self { shape, ..self.clone() }
    }

    /// A value that is one or the other, and so has both origins.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let first = if self.result || !other.result { &self } else { &other };
        Self {
            shape: self.shape.or(&other.shape),
            result: self.result || other.result,
            way: first.way.clone(),
            of_caller: self.of_caller.clone().or(other.of_caller),
            untested: false,
            ended_well: false,
        }
    }
}
