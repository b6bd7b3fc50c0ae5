//! Collects the issues of one file.

use callsheet_core::template::{Bytes, Code, Issue, Lines, Related, Severity};

use super::yaml::{in_keys, is_yaml, shown};

/// The number of errors after which a file is given up (spec 3).
pub(in crate::template) const MOST: usize = 200;

/// The largest number of warnings and notes that are reported for a file. They never block, so the others are
/// dropped.
const MOST_WARNINGS: usize = 1_000;

/// The largest length of a quotation, in characters.
const FOUND: usize = 120;

/// An issue that is being built.
#[derive(Clone, Debug)]
pub(in crate::template) struct Draft {
    code: Code,
    span: Bytes,
    message: String,
    found: Option<String>,
    expected: Vec<String>,
    advice: String,
    related: Vec<(Bytes, String)>,
}

impl Draft {
    pub(in crate::template) fn new(code: Code, span: Bytes, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, span, message, found: None, expected: Vec::new(), advice: String::new(), related: Vec::new() }
    }

    pub(in crate::template) fn code(&self) -> Code {
        self.code
    }

    pub(in crate::template) fn span(&self) -> Bytes {
        self.span
    }

    pub(in crate::template) fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
    }

    pub(in crate::template) fn has_related(&self) -> bool {
        !self.related.is_empty()
    }

    pub(in crate::template) fn found(mut self, text: &str) -> Self {
        self.found = Some(text.chars().take(FOUND).collect());
        self
    }

    pub(in crate::template) fn expected<'a>(mut self, values: impl IntoIterator<Item = &'a str>) -> Self {
        self.expected = values.into_iter().map(str::to_owned).collect();
        self
    }

    pub(in crate::template) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    pub(in crate::template) fn related(mut self, span: Bytes, message: impl Into<String>) -> Self {
        self.related.push((span, message.into()));
        self
    }
}

/// Collects issues with their places, up to the largest number for a file.
pub(in crate::template) struct Report<'a> {
    file: &'a str,
    lines: &'a Lines<'a>,
    issues: Vec<(Bytes, Issue)>,
    errors: usize,
    full: bool,
}

impl<'a> Report<'a> {
    pub(in crate::template) fn new(file: &'a str, lines: &'a Lines<'a>) -> Self {
        Self { file, lines, issues: Vec::new(), errors: 0, full: false }
    }

    /// Continues with the issues of a file that was already read.
    pub(in crate::template) fn continued(file: &'a str, lines: &'a Lines<'a>, issues: Vec<(Bytes, Issue)>) -> Self {
        let errors = issues.iter().filter(|(_, issue)| issue.severity == Severity::Error).count();
        Self { file, lines, issues, errors, full: errors > MOST }
    }

    pub(in crate::template) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Adds an issue that refers to a place in another file.
    pub(in crate::template) fn add_with(&mut self, draft: Draft, path: &str, other: Option<Related>) {
        let before = self.issues.len();
        self.add(draft, path);
        if let Some((_, issue)) = self.issues.get_mut(before) {
            issue.related.extend(other);
        }
    }

    /// Adds an issue at `path`. After 200 errors, one T003 follows and nothing else.
    pub(in crate::template) fn add(&mut self, draft: Draft, path: &str) {
        if self.full {
            return;
        }
        let is_error = draft.is_error();
        if !is_error && self.issues.len().saturating_sub(self.errors) >= MOST_WARNINGS {
            return;
        }
        if is_error && self.errors >= MOST {
            self.full = true;
            let last = Bytes { start: usize::MAX, end: usize::MAX };
            let end = Draft::new(Code::T003, last, format!("the file has more than {MOST} errors"));
            let issue = self.finish(end.advice("fix these first, then check again"), "");
            self.issues.push((last, issue));
            return;
        }
        let span = draft.span;
        let issue = self.finish(draft, path);
        if !self.issues.iter().rev().take(8).any(|(_, known)| *known == issue) {
            self.errors += usize::from(is_error);
            self.issues.push((span, issue));
        }
    }

    fn finish(&self, draft: Draft, path: &str) -> Issue {
        // Issues use the names of XML elements. For a short-form file, they are replaced by its keys.
        let short = is_yaml(self.file);
        let in_form = |text: String| if short { in_keys(&text) } else { text };
        let key = |name: &String| shown(name).filter(|_| short && draft.code == Code::T011).map(str::to_owned);
        let expected = draft.expected.iter().map(|name| key(name).unwrap_or_else(|| name.clone())).collect();
        let (start, end) = (self.lines.place(draft.span.start), self.lines.place(draft.span.end));
        let related = draft
            .related
            .into_iter()
            .map(|(span, message)| {
                let place = self.lines.place(span.start);
                Related { line: place.line, column: place.column, message, file: None }
            })
            .collect();
        Issue {
            code: draft.code,
            severity: draft.code.severity(),
            rule: draft.code.rule().to_owned(),
            message: in_form(draft.message),
            file: self.file.to_owned(),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            path: path.to_owned(),
            found: draft.found,
            expected,
            advice: in_form(draft.advice),
            related,
        }
    }

    /// The issues with their ranges, in the order of the file.
    pub(in crate::template) fn into_issues(mut self) -> Vec<(Bytes, Issue)> {
        self.issues.sort_by_key(|(at, issue)| (at.start, issue.code, at.end));
        self.issues
    }
}
