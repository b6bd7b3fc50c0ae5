//! The public interface, as a program outside this repository uses it, and the example programs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callsheet_sdk::{
    Approver, Builder, Callsheet, CancellationToken, Decision, DeltaSink, Error, GateKind, GateView, Model, ModelFault,
    ModelInfo, ModelReply, ModelRequest, Outcome, Policy, Settings, async_trait, models,
};
use tempfile::TempDir;

const REQUEST: &str = "Note the level of the water in level.md.";

/// The model of the example of a face: it plans one task that writes a file.
fn writer() -> Arc<dyn Model> {
    models::scripted(include_str!("../../../examples/library/note.toml")).unwrap()
}

fn garden() -> TempDir {
    let garden = tempfile::tempdir().unwrap();
    std::fs::write(garden.path().join("water.md"), "The barrel holds 41 cm.\n").unwrap();
    garden
}

fn level(garden: &TempDir) -> Option<String> {
    std::fs::read_to_string(garden.path().join("level.md")).ok()
}

/// Decides by the kind of gate.
struct By {
    before_run: Decision,
    before_apply: Decision,
}

#[async_trait]
impl Approver for By {
    fn name(&self) -> &str {
        "test"
    }

    async fn decide(&self, gate: &GateView) -> Decision {
        match gate.gate.kind {
            GateKind::BeforeRun(_) => self.before_run.clone(),
            _ => self.before_apply.clone(),
        }
    }
}

/// Counts the calls of a model.
struct Counted(Arc<dyn Model>, Arc<AtomicUsize>);

#[async_trait]
impl Model for Counted {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFault> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.ask(request, deltas, cancel).await
    }
}

fn recorded(garden: &TempDir, record: &TempDir, model: Arc<dyn Model>) -> Builder {
    Callsheet::builder(garden.path(), model).record_in(record.path())
}

#[tokio::test]
async fn a_run_without_an_approver_stops_where_it_needs_one() {
    let garden = garden();
    let callsheet = Callsheet::builder(garden.path(), writer()).build().unwrap();
    let finished = callsheet.run(REQUEST).await.unwrap();
    assert_eq!(finished.outcome, Outcome::ApprovalRequired);
    assert_eq!(level(&garden), None);
}

#[tokio::test]
async fn an_approver_may_leave_a_decision_to_a_later_process() {
    let (garden, record) = (garden(), tempfile::tempdir().unwrap());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = || Arc::new(Counted(writer(), Arc::clone(&calls)));
    let careful = By { before_run: Decision::Approve, before_apply: Decision::Leave };
    let callsheet = recorded(&garden, &record, counted()).approver(careful).build().unwrap();
    let waiting = callsheet.run(REQUEST).await.unwrap();
    assert_eq!(waiting.outcome, Outcome::ApprovalRequired);
    assert_eq!(level(&garden), None);
    drop(callsheet);
    let before = calls.load(Ordering::SeqCst);
    assert!(before > 0);
    let willing = By { before_run: Decision::Approve, before_apply: Decision::Approve };
    let callsheet = recorded(&garden, &record, counted()).approver(willing).build().unwrap();
    let finished = callsheet.resume(&waiting.run).await.unwrap();
    assert_eq!(finished.outcome, Outcome::Complete);
    assert_eq!(level(&garden).as_deref(), Some("41 cm\n"));
    assert_eq!(calls.load(Ordering::SeqCst), before, "a recorded reply was asked for again");
}

#[tokio::test]
async fn the_record_names_the_approver_and_its_reason() {
    let garden = garden();
    let no = Decision::Deny { because: "the barrel is being repaired".to_owned() };
    let approver = By { before_run: Decision::Approve, before_apply: no };
    // The script has no reply for another round.
    let settings = Settings { iterate: Policy::Never, ..Settings::default() };
    let builder = Callsheet::builder(garden.path(), writer()).settings(settings);
    let callsheet = builder.approver(approver).build().unwrap();
    let finished = callsheet.run(REQUEST).await.unwrap();
    assert_eq!(finished.outcome, Outcome::Incomplete);
    assert_eq!(level(&garden), None);
    let entries = callsheet.runs().watch(&finished.run, callsheet_sdk::Cursor(0)).unwrap();
    let log = callsheet_sdk::serde_json::to_string(&entries).unwrap();
    assert!(log.contains(r#""api":"test""#), "{log}");
    assert!(log.contains("the barrel is being repaired"), "{log}");
}

#[tokio::test]
async fn a_run_whose_handle_is_dropped_stops_and_can_be_resumed() {
    let (garden, record) = (garden(), tempfile::tempdir().unwrap());
    // Nobody answers, so the run waits at its gate until it is stopped.
    let callsheet = recorded(&garden, &record, writer()).attended().build().unwrap();
    let running = callsheet.start(REQUEST).unwrap();
    let run = running.run().clone();
    drop(running);
    let willing = By { before_run: Decision::Approve, before_apply: Decision::Approve };
    let callsheet = recorded(&garden, &record, writer()).approver(willing).build().unwrap();
    // The stopped run gives up its lock when it has ended.
    let finished = loop {
        match callsheet.resume(&run).await {
            Err(Error::Failed(words)) if words.contains("process") => tokio::task::yield_now().await,
            other => break other.unwrap(),
        }
    };
    assert_eq!(finished.outcome, Outcome::Complete);
    assert_eq!(level(&garden).as_deref(), Some("41 cm\n"));
}

#[tokio::test]
async fn a_plan_with_errors_starts_nothing() {
    let garden = garden();
    let callsheet = Callsheet::builder(garden.path(), writer()).build().unwrap();
    let refused = callsheet.run_sheet("no tasks here").await.map(|finished| finished.outcome);
    assert!(matches!(&refused, Err(Error::Input(words)) if words.contains("errors")), "{refused:?}");
    assert!(callsheet.runs().list().unwrap().is_empty());
}

#[test]
fn a_record_in_the_project_is_refused() {
    let garden = garden();
    let built = Callsheet::builder(garden.path(), writer()).record_in(garden.path().join("record")).build();
    assert!(matches!(built.map(drop), Err(Error::Input(words)) if words.contains("in the project")));
    let built = Callsheet::builder(garden.path().join("missing"), writer()).build();
    assert!(matches!(built.map(drop), Err(Error::Input(words)) if words.contains("missing")));
}

/// The folder of the example programs, which `cargo test` and `cargo nextest run` build beside the tests.
fn examples() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples")
}

fn example(name: &str) -> String {
    let program = examples().join(name);
    assert!(
        program.exists(),
        "{} is missing; build it with `cargo build --examples -p callsheet-sdk`",
        program.display()
    );
    let output = Command::new(&program).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} failed: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_example_that_plans_and_runs_works() {
    let said = example("plan_and_run");
    assert!(said.contains("Read Water: A list of the troubles, the cheapest first"), "{said}");
    assert!(
        said.ends_with("Ana takes both: she mends the tap of barrel 2 and buys the seal for the pump.\n"),
        "{said}"
    );
}

#[test]
fn the_example_with_its_own_parts_works() {
    let said = example("own_parts");
    assert!(said.contains("+Barrel 1 holds 41 cm of water."), "{said}");
    assert!(said.ends_with("level.md: Barrel 1 holds 41 cm of water.\n"), "{said}");
}

#[test]
fn the_example_with_its_own_face_works() {
    let said = example("own_face");
    assert!(said.contains("   | +41 cm\n"), "{said}");
    assert!(said.contains("note: changes approved at the terminal"), "{said}");
    assert!(said.trim_end().ends_with("Complete: Wrote [the level](level.md)."), "{said}");
}
