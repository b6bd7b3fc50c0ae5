//! A shell without a world: performs what a run of a tree owes on scripted replies, by pure functions only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use callsheet_core::evaluate::{Said, evaluate, read_turn, result_of_run};
use callsheet_core::record::{
    Answer, CallFault, CallKey, ChangeSet, EffectKey, Entry, Event, Fact, ResultParts, StopReason, ToolPolicy,
    ToolRecord, Tree, Usage, VERSION,
};
use callsheet_core::reply::Phase;
use callsheet_core::run::{Asked, Effect, Run, State};
use callsheet_core::spec::{BlobId, RepeatClass, RunId, Settings, Slug, ToolCall, ToolEffect};
use callsheet_core::template::{Severity, TaskResult, read_text};
use serde_json::{Value, json};

/// What a fixture says.
#[derive(Clone, Default)]
pub struct Script {
    tree: Tree,
    settings: Settings,
    replies: BTreeMap<String, VecDeque<String>>,
    processes: BTreeMap<String, VecDeque<String>>,
    answers: VecDeque<String>,
}

impl Script {
    pub fn read<'a>(inputs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut script = Self::default();
        for (title, body) in inputs {
            let (kind, name) = title.split_once(' ').unwrap_or((title, ""));
            match kind {
                "template" => {
                    let reading = read_text("t.xml", body);
                    let errors: Vec<String> = reading
                        .issues
                        .iter()
                        .filter(|(_, issue)| issue.severity == Severity::Error)
                        .map(|(_, issue)| issue.to_string())
                        .collect();
                    assert!(errors.is_empty(), "{errors:#?}");
                    let named = reading.templates.into_iter().map(|template| (template.name.clone(), template));
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
                            "text" => script.tree.text = value.as_str().expect("text").to_owned(),
                            "jobs" => script.settings.jobs = u32::try_from(value.as_u64().unwrap()).unwrap(),
                            key => drop(script.tree.variables.insert(key.to_owned(), value)),
                        }
                    }
                }
                "reply" => script.replies.entry(name.to_owned()).or_default().push_back(body.trim_end().to_owned()),
                "process" => script.processes.entry(name.to_owned()).or_default().push_back(body.trim().to_owned()),
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
    script: Script,
    log: Vec<Fact>,
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

    /// The result without what depends on time.
    pub fn result(&self) -> Value {
        let result = result_of_run(&self.run, &|id| self.blobs.get(id).cloned());
        let mut value = serde_json::to_value(result.unwrap_or_default()).unwrap();
        without_metrics(&mut value);
        json!({ "outcome": self.run.outcome().map(|outcome| format!("{outcome:?}")), "result": value })
    }

    pub fn run_to_the_end(&mut self) -> String {
        let policy = |effect, repeat| ToolPolicy { effect, repeat, exclusive: false };
        let tools = BTreeMap::from([
            ("read_file".to_owned(), policy(ToolEffect::Read, RepeatClass::Read)),
            ("ask_user".to_owned(), policy(ToolEffect::Read, RepeatClass::Read)),
            ("write_file".to_owned(), policy(ToolEffect::Write, RepeatClass::Idempotent)),
            ("script".to_owned(), policy(ToolEffect::Execute, RepeatClass::Once)),
        ]);
        let name = self.script.tree.entry.clone();
        let entry = Entry::Template { name: name.clone(), prompt: format!("run {name}") };
        let settings = self.script.settings.clone();
        let tree = Box::new(self.script.tree.clone());
        self.happens(Event::RunStarted { run: RunId::new("r"), entry, settings, tools });
        self.happens(Event::TreeAdopted { tree });
        for _ in 0..10_000 {
            if self.crash_after == Some(self.log.len()) {
                self.crash();
            }
            let owed = self.run.outstanding();
            if self.run.outcome().is_some() || owed.is_empty() {
                break;
            }
            let index = usize::try_from(self.next()).unwrap() % owed.len();
            self.perform(&owed[index]);
        }
        if std::mem::take(&mut self.crash_after).is_some() {
            // The kill came later than the run.
        }
        let _ = writeln!(self.out, "{}", serde_json::to_string_pretty(&self.summary()).unwrap());
        self.out.clone()
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
        self.happens(Event::RunResumed { settings: self.script.settings.clone() });
    }

    fn happens(&mut self, event: Event) {
        let n = u64::try_from(self.log.len()).unwrap() + 1;
        // A slow world lets a second pass with each fact.
        let at = if self.script.tree.variables.contains_key("slow") { n * 1_000 } else { n };
        let fact = Fact { v: VERSION, n, at, event };
        let text = serde_json::to_string(&fact).unwrap();
        let read: Fact = serde_json::from_str(&text).unwrap();
        assert_eq!(read, fact, "a fact reads back");
        self.run.apply(&fact).unwrap_or_else(|reject| panic!("{reject}: {text}"));
        assert!(self.run.is_settled(), "after {text}");
        self.log.push(fact);
    }

    fn keep(&mut self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.blobs.insert(id.clone(), bytes);
        id
    }

    fn starts(&mut self, effect: &Effect) {
        let key = effect.key();
        if !self.run.is_in_flight(&key) {
            self.happens(Event::Started { effect: key });
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
                let evaluation = evaluate(&self.run, task, *moment, &|id| self.blobs.get(id).cloned()).unwrap();
                for bytes in evaluation.blobs {
                    self.keep(bytes);
                }
                self.happens(Event::Evaluated { task: task.clone(), n: *n, step: evaluation.step });
            }
            Effect::AskModel(asked) => {
                self.starts(effect);
                self.reply(asked);
            }
            Effect::ReadReply(asked) => self.read(asked),
            Effect::RunTool { task, run, call, .. } => {
                let shown = if call.name == "script" { call.arguments["argv"].clone() } else { call.arguments.clone() };
                self.tell(effect.key(), &format!("→ {} of {task}: {shown}", call.name));
                self.starts(effect);
                let given = self.script.processes.get_mut(task.as_str()).and_then(VecDeque::pop_front);
                let text = given.unwrap_or_else(|| format!("output of {}", call.name));
                let error = text.starts_with("error:");
                let question = text.strip_prefix("question:").map(str::to_owned);
                let blob = self.keep(text.trim_start_matches("error:").trim().as_bytes().to_vec());
                let record = match question {
                    Some(question) => ToolRecord::Question(question.trim().to_owned()),
                    None => ToolRecord::Output { blob, error },
                };
                let (task, run, call) = (task.clone(), run.clone(), call.id.clone());
                self.happens(Event::ToolFinished { task, run, call, record, ms: 1 });
            }
            Effect::AskApproval(gate) => {
                let words = self.script.answers.pop_front().unwrap_or_else(|| "yes".to_owned());
                self.tell(effect.key(), &format!("→ gate {}: {}", gate_words(&gate.kind), words));
                let answer = match words.strip_prefix("no") {
                    Some(words) => Answer::Deny { words: words.trim().to_owned() },
                    None => Answer::Listed,
                };
                self.happens(Event::GateAnswered { gate: gate.clone(), answer });
            }
            Effect::AskPerson { task, run, call, question } => {
                let words = self.script.answers.pop_front().unwrap_or_else(|| "forty".to_owned());
                self.tell(effect.key(), &format!("→ asks: {question} {words}"));
                let output = self.keep(words.into_bytes());
                let (task, run, call) = (task.clone(), run.clone(), call.clone());
                self.happens(Event::QuestionAnswered { task, run, call, output });
            }
            Effect::Conclude(outcome) => {
                let report = self.keep(Vec::new());
                self.happens(Event::RunConcluded { outcome: *outcome, report });
            }
            other => panic!("{other:?} is not scripted"),
        }
    }

    fn reply(&mut self, asked: &Asked) {
        let key = asked.key.clone();
        assert_eq!(key.phase, Phase::Execute);
        let task = key.task.clone().unwrap();
        let turn = self.received.iter().filter(|other| other.task == key.task).count();
        self.tell(EffectKey::Ask(key.clone()), &self.prompt_line(&task));
        *self.asked.entry(key.clone()).or_insert(0) += 1;
        let given = self.script.replies.get(task.as_str()).and_then(|replies| replies.get(turn)).cloned();
        let text = given.unwrap_or_else(|| format!("done {task}"));
        if let Some(fault) = text.strip_prefix("fault:") {
            let fault = match fault.trim() {
                "communication" => CallFault::Communication,
                "configuration" => CallFault::Configuration,
                "overflow" => CallFault::ContextOverflow,
                "timeout" => CallFault::Timeout,
                other => panic!("fault {other}"),
            };
            self.happens(Event::CallFailed { key, fault, sends: 1, message: "as scripted".to_owned() });
            return;
        }
        let (text, stop) = match text.strip_suffix("\n[cut]") {
            Some(text) => (text.to_owned(), StopReason::Length),
            None => (text, StopReason::End),
        };
        self.received.push(key.clone());
        let prompt = self.keep(b"{}".to_vec());
        let reply = self.keep(serde_json::to_vec(&json!({ "text": text })).unwrap());
        let usage = Usage { input: 10, output: 5, cached: 0, cost_usd: Some(0.25) };
        let model = "p/m".to_owned();
        self.happens(Event::ReplyReceived { key, prompt, reply, model, usage, ms: 1, sends: 1, stop });
    }

    /// What the handler is told, in one line.
    fn prompt_line(&self, task: &Slug) -> String {
        let op = self.run.operators().of_leaf(task).expect("a leaf");
        let Some(callsheet_core::record::Plan::Handler(plan)) = op.opened.as_ref().map(|opened| &opened.plan) else {
            panic!("a handler");
        };
        let told: Value = serde_json::from_slice(&self.blobs[&plan.task]).unwrap();
        let mut line = format!("→ ask {task}: {}", told["description"].as_str().unwrap());
        if told["instructions"] != told["description"] {
            let _ = write!(line, " | {}", told["instructions"].as_str().unwrap());
        }
        for entry in told["earlier"].as_array().unwrap() {
            let content = entry.get("content").and_then(Value::as_str).unwrap_or("-");
            let _ = write!(
                line,
                " | earlier {} {}: {content}",
                entry["id"].as_str().unwrap(),
                entry["status"].as_str().unwrap()
            );
        }
        for item in told["inherited"].as_array().unwrap() {
            let _ = write!(line, " | inherited {item}");
        }
        for pair in told["inputs"].as_array().unwrap() {
            let _ = write!(line, " | input {}={}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
        }
        if told["files"]["paths"] != json!([]) {
            let _ = write!(line, " | files {}", told["files"]["paths"]);
        }
        if let Some(issues) = &op.issues {
            let _ = write!(line, " | issues {}", String::from_utf8_lossy(&self.blobs[issues]));
        }
        line.replace('\n', "⏎")
    }

    fn read(&mut self, asked: &Asked) {
        let key = asked.key.clone();
        let record = self.run.call_record(&key).expect("recorded");
        let reply: Value = serde_json::from_slice(&self.blobs[&record.reply]).unwrap();
        let text = reply["text"].as_str().unwrap().to_owned();
        let (text, native) = match text.split_once("call: ") {
            Some((text, call)) => {
                let (name, arguments) = call.split_once(' ').unwrap_or((call, "{}"));
                let arguments: Value = serde_json::from_str(arguments).unwrap();
                (text.to_owned(), vec![ToolCall { name: name.to_owned(), id: String::new(), arguments }])
            }
            None => (text, Vec::new()),
        };
        let task = self.run.task(key.task.as_ref().unwrap()).unwrap();
        assert!(task.state != State::Done);
        let taken = task.runs.iter().flat_map(|run| &run.calls).map(|call| call.call.id.clone()).collect();
        match read_turn(&text, &native, &taken, false) {
            Said::Calls(calls, said) => {
                let said = Some(said);
                self.happens(Event::CallsAsked { key, calls, said, repairs: Vec::new(), issues: Vec::new() });
            }
            Said::Final => {
                let document = Some(self.keep(text.into_bytes()));
                let result = ResultParts { document, changes: None::<ChangeSet>, ..ResultParts::default() };
                self.happens(Event::RunFinished { key, result, repairs: Vec::new(), issues: Vec::new() });
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

fn gate_words(kind: &callsheet_core::record::GateKind) -> String {
    use callsheet_core::record::GateKind;
    match kind {
        GateKind::BeforeRun(tasks) => {
            format!("before {}", tasks.iter().map(Slug::as_str).collect::<Vec<_>>().join(", "))
        }
        GateKind::BeforeApply { task, .. } => format!("changes of {task}"),
        GateKind::BeforeCall { task, call, .. } => format!("call {call} of {task}"),
    }
}

fn without_metrics(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("metrics");
            map.values_mut().for_each(without_metrics);
        }
        Value::Array(list) => list.iter_mut().for_each(without_metrics),
        _ => {}
    }
}

/// Leaves out what says nothing.
fn trim(value: &mut Value) {
    if let Value::Object(map) = value {
        map.values_mut().for_each(trim);
        map.retain(|key, value| {
            !(value.is_null()
                || *value == json!([])
                || *value == json!({})
                || *value == json!("")
                || matches!(key.as_str(), "data_sources" | "context_files_count" | "recovery" | "location")
                || (key == "data_usage" && *value == json!("none"))
                || (key == "context_source" && *value == json!("none")))
        });
    } else if let Value::Array(list) = value {
        list.iter_mut().for_each(trim);
    }
}
