//! Headings, labels and markers of the task replies (spec 3.3, 3.7-3.11).

use crate::markdown::{Format, Heading, LabelRule, Rule};

/// Line with which a result asks for another round (spec 2.13).
pub(super) const MORE_WORK: &str = "more work needed";

/// Line that says that nothing needs to be changed (spec 3.11).
pub(super) const NO_CHANGES: &str = "no changes needed";

const fn rule(heading: Heading, title: &'static str, synonyms: &'static [&'static str], numbered: bool) -> Rule {
    Rule { heading, title, level: 2, synonyms, numbered }
}

const TASK: Rule = rule(Heading::Task, "Task", &["Refined task", "Updated task"], false);
const TOOL_CALLS: Rule = rule(
    Heading::ToolCalls,
    "Tool Calls",
    &["Tool call", "Skill call", "Skill calls", "Function calls", "Function call"],
    false,
);
const SUMMARY: Rule =
    rule(Heading::ResultSummary, "Result summary", &["Summary", "Result", "Results", "Results summary"], false);
const DETAILS: Rule = rule(Heading::Details, "Details", &["Details block"], true);
const CHANGES: Rule = rule(Heading::ChangeDetails, "Change details", &[], true);
const CHANGES_LOOSE: Rule =
    rule(Heading::ChangeDetails, "Change details", &["Changes", "Change", "File changes", "Edits"], true);

const MARKERS: &[&str] = &[MORE_WORK];
const WRITER_MARKERS: &[&str] = &[MORE_WORK, NO_CHANGES];

/// A refinement (spec 3.7).
pub(super) const REFINEMENT: Format = Format { rules: &[TASK, TOOL_CALLS], markers: &[], plain_titles: false };

/// A loop turn in text form (spec 10.7).
pub(super) const LOOP: Format =
    Format { rules: &[TOOL_CALLS, SUMMARY, DETAILS], markers: MARKERS, plain_titles: false };

/// The optional blocks that a result really has. A heading counts only if its block has the keys (spec 3.3), so the
/// format is chosen after a first look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocks {
    /// The result has none of them.
    None,
    /// Under the canonical title.
    Canonical,
    /// Under a synonym.
    Synonym,
}

/// The format of an execution reply.
pub(super) fn execution(details: bool, changes: Blocks, writer: bool) -> Format {
    let rules: &'static [Rule] = match (details, changes) {
        (false, Blocks::None) => &[SUMMARY],
        (false, Blocks::Canonical) => &[SUMMARY, CHANGES],
        (false, Blocks::Synonym) => &[SUMMARY, CHANGES_LOOSE],
        (true, Blocks::None) => &[SUMMARY, DETAILS],
        (true, Blocks::Canonical) => &[SUMMARY, DETAILS, CHANGES],
        (true, Blocks::Synonym) => &[SUMMARY, DETAILS, CHANGES_LOOSE],
    };
    Format { rules, markers: if writer { WRITER_MARKERS } else { MARKERS }, plain_titles: false }
}

const fn label(name: &'static str, synonyms: &'static [&'static str]) -> LabelRule {
    LabelRule { name, synonyms }
}

/// The label of a `Details` block.
pub(super) const DETAIL_LABELS: &[LabelRule] = &[label("Filename", &["File name"])];

/// Keys of a `Change details` block. Aliases are separate keys here, because they are the repair `change-key`.
pub(super) const CHANGE_LABELS: &[LabelRule] = &[
    label("file_path", &[]),
    label("path", &[]),
    label("file", &[]),
    label("output_mode", &[]),
    label("start_line", &[]),
    label("end_line", &[]),
    label("lines", &[]),
    label("complete_file", &[]),
    label("overwrite", &[]),
    label("ast_path", &[]),
    label("location", &[]),
];
