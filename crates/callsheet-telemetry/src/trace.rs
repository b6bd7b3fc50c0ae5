//! What a run's events say as spans and measurements. Pure: times and names come from the events.

use std::collections::BTreeMap;

use callsheet_core::events::{Event, LogEntry};
use callsheet_core::issue::Repair;
use callsheet_core::nouns::{BlobId, Phase, Slug};
use callsheet_core::record::{CallKey, EffectKey, Outcome, ToolRecord, Usage};
use callsheet_core::run::Run;

use crate::names;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attribute {
    Text(String),
    Texts(Vec<String>),
    Count(u64),
    Amount(f64),
    Flag(bool),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

pub(crate) type Attributes = Vec<(&'static str, Attribute)>;

/// A finished span.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) trace: u128,
    pub(crate) id: u64,
    /// `None` for a span of a whole run.
    pub(crate) parent: Option<u64>,
    pub(crate) name: String,
    /// Whether it is a request to another program.
    pub(crate) is_request: bool,
    /// Milliseconds since the Unix epoch.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) attributes: Attributes,
    /// What went wrong, in a few fixed words. Never text from models or files.
    pub(crate) error: Option<String>,
}

/// A measured value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) attributes: Attributes,
}

/// What one event adds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) spans: Vec<Span>,
    pub(crate) measured: Vec<Measured>,
}

/// A span that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: u64,
    start: u64,
}

/// The spans of one run in this process.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// Distinguishes runs of the same name.
    salt: String,
    root: Option<Open>,
    plan: Option<Open>,
    tasks: BTreeMap<Slug, Open>,
    effects: BTreeMap<EffectKey, Open>,
}

impl Trace {
    pub(crate) fn new(salt: &str) -> Self {
        Self { salt: salt.to_owned(), ..Self::default() }
    }

    /// The first bytes of a hash. A run that continues in another process stays in its trace.
    fn hashed(&self, words: &str) -> u128 {
        let hash = BlobId::of(format!("{}\n{words}", self.salt).as_bytes());
        let digits = hash.as_str().get(..32).unwrap_or_default();
        u128::from_str_radix(digits, 16).unwrap_or(1).max(1)
    }

    fn open(&self, run: &Run, entry: &LogEntry, level: &str) -> Open {
        let words = format!("{}/{}/{level}", name_of(run), entry.n);
        let id = u64::try_from(self.hashed(&words) >> 64).unwrap_or(1).max(1);
        Open { id, start: entry.at }
    }

    fn span(&self, run: &Run, open: Open, end: u64, parent: Option<u64>, name: String) -> Span {
        Span {
            trace: self.hashed(name_of(run)),
            id: open.id,
            parent,
            name,
            is_request: false,
            start: open.start,
            end,
            attributes: vec![(names::CONVERSATION, name_of(run).into())],
            error: None,
        }
    }

    /// Takes the next event. `run` is the run after it.
    pub(crate) fn take(&mut self, entry: &LogEntry, run: &Run) -> Told {
        let mut told = Told::default();
        if self.root.is_none() {
            self.root = Some(self.open(run, entry, "run"));
        }
        match &entry.event {
            Event::Started(started) => self.start(entry, run, &started.effect),
            Event::ReplyReceived(reply) => {
                let span = self.call_span(run, &reply.key, entry.at, &reply.model);
                let reason = word(&reply.stop);
                let attributes = [
                    (names::RESPONSE_MODEL, model_of(&reply.model).into()),
                    (names::INPUT_TOKENS, Attribute::Count(reply.usage.input)),
                    (names::OUTPUT_TOKENS, Attribute::Count(reply.usage.output)),
                    (names::CACHED_TOKENS, Attribute::Count(reply.usage.cached)),
                    (names::FINISH_REASONS, Attribute::Texts(vec![reason])),
                    (names::SENDS, Attribute::Count(reply.sends.into())),
                    (names::REUSED, Attribute::Flag(reply.reused.is_some())),
                ];
                if reply.reused.is_none() {
                    told.measured = usage(&reply.usage, &reply.model, reply.ms);
                }
                told.spans.extend(span.map(|mut span| {
                    span.attributes.extend(attributes);
                    span.attributes.extend(reply.usage.cost_usd.map(|cost| (names::COST, Attribute::Amount(cost))));
                    span
                }));
            }
            Event::CallFailed(failed) => {
                let model = run.settings().model.clone().unwrap_or_default();
                let span = self.call_span(run, &failed.key, entry.at, &model);
                told.spans.extend(span.map(|span| with_error(span, word(&failed.fault))));
            }
            Event::ToolFinished(tool) => {
                let (task, run_id, call) = (tool.task.clone(), tool.run.clone(), tool.call.clone());
                let key = EffectKey::Tool { task, run: run_id, call };
                let failed = matches!(&tool.record, ToolRecord::Output { error: Some(_), .. });
                let span = self.tool_span(run, &key, entry.at);
                told.spans
                    .extend(span.map(|span| if failed { with_error(span, "tool_failed".to_owned()) } else { span }));
            }
            Event::GateAnswered(answered) => {
                told.measured.extend(self.waited(&EffectKey::Gate(answered.gate.clone()), entry.at, "approval"));
            }
            Event::QuestionAnswered(answered) => {
                let (task, run_id, call) = (answered.task.clone(), answered.run.clone(), answered.call.clone());
                let key = EffectKey::Question { task, run: run_id, call };
                told.measured.extend(self.waited(&key, entry.at, "question"));
            }
            _ => {}
        }
        told.measured.extend(repairs_of(&entry.event).iter().map(repaired));
        told.spans.extend(self.ended_tasks(run, entry.at));
        match &entry.event {
            Event::ListAdopted(_) => told.spans.extend(self.end_plan(run, entry.at)),
            Event::RunConcluded(_) | Event::RunWaiting(_) => told.spans.extend(self.end(run, entry.at)),
            _ => {}
        }
        told
    }

    fn start(&mut self, entry: &LogEntry, run: &Run, effect: &EffectKey) {
        if let Some(task) = task_of(effect)
            && !self.tasks.contains_key(task)
        {
            self.tasks.insert(task.clone(), self.open(run, entry, "task"));
        }
        if is_planning(effect) && self.plan.is_none() {
            self.plan = Some(self.open(run, entry, "plan"));
        }
        self.effects.insert(effect.clone(), self.open(run, entry, "effect"));
    }

    /// The span around an effect: of its task, else of the plan, else of the run.
    fn around(&self, effect: &EffectKey) -> Option<u64> {
        let task = task_of(effect).and_then(|task| self.tasks.get(task));
        let plan = self.plan.as_ref().filter(|_| is_planning(effect));
        task.or(plan).or(self.root.as_ref()).map(|open| open.id)
    }

    fn call_span(&mut self, run: &Run, key: &CallKey, at: u64, model: &str) -> Option<Span> {
        let effect = EffectKey::Ask(key.clone());
        let open = self.effects.remove(&effect)?;
        let mut span = self.span(run, open, at, self.around(&effect), format!("chat {}", model_of(model)));
        span.is_request = true;
        span.attributes.extend([
            (names::OPERATION, "chat".into()),
            (names::PROVIDER, provider_of(model).into()),
            (names::REQUEST_MODEL, model_of(model).into()),
            (names::PHASE, Attribute::Text(word(&key.phase))),
        ]);
        Some(span)
    }

    fn tool_span(&mut self, run: &Run, key: &EffectKey, at: u64) -> Option<Span> {
        let open = self.effects.remove(key)?;
        let EffectKey::Tool { task, run: execution, call } = key else { return None };
        let made = run.task(task).and_then(|task| task.run(execution)).and_then(|execution| execution.call(call));
        let name = made.map(|made| made.call.name.as_str()).unwrap_or("unknown");
        let mut span = self.span(run, open, at, self.around(key), format!("execute_tool {name}"));
        span.attributes.extend([
            (names::OPERATION, "execute_tool".into()),
            (names::TOOL, name.into()),
            (names::TOOL_CALL, call.as_str().into()),
        ]);
        Some(span)
    }

    fn waited(&mut self, key: &EffectKey, at: u64, what: &str) -> Option<Measured> {
        let open = self.effects.remove(key)?;
        let attributes = vec![(names::WAIT, what.into())];
        Some(Measured { name: names::WAITS, value: seconds(at.saturating_sub(open.start)), attributes })
    }

    /// The spans of tasks that have ended.
    fn ended_tasks(&mut self, run: &Run, at: u64) -> Vec<Span> {
        let has_ended = |slug: &Slug| run.task(slug).is_none_or(|task| task.state().is_ended());
        let ended: Vec<Slug> = self.tasks.keys().filter(|slug| has_ended(slug)).cloned().collect();
        ended.iter().filter_map(|slug| self.end_task(run, slug, at)).collect()
    }

    fn end_task(&mut self, run: &Run, slug: &Slug, at: u64) -> Option<Span> {
        let open = self.tasks.remove(slug)?;
        let root = self.root.as_ref().map(|open| open.id);
        let mut span = self.span(run, open, at, root, format!("task {slug}"));
        let task = run.task(slug);
        let skill = task.and_then(|task| task.task.skill.as_deref());
        let state = task.map(|task| task.state());
        span.attributes.extend([(names::OPERATION, "invoke_agent".into()), (names::TASK, slug.as_str().into())]);
        span.attributes.extend(skill.map(|skill| (names::AGENT, skill.into())));
        span.attributes.extend(state.map(|state| (names::OUTCOME, state.as_str().into())));
        let failed = state.filter(|state| state.is_problem()).map(|state| state.as_str().to_owned());
        Some(match failed {
            Some(state) => with_error(span, state),
            None => span,
        })
    }

    fn end_plan(&mut self, run: &Run, at: u64) -> Option<Span> {
        let open = self.plan.take()?;
        let root = self.root.as_ref().map(|open| open.id);
        Some(self.span(run, open, at, root, "plan".to_owned()))
    }

    /// The spans that are open at the end of this process's work on the run, and that of the run.
    fn end(&mut self, run: &Run, at: u64) -> Vec<Span> {
        let open: Vec<Slug> = self.tasks.keys().cloned().collect();
        let mut spans: Vec<Span> = open.iter().filter_map(|slug| self.end_task(run, slug, at)).collect();
        spans.extend(self.end_plan(run, at));
        self.effects.clear();
        if let Some(root) = self.root.take() {
            let outcome = run.outcome().map(|outcome| word(&outcome)).unwrap_or_default();
            let mut span = self.span(run, root, at, None, "run".to_owned());
            span.attributes.extend([
                (names::OPERATION, "invoke_agent".into()),
                (names::AGENT, "callsheet".into()),
                (names::OUTCOME, Attribute::Text(outcome.clone())),
            ]);
            let failed = run.outcome().is_some_and(is_failure);
            spans.push(if failed { with_error(span, outcome) } else { span });
        }
        spans
    }
}

/// Whether a run neither succeeded nor waits nor was stopped by a person.
fn is_failure(outcome: Outcome) -> bool {
    use Outcome::{ApprovalRequired, Cancelled, Complete, InputRequired, Planned};
    !matches!(outcome, Complete | Planned | ApprovalRequired | InputRequired | Cancelled)
}

fn with_error(mut span: Span, error: String) -> Span {
    span.attributes.push((names::ERROR, Attribute::Text(error.clone())));
    span.error = Some(error);
    span
}

fn name_of(run: &Run) -> &str {
    run.id().map(|id| id.as_str()).unwrap_or_default()
}

fn task_of(effect: &EffectKey) -> Option<&Slug> {
    match effect {
        EffectKey::Ask(call) => call.task.as_ref(),
        EffectKey::Tool { task, .. } | EffectKey::Try { task, .. } | EffectKey::Apply { task, .. } => Some(task),
        _ => None,
    }
}

fn is_planning(effect: &EffectKey) -> bool {
    let EffectKey::Ask(call) = effect else { return false };
    matches!(call.phase, Phase::Route | Phase::Plan | Phase::Iterate | Phase::Continue)
}

fn provider_of(model: &str) -> &str {
    model.split(['/', ':']).next().unwrap_or_default()
}

fn model_of(model: &str) -> &str {
    model.split_once(['/', ':']).map_or(model, |(_, name)| name)
}

/// The word for a value in the record.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

#[allow(clippy::cast_precision_loss, reason = "durations and counts are far below 2^53")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

#[allow(clippy::cast_precision_loss, reason = "durations and counts are far below 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}

fn usage(usage: &Usage, model: &str, ms: u64) -> Vec<Measured> {
    let of_model = || {
        vec![
            (names::OPERATION, "chat".into()),
            (names::PROVIDER, provider_of(model).into()),
            (names::REQUEST_MODEL, model_of(model).into()),
        ]
    };
    let tokens = |kind: &str, number: u64| {
        let mut attributes = of_model();
        attributes.push((names::TOKEN_TYPE, kind.into()));
        Measured { name: names::TOKEN_USAGE, value: count(number), attributes }
    };
    let mut measured = vec![
        tokens("input", usage.input),
        tokens("output", usage.output),
        Measured { name: names::DURATION, value: seconds(ms), attributes: of_model() },
    ];
    measured.extend(usage.cost_usd.map(|value| Measured { name: names::COST, value, attributes: of_model() }));
    measured
}

fn repairs_of(event: &Event) -> &[Repair] {
    match event {
        Event::ReplyRefused(event) => &event.repairs,
        Event::ExecutionFinished(event) => &event.repairs,
        Event::CallsAsked(event) => &event.repairs,
        Event::TaskRefined(event) => &event.repairs,
        Event::ListAdopted(event) => &event.repairs,
        Event::ListDrafted(event) => &event.repairs,
        Event::Joined(event) => &event.repairs,
        Event::Reviewed(event) => &event.repairs,
        _ => &[],
    }
}

fn repaired(repair: &Repair) -> Measured {
    let attributes = vec![(names::REPAIR, Attribute::Text(word(&repair.code)))];
    Measured { name: names::REPAIRS, value: 1.0, attributes }
}
