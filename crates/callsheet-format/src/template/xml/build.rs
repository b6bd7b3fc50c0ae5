//! Builds the tree. An end tag closes the nearest matching ancestor, and reading goes on (spec 3).

use callsheet_core::template::Bytes;

use super::entity::decode;
use super::lexer::{Lexer, RawAttribute, Token};
use super::{
    Attribute, Element, Fault, FaultKind, Item, MAX_ATTRIBUTES, MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS, MAX_VALUE, Mapped,
};

/// How names are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum Mode {
    /// As XML requires.
    Strict,
    /// End tags match in any letter case, with a fault.
    Lenient,
}

/// The content of a text.
#[derive(Debug, Default)]
pub(in crate::template) struct Document {
    /// The first element.
    pub(in crate::template) root: Option<Element>,
    /// Faults in the order of the text.
    pub(in crate::template) faults: Vec<Fault>,
}

/// Reads a text.
pub(in crate::template) fn parse(text: &str, mode: Mode) -> Document {
    if text.len() > MAX_BYTES {
        let message = format!("the text is larger than {MAX_BYTES} bytes");
        let fault = Fault::new(FaultKind::TooLarge, Bytes::default(), message, "split it");
        return Document { root: None, faults: vec![fault] };
    }
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut builder = Builder {
        lexer: Lexer::new(text, start),
        mode,
        stack: Vec::new(),
        owed: Vec::new(),
        root: None,
        second: false,
        elements: 0,
        ended: false,
    };
    builder.run();
    let mut faults = builder.lexer.faults;
    if builder.root.is_none() && !faults.iter().any(|fault| fault.kind == FaultKind::TooLarge) {
        let message = "there is no element";
        faults.push(Fault::malformed(Bytes::new(start, start), message, "start with `<templates>`").fatal());
    }
    faults.sort_by_key(|fault| (fault.span.start, fault.span.end));
    Document { root: builder.root, faults }
}

struct Builder<'a> {
    lexer: Lexer<'a>,
    mode: Mode,
    stack: Vec<Element>,
    /// End tags of elements that were closed early, with the depth below which they are no longer expected.
    owed: Vec<(String, usize)>,
    root: Option<Element>,
    second: bool,
    elements: usize,
    ended: bool,
}

impl Builder<'_> {
    fn run(&mut self) {
        while !self.ended {
            let Some(token) = self.lexer.next() else { break };
            match token {
                Token::Text(span) => self.text(span),
                Token::Cdata(span) => {
                    let mut text = Mapped::default();
                    text.push(&self.lexer.slice(span).replace("\r\n", "\n"), span.start, span.end - span.start);
                    self.item(Item::Text(text), span);
                }
                Token::Start { name, attributes, empty, span } => self.start(name, &attributes, empty, span),
                Token::End { name, span } => self.end(name, span),
                Token::Nothing => {}
            }
        }
        let end = if self.ended { self.stack.last().map_or(0, |top| top.tag.end) } else { self.lexer_end() };
        while !self.stack.is_empty() {
            if !self.ended
                && let Some(top) = self.stack.last()
            {
                let message = format!("<{}> is not closed", top.name);
                let fault = Fault::malformed(top.tag, message, "close it");
                self.lexer.faults.push(fault);
            }
            self.pop(Bytes::new(end, end), true);
        }
    }

    fn lexer_end(&self) -> usize {
        self.stack.last().map_or(0, |top| top.inner.end)
    }

    fn too_large(&mut self, span: Bytes, message: String, advice: &'static str) {
        self.lexer.faults.push(Fault::new(FaultKind::TooLarge, span, message, advice));
        self.ended = true;
    }

    fn text(&mut self, span: Bytes) {
        let raw = self.lexer.slice(span);
        let mut text = Mapped::default();
        decode(raw, span.start, false, &mut text, &mut self.lexer.faults);
        self.item(Item::Text(text), span);
    }

    fn item(&mut self, item: Item, span: Bytes) {
        match (self.stack.last_mut(), item) {
            (Some(top), item) => {
                top.inner.end = span.end;
                top.items.push(item);
            }
            (None, Item::Text(text)) if text.is_blank() => {}
            (None, Item::Text(_)) => {
                let message = "text outside the outermost element";
                self.lexer.faults.push(Fault::malformed(span, message, "remove it").fatal());
            }
            (None, Item::Element(element)) if self.root.is_none() => self.root = Some(element),
            (None, Item::Element(element)) => {
                if !self.second {
                    self.second = true;
                    let message = "a second outermost element";
                    let advice = "put both into `<templates>`";
                    self.lexer.faults.push(Fault::malformed(element.tag, message, advice).fatal());
                }
            }
        }
    }

    fn start(&mut self, name: Bytes, attributes: &[RawAttribute], empty: bool, span: Bytes) {
        self.elements += 1;
        if self.elements > MAX_ELEMENTS {
            return self.too_large(span, format!("more than {MAX_ELEMENTS} elements"), "split the file");
        }
        if self.stack.len() >= MAX_DEPTH {
            return self.too_large(span, format!("elements nested deeper than {MAX_DEPTH}"), "reduce the nesting");
        }
        if attributes.len() > MAX_ATTRIBUTES {
            return self.too_large(span, format!("more than {MAX_ATTRIBUTES} attributes"), "use fewer");
        }
        if let Some(long) = attributes.iter().find(|raw| raw.value.end - raw.value.start > MAX_VALUE) {
            let message = format!("an attribute value longer than {MAX_VALUE} bytes");
            return self.too_large(long.value, message, "put the text into an element");
        }
        let local = self.local(name);
        let attributes = self.attributes(attributes);
        let inner = Bytes::new(span.end, span.end);
        let element = Element {
            name: local,
            name_span: name,
            tag: span,
            span,
            inner,
            attributes,
            items: Vec::new(),
            damaged: false,
        };
        self.stack.push(element);
        if empty {
            self.pop(Bytes::new(span.end, span.end), false);
        }
    }

    /// The name without its prefix. Inclusions are refused.
    fn local(&mut self, span: Bytes) -> String {
        let name = self.lexer.slice(span);
        let Some((prefix, local)) = name.split_once(':') else { return name.to_owned() };
        let fault = if prefix.eq_ignore_ascii_case("xi") || local.eq_ignore_ascii_case("include") {
            Fault::new(FaultKind::Forbidden, span, "inclusions are not allowed", "remove it")
        } else {
            Fault::new(FaultKind::Ignored, span, "the prefix is ignored", "write the name without it")
        };
        self.lexer.faults.push(fault);
        local.to_owned()
    }

    fn attributes(&mut self, raw: &[RawAttribute]) -> Vec<Attribute> {
        let mut out: Vec<Attribute> = Vec::new();
        let mut names = std::collections::BTreeSet::new();
        for attribute in raw {
            let name = self.lexer.slice(attribute.name);
            let text = self.lexer.slice(attribute.value);
            if name == "xmlns" || name.starts_with("xmlns:") {
                if text.contains("XInclude") {
                    let message = "inclusions are not allowed";
                    let fault = Fault::new(FaultKind::Forbidden, attribute.name, message, "remove it");
                    self.lexer.faults.push(fault);
                }
                continue;
            }
            let local = self.local(attribute.name);
            if !names.insert(local.clone()) {
                let message = format!("the attribute `{local}` occurs twice");
                self.lexer.faults.push(Fault::malformed(attribute.name, message, "write it once"));
                continue;
            }
            let mut value = Mapped::default();
            decode(text, attribute.value.start, true, &mut value, &mut self.lexer.faults);
            out.push(Attribute { name: local, name_span: attribute.name, value, value_span: attribute.value });
        }
        out
    }

    fn matches(&self, open: &str, close: &str) -> bool {
        open == close || (self.mode == Mode::Lenient && open.eq_ignore_ascii_case(close))
    }

    fn end(&mut self, name: Bytes, span: Bytes) {
        let whole = self.lexer.slice(name);
        let local = whole.split_once(':').map_or(whole, |(_, local)| local).to_owned();
        let Some(index) = self.stack.iter().rposition(|open| self.matches(&open.name, &local)) else {
            if let Some(owed) = self.owed.iter().rposition(|(known, _)| *known == local) {
                self.owed.remove(owed);
            } else {
                let message = format!("</{local}> closes nothing");
                self.lexer.faults.push(Fault::malformed(span, message, "remove it").fatal());
            }
            return;
        };
        // They are sorted by depth, so those that are no longer expected come last.
        let awaited = self.owed.partition_point(|(_, least)| *least <= index);
        self.owed.truncate(awaited);
        while self.stack.len() > index + 1 {
            let Some(top) = self.stack.last() else { break };
            let (open, tag) = (top.name.clone(), top.tag);
            let message = format!("<{open}> is not closed before </{local}>");
            let mut fault = Fault::malformed(span, message, "close the inner element first");
            fault.opened = Some(tag);
            self.lexer.faults.push(fault);
            self.owed.push((open, index));
            self.pop(Bytes::new(span.start, span.start), true);
        }
        if let Some(top) = self.stack.last()
            && top.name != local
        {
            let message = format!("</{local}> closes <{}>", top.name);
            self.lexer.faults.push(Fault::malformed(span, message, "use one spelling"));
        }
        self.pop(span, false);
    }

    /// Removes the innermost open element and adds it to its parent. `end` is its end tag.
    fn pop(&mut self, end: Bytes, damaged: bool) {
        let Some(mut element) = self.stack.pop() else { return };
        element.damaged |= damaged;
        element.inner.end = end.start.max(element.inner.start);
        element.span.end = end.end.max(element.tag.end);
        let span = element.span;
        self.item(Item::Element(element), span);
    }
}
