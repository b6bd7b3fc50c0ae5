//! `report`: writes a run as one file that can be sent to somebody.

use std::path::Path;

use callsheet_app::{omitted_rules, refuse_unmasked, result_of_tree, run_folder, warnings_of_tree};
use callsheet_runtime::paths::{create_private_folder, write_private};
use callsheet_runtime::shown::Shown;

use crate::cli::{Exit, Failure, ReportArgs, ReportFormat};
use crate::setup::{Setup, find_run, recorded};
use crate::term::one_line;

pub(super) fn report(setup: &Setup, arguments: &ReportArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let found = find_run(&store, arguments.run.as_deref(), |_| true, "")?;
    let folded = recorded(&store, &found)?;
    let (runs, run) = (setup.runs(), &folded.run);
    refuse_unmasked(&runs, run, &arguments.without_key)?;
    let format = arguments.format.map_or_else(|| named_form(arguments.output.as_deref()), Ok)?;
    let text = match format {
        ReportFormat::Md => {
            let part = |title: &str, lines: Vec<String>| {
                let lines: String = lines.iter().map(|line| format!("- {}\n", one_line(line, 600))).collect();
                if lines.is_empty() { lines } else { format!("\n## {title}\n\n{lines}") }
            };
            let parts =
                [part("Warnings", warnings_of_tree(&runs, run)), part("Rules without room", omitted_rules(&runs, run))];
            Shown::markdown(&(run.report(result_of_tree(&runs, run).as_ref()) + &parts.concat()))
        }
        ReportFormat::Html => callsheet_report::report(&runs, &found, &folded),
        ReportFormat::Junit => callsheet_report::junit(&runs, &found, &folded),
        ReportFormat::Sarif => callsheet_report::sarif(&runs, &found, &folded),
    };
    let own = || {
        let name = match format {
            ReportFormat::Md => "report.md",
            ReportFormat::Html => "report.html",
            ReportFormat::Junit => "report.xml",
            ReportFormat::Sarif => "report.sarif",
        };
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

/// The form that the extension of the file names. HTML without an extension.
fn named_form(output: Option<&Path>) -> Result<ReportFormat, Failure> {
    let extension = output.and_then(Path::extension).and_then(std::ffi::OsStr::to_str);
    match extension {
        Some("md" | "markdown") => Ok(ReportFormat::Md),
        Some("xml") => Ok(ReportFormat::Junit),
        Some("sarif") => Ok(ReportFormat::Sarif),
        None | Some("html" | "htm") => Ok(ReportFormat::Html),
        Some(other) => Err(Failure::usage(
            format!("no form of a report is called .{}; nothing was written", one_line(other, 64)),
            "name a file that ends in .html, .md, .xml or .sarif, or choose with --format",
        )),
    }
}

/// Writes the file. `own` means that it is in the folder of the run and was not named by the person.
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
