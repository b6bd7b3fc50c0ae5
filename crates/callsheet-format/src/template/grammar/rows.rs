//! The shape of the table.

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::template) enum Kind {
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
    Limit(callsheet_core::spec::LimitRange),
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

/// A set of operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) struct Operators(pub(in crate::template) u8);

impl Operators {
    pub(in crate::template) const ATOMIC: Self = Self(1);
    pub(in crate::template) const SEQUENTIAL: Self = Self(2);
    pub(in crate::template) const REDUCE: Self = Self(4);
    pub(in crate::template) const SCRIPT: Self = Self(8);
    pub(in crate::template) const LOOP: Self = Self(16);
    pub(in crate::template) const MAP: Self = Self(32);
    /// A task with `ref`.
    pub(in crate::template) const REF: Self = Self(64);
    /// All but `ref`.
    pub(in crate::template) const TYPED: Self = Self(63);
    pub(in crate::template) const ALL: Self = Self(127);

    pub(in crate::template) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(in crate::template) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Values of `type`, in table order.
pub(in crate::template) const OPERATOR_TYPES: &[&str] =
    &["atomic", "sequential", "reduce", "script", "director_evaluator_loop", "map"];

/// The operator a value of `type` names.
pub(in crate::template) fn operators_of(word: &str) -> Option<Operators> {
    Some(match word {
        "atomic" => Operators::ATOMIC,
        "sequential" => Operators::SEQUENTIAL,
        "reduce" => Operators::REDUCE,
        "script" => Operators::SCRIPT,
        "director_evaluator_loop" => Operators::LOOP,
        "map" => Operators::MAP,
        _ => return None,
    })
}

/// Elements that may stand where an operator may.
pub(in crate::template) const OPERATOR_ELEMENTS: &[&str] = &["task", "call", "cond", "parallel"];

/// Whether an element is an operator.
pub(in crate::template) fn is_operator_element(name: &str) -> bool {
    OPERATOR_ELEMENTS.contains(&name)
}

/// An attribute of an element.
#[derive(Debug)]
pub(in crate::template) struct Attribute {
    pub(in crate::template) name: &'static str,
    pub(in crate::template) kind: Kind,
    pub(in crate::template) required: bool,
    /// What holds without it.
    pub(in crate::template) default: Option<&'static str>,
    /// Of `task` alone: the operators that take it.
    pub(in crate::template) on: Operators,
}

/// A child of an element.
#[derive(Debug)]
pub(in crate::template) struct Child {
    pub(in crate::template) element: &'static Element,
    pub(in crate::template) required: bool,
    pub(in crate::template) many: bool,
    /// Of `task` alone: the operators that take it.
    pub(in crate::template) on: Operators,
}

/// What stands between the tags.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::template) enum Content {
    /// Only the children listed.
    Children,
    /// A value, which may be left out.
    Optional(Kind),
    /// A value.
    Value(Kind),
    /// Either children listed or a value.
    Either(Kind),
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
pub(in crate::template) struct Element {
    pub(in crate::template) name: &'static str,
    pub(in crate::template) attributes: &'static [Attribute],
    pub(in crate::template) children: &'static [Child],
    pub(in crate::template) content: Content,
}

impl Attribute {
    pub(super) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: false, default: None, on: Operators::ALL }
    }

    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(super) const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    pub(super) const fn on(mut self, on: Operators) -> Self {
        self.on = on;
        self
    }
}

impl Child {
    pub(super) const fn new(element: &'static Element) -> Self {
        Self { element, required: false, many: false, on: Operators::TYPED }
    }

    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(super) const fn many(mut self) -> Self {
        self.many = true;
        self
    }

    pub(super) const fn on(mut self, on: Operators) -> Self {
        self.on = on;
        self
    }
}

impl Element {
    pub(super) const fn new(
        name: &'static str,
        attributes: &'static [Attribute],
        children: &'static [Child],
        content: Content,
    ) -> Self {
        Self { name, attributes, children, content }
    }

    /// An element that holds only a value.
    pub(super) const fn value(name: &'static str, kind: Kind) -> Self {
        Self::new(name, &[], &[], Content::Value(kind))
    }
}
