//! What is told of a run while it works: streamed text, and hooks after tasks and runs.

use std::path::Path;

use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::{Hosting, InboxMessage, Store};

use crate::cluster::Cluster;
use crate::support::garden::TestProject;
use crate::support::killed::{APPROVED, RUN_SHEET, SHEET, SHEET_SCRIPT};

/// The first task says half of its answer, and waits for a file.
const HELD: &str = "
[[rule]]
label = 'execute read-water-1'
until = 'go-on'
until_after = 40
text = '''
## Result summary
Ana looks after the barrels.
'''
";

fn with_held_sheet() -> TestProject {
    let project = TestProject::scripted(&format!("{HELD}{SHEET_SCRIPT}"));
    project.write("work.md", SHEET);
    project
}

/// Lets the held task go on.
fn go_on(cluster: &Cluster) {
    std::fs::write(cluster.project.project().with_file_name("go-on"), "").unwrap();
}

/// A viewer sees the words of a call before it has ended, and none after it.
pub fn streamed_text(engine: &Path) {
    let cluster = Cluster::start(with_held_sheet(), engine, 1);
    let run = RunId::new(cluster.begin(&RUN_SHEET));
    let store = cluster.store();
    cluster.until("text is streamed", |_| store.writing(&run).iter().any(|live| live.text.contains("Ana looks")));
    assert!(!cluster.has(run.as_str(), "reply_received"), "the call has not ended");
    assert!(store.writing(&RunId::new("another")).is_empty());
    go_on(&cluster);
    cluster.until("the call ends", |cluster| cluster.has(run.as_str(), "reply_received"));
    cluster.until("nothing is streamed", |_| store.writing(&run).is_empty());
}

/// A person edits the file of the sheet while a command shows the run. An edit with errors is not given.
pub fn an_edit_while_shown(engine: &Path) {
    let cluster = Cluster::start(with_held_sheet(), engine, 1);
    let words: Vec<&str> = RUN_SHEET.iter().copied().chain(["--on", &cluster.on]).collect();
    let shown = cluster.project.command(&words).stderr(std::process::Stdio::piped()).spawn().unwrap();
    cluster.until("the run is listed", |cluster| !cluster.call(&["runs"]).out.is_empty());
    let run = cluster.call(&["runs"]).out.split_whitespace().next().unwrap().to_owned();
    let file = format!(".callsheet/runs/{run}/sheet.md");
    cluster.until("the sheet is written", |cluster| cluster.project.path(&file).is_file());
    let sheet = cluster.project.read(&file);
    cluster.project.plant(&file, sheet.replace("write_document", "write_dokument"));
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(!cluster.has(&run, "edit_held") && !cluster.has(&run, "gate_answered"));
    cluster.project.plant(&file, sheet.replace("Add thanks.md.", "Add thanks.md, with names."));
    let edits =
        |cluster: &Cluster| cluster.facts(&run).iter().filter(|fact| fact["event"] == "list_adopted").count() > 1;
    cluster.until("the edit is adopted", edits);
    go_on(&cluster);
    let ended = crate::support::garden::Ended::from(shown.wait_with_output().unwrap());
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("the edited sheet has errors"), "{}", ended.err);
    assert!(cluster.call(&["show", &run]).out.contains("with names"), "{}", cluster.call(&["show", &run]).out);
}

/// What a program gives as an edit holds what it changes while it has errors, and releases it after.
pub fn an_edit_with_errors_holds(engine: &Path) {
    let cluster = Cluster::start(with_held_sheet(), engine, 1);
    let run = cluster.begin(&RUN_SHEET);
    let file = format!(".callsheet/runs/{run}/sheet.md");
    cluster.until("the sheet is written", |cluster| cluster.project.path(&file).is_file());
    let sheet = cluster.project.read(&file);
    let give =
        |text: String| cluster.store().post(&RunId::new(run.clone()), &InboxMessage::Edit { text }.into()).unwrap();
    give(sheet.replace("write_document", "write_dokument"));
    let holds = |cluster: &Cluster| {
        cluster.facts(&run).iter().rev().find(|fact| fact["event"] == "edit_held").map(|fact| fact["tasks"].clone())
    };
    assert!(holds(&cluster).is_some_and(|tasks| tasks.as_array().is_some_and(|tasks| tasks.len() == 2)));
    give(sheet);
    assert!(holds(&cluster).is_some_and(|tasks| tasks.is_null()), "{:?}", holds(&cluster));
    go_on(&cluster);
    cluster.approve_all(&run);
    assert!(cluster.project.path("thanks.md").exists());
}

/// Hooks are told once about each task and about the end, by the dispatcher.
pub fn hooks(engine: &Path) {
    let project = APPROVED.project();
    std::fs::create_dir_all(project.home()).unwrap();
    let config = "[hooks.post-task]\nlisten = ['false']\n[hooks.run-end]\nend = ['false']\n";
    std::fs::write(project.home().join("config.toml"), config).unwrap();
    let cluster = Cluster::start(project, engine, 1);
    let run = cluster.begin(&RUN_SHEET);
    cluster.approve_all(&run);
    let log = || std::fs::read_to_string(cluster.project.store().join("cluster/dispatcher.log")).unwrap();
    let said = |what: &str| log().matches(what).count();
    cluster.until("hooks are told of three tasks", |_| said("the hook listen (post-task) says no") == 3);
    cluster.until("hooks are told of the end", |_| said("the hook end (run-end) says no") > 0);
}
