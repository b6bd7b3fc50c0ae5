//! Starts runs for other programs, each run in a process of its own.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callsheet_app::{Advice, InputOffer, NewRun, Refusal, RunStarter, TemplateOffer};
use callsheet_core::nouns::RunId;
use callsheet_core::template::{Taken, Template, is_ident};
use callsheet_core::visible::visible_line;
use tokio::sync::mpsc::error::TryRecvError;

use crate::driver::Driver;
use crate::relay::Relayed;
use crate::setup::Setup;

/// How long a new process may take to report the name of its run.
const BEGIN: Duration = Duration::from_secs(60);

/// How often to check for that name.
const TICK: Duration = Duration::from_millis(20);

/// Starts runs of a project. The runs continue when the program disconnects.
pub struct Starter {
    setup: Setup,
    /// How many of these runs may be in progress at the same time.
    most: usize,
    /// How many are in progress now.
    working: Arc<AtomicUsize>,
}

/// A slot for one run. Dropping it frees the slot.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Starter {
    /// Makes a starter for the project of this setup, with at most `most` runs at the same time.
    pub fn new(setup: Setup, most: usize) -> Self {
        Self { setup, most, working: Arc::default() }
    }

    /// Takes a slot for one more run.
    fn room(&self) -> Result<Place, Refusal> {
        let one_more = |count: usize| (count < self.most).then(|| count.saturating_add(1));
        let taken = self.working.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        taken.map(|_| Place(Arc::clone(&self.working))).map_err(|_| {
            let most = self.most;
            Refusal::usage(
                format!("{most} runs that you started are in progress"),
                "wait until one ends, or cancel one",
            )
        })
    }
}

/// The command for a new run with its arguments, and its standard input, which the argument `-` stands for.
fn given(what: NewRun) -> Result<(Vec<OsString>, Option<String>), Refusal> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect();
    match what {
        NewRun::Request(request) => Ok((words(&["run", "-"]), Some(request))),
        NewRun::Plan(request) => Ok((words(&["plan", "-", "--output", "-"]), Some(request))),
        NewRun::Sheet(text) => Ok((words(&["run", "--sheet", "-"]), Some(text))),
        NewRun::Template { name, values } => {
            let mut arguments: Vec<OsString> = words(&["run"]);
            arguments.push(format!("--template={name}").into());
            for (input, value) in values {
                if !is_ident(&input) {
                    let what = format!("`{}` is not the name of an input", visible_line(&input));
                    return Err(Refusal::usage(what, Advice::command("list the inputs", ["template", "show", &name])));
                }
                // On the command line, `@` reads a file. Passing the value as a JSON string prevents this.
                let is_text = value.starts_with('@');
                let value =
                    if is_text { format!(":={}", serde_json::Value::String(value)) } else { format!("={value}") };
                arguments.push(format!("{input}{value}").into());
            }
            Ok((arguments, None))
        }
    }
}

impl RunStarter for Starter {
    fn start(&self, what: NewRun) -> Result<RunId, Refusal> {
        let (of_run, input) = given(what)?;
        let place = self.room()?;
        let mut arguments = self.setup.place_flags(true);
        arguments.extend(of_run);
        let (run, mut driver) = begun(Driver::start(&arguments, input.as_deref())?)?;
        // The record has everything that the process reports from now on, so its messages are dropped. The driver is
        // kept, because it counts as a viewer: without one, the process ends when the run waits for a person.
        let mut rest = driver.hand_over();
        std::thread::spawn(move || {
            while rest.blocking_recv().is_some() {}
            let _how = driver.end();
            drop(place);
        });
        Ok(run)
    }

    fn templates(&self) -> Result<Vec<TemplateOffer>, Refusal> {
        let loaded = crate::library::load(&self.setup)?;
        Ok(loaded.library.templates().map(|known| offer(&known.template)).collect())
    }
}

fn offer(template: &Template) -> TemplateOffer {
    let input = |taken: Taken<'_>| InputOffer {
        name: taken.name.to_owned(),
        kind: taken.kind.as_str(),
        about: taken.meaning.to_owned(),
        required: taken.required,
        default: taken.default.map(str::to_owned),
    };
    TemplateOffer {
        name: template.name.clone(),
        about: template.body.intent.description.to_string(),
        inputs: template.takes().into_iter().map(input).collect(),
    }
}

/// Waits until a driver has begun its run. If it does not, ends it and refuses with what it printed.
fn begun(mut driver: Driver) -> Result<(RunId, Driver), Refusal> {
    let mut said = Vec::new();
    let mut waited = Duration::ZERO;
    while waited < BEGIN {
        match driver.messages.try_recv() {
            Ok(Relayed::Run { run, .. }) => return Ok((run, driver)),
            Ok(Relayed::Err(words) | Relayed::Notice(words)) => said.push(words.trim().to_owned()),
            Ok(_) => {}
            Err(TryRecvError::Empty) => {
                std::thread::sleep(TICK);
                waited = waited.saturating_add(TICK);
            }
            Err(TryRecvError::Disconnected) => {
                let why = driver.why_not();
                return Err(Refusal::usage(if said.is_empty() { why } else { said.join("\n") }, ""));
            }
        }
    }
    driver.kill();
    said.insert(0, format!("the run did not start within {} s", BEGIN.as_secs()));
    Err(Refusal::usage(said.join("\n"), ""))
}
