//! The form of operators as data: the elements and attributes by which a text format reads and prints them, and the schema
//! files are made (spec 2). It says what may stand where, and knows no text.

mod blocks;

pub use blocks::*;

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// Text in which placeholders are filled.
    Filled,
    /// `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
    Ident,
    /// An identifier that may hold `.`.
    TemplateName,
    /// A template's name, or `template:` or `skill:` and a name.
    CallName,
    /// `true` or `false`.
    Bool,
    /// A whole number, both ends included.
    Int(u64, u64),
    /// A limit of the table of limits.
    Limit(crate::nouns::LimitRange),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A variable path.
    Path,
    /// An expression.
    Expression,
    /// A value type.
    Type,
    /// `ident[:type][=default]`, comma separated.
    Params,
    /// Words, comma separated.
    List,
    /// An identifier of a subtype; unknown ones are told of.
    Subtype,
    /// A schema word or `@NAME`.
    Schema,
    /// A JSON Schema.
    JsonSchema,
    /// A command line without a shell, filled.
    Command,
    /// The same without placeholders.
    PlainCommand,
}

/// A set of operators that are written as a `task`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskTypes(u32);

impl TaskTypes {
    /// A task with `ref`.
    pub const REF: Self = Self(1 << 31);
    /// All but `ref`.
    pub const TYPED: Self = Self(!Self::REF.0);
    /// All of them.
    pub const ALL: Self = Self(u32::MAX);

    /// The one at a place of the table.
    pub const fn nth(index: usize) -> Self {
        Self(1 << index)
    }

    /// Those of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether both sets share one.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// An attribute of an element.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// What it may hold.
    pub kind: ValueKind,
    /// Its absence is a fault.
    pub required: bool,
    /// What holds without it.
    pub default: Option<&'static str>,
    /// Of `task` alone: the operators that take it.
    pub on: TaskTypes,
}

/// A child of an element.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    /// What it is.
    pub element: &'static Element,
    /// Its absence is a fault.
    pub required: bool,
    /// It may stand there several times.
    pub many: bool,
    /// Of `task` alone: the operators that take it.
    pub on: TaskTypes,
}

/// What stands between the tags.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Only the children listed.
    Children,
    /// A value, which may be left out.
    Optional(ValueKind),
    /// A value.
    Value(ValueKind),
    /// Either children listed or a value.
    Either(ValueKind),
    /// One operator, or in short form the children of an atomic task.
    Slot,
    /// The children listed and exactly one operator.
    Body,
    /// One operator or more.
    Operators,
    /// Nothing, text with placeholders, or one operator.
    Argument,
}

/// An element.
#[derive(Debug)]
pub struct Element {
    /// Its name.
    pub name: &'static str,
    /// What its tag may hold.
    pub attributes: &'static [Attribute],
    /// What may stand inside it.
    pub children: &'static [Child],
    /// What else.
    pub content: Content,
}

impl Attribute {
    /// One that may be left out.
    pub const fn new(name: &'static str, kind: ValueKind) -> Self {
        Self { name, kind, required: false, default: None, on: TaskTypes::ALL }
    }

    /// It must be there.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// What holds without it.
    #[must_use]
    pub const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// Of `task`: it belongs to these operators.
    #[must_use]
    pub const fn on(mut self, on: TaskTypes) -> Self {
        self.on = on;
        self
    }
}

impl Child {
    /// One that may be left out.
    pub const fn new(element: &'static Element) -> Self {
        Self { element, required: false, many: false, on: TaskTypes::TYPED }
    }

    /// It must be there.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// It may stand there several times.
    #[must_use]
    pub const fn many(mut self) -> Self {
        self.many = true;
        self
    }

    /// Of `task`: it belongs to these operators.
    #[must_use]
    pub const fn on(mut self, on: TaskTypes) -> Self {
        self.on = on;
        self
    }
}

impl Element {
    /// A row.
    pub const fn new(
        name: &'static str,
        attributes: &'static [Attribute],
        children: &'static [Child],
        content: Content,
    ) -> Self {
        Self { name, attributes, children, content }
    }

    /// An element that holds only a value.
    pub const fn value(name: &'static str, kind: ValueKind) -> Self {
        Self::new(name, &[], &[], Content::Value(kind))
    }

    /// An element that holds one operator.
    pub const fn slot(name: &'static str) -> Self {
        Self::new(name, &[], &[], Content::Slot)
    }
}
