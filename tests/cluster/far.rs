//! Workers on other machines: what reaches them, and what does not.

use std::path::Path;

use callsheet_runtime::ports::Store;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::support::garden::TestProject;
use crate::support::killed::{APPROVED, RUN_SHEET};

fn begun(cluster: &Cluster) -> String {
    let run = cluster.begin(&RUN_SHEET);
    cluster.until_rests(&run);
    run
}

/// A worker without the folder of texts does the calls, and what it writes is where the run is. Changes are made by a worker
/// that is where the project is.
pub fn without_the_folder(engine: &Path) {
    let cluster = Cluster::start(APPROVED.project(), engine, 0);
    let elsewhere = TestProject::bare();
    let _far = cluster.far_worker("far", &elsewhere);
    cluster.until("it comes", |cluster| cluster.workers().contains_key("far"));
    let run = begun(&cluster);
    cluster.project.expect(0, &["--on", &cluster.on, "approve", &run]);
    cluster.until("the calls are done", |cluster| cluster.workers()["far"].1 >= 3);
    let texts = walked(&elsewhere.store().join("cluster/texts"));
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

fn walked(folder: &Path) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
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
    let versions = json!({ "log": 1, "messages": 1 });
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
    assert_eq!(log(&mine).body["entries"][0]["event"], "run_started");
    texts.iter().for_each(|id| assert_eq!(text(&mine, id).status, 200, "{id}"));
    assert_eq!(text(&mine, foreign.as_str()).status, 403, "the record of its run does not name it");
    // A lease of another process is refused. One that nobody has is not known yet.
    for (stranger, status) in [(claim(&run, "another"), 403), (claim(&other, "mine"), 503)] {
        assert_eq!((log(&stranger).status, text(&stranger, &texts[0]).status), (status, status), "{stranger}");
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
struct Answer {
    status: u16,
    body: Value,
}

impl Answer {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, body: serde_json::from_str(body).unwrap_or_default() }
    }
}
