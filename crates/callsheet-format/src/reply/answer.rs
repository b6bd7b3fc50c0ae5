//! The answer that a model writes from several results (spec 2.15): prose, taken as it is.

use callsheet_core::issue::{IssueCode, Span};
use callsheet_core::spec::Phase;

use crate::markdown::{Document, Format, Prepare};
use crate::reading::{Diagnostics, Reading};

/// An answer has no sections.
const FORMAT: Format = Format { rules: &[], markers: &[], plain_titles: false };

/// Reads an answer. Nothing at all, and a part of one, is none; `cut`: the reply ends at its length limit.
pub fn read_answer(text: &str, cut: bool) -> Reading<String> {
    let mut notes = Diagnostics::new(Phase::Join, false);
    let prepare = Prepare { length_stop: cut, ..Prepare::default() };
    let document = Document::read(text, &FORMAT, prepare, &mut notes);
    let answer = document.whole().trim().to_owned();
    let code = match (answer.is_empty(), cut && !document.ended) {
        (true, _) => Some(IssueCode::EmptyReply),
        (false, true) => Some(IssueCode::ReplyTruncated),
        (false, false) => None,
    };
    if let Some(code) = code {
        let issue = notes.issue(code, "", Span::line(1), &[]);
        notes.push(issue);
    }
    notes.finish(answer)
}
