//! The form of operators as data (spec 2): the elements and attributes that text formats use to read and print them
//! and to generate schema files. It defines where elements may occur, and contains no text.

mod blocks;

pub use blocks::*;

/// The possible values of an attribute or element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// Text with placeholders.
    Filled,
    /// `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
    Ident,
    /// An identifier that may contain `.`.
    TemplateName,
    /// The name of a template, or `template:` or `skill:` followed by a name.
    CallName,
    /// `true` or `false`.
    Bool,
    /// A whole number in this range, including both ends.
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
    /// `ident[:type][=default]`, separated by commas.
    Params,
    /// Words, separated by commas.
    List,
    /// The identifier of a subtype. Unknown ones are reported.
    Subtype,
    /// A schema word or `@NAME`.
    Schema,
    /// A JSON Schema.
    JsonSchema,
    /// A command line without a shell, with placeholders.
    Command,
    /// A command line without a shell, without placeholders.
    PlainCommand,
}

/// A set of operators that are written as a `task`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskTypes(u32);

impl TaskTypes {
    /// A task with `ref`.
    pub const REF: Self = Self(1 << 31);
    /// All tasks except those with `ref`.
    pub const TYPED: Self = Self(!Self::REF.0);
    /// All tasks.
    pub const ALL: Self = Self(u32::MAX);

    /// The operator at this position of the table.
    pub const fn nth(index: usize) -> Self {
        Self(1 << index)
    }

    /// The union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the sets have a common member.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// An attribute of an element.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// Its possible values.
    pub kind: ValueKind,
    /// Whether it must be present.
    pub required: bool,
    /// The value if it is absent.
    pub default: Option<&'static str>,
    /// For `task` only: the operators that take it.
    pub on: TaskTypes,
}

/// A child of an element.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    /// The element.
    pub element: &'static Element,
    /// Whether it must be present.
    pub required: bool,
    /// Whether it may occur several times.
    pub many: bool,
    /// For `task` only: the operators that take it.
    pub on: TaskTypes,
}

/// The content of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Only the children listed.
    Children,
    /// An optional value.
    Optional(ValueKind),
    /// A required value.
    Value(ValueKind),
    /// Either the listed children or a value.
    Either(ValueKind),
    /// One operator, or in short form the children of an atomic task.
    Slot,
    /// The listed children and exactly one operator.
    Body,
    /// One or more operators.
    Operators,
    /// Nothing, text with placeholders, or one operator.
    Argument,
}

/// An element.
#[derive(Debug)]
pub struct Element {
    /// Its name.
    pub name: &'static str,
    /// Its attributes.
    pub attributes: &'static [Attribute],
    /// Its children.
    pub children: &'static [Child],
    /// Its other content.
    pub content: Content,
}

impl Attribute {
    /// An optional attribute.
    pub const fn new(name: &'static str, kind: ValueKind) -> Self {
        Self { name, kind, required: false, default: None, on: TaskTypes::ALL }
    }

    /// Makes it required.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Sets the value if it is absent.
    #[must_use]
    pub const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// For `task`: limits it to these operators.
    #[must_use]
    pub const fn on(mut self, on: TaskTypes) -> Self {
        self.on = on;
        self
    }
}

impl Child {
    /// An optional child.
    pub const fn new(element: &'static Element) -> Self {
        Self { element, required: false, many: false, on: TaskTypes::TYPED }
    }

    /// Makes it required.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Lets it occur several times.
    #[must_use]
    pub const fn many(mut self) -> Self {
        self.many = true;
        self
    }

    /// For `task`: limits it to these operators.
    #[must_use]
    pub const fn on(mut self, on: TaskTypes) -> Self {
        self.on = on;
        self
    }
}

impl Element {
    /// A row with the given attributes, children and content.
    pub const fn new(
        name: &'static str,
        attributes: &'static [Attribute],
        children: &'static [Child],
        content: Content,
    ) -> Self {
        Self { name, attributes, children, content }
    }

    /// An element that contains only a value.
    pub const fn value(name: &'static str, kind: ValueKind) -> Self {
        Self::new(name, &[], &[], Content::Value(kind))
    }

    /// An element that contains one operator.
    pub const fn slot(name: &'static str) -> Self {
        Self::new(name, &[], &[], Content::Slot)
    }
}
