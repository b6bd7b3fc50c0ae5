//! Composes a change set (spec 3.10): resolves every position against the validated file, then applies all edits of a
//! file at once. Nothing outside the addressed spans changes.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;

use callsheet_core::issue::{Issue, IssueCode, RepairCode};
use callsheet_core::nouns::{BlobId, Phase};
use callsheet_core::symbols::{Symbol, SymbolMatch, find_symbol};

use crate::edit::{Change, ChangeWay, SymbolPosition};
use crate::reading::{Diagnostics, Reading, clause};

use super::excerpt::{self, ExcerptMatch, Views};
use super::form::{self, Form, Written};
use super::heading::{Heading, headings};
use super::place::{self, replace_lines};
use super::rest::holds_rest;
use super::text::{Lines, ending, is_uniform, with_ending, with_final};
use super::{FileEdit, Files, Outlines, ShownFiles};

/// Checks and composes changes that did not come from a reply, such as the changes of a tool (spec 10.7).
pub fn validate(
    changes: &[Change],
    files: &Files,
    outlines: &Outlines,
    shown: ShownFiles<'_>,
) -> Reading<Vec<FileEdit>> {
    let mut notes = Diagnostics::new(Phase::Execute, false);
    let edits = compose(changes, files, outlines, shown, &mut notes);
    notes.finish(edits)
}

/// Composes changes into new file texts, in path order. Paths are canonical. Any error is noted and rejects the whole
/// set; the result is then empty.
pub fn compose(
    changes: &[Change],
    files: &Files,
    outlines: &Outlines,
    shown: ShownFiles<'_>,
    notes: &mut Diagnostics,
) -> Vec<FileEdit> {
    let errors_before = notes.errors();
    let mut by_path: BTreeMap<&str, Vec<(usize, &Change)>> = BTreeMap::new();
    for (index, change) in changes.iter().enumerate() {
        by_path.entry(&change.path).or_default().push((index, change));
    }
    let mut edits = Vec::new();
    for (path, changes) in by_path {
        let whole = files.get(path).map(String::as_str);
        let form = whole.map(Form::of);
        let symbols = outlines.get(path).map(Vec::as_slice);
        let mut file =
            FileChanges { path, whole, form: form.as_ref(), symbols, shown, headings: OnceCell::new(), notes };
        edits.extend(file.compose(&changes));
    }
    if notes.errors() > errors_before { Vec::new() } else { edits }
}

/// Why a change is rejected. Boxed, because an issue is large compared with the success value.
type Refused = Box<Issue>;

/// One replacement of bytes in the validated file.
struct Splice<'a> {
    range: Range<usize>,
    new: String,
    index: usize,
    /// The texts of an excerpt in which differences of blanks were ignored.
    repaired: Option<Written<'a>>,
}

impl Splice<'_> {
    fn of((range, new): (Range<usize>, String), index: usize) -> Self {
        Self { range, new, index, repaired: None }
    }
}

struct FileChanges<'a> {
    path: &'a str,
    /// The current text of the file.
    whole: Option<&'a str>,
    /// The file in the form in which changes are applied. It has all positions.
    form: Option<&'a Form<'a>>,
    symbols: Option<&'a [Symbol]>,
    shown: ShownFiles<'a>,
    /// Headings of the file, computed when first needed.
    headings: OnceCell<Vec<Heading>>,
    notes: &'a mut Diagnostics,
}

impl FileChanges<'_> {
    fn compose(&mut self, changes: &[(usize, &Change)]) -> Option<FileEdit> {
        let whole = |change: &Change| matches!(change.way, ChangeWay::Whole { .. } | ChangeWay::Delete);
        if let [(index, change)] = changes
            && whole(change)
        {
            return self.whole(*index, change);
        }
        if let Some((index, change)) = changes.iter().find(|(_, change)| whole(change)) {
            self.refuse(*index, change, IssueCode::ChangeOverlap, "whole", &[]);
            return None;
        }
        let Some(form) = self.form else {
            for (index, change) in changes {
                self.refuse(*index, change, IssueCode::FileMissing, "change", &[]);
            }
            return None;
        };
        let views = Views::of(&form.text);
        let mut splices = Vec::new();
        for (index, change) in changes {
            match self.splice(*index, change, form, &views) {
                Ok(Some(splice)) => splices.push(splice),
                Ok(None) => {}
                Err(issue) => self.notes.push(*issue),
            }
        }
        self.overlaps(&mut splices, changes, &views.lines)?;
        Some(self.edit(Some(form.restored(&join(&views, &splices)))))
    }

    fn edit(&self, after: Option<String>) -> FileEdit {
        FileEdit { path: self.path.to_owned(), before: self.whole.map(str::to_owned), after }
    }

    /// An issue about change number `index` of this file.
    fn issue(&self, index: usize, change: &Change, code: IssueCode, variant: &str, facts: &[(&str, &str)]) -> Issue {
        let mut all = vec![("path", self.path)];
        all.extend_from_slice(facts);
        let issue = self.notes.issue(code, variant, change.span, &all);
        if issue.is_counted() { issue } else { issue.item(&format!("change {}", index + 1)) }
    }

    fn refuse(&mut self, index: usize, change: &Change, code: IssueCode, variant: &str, facts: &[(&str, &str)]) {
        let issue = self.issue(index, change, code, variant, facts);
        self.notes.push(issue);
    }

    fn is_stale(&self) -> bool {
        let now = || BlobId::of(self.whole.unwrap_or_default().as_bytes());
        self.shown.hash(self.path).is_some_and(|hash| *hash != now())
    }

    /// Applies a change of the whole file: created, replaced or deleted.
    fn whole(&mut self, index: usize, change: &Change) -> Option<FileEdit> {
        let after = match (&change.way, self.form) {
            (ChangeWay::Whole { content, .. }, None) => Some(content.clone()),
            (ChangeWay::Whole { overwrite: false, .. }, Some(_)) => {
                self.refuse(index, change, IssueCode::FileExists, "", &[]);
                return None;
            }
            (ChangeWay::Whole { content, .. }, Some(form)) => {
                match self.shown.in_full.get(self.path) {
                    None => {
                        self.refuse(index, change, IssueCode::WholeFileOnPartial, "", &[]);
                        return None;
                    }
                    Some(_) if self.is_stale() => {
                        self.refuse(index, change, IssueCode::StaleLines, "", &[]);
                        return None;
                    }
                    Some(_) => {}
                }
                Some(form.restored(&like(&form.text, form.plain(content))))
            }
            (_, None) => {
                self.refuse(index, change, IssueCode::FileMissing, "change", &[]);
                return None;
            }
            (_, Some(_)) => None,
        };
        Some(self.edit(after))
    }

    fn splice<'c>(
        &mut self,
        index: usize,
        change: &'c Change,
        form: &Form<'_>,
        views: &Views<'_>,
    ) -> Result<Option<Splice<'c>>, Refused> {
        let (before, lines, eol) = (&*form.text, &views.lines, views.eol);
        let splice = match &change.way {
            ChangeWay::Excerpt { old, new } => {
                self.excerpt(index, change, views, Written { old: form.plain(old), new: form.plain(new) })?
            }
            ChangeWay::Lines { first, last, new } => {
                let (first, last) = (*first as usize, *last as usize);
                if self.is_stale() {
                    return Err(Box::new(self.issue(index, change, IssueCode::StaleLines, "", &[])));
                }
                let count = lines.count();
                if first == 0 || last.saturating_add(1) < first || last > count {
                    let (asked, count) = (format!("{first}-{last}"), count.to_string());
                    let facts = [("asked", asked.as_str()), ("count", count.as_str())];
                    return Err(Box::new(self.issue(index, change, IssueCode::LinesOutOfRange, "change", &facts)));
                }
                let new = with_final(&with_ending(form.plain(new), eol), eol);
                Splice::of(replace_lines(lines, first, last, &new), index)
            }
            ChangeWay::Symbol { path, location, new } => {
                if !matches!(location, SymbolPosition::Before | SymbolPosition::After) && self.is_stale() {
                    return Err(Box::new(self.issue(index, change, IssueCode::StaleLines, "", &[])));
                }
                let new = form.plain(new.as_deref().unwrap_or(""));
                let place = if is_markdown(self.path) {
                    let heading = self.heading(index, change, before, path)?;
                    place::section(lines, &heading, *location, &with_final(&with_ending(new, eol), eol), eol)
                } else {
                    let symbol = form.placed(self.symbol(index, change, path)?);
                    place::symbol(before, lines, &symbol, *location, new)
                };
                Splice::of(place, index)
            }
            ChangeWay::Whole { .. } | ChangeWay::Delete => return Ok(None),
        };
        if holds_rest(before, &splice.range, &splice.new) {
            return Err(Box::new(self.issue(index, change, IssueCode::AddressConflict, "rest", &[])));
        }
        Ok(Some(splice))
    }

    fn excerpt<'c>(
        &mut self,
        index: usize,
        change: &Change,
        views: &Views<'_>,
        written: Written<'c>,
    ) -> Result<Splice<'c>, Refused> {
        let (before, lines, old) = (views.text, &views.lines, written.old);
        if old.trim().is_empty() {
            return Err(Box::new(self.issue(index, change, IssueCode::AddressMissing, "empty-old", &[])));
        }
        match views.find(written) {
            (ExcerptMatch::Once { range, new, repaired }, written) => {
                if repaired {
                    let found = before.get(range.clone()).unwrap_or("");
                    self.notes.repair(RepairCode::ExcerptWhitespace, change.span, old, found);
                }
                let new = with_ending(&new, views.eol);
                if range.end >= before.len() {
                    return Ok(Splice::of((range, new), index));
                }
                // Lines are added and removed together with their endings.
                let new = if new.is_empty() { new } else { new + views.eol };
                let (first, last) = (lines.line_at(range.start), lines.line_at(range.end));
                let (range, new) = replace_lines(lines, first, last, &new);
                Ok(Splice { range, new, index, repaired: repaired.then_some(written) })
            }
            (ExcerptMatch::Several(at), _) => {
                let at: Vec<String> = at.iter().map(usize::to_string).collect();
                let at = at.join(", ");
                Err(Box::new(self.issue(index, change, IssueCode::ExcerptAmbiguous, "", &[("lines", &at)]).raw(old)))
            }
            (ExcerptMatch::Nowhere, _) => {
                let mut issue = self.issue(index, change, IssueCode::ExcerptNotFound, "", &[]).raw(old);
                let affordable = !issue.is_counted() && self.notes.may_compare(lines.count());
                let near = if affordable { excerpt::nearest_lines(lines, old, 3) } else { Vec::new() };
                if !near.is_empty() {
                    issue.what = clause("nearest", &[("what", &issue.what), ("lines", &near.join("; "))]);
                }
                Err(Box::new(issue))
            }
        }
    }

    /// The heading that a symbol change names (spec 5.3).
    fn heading(&self, index: usize, change: &Change, before: &str, path: &str) -> Result<Heading, Refused> {
        let wanted = path.trim().trim_start_matches('#').trim();
        let key = callsheet_core::names::heading_key(wanted);
        let all = self.headings.get_or_init(|| headings(before));
        let mut fits: Vec<&Heading> = all.iter().filter(|heading| heading.key == key && !key.is_empty()).collect();
        if fits.len() != 1 {
            // The web rule numbers repeats, so it can distinguish what the key cannot. A plain key with repeats is
            // ambiguous.
            let web: Vec<&Heading> = all.iter().filter(|heading| heading.anchor == wanted).collect();
            if fits.is_empty() {
                fits = web;
            }
        }
        match fits.as_slice() {
            [heading] => Ok((*heading).clone()),
            [] => {
                let keys = all.iter().map(|heading| heading.anchor.as_str());
                let issue = self.issue(index, change, IssueCode::SymbolNotFound, "change", &[("symbol", wanted)]);
                let affordable = !issue.is_counted() && self.notes.may_compare(all.len());
                let near = if affordable { callsheet_core::fuzzy::nearest(wanted, keys, 5) } else { Vec::new() };
                Err(Box::new(Issue { allowed: near, ..issue }))
            }
            several => {
                let anchors = several.iter().map(|heading| format!("{} (line {})", heading.anchor, heading.first));
                let allowed = anchors.take(30).collect();
                let issue = self.issue(index, change, IssueCode::SymbolAmbiguous, "change", &[("symbol", wanted)]);
                Err(Box::new(Issue { allowed, ..issue }))
            }
        }
    }

    /// The symbol that a change names (spec 5.3).
    fn symbol(&self, index: usize, change: &Change, path: &str) -> Result<&Symbol, Refused> {
        let issue = |code, variant| self.issue(index, change, code, variant, &[("symbol", path)]);
        let Some(symbols) = self.symbols else { return Err(Box::new(issue(IssueCode::SymbolUnsupported, "change"))) };
        match find_symbol(symbols, path) {
            SymbolMatch::One(symbol) => Ok(symbol),
            SymbolMatch::Several(several) => {
                let allowed = several.iter().map(|symbol| format!("{} (line {})", symbol.name(), symbol.first));
                let allowed = allowed.take(30).collect();
                Err(Box::new(Issue { allowed, ..issue(IssueCode::SymbolAmbiguous, "symbol") }))
            }
            SymbolMatch::None => {
                let names: Vec<String> = symbols.iter().map(Symbol::name).collect();
                let allowed = callsheet_core::fuzzy::nearest(path, names.iter().map(String::as_str), 5);
                let variant = if allowed.is_empty() { "no-symbols" } else { "symbol" };
                Err(Box::new(Issue { allowed, ..issue(IssueCode::SymbolNotFound, variant) }))
            }
        }
    }

    /// Sorts the splices and rejects those that share bytes. Insertions at one place keep the order of the reply.
    fn overlaps(&mut self, splices: &mut [Splice<'_>], changes: &[(usize, &Change)], lines: &Lines<'_>) -> Option<()> {
        splices.sort_by_key(|splice| (splice.range.start, splice.range.end, splice.index));
        let mut clean = true;
        let mut reached: Option<(usize, usize)> = None;
        for splice in splices.iter() {
            if let Some((end, other)) = reached
                && splice.range.start < end
            {
                clean = false;
                let change = changes.binary_search_by_key(&splice.index, |(index, _)| *index).ok();
                if let Some((index, change)) = change.and_then(|at| changes.get(at)) {
                    let (other, line) = ((other + 1).to_string(), lines.line_at(splice.range.start).to_string());
                    let facts = [("other", other.as_str()), ("line", line.as_str())];
                    self.refuse(*index, change, IssueCode::ChangeOverlap, "", &facts);
                }
            }
            if reached.is_none_or(|(end, _)| splice.range.end > end) {
                reached = Some((splice.range.end, splice.index));
            }
        }
        (clean && splices.len() == changes.len()).then_some(())
    }
}

/// The text with the splices applied. Splices do not overlap, so what they leave unchanged was examined once.
fn join(views: &Views<'_>, splices: &[Splice<'_>]) -> String {
    let before = views.text;
    let mut after = String::with_capacity(before.len());
    let mut done = 0;
    for splice in splices {
        after.push_str(before.get(done..splice.range.start).unwrap_or(""));
        if views.uniform && splice.repaired.is_none() {
            after.push_str(&splice.new);
        } else {
            after.push_str(&form::kept(before, &views.lines, &splice.range, &splice.new, splice.repaired));
        }
        done = splice.range.end;
    }
    after.push_str(before.get(done..).unwrap_or(""));
    after
}

/// `content` with the line endings of the file that it replaces.
fn like(before: &str, content: &str) -> String {
    let eol = ending(before);
    let content = with_ending(content, eol);
    if before.is_empty() || content.is_empty() {
        return content;
    }
    let content = with_final(&content, eol);
    if is_uniform(before) {
        return content;
    }
    form::kept(before, &Lines::of(before), &(0..before.len()), &content, None)
}

/// Whether a change names a symbol of a code file, so that the file's outline is needed.
pub fn names_symbol(change: &Change) -> bool {
    matches!(change.way, ChangeWay::Symbol { .. }) && !is_markdown(&change.path)
}

fn is_markdown(path: &str) -> bool {
    let lower = path.to_lowercase();
    [".md", ".markdown", ".mdown", ".mkd"].iter().any(|suffix| lower.ends_with(suffix))
}
