//! A run as a board that a face draws: the request, what waits for the person, and its sections with their tasks. The
//! texts are as people and models wrote them; whoever draws them makes them harmless.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::names::call_title;
use crate::nouns::{Phase, SectionOrder, Slug};
use crate::record::{EffectKey, Entry, Gate, GateKind, Outcome};
use crate::run::{Effect, Explainer, Run, Stage, State, TaskRun, Why};

use super::timeline::work_words;
use super::why::why_of_names;

/// How many waiting tasks say what they wait for. The others say it when a person looks at them. With explanations for
/// all, a list of thousands would take longer to draw than to read.
const EXPLAINED: usize = 200;

/// Everything that a face draws, except the texts of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Board {
    /// The line above.
    pub header: Header,
    /// What a person must answer, in the order in which it was asked.
    pub queue: Vec<Ask>,
    /// The list in its order, then tasks of earlier lists.
    pub sections: Vec<Section>,
}

/// The run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Header {
    /// Its name. Empty before the first log entry.
    pub run: String,
    /// The request, verbatim.
    pub request: String,
    /// Accepted follow-ups, verbatim.
    pub follow_ups: Vec<String>,
    /// The `PROVIDER/MODEL` that answered last.
    pub model: Option<String>,
    /// The maximum number of calls at the same time.
    pub slots: usize,
    /// What the run is doing, in one or a few words.
    pub doing: &'static str,
    /// How it ended, or why it waits.
    pub outcome: Option<Outcome>,
    /// The message for a person about the outcome.
    pub message: Option<String>,
    /// Number of tasks in the list.
    pub total: usize,
    /// Of these, done.
    pub done: usize,
    /// At work.
    pub running: usize,
    /// Failed, denied or blocked.
    pub problems: usize,
    /// Gates and questions that wait for the person.
    pub waiting: usize,
    /// Model calls made.
    pub calls: u32,
    /// Tokens read and written.
    pub tokens: u64,
    /// US dollars. `None` if none were spent, or no provider reports them.
    pub cost_usd: Option<f64>,
    /// Milliseconds in which something was working, without waiting for the person.
    pub busy_ms: u64,
    /// Estimated milliseconds that the tasks of the list still take. `None` if there is no basis for an estimate, or
    /// nothing is left.
    pub left_ms: Option<u64>,
}

/// A gate or a question that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ask {
    /// What is answered.
    pub key: EffectKey,
    /// Tasks that wait for the answer.
    pub tasks: Vec<Slug>,
    /// The question in a few words.
    pub line: String,
}

/// A task section.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// `Section 1`, `Earlier lists`, or the name of the template that runs.
    pub title: String,
    /// Its tasks: by need, then in the order of the list, and removed ones last.
    pub tasks: Vec<Row>,
    /// What is folded: how many tasks are done, and how long they took. Empty if none.
    pub done_line: String,
}

/// How much a task needs the person now, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The person is asked.
    Person,
    /// It is running.
    Running,
    /// It ended without output.
    Problem,
    /// It is next.
    Next,
    /// It waits.
    Waits,
    /// It is done, or no longer in the list.
    Over,
}

/// A task in one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name for commands.
    pub slug: Slug,
    /// Its name for people.
    pub title: String,
    /// Its state.
    pub state: State,
    /// Its state as a sign. `⏸` means that the person is asked.
    pub mark: &'static str,
    /// Whether and how it needs the person now.
    pub need: Need,
    /// What it is doing, its result, or why it waits.
    pub line: String,
    /// Whether it can change something.
    pub writes: bool,
    /// Files that contain its changes.
    pub changed: Vec<String>,
    /// Tokens of its calls.
    pub tokens: u64,
    /// Milliseconds in which it was working.
    pub ms: u64,
    /// Tasks of the templates that it calls.
    pub below: Vec<Row>,
}

/// A sign and a word for a state.
pub fn state_mark(state: State) -> (&'static str, &'static str) {
    let mark = match state {
        State::Planned | State::Waiting => "·",
        State::Refining => "~",
        State::Ready => "○",
        State::Running => "▶",
        State::Done => "✓",
        State::Failed => "✗",
        State::Blocked | State::Denied => "⊘",
        State::Cancelled | State::Dropped => "-",
    };
    (mark, state.as_str())
}

impl Board {
    /// The current state of the run. `driven` says whether a process drives it; without one nothing runs.
    pub fn of(run: &Run, driven: bool) -> Self {
        let queue: Vec<Ask> = run.asking().iter().filter_map(|effect| ask(run, effect)).collect();
        let mut maker = Maker { run, driven, explainer: run.explainer(), queue: &queue, explained: 0 };
        let sections = maker.sections();
        let running = |row: &&Row| row.need == Need::Running;
        let running = sections.iter().flat_map(|section| &section.tasks).filter(running).count();
        let mut header = header(run, running, queue.len());
        if !driven && header.outcome.is_none() {
            header.doing = "interrupted";
        }
        Self { header, queue, sections }
    }

    /// Every row in the order of the sections. The tasks of a template follow the task that calls it.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        let tasks = self.sections.iter().flat_map(|section| &section.tasks);
        tasks.flat_map(|row| std::iter::once(row).chain(&row.below))
    }

    /// A task.
    pub fn row(&self, slug: &Slug) -> Option<&Row> {
        self.rows().find(|row| row.slug == *slug)
    }

    /// The unfinished tasks of all sections, by need.
    pub fn open(&self) -> Vec<&Row> {
        let tasks = self.sections.iter().flat_map(|section| &section.tasks);
        let mut open: Vec<&Row> = tasks.filter(|row| row.need != Need::Over).collect();
        open.sort_by_key(|row| row.need);
        open
    }
}

struct Maker<'a> {
    run: &'a Run,
    driven: bool,
    explainer: Explainer<'a>,
    queue: &'a [Ask],
    explained: usize,
}

impl Maker<'_> {
    fn sections(&mut self) -> Vec<Section> {
        let run = self.run;
        let listed = run.steps().iter().enumerate().map(|(index, step)| {
            let tasks: Vec<&TaskRun> = step.iter().filter_map(|slug| run.task(slug)).collect();
            (format!("Section {}", index + 1), tasks)
        });
        let others = match run.entry() {
            Some(Entry::Template { name, .. }) => format!("Template {name}"),
            _ => "Earlier lists".to_owned(),
        };
        let earlier = run.tasks().filter(|task| run.step_of(&task.task.slug).is_none()).collect();
        let all: Vec<(String, Vec<&TaskRun>)> = listed.chain([(others, earlier)]).collect();
        let filled = all.into_iter().filter(|(_, tasks)| !tasks.is_empty());
        filled.map(|(title, tasks)| self.section(title, &tasks)).collect()
    }

    fn section(&mut self, title: String, tasks: &[&TaskRun]) -> Section {
        let mut rows: Vec<Row> = tasks.iter().map(|task| self.row(task)).collect();
        rows.sort_by_key(|row| (row.need, row.state == State::Dropped));
        let over: Vec<&Row> = rows.iter().filter(|row| row.need == Need::Over).collect();
        Section { title, done_line: done_line(&over), tasks: rows }
    }

    fn row(&mut self, task: &TaskRun) -> Row {
        let (run, slug) = (self.run, &task.task.slug);
        let below: Vec<Row> =
            run.tasks_below(slug).filter(|below| !run.is_replaced(below)).map(|below| self.row(below)).collect();
        let state = if self.driven { run.standing(task) } else { run.standing(task).at_rest() };
        let (need, mut line) = self.standing(task, state, &below);
        if !below.is_empty() {
            let words = counts(&below);
            line = if line.is_empty() { words } else { format!("{words}; {line}") };
        }
        let calls = || run.calls_of(slug);
        Row {
            slug: slug.clone(),
            title: task.task.name.clone(),
            state,
            mark: if need == Need::Person { "⏸" } else { state_mark(state).0 },
            need,
            line,
            writes: task.may_change(),
            changed: task.changed_files().into_iter().map(str::to_owned).collect(),
            tokens: calls().map(|call| call.usage.tokens()).fold(0, u64::saturating_add),
            ms: task.clock.spent_ms(run.now_ms()),
            below,
        }
    }

    fn standing(&mut self, task: &TaskRun, state: State, below: &[Row]) -> (Need, String) {
        let slug = &task.task.slug;
        if let Some(ask) = self.queue.iter().find(|ask| ask.tasks.contains(slug)) {
            return (Need::Person, ask.line.clone());
        }
        if state == State::Done {
            return (Need::Over, task.result().map(|result| first_line(&result.summary)).unwrap_or_default());
        }
        if matches!(state, State::Dropped | State::Cancelled) {
            return (Need::Over, String::new());
        }
        if let Some(first) = below.iter().map(|row| row.need).min().filter(|need| *need <= Need::Running) {
            return (first, String::new());
        }
        if self.explained >= EXPLAINED && !state.is_ended() && !matches!(state, State::Running | State::Refining) {
            return (Need::Waits, String::new());
        }
        self.explained += 1;
        self.explained_as(&self.explainer.why(slug))
    }

    fn explained_as(&self, why: &Why) -> (Need, String) {
        let run = self.run;
        let line = || why_of_names(run, why);
        match why {
            Why::Running { .. } if !self.driven => (Need::Next, "was interrupted".to_owned()),
            Why::Running { work } => (Need::Running, work.first().map(|key| doing(run, key)).unwrap_or_default()),
            Why::Owed { .. } => (Need::Next, "is next".to_owned()),
            Why::Ended { state, .. } if state.is_problem() => (Need::Problem, line()),
            Why::Ended { .. } => (Need::Over, String::new()),
            _ => (Need::Waits, line()),
        }
    }
}

/// How many parts of a task are done, and how many have a problem.
fn counts(below: &[Row]) -> String {
    let count = |is: fn(&Row) -> bool| below.iter().filter(|row| is(row)).count();
    let listed = count(|row| row.state != State::Dropped);
    let done = format!("{} of {listed} done", count(|row| row.state == State::Done));
    match count(|row| row.need == Need::Problem) {
        0 => done,
        failed => format!("{done}, {failed} failed"),
    }
}

fn done_line(over: &[&Row]) -> String {
    let done = over.iter().filter(|row| row.state == State::Done).count();
    let ms: u64 = over.iter().map(|row| row.ms).fold(0, u64::saturating_add);
    let dropped = over.len().saturating_sub(done);
    let parts = [(done, format!("{done} done, {} s", ms.div_ceil(1_000))), (dropped, format!("{dropped} dropped"))];
    parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect::<Vec<_>>().join(", ")
}

fn header(run: &Run, running: usize, waiting: usize) -> Header {
    let totals = run.totals();
    let states: Vec<State> = run.tasks().map(|task| run.standing(task)).collect();
    let count = |wanted: &dyn Fn(State) -> bool| states.iter().filter(|state| wanted(**state)).count();
    Header {
        run: run.id().map(ToString::to_string).unwrap_or_default(),
        request: run.prompt().to_owned(),
        follow_ups: run.follow_ups().to_vec(),
        model: run.calls().last().map(|call| call.model.clone()),
        slots: usize::try_from(run.settings().jobs).unwrap_or(usize::MAX),
        doing: stage_words(run, waiting),
        outcome: run.outcome(),
        message: run.message().map(str::to_owned),
        total: count(&|state| !matches!(state, State::Dropped)),
        done: count(&|state| state == State::Done),
        running,
        problems: count(&State::is_problem),
        waiting,
        calls: totals.calls,
        tokens: totals.tokens(),
        cost_usd: (totals.cost_usd > 0.0).then_some(totals.cost_usd),
        busy_ms: run.busy_ms(),
        left_ms: left_ms(run),
    }
}

/// Estimates the time left: each task takes as long as the average finished task, begins when what it waits for has
/// ended, and all slots are used.
fn left_ms(run: &Run) -> Option<u64> {
    let spent = |task: &TaskRun| task.clock.spent_ms(run.now_ms());
    let listed = || run.steps().iter().map(|step| step.iter().filter_map(|slug| run.task(slug)));
    let done: Vec<u64> = listed().flatten().filter(|task| task.state() == State::Done).map(spent).collect();
    let each = done.iter().sum::<u64>().checked_div(u64::try_from(done.len()).ok()?)?;
    let strict = run.settings().sections == SectionOrder::Strict;
    let mut ends: BTreeMap<&Slug, u64> = BTreeMap::new();
    // When the earlier sections have ended, and when those of their tasks that change files have ended.
    let (mut all, mut writers, mut work) = (0, 0, 0_u64);
    for section in listed() {
        let (before, writers_before) = (all, writers);
        for task in section.filter(|task| !task.state().is_ended()) {
            let barrier = if strict || task.writer.is_some() { before } else { writers_before };
            let begin = task.producers().filter_map(|producer| ends.get(producer)).copied().fold(barrier, u64::max);
            let left = each.saturating_sub(spent(task));
            let end = begin.saturating_add(left);
            work = work.saturating_add(left);
            all = end.max(all);
            writers = if task.writer.is_some() { end.max(writers) } else { writers };
            ends.insert(&task.task.slug, end);
        }
    }
    let left = all.max(work / u64::from(run.settings().jobs).max(1));
    Some(left).filter(|left| matches!(run.stage(), Stage::Pass) && *left > 0)
}

fn stage_words(run: &Run, waiting: usize) -> &'static str {
    match run.stage() {
        Stage::Empty => "starting",
        Stage::Prepare | Stage::AwaitList => "planning",
        Stage::Pass | Stage::Operate if waiting > 0 && !run.outstanding().iter().any(is_work) => "waiting for you",
        Stage::Pass | Stage::Operate => "working",
        Stage::Iterate => "reviewing what is done",
        Stage::Continue => "planning the follow-up",
        Stage::Join(_) => "writing the answer",
        Stage::Conclude(_) => "writing the report",
        Stage::Concluded(_) => "ended",
    }
}

fn is_work(effect: &Effect) -> bool {
    !matches!(effect, Effect::AskApproval(_) | Effect::AskPerson { .. })
}

fn ask(run: &Run, effect: &Effect) -> Option<Ask> {
    let (tasks, line) = match effect {
        Effect::AskApproval(gate) => gate_words(run, gate),
        Effect::AskPerson { task, question, .. } => (vec![task.clone()], format!("asks: {}", first_line(question))),
        _ => return None,
    };
    Some(Ask { key: effect.key(), tasks, line })
}

fn gate_words(run: &Run, gate: &Gate) -> (Vec<Slug>, String) {
    match &gate.kind {
        GateKind::BeforeRun(tasks) => (tasks.clone(), "asks before it starts".to_owned()),
        GateKind::BeforeApply { task, run: exec, set } => {
            let files = run.pending_changes(task, exec, *set).map_or(0, |changes| changes.files.len());
            let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            (vec![task.clone()], format!("changes of {files} to approve"))
        }
        GateKind::BeforeCall { task, run: exec, call } => {
            let tool = run.task(task).and_then(|task| task.run(exec)?.call(call));
            let words = tool.map(|tool| call_title(&tool.call)).unwrap_or_default();
            (vec![task.clone()], format!("call to approve: {}", first_line(&words)))
        }
    }
}

/// What is being done for a task now.
fn doing(run: &Run, key: &EffectKey) -> String {
    match key {
        EffectKey::Ask(call) | EffectKey::Read(call) => {
            let phase = match call.phase {
                Phase::Refine => "refining",
                Phase::Review => "being reviewed",
                Phase::Merge => "merging its parts",
                _ => "writing",
            };
            let part = run.part(call);
            if part.is_empty() { phase.to_owned() } else { format!("{phase}: {part}") }
        }
        EffectKey::Tool { task, run: exec, call } => {
            let tool = run.task(task).and_then(|task| task.run(exec)?.call(call));
            tool.map(|tool| call_title(&tool.call)).unwrap_or_else(|| call.clone())
        }
        EffectKey::Check { .. } => "checking what it reads".to_owned(),
        EffectKey::Try { .. } => "checking its changes".to_owned(),
        EffectKey::Apply { .. } => "applying its changes".to_owned(),
        EffectKey::Retrieve { .. } => "looking up its context".to_owned(),
        key => work_words(key, run),
    }
}

/// The first line that is not empty.
fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}
