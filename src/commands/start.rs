//! `callsheet` without a command: prints what is found here and what to do next.

use std::io::IsTerminal;

use callsheet_app::RunControl;
use callsheet_core::record::Outcome;
use callsheet_models::config::ProcessEnvironment;
use callsheet_models::probe;
use callsheet_runtime::ports::RunSummary;
use callsheet_tui::{Home, Wish};

use crate::cli::{Cli, Exit, Failure};
use crate::models::{Choice, Fetch, choose};
use crate::setup::{Setup, store_failure};
use crate::term::{self, harmless, one_line, outcome_words};

use super::attend::attend_command;
use super::first_choice::offer_download;
use super::watch::{screen_failure, watch_screen};

/// How many commands are suggested.
const SUGGESTED: usize = 3;

/// What is found here.
struct Found {
    servers: Vec<probe::Running>,
    keys: Vec<probe::KeyPresent>,
    model: Result<Choice, Failure>,
    runs: Vec<RunSummary>,
}

pub(super) fn start(cli: &Cli) -> Result<Exit, Failure> {
    if cli.json {
        return Err(Failure::usage("no command was given", "`callsheet --help` lists the commands"));
    }
    let setup = Setup::new(cli, Vec::new())?;
    let found = super::runtime()?.block_on(async { Found::here(&setup).await })?;
    if term::has_screen() {
        return found.on_screen(&setup);
    }
    super::print(&harmless(&found.text(&setup)))?;
    // A script that forgot the command must notice.
    Ok(if std::io::stdout().is_terminal() { Exit::Complete } else { Exit::Usage })
}

impl Found {
    async fn here(setup: &Setup) -> Result<Self, Failure> {
        Ok(Self {
            servers: probe::running(&ProcessEnvironment).await,
            keys: probe::keys_present(&ProcessEnvironment),
            model: choose(&setup.config, &setup.folders, &ProcessEnvironment, Fetch::Never).await,
            runs: if setup.has_store() { setup.store()?.runs().map_err(store_failure)? } else { Vec::new() },
        })
    }

    /// Shows the first screen, and again after each run that was opened from it.
    fn on_screen(self, setup: &Setup) -> Result<Exit, Failure> {
        let runs = self.runs.iter().map(|run| (state_of(run).to_owned(), run.request.clone())).collect();
        let home = Home::new(setup.runs().project(), self.rows(setup), runs);
        match callsheet_tui::home(home, term::colours()).map_err(screen_failure)? {
            Wish::Leave => Ok(Exit::Complete),
            Wish::Request(request) => {
                if self.model.is_err() {
                    super::runtime()?.block_on(offer_download(setup))?;
                }
                attend_command(setup, &["run", "--", &request])
            }
            Wish::Run(at) => match self.runs.get(at) {
                Some(run) => watch_screen(setup, &run.run, None),
                None => Ok(Exit::Complete),
            },
        }
    }

    fn text(&self, setup: &Setup) -> String {
        let mut text = String::from(
            "Callsheet turns a request into small tasks, runs them with a language model, and asks you before it changes\n\
             anything.\n\n",
        );
        for (name, value) in self.rows(setup) {
            text.push_str(&format!("  {name:<14} {value}\n"));
        }
        text.push_str("\nNext:\n");
        for (command, about) in self.next(setup).into_iter().take(SUGGESTED) {
            text.push_str(&format!("  {command}\n      {about}\n"));
        }
        text + "`callsheet --help` lists all commands.\n"
    }

    /// The found items, each with its name.
    fn rows(&self, setup: &Setup) -> Vec<(String, String)> {
        let file = setup.folders.config_file();
        let configured = match file.exists() {
            true => file.display().to_string(),
            false => "none yet, which is fine".to_owned(),
        };
        let servers = self.servers.iter().map(|server| match server.models.len() {
            1 => format!("{} at {}, 1 model", server.provider, server.base_url),
            count => format!("{} at {}, {count} models", server.provider, server.base_url),
        });
        let keys = self.keys.iter().map(|key| key.variable.clone());
        let model = match &self.model {
            Ok(choice) => format!("{} ({})", choice.model, choice.reason),
            Err(_) => "none yet".to_owned(),
        };
        let rows = [
            ("configuration", configured),
            ("servers", or_none(servers.collect(), "none responds on its default port")),
            ("keys", or_none(keys.collect(), "none in the environment")),
            ("model", model),
            ("runs here", self.runs_words()),
        ];
        rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn runs_words(&self) -> String {
        let waiting = self.runs.iter().filter(|run| open_words(run).is_some()).count();
        match (self.runs.len(), waiting) {
            (0, _) => "none yet".to_owned(),
            (count, 0) => format!("{count}, none of them is open"),
            (count, waiting) => format!("{count}, of which {waiting} can be resumed"),
        }
    }

    /// Suggested commands, the most useful one first.
    fn next(&self, setup: &Setup) -> Vec<(String, String)> {
        let call = &setup.command;
        let mut next = Vec::new();
        if let Some((run, (verb, why))) = self.runs.iter().find_map(|run| Some((run, open_words(run)?))) {
            next.push((format!("{call} {verb} {}", run.run), format!("{why}: {}", one_line(&run.request, 80))));
        }
        if !setup.config.values.contains_key("model") {
            let about = match &self.model {
                Ok(_) => "keep this model or choose another, and test it",
                Err(_) => "look for a model with you, and test it",
            };
            next.push(("callsheet init".to_owned(), about.to_owned()));
        }
        if self.model.is_ok() {
            let request = "What is this project about, and what in it is unfinished?";
            next.push((format!("{call} run \"{request}\""), "ask about the files in this folder".to_owned()));
        }
        if self.runs.is_empty() {
            next.push(("callsheet demo".to_owned(), "watch a recorded run; it needs no model".to_owned()));
        }
        let doctor =
            ("callsheet doctor".to_owned(), "every value that is set, and how to fix what is wrong".to_owned());
        next.extend([doctor]);
        next
    }
}

/// The state of a run in a few words.
fn state_of(run: &RunSummary) -> &'static str {
    match (&run.owner, run.outcome) {
        (Some(_), _) => "running",
        (None, Some(outcome)) => outcome_words(outcome),
        (None, None) => "interrupted",
    }
}

/// The command that continues an unfinished run, and why the run waits.
fn open_words(run: &RunSummary) -> Option<(&'static str, String)> {
    match (&run.owner, run.outcome) {
        (Some(_), _) => None,
        (None, None) => Some(("resume", "it was interrupted".to_owned())),
        (None, Some(outcome @ (Outcome::ApprovalRequired | Outcome::InputRequired))) => {
            Some(("show", outcome_words(outcome).to_owned()))
        }
        (None, Some(outcome)) if !outcome.is_finished() => Some(("resume", outcome_words(outcome).to_owned())),
        _ => None,
    }
}

fn or_none(words: Vec<String>, none: &str) -> String {
    if words.is_empty() { none.to_owned() } else { words.join("; ") }
}
