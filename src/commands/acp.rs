//! `acp`: Callsheet as an agent in editors, over stdin and stdout (spec 13.8).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_acp::{Driving, Project, Said, Work, Workplace};
use callsheet_app::{RunControl, retry_line, silent_line};
use callsheet_runtime::ports::GateView;
use tokio::sync::mpsc::error::TryRecvError;

use crate::cli::{Cli, Exit, Failure};
use crate::driver::Driver;
use crate::left_out::{left_out, left_out_words};
use crate::library;
use crate::relay::Relayed;
use crate::setup::Setup;
use crate::term::gate_text;

/// Most bytes of a process's stderr that are kept, in case it fails.
const KEPT: usize = 8 << 10;

pub(super) fn acp(cli: &Cli) -> Result<Exit, Failure> {
    if cli.project.is_some() || cli.json {
        return Err(Failure::usage(
            "`acp` takes neither a project folder nor --json",
            "run `acp` alone; the editor names the folder of each session",
        ));
    }
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let served =
            callsheet_acp::serve(Arc::new(Folders { on: cli.on.clone(), verbose: cli.verbose, log: cli.log.clone() }))
                .await;
        served.map_err(|error| Failure::usage(format!("the editor does not speak ACP: {error}"), ""))
    })?;
    Ok(Exit::Complete)
}

/// Opens the project folders that an editor names.
struct Folders {
    on: Option<String>,
    verbose: u8,
    log: Option<PathBuf>,
}

impl Workplace for Folders {
    fn here(&self) -> Option<PathBuf> {
        std::env::current_dir().ok()
    }

    fn open(&self, folder: &Path) -> Result<Arc<dyn Project>, String> {
        let cli = Cli {
            command: None,
            project: Some(folder.to_owned()),
            on: self.on.clone(),
            json: false,
            log: self.log.clone(),
            verbose: self.verbose,
        };
        let setup = Setup { here: None, ..Setup::new(&cli, Vec::new()).map_err(words)? };
        let runs = Arc::new(setup.runs());
        Ok(Arc::new(Opened { setup, runs }))
    }
}

struct Opened {
    setup: Setup,
    runs: Arc<dyn RunControl>,
}

impl Project for Opened {
    fn folder(&self) -> &Path {
        &self.setup.project
    }

    fn runs(&self) -> Arc<dyn RunControl> {
        Arc::clone(&self.runs)
    }

    fn notes(&self) -> Vec<String> {
        let setup = &self.setup;
        let skipped = match left_out(setup) {
            Ok(files) => left_out_words(setup, &files),
            Err(failure) => Some(failure.what),
        };
        let notices = setup.config.notices.iter().map(|notice| notice.0.clone());
        #[cfg(feature = "mcp")]
        let notices = notices.chain(crate::servers::notices(setup));
        setup.place_words().into_iter().chain(notices).chain(skipped).collect()
    }

    fn templates(&self) -> Result<Vec<(String, String)>, String> {
        library::offered(&self.setup).map_err(words)
    }

    fn drive(&self, work: &Work) -> Result<Box<dyn Driving>, String> {
        let mut arguments = self.setup.place_flags(true);
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        let text = match work {
            Work::Request { name, text } => {
                add(&["run", "--name", name, "-"]);
                Some(text.as_str())
            }
            Work::Template { name, template, values, text } => {
                add(&["run", "--name", name, "--template", template, "--"]);
                values.iter().for_each(|value| add(&[value]));
                let text = Some(text.as_str()).filter(|text| !text.trim().is_empty());
                if text.is_some() {
                    add(&["-"]);
                }
                text
            }
            Work::Resume(run) => {
                add(&["resume", run.as_str()]);
                None
            }
            Work::FollowUp { run, name, text } => {
                add(&["continue", run.as_str(), "--name", name, "-"]);
                Some(text.as_str())
            }
        };
        let driver = Driver::start(&arguments, text).map_err(words)?;
        Ok(Box::new(Driven { driver: Some(driver), begun: false, printed: String::new() }))
    }

    fn gate_text(&self, view: &GateView) -> String {
        gate_text(view, false).as_str().to_owned()
    }
}

/// A process that drives a run. When this value is dropped, the process has no viewer any more.
struct Driven {
    driver: Option<Driver>,
    /// Whether the process has reported its run.
    begun: bool,
    /// The end of what the process has printed to stderr.
    printed: String,
}

impl Driving for Driven {
    fn said(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        loop {
            let Some(driver) = &mut self.driver else { return said };
            match driver.messages.try_recv() {
                Ok(Relayed::Run { run, .. }) => {
                    self.begun = true;
                    said.push(Said::Run(run));
                }
                Ok(Relayed::Notice(words)) => said.push(Said::Line(words)),
                Ok(Relayed::Retry { key, send, wait_ms, message }) => {
                    said.push(Said::Line(retry_line(&key, send, wait_ms, &message)));
                }
                Ok(Relayed::Silent { key, seconds }) => said.push(Said::Line(silent_line(&key, seconds))),
                Ok(Relayed::Err(words)) => self.keep(&words),
                // The answer is also in the record.
                Ok(Relayed::Out(_)) => {}
                Err(TryRecvError::Empty) => return said,
                Err(TryRecvError::Disconnected) => {
                    said.push(Said::Ended(self.end()));
                    return said;
                }
            }
        }
    }

    fn stop(&mut self) {
        if let Some(driver) = &self.driver {
            driver.stop();
        }
    }
}

impl Driven {
    fn keep(&mut self, words: &str) {
        self.printed.push_str(words);
        let excess = self.printed.len().saturating_sub(KEPT);
        self.printed.drain(..self.printed.ceil_char_boundary(excess));
    }

    /// Why the process failed. `None` if its exit code only describes the state of the run.
    fn end(&mut self) -> Option<String> {
        match self.driver.take()?.end() {
            Ok(exit) => {
                let failed = !self.begun || matches!(exit, Exit::Internal | Exit::Usage);
                failed.then(|| self.printed.trim().to_owned()).filter(|words| !words.is_empty())
            }
            Err(failure) => Some(words(failure)),
        }
    }
}

fn words(failure: Failure) -> String {
    let (what, advice) = (failure.what.trim_end(), failure.advice);
    if advice.is_empty() { what.to_owned() } else { format!("{what}. {advice}") }
}
