//! Reads one labelled task as values (spec 3.3).

use std::rc::Rc;

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::nouns::{NEED_TOKENS, Policy, Slug, Task, tokens};

use crate::markdown::{Document, Label, Labelled, label_line};
use crate::reading::{Diagnostics, ReadContext};
use crate::reply::placeholder::is_copied_form;
use crate::reply::references::is_none;
use crate::sheet::has_reasoning_tag;

use super::for_each::NamedField;
use super::format::{TASK_LABELS, label};
use super::group::RawTask;
use super::{Kind, blocks, calls, for_each, one_line, skill};

/// The smallest number of words in a need that can count as a copy of the catalog.
const SHORTEST_COPY: usize = 6;

/// `Expected output` of a task that has none (spec 3.4).
pub const EXPECTED: &str = include_str!("../prompts/expected_output.txt");

/// A task whose references are not checked yet.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The task without slug and references.
    pub task: Task,
    /// Values of `References`, each with its first line. Before them, the link of `For each`.
    pub references: Vec<(String, u32)>,
    /// Fields of its items that its words name.
    pub fields: Vec<NamedField>,
    /// Lines of the task.
    pub span: Span,
    /// Line of the name, or of the task.
    pub name_span: Span,
    /// Section heading, for issues.
    pub section: Rc<str>,
    /// Whether it had an `Output`, like a finished task.
    pub output: bool,
    /// Whether it had a `State`, like an ended task.
    pub state: bool,
    /// Slug of the written name, if several tasks have the same one.
    pub repeated: Option<Slug>,
}

/// Reads the labels of a task, and notes all issues about this task alone.
pub fn read(
    raw: &RawTask<'_>,
    section: &Rc<str>,
    document: &Document,
    kind: Kind,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Draft {
    let name = name(raw);
    notes.set_section(Some(section));
    notes.set_task(name.as_deref());
    let with_blocks = (kind == Kind::Sheet).then(|| blocks::kept(raw, document, context, notes)).flatten();
    let raw = with_blocks.as_ref().unwrap_or(raw);
    for label in &raw.labels {
        label.note(notes);
    }
    let (expected, output) = expected(raw, kind, context, name.as_deref(), notes);
    let need = need(raw, kind, context, notes);
    let written = raw.all(label::SKILL).next().map(|label| (&*label.value, label.span));
    too_long(&need, raw, notes);
    let skill = skill::read(written, raw.span, context, notes);
    let choice = skill::Choice { skill: skill.as_deref(), span: written.map_or(raw.span, |(_, span)| span) };
    let (for_each, source) = for_each::read(raw).unzip();
    let links: Vec<&str> = raw.all(label::REFERENCES).map(|label| &*label.value).collect();
    // The items of a list are what the task links.
    let links: Vec<&str> = source.iter().map(|(link, _)| link.as_str()).chain(links).collect();
    choice.question(&links, &need, &expected, context, notes);
    if let Some(for_each) = &for_each {
        for_each::check_placeholders(for_each, &need, &expected, raw.span, notes);
    }
    let approval = raw.all(label::APPROVAL).fold(false, |known, label| known | approval(label, notes));
    let mut references = references(raw, notes);
    references.splice(..0, source);
    let fields = for_each.iter().flat_map(|for_each| for_each::fields(raw, for_each)).collect();
    let state = state(raw, kind, notes);
    let review = raw.labels.iter().find_map(|label| review(label, kind));
    let extra = extra(raw, kind, context, notes);
    let mut task = Task {
        name: name.unwrap_or_default(),
        slug: Slug::new(""),
        aliases: Vec::new(),
        need,
        skill,
        for_each,
        references: Vec::new(),
        expected,
        approval,
        review,
        calls: Vec::new(),
        extra,
    };
    for label in raw.all(label::SKILL_CALL).filter(|label| label.fences.is_empty() && raw.fences.is_empty()) {
        notes.repair(RepairCode::KeyDropped, label.span, label.written, "");
    }
    let fences: Vec<usize> = fences(raw);
    task.calls = calls::read(&fences, document, &task, context, notes);
    needs_refinement(&task, written.map_or(raw.span, |(_, span)| span), context, notes);
    notes.set_task(None);
    notes.set_section(None);
    let name_span = raw.all(label::NAME).next().map_or(Span::line(raw.span.first), |label| label.span);
    let (span, section) = (raw.span, Rc::clone(section));
    Draft { task, references, fields, span, name_span, section, output, state, repeated: None }
}

/// Whether the task contains the host's text on how it ended. In a reply, that text is dropped.
fn state(raw: &RawTask<'_>, kind: Kind, notes: &mut Diagnostics) -> bool {
    let mut written = false;
    for label in raw.all(label::STATE) {
        if kind == Kind::Sheet {
            written |= !label.value.trim().is_empty();
        } else {
            notes.repair(RepairCode::KeyDropped, label.span, label.written, "");
        }
    }
    written
}

/// A task that cannot be refined must contain the calls of its skill (spec 2.12).
fn needs_refinement(task: &Task, span: Span, context: &ReadContext, notes: &mut Diagnostics) {
    let skill = context.catalog.iter().find(|skill| Some(&skill.name) == task.skill.as_ref());
    if let Some(skill) =
        skill.filter(|skill| task.for_each.is_none() && skill.policy.lacks_refinement(context.refine, &task.calls))
    {
        let issue = notes.issue(IssueCode::RefinementRequired, "", span, &[("skill", &skill.name)]);
        notes.push(issue.key(label::SKILL));
    }
}

/// The written name, else the text of the task's heading or item, as one line.
fn name(raw: &RawTask<'_>) -> Option<String> {
    let written = raw.all(label::NAME).map(|label| &*label.value).find(|value| says_something(value));
    let text = written.or(raw.hint.as_deref())?;
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    let line = without_marks(&line);
    (!line.is_empty()).then(|| line.to_owned())
}

/// A name without the marks around it. If there are also marks inside, only pairs around the whole are removed:
/// "**Bold** `x`" begins and ends with marks that are not a pair.
fn without_marks(line: &str) -> &str {
    let marks = |c: char| matches!(c, '*' | '`' | '_' | ' ');
    let bare = line.trim_matches(marks);
    if !bare.contains(['*', '`']) {
        return bare;
    }
    let mut line = line.trim();
    while let Some(inside) = ["**", "*", "`", "__", "_"].iter().find_map(|mark| {
        let inside = line.strip_prefix(mark)?.strip_suffix(mark)?.trim();
        (!inside.contains(mark)).then_some(inside)
    }) {
        line = inside;
    }
    line
}

/// Whether a value is neither empty nor an unfilled blank of the form in the prompt.
fn says_something(value: &str) -> bool {
    !value.trim().is_empty() && !is_copied_form(value)
}

fn need(raw: &RawTask<'_>, kind: Kind, context: &ReadContext, notes: &mut Diagnostics) -> String {
    let value = raw.all(label::NEED).next();
    // A model that copies the catalog's description of a skill does not say what the skill should do.
    let is_copied = |need: &str| {
        let counts = need.split_whitespace().nth(SHORTEST_COPY - 1).is_some();
        let mut skills = context.catalog.iter();
        kind != Kind::Sheet && counts && skills.any(|skill| one_line::is_copied(need, &skill.description))
    };
    match value {
        Some(label) if says_something(&label.value) && !is_copied(&label.value) => label.value.to_string(),
        _ => {
            let variant = if value.is_some() { "empty" } else { "" };
            let span = value.map_or(raw.span, |label| label.span);
            notes.push(notes.issue(IssueCode::NeedMissing, variant, span, &[]).key(label::NEED));
            String::new()
        }
    }
}

/// Reports a need that is too long for prompts to show completely.
fn too_long(need: &str, raw: &RawTask<'_>, notes: &mut Diagnostics) {
    let tokens = tokens(need);
    if tokens > NEED_TOKENS {
        let span = raw.all(label::NEED).next().map_or(raw.span, |label| label.span);
        let facts = [("tokens", tokens.to_string()), ("limit", NEED_TOKENS.to_string())];
        let facts = facts.each_ref().map(|(name, text)| (*name, text.as_str()));
        notes.push(notes.issue(IssueCode::OverBudget, "need", span, &facts).warning().key(label::NEED));
    }
}

/// Reads `Expected output`, which may also be written `Output`, and whether `Output` marks a finished task.
fn expected(
    raw: &RawTask<'_>,
    kind: Kind,
    context: &ReadContext,
    name: Option<&str>,
    notes: &mut Diagnostics,
) -> (String, bool) {
    let value = |name| raw.all(name).find(|label| says_something(&label.value));
    let finished = |name: &str| {
        let slug = callsheet_core::names::slug_of(name);
        context.tasks.find(&slug).is_some_and(|known| known.done)
    };
    let output = value(label::OUTPUT);
    let marks = output.is_some() && kind != Kind::Plan && name.is_some_and(finished);
    if let Some(label) = value(label::EXPECTED) {
        if let Some(extra) = output.filter(|_| !marks) {
            notes.repair(RepairCode::KeyDropped, extra.span, extra.written, "");
        }
        return (label.value.to_string(), marks);
    }
    if let Some(label) = output.filter(|_| !marks) {
        notes.repair(RepairCode::LabelName, label.span, label.written, format_args!("- **{}**", label::EXPECTED));
        return (label.value.to_string(), false);
    }
    if !marks {
        let span = raw.all(label::EXPECTED).next().map_or(raw.span, |label| label.span);
        let issue = notes.issue(IssueCode::ExpectedMissing, "", span, &[]).warning().key(label::EXPECTED);
        notes.push(issue);
    }
    (EXPECTED.trim().to_owned(), marks)
}

/// An empty value or yes is true, no is false. Any other text also asks for approval, because the key can only add that
/// need.
fn approval(label: &Labelled<'_>, notes: &mut Diagnostics) -> bool {
    let words = normalize(&label.value);
    match words.as_str() {
        "" | "yes" => true,
        "no" => false,
        _ => {
            let no = ["false", "0", "none", "not", "n"].contains(&words.split(' ').next().unwrap_or_default())
                || words.starts_with("no ");
            let after = if no { "no" } else { "yes" };
            notes.repair(RepairCode::LabelForm, label.span, &label.value, after);
            !no
        }
    }
}

/// `Review`: an empty value or yes is always, no is never. A plan cannot set it: the person decides whether results are
/// reviewed.
fn review(label: &Labelled<'_>, kind: Kind) -> Option<Policy> {
    match normalize(&label.value).as_str() {
        _ if !is_review(label, kind) => None,
        "" | "yes" | "always" => Some(Policy::Always),
        "no" | "never" => Some(Policy::Never),
        "auto" => Some(Policy::Auto),
        _ => None,
    }
}

fn is_review(label: &Labelled<'_>, kind: Kind) -> bool {
    kind != Kind::Plan && label.known().is_none() && normalize(label.label.as_str()) == "review"
}

fn references(raw: &RawTask<'_>, notes: &mut Diagnostics) -> Vec<(String, u32)> {
    let mut values = Vec::new();
    for label in raw.all(label::REFERENCES) {
        if !is_none(&label.value) {
            values.push((label.value.to_string(), label.value_line));
        } else if !label.value.is_empty() {
            notes.repair(RepairCode::KeyDropped, label.span, label.written, "");
        }
    }
    values
}

/// Unknown labels are kept as text with the task if they say something, else dropped. The name of a skill is not a
/// label: whether a task begins there would be a guess.
fn extra(raw: &RawTask<'_>, kind: Kind, context: &ReadContext, notes: &mut Diagnostics) -> String {
    let mut kept: Vec<String> = Vec::new();
    let first_key = raw.labels.iter().position(|label| label.known().is_some());
    let unknown_labels = raw.labels.iter().enumerate().filter(|(_, label)| label.known().is_none());
    let unknown_labels = unknown_labels.filter(|(_, label)| review(label, kind).is_none());
    for (at, label) in unknown_labels {
        let fold = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = fold(&label.value);
        let value = value.trim_start_matches(|c: char| matches!(c, ':' | '-' | '–' | '—') || c.is_whitespace());
        // Marks at its edges would join those around it when it is written.
        let name = fold(label.label.as_str());
        // The label ends at its first colon when it is read again.
        let name = name.trim_matches(|c: char| "*_` ".contains(c)).replace(": ", " ");
        let beside_keys = first_key.is_some_and(|key| key < at || !value.is_empty());
        let names_skill = beside_keys && one_line::skill_of(&name, context).is_some();
        if names_skill {
            let issue = notes.issue(IssueCode::TaskBoundary, "skill", label.span, &[("label", &name)]);
            notes.push(issue.key(&name));
        }
        // A reasoning tag within one line would not read back.
        if value.is_empty()
            || name.is_empty()
            || is_known(&name)
            || has_reasoning_tag(value)
            || has_reasoning_tag(&name)
        {
            notes.repair(RepairCode::KeyDropped, label.span, label.written, "");
            continue;
        }
        if is_review(label, kind) {
            let facts = [("label", name.as_str()), ("value", value)];
            let issue = notes.issue(IssueCode::UnknownKey, "value", label.span, &facts).warning().key(&name);
            notes.push(issue.allowed(value, ["always", "never", "auto"]));
        } else if !names_skill {
            unknown(&name, label.span, notes);
        }
        kept.push(format!("{name}: {value}"));
    }
    kept.join("\n")
}

fn unknown(name: &str, span: Span, notes: &mut Diagnostics) {
    let issue = notes.issue(IssueCode::UnknownKey, "", span, &[("label", name)]).warning().key(name);
    let known = TASK_LABELS
        .iter()
        .map(|rule| rule.name)
        .filter(|name| !matches!(*name, label::OUTPUT | label::STATE | label::SKILL_CALL));
    notes.push(issue.allowed(name, known));
}

/// Whether an unknown label, once written, would be read as a known one.
fn is_known(name: &str) -> bool {
    let line = format!("- **{name}** x");
    label_line(&line, TASK_LABELS).is_some_and(|line| matches!(line.label, Label::Known(_)))
}

/// Fences that may contain tool calls: after the list, and in values of keys that are not text of the task.
fn fences(raw: &RawTask<'_>) -> Vec<usize> {
    let mut fences: Vec<usize> = raw.all(label::SKILL_CALL).flat_map(|label| label.fences.iter().copied()).collect();
    fences.extend(raw.fences.iter().map(|behind| behind.fence));
    fences.sort_unstable();
    fences
}
