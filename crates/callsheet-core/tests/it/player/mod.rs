//! A shell without a world: performs what a run of a tree owes on scripted replies, by pure functions only.
#![allow(dead_code, reason = "each test file uses its part")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use callsheet_core::evaluate::{Memory, ProcessReport, evaluate_with, result_of_run};
use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::file_index::{FileMatch, Found, SeekRequest, relevant_context};
use callsheet_core::nouns::{BlobId, Phase, RepeatClass, RunId, Settings, Slug, ToolCall, ToolEffect};
use callsheet_core::record::{
    Answer, CallFault, CallKey, CallSizes, ChangeSet, EffectKey, Entry, Plan, ResultParts, Retrieval, StopReason,
    ToolPolicy, ToolRecord, Tree, Usage,
};
use callsheet_core::run::{Effect, ModelCall, Run, State, TaskRun, ToolOutput, Why};
use callsheet_core::template::{Severity, TaskResult, Template};
use callsheet_format::template::{Said, TextFormats, read_text, read_turn};
use serde_json::{Value, json};

mod words;

use words::{gate_words, trim, without_metrics};

/// Tokens of every prompt and of every reply.
const PROMPT: u64 = 10;
const REPLY: u64 = 5;

/// What a fixture says.
#[derive(Clone, Default)]
pub struct Script {
    tree: Tree,
    settings: Settings,
    replies: BTreeMap<String, VecDeque<String>>,
    processes: BTreeMap<String, VecDeque<String>>,
    lookups: BTreeMap<String, VecDeque<String>>,
    index: Vec<(String, String)>,
    answers: VecDeque<String>,
    /// Tokens that a prompt may have; each reply is to one that has one less.
    window: Option<u64>,
    resumes: VecDeque<Resume>,
}

/// How the run is taken up again when it has ended.
#[derive(Clone)]
enum Resume {
    AsItIs,
    Again(Slug),
    /// With these templates as they are now.
    Edited(Vec<Template>),
}

fn templates(text: &str) -> Vec<Template> {
    let reading = read_text("t.xml", text);
    let errors = reading.issues.iter().filter(|(_, issue)| issue.severity == Severity::Error);
    let errors: Vec<String> = errors.map(|(_, issue)| issue.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    reading.templates
}

impl Script {
    pub fn read<'a>(inputs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut script = Self::default();
        for (title, body) in inputs {
            let (kind, name) = title.split_once(' ').unwrap_or((title, ""));
            match kind {
                "template" => {
                    let named = templates(body).into_iter().map(|template| (template.name.clone(), template));
                    script.tree.templates.extend(named);
                }
                "run" => {
                    script.tree.entry = name.to_owned();
                    script.tree.date = "2026-01-02".to_owned();
                    for line in body.lines().filter(|line| !line.trim().is_empty()) {
                        let (key, value) = line.split_once('=').expect("KEY = JSON");
                        let value: Value = serde_json::from_str(value.trim()).expect("JSON");
                        match key.trim() {
                            "files" => script.tree.files = serde_json::from_value(value).expect("paths"),
                            "matcher" => script.tree.matcher = value.as_str().map(str::to_owned),
                            "text" => script.tree.text = value.as_str().expect("text").to_owned(),
                            "served" => script.tree.served = serde_json::from_value(value).expect("models"),
                            "window" => script.window = value.as_u64(),
                            "jobs" => script.settings.jobs = u32::try_from(value.as_u64().unwrap()).unwrap(),
                            key => drop(script.tree.variables.insert(key.to_owned(), value)),
                        }
                    }
                }
                "reply" => script.replies.entry(name.to_owned()).or_default().push_back(body.trim_end().to_owned()),
                "process" => script.processes.entry(name.to_owned()).or_default().push_back(body.trim().to_owned()),
                "lookup" => script.lookups.entry(name.to_owned()).or_default().push_back(body.trim().to_owned()),
                "index" => script.index.push((name.to_owned(), body.to_owned())),
                "resume" => script.resumes.push_back(Resume::AsItIs),
                "retry" => script.resumes.push_back(Resume::Again(Slug::new(name))),
                "edit" => script.resumes.push_back(Resume::Edited(templates(body))),
                "answer" => script.answers.push_back(body.trim().to_owned()),
                other => panic!("section {other}"),
            }
        }
        script
    }
}

/// Plays a script.
pub struct Player {
    pub run: Run,
    pub crash_after: Option<usize>,
    /// Lookups take longer than everything else.
    pub slow_lookups: bool,
    /// Milliseconds after which a person answers a question.
    pub person_takes_ms: u64,
    /// The most tasks that could change something and worked at one time.
    pub most_writers: usize,
    late: u64,
    memory: Memory,
    /// How often evaluations read each blob.
    reads: RefCell<BTreeMap<BlobId, u32>>,
    script: Script,
    log: Vec<LogEntry>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    out: String,
    seed: u64,
    asked: BTreeMap<CallKey, u32>,
    received: Vec<CallKey>,
    shown: BTreeSet<EffectKey>,
}

impl Player {
    pub fn new(script: &Script, seed: u64) -> Self {
        Self {
            run: Run::new(),
            crash_after: None,
            slow_lookups: false,
            person_takes_ms: 0,
            most_writers: 0,
            late: 0,
            memory: Memory::default(),
            reads: RefCell::default(),
            script: script.clone(),
            log: Vec::new(),
            blobs: BTreeMap::new(),
            out: String::new(),
            seed,
            asked: BTreeMap::new(),
            received: Vec::new(),
            shown: BTreeSet::new(),
        }
    }

    pub fn facts(&self) -> usize {
        self.log.len()
    }

    pub fn replies_twice(&self) -> Vec<&CallKey> {
        let again = |key: &&CallKey| self.received.iter().filter(|other| other == key).count() > 1;
        self.received.iter().filter(again).collect()
    }

    /// How often evaluations read what the top task bound.
    pub fn reads_of_the_names_on_top(&self) -> u32 {
        let top = self.run.operators().top().and_then(|op| op.opened.as_ref());
        let names = top.and_then(|opened| opened.names.as_ref()).expect("names");
        self.reads.borrow().get(names).copied().unwrap_or_default()
    }

    /// What every handler was told, as recorded.
    pub fn told_texts(&self) -> Vec<String> {
        let plans = self.run.operators().iter().filter_map(|op| match &op.opened.as_ref()?.plan {
            Plan::Handler(plan) => Some(String::from_utf8_lossy(&self.blobs[&plan.task]).into_owned()),
            _ => None,
        });
        plans.collect()
    }

    /// A fact that opens a task a second time, with anything, is not taken.
    pub fn refuses_to_open_again(&self) -> bool {
        let again = self.log.iter().filter(|fact| {
            matches!(
                &fact.event,
                Event::Evaluated(events::Evaluated { step: callsheet_core::record::Step::Opened(_), .. })
            )
        });
        again.into_iter().all(|fact| {
            // Before the run concluded, everything but the conclusion has happened.
            let mut run = Run::new();
            for earlier in self.log.iter().take_while(|earlier| !matches!(earlier.event, Event::RunConcluded(_))) {
                run.apply(earlier).unwrap();
            }
            let n = u64::try_from(self.log.len()).unwrap();
            run.apply(&LogEntry { n, at: fact.at.max(n), ..fact.clone() }).is_err()
        })
    }

    /// The result without what depends on time.
    pub fn result(&self) -> Value {
        let result = result_of_run(&self.run, &|id| self.blobs.get(id).cloned());
        let mut value = serde_json::to_value(result.unwrap_or_default()).unwrap();
        without_metrics(&mut value);
        json!({ "outcome": self.run.outcome().map(|outcome| format!("{outcome:?}")), "result": value })
    }

    /// Plays until a task has answered so often.
    pub fn run_to_the_turn(&mut self, task: &str, turns: usize) {
        self.begin();
        while self.received.iter().filter(|key| key.task.as_ref().is_some_and(|slug| slug.as_str() == task)).count()
            < turns
        {
            let outstanding = self.run.outstanding();
            self.perform(&outstanding[0]);
        }
        // The last one is read, too.
        let outstanding = self.run.outstanding();
        self.perform(&outstanding[0]);
    }

    fn begin(&mut self) {
        let policy = |effect, repeat| ToolPolicy { effect, repeat, exclusive: false, unheld: false, named_only: false };
        let mut tools = BTreeMap::from([
            ("read_file".to_owned(), policy(ToolEffect::Read, RepeatClass::Read)),
            ("ask_user".to_owned(), policy(ToolEffect::Read, RepeatClass::Read)),
            ("write_file".to_owned(), policy(ToolEffect::Write, RepeatClass::Idempotent)),
            ("script".to_owned(), policy(ToolEffect::Execute, RepeatClass::Once)),
            ("script_read".to_owned(), policy(ToolEffect::Read, RepeatClass::Read)),
            ("spawn_subtask".to_owned(), policy(ToolEffect::Read, RepeatClass::Read)),
        ]);
        if self.script.tree.variables.contains_key("without_sandbox") {
            tools.remove("script_read");
        }
        let name = self.script.tree.entry.clone();
        let entry = Entry::Template { name: name.clone(), prompt: format!("run {name}") };
        let settings = self.script.settings.clone();
        let tree = Box::new(self.script.tree.clone());
        self.happens(events::RunStarted { run: RunId::new("r"), entry, settings, tools }.into());
        self.happens(events::TreeAdopted { tree }.into());
    }

    pub fn run_to_the_end(&mut self) -> String {
        self.begin();
        for _ in 0..10_000 {
            if self.crash_after == Some(self.log.len()) {
                self.crash();
            }
            let outstanding = self.run.outstanding();
            if let Some(outcome) = self.run.outcome()
                && let Some(again) = self.script.resumes.pop_front()
            {
                let _ = writeln!(self.out, "→ ended {outcome:?}, taken up again");
                self.happens(events::RunResumed { settings: self.script.settings.clone() }.into());
                self.take_up(again);
                continue;
            }
            if self.run.outcome().is_some() || outstanding.is_empty() {
                break;
            }
            let index = usize::try_from(self.next()).unwrap() % outstanding.len();
            let quick =
                outstanding.iter().find(|effect| self.slow_lookups && !matches!(effect, Effect::Retrieve { .. }));
            self.perform(&quick.unwrap_or(&outstanding[index]).clone());
        }
        if std::mem::take(&mut self.crash_after).is_some() {
            // The kill came later than the run.
        }
        let _ = writeln!(self.out, "{}", serde_json::to_string_pretty(&self.summary()).unwrap());
        self.out.clone()
    }

    fn take_up(&mut self, how: Resume) {
        match how {
            Resume::AsItIs => {}
            Resume::Again(task) => {
                let _ = writeln!(self.out, "→ {task}: once more");
                self.happens(events::TaskRetried { task, skills: BTreeMap::new(), because: String::new() }.into());
            }
            Resume::Edited(templates) => {
                let mut tree = Box::new(self.run.operators().tree().map(|tree| (**tree).clone()).unwrap_or_default());
                tree.templates.extend(templates.into_iter().map(|template| (template.name.clone(), template)));
                let tasks = self.run.changes_with(0, &tree).expect("the edit is taken over");
                let named = |tasks: &[Slug]| match tasks {
                    [] => "none".to_owned(),
                    tasks => tasks.iter().map(Slug::as_str).collect::<Vec<_>>().join(", "),
                };
                let (again, other_steps) = (named(&tasks.again), named(&tasks.other_steps));
                let _ = writeln!(self.out, "→ edited: {again} again, other steps of {other_steps}");
                self.happens(events::TreeEdited { tree_number: 0, tree }.into());
            }
        }
    }

    fn next(&mut self) -> u64 {
        if self.seed == 0 {
            return 0;
        }
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.seed >> 33
    }

    /// The process dies: only the log is left.
    fn crash(&mut self) {
        self.crash_after = None;
        let mut run = Run::new();
        for fact in &self.log {
            run.apply(fact).expect("the log folds");
        }
        self.run = run;
        self.memory = Memory::default();
        self.happens(events::RunResumed { settings: self.script.settings.clone() }.into());
    }

    pub fn happens(&mut self, event: Event) {
        let n = u64::try_from(self.log.len()).unwrap() + 1;
        // A slow world lets a second pass with each fact.
        let at = if self.script.tree.variables.contains_key("slow") { n * 1_000 + self.late } else { n };
        let fact = LogEntry::new(n, at, event);
        let text = serde_json::to_string(&fact).unwrap();
        let read: LogEntry = serde_json::from_str(&text).unwrap();
        assert_eq!(read, fact, "a fact reads back");
        self.run.apply(&fact).unwrap_or_else(|reject| panic!("{reject}: {text}"));
        // Up to its crash, a run is the one that did not crash, which is checked.
        if self.crash_after.is_none() {
            assert!(self.run.is_settled(), "after {text}");
            let explainer = self.run.explainer();
            let silent = self.run.not_done().into_iter().find(|task| explainer.why(task) == Why::Unknown);
            assert_eq!(silent, None, "it says why it is not done, after {text}");
        }
        self.log.push(fact);
        let works = |task: &&TaskRun| task.runs.iter().any(|run| run.attempts.admitted) && self.run.can_write(task);
        let writers = self.run.tasks().filter(works);
        self.most_writers = self.most_writers.max(writers.count());
    }

    fn keep(&mut self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.blobs.insert(id.clone(), bytes);
        id
    }

    fn starts(&mut self, effect: &Effect) {
        let key = effect.key();
        if !self.run.is_in_flight(&key) {
            self.happens(effect.started());
        }
    }

    fn tell(&mut self, key: EffectKey, line: &str) {
        if self.shown.insert(key) {
            self.out.push_str(line);
            self.out.push('\n');
        }
    }

    fn perform(&mut self, effect: &Effect) {
        match effect {
            Effect::Evaluate { task, n, moment } => {
                let values = |id: &BlobId| {
                    *self.reads.borrow_mut().entry(id.clone()).or_insert(0) += 1;
                    self.blobs.get(id).cloned()
                };
                let evaluation =
                    evaluate_with(&self.run, task, *moment, &values, &TextFormats, &mut self.memory).unwrap();
                for bytes in evaluation.blobs {
                    self.keep(bytes);
                }
                self.happens(events::Evaluated { task: task.clone(), n: *n, step: evaluation.step }.into());
            }
            Effect::AskModel(asked) => {
                self.starts(effect);
                self.reply(asked);
            }
            Effect::ReadReply(asked) => self.read(asked),
            Effect::RunTool { task, run, call, .. } => {
                let shown = if call.name.starts_with("script") {
                    call.arguments["argv"].clone()
                } else {
                    call.arguments.clone()
                };
                self.tell(effect.key(), &format!("→ {} of {task}: {shown}", call.name));
                self.starts(effect);
                let given = self.script.processes.get_mut(task.as_str()).and_then(VecDeque::pop_front);
                let text = given.unwrap_or_else(|| format!("output of {}", call.name));
                let error = text.strip_prefix("error:").map(|said| said.trim().to_owned());
                let question = text.strip_prefix("question:").map(str::to_owned);
                let blob = self.keep(text.trim_start_matches("error:").trim().as_bytes().to_vec());
                let record = match question {
                    _ if text == "cut" => ToolRecord::Cut,
                    Some(question) => ToolRecord::Question(question.trim().to_owned()),
                    None if is_timed_out(&text) => ToolRecord::text_until_timeout(blob, error),
                    None => ToolRecord::text(blob, error),
                };
                let (task, run, call) = (task.clone(), run.clone(), call.id.clone());
                self.happens(events::ToolFinished { task, run, call, record, ms: 1 }.into());
            }
            Effect::AskApproval(gate) => {
                let words = self.script.answers.pop_front().unwrap_or_else(|| "yes".to_owned());
                self.tell(effect.key(), &format!("→ gate {}: {}", gate_words(&gate.kind), words));
                let answer = match words.strip_prefix("no") {
                    Some(words) => Answer::Deny { words: words.trim().to_owned() },
                    None => Answer::Listed,
                };
                self.happens(events::GateAnswered { gate: gate.clone(), answer, by: None }.into());
            }
            Effect::AskPerson { task, run, call, question, .. } => {
                let words = self.script.answers.pop_front().unwrap_or_else(|| "forty".to_owned());
                self.tell(effect.key(), &format!("→ asks: {question} {words}"));
                let output = self.keep(words.into_bytes());
                self.late += self.person_takes_ms;
                let (task, run, call) = (task.clone(), run.clone(), call.clone());
                self.happens(events::QuestionAnswered { task, run, call, output }.into());
            }
            Effect::Retrieve { task, n, request } => {
                self.starts(effect);
                let (retrieval, empty_index) = self.look_up(task, *n, request);
                self.happens(events::ContextRetrieved { task: task.clone(), n: *n, retrieval, empty_index }.into());
            }
            Effect::Conclude(outcome) => {
                let report = self.keep(Vec::new());
                self.happens(events::RunConcluded { outcome: *outcome, report }.into());
            }
            other => panic!("{other:?} is not scripted"),
        }
    }

    /// A lookup as scripted (`fault: …`, or paths of a command), else by rule in the index of the fixture.
    fn look_up(&mut self, task: &Slug, n: u32, request: &BlobId) -> (Retrieval, bool) {
        let request: SeekRequest = serde_json::from_slice(&self.blobs[request]).unwrap();
        let line = format!("→ look up for {task}: {}", serde_json::to_string(&request).unwrap());
        self.tell(EffectKey::Retrieve { task: task.clone(), n }, &line);
        let mut found = Found::default();
        // A lookup may be repeated after a crash, so the number says which answer is meant.
        let at = usize::try_from(n).unwrap() - 1;
        let said = self.script.lookups.get(task.as_str()).and_then(|said| said.get(at)).cloned();
        if let Some(message) = said.as_deref().and_then(|said| said.strip_prefix("fault:")) {
            let partial = self.keep(serde_json::to_vec(&found).unwrap());
            return (Retrieval::Failed { message: message.trim().to_owned(), partial }, false);
        }
        if !request.command.is_empty() {
            found.command = said.unwrap_or_default().lines().map(str::to_owned).collect();
        }
        let mut empty = false;
        if let Some(query) = &request.described {
            let answer = relevant_context(query, &self.script.index);
            found.described = answer.matches;
            empty |= answer.empty_index;
        }
        if let Some(query) = &request.related {
            let answer = relevant_context(query, &self.script.index);
            (found.related, found.items) = (answer.matches, answer.items);
            empty |= answer.empty_index;
        }
        if request.about {
            let of = |file: &FileMatch| self.script.index.iter().find(|(path, _)| *path == file.0).cloned();
            found.about = found.described.iter().chain(&found.related).filter_map(of).collect();
        }
        (Retrieval::Found(self.keep(serde_json::to_vec(&found).unwrap())), empty)
    }

    fn reply(&mut self, asked: &ModelCall) {
        let key = asked.key.clone();
        assert_eq!(key.phase, Phase::Execute);
        let task = key.task.clone().unwrap();
        let turn = self.received.iter().filter(|other| other.task == key.task).count();
        let reuses = if asked.reuses { ", or use an earlier reply" } else { "" };
        self.tell(EffectKey::Ask(key.clone()), &format!("{}{reuses}", self.prompt_line(&task)));
        *self.asked.entry(key.clone()).or_insert(0) += 1;
        // `*` replies for every task that has none of its own, with its depth filled in.
        let depth = self.run.operators().get(&task).map_or(0, |op| op.depth).to_string();
        let any = |turn: usize| self.script.replies.get("*")?.get(turn).map(|text| text.replace("{depth}", &depth));
        let given = self.script.replies.get(task.as_str()).and_then(|replies| replies.get(turn)).cloned();
        let given = given.or_else(|| any(turn));
        let text = given.unwrap_or_else(|| format!("done {task}"));
        // Before the first resume no provider is there.
        let text = match text.strip_prefix("away, then:") {
            Some(_) if !self.script.resumes.is_empty() => "fault: communication".to_owned(),
            Some(text) => text.trim().to_owned(),
            None => text,
        };
        // As the driver does: a reply has what the budgets leave beside its prompt.
        let room = asked.max_tokens.map_or(u64::MAX, |most| most.saturating_sub(PROMPT));
        let text = if room == 0 { "fault: budget unsent".to_owned() } else { text };
        if let Some(fault) = text.strip_prefix("fault:") {
            let sends = u32::from(!fault.ends_with("unsent"));
            let fault = match fault.trim() {
                "communication" => CallFault::Communication,
                "configuration" => CallFault::Configuration,
                "overflow" | "overflow unsent" => CallFault::ContextOverflow,
                "timeout" => CallFault::Timeout,
                "budget unsent" => CallFault::Budget,
                other => panic!("fault {other}"),
            };
            let sizes = self.script.window.map(|window| CallSizes {
                prompt: window + 50,
                prompt_limit: window,
                ..CallSizes::default()
            });
            self.happens(events::CallFailed { key, fault, sends, message: "as scripted".to_owned(), sizes }.into());
            return;
        }
        let (text, stop) = match text.rsplit_once('\n') {
            Some((text, "[cut]")) => (text.to_owned(), StopReason::Length),
            _ if room < REPLY => (text, StopReason::Budget),
            _ => (text, StopReason::End),
        };
        self.received.push(key.clone());
        let prompt = self.keep(b"{}".to_vec());
        let reply = self.keep(serde_json::to_vec(&json!({ "text": text })).unwrap());
        let usage = Usage { input: PROMPT, output: REPLY.min(room), cached: 0, cost_usd: Some(0.25) };
        let model = "p/m".to_owned();
        let sizes = self.script.window.map(|window| CallSizes {
            prompt: window - 1,
            prompt_limit: window,
            reply: u64::try_from(text.len()).unwrap(),
            reply_limit: 100,
        });
        let (ms, sends, reused, pictures) = (1, 1, None, Vec::new());
        self.happens(
            events::ReplyReceived { key, prompt, reply, model, usage, ms, sends, stop, reused, pictures, sizes }.into(),
        );
    }

    /// What the subtasks of the last turn gave, in the order of their calls.
    fn answers(&self, task: &Slug) -> Vec<String> {
        let exec = &self.run.task(task).unwrap().runs[0];
        let Some(turn) = exec.turns.last() else { return Vec::new() };
        let calls = turn.calls.iter().map(|id| exec.call(id).unwrap());
        let asked = calls.filter(|call| self.run.operators().is_subtask_tool(&call.call.name));
        asked
            .map(|call| {
                let Some(ToolOutput::Text { blob, error }) = call.output() else { panic!("{call:?}") };
                let mut value: Value = serde_json::from_slice(&self.blobs[blob]).unwrap();
                trim(&mut value);
                let word = if *error { "error" } else { "result" };
                format!("{word} of {}: {value}", call.call.id)
            })
            .collect()
    }

    fn read(&mut self, asked: &ModelCall) {
        let key = asked.key.clone();
        let record = self.run.call_record(&key).expect("recorded");
        let reply: Value = serde_json::from_slice(&self.blobs[&record.reply]).unwrap();
        let text = reply["text"].as_str().unwrap().to_owned();
        let mut parts = text.split("call: ");
        let said = parts.next().unwrap_or_default().to_owned();
        let native: Vec<ToolCall> = parts
            .map(|call| {
                let (name, arguments) = call.trim().split_once(' ').unwrap_or((call, "{}"));
                let arguments: Value = serde_json::from_str(arguments).unwrap();
                ToolCall { name: name.to_owned(), id: String::new(), arguments }
            })
            .collect();
        let text = if native.is_empty() { text } else { said };
        let task = self.run.task(key.task.as_ref().unwrap()).unwrap();
        assert!(task.state() != State::Done);
        let taken = task.runs.iter().flat_map(|run| &run.calls).map(|call| call.call.id.clone()).collect();
        let manual = self.told(key.task.as_ref().unwrap())["manual_xml"] == json!(true);
        match read_turn(&text, &native, &taken, manual) {
            Said::Calls(calls, said) => {
                let (said, repairs, issues) = (Some(said), Vec::new(), Vec::new());
                let (repeats, stuck) = (BTreeMap::new(), BTreeMap::new());
                self.happens(events::CallsAsked { key, calls, said, repeats, stuck, repairs, issues }.into());
            }
            Said::Final => {
                let document = Some(self.keep(text.into_bytes()));
                let result = ResultParts { document, changes: None::<ChangeSet>, ..ResultParts::default() };
                self.happens(events::ExecutionFinished { key, result, repairs: Vec::new(), issues: Vec::new() }.into());
            }
        }
    }

    fn summary(&self) -> Value {
        let mut value = self.result();
        trim(&mut value);
        let result = result_of_run(&self.run, &|id| self.blobs.get(id).cloned()).unwrap_or_default();
        let TaskResult { notes, .. } = result;
        value["calls"] = json!(notes.metrics.calls);
        value["tokens"] = json!(notes.metrics.tokens.input + notes.metrics.tokens.output);
        value
    }
}

/// Whether this is the report of a process that its time ended.
fn is_timed_out(text: &str) -> bool {
    serde_json::from_str::<ProcessReport>(text).is_ok_and(|report| report.timed_out)
}
