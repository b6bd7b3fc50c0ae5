//! Shapes: what is known of a value before a run, from its declarations (spec 4, "Shapes"). A shape is the set of
//! kinds that a value may have. A value of which nothing is known may have all kinds, so it never causes an issue.

mod condition;
mod fields;
mod kinds;
mod schema;

pub use condition::{Constant, constants};
pub use fields::{Fields, Miss};
pub use kinds::Kinds;
pub use schema::{declared, of_schema};

use std::sync::Arc;

use serde_json::Value;

use crate::template::tree::ValueType;

/// The origin of a value, which determines the names that are found beside its fields (spec 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is not a result.
    Plain,
    /// It may be a result.
    Perhaps,
    /// It is the result of a task.
    Task,
    /// It is the result of a process.
    Process,
    /// It is an evaluation of a loop.
    Evaluation,
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The kinds that it may have.
    pub kinds: Kinds,
    /// The texts that it may be. `None` if it may be any text.
    pub words: Option<Arc<[String]>>,
    /// The shape of the elements of a list. `None` if it is unknown.
    pub element: Option<Arc<Shape>>,
    /// The fields of a map. `None` if they are unknown.
    pub fields: Option<Arc<Fields>>,
    /// Whether it may be missing.
    pub absent: bool,
    /// Its origin.
    pub source: Source,
}

impl Shape {
    /// A value of certain kinds, of which nothing else is known.
    pub fn of(kinds: Kinds) -> Self {
        Self { kinds, words: None, element: None, fields: None, absent: false, source: Source::Plain }
    }

    /// A JSON value of which nothing is known.
    pub fn any() -> Self {
        Self::of(Kinds::ALL)
    }

    /// A value of which nothing is known, which may be a result.
    pub fn unknown() -> Self {
        Self::any().from(Source::Perhaps)
    }

    /// A text.
    pub fn text() -> Self {
        Self::of(Kinds::TEXT)
    }

    /// A number.
    pub fn number() -> Self {
        Self::of(Kinds::NUMBER)
    }

    /// True or false.
    pub fn boolean() -> Self {
        Self::of(Kinds::BOOLEAN)
    }

    /// A text that is one of these words.
    pub fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self { words: Some(words.into_iter().map(str::to_owned).collect()), ..Self::text() }
    }

    /// A list.
    pub fn list(element: Self) -> Self {
        Self { element: Some(Arc::new(element)), ..Self::of(Kinds::LIST) }
    }

    /// A map.
    pub fn map(fields: Fields) -> Self {
        Self { fields: Some(Arc::new(fields)), ..Self::of(Kinds::MAP) }
    }

    /// A value that an author wrote. Its exact text is ignored, because it may be changed later.
    pub fn of_value(value: &Value) -> Self {
        match value {
            Value::Array(list) => {
                let element = list.iter().map(Self::of_value).fold(Self::of(Kinds::NONE), |all, one| all.or(&one));
                Self::list(element)
            }
            Value::Object(map) => {
                let named = map.iter().map(|(name, value)| (name.clone(), Arc::new(Self::of_value(value))));
                Self::map(Fields { named: named.collect(), open: false })
            }
            other => Self::of(Kinds::of_value(other)),
        }
    }

    /// A value of a declared type.
    pub fn of_type(kind: ValueType) -> Self {
        match kind {
            ValueType::StringArray => Self::list(Self::text()),
            other => Self::of(Kinds::of_type(other)),
        }
    }

    /// The same shape with another origin.
    #[must_use]
    pub fn from(self, source: Source) -> Self {
        Self { source, ..self }
    }

    /// The same shape, which may be missing.
    #[must_use]
    pub fn missing(self, absent: bool) -> Self {
        Self { absent: self.absent || absent, ..self }
    }

    /// The same shape as a JSON value that is not a result.
    #[must_use]
    pub fn value(self) -> Self {
        self.from(Source::Plain)
    }

    /// The same shape, or null.
    #[must_use]
    pub fn or_null(self) -> Self {
        Self { kinds: self.kinds.or(Kinds::NULL), ..self }
    }

    /// The same shape, or any text.
    #[must_use]
    pub fn or_text(self) -> Self {
        Self { kinds: self.kinds.or(Kinds::TEXT), words: None, ..self }
    }

    /// Whether no value has this shape, as for the elements of an empty list.
    pub fn is_never(&self) -> bool {
        self.kinds == Kinds::NONE
    }

    /// The shape of a value that is one or the other.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let absent = self.absent || other.absent;
        match (self.is_never(), other.is_never()) {
            (true, _) => return other.clone().missing(absent),
            (_, true) => return self.clone().missing(absent),
            _ => {}
        }
        let both = |kind| self.kinds.meets(kind) && other.kinds.meets(kind);
        let words = match (&self.words, &other.words) {
            (Some(words), Some(others)) => {
                let new = others.iter().filter(|word| !words.contains(word));
                Some(words.iter().chain(new).cloned().collect())
            }
            (words, others) if !both(Kinds::TEXT) => words.clone().or_else(|| others.clone()),
            _ => None,
        };
        let element = match (&self.element, &other.element) {
            (Some(element), Some(other)) => Some(Arc::new(element.or(other))),
            (element, other) if !both(Kinds::LIST) => element.clone().or_else(|| other.clone()),
            _ => None,
        };
        let fields = match (&self.fields, &other.fields) {
            (Some(fields), Some(others)) => Some(Arc::new(fields.or(others))),
            (fields, others) if !both(Kinds::MAP) => fields.clone().or_else(|| others.clone()),
            _ => None,
        };
        let source = if self.source == other.source { self.source } else { Source::Perhaps };
        Self { kinds: self.kinds.or(other.kinds), words, element, fields, absent, source }
    }

    /// Whether a value may have both shapes.
    pub fn may_be(&self, other: &Self) -> bool {
        if self.is_never() || other.is_never() {
            return true;
        }
        let shared = self.kinds.and(other.kinds);
        let apart = match (&self.words, &other.words) {
            (Some(words), Some(others)) => !words.iter().any(|word| others.contains(word)),
            _ => false,
        };
        shared != Kinds::NONE && !(shared == Kinds::TEXT && apart)
    }

    /// Whether a place with the shape `wanted` takes a value of this shape. A list with elements of other kinds does
    /// not fit, although it may be empty.
    pub fn fits(&self, wanted: &Self) -> bool {
        let lists = self.kinds.and(wanted.kinds) == Kinds::LIST;
        let elements = self.element.as_deref().zip(wanted.element.as_deref());
        self.may_be(wanted) && !(lists && elements.is_some_and(|(own, wanted)| !own.may_be(wanted)))
    }

    /// Whether `<` and similar comparisons may be true: both are numbers or both are texts.
    pub fn has_order_with(&self, other: &Self) -> bool {
        let both = |kind| self.kinds.meets(kind) && other.kinds.meets(kind);
        self.is_never() || other.is_never() || both(Kinds::NUMBER) || both(Kinds::TEXT)
    }

    /// Whether it is always true: a list or a map that exists, or one of several non-empty words.
    pub fn is_always_true(&self) -> bool {
        let worded = self.kinds == Kinds::TEXT && self.words.iter().any(|words| !words.iter().any(String::is_empty));
        !self.absent && !self.is_never() && (worded || self.kinds.is_within(Kinds::LIST.or(Kinds::MAP)))
    }

    /// The shape in words.
    pub fn in_words(&self) -> String {
        let text = match self.words.as_deref() {
            None => "a text".to_owned(),
            Some([one]) if one.is_empty() => "an empty text".to_owned(),
            Some([one]) => format!("the text `{one}`"),
            Some(several) => format!("one of `{}`", several.join("`, `")),
        };
        match &self.element {
            Some(element) if self.kinds == Kinds::LIST && !element.is_never() && element.kinds != Kinds::ALL => {
                match element.words.as_deref().filter(|_| element.kinds == Kinds::TEXT) {
                    Some(words) => format!("a list of `{}`", words.join("`, `")),
                    None => format!("a list of {}", element.kinds.several()),
                }
            }
            _ => self.kinds.in_words(&text),
        }
    }
}
