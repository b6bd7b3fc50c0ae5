//! The editor for the sheet of a run, which shows issues while the person types.

use callsheet_core::issue::Severity;
use callsheet_core::record::Outcome;
use callsheet_core::visible::readable;
use maud::{Markup, html};

use super::run::RunPage;
use crate::piece::{Piece, Tag};
use callsheet_app::{Refusal, SheetCheck};

/// The pieces beside the editor. The text itself is never sent again, because a person may be typing.
pub(crate) fn pieces(page: &RunPage<'_>, pieces: &mut Vec<Piece>) {
    let words = html! {
        @if page.summary.owner.is_some() { p.soft { "The run adopts a saved edit at once: it runs what you add, asks again about what you change, and never starts what you delete." } }
        @else if page.run.about().outcome == Some(Outcome::Complete) { p.soft { "This run is complete. Tasks that you add run when it is resumed." } }
        @else { p.soft { "The run rests. A saved edit is recorded at once. Its tasks run when the run is resumed." } }
    };
    pieces.push(Piece::new(Tag::Block, "sheet-notes", "sheet-note", "sheet-note", words));
}

pub(crate) fn page(page: &RunPage<'_>, pieces: &[Piece]) -> Result<Markup, Refusal> {
    if page.run.about().tree.is_some() {
        return Ok(html! { section.empty { p { "This run runs a template. It has no sheet." } } });
    }
    if !page.run.about().has_list {
        return Ok(html! { section.empty { p { "There is no sheet yet: the model is making the list of tasks." } } });
    }
    let text = page.runs.sheet(page.run)?;
    let check = page.runs.check_sheet(page.run, &text)?;
    Ok(editor(page, pieces, (&text, &page.last().to_string(), &text), &check))
}

/// The editor. `seen` is the text that the person started from, `n` the last entry at that time, `text` the current
/// text.
pub(crate) fn editor(
    page: &RunPage<'_>,
    pieces: &[Piece],
    (seen, n, text): (&str, &str, &str),
    check: &SheetCheck,
) -> Markup {
    html! {
        form.sheet method="post" action=(page.action("sheet")) data-check=(page.address("sheet/check")) {
            div #sheet-notes { (crate::piece::listed(pieces, "sheet-notes")) }
            input type="hidden" name="seen" value=(seen);
            input type="hidden" name="n" value=(n);
            label.visually-hidden for="sheet-text" { "Sheet of this run, in Markdown" }
            div.editor {
                div.backdrop aria-hidden="true" {}
                // Browsers ignore the first newline in a text area.
                textarea #sheet-text name="text" spellcheck="false" wrap="soft" rows="24" { "\n" (text) }
            }
            div #sheet-check role="status" { (checked(check)) }
            div.answers {
                button.main { "Save" }
                button formaction=(page.address("sheet/check")) { "Check" }
            }
        }
    }
}

/// The issues of a text, and what saving it would change.
pub(crate) fn checked(check: &SheetCheck) -> Markup {
    let errors = check.issues.iter().filter(|issue| issue.severity == Severity::Error).count();
    html! {
        p {
            @if errors > 0 { strong.bad-words { "✗ " (errors) @if errors == 1 { " error" } @else { " errors" } ". Saving changes nothing until they are fixed." } }
            @else if check.effect.is_empty() { span.soft { "No errors." } }
            @else { strong { (readable(&check.effect)) } }
        }
        @if !check.issues.is_empty() {
            ol.issues {
                @for issue in &check.issues {
                    @let word = if issue.severity == Severity::Error { "error" } else { "warning" };
                    li class=(word) data-line=(issue.line) {
                        button.link type="button" data-line=(issue.line) data-column=(issue.column) { "Line " (issue.line) }
                        " " strong { (word) } " " (readable(&issue.words))
                    }
                }
            }
        }
    }
}
