//! An approval in an editor: what the editor shows, the choices, and the command that each choice stands for.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    Diff, PermissionOption, PermissionOptionId, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionResponse, SessionUpdate, ToolCall, ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use callsheet_app::{Cursor, Refusal, RunCommand, RunView, Standing, WordCount, standing};
use callsheet_core::fence::fence;
use callsheet_core::nouns::BlobId;
use callsheet_core::record::{FileChange, Gate, GateKind};
use callsheet_runtime::ports::GateView;
use callsheet_runtime::shown::Shown;

use crate::limits::APPROVAL;
use crate::words::{content, line};

/// The id of the tool call that shows a gate.
pub(crate) fn id(run: &RunView, n: u32) -> ToolCallId {
    let name = run.about().id.map(ToString::to_string).unwrap_or_default();
    ToolCallId::new(format!("{name}/gate-{n}"))
}

/// A gate as the editor shows it.
pub(crate) struct Shows {
    /// The gates that the answer applies to.
    pub gates: Vec<Gate>,
    /// How much of the record the person has seen.
    pub seen: Cursor,
    /// The tool call that shows the gate.
    pub call: ToolCallUpdate,
    /// What the gate asks about.
    pub view: GateView,
    /// The choices, each with what it stands for.
    pub choices: Vec<(PermissionOption, Choice)>,
}

/// What a choice stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Choice {
    /// A command to the run.
    Order(RunCommand),
    /// The person chooses the hunks to keep.
    Hunks,
}

impl Shows {
    /// Whether one of its gates is still open.
    pub fn is_open(&self, gates: &[Gate]) -> bool {
        self.gates.iter().any(|gate| gates.contains(gate))
    }

    /// The tool call without its content. The question carries the content.
    pub fn begins(&self) -> SessionUpdate {
        let fields = &self.call.fields;
        let call = ToolCall::new(self.call.tool_call_id.clone(), fields.title.clone().unwrap_or_default());
        let call = call.kind(fields.kind.unwrap_or_default()).status(ToolCallStatus::Pending);
        SessionUpdate::ToolCall(call.locations(fields.locations.clone().unwrap_or_default()))
    }
}

/// What `shows` needs besides the run.
pub(crate) struct Sources<'a> {
    /// The project folder.
    pub folder: &'a Path,
    /// Everything that a person must see of the gate, as text.
    pub text: String,
    /// Whether the editor shows forms.
    pub forms: bool,
    /// Reads a recorded text.
    pub blob: &'a dyn Fn(&BlobId) -> Result<Vec<u8>, Refusal>,
}

/// Prepares a gate for the editor. `None` if it is too large to show in full.
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
    // The diffs usually replace the text. But they show no check result, and a deleted file looks like an empty one.
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
    let gates: Vec<Gate> =
        std::iter::once(&view.gate).chain(view.also.iter().map(|also| &also.gate)).cloned().collect();
    let call = ToolCallUpdate::new(id(run, view.gate.n), fields);
    let choices = choices(view, &gates, sources.forms);
    Ok(Some(Shows { gates, seen: run.cursor(), call, view: view.clone(), choices }))
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

/// The choices of a person. No choice outlasts the run: longer grants are made in a terminal.
fn choices(view: &GateView, gates: &[Gate], forms: bool) -> Vec<(PermissionOption, Choice)> {
    let numbers: Vec<u32> = gates.iter().map(|gate| gate.n).collect();
    let approve =
        |later, always| Choice::Order(RunCommand::Approve { gates: numbers.clone(), tasks: Vec::new(), later, always });
    let option = |id, words, kind| PermissionOption::new(PermissionOptionId::new(id), words, kind);
    let (once, always) = (PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways);
    let mut choices = vec![(option("approve", "Approve", once), approve(false, None))];
    if matches!(view.gate.kind, GateKind::BeforeRun(_)) {
        choices.push((option("later-plans", "Approve, and all later plans of this run", always), approve(true, None)));
    }
    if let Some(standing @ (Standing::Script | Standing::Changes)) = standing(view) {
        choices.push((option("always", standing.words(), always), approve(false, Some(WordCount::All))));
    }
    if forms && view.hunks.len() > 1 {
        choices.push((option("some", "Approve some parts", once), Choice::Hunks));
    }
    let deny = RunCommand::Deny { gates: numbers.clone(), tasks: Vec::new(), because: String::new() };
    choices.push((option("deny", "Deny", PermissionOptionKind::RejectOnce), Choice::Order(deny)));
    choices
}

/// What the person chose. `None` if they chose nothing, or an option that was not offered.
pub(crate) fn chosen(choices: &[(PermissionOption, Choice)], response: &RequestPermissionResponse) -> Option<Choice> {
    let RequestPermissionOutcome::Selected(selected) = &response.outcome else { return None };
    choices.iter().find(|(option, _)| option.option_id == selected.option_id).map(|(_, choice)| choice.clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::path::Path;

    use agent_client_protocol::v1::schema::{
        RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome, ToolCallContent,
    };
    use callsheet_app::{Refusal, RunCommand, RunView, WordCount};
    use callsheet_core::nouns::{ExecutionId, Slug, ToolCall};
    use callsheet_core::record::{Gate, GateKind};
    use callsheet_runtime::ports::GateView;
    use serde_json::json;

    use super::{Choice, Sources, choices, chosen, shows};
    use crate::limits::APPROVAL;

    fn answer(option: &'static str) -> RequestPermissionResponse {
        let selected = SelectedPermissionOutcome::new(option);
        RequestPermissionResponse::new(RequestPermissionOutcome::Selected(selected))
    }

    fn view(kind: GateKind) -> GateView {
        GateView {
            gate: Gate { n: 3, kind },
            writers: Vec::new(),
            plan: String::new(),
            task: None,
            diff: String::new(),
            hunks: Vec::new(),
            check: None,
            unchecked: Vec::new(),
            call: None,
            again: false,
            unended: None,
            unheld: false,
            also: Vec::new(),
            directory: None,
        }
    }

    #[test]
    fn only_an_offered_choice_counts() {
        let task = Slug::new("note-1");
        let plan = view(GateKind::BeforeRun(vec![task.clone()]));
        let change = view(GateKind::BeforeApply { task: task.clone(), run: ExecutionId::new("exec"), set: 1 });
        let call =
            ToolCall { name: "run_command".to_owned(), arguments: json!({ "command": ["ls"] }), id: "c1".to_owned() };
        let call = GateView {
            call: Some(call),
            ..view(GateKind::BeforeCall { task, run: ExecutionId::new("exec"), call: "c1".to_owned() })
        };
        let choose =
            |view: &GateView, option| chosen(&choices(view, std::slice::from_ref(&view.gate), true), &answer(option));
        let approve = |later, always| {
            Some(Choice::Order(RunCommand::Approve { gates: vec![3], tasks: Vec::new(), later, always }))
        };
        let all = Some(WordCount::All);
        assert_eq!(choose(&plan, "later-plans"), approve(true, None));
        assert_eq!(choose(&change, "always"), approve(false, all));
        for view in [&plan, &change, &call] {
            assert_eq!(choose(view, "approve"), approve(false, None));
            assert!(matches!(choose(view, "deny"), Some(Choice::Order(RunCommand::Deny { .. }))));
            assert_eq!(choose(view, "allow_always"), None);
            let left = RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
            assert_eq!(chosen(&choices(view, &[], true), &left), None);
        }
        let hunk = json!({ "number": 1, "path": "plan.md", "kind": "lines", "text": "@@", "first": 1, "last": 1 });
        let hunks = serde_json::from_value(json!([hunk, hunk])).unwrap();
        let parts = GateView { hunks, ..change.clone() };
        assert_eq!(choose(&parts, "some"), Some(Choice::Hunks));
        assert_eq!(choose(&change, "some"), None, "there is nothing to choose");
        assert_eq!(chosen(&choices(&parts, &[], false), &answer("some")), None, "the editor shows no forms");
        assert_eq!((choose(&plan, "always"), choose(&change, "later-plans")), (None, None));
        assert_eq!(choose(&call, "always"), None, "a command is allowed for longer in a terminal");
    }

    #[test]
    fn what_is_too_large_is_not_shown_in_part() {
        let view = view(GateKind::BeforeRun(vec![Slug::new("note-1")]));
        let blob = |_: &_| Err(Refusal::usage("nothing is recorded", ""));
        let shown = |text: &str| {
            let sources = Sources { folder: Path::new("/garden"), text: text.to_owned(), forms: false, blob: &blob };
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
