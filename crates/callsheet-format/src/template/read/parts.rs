//! Reads values from elements. Faulty values were already reported by the check, and are left out here.

use callsheet_core::template::{Bytes, Code, Filled, Origin, Path, PathUse};

use crate::template::grammar::Kind;
use crate::template::report::Draft;
use crate::template::xml::{Element, Item, Mapped};

use super::Reader;
use super::values::{whole_number, without_braces};

impl Reader<'_> {
    /// The text of an element. Texts are dedented, and markup in them stays as written (spec 2.1). Other values lose
    /// their outer blanks.
    pub(super) fn text_of(&self, element: &Element, kind: Kind) -> Mapped {
        let mut text = Mapped::default();
        self.gather(element, &mut text);
        match kind {
            Kind::Text | Kind::Filled => text.dedented(),
            _ => text.trimmed(),
        }
    }

    fn gather(&self, element: &Element, out: &mut Mapped) {
        for item in &element.items {
            match item {
                Item::Text(text) => out.append(text),
                Item::Element(child) => {
                    out.push(self.source(child.tag), child.tag.start, child.tag.end - child.tag.start);
                    self.gather(child, out);
                    let close = Bytes::new(child.inner.end, child.span.end);
                    out.push(self.source(close), close.start, close.end - close.start);
                }
            }
        }
    }

    fn source(&self, span: Bytes) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    pub(super) fn origin(&self, span: Bytes) -> Origin {
        Origin { file: self.file.to_owned(), spot: self.lines.spot(span) }
    }

    /// Reads text with placeholders, each with its place.
    pub(super) fn filled(&self, value: &Mapped) -> Filled {
        let (text, written) = Filled::read(value.as_str());
        let spots = written.iter().filter(|written| written.path.is_some());
        text.placed(spots.map(|written| self.lines.spot(value.span(written.start, written.end))))
    }

    /// The text of a child element with placeholders. Empty if there is no such child.
    pub(super) fn filled_child(&self, element: &Element, name: &str) -> Filled {
        element.child(name).map(|child| self.filled(&self.text_of(child, Kind::Filled))).unwrap_or_default()
    }

    /// The plain text of a child element.
    pub(super) fn word_child(&self, element: &Element, name: &str) -> Option<String> {
        let text = self.text_of(element.child(name)?, Kind::Bool);
        Some(text.as_str().to_owned()).filter(|text| !text.is_empty())
    }

    pub(super) fn bool_child(&self, element: &Element, name: &str) -> bool {
        self.word_child(element, name).as_deref() == Some("true")
    }

    /// The variable that an attribute names. Braces around it are reported (T051) and removed.
    pub(super) fn path_use(&self, element: &Element, name: &str) -> Option<PathUse> {
        let attribute = element.attribute(name)?;
        let (path, _) = Path::parse(&without_braces(attribute.value.as_str()))?.canonical();
        Some(PathUse { path, at: self.lines.spot(attribute.value_span) })
    }

    /// Reports an issue at an element.
    pub(super) fn tell(&mut self, code: Code, span: Bytes, message: impl Into<String>, advice: &str) {
        self.add(Draft::new(code, span, message).advice(advice));
    }
}

/// The value of an attribute.
pub(super) fn word<'e>(element: &'e Element, name: &str) -> Option<&'e str> {
    element.attribute(name).map(|attribute| attribute.value.as_str())
}

/// A boolean attribute. `None` if the value is not a boolean word.
pub(super) fn flag(element: &Element, name: &str) -> Option<bool> {
    match word(element, name)? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// A whole number within its range.
pub(super) fn count(text: Option<&str>, least: u32, most: u32) -> Option<u32> {
    let number = u32::try_from(whole_number(text?)?).ok()?;
    (least..=most).contains(&number).then_some(number)
}

/// Comma-separated words without blanks and empty entries.
pub(super) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
