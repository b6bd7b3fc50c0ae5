//! `mcp`: a server for other programs over stdin and stdout (spec 13.5).

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callsheet_core::nouns::RunId;
use callsheet_core::template::is_ident;
use callsheet_core::visible::visible_line;
use callsheet_mcp::{NewRun, RUNS, RunServer, RunStarter};
use tokio::sync::mpsc::error::TryRecvError;

use crate::cli::{Exit, Failure, McpArgs};
use crate::driver::Driver;
use crate::relay::Relayed;
use crate::setup::Setup;

/// How long a run may take to get its name.
const BEGIN: Duration = Duration::from_secs(60);

/// How often a driver is looked at meanwhile.
const TICK: Duration = Duration::from_millis(20);

pub(super) fn mcp(setup: &Setup, arguments: &McpArgs) -> Result<Exit, Failure> {
    let starter = Arc::new(Starter { setup: setup.clone(), working: Arc::default() });
    let runs = Arc::new(setup.runs());
    let server = RunServer::new(runs, starter, arguments.may.is_some());
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let served = server.serve().await;
        served.map_err(|error| Failure::usage(format!("the program does not speak MCP: {error}"), ""))
    })?;
    Ok(Exit::Complete)
}

/// Starts runs in processes of their own. They go on when the program leaves.
struct Starter {
    setup: Setup,
    /// How many of them are at work.
    working: Arc<AtomicUsize>,
}

/// The place of one run among those that may be at work.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn among(working: &Arc<AtomicUsize>) -> Option<Self> {
        let one_more = |count: usize| (count < RUNS).then(|| count.saturating_add(1));
        let taken = working.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        taken.ok().map(|_| Self(Arc::clone(working)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl RunStarter for Starter {
    fn start(&self, what: NewRun) -> Result<RunId, String> {
        let place = Place::among(&self.working)
            .ok_or_else(|| format!("{RUNS} runs that you started are at work; wait until one ends, or cancel one"))?;
        let mut arguments: Vec<OsString> = vec!["-C".into(), self.setup.project.clone().into(), "run".into()];
        let request = match what {
            NewRun::Request(request) => {
                arguments.push("-".into());
                Some(request)
            }
            NewRun::Template { name, values } => {
                arguments.push(format!("--template={name}").into());
                for (input, value) in values {
                    if !is_ident(&input) {
                        return Err(format!("`{}` is not the name of an input", visible_line(&input)));
                    }
                    // As JSON, a value is a text whatever it begins with. For a person, `@` stands for a file.
                    arguments.push(format!("{input}:={}", serde_json::Value::String(value)).into());
                }
                None
            }
        };
        let driver = Driver::start(&arguments, request.as_deref()).map_err(|failure| failure.what)?;
        let (run, mut driver) = begun(driver)?;
        // What it says from here on is recorded, and nobody reads it here. As long as the driver is here, somebody
        // watches its run.
        let mut rest = driver.hand_over();
        std::thread::spawn(move || {
            while rest.blocking_recv().is_some() {}
            let _how = driver.end();
            drop(place);
        });
        Ok(run)
    }

    fn templates(&self) -> Result<Vec<(String, String)>, String> {
        let loaded = crate::library::load(&self.setup).map_err(|failure| failure.what)?;
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

/// The run that a driver begins, or what it said in place of one. A driver without a run is ended.
fn begun(mut driver: Driver) -> Result<(RunId, Driver), String> {
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
                return Err(if said.is_empty() { why } else { said.join("\n") });
            }
        }
    }
    driver.kill();
    said.insert(0, format!("the run did not start within {} s", BEGIN.as_secs()));
    Err(said.join("\n"))
}
