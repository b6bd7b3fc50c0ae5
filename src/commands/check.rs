//! `sheet check`: prints every issue of a sheet with its place. Runs nothing and writes nothing.

use std::path::Path;
use std::sync::Arc;

use callsheet_core::issue::{Issue, IssueCode, Repair, RepairCode, Severity};
use callsheet_core::nouns::{RunId, Settings};
use callsheet_core::view::counted;
use callsheet_format::skill::{SkillContext, SkillSeverity};
use callsheet_runtime::ports::{Observer, Store};
use callsheet_runtime::sheetfile::check_sheet;
use callsheet_runtime::skills::load_skills;
use callsheet_store::MemoryStore;
use serde_json::json;

use crate::cli::{Exit, Failure, OpenArgs};
use crate::setup::Setup;
use crate::term::{harmless, one_line};
use crate::wiring::{skill_dirs, without_model};

use super::estimate::{Estimate, trouble_with_items};
use super::skill::tool_specs;

/// Repairs of misspelt names. The author is told, because a run would use the corrected name.
const NEAR: [RepairCode; 3] = [RepairCode::SkillNear, RepairCode::ToolNear, RepairCode::PathNear];

/// Whether a person is told of repairs of this kind. A task whose name is given twice has another one in the run.
pub(super) fn is_told(code: RepairCode) -> bool {
    matches!(code, RepairCode::ItemDone | RepairCode::NameDeduplicated) || is_near(code)
}

/// Whether repairs of this kind correct a misspelt name.
pub(super) fn is_near(code: RepairCode) -> bool {
    NEAR.contains(&code)
}

/// Checks a sheet, with the request for it. `--json` prints the issues of spec 4.8, with the additional keys `file`,
/// `line` and `column`.
pub(super) fn sheet(
    setup: &Setup,
    observer: Arc<dyn Observer>,
    file: &Path,
    (text, prompt): (&str, Option<&str>),
    settings: &Settings,
    open: &OpenArgs,
) -> Result<Exit, Failure> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let services = without_model(setup, observer, store, &RunId::new("check"), settings, open)?;
    let reading = check_sheet(&services, text, prompt, settings).list;
    let issues = reading.issues;
    let file = file.display().to_string();
    for issue in &issues {
        let column = column(text, issue);
        if setup.json {
            super::print_json(&located(&file, column, issue)?)?;
            continue;
        }
        super::print(&format!("{}\n", issue_line(&file, text, issue)))?;
    }
    for repair in reading.repairs.iter().filter(|repair| is_told(repair.code)) {
        if setup.json {
            super::print_json(&json!({ "file": file, "severity": "note", "repair": repair }))?;
            continue;
        }
        let words = repair_words(repair);
        super::print(&harmless(&format!("{file}:{}: note {}: {words}\n", repair.span.first, repair.code)))?;
    }
    let estimate = Estimate::of(setup, &reading.value, &services.skills(settings), settings);
    if setup.json {
        super::print_json(&json!({ "file": file, "summary": estimate }))?;
    } else {
        let found =
            if issues.is_empty() { "no issues; ".to_owned() } else { format!("{}; ", counted(issues.len(), "issue")) };
        tell!("{file}: {found}{estimate}");
    }
    for task in reading.value.steps.iter().flat_map(|step| &step.tasks) {
        let Some(why) = trouble_with_items(setup, task) else { continue };
        if setup.json {
            super::print_json(&json!({ "file": file, "severity": "warning", "task": task.name, "what": why }))?;
        } else {
            tell!("{file}: warning: {}: {}", task.name, one_line(&why, 300));
        }
    }
    tell_of_broken_skills(setup, &issues);
    let errors = issues.iter().any(|issue| issue.severity == Severity::Error);
    Ok(if errors { Exit::Usage } else { Exit::Complete })
}

/// An issue with its place, in one line.
fn issue_line(file: &str, text: &str, issue: &Issue) -> String {
    let severity = if issue.severity == Severity::Error { "error" } else { "warning" };
    let place = format!("{file}:{}:{}", issue.place.span.first, column(text, issue));
    harmless(&format!("{place}: {severity} {}: {issue}", issue.code))
}

/// The failure for a sheet that cannot be run.
pub(super) fn unsound(file: &Path, text: &str, issues: &[Issue]) -> Failure {
    let file = file.display().to_string();
    let lines: Vec<String> = issues.iter().map(|issue| issue_line(&file, text, issue)).collect();
    Failure::usage(format!("the sheet has errors; nothing was started\n{}", lines.join("\n")), format!("fix {file}"))
}

/// Reports skills with errors in their own files, which may be why a skill is unknown.
fn tell_of_broken_skills(setup: &Setup, issues: &[Issue]) {
    if !issues.iter().any(|issue| issue.code == IssueCode::SkillUnknown) {
        return;
    }
    let tools = tool_specs(setup);
    let context = SkillContext { tools: &tools, read_only_sandbox: false };
    let loaded = load_skills(&skill_dirs(setup), context);
    for issue in loaded.issues.iter().filter(|issue| issue.severity == SkillSeverity::Error) {
        tell!("note: skipped a skill: {issue}");
    }
}

fn located(file: &str, column: usize, issue: &Issue) -> Result<serde_json::Value, Failure> {
    let mut object = serde_json::Map::new();
    object.insert("file".to_owned(), file.into());
    object.insert("line".to_owned(), issue.place.span.first.into());
    object.insert("column".to_owned(), column.into());
    let whole = serde_json::to_value(issue).map_err(|error| Failure::internal(error.to_string(), ""))?;
    if let serde_json::Value::Object(rest) = whole {
        object.extend(rest);
    }
    Ok(object.into())
}

/// The 1-based column, in characters, of an issue on its first line.
fn column(text: &str, issue: &Issue) -> usize {
    place(text, issue).0
}

/// The byte and the text of a line that an issue is about: the link or call that it names, or else a word that its text
/// quotes.
pub(super) fn written_at<'a>(line: &'a str, issue: &Issue) -> Option<(usize, &'a str)> {
    let quoted = issue.what.split('"').skip(1).step_by(2);
    let mut named = issue.place.item.iter().map(String::as_str).chain(quoted).filter(|word| !word.is_empty());
    named.find_map(|word| line.find(word).and_then(|at| Some((at, line.get(at..at.checked_add(word.len())?)?))))
}

/// The column and the number of characters of an issue: the link or call that it names, or else a word that its text
/// quotes, or else its label, or else the whole line without outer blanks.
pub(super) fn place(text: &str, issue: &Issue) -> (usize, usize) {
    let number = usize::try_from(issue.place.span.first).unwrap_or(usize::MAX).saturating_sub(1);
    let Some(line) = text.lines().nth(number) else { return (1, 0) };
    let label = || issue.place.key.as_deref().and_then(|key| Some((line.find(key)?, key)));
    let (at, word) =
        written_at(line, issue).or_else(label).unwrap_or_else(|| (line.len() - line.trim_start().len(), line.trim()));
    (line.get(..at).map_or(0, |before| before.chars().count()) + 1, word.chars().count())
}

/// The words for a repair.
pub(super) fn repair_words(repair: &Repair) -> String {
    match repair.code {
        RepairCode::ItemDone => format!("\"{}\" is checked off and is not run", repair.before),
        _ => format!("\"{}\" is read as \"{}\"", repair.before, repair.after),
    }
}
