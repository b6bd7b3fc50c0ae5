//! Refinements (spec 3.7).

use std::collections::BTreeSet;
use std::ops::Range;

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::nouns::{Phase, Reference, Refinement, SkillMode, ToolEffect};
use serde_json::Value;

use crate::markdown::{Document, Heading, Labelled, Piece, PieceKind, Prepare, Section};
use crate::reading::{Answer, Candidates, Diagnostics, Lookup, ReadContext, Reading};
use crate::reply::calls::{BlockForm, CallBlock, CallRules, read_calls};
use crate::reply::list::TASK_LABELS;
use crate::reply::placeholder::is_copied_form;
use crate::reply::references::{Scope, check_value, is_none};

use super::formats::REFINEMENT;
use super::{body, call_blocks, execution, skill_policy};

/// Reads a refinement of `context.current`.
pub fn read_refinement(text: &str, context: &ReadContext) -> Reading<Refinement> {
    let mut notes = execution::notes(Phase::Refine, context);
    let value = read(text, context, &mut notes);
    notes.finish(value)
}

pub(super) fn read(text: &str, context: &ReadContext, notes: &mut Diagnostics) -> Refinement {
    let prepare = Prepare { copies: &[], length_stop: context.length_stop, ..Prepare::default() };
    let document = Document::read(text, &REFINEMENT, prepare, notes);
    let mut reader = Reader {
        document: &document,
        context,
        value: Refinement::default(),
        blocks: Vec::new(),
        seen: BTreeSet::new(),
        values: Vec::new(),
    };
    if !body::has_reply(&document, context, notes) {
        return reader.value;
    }
    reader.trim_prose(notes);
    if reader.takes_bare_calls(notes) {
        notes.repair(RepairCode::HeadingMissing, document.span(0..document.len()), "", "## Tool Calls");
    } else if let Some(range) = reader.task_range(notes) {
        notes.set_section(Some("Task"));
        reader.task(range, notes);
    }
    reader.calls(notes);
    reader.value
}

struct Reader<'a> {
    document: &'a Document<'a>,
    context: &'a ReadContext,
    value: Refinement,
    /// Blocks in the task section that may be calls.
    blocks: Vec<CallBlock>,
    seen: BTreeSet<&'static str>,
    /// `References` values, each with its first line.
    values: Vec<(String, u32)>,
}

impl Reader<'_> {
    /// Reads a reply that consists only of calls: it has no heading or label of a task, and JSON that calls a tool.
    /// Keys that it leaves out do not change.
    fn takes_bare_calls(&mut self, notes: &Diagnostics) -> bool {
        let document = self.document;
        let whole = 0..document.len();
        let headed = document.sections.iter().any(|section| section.heading.is_some());
        let labels = self.labels(&whole);
        let blocks = call_blocks(document, whole);
        let begins = blocks.first().is_some_and(|block| block.text.trim_start().starts_with('{'));
        // A JSON key looks like a label.
        if headed || labels > 0 && !begins {
            return false;
        }
        let mut tried = notes.fork();
        let policy = skill_policy(self.context);
        let allowed = policy.map(|policy| policy.tools.as_slice()).unwrap_or_default();
        let rules = CallRules { allowed, context: self.context, taken_ids: &BTreeSet::new(), must_start: true };
        let calls = read_calls(&blocks, &rules, &mut tried);
        let found = !calls.is_empty() || begins && tried.errors() > 0;
        if found {
            self.blocks = blocks;
        }
        found
    }

    fn trim_prose(&self, notes: &mut Diagnostics) {
        if self.document.all(Heading::Task).next().is_none() {
            return;
        }
        self.document.trim_prose(self.document.preamble.clone(), notes);
        for section in self.document.sections.iter().filter(|section| section.heading.is_none()) {
            self.document.trim_prose(section.line..section.body.end, notes);
        }
    }

    /// The lines of the task's list: its section, or the only labelled list of the reply (repair `heading-missing`).
    fn task_range(&self, notes: &mut Diagnostics) -> Option<Range<usize>> {
        let sections: Vec<&Section> = self.document.all(Heading::Task).collect();
        match sections.as_slice() {
            [one] => return Some(one.body.clone()),
            [] => {}
            [_, second, ..] => {
                let facts = [("title", "Task")];
                notes.push(notes.issue(IssueCode::DuplicateSection, "task", second.heading_span(), &facts));
                return None;
            }
        }
        let outside = |section: &&Section| section.heading.is_none();
        let mut ranges = vec![self.document.preamble.clone()];
        ranges.extend(self.document.sections.iter().filter(outside).map(|section| section.line..section.body.end));
        let lists: Vec<Range<usize>> = ranges.into_iter().filter(|range| self.labels(range) > 0).collect();
        let whole = self.document.span(0..self.document.len());
        match lists.as_slice() {
            [one] if self.is_one_list(one) => {
                let span = self.document.span(one.clone());
                notes.repair(RepairCode::HeadingMissing, span, &self.document.text(one.clone()), "## Task");
                Some(one.clone())
            }
            [] => {
                notes.push(notes.issue(IssueCode::TaskMissing, "", whole, &[]));
                None
            }
            _ => {
                notes.push(notes.issue(IssueCode::TaskMissing, "several", whole, &[]));
                None
            }
        }
    }

    fn labels(&self, range: &Range<usize>) -> usize {
        let known = |piece: &&Piece<'_>| matches!(&piece.kind, PieceKind::Label(label) if label.known().is_some());
        self.document.pieces(range.clone(), TASK_LABELS).iter().filter(known).count()
    }

    fn is_one_list(&self, range: &Range<usize>) -> bool {
        let pieces = self.document.pieces(range.clone(), TASK_LABELS);
        let count = |name: &str| {
            let is = |piece: &&Piece<'_>| matches!(&piece.kind, PieceKind::Label(label) if label.known() == Some(name));
            pieces.iter().filter(is).count()
        };
        count("What is needed") <= 1 && count("Skill") <= 1 && count("Expected output") <= 1
    }

    fn task(&mut self, range: Range<usize>, notes: &mut Diagnostics) {
        for piece in self.document.pieces(range, TASK_LABELS) {
            match piece.kind {
                PieceKind::Label(labelled) => self.label(&labelled, notes),
                PieceKind::Fence(index) => self.fence(index),
                PieceKind::Item(text) | PieceKind::Heading(_, text) => {
                    notes.repair(RepairCode::ProseTrimmed, piece.span, text, "");
                }
                PieceKind::Prose(text) => notes.repair(RepairCode::ProseTrimmed, piece.span, &text, ""),
            }
        }
    }

    fn fence(&mut self, index: usize) {
        if let Some(fence) = self.document.fences.get(index) {
            self.blocks.push(CallBlock {
                text: fence.content.clone(),
                form: BlockForm::Fence { tag: fence.lang.clone() },
                line: fence.span.first.saturating_add(1).min(fence.span.last),
                lenient: true,
            });
        }
    }

    fn label(&mut self, labelled: &Labelled<'_>, notes: &mut Diagnostics) {
        let Some(name) = labelled.known() else {
            let label = labelled.label.as_str();
            if labelled.value.is_empty() {
                notes.repair(RepairCode::KeyDropped, labelled.span, labelled.written, "");
            } else {
                let issue = notes.issue(IssueCode::UnknownKey, "refinement", labelled.span, &[("key", label)]);
                notes.push(issue.key(label).warning());
            }
            return;
        };
        labelled.note(notes);
        let holds_call = labelled.fences.iter().any(|index| self.is_json(*index));
        if holds_call && name != "Skill call" {
            for index in &labelled.fences {
                self.fence(*index);
            }
        }
        let value = if holds_call { before_fence(&labelled.value) } else { labelled.value.to_string() };
        if !matches!(name, "References" | "Skill call") && !self.seen.insert(name) {
            let facts = [("key", name)];
            notes.push(notes.issue(IssueCode::TaskBoundary, "refinement", labelled.span, &facts).key(name));
            return;
        }
        match name {
            "What is needed" if value.is_empty() || is_copied_form(&value) => {
                notes.push(notes.issue(IssueCode::NeedMissing, "refinement", labelled.span, &[]).key(name));
            }
            "What is needed" => self.value.need = Some(value),
            "Expected output" if !value.is_empty() && !is_copied_form(&value) => self.value.expected = Some(value),
            "Requires user approval" => self.value.approval = is_yes(&value),
            "References" => self.values.push((value, labelled.value_line)),
            "Skill" => self.skill(&value, labelled.span, notes),
            "Skill call" => self.skill_call(labelled, notes),
            _ => {}
        }
    }

    fn is_json(&self, index: usize) -> bool {
        self.document.fences.get(index).is_some_and(|fence| fence.lang == "json")
    }

    fn skill(&mut self, value: &str, span: Span, notes: &mut Diagnostics) {
        let own = self.context.current.as_ref().and_then(|task| task.skill.as_deref()).unwrap_or("");
        if !value.is_empty() && normalize(value) != normalize(own) {
            let facts = [("skill", value), ("own", own)];
            notes.push(notes.issue(IssueCode::SkillChange, "", span, &facts).key("Skill").warning());
        }
    }

    /// Reads a call in the value of `Skill call`, or in the fence after it. Other text is ignored.
    fn skill_call(&mut self, labelled: &Labelled<'_>, notes: &mut Diagnostics) {
        if labelled.fences.is_empty() && !labelled.value.contains('{') {
            notes.repair(RepairCode::KeyDropped, labelled.span, labelled.written, "");
            return;
        }
        for index in &labelled.fences {
            self.fence(*index);
        }
        if labelled.fences.is_empty() {
            let text = labelled.value.trim().trim_matches('`').to_owned();
            let text = text.find('{').and_then(|at| text.get(at..)).unwrap_or("").to_owned();
            self.blocks.push(CallBlock { text, form: BlockForm::Bare, line: labelled.span.first, lenient: false });
        }
    }

    /// Reads the links of all `References` lines. An empty value keeps the old ones, `none` removes them.
    fn references(&mut self, notes: &mut Diagnostics) {
        let mut values = std::mem::take(&mut self.values);
        values.retain(|(value, _)| !value.trim().is_empty());
        if values.is_empty() {
            return;
        }
        notes.set_section(Some("Task"));
        let mut scope = Scope::of_current(self.context);
        // The run of every call includes all references, so their sizes add up.
        scope.one_run |= !self.value.calls.is_empty();
        let mut found: Vec<Reference> = Vec::new();
        let mut seen = BTreeSet::new();
        for (value, line) in values.iter().filter(|(value, _)| !is_none(value)) {
            for reference in check_value(value, *line, &scope, self.context, notes) {
                if seen.insert(reference.clone()) {
                    found.push(reference);
                }
            }
        }
        self.value.references = Some(found);
    }

    fn calls(&mut self, notes: &mut Diagnostics) {
        let mut blocks = std::mem::take(&mut self.blocks);
        let sections: Vec<&Section> = self.document.all(Heading::ToolCalls).collect();
        for section in &sections {
            blocks.extend(call_blocks(self.document, section.body.clone()));
        }
        notes.set_section(Some("Tool Calls"));
        let policy = skill_policy(self.context);
        let allowed = policy.map(|policy| policy.tools.as_slice()).unwrap_or_default();
        let taken = BTreeSet::new();
        let rules = CallRules { allowed, context: self.context, taken_ids: &taken, must_start: true };
        self.value.calls = read_calls(&blocks, &rules, notes);
        let span =
            sections.first().map_or_else(|| self.document.span(0..self.document.len()), |section| section.span());
        self.paths(span, notes);
        self.references(notes);
        notes.set_section(Some("Task"));
        if policy.is_some_and(|policy| policy.needs_arguments) && notes.errors() == 0 {
            self.input(notes);
        }
        notes.set_section(None);
    }

    /// Reports calls on an invented folder: they find nothing, and nobody asks again before the task is done (spec
    /// 3.7). A path that a task or the request names may still appear.
    fn paths(&mut self, span: Span, notes: &mut Diagnostics) {
        let context = self.context;
        let reads = |name: &str| context.tools.iter().any(|tool| tool.name == name && tool.effect == ToolEffect::Read);
        let mut invented = BTreeSet::new();
        for call in self.value.calls.iter_mut().filter(|call| reads(&call.name)) {
            let Some(path) = call.arguments.get("path").and_then(Value::as_str) else { continue };
            if let Some(folder) = all_of_a_folder(path, context, notes) {
                notes.repair(RepairCode::PathNear, span, path, &folder);
                call.arguments["path"] = Value::String(folder);
                continue;
            }
            let lookup = Lookup::Path { path: path.to_owned(), fragment: None };
            let answer = notes.answer(context, lookup);
            if let Some(Answer::Missing(Candidates { respelled: Some(other), .. })) = answer {
                let other = other.clone();
                notes.repair(RepairCode::PathSpelling, span, path, &other);
                call.arguments["path"] = Value::String(other);
                continue;
            }
            let is_missing = matches!(answer, Some(Answer::Missing(_) | Answer::Outside(_)));
            if is_missing && !is_named(path, context) {
                let facts = [("tool", call.name.as_str()), ("path", path)];
                notes.push(notes.issue(IssueCode::CallPathMissing, "", span, &facts).item(&call.id));
                invented.insert(call.id.clone());
            }
        }
        self.value.calls.retain(|call| !invented.contains(&call.id));
    }

    /// Requires a call, or at least something to read, for a skill whose tools need arguments. A template gets its
    /// arguments from nowhere else.
    fn input(&self, notes: &mut Diagnostics) {
        let current = self.context.current.as_ref();
        let calls = !self.value.calls.is_empty() || current.is_some_and(|task| !task.calls.is_empty());
        let references = match &self.value.references {
            Some(references) => !references.is_empty(),
            None => current.is_some_and(|task| !task.references.is_empty()),
        };
        let policy = skill_policy(self.context);
        let template = policy.is_some_and(|policy| policy.mode == SkillMode::Template);
        if !calls && (template || !references) {
            let whole = self.document.span(0..self.document.len());
            let tools = policy.map(|policy| policy.tools.as_slice()).unwrap_or_default();
            let issue = notes.issue(IssueCode::NoInput, if template { "template" } else { "" }, whole, &[]);
            notes.push(issue.allowed("", tools.iter().map(String::as_str)));
        }
    }
}

/// The folder of a pattern for all its content, such as `src/*`, if the folder exists and the pattern is not a path
/// itself.
fn all_of_a_folder(path: &str, context: &ReadContext, notes: &mut Diagnostics) -> Option<String> {
    let folder = path.strip_suffix("/*").or_else(|| path.strip_suffix("/**"))?;
    let mut answer = |path: &str| notes.answer(context, Lookup::Path { path: path.to_owned(), fragment: None });
    let is_path = !matches!(answer(path), Some(Answer::Missing(_)));
    let is_folder = matches!(answer(folder), Some(Answer::File(facts)) if facts.directory);
    (!is_path && is_folder).then(|| folder.to_owned())
}

/// Whether the request or a task of the list names a path.
fn is_named(path: &str, context: &ReadContext) -> bool {
    let tasks = context.tasks.iter().map(|known| &known.task).chain(context.current.as_ref());
    let texts = tasks.flat_map(|task| [&task.need, &task.expected]);
    texts.chain(&context.prompts).any(|text| text.contains(path.trim_matches('/')))
}

fn before_fence(value: &str) -> String {
    let lines = value.lines().take_while(|line| {
        let start = line.trim_start();
        !(start.starts_with("```") || start.starts_with("~~~"))
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Whether a value is empty or yes (spec 3.3). Other text never changes the setting by accident.
fn is_yes(value: &str) -> bool {
    matches!(normalize(value).as_str(), "" | "yes" | "true" | "y" | "1" | "required")
}
