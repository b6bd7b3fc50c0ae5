//! Runs that note what they are asked, a run that is made event by event, and requests.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use callsheet_app::{Arrival, Cursor, Order, Receipt, Refusal, RunCommand, RunControl, RunView, SheetCheck, Started};
use callsheet_core::events::{self, Event, ListOrigin, LogEntry};
use callsheet_core::issue::{Repair, RepairCode, Span};
use callsheet_core::nouns::{BlobId, Goals, Reference, RunId, Settings, Slug, Target, Task};
use callsheet_core::record::{AdoptedList, CallKey, Entry, Gate, PlannedTask, ResultParts, StopReason, Usage};
use callsheet_core::run::{Effect, Run};
use callsheet_core::symbols::Coloured;
use callsheet_runtime::effects::gate_view;
use callsheet_runtime::ports::{
    GateView, InboxMessage, LiveText, Lock, Message, ModelReply, ModelRequest, RunSummary, Store,
};
use callsheet_runtime::prompting::PromptRecord;
use callsheet_store::MemoryStore;
use callsheet_web::{Guard, router};
use serde_json::json;
use tower::ServiceExt;

/// What a model might say to a browser.
pub const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\u{1b}[2J\u{202e}txet \"'&amp;";

/// Name of the run.
pub const RUN: &str = "20260301-101112-which-counts";

/// Notes what it is asked.
pub struct TestRuns {
    pub store: Option<Arc<dyn Store>>,
    pub asked: Mutex<Vec<String>>,
    pub writing: Mutex<Vec<LiveText>>,
    /// Keys of the orders.
    pub keys: Mutex<Vec<String>>,
}

impl TestRuns {
    fn note(&self, run: &RunId, words: String) -> Receipt {
        self.asked.lock().unwrap().push(words);
        Receipt {
            run: run.clone(),
            what: "Done".to_owned(),
            arrival: Arrival::Done,
            notes: callsheet_app::Advice::default(),
            undone: None,
            answers: None,
        }
    }
}

impl RunControl for TestRuns {
    fn project(&self) -> String {
        "garden".to_owned()
    }

    fn list(&self) -> Result<Vec<RunSummary>, Refusal> {
        self.store.as_ref().map_or(Ok(Vec::new()), |store| Ok(store.runs()?))
    }

    fn watch(&self, run: &RunId, seen: Cursor) -> Result<Vec<LogEntry>, Refusal> {
        Ok(self.store.as_ref().unwrap().read(run, seen.0 + 1)?)
    }

    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, Refusal> {
        Ok(self.store.as_ref().unwrap().blob(id)?)
    }

    fn has_messages(&self, run: &RunId) -> Result<bool, Refusal> {
        Ok(self.store.as_ref().unwrap().has_messages(run)?)
    }

    /// It folds the run anew, as one on another machine would.
    fn gate(&self, run: &RunView, gate: &Gate) -> Result<GateView, Refusal> {
        let store = self.store.as_ref().unwrap();
        let mut folded = Run::new();
        for entry in store.read(run.about().id.unwrap(), 1)? {
            folded.apply(&entry).unwrap();
        }
        Ok(gate_view(&**store, Path::new("."), &folded, gate).unwrap())
    }

    fn gates(&self, run: &RunView) -> Result<Vec<GateView>, Refusal> {
        run.open_gates().iter().map(|gate| self.gate(run, gate)).collect()
    }

    fn writing(&self, _: &RunId, _: &str) -> Vec<LiveText> {
        self.writing.lock().unwrap().clone()
    }

    fn colours(&self, _: &str, _: &str) -> Vec<Coloured> {
        Vec::new()
    }

    fn answer(&self, _: &RunView) -> String {
        String::new()
    }

    fn order(&self, run: &RunId, order: &Order) -> Result<Receipt, Refusal> {
        self.keys.lock().unwrap().push(order.key.clone());
        let mut words = json!(order);
        words.as_object_mut().unwrap().shift_remove("key");
        let receipt = self.note(run, words.to_string());
        match order.command {
            RunCommand::Undo { .. } => Err(Refusal::usage("notes.md <changed> after the run", "fix it by hand")),
            _ => Ok(receipt),
        }
    }

    fn resume(&self, run: &RunId) -> Result<Receipt, Refusal> {
        Ok(self.note(run, "resume".to_owned()))
    }

    fn fork(&self, _: &RunId, _: Option<&str>) -> Result<Receipt, Refusal> {
        Err(Refusal::usage("nothing is forked here", ""))
    }

    fn started(&self, _: &RunId) -> Option<Started> {
        None
    }

    fn sheet(&self, _: &RunView) -> Result<String, Refusal> {
        Ok("## Tasks\n</textarea><script>alert(3)</script>\n".to_owned())
    }

    fn check_sheet(&self, _: &RunView, _: &str) -> Result<SheetCheck, Refusal> {
        Ok(SheetCheck::default())
    }
}

/// A run, recorded event by event.
pub struct Recorded {
    pub store: Arc<dyn Store>,
    lock: Lock,
    run: Run,
    n: u64,
}

impl Recorded {
    /// A run of tasks; those with `writes` wait for approval.
    pub fn of(tasks: &[(&str, bool)]) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let id = RunId::new(RUN);
        let lock = store.lock(&id).unwrap();
        let mut recorded = Self { store, lock, run: Run::new(), n: 0 };
        let entry = Entry::Sheet { prompt: "Which <b>counts</b> are right?".to_owned() };
        let settings = Settings { refine: callsheet_core::nouns::Policy::Never, ..Settings::default() };
        recorded.note(events::RunStarted { run: id, entry, settings, tools: Default::default() }.into());
        let planned = tasks.iter().map(|(name, writes)| planned(name, *writes));
        let goals = Goals { text: "Count.".to_owned(), plan_complete: true, plan_continues: false };
        let list = AdoptedList { goals, steps: planned.map(|task| vec![task]).collect(), ..AdoptedList::default() };
        let origin = ListOrigin::Host;
        recorded.note(events::ListAdopted { origin, list, repairs: Vec::new(), issues: Vec::new() }.into());
        recorded
    }

    pub fn note(&mut self, event: Event) {
        self.n += 1;
        let entry = LogEntry::new(self.n, 1_772_000_000_000 + self.n * 1_000, event);
        self.run.apply(&entry).unwrap();
        self.store.append(&self.lock, &[entry]).unwrap();
    }

    /// Does what is outstanding, with hostile replies, until only a person or nothing is waited for.
    pub fn drive(&mut self) {
        for _ in 0..100 {
            let Some(effect) = self.run.outstanding().into_iter().next() else { return };
            match effect {
                Effect::CheckReferences { .. } => self.check(effect),
                Effect::AskModel(ref asked) => {
                    let (prompt, reply) = self.said();
                    let key = asked.key.clone();
                    self.note(effect.started());
                    self.note(
                        events::ReplyReceived {
                            key,
                            prompt,
                            reply,
                            model: "scripted/model".to_owned(),
                            usage: Usage { input: 1_200, output: 34, cached: 200, cost_usd: Some(0.002) },
                            ms: 900,
                            sends: 1,
                            reused: None,
                            pictures: Vec::new(),
                            stop: StopReason::End,
                            sizes: None,
                        }
                        .into(),
                    );
                }
                Effect::ReadReply(asked) => {
                    let result = ResultParts { summary: HOSTILE.to_owned(), ..ResultParts::default() };
                    let span = Span { first: 1, last: 1 };
                    let (before, after) = ("<i>".to_owned(), "</i>".to_owned());
                    let repair = Repair { code: RepairCode::LabelForm, span, before, after, task: None };
                    self.note(
                        events::ExecutionFinished { key: asked.key, result, repairs: vec![repair], issues: Vec::new() }
                            .into(),
                    );
                }
                Effect::Conclude(outcome) => {
                    let report = self.store.put_blob(b"report").unwrap();
                    self.note(events::RunConcluded { outcome, report }.into());
                }
                Effect::AskApproval(_) => return,
                other => panic!("{other:?}"),
            }
        }
    }

    fn check(&mut self, effect: Effect) {
        let Effect::CheckReferences { task, n, stage } = effect else { panic!("no references are to be checked") };
        let (issues, contents) = (Vec::new(), Default::default());
        self.note(events::ReferencesChecked { task, n, stage, issues, contents, apart: None }.into());
    }

    /// Goes on until a model is asked, and says by which call.
    pub fn ask(&mut self) -> CallKey {
        loop {
            let effect = self.run.outstanding().remove(0);
            if let Effect::AskModel(asked) = &effect {
                let key = asked.key.clone();
                self.note(effect.started());
                return key;
            }
            self.check(effect);
        }
    }

    fn said(&self) -> (callsheet_core::nouns::BlobId, callsheet_core::nouns::BlobId) {
        let request = json!({
            "label": "execute", "system": "You count.", "messages": [Message::user(HOSTILE)],
            "max_output_tokens": 100
        });
        let request: ModelRequest = serde_json::from_value(request).unwrap();
        let prompt: PromptRecord = serde_json::from_value(json!({ "request": request })).unwrap();
        let reply = ModelReply { text: format!("{HOSTILE}\nsecond line"), ..ModelReply::default() };
        let put = |text: String| self.store.put_blob(text.as_bytes()).unwrap();
        (put(serde_json::to_string(&prompt).unwrap()), put(serde_json::to_string(&reply).unwrap()))
    }

    /// Leaves a message, as another process does.
    pub fn post(&self, message: &InboxMessage) {
        self.store.post(&RunId::new(RUN), &message.clone().into()).unwrap();
    }

    /// The process that drove it is gone.
    pub fn release(&self) {
        self.store.unlock(&self.lock).unwrap();
    }
}

fn planned(name: &str, writes: bool) -> PlannedTask {
    let target = Target::File { path: "notes.md".to_owned(), fragment: None };
    let task = Task {
        name: name.to_owned(),
        slug: Slug::new(name.to_lowercase().replace(' ', "-")),
        aliases: Vec::new(),
        need: format!("Need of {name} {HOSTILE}"),
        skill: None,
        for_each: None,
        references: vec![Reference { title: "Notes".to_owned(), target }],
        expected: "A number.".to_owned(),
        approval: writes,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    };
    PlannedTask {
        task,
        unchanged: false,
        writer: writes.then(|| "the task asks for approval".to_owned()),
        direct: false,
    }
}

/// A page, what is behind it, and its addresses.
pub struct Site {
    router: Router,
    pub runs: Arc<TestRuns>,
    /// `NAME.localhost:4000`.
    pub host: String,
    pub token: String,
}

/// An answer.
pub struct Answered {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Site {
    pub fn of(store: Option<Arc<dyn Store>>) -> Self {
        let runs =
            Arc::new(TestRuns { store, asked: Mutex::default(), writing: Mutex::default(), keys: Mutex::default() });
        let guard = Guard::new(4_000).unwrap();
        let address = guard.address();
        let (host, token) = address.trim_start_matches("http://").trim_end_matches('/').split_once('/').unwrap();
        let (host, token) = (host.to_owned(), token.to_owned());
        Self { router: router(Arc::clone(&runs) as Arc<dyn RunControl>, guard), runs, host, token }
    }

    pub async fn send(&self, request: Request<Body>) -> Answered {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, 10_000_000).await.unwrap();
        Answered { status: parts.status, headers: parts.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    /// As a browser that has the cookie.
    pub async fn get(&self, path: &str) -> Answered {
        let request = Request::get(path).header(header::HOST, &self.host).header(header::COOKIE, self.cookie());
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub async fn post(&self, path: &str, fields: &str) -> Answered {
        let request = Request::post(path)
            .header(header::HOST, &self.host)
            .header(header::COOKIE, self.cookie())
            .header(header::ORIGIN, format!("http://{}", self.host))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.body(Body::from(fields.to_owned())).unwrap()).await
    }

    pub fn cookie(&self) -> String {
        format!("callsheet={}", self.token)
    }
}
