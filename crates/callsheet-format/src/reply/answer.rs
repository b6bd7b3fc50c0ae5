//! The answer that a model writes from several results (spec 2.15): prose, taken as it is.

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::spec::Phase;

use crate::markdown::{Document, Fence, Format, Prepare};
use crate::reading::{Diagnostics, Reading};
use crate::reply::calls;

/// An answer has no sections.
const FORMAT: Format = Format { rules: &[], markers: &[], plain_titles: false };

/// Reads an answer. Nothing at all, and a part of one, is none; `cut`: the reply ends at its length limit.
pub fn read_answer(text: &str, cut: bool) -> Reading<String> {
    let mut notes = Diagnostics::new(Phase::Join, false);
    let prepare = Prepare { length_stop: cut, ..Prepare::default() };
    let document = Document::read(text, &FORMAT, prepare, &mut notes);
    let whole = document.whole();
    let answer = match document.fences.as_slice() {
        [only] if is_wrapper(only, whole.trim()) => {
            notes.repair(RepairCode::ReplyUnfenced, only.span, "", "");
            only.content.trim().to_owned()
        }
        _ => whole.trim().to_owned(),
    };
    let found = match (answer.is_empty(), cut && !document.ended) {
        (true, _) => Some((IssueCode::EmptyReply, "")),
        (false, true) => Some((IssueCode::ReplyTruncated, "")),
        (false, false) => calls::is_only_calls(&answer).then_some((IssueCode::CallUnread, "answer")),
    };
    if let Some((code, variant)) = found {
        let issue = notes.issue(code, variant, Span::line(1), &[]);
        notes.push(issue);
    }
    notes.finish(answer)
}

/// Whether the whole reply stands in one fence of Markdown. A fence of anything else may be what was asked for.
fn is_wrapper(fence: &Fence, whole: &str) -> bool {
    let lines = usize::try_from(fence.span.last.saturating_sub(fence.span.first)).unwrap_or_default() + 1;
    matches!(fence.lang.as_str(), "markdown" | "md") && whole.lines().count() == lines
}
