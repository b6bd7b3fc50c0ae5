//! The commands, one file for each.

#[cfg(feature = "acp")]
mod acp;
mod answer;
mod attend;
mod check;
#[cfg(feature = "cluster")]
mod cluster;
mod config;
mod continuation;
mod day_limit;
mod demo;
mod doctor;
mod drive;
mod estimate;
#[cfg(feature = "share")]
mod export;
mod find;
mod first_choice;
mod follow;
mod front;
mod gc;
mod grants;
#[cfg(feature = "share")]
mod import;
mod index;
mod init;
#[cfg(feature = "share")]
mod key;
mod lines;
#[cfg(feature = "mcp")]
mod login;
#[cfg(feature = "lsp")]
mod lsp;
#[cfg(feature = "lsp")]
mod lsp_defined;
#[cfg(feature = "lsp")]
mod lsp_fixes;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod model;
mod model_test;
#[cfg(feature = "cluster")]
mod on_cluster;
mod plan;
mod prompts;
mod questions;
mod raise;
mod report;
mod resume;
mod run;
mod runs;
#[cfg(feature = "page")]
mod serve;
#[cfg(feature = "page")]
mod serve_tokens;
mod sheet;
mod sheet_fmt;
mod show;
mod show_json;
mod show_task;
mod show_timeline;
#[cfg(feature = "share")]
mod sign;
mod skill;
mod skill_new;
mod start;
mod steer;
mod stored;
mod template;
mod template_fmt;
mod template_new;
mod template_run;
mod template_values;
#[cfg(feature = "mcp")]
mod tools;
mod tree_needs;
mod trial;
mod trust;
mod undo;
mod viewer;
mod waits;
mod watch;
mod why;
#[cfg(feature = "cluster")]
mod worker;

use callsheet_runtime::shown::Shown;
use rustix::fs::FileType;

use crate::cli::{Cli, Command, CompletionsArgs, Exit, Failure, TemplateCommand, WorkArgs, command};
use crate::left_out::{left_out, left_out_words};
use crate::setup::Setup;
use crate::term::Words;

/// Carries out a command.
///
/// # Errors
/// What went wrong and what to do, with the exit code.
pub fn dispatch(cli: &Cli) -> Result<Exit, Failure> {
    let Some(command) = &cli.command else { return start::start(cli) };
    match command {
        Command::Completions(arguments) => return completions(arguments),
        Command::Man(arguments) => return man::man(arguments),
        Command::Doctor => return doctor::doctor(cli),
        #[cfg(feature = "acp")]
        Command::Acp => return acp::acp(cli),
        _ => {}
    }
    let setup = ready(cli, command)?;
    if attend::is_attended(cli, command) {
        return attend::attend(&setup, cli);
    }
    match command {
        Command::Init(arguments) => init::init(cli, &setup, arguments),
        Command::Demo(arguments) => demo::demo(&setup, arguments),
        Command::Run(arguments) => run::run(&setup, arguments),
        Command::Plan(arguments) => plan::plan(&setup, arguments),
        Command::Resume(arguments) => resume::resume(&setup, arguments),
        Command::Continue(arguments) => continuation::continuation(&setup, arguments),
        Command::Retry(arguments) => steer::retry(&setup, arguments),
        Command::Drop(arguments) => steer::drop_tasks(&setup, arguments),
        Command::Fork(arguments) => steer::fork(&setup, arguments),
        Command::Runs(arguments) => runs::runs(&setup, arguments),
        Command::Watch(arguments) => watch::watch(&setup, arguments),
        #[cfg(feature = "page")]
        Command::Serve(arguments) => serve::serve(setup, arguments),
        #[cfg(feature = "lsp")]
        Command::Lsp => lsp::lsp(&setup),
        #[cfg(feature = "mcp")]
        Command::Mcp(arguments) => mcp::mcp(&setup, arguments),
        Command::Show(arguments) => show::show(&setup, arguments),
        Command::Report(arguments) => report::report(&setup, arguments),
        Command::Sheet(command) => sheet::sheet(&setup, command),
        #[cfg(feature = "share")]
        Command::Export(arguments) => export::export(&setup, arguments),
        #[cfg(feature = "share")]
        Command::Import(arguments) => import::import(&setup, arguments),
        #[cfg(feature = "share")]
        Command::Key(command) => key::key(&setup, command),
        Command::Approve(arguments) => answer::approve(&setup, arguments),
        Command::Deny(arguments) => answer::deny(&setup, arguments),
        Command::Cancel(arguments) => answer::cancel(&setup, arguments),
        Command::Undo(arguments) => undo::undo(&setup, arguments),
        Command::Skill(command) => skill::skill(&setup, command),
        Command::Template(command) => template::template(&setup, command),
        Command::Find(arguments) => find::find(&setup, arguments),
        Command::Index(arguments) => index::index(&setup, arguments),
        Command::Prompts(command) => prompts::prompts(&setup, command),
        Command::Model(command) => model::model(&setup, command),
        Command::Config(arguments) => config::config(&setup, arguments),
        Command::Gc(arguments) => gc::gc(&setup, arguments),
        Command::Trust(arguments) => trust::trust(&setup, arguments),
        #[cfg(feature = "mcp")]
        Command::Tools(arguments) => tools::tools(&setup, arguments),
        Command::Grants(arguments) => grants::grants(&setup, arguments),
        #[cfg(feature = "cluster")]
        Command::Cluster(_) | Command::Worker(_) => on_cluster::dispatch(setup, command),
        #[cfg(not(feature = "cluster"))]
        Command::Cluster(_) | Command::Worker(_) => Err(no_clusters()),
        #[cfg(feature = "acp")]
        Command::Acp => Ok(Exit::Complete),
        Command::Doctor | Command::Completions(_) | Command::Man(_) => Ok(Exit::Complete),
    }
}

/// The refusal of a build that leaves clusters out.
#[cfg(not(feature = "cluster"))]
pub fn no_clusters() -> Failure {
    Failure::usage("this build knows no clusters", "build it with the feature `cluster`")
}

/// The basis of a command, once a person knows what they must know before it.
fn ready(cli: &Cli, command: &Command) -> Result<Setup, Failure> {
    let flags = cli.work().map(WorkArgs::settings).unwrap_or_default();
    let setup = Setup::new(cli, flags)?;
    #[cfg(feature = "cluster")]
    on_cluster::refuse_others(&setup, command)?;
    tell_first(cli, command, &setup)?;
    Ok(setup)
}

/// Prints notices before a command that works with models, or with `--verbose` before any command.
fn tell_first(cli: &Cli, command: &Command, setup: &Setup) -> Result<(), Failure> {
    let works = matches!(
        command,
        Command::Template(TemplateCommand::Run(_))
            | Command::Run(_)
            | Command::Plan(_)
            | Command::Resume(_)
            | Command::Continue(_)
            | Command::Retry(_)
    );
    #[cfg(feature = "mcp")]
    let works = works || matches!(command, Command::Tools(_));
    // The viewer of a driver has already printed this.
    if (works || cli.verbose > 0) && !crate::relay::is_on() {
        if let Some(words) = setup.place_words() {
            tell!("note: {words}");
        }
        for notice in &setup.config.notices {
            tell!("note: {}", notice.0);
        }
        if let Some(words) = left_out_words(setup, &left_out(setup)?) {
            tell!("note: {words}");
        }
        #[cfg(feature = "mcp")]
        for notice in crate::servers::notices(setup) {
            tell!("note: {notice}");
        }
    }
    Ok(())
}

fn completions(arguments: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "callsheet", &mut script);
    print(&String::from_utf8_lossy(&script)).map(|()| Exit::Complete)
}

/// Prints to stdout. A pipe or a terminal that the reader closed is not a failure.
fn print(text: &str) -> Result<(), Failure> {
    printed(&Words::of(text))
}

fn printed(words: &Words) -> Result<(), Failure> {
    let is_device = || {
        let stat = rustix::fs::fstat(rustix::stdio::stdout());
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice)
    };
    let is_closed = |error: &std::io::Error| {
        let broken = error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
        error.kind() == std::io::ErrorKind::BrokenPipe || broken && is_device()
    };
    match words.print() {
        Err(error) if !is_closed(&error) => Err(Failure::internal(format!("cannot write to stdout: {error}"), "")),
        _ => Ok(()),
    }
}

/// Prints a value to stdout as one line of JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value).map_err(|error| Failure::internal(error.to_string(), ""))?;
    printed(&Shown::json(&format!("{line}\n")).into())
}

/// Prints what a command did if it has no other output: to stderr, or with `--json` as a notice.
fn say(setup: &Setup, words: &str) -> Result<(), Failure> {
    if setup.json {
        return print_json(&serde_json::json!({ "notice": words }));
    }
    tell!("{words}");
    Ok(())
}

/// Prints a failure to stdout as one line of JSON, for readers of `--json`. Commands in its advice begin with `call`.
pub fn print_failure(failure: &Failure, call: &str) {
    // If stdout cannot be written, stderr already has the message.
    let _closed = print_json(&failure.to_json(call));
}

/// A runtime for asynchronous commands. Dropping it never waits for a blocked read of the terminal.
fn runtime() -> Result<Waiting, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map(|runtime| Waiting(Some(runtime)))
        .map_err(|error| Failure::internal(format!("cannot start: {error}"), ""))
}

struct Waiting(Option<tokio::runtime::Runtime>);

impl Waiting {
    /// Runs a future in the background.
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.0 {
            drop(runtime.spawn(future));
        }
    }

    fn block_on<T>(&self, future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        match &self.0 {
            Some(runtime) => runtime.block_on(future),
            None => Err(Failure::internal("the runtime has stopped", "")),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
