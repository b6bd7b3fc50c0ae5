//! Workers on other machines: what reaches them, and what does not.

use std::path::{Path, PathBuf};

use callsheet_runtime::ports::Store;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::support::crashes::{Act, end_of};
use crate::support::garden::TestProject;
use crate::support::killed::{APPROVED, FLOWING, RUN_SHEET};
use crate::support::processes::Processes;

fn begun(cluster: &Cluster) -> String {
    let run = cluster.begin(&RUN_SHEET);
    cluster.until_rests(&run);
    run
}

/// A worker without the folder of texts does the calls, and what it writes is where the run is. Changes are made by a worker
/// that is where the project is.
pub fn without_the_folder(engine: &Path) {
    let cluster = Cluster::start(APPROVED.project(), engine, 0);
    let elsewhere = TestProject::empty();
    let _far = cluster.far_worker("far", &elsewhere);
    cluster.until("it comes", |cluster| cluster.workers().contains_key("far"));
    let run = begun(&cluster);
    cluster.project.expect(0, &["--on", &cluster.on, "approve", &run]);
    cluster.until("the calls are done", |cluster| cluster.workers()["far"].1 >= 3);
    let texts = walked(&kept(&elsewhere).join("texts"));
    assert!(!texts.is_empty(), "it keeps what it has read");
    cluster.kill("dispatch");
    cluster.until("the cluster answers again", |cluster| cluster.call(&["runs"]).code == 0);
    let _near = cluster.worker("near", &[]);
    cluster.approve_all(&run);
    assert_eq!(cluster.end(&run).outcome, "complete");
    assert!(cluster.project.path("rota.md").exists() && !elsewhere.path("rota.md").exists());
    for text in texts {
        let here = cluster.project.store().join("cluster/texts").join(text);
        assert!(here.exists(), "{}", here.display());
    }
}

/// What a worker keeps that came from the dispatcher.
pub fn kept(elsewhere: &TestProject) -> PathBuf {
    let workers = std::fs::read_dir(elsewhere.path(".callsheet/worker")).unwrap().flatten();
    let folders: Vec<PathBuf> = workers.map(|entry| entry.path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

/// A task for each file of a folder, and one that reads a file.
const LOOKED: &str = "## Goals / summary
One list.

**plan complete**
## Tasks
### Task section 1
- **Name** Review
- **What is needed** Find the mistakes in {file}.
- **For each** file in [Notes](notes/)
- **Expected output** A list.

### Task section 2
- **Name** Look 1
- **What is needed** How many barrels there are.
- **Skill** read_files
- **References** [Water](water.md)
- **Expected output** A number.
";

const LOOKS: &str = "
[[rule]]
prompt = 'Barrel 9 is new.'
text = '''
## Result summary
Nine barrels.
'''

[[rule]]
phase = 'execute'
text = '''
## Result summary
Few barrels.
'''
";

/// A worker that is started in an empty folder works in a checkout of the project as it is when the work begins. Only what
/// has changed is sent again.
pub fn without_files(engine: &Path) {
    let project = TestProject::scripted(LOOKS);
    project.write("work.md", LOOKED);
    project.write("notes/a.md", "Tomatoes.\n");
    project.write("notes/b.md", "Roses.\n");
    project.write(".gitignore", "*.env\n");
    project.write("secret.env", "KEY=1\n");
    let cluster = Cluster::start(project, engine, 0);
    let elsewhere = TestProject::empty();
    let _far = cluster.far_worker("far", &elsewhere);
    let words = ["run", "--sheet", "work.md", "--approval", "never"];
    let ends = |run: &str| cluster.until("the run ends", |cluster| cluster.end(run).outcome == "complete");
    let first = cluster.begin(&words);
    ends(&first);
    let end = cluster.end(&first);
    assert!(end.answer.as_str().unwrap().contains("Few"), "{}", end.answer);
    assert!(end.calls.keys().any(|call| call.contains("notes-b-md")), "{:?}", end.calls);
    let checkout = kept(&elsewhere).join("files/1/garden");
    assert!(checkout.join("water.md").exists() && !checkout.join("secret.env").exists());
    let written = |file: &str| std::fs::metadata(checkout.join(file)).unwrap().modified().unwrap();
    let (minutes, water) = (written("minutes.md"), written("water.md"));
    cluster.project.write("water.md", "Barrel 9 is new.\n");
    let second = cluster.begin(&words);
    ends(&second);
    let end = cluster.end(&second);
    assert!(end.answer.as_str().unwrap().contains("Nine"), "{}", end.answer);
    assert!(written("minutes.md") == minutes && written("water.md") > water);
}

/// Commands and changes wait for a worker that is where the project is. The end is that of a local run.
pub fn what_has_effects(engine: &Path) {
    let cluster = Cluster::start(FLOWING.project(), engine, 0);
    let elsewhere = TestProject::empty();
    let _far = cluster.far_worker("far", &elsewhere);
    let [Act::Drive(words)] = FLOWING.acts else { panic!("one command") };
    let run = cluster.begin(words);
    let begun = |cluster: &Cluster| {
        let facts = cluster.facts(&run);
        let started = facts.iter().rfind(|fact| fact["event"] == "started");
        started.is_some_and(|fact| !fact["effect"]["tool"].is_null())
    };
    cluster.until("the command waits", begun);
    cluster.until("nobody works", |cluster| cluster.workers()["far"].0 == 0);
    assert!(!cluster.project.path("ran.txt").exists());
    let _near = cluster.worker("near", &["--providers", "nobody"]);
    cluster.until("the run ends", |cluster| cluster.end(&run).outcome == "complete");
    assert_eq!(cluster.end(&run), end_of(&FLOWING, &mut Processes::of(&FLOWING)));
    assert_eq!(cluster.workers()["near"].1, 1, "the command alone");
}

fn walked(folder: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.map(|file| file.path().strip_prefix(folder).unwrap().to_owned()).collect()
}

/// The token of workers opens the record and the texts of a run to a process that has work of it, for as long as it has.
pub fn only_its_runs(engine: &Path) {
    let cluster = Cluster::start(APPROVED.project(), engine, 0);
    let token = cluster.worker_token();
    let post = |path: &str, body: &Value| Answer::of(&cluster.post(&token, path, body));
    for path in
        ["workers", "live/look", "grants/add", "CallsheetRuns/all/list", "CallsheetBlobs/get", "CallsheetRun/x/land"]
    {
        assert_eq!(post(path, &json!({})).status, 403, "{path}");
    }
    let run = cluster.begin(&RUN_SHEET);
    let other = cluster.begin(&RUN_SHEET);
    let texts = texts_of(&cluster, &run);
    assert!(!texts.is_empty());
    let foreign = cluster.store().put_blob(b"What another run has recorded.").unwrap();

    // A process takes work of the first run.
    let offer = json!({ "providers": ["scripted"], "tools": null, "changes": false, "at_once": 1 });
    let versions = json!({ "log": 1, "messages": 2 });
    let asks = json!({ "name": "mine", "process": "mine", "offer": offer, "has": [], "versions": versions });
    let taken = std::cell::OnceCell::new();
    cluster.until("it gets work", |_| {
        let mut begin = post("work/take", &asks).body["begin"].clone();
        !begin[0].is_null() && taken.set(begin[0].take()).is_ok()
    });
    let (job, number) = (&taken.get().unwrap()[0], &taken.get().unwrap()[1]);
    assert_eq!(job["run"], run.as_str());
    let claim =
        |run: &str, process: &str| json!({ "run": run, "process": process, "leases": [[job["attempt"], number]] });
    let mine = claim(&run, "mine");
    let log = |claim: &Value| post("work/log", &json!({ "claim": claim, "from": 0 }));
    let text = |claim: &Value, id: &str| post("work/text", &json!({ "claim": claim, "id": id }));
    let files = |claim: &Value| post("work/files", claim);
    let file = |claim: &Value, id: &Value| post("work/file", &json!({ "claim": claim, "id": id }));
    assert_eq!(log(&mine).body["entries"][0]["event"], "run_started");
    texts.iter().for_each(|id| assert_eq!(text(&mine, id).status, 200, "{id}"));
    let content = files(&mine).body["files"][0]["id"].clone();
    assert_eq!(file(&mine, &content).status, 200);
    assert_eq!(file(&mine, &json!(foreign)).status, 410, "no file of the project has it");
    assert_eq!(text(&mine, foreign.as_str()).status, 403, "the record of its run does not name it");
    // A lease of another process is refused. One that nobody has is not known yet.
    for (stranger, status) in [(claim(&run, "another"), 403), (claim(&other, "mine"), 503)] {
        let answers = [log(&stranger), text(&stranger, &texts[0]), files(&stranger), file(&stranger, &content)];
        assert_eq!(answers.map(|answer| answer.status), [status; 4], "{stranger}");
    }
    post("work/leave", &json!("mine"));
    assert_eq!((log(&mine).status, text(&mine, &texts[0]).status), (503, 503));
}

/// The texts that the record of a run names.
fn texts_of(cluster: &Cluster, run: &str) -> Vec<String> {
    let record = cluster.call(&["show", run, "--events"]).out;
    let words = record.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 64);
    let kept = |word: &&str| cluster.project.store().join("cluster/texts").join(&word[..2]).join(word).exists();
    words.filter(kept).map(str::to_owned).collect()
}

/// An answer of the dispatcher. A body that is not JSON is null.
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    pub fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, body: serde_json::from_str(body).unwrap_or_default() }
    }
}
