//! Front matter as a small tree with places. Duplicate keys are kept, so that the reader can name both lines; anchors
//! and aliases are refused, since no skill needs them and they can blow a document up.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::issue::At;

const MAX_DEPTH: usize = 16;

/// One value and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) value: Value,
}

/// A YAML value without types: what a scalar means is for the key that holds it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// An empty plain scalar, `~` or `null`.
    Null,
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// Why the text is no YAML that a skill may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct YamlFault {
    pub(super) at: At,
    pub(super) message: String,
}

impl Value {
    /// The kind in a person's words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Scalar { .. } => "a text or number",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Reads one document. `first_line` is the line of the file on which `text` begins.
pub(super) fn parse(text: &str, first_line: u32) -> Result<Node, YamlFault> {
    let mut events = Events { parser: Parser::new_from_str(text), first_line };
    let mut root = Node { at: (first_line, 1), value: Value::Null };
    loop {
        let (event, at) = events.next()?;
        match event {
            Event::StreamEnd => return Ok(root),
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
            other => root = events.node(other, at, 0)?,
        }
    }
}

struct Events<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    first_line: u32,
}

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<(Event<'a>, At), YamlFault> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                let at = self.place(&span);
                Ok((event, at))
            }
            Some(Err(fault)) => {
                let at = self.at(fault.marker().line(), fault.marker().col());
                Err(YamlFault { at, message: fault.info().to_owned() })
            }
            None => Ok((Event::StreamEnd, (self.first_line, 1))),
        }
    }

    fn place(&self, span: &Span) -> At {
        self.at(span.start.line(), span.start.col())
    }

    fn at(&self, line: usize, column: usize) -> At {
        let line = u32::try_from(line.max(1)).unwrap_or(u32::MAX);
        let column = u32::try_from(column).unwrap_or(u32::MAX);
        (self.first_line.saturating_add(line - 1), column.saturating_add(1))
    }

    fn node(&mut self, event: Event<'a>, at: At, depth: usize) -> Result<Node, YamlFault> {
        if depth > MAX_DEPTH {
            return Err(YamlFault { at, message: "nested too deeply".to_owned() });
        }
        let value = match event {
            Event::Scalar(text, style, 0, _) => scalar(&text, style),
            Event::SequenceStart(0, _) => self.list(depth)?,
            Event::MappingStart(0, _) => self.map(depth)?,
            _ => return Err(YamlFault { at, message: "anchors and aliases are not allowed here".to_owned() }),
        };
        Ok(Node { at, value })
    }

    fn list(&mut self, depth: usize) -> Result<Value, YamlFault> {
        let mut items = Vec::new();
        loop {
            let (event, at) = self.next()?;
            match event {
                Event::SequenceEnd | Event::StreamEnd => return Ok(Value::List(items)),
                other => items.push(self.node(other, at, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, YamlFault> {
        let mut entries = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(Value::Map(entries));
            }
            let key = self.node(event, at, depth + 1)?;
            let (event, at) = self.next()?;
            let value = self.node(event, at, depth + 1)?;
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
