//! A section body as labelled values, fences, items, headings and prose, in order.

use std::borrow::Cow;
use std::ops::Range;

use callsheet_core::issue::Span;

use crate::reading::Diagnostics;

use super::document::{Document, Kind, number};
use super::label::{Label, LabelLine, LabelRule, Liberties, label_line, marker};
use super::text::{dedent, indent};

/// A label with its value.
#[derive(Clone, Debug)]
pub struct Labelled<'a> {
    /// Which label.
    pub label: Label,
    /// The label line as written.
    pub written: &'a str,
    /// The value: further lines without their indentation, without blank edges. If the value is a single `text` fence,
    /// the content of that fence.
    pub value: Cow<'a, str>,
    /// From the label line to the last line of the value.
    pub span: Span,
    /// The line of the value's first line.
    pub value_line: u32,
    /// Indexes of the fences inside the value.
    pub fences: Vec<usize>,
    /// Columns before the list marker.
    pub indent: usize,
    /// Whether it is deeper than the item before it.
    pub nested: bool,
    /// Whether a list marker is present.
    pub marked: bool,
    repairs: Liberties,
}

impl<'a> Labelled<'a> {
    /// A part of the line as the value of a key that the line does not name.
    pub fn as_key(&self, name: &'static str, value: Cow<'a, str>) -> Self {
        Self { label: Label::Known(name), value, fences: Vec::new(), repairs: Liberties::default(), ..self.clone() }
    }

    /// Notes the corrections made for this label.
    pub fn note(&self, notes: &mut Diagnostics) {
        for code in self.repairs.into_iter().flatten() {
            let name = self.label.as_str();
            notes.repair(code, Span::line(self.span.first), self.written, format_args!("- **{name}**"));
        }
    }

    /// The canonical name, if the label is known.
    pub fn known(&self) -> Option<&'static str> {
        match self.label {
            Label::Known(name) => Some(name),
            Label::Unknown(_) => None,
        }
    }
}

/// What a piece is.
#[derive(Clone, Debug)]
pub enum PieceKind<'a> {
    /// A labelled value.
    Label(Labelled<'a>),
    /// A fence outside list items, by its index.
    Fence(usize),
    /// A list item without a label: its text.
    Item(&'a str),
    /// A heading that the format does not know, with its level.
    Heading(u8, &'a str),
    /// Text outside lists.
    Prose(Cow<'a, str>),
}

/// One piece of a body.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    /// Its kind and content.
    pub kind: PieceKind<'a>,
    /// Its place.
    pub span: Span,
    /// Columns before it.
    pub indent: usize,
    /// Whether a blank line comes before it.
    pub after_blank: bool,
}

impl Document<'_> {
    /// The pieces of some lines. Notes nothing: call [`Labelled::note`] for the labels that are used.
    pub fn pieces(&self, range: Range<usize>, rules: &'static [LabelRule]) -> Vec<Piece<'_>> {
        let mut builder = Builder { document: self, rules, pieces: Vec::new(), open: None, blank: false, outer: None };
        for at in range {
            builder.take(at);
        }
        builder.close();
        builder.pieces
    }
}

/// A label whose value is still growing.
struct Open<'a> {
    line: LabelLine<'a>,
    written: &'a str,
    first: usize,
    last: usize,
    lines: Vec<&'a str>,
    fences: Vec<usize>,
    after_blank: bool,
    nested: bool,
    head: bool,
}

struct Builder<'a> {
    document: &'a Document<'a>,
    rules: &'static [LabelRule],
    pieces: Vec<Piece<'a>>,
    open: Option<Open<'a>>,
    blank: bool,
    /// Content column of the unlabelled item or label under which later labels may be nested.
    outer: Option<usize>,
}

impl<'a> Builder<'a> {
    fn take(&mut self, at: usize) {
        let kind = self.document.kinds.get(at).copied().unwrap_or(Kind::Hidden);
        let text = self.document.lines.get(at).map_or("", |line| &*line.text);
        match kind {
            Kind::Blank => self.blank = true,
            Kind::Hidden => {}
            Kind::Fence(index) => self.fence(at, index),
            Kind::Marker(_) | Kind::Rule | Kind::Section => self.close(),
            Kind::Heading(level) => {
                self.close();
                self.outer = None;
                if level > 0 {
                    let title = super::heading::clean(text);
                    self.push(PieceKind::Heading(level, title), at, 0);
                }
            }
            Kind::Text => self.text(at, text),
        }
    }

    fn text(&mut self, at: usize, text: &'a str) {
        let columns = indent(text);
        if let Some(line) = label_line(text, self.rules)
            && self.starts_label(&line)
        {
            self.label(at, text, line);
            return;
        }
        if self.continues(text, columns) {
            let Some(open) = &mut self.open else { return };
            if self.blank {
                open.lines.push("");
                self.blank = false;
            }
            open.lines.push(dedent(text, open.line.content).trim_end());
            open.last = at;
            return;
        }
        self.close();
        match marker(text) {
            Some(marker) => {
                self.outer = Some(marker.content);
                self.push(PieceKind::Item(marker.rest), at, marker.indent);
            }
            None => self.prose(at, text, columns),
        }
    }

    /// Whether a line starts a label. Inside the value of another label, it does so only where lists nest keys: under a
    /// name, an unknown label or the first label of its list, and only if it is known.
    fn starts_label(&self, line: &LabelLine<'_>) -> bool {
        let known = matches!(line.label, Label::Known(_));
        match &self.open {
            None => known || line.marked,
            Some(open) if line.indent < open.line.content || !open.line.marked && line.indent <= open.line.indent => {
                known || line.marked
            }
            Some(open) => {
                let above = matches!(&open.line.label, Label::Known("Name") | Label::Unknown(_));
                known && (above || open.head)
            }
        }
    }

    fn continues(&self, text: &str, columns: usize) -> bool {
        let Some(open) = &self.open else { return false };
        if columns > open.line.indent {
            return true;
        }
        let after_fence = matches!(self.document.kinds.get(open.last), Some(Kind::Fence(_)));
        if self.blank || after_fence {
            return false;
        }
        // Unlabelled items directly below an empty label, at the same depth, are its value.
        let empty = open.line.value.is_empty() && columns == open.line.indent;
        marker(text).is_none() || empty
    }

    fn label(&mut self, at: usize, text: &'a str, line: LabelLine<'a>) {
        let after_blank = self.blank;
        let before = self.open.as_ref().map(|open| (open.line.indent, open.line.content, open.nested));
        let nested = match before {
            Some((_, content, _)) if line.indent >= content => true,
            Some((depth, _, nested)) if line.indent + 1 >= depth => nested,
            Some(_) => false,
            None => self.outer.is_some_and(|content| line.indent + 1 >= content),
        };
        let head = match before {
            Some((depth, content, _)) => after_blank || line.indent + 1 < depth || line.indent >= content,
            None => true,
        };
        // Keys that are nested under the first key of a list are siblings of each other; none of them starts a new
        // item.
        let head = head && !(nested && before.is_some());
        self.close();
        self.open = Some(Open {
            written: text.trim(),
            first: at,
            last: at,
            lines: Vec::new(),
            fences: Vec::new(),
            after_blank,
            nested,
            head,
            line,
        });
        self.blank = false;
    }

    fn fence(&mut self, at: usize, index: usize) {
        let starts = self.document.fence_at(at).is_some();
        let depth = self.document.fences.get(index).map_or(0, |fence| fence.indent);
        match &mut self.open {
            Some(open) if depth > open.line.indent => {
                if self.blank {
                    open.lines.push("");
                    self.blank = false;
                }
                if starts {
                    open.fences.push(index);
                }
                let text = self.document.lines.get(at).map_or("", |line| &*line.text);
                open.lines.push(dedent(text, open.line.content));
                open.last = at;
            }
            _ => {
                if starts {
                    self.close();
                    let span = self.document.fences.get(index).map_or_else(|| Span::line(number(at)), |f| f.span);
                    let after_blank = std::mem::take(&mut self.blank);
                    self.pieces.push(Piece { kind: PieceKind::Fence(index), span, indent: depth, after_blank });
                }
            }
        }
    }

    fn prose(&mut self, at: usize, text: &'a str, columns: usize) {
        if columns == 0 {
            self.outer = None;
        }
        if !self.blank
            && let Some(Piece { kind: PieceKind::Prose(prose), span, .. }) = self.pieces.last_mut()
            && span.last + 1 == number(at)
        {
            let prose = prose.to_mut();
            prose.push('\n');
            prose.push_str(text.trim_end());
            span.last = number(at);
            return;
        }
        self.push(PieceKind::Prose(Cow::Borrowed(text.trim_end())), at, columns);
    }

    fn push(&mut self, kind: PieceKind<'a>, at: usize, columns: usize) {
        let after_blank = std::mem::take(&mut self.blank);
        self.pieces.push(Piece { kind, span: Span::line(number(at)), indent: columns, after_blank });
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let span = Span { first: number(open.first), last: number(open.last) };
        let (value, before) = self.value(&open);
        let value_line = span.first.saturating_add(before).min(span.last);
        let labelled = Labelled {
            label: open.line.label,
            written: open.written,
            value,
            span,
            value_line,
            fences: open.fences,
            indent: open.line.indent,
            nested: open.nested,
            marked: open.line.marked,
            repairs: open.line.repairs,
        };
        self.pieces.push(Piece {
            kind: PieceKind::Label(labelled),
            span,
            indent: open.line.indent,
            after_blank: open.after_blank,
        });
    }

    /// The value, and how many lines come before it.
    fn value(&self, open: &Open<'a>) -> (Cow<'a, str>, u32) {
        // Formatters put blank lines around a fence.
        let is_empty = |line: &&&str| line.trim().is_empty();
        let blank = open.lines.iter().take_while(is_empty).count();
        let filled = open.lines.len().saturating_sub(blank + open.lines.iter().rev().take_while(is_empty).count());
        if open.line.value.is_empty()
            && let [index] = open.fences.as_slice()
            && let Some(fence) = self.document.fences.get(*index)
            && fence.lang == "text"
            && fence.span.last.saturating_sub(fence.span.first) as usize + 1 == filled
        {
            let before = u32::try_from(blank).unwrap_or(0).saturating_add(2);
            return (Cow::Borrowed(fence.content.strip_suffix('\n').unwrap_or(&fence.content)), before);
        }
        if open.lines.is_empty() {
            return (Cow::Borrowed(open.line.value), 0);
        }
        let mut value = open.line.value.to_owned();
        for line in &open.lines {
            value.push('\n');
            value.push_str(line);
        }
        let before = value.len() - value.trim_start_matches('\n').len();
        (Cow::Owned(value.trim_matches('\n').trim_end().to_owned()), u32::try_from(before).unwrap_or(0))
    }
}
