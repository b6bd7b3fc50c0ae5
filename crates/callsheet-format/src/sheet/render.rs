//! Tasks, lists and saved sheets as Markdown (spec 3.4, 9). By the law of spec 4.1, reading a rendering returns the
//! same value without repairs, so every value that could be misread is in a fence that it cannot close.

use callsheet_core::fence::fence;
use callsheet_core::links::{link, parse_target};
use callsheet_core::nouns::{ForEach, Goals, Reference, Task, TaskList};

/// The maximum number of tokens in an `Output` line (spec 9).
const OUTPUT_TOKENS: usize = 400;

/// The purpose of rendering a task (spec 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskForm {
    /// Plan display, `plan:` references, fingerprints.
    Coarse,
    /// Refinement and its retry. Includes tool calls.
    Refinement,
    /// Iteration, continuation, `sheet.md`. Includes the output of a done task.
    List,
    /// Execution precursor. Includes tool calls.
    Execution,
}

/// A task as `- **Key** value` lines, each ending with a newline, without a section heading. `summary` is the result
/// summary of a done task, which only [`TaskForm::List`] shows.
pub fn render_task(task: &Task, form: TaskForm, summary: Option<&str>) -> String {
    let mut out = String::new();
    key(&mut out, "Name", &task.name);
    key(&mut out, "What is needed", &task.need);
    key(&mut out, "Skill", task.skill.as_deref().unwrap_or(""));
    if let (Some(for_each), Some(source)) = (&task.for_each, task.source()) {
        out.push_str(&format!("- **For each** {}\n", write_for_each(for_each, source)));
    }
    let links: Vec<String> = task.own_references().iter().map(link).collect();
    if !links.is_empty() {
        out.push_str(&format!("- **References** {}\n", links.join(" ")));
    }
    key(&mut out, "Expected output", &task.expected);
    if task.approval {
        out.push_str("- **Requires user approval**\n");
    }
    if let Some(policy) = task.review.filter(|_| matches!(form, TaskForm::Coarse | TaskForm::List)) {
        out.push_str(&format!("- **Review** {}\n", policy.as_str()));
    }
    for line in task.extra.lines() {
        if let Some((label, value)) = line.split_once(": ") {
            out.push_str(&format!("- **{label}** {value}\n"));
        }
    }
    if form == TaskForm::List {
        output(&mut out, summary.unwrap_or_default(), task);
    }
    if matches!(form, TaskForm::Refinement | TaskForm::Execution) && !task.calls.is_empty() {
        out.push_str("\n## Tool Calls\n");
        for call in &task.calls {
            let text = serde_json::to_string_pretty(call).unwrap_or_default();
            out.push_str(&format!("\n{}\n", fence("json", &text)));
        }
    }
    out
}

/// The words of `For each` between the placeholder and the link.
pub const IN: &str = " in ";
/// The words after the link, with which a failed item does not fail the task.
pub const ALLOW_FAILURES: &str = "allow failures";

/// The value of `For each`.
pub fn write_for_each(for_each: &ForEach, source: &Reference) -> String {
    let after = if for_each.allow_failures { format!(", {ALLOW_FAILURES}") } else { String::new() };
    format!("{}{IN}{}{after}", for_each.name, link(source))
}

/// `## Tasks` with its task sections in LIST form (spec 9.2), and a blank line after each task. An empty step is left
/// out; the others keep their numbers.
pub fn render_list(list: &TaskList) -> String {
    let mut out = "## Tasks\n".to_owned();
    for (number, step) in list.steps.iter().enumerate().filter(|(_, step)| !step.tasks.is_empty()) {
        out.push_str(&format!("### Task section {}\n", number + 1));
        for task in &step.tasks {
            out.push_str(&render_task(task, TaskForm::List, None));
            out.push('\n');
        }
    }
    out
}

/// `## Goals / summary` with its markers. Empty if there is nothing to say.
pub fn render_goals(goals: &Goals) -> String {
    if goals.text.is_empty() && !goals.plan_complete && !goals.plan_continues {
        return String::new();
    }
    let mut out = "## Goals / summary\n".to_owned();
    if !goals.text.is_empty() {
        let plain = goals.text.trim() == goals.text && goals.text.lines().all(is_plain_text);
        let text = if plain { goals.text.clone() } else { fence("text", &goals.text) };
        out.push_str(&format!("{text}\n\n"));
    }
    for (set, marker) in [(goals.plan_complete, "plan complete"), (goals.plan_continues, "plan continues")] {
        if set {
            out.push_str(&format!("**{marker}**\n\n"));
        }
    }
    out
}

/// Goals and tasks, the canonical plan (spec 3.4).
pub fn render_plan(list: &TaskList) -> String {
    format!("{}{}", render_goals(&list.goals), render_list(list))
}

/// A task of a saved sheet.
#[derive(Clone, Debug)]
pub struct SheetTask<'a> {
    /// The task.
    pub task: &'a Task,
    /// How it ended, in one line. Empty if it has not ended.
    pub state: String,
    /// Summary of its result. Empty if there is none.
    pub output: &'a str,
}

impl<'a> SheetTask<'a> {
    /// The tasks of a list in which nothing has ended, by step.
    pub fn of_list(list: &'a TaskList) -> Vec<Vec<Self>> {
        let open = |task| Self { task, state: String::new(), output: "" };
        list.steps.iter().map(|step| step.tasks.iter().map(open).collect()).collect()
    }
}

/// The saved sheet (spec 3.4): the prompt, the goals, every task of the plan in its step, and what is no longer relevant
/// (canonical targets, spec 5.10).
pub fn render_sheet(
    prompt: &str,
    goals: &Goals,
    steps: &[Vec<SheetTask<'_>>],
    no_longer_relevant: &[String],
) -> String {
    let mut out = String::new();
    if !prompt.is_empty() {
        // A fence ends its last line, so a line feed at the end of the prompt is an additional one.
        let own = if prompt.ends_with('\n') { "\n" } else { "" };
        out.push_str(&format!("## Original prompt\n{}\n\n", fence("text", &format!("{prompt}{own}"))));
    }
    out.push_str(&render_goals(goals));
    out.push_str("## Tasks\n");
    for (number, step) in steps.iter().enumerate().filter(|(_, step)| !step.is_empty()) {
        out.push_str(&format!("### Task section {}\n", number + 1));
        for shown in step {
            out.push_str(&render_task(shown.task, TaskForm::List, None));
            key(&mut out, "State", &shown.state);
            output(&mut out, shown.output, shown.task);
            out.push('\n');
        }
    }
    if !no_longer_relevant.is_empty() {
        out.push_str("## No longer relevant\n");
        for target in no_longer_relevant.iter().filter_map(|text| parse_target(text).ok()) {
            out.push_str(&format!("- {}\n", link(&Reference { title: String::new(), target })));
        }
        out.push('\n');
    }
    out
}

/// The summary of a result in one line. Empty if there is none.
fn output(out: &mut String, summary: &str, task: &Task) {
    let line = output_line(summary, task);
    if !line.is_empty() {
        out.push_str(&format!("- **Output** {line}\n"));
    }
}

/// One key with its value. Empty for an empty value.
pub(crate) fn key(out: &mut String, label: &str, value: &str) {
    if value.is_empty() {
        return;
    }
    if !is_plain_value(value) {
        out.push_str(&format!("- **{label}**\n"));
        for line in fence("text", value).lines() {
            out.push_str(&format!("  {line}\n"));
        }
        return;
    }
    let mut lines = value.lines();
    out.push_str(&format!("- **{label}** {}\n", lines.next().unwrap_or_default()));
    for line in lines {
        let indent = if line.is_empty() { "" } else { "  " };
        out.push_str(&format!("{indent}{line}\n"));
    }
}

/// A summary on one line. A long one is cut and ends with its reference.
fn output_line(summary: &str, task: &Task) -> String {
    let line = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut quarters = 0;
    let mut cut = None;
    for (at, c) in line.char_indices() {
        quarters += if c.is_ascii() { 1 } else { 4 };
        if quarters > OUTPUT_TOKENS * 4 {
            cut = Some(at);
            break;
        }
    }
    match cut.and_then(|at| line.get(..at)) {
        Some(head) => format!("{} … [more](#{}-results)", head.trim_end(), task.slug),
        None => line,
    }
}

/// First words of a label, a marker or a section title, in any form that the reader accepts.
const LABEL_WORDS: &[&str] = &[
    "name",
    "title",
    "task",
    "tasks",
    "what",
    "whatisneeded",
    "skill",
    "skillname",
    "foreach",
    "forevery",
    "reference",
    "references",
    "expected",
    "expectedoutput",
    "requires",
    "output",
    "description",
    "goal",
    "goals",
    "need",
    "needs",
    "link",
    "links",
    "context",
    "shared",
    "examination",
    "deliverable",
    "is",
    "iswriter",
    "user",
    "userapproval",
    "requiresuserapproval",
    "plan",
    "original",
    "issues",
    "completed",
    "general",
    "no",
    "section",
    "step",
    "phase",
    "stage",
    "state",
    "group",
    "summary",
    "objectives",
    "request",
    "prompt",
    "finished",
    "irrelevant",
    "outstanding",
    "steps",
    "tasklist",
    "taskname",
    "skillcall",
    "more",
];

/// Whether a value can follow its label, with further lines indented below it.
fn is_plain_value(value: &str) -> bool {
    if value.trim() != value || has_reasoning_tag(value) || value.contains('\r') {
        return false;
    }
    let mut lines = value.split('\n');
    let first = lines.next().unwrap_or_default();
    let opens = first.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '\'' | '(' | '[' | '`'));
    opens
        && first.trim_end() == first
        && !first.starts_with("```")
        && lines.all(|line| line.is_empty() || is_plain_line(line))
}

/// Whether an indented line cannot be read as a label, a fence or a marker.
fn is_plain_line(line: &str) -> bool {
    let body = line.trim_start_matches([' ', '\t']);
    let item = body.strip_prefix("- ").or_else(|| body.strip_prefix("* ")).unwrap_or(body);
    let starts = item.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '(' | '['));
    let brief = item.chars().count() <= 40 || item.chars().take(60).any(|c| c == ':');
    let labelled = starts_label(item) && (brief || item.len() < body.len());
    starts && line.trim_end() == line && !body.is_empty() && !labelled
}

/// Whether a line of free text cannot be read as a heading, a fence, a marker, a label or a rule.
fn is_plain_text(line: &str) -> bool {
    line.is_empty() || is_plain_line(line) && !line.starts_with(' ') && !has_reasoning_tag(line)
}

fn starts_label(text: &str) -> bool {
    let body = text.trim_start_matches(|c: char| !c.is_alphabetic());
    let word: String = body.chars().take_while(|c| c.is_alphabetic() || matches!(c, '_' | '-')).take(40).collect();
    let word: String = word.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect();
    // An underscore or hyphen may join the words of a label, so each beginning counts.
    LABEL_WORDS.contains(&word.as_str())
        || LABEL_WORDS.iter().any(|label| label.len() >= 4 && word.starts_with(label) && body.contains(['_', '-']))
}

/// Whether a text contains a reasoning tag outside fences.
pub fn has_reasoning_tag(text: &str) -> bool {
    if !text.contains('<') {
        return false;
    }
    let lower = text.to_lowercase();
    ["think", "reasoning", "thought"]
        .iter()
        .any(|tag| lower.contains(&format!("<{tag}")) || lower.contains(&format!("</{tag}")))
}
