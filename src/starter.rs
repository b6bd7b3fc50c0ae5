//! Starts runs in processes of their own, for programs that ask Callsheet to.

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use callsheet_app::{NewRun, Refusal, RunStarter};
use callsheet_core::nouns::RunId;
use callsheet_core::template::is_ident;
use tokio::sync::mpsc::error::TryRecvError;

use crate::driver::Driver;
use crate::relay::Relayed;
use crate::setup::Setup;

/// How long a run may take to get its name.
const BEGIN: Duration = Duration::from_secs(60);

/// How many runs that were started here work or wait at a time.
const DRIVERS: usize = 32;

/// How often a driver is looked at meanwhile.
const TICK: Duration = Duration::from_millis(20);

/// Starts runs of a project. They continue when the program leaves.
pub struct Starter {
    setup: Setup,
    /// As long as one is here, somebody watches its run.
    drivers: Mutex<Vec<Driver>>,
}

impl Starter {
    /// For the project of this setup.
    pub fn new(setup: Setup) -> Self {
        Self { setup, drivers: Mutex::default() }
    }

    /// Refuses one more run if too many work.
    fn room(&self) -> Result<(), Refusal> {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        drivers.retain_mut(|driver| !driver.has_ended());
        if drivers.len() < DRIVERS {
            return Ok(());
        }
        Err(Refusal::usage(format!("{DRIVERS} runs that programs started are not finished"), "finish or cancel one"))
    }
}

/// The arguments of `run` for a new run, and what it reads for `-`.
fn given(what: NewRun) -> Result<(Vec<OsString>, Option<String>), Refusal> {
    match what {
        NewRun::Request(request) => Ok((vec!["-".into()], Some(request))),
        NewRun::Sheet(text) => Ok((vec!["--sheet".into(), "-".into()], Some(text))),
        NewRun::Template { name, values } => {
            let mut arguments = vec![format!("--template={name}").into()];
            for (input, value) in values {
                let is_name = is_ident(input.strip_suffix(':').unwrap_or(&input));
                // For a person, `@` stands for a file that they can read; a program gets only what its values say.
                if value.starts_with('@') || !is_name {
                    return Err(Refusal::usage(
                        format!("the value of `{input}` can't be used"),
                        "write the text itself",
                    ));
                }
                arguments.push(format!("{input}={value}").into());
            }
            Ok((arguments, None))
        }
    }
}

impl RunStarter for Starter {
    fn start(&self, what: NewRun) -> Result<RunId, Refusal> {
        let (of_run, input) = given(what)?;
        self.room()?;
        let mut arguments: Vec<OsString> = vec!["-C".into(), self.setup.project.clone().into(), "run".into()];
        arguments.extend(of_run);
        let mut driver = Driver::start(&arguments, input.as_deref())?;
        let run = begun(&mut driver)?;
        // What it says from here on is recorded, and nobody reads it here.
        let mut rest = driver.hand_over();
        std::thread::spawn(move || while rest.blocking_recv().is_some() {});
        self.drivers.lock().unwrap_or_else(PoisonError::into_inner).push(driver);
        Ok(run)
    }

    fn templates(&self) -> Result<Vec<(String, String)>, Refusal> {
        let loaded = crate::library::load(&self.setup)?;
        let about = |template: &callsheet_core::template::Template| {
            let takes: Vec<String> = template
                .takes()
                .iter()
                .map(|input| format!("{}{}", input.name, if input.required { "" } else { "?" }))
                .collect();
            format!("({}) {}", takes.join(", "), template.body.intent.description)
        };
        let templates = loaded.library.templates().map(|loaded| &loaded.template);
        Ok(templates.map(|template| (template.name.clone(), about(template))).collect())
    }
}

/// The run that a driver begins, or what it said in place of one.
fn begun(driver: &mut Driver) -> Result<RunId, Refusal> {
    let mut said = Vec::new();
    let mut waited = Duration::ZERO;
    while waited < BEGIN {
        match driver.messages.try_recv() {
            Ok(Relayed::Run { run, .. }) => return Ok(run),
            Ok(Relayed::Err(words) | Relayed::Notice(words)) => said.push(words.trim().to_owned()),
            Ok(_) => {}
            Err(TryRecvError::Empty) => {
                std::thread::sleep(TICK);
                waited = waited.saturating_add(TICK);
            }
            Err(TryRecvError::Disconnected) => {
                let words = if said.is_empty() { "the run did not start".to_owned() } else { said.join("\n") };
                return Err(Refusal::usage(words, ""));
            }
        }
    }
    driver.leave();
    Err(Refusal::internal(format!("the run did not start within {} s", BEGIN.as_secs()), "look: callsheet runs"))
}
