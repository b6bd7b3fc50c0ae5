//! Sets of kinds of JSON values.

use serde_json::Value;

use crate::template::tree::ValueType;

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// `null`.
    pub const NULL: Self = Self(1);
    /// `true` and `false`.
    pub const BOOLEAN: Self = Self(2);
    /// Numbers.
    pub const NUMBER: Self = Self(4);
    /// Strings.
    pub const TEXT: Self = Self(8);
    /// Arrays.
    pub const LIST: Self = Self(16);
    /// Objects.
    pub const MAP: Self = Self(32);
    /// All kinds.
    pub const ALL: Self = Self(63);

    /// The names of each kind: singular and plural for people, and the word of JSON Schema.
    const WORDS: [(Self, &str, &str, &str); 6] = [
        (Self::TEXT, "a text", "texts", "string"),
        (Self::NUMBER, "a number", "numbers", "number"),
        (Self::BOOLEAN, "true or false", "booleans", "boolean"),
        (Self::LIST, "a list", "lists", "array"),
        (Self::MAP, "a map", "maps", "object"),
        (Self::NULL, "null", "nulls", "null"),
    ];

    /// The union of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the sets have a common kind.
    pub fn meets(self, other: Self) -> bool {
        self.and(other) != Self::NONE
    }

    /// Whether the other set contains every kind of this one.
    pub fn is_within(self, other: Self) -> bool {
        self.and(other) == self
    }

    /// The kind of a value.
    pub fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::TEXT,
            Value::Array(_) => Self::LIST,
            Value::Object(_) => Self::MAP,
        }
    }

    /// The kinds of a declared type.
    pub fn of_type(kind: ValueType) -> Self {
        match kind {
            ValueType::Any => Self::ALL,
            ValueType::String => Self::TEXT,
            ValueType::Number => Self::NUMBER,
            ValueType::Boolean => Self::BOOLEAN,
            ValueType::Object => Self::MAP,
            ValueType::Array | ValueType::StringArray => Self::LIST,
        }
    }

    /// The kind of a type of JSON Schema.
    pub fn of_word(word: &str) -> Option<Self> {
        let word = if word == "integer" { "number" } else { word };
        Self::WORDS.iter().find(|(.., known)| *known == word).map(|(kind, ..)| *kind)
    }

    /// The set in words: `a text or a number`. `text` is the word for texts.
    pub fn in_words(self, text: &str) -> String {
        let word = |(kind, one, ..): &(Self, &'static str, _, _)| {
            if *kind == Self::TEXT { text.to_owned() } else { (*one).to_owned() }
        };
        joined(self.known().map(word).collect())
    }

    /// The set in the plural: `texts or numbers`.
    pub fn several(self) -> String {
        joined(self.known().map(|(_, _, several, _)| (*several).to_owned()).collect())
    }

    fn known(self) -> impl Iterator<Item = &'static (Self, &'static str, &'static str, &'static str)> {
        Self::WORDS.iter().filter(move |(kind, ..)| self.meets(*kind))
    }
}

fn joined(mut words: Vec<String>) -> String {
    match words.pop() {
        None => "nothing".to_owned(),
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} or {last}", words.join(", ")),
    }
}
