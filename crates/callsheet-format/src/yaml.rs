//! YAML as a small tree with positions, for the front matter of skills and for templates. Duplicate keys are kept, so
//! that the reader can name both lines. Anchors, aliases and tags are refused, because nobody needs them here and they
//! can make a document explode.

use callsheet_core::template::Bytes;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};

/// The maximum number of values of a text.
const MAX_NODES: usize = 20_000;

/// One value and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Line and column at which it starts.
    pub(crate) at: At,
    /// Its bytes in the text.
    pub(crate) span: Bytes,
    pub(crate) value: Value,
}

/// A 1-based line and column.
pub(crate) type At = (u32, u32);

/// An untyped YAML value: the key decides what a scalar means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// An empty plain scalar, `~` or `null`.
    Null,
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// It is not valid YAML.
    Syntax,
    /// An anchor, an alias or a tag.
    Forbidden,
    /// An unquoted pair of braces, which YAML reads as a map in a map.
    Braces,
    /// A limit was exceeded.
    TooLarge,
}

/// Why the text is not usable YAML. Reading stopped there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlFault {
    pub(crate) kind: FaultKind,
    pub(crate) at: At,
    /// The byte.
    pub(crate) offset: usize,
    pub(crate) message: String,
}

impl Value {
    /// The kind in words for a person.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Scalar { .. } => "a text or number",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Reads one document, the last one in the text. `first_line` is the line of the file on which `text` begins.
pub(crate) fn parse(text: &str, first_line: u32, max_depth: usize) -> Result<Node, YamlFault> {
    let (mut roots, fault) = parse_all(text, first_line, max_depth);
    match (fault, roots.pop()) {
        (Some(fault), _) => Err(fault),
        (None, root) => Ok(root.unwrap_or(Node { at: (first_line, 1), span: Bytes::default(), value: Value::Null })),
    }
}

/// Reads all documents, up to the first fault.
pub(crate) fn parse_all(text: &str, first_line: u32, max_depth: usize) -> (Vec<Node>, Option<YamlFault>) {
    let offsets = if text.is_ascii() { Vec::new() } else { text.char_indices().map(|(at, _)| at).collect() };
    let parser = Parser::new_from_str(text);
    let mut events = Events { text, parser, first_line, max_depth, offsets, nodes: 0 };
    let mut roots = Vec::new();
    loop {
        let (event, place) = match events.next() {
            Ok(event) => event,
            Err(fault) => return (roots, Some(fault)),
        };
        match event {
            Event::StreamEnd => return (roots, None),
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
            other => match events.node(other, place, 0) {
                Ok(node) => roots.push(node),
                Err(fault) => return (roots, Some(fault)),
            },
        }
    }
}

struct Events<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    first_line: u32,
    max_depth: usize,
    /// Byte offsets of the characters, if they differ from the character numbers.
    offsets: Vec<usize>,
    nodes: usize,
}

type Place = (At, Bytes);

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Place), YamlFault> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                let place = self.place(&span);
                Ok((event, place))
            }
            Some(Err(fault)) => {
                let (at, offset) = (self.at(fault.marker()), self.offset(fault.marker()));
                let kind = match self.text.as_bytes().get(offset) {
                    Some(b'*' | b'&' | b'!') => FaultKind::Forbidden,
                    _ => FaultKind::Syntax,
                };
                Err(YamlFault { kind, at, offset, message: fault.info().to_owned() })
            }
            None => Ok((Event::StreamEnd, ((self.first_line, 1), Bytes::default()))),
        }
    }

    fn place(&self, span: &Span) -> Place {
        (self.at(&span.start), Bytes::new(self.offset(&span.start), self.offset(&span.end)))
    }

    fn at(&self, marker: &Marker) -> At {
        let line = u32::try_from(marker.line().max(1)).unwrap_or(u32::MAX);
        let column = u32::try_from(marker.col()).unwrap_or(u32::MAX);
        (self.first_line.saturating_add(line - 1), column.saturating_add(1))
    }

    fn offset(&self, marker: &Marker) -> usize {
        if self.offsets.is_empty() {
            return marker.index().min(self.text.len());
        }
        self.offsets.get(marker.index()).copied().unwrap_or(self.text.len())
    }

    fn node(&mut self, event: Event<'a>, (at, mut span): Place, depth: usize) -> Result<Node, YamlFault> {
        let fault = |kind, message: &str| YamlFault { kind, at, offset: span.start, message: message.to_owned() };
        self.nodes += 1;
        if depth > self.max_depth {
            return Err(fault(FaultKind::TooLarge, "nested too deeply"));
        }
        if self.nodes > MAX_NODES {
            return Err(fault(FaultKind::TooLarge, "too many values"));
        }
        if matches!(event, Event::MappingStart(..))
            && self.text.get(span.start..).is_some_and(|rest| rest.starts_with("{{"))
        {
            return Err(fault(FaultKind::Braces, "`{{` without quotes begins a map in a map"));
        }
        let (value, end) = match event {
            Event::Scalar(text, style, 0, None) => (scalar(&text, style), span.end),
            Event::SequenceStart(0, None) => self.list(depth)?,
            Event::MappingStart(0, None) => self.map(depth)?,
            _ => return Err(fault(FaultKind::Forbidden, "anchors, aliases and tags are not allowed here")),
        };
        span.end = end.max(span.end);
        Ok(Node { at, span, value })
    }

    fn list(&mut self, depth: usize) -> Result<(Value, usize), YamlFault> {
        let mut items = Vec::new();
        loop {
            let (event, place) = self.next()?;
            match event {
                Event::SequenceEnd | Event::StreamEnd => return Ok((Value::List(items), place.1.end)),
                other => items.push(self.node(other, place, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<(Value, usize), YamlFault> {
        let mut entries = Vec::new();
        loop {
            let (event, place) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok((Value::Map(entries), place.1.end));
            }
            let key = self.node(event, place, depth + 1)?;
            let (event, place) = self.next()?;
            let value = self.node(event, place, depth + 1)?;
            entries.push((key, value));
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    let plain = style == ScalarStyle::Plain;
    if plain && matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        return Value::Null;
    }
    Value::Scalar { text: text.to_owned(), plain }
}
