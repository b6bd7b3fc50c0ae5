//! `report`: a run as one file that can be sent to somebody.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use callsheet_core::run::Run;
use callsheet_core::template::TaskResult;
use callsheet_core::view;
use callsheet_report::Source;
use callsheet_runtime::paths::{create_private_folder, write_private};
use callsheet_runtime::ports::{RunSummary, Store};
use callsheet_runtime::prompting::PromptRecord;
use callsheet_runtime::shown::{Shown, mask};

use crate::cli::{Exit, Failure, ReportArgs, ReportFormat};
use crate::setup::{Setup, civil, find_run};

use super::drive::run_folder;
use super::take_in::{Folded, recorded};

pub(super) fn report(setup: &Setup, arguments: &ReportArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let found = find_run(&store, arguments.run.as_deref(), |_| true, "")?;
    let Folded { run, facts } = recorded(&store, &found)?;
    let format = arguments.format.unwrap_or_else(|| named_form(arguments.output.as_deref()));
    let text = match format {
        ReportFormat::Md => {
            let lines = omitted(&store, &run).into_iter().map(|line| format!("- {line}\n")).collect::<String>();
            let part = if lines.is_empty() { lines } else { format!("\n## Rules without room\n{lines}") };
            Shown::markdown(&(view::report(&run, run.outcome(), of_tree(&store, &run).as_ref()) + &part))
        }
        ReportFormat::Html => html(&store, &found, &Folded { run, facts }),
    };
    let own = || {
        let name = if format == ReportFormat::Md { "report.md" } else { "report.html" };
        setup.project.join(run_folder(&found.run)).join(name)
    };
    let file = match &arguments.output {
        Some(output) if output.as_os_str() == "-" => {
            return super::print(text.as_str()).map(|()| Exit::Complete);
        }
        Some(output) => output.clone(),
        None => own(),
    };
    let may_exist = arguments.force || arguments.output.is_none();
    write(&file, &text, may_exist, arguments.output.is_none())?;
    let shown = file.display().to_string();
    if setup.json {
        return super::print_json(&serde_json::json!({ "run": found.run, "file": shown })).map(|()| Exit::Complete);
    }
    super::print(&format!("{shown}\n")).map(|()| Exit::Complete)
}

/// The report as one page.
pub(super) fn html(store: &Arc<dyn Store>, found: &RunSummary, Folded { run, facts }: &Folded) -> Shown {
    Shown::html(&callsheet_report::html(&Source {
        name: found.run.as_str(),
        began: &began(run, found.started_at),
        run,
        facts,
        of_tree: of_tree(store, run).as_ref(),
        blob: &|blob| store.blob(blob).ok().map(|bytes| mask(&String::from_utf8_lossy(&bytes)).into_owned()),
        version: env!("CARGO_PKG_VERSION"),
        omitted: &omitted(store, run),
    }))
}

/// Rules of the project that prompts had no room for, each once.
fn omitted(store: &Arc<dyn Store>, run: &Run) -> Vec<String> {
    let prompts = run.calls().iter().filter_map(|call| store.blob(&call.prompt).ok());
    let prompts = prompts.filter_map(|bytes| serde_json::from_slice::<PromptRecord>(&bytes).ok());
    let words: BTreeSet<String> = prompts.flat_map(|prompt| prompt.rules_omitted).collect();
    words.into_iter().collect()
}

/// The result of the run of a template.
fn of_tree(store: &Arc<dyn Store>, run: &Run) -> Option<TaskResult> {
    callsheet_core::evaluate::result_of_run(run, &|blob| store.blob(blob).ok())
}

fn named_form(output: Option<&Path>) -> ReportFormat {
    let extension = output.and_then(Path::extension).and_then(std::ffi::OsStr::to_str);
    if matches!(extension, Some("md" | "markdown")) { ReportFormat::Md } else { ReportFormat::Html }
}

fn began(run: &Run, at: u64) -> String {
    let (year, month, day, seconds) = civil(at);
    let date = format!("{year:04}-{month:02}-{day:02}, {:02}:{:02} UTC", seconds / 3_600, seconds / 60 % 60);
    if run.follow_ups().is_empty() { date } else { format!("{date}, continued later") }
}

/// `own`: a file beside those of the run, and none that the person named.
fn write(file: &Path, text: &Shown, may_exist: bool, own: bool) -> Result<(), Failure> {
    if !may_exist && std::fs::symlink_metadata(file).is_ok() {
        return Err(Failure::usage(
            format!("{} exists", file.display()),
            "choose another name, or overwrite it with --force; nothing was written",
        ));
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let written = match own {
        true => {
            folder.map_or(Ok(()), create_private_folder).and_then(|()| write_private(file, text.as_str().as_bytes()))
        }
        false => folder.map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(file, text.as_str())),
    };
    written.map_err(|error| {
        Failure::internal(format!("can't write {}: {error}", file.display()), "choose another file with -o")
    })
}
