//! A small text language for runs. `parse` turns words into values, this file plays lines against the machine.

mod parse;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::evaluate::evaluate;
use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{BlobId, Policy, RunId, Settings, SkillPolicy, Slug};
use callsheet_core::record::ToolPolicy;
use callsheet_core::record::{CallKey, EffectKey, Entry, Gate, GateKind, Outcome, Tree};
use callsheet_core::run::{Effect, Run, Stage, State, ToolState};
use callsheet_core::view::board::Row;
use callsheet_core::view::{Board, why_line};
use callsheet_format::template::TextFormats;

pub use words::{describe, outcome};

/// What every reply and process gives.
const SAID: &[u8] = br#"{"exit_code": 0, "stdout": "done", "stderr": "", "timed_out": false, "truncated": false}"#;

/// Plays one transcript.
pub struct Player {
    name: String,
    pub run: Run,
    pub log: Vec<LogEntry>,
    now: u64,
    pub settings: Settings,
    pub tools: BTreeMap<String, ToolPolicy>,
    pub skills: BTreeMap<String, SkillPolicy>,
    /// Templates that tasks may call.
    pub tree: Tree,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    listed: Vec<Effect>,
    states: BTreeMap<Slug, State>,
    stood: Option<String>,
}

impl Player {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            run: Run::new(),
            log: Vec::new(),
            now: 1_000_000,
            // Most runs are about what comes after the plan.
            settings: Settings { plan: Policy::Always, ..Settings::default() },
            tools: BTreeMap::new(),
            skills: BTreeMap::new(),
            tree: Tree::default(),
            blobs: BTreeMap::new(),
            listed: Vec::new(),
            states: BTreeMap::new(),
            stood: None,
        }
    }

    /// The transcript with its sign lines as the machine has it.
    pub fn play(&mut self, text: &str) -> String {
        let mut played = String::new();
        let lines: Vec<&str> = text.lines().collect();
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            at += 1;
            if line.starts_with(['·', '→', '✗', '=', '!', '?', '|']) {
                continue;
            }
            played.push_str(line);
            played.push('\n');
            if line.trim().is_empty() || line.starts_with('#') || line.starts_with("covers: ") {
                continue;
            }
            let mut block = Vec::new();
            while let Some(more) = lines.get(at).filter(|more| more.starts_with("  ")) {
                block.push(more.trim());
                played.push_str(more);
                played.push('\n');
                at += 1;
            }
            let follows = self.act(line, &block);
            played.push_str(&follows);
        }
        self.refold();
        played
    }

    fn act(&mut self, line: &str, block: &[&str]) -> String {
        // A line that asks, and changes nothing.
        if let Some(task) = line.strip_prefix("why ") {
            return self.why(&Slug::new(task));
        }
        if line == "board" {
            return board(&Board::of(&self.run, true));
        }
        if line == "waits" {
            return waits(&callsheet_core::view::waits(&self.log));
        }
        let mut text = String::new();
        if let Err(refusal) = self.happen(line, block) {
            text.push_str(&format!("! {refusal}\n"));
        }
        self.evaluate();
        text.push_str(&self.follows());
        text
    }

    /// What the trees of calls owe and needs nobody.
    fn evaluate(&mut self) {
        loop {
            let pure = |effect: &Effect| {
                matches!(effect, Effect::Evaluate { .. } | Effect::MountTemplate { .. } | Effect::ReturnTemplate { .. })
            };
            let Some(effect) = self.run.outstanding().into_iter().find(pure) else { return };
            let event: Event = match effect {
                Effect::Evaluate { task, n, moment } => {
                    // What a model or a process said is not kept: it stands for a process that ended well, or its words.
                    let values = |id: &BlobId| Some(self.blobs.get(id).cloned().unwrap_or_else(|| SAID.into()));
                    let evaluation = evaluate(&self.run, &task, moment, &values, &TextFormats).unwrap();
                    self.blobs.extend(evaluation.blobs.into_iter().map(|bytes| (BlobId::of(&bytes), bytes)));
                    events::Evaluated { task, n, step: evaluation.step }.into()
                }
                Effect::MountTemplate { task, run, call } => {
                    let tree = Box::new(Tree { entry: call.name, ..self.tree.clone() });
                    events::CallMounted { task, run, call: call.id, tree, shared: BTreeSet::new() }.into()
                }
                Effect::ReturnTemplate { task, run, call } => {
                    let tool = self.run.task(&task).and_then(|task| task.run(&run)?.call(&call));
                    let Some(ToolState::Mounted(mount)) = tool.map(|tool| &tool.state) else { panic!("no tree") };
                    let failed = self.run.operators().top_of(*mount).is_some_and(|top| top.failed());
                    let failed = failed.then(|| "it failed".to_owned());
                    events::CallReturned { task, run, call, result: Box::default(), failed }.into()
                }
                _ => return,
            };
            self.fact(event).unwrap();
        }
    }

    /// Why a task is not done.
    fn why(&self, task: &Slug) -> String {
        format!("? {}\n", why_line(&self.run, task, &self.run.explain(task), true))
    }

    /// New states, effects and the standing of the run; then the shell starts all that is outstanding.
    fn follows(&mut self) -> String {
        let mut text = String::new();
        for task in self.run.all_tasks() {
            let slug = &task.task.slug;
            if self.states.insert(slug.clone(), task.state()) != Some(task.state()) {
                text.push_str(&format!("· {slug} {}\n", task.state().as_str()));
            }
        }
        let outstanding = self.run.outstanding();
        let keys: BTreeSet<EffectKey> = outstanding.iter().map(Effect::key).collect();
        let former: BTreeSet<EffectKey> = self.listed.iter().map(Effect::key).collect();
        for effect in &self.listed {
            if !keys.contains(&effect.key()) && !self.is_answered(&effect.key()) {
                text.push_str(&format!("✗ {}\n", describe(effect)));
            }
        }
        let starts = |run: &Run, effect: &Effect| {
            let pure =
                matches!(effect, Effect::ReadReply(_) | Effect::CheckReferences { .. } | Effect::MergeByCode { .. });
            !pure && !run.is_in_flight(&effect.key())
        };
        for effect in &outstanding {
            // What is started once more under the same key is told again.
            if !former.contains(&effect.key()) || starts(&self.run, effect) {
                text.push_str(&format!("→ {}\n", describe(effect)));
            }
        }
        self.listed = outstanding.clone();
        for effect in outstanding {
            if starts(&self.run, &effect) {
                self.fact(effect.started()).unwrap();
            }
        }
        for task in self.run.all_tasks() {
            let slug = &task.task.slug;
            if self.states.insert(slug.clone(), task.state()) != Some(task.state()) {
                text.push_str(&format!("· {slug} {}\n", task.state().as_str()));
            }
        }
        let stands = self.stands();
        if stands.is_some() && stands != self.stood {
            text.push_str(&format!("= {}\n", stands.clone().unwrap_or_default()));
        }
        self.stood = stands;
        text
    }

    /// Whether the last facts were the result of this effect.
    fn is_answered(&self, key: &EffectKey) -> bool {
        self.log.iter().rev().take(3).any(|fact| match (&fact.event, key) {
            (Event::ReplyReceived(events::ReplyReceived { key: call, .. }), EffectKey::Ask(asked)) => call == asked,
            (Event::CallFailed(events::CallFailed { key: call, .. }), EffectKey::Ask(asked)) => call == asked,
            (
                Event::ExecutionFinished(events::ExecutionFinished { key: call, .. })
                | Event::Reviewed(events::Reviewed { key: call, .. })
                | Event::Joined(events::Joined { key: call, .. }),
                EffectKey::Read(read),
            ) => call == read,
            (
                Event::ReferencesChecked(events::ReferencesChecked { task, n, .. }),
                EffectKey::Check { task: checked, n: number },
            ) => task == checked && n == number,
            (
                Event::ToolFinished(events::ToolFinished { task, call, .. }),
                EffectKey::Tool { task: of, call: id, .. },
            ) => task == of && call == id,
            (
                Event::QuestionAnswered(events::QuestionAnswered { task, call, .. })
                | Event::QuestionDeclined(events::QuestionDeclined { task, call, .. }),
                EffectKey::Question { task: of, call: id, .. },
            ) => task == of && call == id,
            (Event::ExecutionsMerged(events::ExecutionsMerged { task, .. }), EffectKey::Merge { task: of, .. }) => {
                task == of
            }
            (Event::GateAnswered(events::GateAnswered { gate, .. }), EffectKey::Gate(of)) => gate == of,
            (
                Event::ChangesChecked(events::ChangesChecked { task, set, .. }),
                EffectKey::Try { task: of, set: n, .. },
            )
            | (
                Event::ChangesApplied(events::ChangesApplied { task, set, .. }),
                EffectKey::Apply { task: of, set: n, .. },
            )
            | (
                Event::ChangesRebased(events::ChangesRebased { task, set, .. }),
                EffectKey::Apply { task: of, set: n, .. },
            )
            | (
                Event::ChangesRejected(events::ChangesRejected { task, set, .. }),
                EffectKey::Apply { task: of, set: n, .. },
            )
            | (
                Event::ChangesRolledBack(events::ChangesRolledBack { task, set, .. }),
                EffectKey::RollBack { task: of, set: n, .. },
            ) => task == of && set == n,
            (Event::RunConcluded(_), EffectKey::Conclude) => true,
            (Event::RunWaiting(_), EffectKey::Gate(_) | EffectKey::Question { .. }) => true,
            (Event::RunResumed(_), _) => true,
            _ => false,
        })
    }

    fn stands(&self) -> Option<String> {
        let outcome = match self.run.stage() {
            Stage::Concluded(outcome) => outcome,
            _ => self.run.outcome()?,
        };
        let mut text = format!(
            "{}, round {}, {} calls of at least {}",
            words::outcome(outcome),
            self.run.round(),
            self.run.totals().calls,
            self.run.minimum_calls()
        );
        if let Some(message) = self.run.message() {
            text.push_str(&format!(": {message}"));
        }
        Some(text)
    }

    /// Records a fact and applies it. What is refused is not recorded.
    pub fn fact<E: Into<Event>>(&mut self, event: E) -> Result<(), String> {
        let n = u64::try_from(self.log.len()).unwrap() + 1;
        let fact = LogEntry::new(n, self.now, event.into());
        match self.run.apply(&fact) {
            Ok(()) => {
                assert!(self.run.is_settled(), "{}: a task was overlooked at fact {n}", self.name);
                assert_eq!(self.run.refused_moves(), [], "{}: a move was refused at fact {n}", self.name);
                self.log.push(fact);
                Ok(())
            }
            Err(reject) => Err(reject.to_string()),
        }
    }

    /// A process that has only the log knows exactly what this one knows.
    fn refold(&self) {
        let mut run = Run::new();
        for fact in &self.log {
            let line = serde_json::to_string(fact).unwrap();
            run.apply(&serde_json::from_str(&line).unwrap()).unwrap();
        }
        assert_eq!(run, self.run, "{}: folding the log again gives the same run", self.name);
    }

    pub fn start(&mut self, entry: Entry) -> Result<(), String> {
        let (run, settings, tools) = (RunId::new("a-run"), self.settings.clone(), self.tools.clone());
        self.fact(events::RunStarted { run, entry, settings, tools })
    }

    pub fn pass_time(&mut self, ms: u64) {
        self.now += ms;
    }

    pub fn crash(&mut self) {
        self.refold();
        self.now += 3_600_000;
    }

    /// The call in flight or to be read of a unit.
    pub fn call(&self, unit: &str) -> Result<CallKey, String> {
        let wanted = |key: &CallKey| words::unit(key) == unit || words::short_unit(key) == unit;
        self.run
            .outstanding()
            .into_iter()
            .find_map(|effect| match effect {
                Effect::AskModel(asked) | Effect::ReadReply(asked) if wanted(&asked.key) => Some(asked.key),
                _ => None,
            })
            .ok_or(format!("{unit} is not asked"))
    }

    /// The newest gate of a kind that is open. If none is, the newest that was.
    pub fn gate(&self, wanted: impl Fn(&GateKind) -> bool) -> Result<Gate, String> {
        let shown: Vec<Gate> = self.listed_or_waiting().into_iter().filter(|gate| wanted(&gate.kind)).collect();
        let open = shown.iter().find(|gate| self.run.is_in_flight(&EffectKey::Gate((*gate).clone())));
        open.or(shown.first()).cloned().ok_or("no such gate is open".to_owned())
    }

    /// Gates that are shown, or that rest because nobody could be asked.
    fn listed_or_waiting(&self) -> Vec<Gate> {
        let started = self.log.iter().rev().filter_map(|fact| match &fact.event {
            Event::Started(events::Started { effect: EffectKey::Gate(gate), .. }) => Some(gate.clone()),
            _ => None,
        });
        started.collect()
    }

    pub fn waiting_outcome(&self) -> Outcome {
        let asks = self.listed.iter().any(|effect| matches!(effect, Effect::AskApproval(_)));
        if asks { Outcome::ApprovalRequired } else { Outcome::InputRequired }
    }

    pub fn find(&self, wanted: impl Fn(&Effect) -> bool) -> Result<Effect, String> {
        self.run.outstanding().into_iter().find(wanted).ok_or("nothing of that kind is outstanding".to_owned())
    }
}

pub fn blob(text: &str) -> BlobId {
    BlobId::of(text.as_bytes())
}

/// What tasks waited for, as lines that begin with a sign.
fn waits(waits: &[callsheet_core::view::Wait]) -> String {
    let line = |wait: &callsheet_core::view::Wait| {
        let to = wait.to.map_or_else(|| "still".to_owned(), |to| format!("to {to}"));
        format!("| {} {} ({:?}) from {} {to}\n", wait.task, wait.what, wait.kind, wait.from)
    };
    waits.iter().map(line).collect()
}

/// A board as lines that begin with a sign.
fn board(board: &Board) -> String {
    let header = &board.header;
    let outcome = header.outcome.map(|outcome| format!(", {}", words::outcome(outcome))).unwrap_or_default();
    let cost = header.cost_usd.map(|usd| format!(", ${usd}")).unwrap_or_default();
    let left = header.left_ms.map(|ms| format!(", about {ms} ms left")).unwrap_or_default();
    let mut text = format!(
        "| {} \"{}\": {}{outcome}; {} of {} done, {} running, {} problems, {} waiting; {} calls, {} tokens{cost}, {} ms{left}\n",
        header.run,
        header.request,
        header.doing,
        header.done,
        header.total,
        header.running,
        header.problems,
        header.waiting,
        header.calls,
        header.tokens,
        header.busy_ms
    );
    for ask in &board.queue {
        let tasks: Vec<&str> = ask.tasks.iter().map(Slug::as_str).collect();
        text.push_str(&format!("| ? {}: {}\n", tasks.join(", "), ask.line));
    }
    for section in &board.sections {
        text.push_str(&format!("| # {}: {}\n", section.title, section.done_line));
        for row in section.tasks.iter() {
            text.push_str(&board_row(row, 1));
        }
    }
    text
}

fn board_row(row: &Row, depth: usize) -> String {
    let need = serde_json::to_value(row.need).unwrap();
    let changed = if row.changed.is_empty() { String::new() } else { format!(", changed {}", row.changed.join(" ")) };
    let line = format!(
        "|{:>width$} {} ({}{}) {}; {} tokens, {} ms{changed}\n",
        row.mark,
        row.title,
        need.as_str().unwrap(),
        if row.writes { ", writes" } else { "" },
        row.line,
        row.tokens,
        row.ms,
        width = 2 * depth
    );
    let below: String = row.below.iter().map(|row| board_row(row, depth + 1)).collect();
    format!("{line}{below}")
}
