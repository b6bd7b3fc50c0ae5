//! Shows a run in plain lines and asks its gates and questions at the terminal, whichever process drives it.

use std::sync::Arc;
use std::time::Duration;

use callsheet_app::{Order, Question, RunCommand, RunControl, RunView, run_folder, settled};
use callsheet_core::nouns::RunId;
use callsheet_core::record::{AnsweredBy, Gate};
use callsheet_runtime::ports::{GateView, Observer, Store};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cli::{Exit, Failure};
use crate::driver::Driver;
use crate::relay::Relayed;
use crate::setup::Setup;
use crate::term::{self, Decision, PlainLines, TerminalPerson, outcome_words, print_relayed};

use super::follow::Follower;

/// How often the record is read.
const LOOK: Duration = Duration::from_millis(100);
/// How long to wait for an edit of the plan file before the gate asks again.
const EDITED: Duration = Duration::from_secs(1);

/// Prints a driver's message that is not recorded.
pub(super) fn relayed_line(relayed: &Relayed) {
    match relayed.signal() {
        Some(signal) => PlainLines::default().see(&signal),
        None => print_relayed(relayed),
    }
}

/// Shows a run until the process that drives it ends. `facts` is the number of its entries that the person already
/// knows.
pub(super) async fn watch_lines(
    setup: &Setup,
    store: Arc<dyn Store>,
    id: &RunId,
    mut driver: Option<Driver>,
    facts: u64,
) -> Result<Exit, Failure> {
    let mut view = LinesView {
        follower: Follower::new(setup, store, id),
        run: RunView::default(),
        lines: PlainLines::default(),
        known: facts,
        asking: Asking::new(setup, id),
    };
    let mut ticks = tokio::time::interval(LOOK);
    loop {
        let ended = match &mut driver {
            Some(driver) => tokio::select! {
                relayed = driver.messages.recv() => match relayed {
                    Some(relayed) => {
                        // Print earlier entries first.
                        view.look();
                        relayed_line(&relayed);
                        continue;
                    }
                    None => true,
                },
                _ = ticks.tick() => false,
            },
            None => {
                ticks.tick().await;
                !view.follower.owner().0
            }
        };
        view.look();
        if ended {
            break;
        }
        // Reading the streams tells the driver that somebody is looking, so first find out who drives the run.
        if driver.is_some() {
            view.follower.owner();
        }
        let _unshown = view.follower.streams();
        if view.asking.go_on(&view.run).await == Attended::Nobody
            && let Some(driver) = &mut driver
        {
            driver.leave();
        }
    }
    view.asking.withdraw();
    match driver {
        Some(driver) => driver.end(),
        None => {
            let state = view.run.about().outcome.map_or("not running", outcome_words);
            super::say(setup, &format!("run {id}: {state}")).map(|()| Exit::Complete)
        }
    }
}

struct LinesView {
    follower: Follower,
    run: RunView,
    lines: PlainLines,
    known: u64,
    asking: Asking,
}

impl LinesView {
    /// Prints the new entries.
    fn look(&mut self) {
        for fact in self.follower.entries() {
            if self.run.take(&fact).is_err() {
                // The driver itself reports a faulty record.
                continue;
            }
            if fact.n > self.known {
                self.lines.entry(&fact, &self.run);
            } else if fact.n == self.known {
                self.lines.begin_with(&self.run);
            }
        }
    }
}

/// A gate or a question for the person.
#[derive(Clone, Debug, PartialEq)]
enum Ask {
    Gate(Gate),
    Question(Question),
}

/// Whether somebody answers at the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attended {
    Somebody,
    Nobody,
}

/// The outcome of one question to the person.
enum Asked {
    /// The commands were given, or the person decided nothing.
    Done,
    /// A command was refused, or the plan file was edited, so the person is asked again.
    Again,
    /// Nobody is there.
    Nobody,
}

/// The dialogue at the terminal, which asks one thing at a time.
struct Asking {
    runs: Arc<dyn RunControl>,
    person: Arc<TerminalPerson>,
    id: RunId,
    sheet: String,
    /// How the person calls the program.
    call: String,
    /// What is being asked now.
    now: Option<(Ask, CancellationToken, JoinHandle<Asked>)>,
    /// What waited at the last look. What the driver answers by itself no longer waits at the next look.
    seen: Vec<Ask>,
    /// What was answered, with the answer not handled yet.
    answered: Vec<Ask>,
    attended: Attended,
}

impl Asking {
    fn new(setup: &Setup, id: &RunId) -> Self {
        let sheet = setup.project.join(run_folder(id)).join("sheet.md").display().to_string();
        let person = Arc::new(TerminalPerson::new(term::colours()));
        let (seen, answered) = (Vec::new(), Vec::new());
        let (runs, call) = (Arc::new(setup.runs()), setup.command.clone());
        Self { runs, person, id: id.clone(), sheet, call, now: None, seen, answered, attended: Attended::Somebody }
    }

    /// Asks what waits next, and reads the answers.
    async fn go_on(&mut self, run: &RunView) -> Attended {
        let gates = run.open_gates().into_iter().map(Ask::Gate);
        let open: Vec<Ask> = gates.chain(run.questions().into_iter().map(Ask::Question)).collect();
        self.answered.retain(|ask| open.contains(ask));
        if let Some((ask, cancel, task)) = self.now.take() {
            if !task.is_finished() {
                if !open.contains(&ask) {
                    cancel.cancel();
                }
                self.now = Some((ask, cancel, task));
                return self.attended;
            }
            match task.await {
                Ok(Asked::Done) => self.answered.push(ask),
                Ok(Asked::Nobody) if open.contains(&ask) => self.attended = Attended::Nobody,
                _ => {}
            }
        }
        if self.attended == Attended::Somebody {
            let next = open.iter().find(|ask| self.seen.contains(ask) && !self.answered.contains(ask));
            self.now = next.and_then(|ask| self.begin(run, ask.clone()));
        }
        self.seen = open;
        self.attended
    }

    fn begin(&mut self, run: &RunView, ask: Ask) -> Option<(Ask, CancellationToken, JoinHandle<Asked>)> {
        let cancel = CancellationToken::new();
        let (person, withdrawn) = (Arc::clone(&self.person), cancel.clone());
        let (runs, id, call) = (Arc::clone(&self.runs), self.id.clone(), self.call.clone());
        let task = match &ask {
            Ask::Gate(gate) => {
                let view = runs.gate(run, gate).ok()?;
                self.answered.extend(view.also.iter().map(|also| Ask::Gate(also.gate.clone())));
                let sheet = self.sheet.clone();
                tokio::spawn(async move { at_gate((&*runs, &call), &person, &id, (&view, &sheet), &withdrawn).await })
            }
            Ask::Question(Question { task, text, asking, .. }) => {
                let (task, text, to) = (task.clone(), text.clone(), asking.clone());
                tokio::spawn(async move {
                    match person.reply(&task, &text, &withdrawn).await {
                        Some(text) => give((&*runs, &call), &id, RunCommand::Reply { to, text }),
                        None => Asked::Nobody,
                    }
                })
            }
        };
        Some((ask, cancel, task))
    }

    /// Withdraws the current question.
    fn withdraw(&mut self) {
        if let Some((_, cancel, _)) = self.now.take() {
            cancel.cancel();
        }
    }
}

async fn at_gate(
    runs: (&dyn RunControl, &str),
    person: &TerminalPerson,
    id: &RunId,
    (view, sheet): (&GateView, &str),
    withdrawn: &CancellationToken,
) -> Asked {
    match person.decide(view, sheet, withdrawn).await {
        None => Asked::Nobody,
        Some(Decision::Edited) => {
            tokio::time::sleep(EDITED).await;
            Asked::Again
        }
        Some(Decision::Commands(commands)) => {
            for command in commands {
                if let Asked::Again = give(runs, id, command) {
                    return Asked::Again;
                }
            }
            Asked::Done
        }
    }
}

/// Gives a command, waits until an answer is recorded, and prints the receipt or refusal. Commands in them begin with
/// `call`.
fn give((runs, call): (&dyn RunControl, &str), id: &RunId, command: RunCommand) -> Asked {
    let given = Order::new(AnsweredBy::Terminal, command).and_then(|order| {
        let receipt = runs.order(id, &order)?;
        tokio::task::block_in_place(|| settled(runs, &order, receipt))
    });
    match given {
        Ok(receipt) => {
            receipt.notes.steps().iter().for_each(|note| tell!("{}", note.for_shell(call)));
            Asked::Done
        }
        Err(refusal) => {
            let advice = refusal.advice.for_shell(call);
            let advice = if advice.is_empty() { advice } else { format!("; {advice}") };
            tell!("{}{advice}", refusal.what);
            Asked::Again
        }
    }
}
