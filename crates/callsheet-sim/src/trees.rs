//! The answers of the world to a task tree: those of models, processes and people. Each is a function of the seed and
//! of the question, so another order of events or a crash gets the same answers.

use std::collections::BTreeMap;

use callsheet_core::evaluate::{SCRIPT, SCRIPT_READ, evaluate, result_of_run};
use callsheet_core::events::{self, Event};
use callsheet_core::nouns::{BlobId, Phase, RunId, Settings, Slug, ToolCall};
use callsheet_core::record::{
    Answer, CallFault, Entry, Gate, GateKind, ResultParts, Retrieval, ReusedCall, StopReason, ToolRecord, Tree, Usage,
};
use callsheet_core::run::{EvalPhase, ModelCall, Run, SPAWN_SUBTASK};
use callsheet_core::template::{Severity, TaskResult};
use callsheet_format::template::{Said, TextFormats, read_text, read_turn};
use serde_json::{Value, json};

use crate::library::Library;
use crate::random::Random;

const MATCHER: &str = "choose_files";
/// Added at the end of a generated library.
const MATCHING: &str = include_str!("matching.xml");

/// A reply that asks for subtasks: by several calls, some of which are invalid, or by its status.
fn asks_for_subtasks(random: &mut Random) -> Value {
    let request = |random: &mut Random| match random.below(5) {
        0 => json!({ "type": "map", "description": "No template has it" }),
        1 => json!({ "type": "atomic", "description": "Look", "max_depth": 1 + random.below(3) }),
        2 => json!({ "type": "atomic", "name": "fn_0", "description": "Call it", "inputs": { "x": "given" } }),
        _ => json!({ "type": "atomic", "description": "Look", "inputs": { "at": "a.txt" } }),
    };
    if random.chance(30) {
        let envelope =
            json!({ "status": "CONTINUATION", "content": "", "notes": { "subtask_request": request(random) } });
        return json!({ "text": envelope.to_string() });
    }
    let mut calls = Vec::new();
    for _ in 0..=random.below(3) {
        calls.push(json!({ "name": SPAWN_SUBTASK, "id": "", "arguments": request(random) }));
    }
    if random.chance(30) {
        calls.push(json!({ "name": "read_file", "id": "", "arguments": { "path": "a.txt" } }));
    }
    json!({ "text": "I ask", "calls": calls })
}

/// The world of a tree.
pub struct Trees {
    seed: u64,
    tree: Tree,
    blobs: BTreeMap<BlobId, Vec<u8>>,
}

/// The number of tokens in every prompt.
const PROMPT: u64 = 100;

impl Trees {
    /// The tree of a seed. `limited` gives its tasks random limits.
    ///
    /// # Errors
    /// The generated library has errors.
    pub fn new(seed: u64, limited: bool) -> Result<Self, String> {
        let mut random = Random::new(seed);
        let text = Library::text(&mut random, limited).replace("</templates>", MATCHING);
        let reading = read_text("made-up.xml", &text);
        let mut errors = reading.issues.iter().filter(|(_, issue)| issue.severity == Severity::Error);
        if let Some((_, error)) = errors.next() {
            return Err(format!("the made-up library has an error: {error}\n{text}"));
        }
        let mut tree = Tree { entry: "top".to_owned(), date: "2026-01-02".to_owned(), ..Tree::default() };
        tree.templates = reading.templates.into_iter().map(|template| (template.name.clone(), template)).collect();
        tree.matcher = random.chance(30).then(|| MATCHER.to_owned());
        let list: Vec<usize> = (0..random.below(4)).collect();
        tree.variables.insert("list".to_owned(), json!(list));
        tree.variables.insert("flag".to_owned(), json!(random.chance(50)));
        tree.variables.insert("request".to_owned(), json!(if random.chance(50) { "go" } else { "stay" }));
        Ok(Self { seed, tree, blobs: BTreeMap::new() })
    }

    /// The tree for a call.
    pub fn tree(&self) -> Box<Tree> {
        Box::new(self.tree.clone())
    }

    /// The events with which a run of it begins.
    pub fn begin(&self, settings: Settings, tools: BTreeMap<String, callsheet_core::record::ToolPolicy>) -> Vec<Event> {
        let entry = Entry::Template { name: self.tree.entry.clone(), prompt: "go".to_owned() };
        let run = RunId::new("simulated");
        vec![
            events::RunStarted { run, entry, settings, tools }.into(),
            events::TreeAdopted { tree: Box::new(self.tree.clone()) }.into(),
        ]
    }

    /// The result of a run of it.
    pub fn result(&self, run: &Run) -> Option<TaskResult> {
        result_of_run(run, &|id| self.blobs.get(id).cloned())
    }

    fn keep(&mut self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.blobs.insert(id.clone(), bytes);
        id
    }

    /// Random numbers for one question only.
    fn of(&self, what: &str, number: u32) -> Random {
        let mixed = what
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Random::new(self.seed ^ mixed ^ u64::from(number).wrapping_mul(0x9E37_79B9))
    }

    /// Performs an evaluation.
    ///
    /// # Errors
    /// It cannot be performed, which is a defect.
    pub fn evaluate(&mut self, run: &Run, task: &Slug, n: u32, moment: EvalPhase) -> Result<Event, String> {
        let evaluation = evaluate(run, task, moment, &|id| self.blobs.get(id).cloned(), &TextFormats)?;
        for bytes in evaluation.blobs {
            self.keep(bytes);
        }
        Ok(events::Evaluated { task: task.clone(), n, step: evaluation.step }.into())
    }

    /// The reply of a handler's model.
    pub fn reply(&mut self, asked: &ModelCall) -> Event {
        let key = asked.key.clone();
        let task = key.task.clone().unwrap_or_else(|| Slug::new("none"));
        let mut random = self.of(task.as_str(), asked.turn.wrapping_mul(16).wrapping_add(asked.attempt));
        let roll = random.below(100);
        if roll < 4 {
            let faults =
                [CallFault::ContextOverflow, CallFault::Timeout, CallFault::Configuration, CallFault::Communication];
            let fault = random.pick(&faults).cloned().unwrap_or(CallFault::Timeout);
            return events::CallFailed { key, fault, sends: 1, message: "it failed".to_owned(), sizes: None }.into();
        }
        // Like the driver: a reply may use what the budgets leave after its prompt.
        let room = asked.max_tokens.map_or(u64::MAX, |most| most.saturating_sub(PROMPT));
        if room == 0 {
            let message = "no room".to_owned();
            return events::CallFailed { key, fault: CallFault::Budget, sends: 0, message, sizes: None }.into();
        }
        let call = |name: &str| json!([{ "name": name, "id": "", "arguments": { "path": "a.txt" } }]);
        let reply = match roll {
            4..=8 => json!({ "text": "" }),
            9..=13 => json!({ "text": "<result status=\"FAILED\"><content>It cannot be done</content></result>" }),
            14..=17 => json!({ "text": "<result status=\"WAITING\"><content>Which one?</content></result>" }),
            18..=29 => json!({ "text": "I look", "calls": call("read_file") }),
            30..=33 => json!({ "text": "", "calls": call("write_file") }),
            34..=50 => json!({ "text": "{\"success\": true, \"feedback\": \"good\"}" }),
            51..=65 => json!({ "text": "{\"success\": false, \"feedback\": \"not yet\"}" }),
            66..=68 => json!({ "text": "{\"verdict\": \"abort\", \"reason\": \"enough\"}" }),
            69..=78 => asks_for_subtasks(&mut random),
            79..=84 => json!({ "text": "[{\"path\": \"b.txt\", \"score\": 1}, {\"path\": \"c.txt\"}]" }),
            _ => json!({ "text": format!("done {task} {}", asked.turn) }),
        };
        let stop = if random.chance(4) { StopReason::Length } else { StopReason::End };
        let (prompt, reply) = (self.keep(b"{}".to_vec()), self.keep(reply.to_string().into_bytes()));
        let wanted = if random.chance(10) { 1_500 } else { 10 };
        let stop = if wanted > room { StopReason::Budget } else { stop };
        let usage = Usage { input: PROMPT, output: wanted.min(room), cached: 0, cost_usd: Some(crate::world::COST) };
        let model = "test/model".to_owned();
        let reused = (asked.reuses && random.chance(50)).then_some(ReusedCall { run: None, call: 1 });
        let usage = if reused.is_some() { Usage { cost_usd: Some(0.0), ..Usage::default() } } else { usage };
        let sends = u32::from(reused.is_none());
        events::ReplyReceived {
            key,
            prompt,
            reply,
            model,
            usage,
            ms: 500,
            sends,
            stop,
            reused,
            pictures: Vec::new(),
            sizes: None,
        }
        .into()
    }

    /// The event for reading its reply.
    pub fn read(&mut self, run: &Run, asked: &ModelCall) -> Event {
        let (key, repairs, issues) = (asked.key.clone(), Vec::new(), Vec::new());
        if key.phase == Phase::Review {
            let task = key.task.as_ref().map_or("", |task| task.as_str());
            let mut random = self.of(task, key.n.wrapping_mul(31));
            return crate::reviews::verdict(&mut random, key);
        }
        let reply = run.call_record(&key).and_then(|call| self.blobs.get(&call.reply));
        let reply: Value = reply.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
        let text = reply.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        let calls: Vec<ToolCall> =
            reply.get("calls").and_then(|calls| serde_json::from_value(calls.clone()).ok()).unwrap_or_default();
        let task = key.task.as_ref().and_then(|slug| run.task(slug));
        let taken = task.iter().flat_map(|task| &task.runs).flat_map(|run| &run.calls);
        let taken = taken.map(|call| call.call.id.clone()).collect();
        match read_turn(&text, &calls, &taken, false) {
            Said::Calls(calls, said) => {
                let (repeats, stuck) = (BTreeMap::new(), BTreeMap::new());
                events::CallsAsked { key, calls, said: Some(said), repeats, stuck, repairs, issues }.into()
            }
            Said::Final => {
                let document = Some(self.keep(text.into_bytes()));
                events::ExecutionFinished {
                    key,
                    result: ResultParts { document, ..ResultParts::default() },
                    repairs,
                    issues,
                }
                .into()
            }
        }
    }

    /// The output of a tool. A process gives a report.
    pub fn output(&mut self, task: &Slug, call: &ToolCall) -> ToolRecord {
        let mut random = self.of(task.as_str(), 7);
        if call.name == "ask_user" {
            return ToolRecord::Question("Which?".to_owned());
        }
        if call.name != SCRIPT && call.name != SCRIPT_READ {
            let blob = self.keep(b"lines of a file".to_vec());
            let timed_out = random.chance(5);
            let error = (timed_out || random.chance(20)).then(|| "it failed".to_owned());
            return ToolRecord::Output { blob, error, pictures: Vec::new(), timed_out };
        }
        if random.chance(5) {
            let blob = self.keep(b"it cannot be started".to_vec());
            return ToolRecord::text(blob, Some("it cannot be started".to_owned()));
        }
        let code = i32::from(random.chance(30));
        let timed_out = random.chance(5);
        let report = json!({ "stdout": "output", "stderr": "", "exit_code": code, "timed_out": timed_out });
        let blob = self.keep(report.to_string().into_bytes());
        ToolRecord::Output { blob, error: None, pictures: Vec::new(), timed_out }
    }

    /// The result of a lookup: nothing, or a fault.
    pub fn look_up(&mut self, task: &Slug, n: u32) -> Event {
        let some = br#"{"related":[["a.txt","words"],["b.txt",null]]}"#;
        let found = if self.of(task.as_str(), n.wrapping_add(2_000)).chance(40) { some.as_slice() } else { b"{}" };
        let found = self.keep(found.to_vec());
        let retrieval = if self.of(task.as_str(), n.wrapping_add(1_000)).chance(15) {
            Retrieval::Failed { message: "the index is locked".to_owned(), partial: found }
        } else {
            Retrieval::Found(found)
        };
        events::ContextRetrieved { task: task.clone(), n, retrieval, empty_index: true }.into()
    }

    /// The answer of a person to a question.
    pub fn words(&mut self) -> BlobId {
        self.keep(b"the second one".to_vec())
    }

    /// The answer of a person at a gate. Equal commands of a process always get the same answer, because one approval
    /// covers all of them.
    pub fn answer(&self, run: &Run, gate: &Gate) -> Answer {
        let argv = match &gate.kind {
            GateKind::BeforeCall { task, run: exec, call } => crate::checkers::argv(run, task, exec, call),
            _ => None,
        };
        let task = match &gate.kind {
            GateKind::BeforeRun(tasks) => tasks.first(),
            GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => Some(task),
        };
        let about = argv.as_deref().or(task.map(Slug::as_str)).unwrap_or_default();
        let mut random = self.of(about, 11);
        if random.chance(10) { Answer::Deny { words: "not now".to_owned() } } else { Answer::Listed }
    }
}
