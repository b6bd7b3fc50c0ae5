//! The checks of every `RunControl`, for the runs of a cluster, and what commands do beyond it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callsheet::setup::Setup;
use callsheet_app::{Cursor, LocalRuns, RunControl, RunView};
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::{Lock, Store, StoreFault};

use crate::cluster::Cluster;
use crate::support::control::{Check, World, setup};
use crate::support::garden::TestProject;
use crate::support::killed::{APPROVED, RUN_SHEET};

/// How long a run may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

struct There {
    cluster: Cluster,
    runs: LocalRuns,
}

impl There {
    fn start(engine: &Path) -> Self {
        let cluster = Cluster::start(APPROVED.project(), engine, 1);
        let on = Some(Arc::new(cluster.store()));
        let runs = Setup { on, ..setup(&cluster.project) }.runs();
        Self { cluster, runs }
    }
}

impl World for There {
    fn project(&self) -> &TestProject {
        &self.cluster.project
    }

    fn runs(&self) -> &LocalRuns {
        &self.runs
    }

    fn begin(&self) -> RunId {
        let begun = self.cluster.call(&RUN_SHEET);
        assert_eq!(begun.code, 3, "{}", begun.err);
        self.runs.list().unwrap().remove(0).run
    }

    fn settle(&self, run: &RunId) {
        let end = Instant::now() + PATIENCE;
        let mut view = RunView::default();
        loop {
            for entry in self.runs.watch(run, view.cursor()).unwrap() {
                view.take(&entry).unwrap();
            }
            if view.about().outcome.is_some() || view.only_asks().is_some() {
                return;
            }
            assert!(Instant::now() < end, "run {run} neither ends nor asks");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    fn resume(&self, run: &RunId) {
        self.runs.resume(run).unwrap();
        self.settle(run);
    }
}

/// A check of the common suite.
pub fn check(engine: &Path, check: Check) {
    (check.1)(&There::start(engine));
}

/// What the conformance suite of stores says of texts. The rest of it is about locks, which nobody has on a cluster.
pub fn texts(engine: &Path) {
    struct Opened(Cluster);
    impl callsheet_runtime::conformance::store::World for Opened {
        fn open(&self) -> Arc<dyn Store> {
            Arc::new(self.0.store())
        }

        fn lock_of_the_dead(&self, run: &RunId) -> Lock {
            Lock { run: run.clone(), token: "dead".to_owned() }
        }
    }
    let world = Opened(Cluster::start(APPROVED.project(), engine, 1));
    callsheet_runtime::conformance::store::blobs_are_kept_by_content(&world);
    let nobody = RunId::new("nobody");
    let store = world.0.store();
    assert!(matches!(store.read(&nobody, 1), Err(StoreFault::NoRun(name)) if name == nobody));
    assert!(matches!(store.has_messages(&nobody), Err(StoreFault::NoRun(_))));
    assert!(matches!(store.blob(&BlobId::of(b"never")), Err(StoreFault::NoBlob(_))));
}

/// A person edits the file of the sheet, and the run reads it before it is approved.
pub fn an_edited_file(engine: &Path) {
    let there = There::start(engine);
    let run = there.begin();
    let file = format!(".callsheet/runs/{run}/sheet.md");
    let sheet = there.project().read(&file);
    there.project().plant(&file, sheet.replace("write_document", "write_dokument"));
    let refused = there.cluster.call(&["approve", run.as_str()]);
    assert!(refused.code == 2 && refused.err.contains("sheet.md:"), "{}", refused.err);
    assert!(!there.cluster.has(run.as_str(), "gate_answered"));
    there.project().plant(&file, sheet.replace("Add thanks.md.", "Add thanks.md, with names."));
    let approved = there.cluster.call(&["approve", run.as_str()]);
    assert_eq!(approved.code, 0, "{}", approved.err);
    there.settle(&run);
    let mut view = RunView::default();
    there.runs.watch(&run, Cursor(0)).unwrap().iter().for_each(|entry| view.take(entry).unwrap());
    let task = view.task(&callsheet_core::nouns::Slug::new("write-thanks-1")).unwrap();
    assert_eq!(task.task.need, "Add thanks.md, with names.");
    there.cluster.approve_all(run.as_str());
    // What the run wrote since is not an edit of a person.
    assert!(there.runs.edit_to_give(&run).unwrap().is_none());
    let written = there.project().read(&file);
    assert!(written.contains("with names"), "{written}");
}

/// A run that has ended goes on with a follow-up; one without a plan is withdrawn.
pub fn a_follow_up(engine: &Path) {
    let there = There::start(engine);
    let run = there.begin();
    there.cluster.approve_all(run.as_str());
    let follow = there.cluster.call(&["continue", run.as_str(), "And thank Cem."]);
    assert!(there.cluster.has(run.as_str(), "run_continued"), "{}{}", follow.out, follow.err);
    let withdrawn = there.cluster.call(&["continue", run.as_str(), "--withdraw"]);
    assert_eq!(withdrawn.code, 0, "{}\n{}", follow.err, withdrawn.err);
    assert!(withdrawn.err.contains("withdrew the follow-up"), "{}", withdrawn.err);
    let again = there.cluster.call(&["continue", run.as_str(), "--withdraw"]);
    assert!(again.code == 2 && again.err.contains("no follow-up to withdraw"), "{}", again.err);
}

/// The verbs by their commands, and what is refused.
pub fn the_verbs(engine: &Path) {
    let there = There::start(engine);
    let (run, call) = (there.begin(), |words: &[&str]| there.cluster.call(words));
    let dropped = call(&["drop", run.as_str(), "write-thanks-1"]);
    assert_eq!(dropped.code, 0, "{}", dropped.err);
    let undone = call(&["undo", run.as_str()]);
    assert!(undone.err.contains("no changes to revert"), "{}", undone.err);
    let forked = call(&["fork", run.as_str()]);
    assert!(forked.code == 0 && forked.err.contains("is a new run"), "{}", forked.err);
    let resumed = call(&["resume", &format!("{run}-fork"), "--set", "limits.max_calls=77"]);
    assert_eq!(resumed.code, 3, "{}", resumed.err);
    let settings = there.cluster.facts(&format!("{run}-fork"));
    let resumed = settings.iter().find(|fact| fact["event"] == "run_resumed").expect("it was resumed");
    assert_eq!(resumed["settings"]["limits"]["max_calls"], 77);
    there.cluster.approve_all(run.as_str());
    assert!(!there.project().path("thanks.md").exists());
    for words in [&["import", "run.age"][..], &["index"], &["grants", "add", "host", "crates.io"], &["lsp"]] {
        let refused = call(words);
        assert!(refused.code == 2 && refused.err.contains("does not work with --on"), "{words:?}: {}", refused.err);
    }
}

/// A run that waits is exported, with its texts.
pub fn an_export(engine: &Path) {
    let there = There::start(engine);
    let run = there.begin();
    let file = there.project().path("run.zip");
    let exported = there.cluster.call(&["export", run.as_str(), "--masked", "-o", "run.zip"]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    let mut zip = zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap();
    let names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert!(names.iter().filter(|name| name.contains("blobs/")).count() > 2, "{names:?}");
    let events = names.iter().find(|name| name.ends_with("events.jsonl")).unwrap_or_else(|| panic!("{names:?}"));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut zip.by_name(events).unwrap(), &mut text).unwrap();
    assert_eq!(text.lines().count(), there.cluster.facts(run.as_str()).len());
}

/// A plan is made by the cluster and written here, and runs there afterwards.
pub fn a_plan(engine: &Path) {
    let cluster = Cluster::start(TestProject::with("steps"), engine, 1);
    let planned = cluster.call(&["plan", "read all", "--output", "made.md"]);
    assert_eq!(planned.code, 0, "{}", planned.err);
    assert!(cluster.project.read("made.md").contains("### Task section 1"));
    let run = cluster.call(&["runs"]).out.split_whitespace().next().unwrap().to_owned();
    assert_eq!(cluster.end(&run).outcome, "planned");
    assert!(!cluster.project.has_store(), "the run is on the cluster alone");
    let ran = cluster.call(&["run", "--sheet", "made.md"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// What is granted there is listed and revoked. Of the texts, what runs name stays.
pub fn grants_and_texts(engine: &Path) {
    let there = There::start(engine);
    let (run, call) = (there.begin(), |words: &[&str]| there.cluster.call(words));
    call(&["approve", run.as_str()]);
    there.settle(&run);
    let granted = call(&["approve", run.as_str(), "--always"]);
    assert_eq!(granted.code, 0, "{}", granted.err);
    let listed = call(&["grants"]);
    assert!(listed.out.contains("changes") && listed.out.contains(run.as_str()), "{}{}", listed.out, listed.err);
    let numbers: Vec<&str> = listed.out.lines().flat_map(|line| line.split_whitespace().next()).collect();
    let number = numbers[0];
    let revoked = call(&[&["grants", "revoke"], &numbers[..]].concat());
    assert_eq!(revoked.code, 0, "{}", revoked.err);
    let left = call(&["grants"]);
    assert!(left.code == 0 && left.out.is_empty(), "{}{}{}", listed.out, left.out, left.err);
    assert_eq!(call(&["grants", "revoke", number]).code, 2);
    there.cluster.approve_all(run.as_str());
    let before = there.cluster.end(run.as_str());
    let own = there.project().store().join("cluster/texts");
    let texts = || {
        std::fs::read_dir(&own)
            .unwrap()
            .flatten()
            .flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten())
    };
    let unnamed = there.cluster.store().put_blob(b"Nobody names this.").unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(100_000);
    texts().for_each(|text| std::fs::File::open(text.path()).unwrap().set_modified(old).unwrap());
    let count = texts().count();
    let would = call(&["gc", "--dry-run"]);
    assert!(would.code == 0 && would.err.contains("would remove 1 stored text"), "{}{}", would.out, would.err);
    assert_eq!(texts().count(), count);
    assert_eq!(call(&["gc"]).code, 0);
    assert!(texts().all(|text| text.file_name().to_str() != Some(unnamed.as_str())));
    assert_eq!(there.cluster.end(run.as_str()), before);
    assert_eq!(call(&["show", run.as_str(), "--call", "1"]).code, 0);
}
