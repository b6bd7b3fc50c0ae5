//! A run for programs that show test results or findings: JUnit XML and SARIF. Each task is a test, and so is the last
//! result of each check of a task's changes.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use callsheet_app::{Folded, RunControl, RunView, State, TaskRun, run_folder};
use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::Slug;
use callsheet_core::record::{CheckEnd, CheckReport};
use callsheet_runtime::ports::RunSummary;
use callsheet_runtime::shown::Shown;
use serde_json::{Value, json};

/// What came of a test.
enum Verdict {
    Passed,
    /// Why it failed, and more to read.
    Failed(String, String),
    /// It has no result.
    Skipped(&'static str),
}

/// A task or a check.
struct Case {
    /// `task-failed` or `check-failed` if it failed.
    rule: &'static str,
    name: String,
    seconds: f64,
    /// Files of the project that it is about.
    files: Vec<String>,
    verdict: Verdict,
}

fn cases(runs: &dyn RunControl, driven: bool, run: &RunView, entries: &[LogEntry]) -> Vec<Case> {
    let problems: BTreeMap<&Slug, String> =
        run.all_problems().map(|problem| (&problem.task.task.slug, run.problem_line(&problem))).collect();
    let tasks = run.all_tasks().filter(|task| !run.is_replaced(task)).map(|task| {
        let state = run.standing(task);
        let state = if driven { state } else { state.at_rest() };
        let verdict = match (state, problems.get(&task.task.slug)) {
            (State::Done, _) => Verdict::Passed,
            (_, Some(line)) => Verdict::Failed(line.clone(), String::new()),
            _ => Verdict::Skipped(state.as_str()),
        };
        let files = changed(task);
        let seconds = std::time::Duration::from_millis(task.clock.spent_ms(run.about().now_ms)).as_secs_f64();
        Case { rule: "task-failed", name: task.task.slug.to_string(), seconds, files, verdict }
    });
    tasks.chain(checks(runs, run, entries)).collect()
}

fn changed(task: &TaskRun) -> Vec<String> {
    task.changed_files().into_iter().map(str::to_owned).collect()
}

/// The last result of each check of each task.
fn checks(runs: &dyn RunControl, run: &RunView, entries: &[LogEntry]) -> Vec<Case> {
    let mut last: BTreeMap<(&Slug, &str), &CheckReport> = BTreeMap::new();
    for entry in entries {
        if let Event::ChangesChecked(events::ChangesChecked { task, check, .. }) = &entry.event {
            last.insert((task, &check.name), check);
        }
    }
    let case = |((task, name), check): ((&Slug, &str), &CheckReport)| {
        let output = || runs.blob(&check.output).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let failed = |how: &str| Verdict::Failed(format!("the check {name} {how}"), output().unwrap_or_default());
        let verdict = match check.end {
            CheckEnd::Passed => Verdict::Passed,
            CheckEnd::Failed => failed("failed"),
            CheckEnd::NotRun => failed("could not be started"),
        };
        let seconds = std::time::Duration::from_millis(check.ms).as_secs_f64();
        let files = run.task(task).map(changed).unwrap_or_default();
        Case { rule: "check-failed", name: format!("{task}: {name}"), seconds, files, verdict }
    };
    last.into_iter().map(case).collect()
}

/// Text for an attribute or an element of XML. Characters that XML cannot hold are marked.
fn xml(text: &str) -> String {
    let shown = Shown::text(text).into_string();
    shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\n', "&#10;")
}

/// A run as JUnit XML.
pub fn junit(runs: &dyn RunControl, found: &RunSummary, Folded { run, entries, .. }: &Folded) -> Shown {
    let cases = cases(runs, found.owner.is_some(), run, entries);
    let count = |is: fn(&Verdict) -> bool| cases.iter().filter(|case| is(&case.verdict)).count();
    let failures = count(|verdict| matches!(verdict, Verdict::Failed(..)));
    let skipped = count(|verdict| matches!(verdict, Verdict::Skipped(_)));
    let name = xml(found.run.as_str());
    let all = cases.len();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{name}\" tests=\"{all}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n"
    );
    for Case { name, seconds, verdict, .. } in &cases {
        let inside = match verdict {
            Verdict::Passed => String::new(),
            Verdict::Failed(why, more) => format!("<failure message=\"{}\">{}</failure>", xml(why), xml(more)),
            Verdict::Skipped(why) => format!("<skipped message=\"{}\"/>", xml(why)),
        };
        let name = xml(name);
        text +=
            &format!("<testcase classname=\"callsheet\" name=\"{name}\" time=\"{seconds:.3}\">{inside}</testcase>\n");
    }
    Shown::text(&(text + "</testsuite>\n</testsuites>\n"))
}

/// A path as a reference of RFC 3986.
fn uri(path: &str) -> String {
    let part = |byte: u8| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(part).collect()
}

/// The file of a finding whose task changed none: the template of the run, if it is a file of the project, or else the
/// sheet of the run. Code scanning rejects a finding without a place.
fn file_of_run(found: &RunSummary, run: &RunView) -> String {
    let is_inside = |file: &&str| Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    let template = run.template_file().filter(is_inside).map(str::to_owned);
    template.unwrap_or_else(|| format!("{}sheet.md", run_folder(&found.run)))
}

/// What failed in a run as SARIF 2.1.0.
pub fn sarif(runs: &dyn RunControl, found: &RunSummary, Folded { run, entries, .. }: &Folded) -> Shown {
    let cases = cases(runs, found.owner.is_some(), run, entries);
    let own = [file_of_run(found, run)];
    let finding = |case: &Case| {
        let Verdict::Failed(why, more) = &case.verdict else { return None };
        let place = |file: &String| json!({ "physicalLocation": { "artifactLocation": { "uri": uri(file) } } });
        let text = if more.is_empty() { why.clone() } else { format!("{why}\n{more}") };
        let files = if case.files.is_empty() { own.as_slice() } else { case.files.as_slice() };
        Some(json!({
            "ruleId": case.rule,
            "level": "error",
            "message": { "text": Shown::text(&text).into_string() },
            "locations": files.iter().map(place).collect::<Vec<Value>>(),
            "partialFingerprints": { "case/v1": case.name },
        }))
    };
    let rule = |id: &str, words: &str| json!({ "id": id, "shortDescription": { "text": words } });
    let rules =
        [rule("task-failed", "A task failed, was denied or is blocked."), rule("check-failed", "A check failed.")];
    let text = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "callsheet", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "automationDetails": { "id": format!("callsheet/{}", found.run) },
            "results": cases.iter().filter_map(finding).collect::<Vec<Value>>(),
        }],
    });
    Shown::json(&(text.to_string() + "\n"))
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn a_path_is_a_reference_of_a_file_and_nothing_else() {
        assert_eq!(uri("notes/week-1.md"), "notes/week-1.md");
        assert_eq!(uri("a b#1?.md"), "a%20b%231%3F.md");
        assert_eq!(uri("mailto:x/\u{fc}"), "mailto%3Ax/%C3%BC");
    }
}
