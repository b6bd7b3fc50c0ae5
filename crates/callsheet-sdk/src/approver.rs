//! Decisions about what waits, made by the program that contains Callsheet.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use callsheet_app::{Cursor, LocalRuns, Order, Question, Refusal, RunCommand, RunControl, RunView};
use callsheet_core::nouns::RunId;
use callsheet_core::record::AnsweredBy;
use callsheet_runtime::ports::{Attendance, GateView, Observer, Signal};
use tokio::sync::watch;

/// What an [`Approver`] decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Do it.
    Approve,
    /// Do not do it.
    Deny {
        /// The reason. The model reads it when it plans again. May be empty.
        because: String,
    },
    /// Decide nothing. When nothing else is left to do, the run stops with
    /// [`Outcome::ApprovalRequired`](crate::Outcome::ApprovalRequired), and [`Callsheet::resume`] asks again.
    ///
    /// [`Callsheet::resume`]: crate::Callsheet::resume
    Leave,
}

/// Decides what a run may do. Without an approver, a run stops where it needs one.
///
/// A run asks one approver about one thing at a time. Other tasks work meanwhile.
///
/// ```
/// use callsheet_sdk::{Approver, Decision, GateKind, GateView, async_trait};
///
/// /// Approves changes of Markdown files, and nothing else.
/// struct OnlyMarkdown;
///
/// #[async_trait]
/// impl Approver for OnlyMarkdown {
///     fn name(&self) -> &str {
///         "only-markdown"
///     }
///
///     async fn decide(&self, gate: &GateView) -> Decision {
///         let mut paths = gate.hunks.iter().map(|hunk| hunk.path.as_str()).peekable();
///         let is_markdown = paths.peek().is_some() && paths.all(|path| path.ends_with(".md"));
///         match &gate.gate.kind {
///             // The tasks that want to change something: nothing is changed yet.
///             GateKind::BeforeRun(_) => Decision::Approve,
///             GateKind::BeforeApply { .. } if is_markdown => Decision::Approve,
///             _ => Decision::Deny { because: "only Markdown files may change".to_owned() },
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Approver: Send + Sync {
    /// Its name in the record: `approved by NAME, whose token may approve`.
    fn name(&self) -> &str;

    /// Decides about a gate: tasks that want to change something, a change with its diff, or a command.
    async fn decide(&self, gate: &GateView) -> Decision;

    /// Answers a question that a task asks. `None` leaves it open.
    async fn answer(&self, task: &str, question: &str) -> Option<String> {
        let _ = (task, question);
        None
    }
}

/// How much of a run is recorded, and how much of it the approver has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The number of the last recorded entry.
    recorded: u64,
    /// The number of the entry after which the approver had decided nothing about all that was open.
    left: Option<u64>,
}

/// Tells the approver of a run about each new entry.
#[derive(Clone)]
pub(crate) struct Told {
    seen: watch::Sender<Seen>,
    observer: Arc<dyn Observer>,
}

impl Told {
    pub(crate) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { seen: watch::channel(Seen::default()).0, observer }
    }

    pub(crate) fn sender(&self) -> watch::Sender<Seen> {
        self.seen.clone()
    }
}

impl Observer for Told {
    fn see(&self, signal: &Signal<'_>) {
        // A gate is recorded before anybody waits for its answer, so `Attended` never sees an old state.
        if let Signal::LogEntry { fact, .. } = signal {
            self.seen.send_modify(|seen| seen.recorded = fact.n);
        }
        self.observer.see(signal);
    }
}

/// Somebody answers until the approver has left everything open.
pub(crate) struct Attended(pub(crate) watch::Sender<Seen>);

#[async_trait]
impl Attendance for Attended {
    async fn ended(&self) {
        let mut seen = self.0.subscribe();
        let all_left = seen.wait_for(|seen| seen.left == Some(seen.recorded));
        // The channel is open as long as `self` is.
        let _state = all_left.await.map(|state| *state);
    }
}

/// Somebody answers through a face, as long as the run works.
pub(crate) struct ByFace;

#[async_trait]
impl Attendance for ByFace {
    async fn ended(&self) {
        std::future::pending().await
    }
}

/// Asks an approver about everything that opens in one run, and gives its decisions to the run.
pub(crate) struct Asking {
    pub(crate) runs: Arc<LocalRuns>,
    pub(crate) run: RunId,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) seen: watch::Sender<Seen>,
}

/// What was asked about already.
#[derive(Default)]
struct Asked {
    gates: BTreeSet<u32>,
    questions: Vec<Question>,
    /// The gates among them that nobody decided.
    gates_left: BTreeSet<u32>,
    /// The questions among them that nobody answered.
    questions_left: Vec<Question>,
}

impl Asking {
    /// Asks until the task is aborted at the end of the run.
    pub(crate) async fn go_on(self) {
        let mut changes = self.seen.subscribe();
        let (mut view, mut asked) = (RunView::default(), Asked::default());
        loop {
            match self.ask_all(view, &mut asked).await {
                Ok(next) => view = next,
                Err(refusal) => {
                    // Without the record, nobody can decide anything.
                    self.observer.see(&Signal::Notice(&format!("the approver was not asked: {}", refusal.what)));
                    return self.leave(changes.borrow_and_update().recorded);
                }
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Asks about what has opened since the last call, and says whether all that is open was left.
    async fn ask_all(&self, view: RunView, asked: &mut Asked) -> Result<RunView, Refusal> {
        let (runs, run) = (Arc::clone(&self.runs), self.run.clone());
        let (view, gates) = blocking(move || {
            let view = folded(&*runs, &run, view)?;
            let gates = runs.gates(&view)?;
            Ok((view, gates))
        })
        .await?;
        let questions = view.questions();
        for gate in gates.iter().filter(|gate| asked.gates.insert(gate.gate.n)) {
            if !self.decide(gate, view.cursor()).await {
                asked.gates_left.insert(gate.gate.n);
            }
        }
        for question in &questions {
            if asked.questions.contains(question) {
                continue;
            }
            asked.questions.push(question.clone());
            let answer = self.approver.answer(&question.task, &question.text).await;
            let reply = answer.map(|text| RunCommand::Reply { to: question.asking.clone(), text });
            if !self.order(reply, view.cursor()).await {
                asked.questions_left.push(question.clone());
            }
        }
        let open = gates.len() + questions.len();
        let is_left = gates.iter().all(|gate| asked.gates_left.contains(&gate.gate.n))
            && questions.iter().all(|question| asked.questions_left.contains(question));
        if open > 0 && is_left {
            self.leave(view.cursor().0);
        }
        Ok(view)
    }

    fn leave(&self, at: u64) {
        self.seen.send_if_modified(|seen| seen.left.replace(at) != Some(at));
    }

    /// Whether the approver decided.
    async fn decide(&self, gate: &GateView, revision: Cursor) -> bool {
        let gates = vec![gate.gate.n];
        let command = match self.approver.decide(gate).await {
            Decision::Approve => Some(RunCommand::Approve { gates, tasks: Vec::new(), later: false, always: None }),
            Decision::Deny { because } => Some(RunCommand::Deny { gates, tasks: Vec::new(), because }),
            Decision::Leave => None,
        };
        self.order(command, revision).await
    }

    /// Whether the run took a command.
    async fn order(&self, command: Option<RunCommand>, revision: Cursor) -> bool {
        let Some(command) = command else { return false };
        let by = AnsweredBy::Api(self.approver.name().to_owned());
        let (runs, run) = (Arc::clone(&self.runs), self.run.clone());
        let order = move || runs.order(&run, &Order { revision: Some(revision), ..Order::new(by, command)? });
        match blocking(order).await {
            Ok(_) => true,
            Err(refusal) => {
                let words = format!("a decision of {} was refused: {}", self.approver.name(), refusal.what);
                self.observer.see(&Signal::Notice(&words));
                false
            }
        }
    }
}

/// The view with all entries that were recorded since.
fn folded(runs: &dyn RunControl, run: &RunId, mut view: RunView) -> Result<RunView, Refusal> {
    for entry in runs.watch(run, view.cursor())? {
        let fits = view.take(&entry);
        fits.map_err(|reject| Refusal::internal(format!("entry {} does not fit: {reject}", entry.n), ""))?;
    }
    Ok(view)
}

/// Makes a call that may block on a thread for such calls.
async fn blocking<T: Send + 'static>(call: impl FnOnce() -> Result<T, Refusal> + Send + 'static) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(call).await.unwrap_or_else(|error| Err(Refusal::internal(error.to_string(), "")))
}
