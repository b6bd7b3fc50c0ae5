//! The shared Markdown layer: sections, labels, fences and thinking (spec 3.1, 3.2, 4.2).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]

use callsheet_core::issue::RepairCode;
use callsheet_core::nouns::Phase;
use callsheet_format::markdown::{Document, Format, Heading, LabelRule, PieceKind, Prepare, Rule};
use callsheet_format::reading::Diagnostics;
use proptest::prelude::*;

const FORMAT: Format = Format {
    rules: &[
        Rule { heading: Heading::Goals, title: "Goals / summary", level: 2, synonyms: &["Goals"], numbered: false },
        Rule { heading: Heading::Tasks, title: "Tasks", level: 2, synonyms: &["Task"], numbered: false },
        Rule { heading: Heading::TaskSection, title: "Task section", level: 3, synonyms: &["Step"], numbered: true },
    ],
    markers: &["plan complete"],
    plain_titles: true,
};

const LABELS: &[LabelRule] = &[
    LabelRule { name: "Name", synonyms: &["Title"] },
    LabelRule { name: "What is needed", synonyms: &["Need"] },
    LabelRule { name: "Skill", synonyms: &["skill_name"] },
    LabelRule { name: "References", synonyms: &[] },
];

fn read(text: &str) -> (Document<'_>, Diagnostics) {
    let mut notes = Diagnostics::new(Phase::Plan, false);
    let document = Document::read(text, &FORMAT, Prepare::default(), &mut notes);
    (document, notes)
}

fn headings(document: &Document<'_>) -> Vec<(Option<Heading>, usize, std::ops::Range<usize>)> {
    document.sections.iter().map(|section| (section.heading, section.line, section.body.clone())).collect()
}

#[test]
fn sections_run_to_the_next_recognised_or_not_deeper_heading() {
    let text = "Hello\n## Goals / summary\nA\n### Part\nB\n## Tasks\n### Task section 1\nx\n## Other\ny\n";
    let (document, notes) = read(text);
    assert_eq!(
        headings(&document),
        [
            (Some(Heading::Goals), 1, 2..5),
            (Some(Heading::Tasks), 5, 6..6),
            (Some(Heading::TaskSection), 6, 7..8),
            (None, 8, 9..10),
        ]
    );
    assert_eq!(document.text(2..5), "A\n### Part\nB");
    assert!(notes.repairs().is_empty());
}

#[test]
fn nothing_inside_a_fence_or_list_item_is_a_heading() {
    let (document, _) = read("## Tasks\n```text\n## Goals\n```\n- a\n  ## Goals\n> ## Goals\n");
    assert_eq!(headings(&document), [(Some(Heading::Tasks), 0, 1..7)]);
}

/// covers: 3.1, 4.1 long lines
#[test]
fn a_line_of_thousands_of_markers_is_what_it_begins_as() {
    for unit in ["- ", "1. ", "> ", "## ", "-"] {
        let long = unit.repeat(3_000);
        for line in [format!("{long}words"), long] {
            let text = format!("## Tasks\n{line}\n\n## Goals\nA\n");
            let (document, _) = read(&text);
            let found: Vec<_> = document.sections.iter().filter_map(|section| section.heading).collect();
            assert_eq!(found, [Heading::Tasks, Heading::Goals], "{}", line.get(..12).unwrap_or_default());
        }
    }
}

#[test]
fn odd_headings_are_recognised_with_their_repairs() {
    let (document, notes) = read("**Goals:**\nText\n\nTasks\n-----\n# Task Section 1 ##\n- a\nTask section 2\n- b\n");
    let found: Vec<_> = document.sections.iter().map(|section| section.heading).collect();
    use Heading::{Goals, TaskSection, Tasks};
    assert_eq!(found, [Some(Goals), Some(Tasks), Some(TaskSection), Some(TaskSection)]);
    let codes: Vec<_> = notes.repairs().iter().map(|repair| (repair.code, repair.span.first)).collect();
    assert_eq!(
        codes,
        [
            (RepairCode::HeadingLevel, 1),
            (RepairCode::HeadingName, 1),
            (RepairCode::HeadingLevel, 4),
            (RepairCode::HeadingLevel, 6),
            (RepairCode::HeadingName, 6),
            (RepairCode::HeadingLevel, 8),
        ]
    );
}

/// covers: duplicate-section
#[test]
fn a_title_that_fits_two_sections_is_neither() {
    const TWO: Format = Format {
        rules: &[
            Rule { heading: Heading::Details, title: "Details one", level: 2, synonyms: &[], numbered: false },
            Rule { heading: Heading::ChangeDetails, title: "Details two", level: 2, synonyms: &[], numbered: false },
        ],
        markers: &[],
        plain_titles: false,
    };
    let mut notes = Diagnostics::new(Phase::Execute, false);
    let document = Document::read("## Details one\n## Details onwo\n", &TWO, Prepare::default(), &mut notes);
    assert_eq!(document.all(Heading::Details).count(), 1);
    let codes: Vec<_> = notes.issues().iter().map(|issue| issue.code.as_str()).collect();
    assert_eq!(codes, ["duplicate-section"]);
}

/// Work is linear in the text: a hundred times the text takes no more than some hundred times the steps. Shown by size
/// alone, without a clock: these texts would take hours if any step were quadratic.
#[test]
fn large_odd_texts_are_read() {
    for part in [
        "[",
        "[ ",
        "**a",
        "- **Skill** x\n",
        "```\n",
        "<think>",
        "</think>\n",
        "## Tasks\n",
        "> ",
        "1. a: b\n",
        "- a\n  ",
    ] {
        let text = part.repeat(200_000 / part.len());
        let (document, _) = read(&text);
        document.pieces(0..document.len(), LABELS);
    }
}

#[test]
fn thinking_and_a_wrapper_go_and_lines_stay() {
    let (document, notes) = read("<think>\n## Tasks\n</think>\nHere:\n```markdown\n## Tasks\n- a\n```\n");
    assert_eq!(headings(&document), [(Some(Heading::Tasks), 5, 6..8)]);
    assert_eq!(document.whole(), "Here:\n## Tasks\n- a");
    assert_eq!(document.thinking.trim(), "## Tasks");
    let codes: Vec<_> = notes.repairs().iter().map(|repair| repair.code).collect();
    assert_eq!(codes, [RepairCode::ThinkingRemoved, RepairCode::ReplyUnfenced]);
}

#[test]
fn unclosed_thinking_ends_at_the_first_heading() {
    let (document, _) = read("<think>\nhm\n## Tasks\n- a");
    assert_eq!(headings(&document), [(Some(Heading::Tasks), 2, 3..4)]);
}

#[test]
fn labels_in_all_forms_give_the_same_values() {
    let text = "## Tasks\n1. Find code\n   * __need__: find\n     it\n\n     all\n   * skill_name - find_code\n\n**Skill** x\n- References: [a](b)\n[c](d)\n- **Odd** y\n  ```text\n  z\n  ```\n- **Need**\n  ```text\n  - **Skill** q\n  ```\n**plan complete**\ntail\n";
    let (document, _) = read(text);
    let pieces = document.pieces(1..document.len(), LABELS);
    let seen: Vec<String> = pieces
        .iter()
        .map(|piece| match &piece.kind {
            PieceKind::Label(label) => format!("{}={}", label.label.as_str(), label.value.replace('\n', "|")),
            PieceKind::Item(text) => format!("item {text}"),
            PieceKind::Prose(text) => format!("prose {text}"),
            PieceKind::Fence(_) => "fence".to_owned(),
            PieceKind::Heading(level, text) => format!("h{level} {text}"),
        })
        .collect();
    assert_eq!(
        seen,
        [
            "item Find code",
            "What is needed=find|it||all",
            "Skill=find_code",
            "Skill=x",
            "References=[a](b)|[c](d)",
            "Odd=y|```text|z|```",
            "What is needed=- **Skill** q",
            "prose tail",
        ]
    );
}

proptest! {
    #[test]
    fn reading_any_text_never_panics(text in "(?s).{0,200}") {
        let (document, _) = read(&text);
        document.pieces(0..document.len(), LABELS);
    }

    #[test]
    fn reading_markup_never_panics(parts in proptest::collection::vec(
        prop_oneof![
            Just("\n"), Just("## "), Just("```"), Just("~~~"), Just("- "), Just("**"), Just("<think>"),
            Just("</think>"), Just("  "), Just("Tasks"), Just("Skill"), Just(":"), Just("\u{a0}"), Just("\u{200b}"),
            Just("é"), Just("[a](b)"), Just("1."), Just("---"), Just("\t"), Just("*"),
        ], 0..60)
    ) {
        let text = parts.concat();
        let (document, _) = read(&text);
        document.pieces(0..document.len(), LABELS);
    }
}
