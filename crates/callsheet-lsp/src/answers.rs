//! Answers in the types of the protocol.

use std::collections::HashMap;
use std::path::Path;

use ls_types::{
    CodeAction, CodeActionKind, CompletionItem, CompletionItemKind, CompletionTextEdit, Diagnostic, DiagnosticSeverity,
    DocumentSymbol, Hover, HoverContents, Location, MarkupContent, MarkupKind, NumberOrString, Position,
    PrepareRenameResponse, Range, SymbolKind, TextEdit, Uri, WorkspaceEdit,
};

use crate::complete::complete;
use crate::cursor::tasks;
use crate::definition::{Found, definition};
use crate::hover::hover;
use crate::lines::{Encoding, Lines};
use crate::project::{Finding, Fix, Kind, Project, Weight};
use crate::rename::{prepare, rename};

/// An open file and how its columns are counted.
pub(crate) struct View<'a> {
    pub(crate) project: &'a dyn Project,
    pub(crate) kind: Kind,
    pub(crate) file: &'a Path,
    pub(crate) text: &'a str,
    pub(crate) encoding: Encoding,
}

impl View<'_> {
    fn lines(&self) -> Lines<'_> {
        Lines::of(self.text, self.encoding)
    }

    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let lines = self.lines();
        self.findings().iter().map(|finding| self.diagnostic(&lines, finding)).collect()
    }

    fn findings(&self) -> Vec<Finding> {
        self.project.check(self.kind, self.file, self.text)
    }

    fn diagnostic(&self, lines: &Lines<'_>, finding: &Finding) -> Diagnostic {
        let severity = match finding.weight {
            Weight::Error => DiagnosticSeverity::ERROR,
            Weight::Warning => DiagnosticSeverity::WARNING,
            Weight::Note => DiagnosticSeverity::INFORMATION,
        };
        let (start, end) = (lines.counted(finding.start), lines.counted(finding.end));
        Diagnostic {
            range: Range { start, end: end.max(start) },
            severity: Some(severity),
            code: Some(NumberOrString::String(finding.code.clone())),
            source: Some("callsheet".to_owned()),
            message: finding.message.clone(),
            ..Diagnostic::default()
        }
    }

    /// The corrections of what is wrong in a range.
    pub(crate) fn actions(&self, uri: &Uri, asked: Range) -> Vec<CodeAction> {
        let lines = self.lines();
        let mut actions = Vec::new();
        for finding in self.findings() {
            let diagnostic = self.diagnostic(&lines, &finding);
            if diagnostic.range.end < asked.start || asked.end < diagnostic.range.start {
                continue;
            }
            let is_preferred = Some(finding.fixes.len() == 1);
            for Fix { line, column, wrong, right } in &finding.fixes {
                let length = u32::try_from(wrong.chars().count()).unwrap_or_default();
                let end = lines.counted((*line, column.saturating_add(length)));
                let range = Range { start: lines.counted((*line, *column)), end };
                let edit = TextEdit { range, new_text: right.clone() };
                actions.push(CodeAction {
                    title: format!("Replace \"{wrong}\" with \"{right}\""),
                    kind: Some(CodeActionKind::QUICKFIX),
                    diagnostics: Some(vec![diagnostic.clone()]),
                    edit: Some(edit_of(uri.clone(), vec![edit])),
                    is_preferred,
                    ..CodeAction::default()
                });
            }
        }
        actions
    }

    /// Where the thing at a position is defined.
    pub(crate) fn definition(&self, uri: &Uri, position: Position) -> Option<Location> {
        let lines = self.lines();
        match definition(self.project, (self.kind, self.file, self.text), &lines, lines.place(position))? {
            Found::Here(line, bytes) => Some(Location { uri: uri.clone(), range: lines.range(line, bytes) }),
            Found::There(place) if place.file == self.file => {
                let start = lines.counted((place.line, place.column));
                Some(Location { uri: uri.clone(), range: Range { start, end: start } })
            }
            Found::There(place) => {
                // The columns of another file are not counted here.
                let start = Position { line: place.line.saturating_sub(1), character: 0 };
                Some(Location { uri: Uri::from_file_path(&place.file)?, range: Range { start, end: start } })
            }
        }
    }

    pub(crate) fn completion(&self, position: Position) -> Vec<CompletionItem> {
        let lines = self.lines();
        let (number, byte) = lines.place(position);
        let offer = complete(self.project, (self.kind, self.file, self.text), (number, lines.get(number), byte));
        let Some(offer) = offer else { return Vec::new() };
        let range = lines.range(number, offer.bytes);
        let item = |entry: crate::project::Entry| CompletionItem {
            kind: Some(CompletionItemKind::REFERENCE),
            detail: (!entry.about.is_empty()).then(|| entry.about.clone()),
            filter_text: Some(entry.name.clone()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: entry.name.clone() })),
            label: entry.name,
            ..CompletionItem::default()
        };
        offer.entries.into_iter().map(item).collect()
    }

    pub(crate) fn hover(&self, position: Position) -> Option<Hover> {
        let lines = self.lines();
        let (number, byte) = lines.place(position);
        let (value, bytes) = hover(self.project, (self.kind, self.file, self.text), (lines.get(number), byte))?;
        let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
        Some(Hover { contents, range: Some(lines.range(number, bytes)) })
    }

    pub(crate) fn prepare_rename(&self, position: Position) -> Option<PrepareRenameResponse> {
        let lines = self.lines();
        let place = lines.place(position);
        let (bytes, placeholder) = (self.kind == Kind::Sheet).then(|| prepare(self.text, &lines, place))??;
        Some(PrepareRenameResponse::RangeWithPlaceholder { range: lines.range(place.0, bytes), placeholder })
    }

    pub(crate) fn rename(&self, uri: Uri, position: Position, to: &str) -> Result<WorkspaceEdit, &'static str> {
        let lines = self.lines();
        if self.kind != Kind::Sheet {
            return Err("you can rename only tasks of a sheet");
        }
        let edits = rename(self.text, &lines, lines.place(position), to)?;
        let edits = edits.into_iter();
        let edits = edits.map(|(line, bytes, new_text)| TextEdit { range: lines.range(line, bytes), new_text });
        Ok(edit_of(uri, edits.collect()))
    }

    #[expect(deprecated, reason = "the protocol's type has a field that it no longer wants")]
    pub(crate) fn symbols(&self) -> Vec<DocumentSymbol> {
        if self.kind != Kind::Sheet {
            return Vec::new();
        }
        let lines = self.lines();
        let symbol = |placed: crate::cursor::Placed| {
            let last = placed.lines.end.saturating_sub(1);
            let first = lines.range(placed.lines.start, 0..lines.get(placed.lines.start).len());
            let end = lines.position(last, lines.get(last).len());
            DocumentSymbol {
                name: if placed.task.name.is_empty() { "?".to_owned() } else { placed.task.name },
                detail: placed.task.skill,
                kind: SymbolKind::EVENT,
                tags: None,
                deprecated: None,
                range: Range { start: first.start, end: end.max(first.end) },
                selection_range: first,
                children: None,
            }
        };
        tasks(self.text).into_iter().map(symbol).collect()
    }
}

fn edit_of(uri: Uri, edits: Vec<TextEdit>) -> WorkspaceEdit {
    WorkspaceEdit { changes: Some(HashMap::from([(uri, edits)])), ..WorkspaceEdit::default() }
}
