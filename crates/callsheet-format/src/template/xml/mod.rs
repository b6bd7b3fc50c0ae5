//! XML as a tree of elements with byte ranges. Every input can be read in linear time: faults are collected and
//! reading goes on (spec 3). Nothing outside the text is ever opened. Document types and entity declarations are
//! refused.

mod build;
mod entity;
mod lexer;
mod mapped;

#[cfg(test)]
mod tests;

pub(in crate::template) use build::{Mode, parse};
pub(in crate::template) use lexer::is_name_start;
pub(in crate::template) use mapped::{BLANKS, Mapped};

use callsheet_core::template::Bytes;

/// The largest size of a file in bytes (spec 3).
pub(in crate::template) const MAX_BYTES: usize = 1 << 20;
/// The largest nesting depth of elements.
pub(in crate::template) const MAX_DEPTH: usize = 64;
/// The largest number of elements in a file.
pub(in crate::template) const MAX_ELEMENTS: usize = 10_000;
/// The largest number of attributes of an element.
pub(in crate::template) const MAX_ATTRIBUTES: usize = 64;
/// The largest size of an attribute value in bytes.
pub(in crate::template) const MAX_VALUE: usize = 64 << 10;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum FaultKind {
    /// The text is not well formed, and reading went on with a repair.
    Malformed,
    /// A document type, an entity declaration, an inclusion.
    Forbidden,
    /// The text exceeds a limit, and reading ended there.
    TooLarge,
    /// The declared encoding is not UTF-8.
    Encoding,
    /// A processing instruction or a prefix was ignored.
    Ignored,
}

/// One fault of the XML layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::template) struct Fault {
    pub(in crate::template) kind: FaultKind,
    pub(in crate::template) span: Bytes,
    pub(in crate::template) message: String,
    pub(in crate::template) advice: &'static str,
    /// The start of the element or construct that has the fault.
    pub(in crate::template) opened: Option<Bytes>,
    /// Whether a lenient reader must stop, because the intended meaning is unclear.
    pub(in crate::template) fatal: bool,
}

impl Fault {
    fn new(kind: FaultKind, span: Bytes, message: impl Into<String>, advice: &'static str) -> Self {
        Self { kind, span, message: message.into(), advice, opened: None, fatal: false }
    }

    fn fatal(mut self) -> Self {
        self.fatal = true;
        self
    }

    fn malformed(span: Bytes, message: impl Into<String>, advice: &'static str) -> Self {
        Self::new(FaultKind::Malformed, span, message, advice)
    }
}

/// An attribute as written.
#[derive(Clone, Debug)]
pub(in crate::template) struct Attribute {
    pub(in crate::template) name: String,
    pub(in crate::template) name_span: Bytes,
    pub(in crate::template) value: Mapped,
    /// The range of the value without its quotes.
    pub(in crate::template) value_span: Bytes,
}

/// An item inside an element.
#[derive(Clone, Debug)]
pub(in crate::template) enum Item {
    Element(Element),
    Text(Mapped),
}

/// An element as written.
#[derive(Clone, Debug, Default)]
pub(in crate::template) struct Element {
    /// The name without its prefix.
    pub(in crate::template) name: String,
    pub(in crate::template) name_span: Bytes,
    /// The start tag.
    pub(in crate::template) tag: Bytes,
    /// From the start tag to the end tag.
    pub(in crate::template) span: Bytes,
    /// The range between the tags.
    pub(in crate::template) inner: Bytes,
    pub(in crate::template) attributes: Vec<Attribute>,
    pub(in crate::template) items: Vec<Item>,
    /// Whether it was not closed where it should have been.
    pub(in crate::template) damaged: bool,
}

impl Element {
    /// Child elements in order.
    pub(in crate::template) fn elements(&self) -> impl Iterator<Item = &Self> {
        self.items.iter().filter_map(|item| match item {
            Item::Element(element) => Some(element),
            Item::Text(_) => None,
        })
    }

    /// The first child element with a name.
    pub(in crate::template) fn child(&self, name: &str) -> Option<&Self> {
        self.elements().find(|element| element.name == name)
    }

    /// An attribute.
    pub(in crate::template) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Whether it directly contains text other than blanks.
    pub(in crate::template) fn has_text(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Text(text) if !text.is_blank()))
    }
}
