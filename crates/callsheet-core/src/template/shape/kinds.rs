//! Kinds of JSON values, as a set.

use serde_json::Value;

use crate::template::tree::ValueType;

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// None.
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
    /// All.
    pub const ALL: Self = Self(63);

    /// What each is called, for people: one and several; and in JSON Schema.
    const WORDS: [(Self, &str, &str, &str); 6] = [
        (Self::TEXT, "a text", "texts", "string"),
        (Self::NUMBER, "a number", "numbers", "number"),
        (Self::BOOLEAN, "true or false", "booleans", "boolean"),
        (Self::LIST, "a list", "lists", "array"),
        (Self::MAP, "a map", "maps", "object"),
        (Self::NULL, "null", "nulls", "null"),
    ];

    /// Of both.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Of each.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether a kind is of both.
    pub fn meets(self, other: Self) -> bool {
        self.and(other) != Self::NONE
    }

    /// Whether each is of the other.
    pub fn is_within(self, other: Self) -> bool {
        self.and(other) == self
    }

    /// That of a value.
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

    /// Those of a declared type.
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

    /// That of a type of JSON Schema.
    pub fn of_word(word: &str) -> Option<Self> {
        let word = if word == "integer" { "number" } else { word };
        Self::WORDS.iter().find(|(.., known)| *known == word).map(|(kind, ..)| *kind)
    }

    /// In words, `a text or a number`; a text as it is known.
    pub fn in_words(self, text: &str) -> String {
        let word = |(kind, one, ..): &(Self, &'static str, _, _)| {
            if *kind == Self::TEXT { text.to_owned() } else { (*one).to_owned() }
        };
        joined(self.known().map(word).collect())
    }

    /// Several, in words: `texts or numbers`.
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
