//! An approval in an editor: what it shows, what can be chosen, and what the choice means.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionResponse, SessionUpdate,
    ToolCall, ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind,
};
use callsheet_app::{Cursor, Refusal, RunCommand, RunView};
use callsheet_core::fence::fence;
use callsheet_core::nouns::BlobId;
use callsheet_core::record::{FileChange, Gate, GateKind};
use callsheet_runtime::ports::GateView;
use callsheet_runtime::shown::Shown;

use crate::limits::APPROVAL;
use crate::words::{content, line};

const APPROVE: &str = "approve";
const APPROVE_LATER: &str = "approve-later-plans";
const DENY: &str = "deny";

/// The name of a gate as an activity.
pub(crate) fn id(run: &RunView, n: u32) -> ToolCallId {
    let name = run.about().id.map(ToString::to_string).unwrap_or_default();
    ToolCallId::new(format!("{name}/gate-{n}"))
}

/// A gate as the editor shows it.
pub(crate) struct Shows {
    /// The gates that the answer is for.
    pub gates: Vec<Gate>,
    /// How much of the record the person sees.
    pub seen: Cursor,
    /// The activity.
    pub call: ToolCallUpdate,
    /// What can be chosen.
    pub options: Vec<PermissionOption>,
}

impl Shows {
    /// The activity without its content, which the question has.
    pub fn begins(&self) -> SessionUpdate {
        let fields = &self.call.fields;
        let call = ToolCall::new(self.call.tool_call_id.clone(), fields.title.clone().unwrap_or_default());
        let call = call.kind(fields.kind.unwrap_or_default()).status(ToolCallStatus::Pending);
        SessionUpdate::ToolCall(call.locations(fields.locations.clone().unwrap_or_default()))
    }
}

/// What a choice means.
#[derive(Debug, PartialEq)]
pub(crate) enum Choice {
    /// This command.
    Command(RunCommand),
    /// Nothing. The gate stays open.
    Nothing,
}

/// What a gate is shown from, besides the run.
pub(crate) struct Sources<'a> {
    /// The project folder.
    pub folder: &'a Path,
    /// Everything that a person must see of the gate, as text.
    pub text: String,
    /// Recorded texts.
    pub blob: &'a dyn Fn(&BlobId) -> Result<Vec<u8>, Refusal>,
}

/// Shows a gate. `None` if the editor cannot show all of it.
///
/// # Errors
/// The record cannot be read.
pub(crate) fn shows(run: &RunView, view: &GateView, sources: &Sources<'_>) -> Result<Option<Shows>, Refusal> {
    let files = run.changes_of(&view.gate);
    let mut size = sources.text.len();
    let mut shown: Vec<ToolCallContent> = Vec::new();
    for file in files {
        let Some(diff) = diff(file, sources, &mut size)? else { return Ok(None) };
        shown.push(ToolCallContent::Diff(diff));
    }
    if size > APPROVAL {
        return Ok(None);
    }
    // The diffs replace the text. They do not say what a check found, and which files are deleted and not emptied.
    if files.is_empty() || view.check.is_some() || files.iter().any(|file| file.after.is_none()) {
        shown.push(content(&fence("text", &sources.text)));
    }
    let places: Vec<ToolCallLocation> =
        files.iter().map(|file| ToolCallLocation::new(sources.folder.join(&file.path))).collect();
    let fields = ToolCallUpdateFields::new()
        .title(line(&title(run, view, files)))
        .kind(kind(view))
        .status(ToolCallStatus::Pending)
        .content(shown)
        .locations(places);
    let gates = std::iter::once(&view.gate).chain(view.also.iter().map(|also| &also.gate)).cloned().collect();
    let call = ToolCallUpdate::new(id(run, view.gate.n), fields);
    Ok(Some(Shows { gates, seen: run.cursor(), call, options: options(&view.gate) }))
}

/// The diff of a file. `None` if it is too large.
fn diff(file: &FileChange, sources: &Sources<'_>, size: &mut usize) -> Result<Option<Diff>, Refusal> {
    let mut text = |blob| -> Result<String, Refusal> {
        let bytes = (sources.blob)(blob)?;
        *size = size.saturating_add(bytes.len());
        Ok(Shown::exact(&String::from_utf8_lossy(&bytes)).into_string())
    };
    let before = file.before.as_ref().map(&mut text).transpose()?;
    let after = file.after.as_ref().map(&mut text).transpose()?;
    if *size > APPROVAL {
        return Ok(None);
    }
    let path = sources.folder.join(&file.path);
    Ok(Some(Diff::new(path, after.unwrap_or_default()).old_text(before)))
}

fn title(run: &RunView, view: &GateView, files: &[FileChange]) -> String {
    let name = |slug| run.task(slug).map_or_else(|| slug.to_string(), |task| task.task.name.clone());
    let task = view.task.as_ref().map(name).unwrap_or_default();
    match &view.gate.kind {
        GateKind::BeforeRun(tasks) => {
            let names: Vec<String> = tasks.iter().map(name).collect();
            format!("Start: {}", names.join(", "))
        }
        GateKind::BeforeApply { .. } => {
            let deleted = |file: &FileChange| if file.after.is_none() { "delete " } else { "" };
            let paths: Vec<String> = files.iter().map(|file| format!("{}{}", deleted(file), file.path)).collect();
            format!("{task}: {}", paths.join(", "))
        }
        GateKind::BeforeCall { .. } => {
            let call = view.call.as_ref().map(callsheet_core::names::call_title).unwrap_or_default();
            format!("{task}: {call}")
        }
    }
}

fn kind(view: &GateView) -> ToolKind {
    match &view.gate.kind {
        GateKind::BeforeRun(_) => ToolKind::Other,
        GateKind::BeforeApply { .. } => ToolKind::Edit,
        GateKind::BeforeCall { .. } => ToolKind::Execute,
    }
}

/// No choice lasts longer than the run. What a person allows for longer, they allow in a terminal.
fn options(gate: &Gate) -> Vec<PermissionOption> {
    let mut options = vec![PermissionOption::new(APPROVE, "Approve", PermissionOptionKind::AllowOnce)];
    if matches!(gate.kind, GateKind::BeforeRun(_)) {
        let words = "Approve, and all later plans of this run";
        options.push(PermissionOption::new(APPROVE_LATER, words, PermissionOptionKind::AllowAlways));
    }
    options.push(PermissionOption::new(DENY, "Deny", PermissionOptionKind::RejectOnce));
    options
}

/// What the person chose. An answer that was not offered, or none, changes nothing.
pub(crate) fn chosen(gates: &[Gate], response: &RequestPermissionResponse) -> Choice {
    let RequestPermissionOutcome::Selected(selected) = &response.outcome else { return Choice::Nothing };
    let (numbers, tasks) = (gates.iter().map(|gate| gate.n).collect(), Vec::new());
    let starts = gates.iter().all(|gate| matches!(gate.kind, GateKind::BeforeRun(_)));
    let later = selected.option_id.0.as_ref() == APPROVE_LATER;
    match selected.option_id.0.as_ref() {
        APPROVE | APPROVE_LATER if !later || starts => {
            Choice::Command(RunCommand::Approve { gates: numbers, tasks, later, always: None })
        }
        DENY => Choice::Command(RunCommand::Deny { gates: numbers, tasks, because: String::new() }),
        _ => Choice::Nothing,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::path::Path;

    use agent_client_protocol::v1::schema::{
        RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome, ToolCallContent,
    };
    use callsheet_app::{Refusal, RunCommand, RunView};
    use callsheet_core::nouns::{ExecutionId, Slug};
    use callsheet_core::record::{Gate, GateKind};
    use callsheet_runtime::ports::GateView;

    use super::{Choice, Sources, chosen, shows};
    use crate::limits::APPROVAL;

    fn answer(option: &'static str) -> RequestPermissionResponse {
        let selected = SelectedPermissionOutcome::new(option);
        RequestPermissionResponse::new(RequestPermissionOutcome::Selected(selected))
    }

    fn change() -> Gate {
        let (task, run) = (Slug::new("note-1"), ExecutionId::new("exec"));
        Gate { n: 3, kind: GateKind::BeforeApply { task, run, set: 1 } }
    }

    #[test]
    fn only_an_offered_choice_counts() {
        let change = [change()];
        let approve = RunCommand::Approve { gates: vec![3], tasks: Vec::new(), later: false, always: None };
        assert_eq!(chosen(&change, &answer("approve")), Choice::Command(approve));
        for option in ["approve-later-plans", "allow_always", ""] {
            assert_eq!(chosen(&change, &answer(option)), Choice::Nothing, "{option}");
        }
        let left = RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
        assert_eq!(chosen(&change, &left), Choice::Nothing);
        let starts = [Gate { n: 4, kind: GateKind::BeforeRun(vec![Slug::new("note-1")]) }];
        let later = RunCommand::Approve { gates: vec![4], tasks: Vec::new(), later: true, always: None };
        assert_eq!(chosen(&starts, &answer("approve-later-plans")), Choice::Command(later));
    }

    #[test]
    fn what_is_too_large_is_not_shown_in_part() {
        let view = GateView {
            gate: Gate { n: 1, kind: GateKind::BeforeRun(vec![Slug::new("note-1")]) },
            writers: Vec::new(),
            plan: String::new(),
            task: None,
            diff: String::new(),
            hunks: Vec::new(),
            check: None,
            call: None,
            again: false,
            unheld: false,
            also: Vec::new(),
            directory: None,
        };
        let blob = |_: &_| Err(Refusal::usage("nothing is recorded", ""));
        let shown = |text: &str| {
            let sources = Sources { folder: Path::new("/garden"), text: text.to_owned(), blob: &blob };
            shows(&RunView::default(), &view, &sources).unwrap()
        };
        let text = "```\n# Approve <b>this</b>";
        let all = shown(text).unwrap().call.fields.content.unwrap();
        let [ToolCallContent::Content(content)] = all.as_slice() else { panic!("{all:?}") };
        let content = serde_json::to_string(&content.content).unwrap();
        assert!(content.contains(r"~~~~text\n```\n# Approve <b>this</b>\n~~~~"), "exact, as code: {content}");
        assert!(shown(&"x".repeat(APPROVAL + 1)).is_none());
    }
}
