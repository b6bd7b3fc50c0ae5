//! Shows a run in an editor: its plan, its tasks as tool calls, its progress, and its end.

use std::collections::{BTreeMap, BTreeSet};

use agent_client_protocol::v1::schema::{
    Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, ToolCall, ToolCallLocation, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use callsheet_app::{RunControl, RunView, State, one_line, result_of_tree};
use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{BlobId, Slug};
use callsheet_core::record::{Answer, FileChange, Outcome, Verdict};
use callsheet_core::view::board::{Board, Row};
use callsheet_core::view::outcome_words;
use callsheet_runtime::ports::ModelReply;

use crate::gate::id as gate_id;
use crate::limits::{ANSWER, LINES, RESULT, TASKS, WORDS};
use crate::project::Project;
use crate::stream::Stream;
use crate::words::{content, cut, line, message, progress, said};

/// A run, and what the editor was shown of it.
#[derive(Default)]
pub(crate) struct Teller {
    /// The run, as far as its record was read.
    pub view: RunView,
    /// Why the record could not be read further.
    broken: Option<String>,
    /// The plan that was sent last.
    plan: Vec<PlanEntry>,
    /// The tasks that were sent, each with the state and result that the editor shows.
    tasks: BTreeMap<Slug, (ToolCallStatus, String)>,
    /// The gates that the editor shows as pending.
    pub gates: Vec<u32>,
    /// What the editor was shown of replies in progress.
    pub stream: Stream,
    /// Changes on disk that the editor does not know of yet.
    pub applied: Vec<FileChange>,
}

impl Teller {
    /// Applies entries of the record, and returns the updates for the editor. With `replays`, these are the history of
    /// the run in place of its progress: what the person wrote, and how earlier turns ended.
    pub fn take(&mut self, entries: Vec<LogEntry>, project: &dyn Project, replays: bool) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        for entry in entries {
            if self.broken.is_some() {
                break;
            }
            let had_ended = self.view.about().outcome.is_some();
            if let Err(reject) = self.view.take(&entry) {
                let words = format!("event {} of the record does not fit: {reject}", entry.n);
                updates.push(message(&words));
                self.broken = Some(words);
                break;
            }
            match &entry.event {
                Event::RunStarted(_) if replays => updates.push(said(self.view.about().prompt)),
                Event::RunContinued(events::RunContinued { text, .. }) if replays => updates.push(said(text)),
                Event::GateAnswered(answered) => updates.extend(self.answered(answered)),
                Event::ReplyReceived(reply) => {
                    updates.extend(self.stream.ended(&reply.key, text_of(&*project.runs(), &reply.reply)));
                }
                Event::CallFailed(failed) => updates.extend(self.stream.ended(&failed.key, None)),
                Event::ChangesApplied(applied) if !replays => {
                    self.applied.extend(applied.changes.files.iter().cloned());
                }
                _ => {}
            }
            let line = self.view.event_line(&entry.event).filter(|line| !line.is_detail && !replays);
            updates.extend(line.map(|line| progress(&line.text)));
            if replays && !had_ended && self.view.about().outcome.is_some_and(|outcome| !is_waiting(outcome)) {
                updates.extend(self.state(false, project));
                updates.extend(self.end(project));
            }
        }
        updates
    }

    fn answered(&mut self, answered: &events::GateAnswered) -> Option<SessionUpdate> {
        let n = answered.gate.n;
        let at = self.gates.iter().position(|told| *told == n)?;
        self.gates.remove(at);
        let denied = match &answered.answer {
            Answer::Deny { .. } | Answer::Stop => true,
            Answer::Each { verdicts, .. } => verdicts.values().any(|verdict| *verdict == Verdict::Deny),
            Answer::All | Answer::Listed | Answer::Part { .. } => false,
        };
        Some(self.closed(n, if denied { ToolCallStatus::Failed } else { ToolCallStatus::Completed }))
    }

    /// Closes gates that the editor still shows, but that are no longer open although nobody answered them.
    pub fn withdrawn(&mut self) -> Vec<SessionUpdate> {
        let open = self.view.open_gates();
        let (kept, gone) = self.gates.iter().partition(|n| open.iter().any(|gate| gate.n == **n));
        self.gates = kept;
        let gone: Vec<u32> = gone;
        gone.into_iter().map(|n| self.closed(n, ToolCallStatus::Failed)).collect()
    }

    fn closed(&self, n: u32, status: ToolCallStatus) -> SessionUpdate {
        let fields = ToolCallUpdateFields::new().status(status);
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(gate_id(&self.view, n), fields))
    }

    /// Updates of the plan and the tasks, if they changed.
    pub fn state(&mut self, driven: bool, project: &dyn Project) -> Vec<SessionUpdate> {
        let board = self.view.board(driven);
        let mut updates = Vec::new();
        // A task that has begun and waits for the person stays in progress.
        let has_begun = |row: &Row| driven && self.view.task(&row.slug).is_some_and(|task| !task.runs.is_empty());
        let begun: BTreeSet<Slug> = board.rows().filter(|row| has_begun(row)).map(|row| row.slug.clone()).collect();
        let plan = plan(&board, &begun);
        if plan != self.plan {
            self.plan.clone_from(&plan);
            updates.push(SessionUpdate::Plan(Plan::new(plan)));
        }
        for row in board.rows() {
            updates.extend(self.task(row, begun.contains(&row.slug), project));
        }
        updates
    }

    fn task(&mut self, row: &Row, begun: bool, project: &dyn Project) -> Option<SessionUpdate> {
        let is_new = !self.tasks.contains_key(&row.slug);
        let status = match status_of(row.state, begun) {
            Some(status) => status,
            None if is_new => return None,
            // The task had begun, and was then cancelled or removed.
            None if row.state.is_ended() => ToolCallStatus::Failed,
            None => ToolCallStatus::Pending,
        };
        if is_new && self.tasks.len() >= TASKS {
            return None;
        }
        let told = (status, self.result_of(row));
        if self.tasks.get(&row.slug) == Some(&told) {
            return None;
        }
        let id = format!("{}/{}", self.run_name(), row.slug);
        let shown: Vec<_> =
            Some(&told.1).filter(|text| !text.is_empty()).map(|text| content(text)).into_iter().collect();
        let places = row.changed.iter().map(|path| ToolCallLocation::new(project.folder().join(path)));
        let places: Vec<ToolCallLocation> = places.collect();
        self.tasks.insert(row.slug.clone(), told);
        Some(if is_new {
            let kind = if row.writes { ToolKind::Edit } else { ToolKind::Think };
            let call = ToolCall::new(id, line(&row.title)).kind(kind).status(status).content(shown).locations(places);
            SessionUpdate::ToolCall(call)
        } else {
            let fields = ToolCallUpdateFields::new().status(status).content(shown).locations(places);
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))
        })
    }

    /// The result of a completed task, or the reason why it has none.
    fn result_of(&self, row: &Row) -> String {
        let task = self.view.task(&row.slug);
        let summary = task.and_then(|task| task.result()).map(|result| result.summary.as_str());
        match summary {
            Some(summary) => cut(summary, RESULT),
            None if row.state.is_problem() => cut(&row.line, RESULT),
            None => String::new(),
        }
    }

    fn run_name(&self) -> String {
        self.view.about().id.map(ToString::to_string).unwrap_or_default()
    }

    /// What the person must know when the run has ended or waits: the answer, what is missing, and the next step.
    pub fn end(&self, project: &dyn Project) -> Vec<SessionUpdate> {
        let runs = project.runs();
        let about = self.view.about();
        let run = self.run_name();
        let Some(outcome) = about.outcome else {
            return vec![message(&format!("Run {run} was interrupted. Send /resume to continue it."))];
        };
        let mut updates = Vec::new();
        let answer = answer(&*runs, &self.view, outcome);
        if !answer.trim().is_empty() && !self.stream.has_told(&answer) {
            updates.push(message(&cut(&answer, ANSWER)));
        }
        let mut lines: Vec<String> = Vec::new();
        if outcome != Outcome::Complete {
            let why = about.message.map(|message| format!(": {message}")).unwrap_or_default();
            lines.push(format!("Run {run} ended: {}{why}", outcome_words(outcome)));
        }
        lines.extend(self.view.all_problems().map(|problem| self.view.problem_line(&problem)));
        lines.extend(self.view.removals());
        if outcome.is_finished() {
            lines.extend(self.view.asked_files());
        }
        lines.extend(self.view.unsupported_line());
        let hidden = lines.len().saturating_sub(LINES);
        lines.truncate(LINES);
        if hidden > 0 {
            lines.push(format!("{hidden} more lines: callsheet show {run}"));
        }
        if !outcome.is_finished() && !is_waiting(outcome) {
            lines.push(format!("Send /resume to continue it. In a terminal, `callsheet show {run}` shows more."));
        }
        if !lines.is_empty() {
            let lines: Vec<String> = lines.iter().map(|words| format!("- {}", one_line(words, WORDS))).collect();
            updates.push(message(&lines.join("\n")));
        }
        updates.extend(self.view.summary(false).to_string().lines().map(progress));
        updates
    }
}

/// The text of a recorded reply.
fn text_of(runs: &dyn RunControl, reply: &BlobId) -> Option<String> {
    let reply: ModelReply = serde_json::from_slice(&runs.blob(reply).ok()?).ok()?;
    Some(reply.text)
}

/// Whether a run with this outcome continues after an answer.
fn is_waiting(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::ApprovalRequired | Outcome::InputRequired)
}

/// The answer of an ended run, or the result of its template.
fn answer(runs: &dyn RunControl, view: &RunView, outcome: Outcome) -> String {
    match result_of_tree(runs, view) {
        Some(result) if outcome == Outcome::Complete => result.words().into_owned(),
        Some(result) => result.error.map(|error| error.message).unwrap_or_default(),
        None => runs.answer(view),
    }
}

/// The plan. The protocol has no states for failed or removed tasks. So a failed task stays pending with its state in
/// the title, and a removed task leaves the plan.
fn plan(board: &Board, begun: &BTreeSet<Slug>) -> Vec<PlanEntry> {
    let rows = || board.sections.iter().flat_map(|section| &section.tasks).filter(|row| row.state != State::Dropped);
    let entry = |row: &Row| {
        let status = match status_of(row.state, begun.contains(&row.slug)) {
            Some(ToolCallStatus::Completed) => PlanEntryStatus::Completed,
            Some(ToolCallStatus::InProgress) => PlanEntryStatus::InProgress,
            _ => PlanEntryStatus::Pending,
        };
        let ended = row.state.is_ended() && row.state != State::Done;
        let title = if ended { format!("{} ({})", row.title, row.state.as_str()) } else { row.title.clone() };
        PlanEntry::new(line(&title), PlanEntryPriority::Medium, status)
    };
    let mut plan: Vec<PlanEntry> = rows().take(TASKS).map(entry).collect();
    let more = rows().count().saturating_sub(TASKS);
    if more > 0 {
        let words = format!("{more} more tasks");
        plan.push(PlanEntry::new(words, PlanEntryPriority::Medium, PlanEntryStatus::Pending));
    }
    plan
}

/// The status of a task's tool call. `None` if the task has not begun, or was cancelled or removed.
fn status_of(state: State, begun: bool) -> Option<ToolCallStatus> {
    match state {
        State::Planned | State::Waiting | State::Ready if begun => Some(ToolCallStatus::InProgress),
        State::Planned | State::Waiting | State::Ready | State::Dropped | State::Cancelled => None,
        State::Refining | State::Running => Some(ToolCallStatus::InProgress),
        State::Done => Some(ToolCallStatus::Completed),
        State::Failed | State::Blocked | State::Denied => Some(ToolCallStatus::Failed),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use agent_client_protocol::v1::schema::{PlanEntryStatus, ToolCallStatus};
    use callsheet_app::{RunView, State};
    use callsheet_core::nouns::Slug;
    use callsheet_core::view::board::{Board, Need, Row, Section};

    use super::{plan, status_of};
    use crate::limits::{LINE, TASKS};

    fn row(title: &str, state: State) -> Row {
        Row {
            slug: Slug::new(title),
            title: title.to_owned(),
            state,
            mark: "",
            need: Need::Next,
            line: String::new(),
            writes: false,
            changed: Vec::new(),
            tokens: 0,
            ms: 0,
            below: Vec::new(),
        }
    }

    fn told(tasks: Vec<Row>) -> Vec<(String, PlanEntryStatus)> {
        let section = Section { title: "Section 1".to_owned(), tasks, done_line: String::new() };
        let board = Board { sections: vec![section], ..RunView::default().board(true) };
        plan(&board, &BTreeSet::from([Slug::new("begun")]))
            .into_iter()
            .map(|entry| (entry.content, entry.status))
            .collect()
    }

    #[test]
    fn a_plan_tells_each_state_truly() {
        let states = State::ALL.map(|state| row("A", state)).into();
        let word = |state: State| (format!("A ({})", state.as_str()), PlanEntryStatus::Pending);
        let plain = |status| ("A".to_owned(), status);
        let expected = [
            plain(PlanEntryStatus::Pending),
            plain(PlanEntryStatus::Pending),
            plain(PlanEntryStatus::InProgress),
            plain(PlanEntryStatus::Pending),
            plain(PlanEntryStatus::InProgress),
            plain(PlanEntryStatus::Completed),
            word(State::Failed),
            word(State::Blocked),
            word(State::Denied),
            word(State::Cancelled),
        ];
        assert_eq!(told(states), expected, "a removed task is not in the plan");
        assert_eq!(status_of(State::Denied, true), Some(ToolCallStatus::Failed));
        let waits = ("begun".to_owned(), PlanEntryStatus::InProgress);
        assert_eq!(told(vec![row("begun", State::Ready)]), [waits], "it waits for the person");
    }

    #[test]
    fn plans_are_bounded_and_harmless() {
        let many = (0..TASKS + 20).map(|_| row("A", State::Planned)).collect();
        assert_eq!(told(many).last(), Some(&("20 more tasks".to_owned(), PlanEntryStatus::Pending)));
        let hostile = format!("a\u{1b}[2J\u{202e}b\n# c ![d](http://e) <img src=f>{}", "x".repeat(10_000));
        let (words, _) = told(vec![row(&hostile, State::Planned)]).remove(0);
        for part in ["\u{1b}", "\u{202e}", "\n", "<img"] {
            assert!(!words.contains(part), "{words:?}");
        }
        assert!(words.contains("\\![d]") && words.chars().count() < LINE + 20, "{words:?}");
    }
}
