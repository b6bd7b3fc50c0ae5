//! `callsheet` alone: what is found here, and what to do next.

use std::io::IsTerminal;

use callsheet_core::record::Outcome;
use callsheet_models::config::ProcessEnvironment;
use callsheet_models::probe;
use callsheet_runtime::ports::RunSummary;

use crate::cli::{Cli, Exit, Failure};
use crate::models::{Choice, Fetch, choose};
use crate::setup::{Setup, store_failure};
use crate::term::{harmless, one_line, outcome_words};

/// Commands that are suggested.
const SUGGESTED: usize = 3;

/// What is here.
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
    super::print(&harmless(&found.text(&setup)))?;
    // A script that forgot the command has to notice.
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

    fn text(&self, setup: &Setup) -> String {
        let mut text = String::from(
            "Callsheet turns a request into small tasks, runs them with a language model, and asks you before it changes\n\
             anything.\n\n",
        );
        let mut row = |name: &str, value: &str| text.push_str(&format!("  {name:<14} {value}\n"));
        let file = setup.folders.config_file();
        match file.exists() {
            true => row("configuration", &file.display().to_string()),
            false => row("configuration", "none yet, which is fine"),
        }
        let servers = self.servers.iter().map(|server| match server.models.len() {
            1 => format!("{} at {}, 1 model", server.provider, server.base_url),
            count => format!("{} at {}, {count} models", server.provider, server.base_url),
        });
        row("servers", &or_none(servers.collect(), "none responds on its default port"));
        let keys = self.keys.iter().map(|key| key.variable.clone());
        row("keys", &or_none(keys.collect(), "none in the environment"));
        row(
            "model",
            &match &self.model {
                Ok(choice) => format!("{} ({})", choice.model, choice.reason),
                Err(_) => "none yet".to_owned(),
            },
        );
        row("runs here", &self.runs_words());
        text.push_str("\nNext:\n");
        for (command, about) in self.next(setup).into_iter().take(SUGGESTED) {
            text.push_str(&format!("  {command}\n      {about}\n"));
        }
        text + "`callsheet --help` lists all commands.\n"
    }

    fn runs_words(&self) -> String {
        let waiting = self.runs.iter().filter(|run| open_words(run).is_some()).count();
        match (self.runs.len(), waiting) {
            (0, _) => "none yet".to_owned(),
            (count, 0) => format!("{count}, none of them is open"),
            (count, waiting) => format!("{count}, of which {waiting} can be resumed"),
        }
    }

    /// Commands to try, the most useful one first.
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

/// The command that goes on with a run that has not ended, and why it waits.
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
