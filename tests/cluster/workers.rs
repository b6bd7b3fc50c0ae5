//! Several workers: who gets what, what becomes of the work of one that is lost, and who is let in.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::cluster::Cluster;
use crate::support::garden::TestProject;
use crate::support::server::{Answer, PlayedServer};

const SAID: &str = "## Result summary\nSaid.";

/// A sheet of tasks that do not depend on each other.
fn sheet(tasks: u32) -> String {
    let mut text = "## Original prompt\nCount.\n## Goals / summary\nCount.\n## Tasks\n### Task section 1\n".to_owned();
    for n in 1..=tasks {
        let _written = write!(
            text,
            "- **Name** Step {n} 1\n- **What is needed** Say {n}.\n- **Skill** read_files\n\
             - **References** [Water](water.md)\n- **Expected output** A word.\n\n"
        );
    }
    text
}

/// A project whose model takes this long for each of so many tasks, and whose provider takes so many calls at once.
fn counting(tasks: u32, delay_ms: u32, slots: u32) -> TestProject {
    let script = format!("[[rule]]\nphase = 'execute'\ndelay_ms = {delay_ms}\ntext = '''\n{SAID}\n'''\n");
    let project = TestProject::scripted(&script);
    configure(&project, &format!("[providers.scripted]\nslots = {slots}\n"));
    project.write("work.md", sheet(tasks));
    project
}

fn configure(project: &TestProject, config: &str) {
    std::fs::create_dir_all(project.home()).unwrap();
    std::fs::write(project.home().join("config.toml"), config).unwrap();
}

const WORDS: [&str; 5] = ["run", "--sheet", "work.md", "--approval", "never"];

fn ends(cluster: &Cluster, run: &str) {
    cluster.until("the run ends", |cluster| cluster.end(run).outcome == "complete");
}

/// Replies and tools of a run, each of which may come once.
fn counts_once(cluster: &Cluster, run: &str) {
    let end = cluster.end(run);
    assert!(end.calls.values().all(|count| *count == 1), "{:?}", end.calls);
}

pub fn that_can_do_it(engine: &Path) {
    let cluster = Cluster::start(counting(2, 10, 2), engine, 0);
    let _other = cluster.worker("other", &["--providers", "acme"]);
    cluster.until("a worker comes", |cluster| cluster.workers().len() == 1);
    let run = cluster.begin(&WORDS);
    cluster.until("a task begins", |cluster| cluster.has(&run, "started"));
    assert_eq!(cluster.workers()["other"], (0, 0), "it cannot ask this model");
    let _able = cluster.worker("able", &[]);
    ends(&cluster, &run);
    let workers = cluster.workers();
    assert_eq!(workers["other"], (0, 0));
    assert!(workers["able"].1 >= 2, "{workers:?}");
}

/// One worker is killed, then one is halted as by a broken network, and wakes up when its work is done by another.
pub fn a_lost_worker(engine: &Path) {
    let cluster = Cluster::start(counting(1, 4000, 2), engine, 0);
    let mut killed = cluster.worker("killed", &[]);
    let run = cluster.begin(&WORDS);
    cluster.until("it has work", |cluster| cluster.workers().get("killed").is_some_and(|worker| worker.0 == 1));
    killed.kill();
    let halted = cluster.worker("halted", &[]);
    cluster.until("it has work", |cluster| cluster.workers().get("halted").is_some_and(|worker| worker.0 == 1));
    halted.signal(Signal::STOP);
    let _last = cluster.worker("last", &[]);
    ends(&cluster, &run);
    assert_eq!(cluster.workers()["last"].1, 1);
    let facts = cluster.facts(&run);
    halted.signal(Signal::CONT);
    cluster.until("it is back", |cluster| cluster.workers().contains_key("halted"));
    let again = cluster.begin(&WORDS);
    ends(&cluster, &again);
    assert_eq!(cluster.facts(&run), facts, "its late result is refused");
    counts_once(&cluster, &run);
}

const COUNT: &str = r#"<templates version="1"><task type="sequential" name="count"><description>Count</description>
<steps><task type="script" id="count"><description>Count</description><command>sh count.sh</command></task></steps>
</task></templates>"#;

pub fn a_lost_command(engine: &Path) {
    let project = counting(1, 10, 2);
    project.write(".callsheet/templates/count.xml", COUNT);
    project.write("count.sh", "echo ran >> ran.txt\nsleep 600\n");
    let cluster = Cluster::start(project, engine, 0);
    let mut killed = cluster.worker("killed", &[]);
    let run = cluster.begin(&["template", "run", "count", "--approval", "never"]);
    cluster.until("the command runs", |cluster| cluster.project.path("ran.txt").exists());
    killed.kill();
    let _other = cluster.worker("other", &[]);
    cluster.until("a person is asked", |cluster| {
        let shown = cluster.call(&["--json", "show", &run]).out;
        serde_json::from_str::<serde_json::Value>(shown.trim()).is_ok_and(|shown| shown["waits"][0]["again"] == true)
    });
    assert_eq!(cluster.project.read("ran.txt").lines().count(), 1);
}

pub fn an_added_worker(engine: &Path) {
    let cluster = Cluster::start(counting(16, 200, 4), engine, 0);
    let _first = cluster.worker("first", &["--at-once", "1"]);
    let run = cluster.begin(&WORDS);
    cluster.until("it has given a result", |cluster| cluster.workers().get("first").is_some_and(|worker| worker.1 > 0));
    let _second = cluster.worker("second", &["--at-once", "1"]);
    ends(&cluster, &run);
    let workers = cluster.workers();
    assert!(workers["second"].1 > 0 && workers["first"].1 > 0, "{workers:?}");
    counts_once(&cluster, &run);
}

pub fn common_slots(engine: &Path) {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": SAID}, "finish_reason": "stop"}]});
    let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let good = Answer { status: 200, media: "text/event-stream".to_owned(), body, breaks: false };
    let server = PlayedServer::slow(vec![good], Duration::from_millis(200));
    let project = TestProject::bare();
    configure(
        &project,
        &format!(
            "model = \"acme/brook\"\n[providers.acme]\ndialect = \"openai\"\nbase_url = \"http://{}\"\nwindow = 32768\n\
             api_key_env = \"ACME_KEY\"\nslots = 2\n",
            server.host
        ),
    );
    project.write("work.md", sheet(10));
    let cluster = Cluster::start(project, engine, 2);
    let run = cluster.begin(&WORDS);
    ends(&cluster, &run);
    assert_eq!(server.most_at_once(), 2, "{:?}", cluster.workers());
    assert_eq!(server.calls().len(), 10);
    assert!(cluster.workers().values().all(|worker| worker.1 > 0), "{:?}", cluster.workers());
}

pub fn an_unknown_token(engine: &Path) {
    let cluster = Cluster::start(counting(1, 10, 2), engine, 1);
    let wrong = |words: &[&str]| {
        let mut command = cluster.project.command(words);
        command.env("CALLSHEET_CLUSTER_TOKEN", "wrong").output().unwrap()
    };
    let refused = [
        wrong(&["runs", "--on", &cluster.on]),
        wrong(&["run", "--sheet", "work.md", "--on", &cluster.on]),
        wrong(&["worker", "--at", &cluster.on]),
    ];
    for output in refused {
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains("does not accept the token"), "{told}");
    }
    let paths = ["CallsheetRuns/all/list", "work/take", "workers", "discover", "invoke/CallsheetRun/land"];
    for (path, token) in paths.iter().flat_map(|path| [(path, ""), (path, "wrong")]) {
        assert!(cluster.post(token, path, &json!({})).starts_with("HTTP/1.1 401"), "{path}");
    }
    for (kept, mode) in [
        ("cluster/door.json", 0o600),
        ("cluster/door.pem", 0o600),
        ("cluster/engine.pem", 0o600),
        ("cluster/engine/data", 0o700),
    ] {
        let own = std::fs::metadata(cluster.project.store().join(kept)).unwrap().permissions().mode();
        assert_eq!(own & 0o777, mode, "{kept} is for its user only");
    }
    // The engine has a port of its own.
    assert!(cluster.post(&cluster.token(), "invoke/CallsheetRun/land", &json!({})).starts_with("HTTP/1.1 404"));
    // A second start changes nothing of the cluster that is up.
    let door = || std::fs::read(cluster.project.store().join("cluster/door.json")).unwrap();
    let before = door();
    let up = ["cluster", "up", "--listen", "0.0.0.0", "--port", "1"];
    let second = cluster.project.command(&up).env("CALLSHEET_ENGINE", engine).output().unwrap();
    assert!(String::from_utf8_lossy(&second.stderr).contains("is up already") && door() == before);
    let right = cluster.post(&cluster.token(), "workers", &json!(null));
    assert!(right.contains(" 200 ") && right.contains("worker 1"), "{right}");
    assert!(cluster.call(&["runs"]).out.is_empty(), "nobody has begun a run");
}

/// A client talks to nobody who has another certificate, and never without TLS. The port itself answers nothing else.
pub fn another_certificate(engine: &Path) {
    let cluster = Cluster::start(counting(1, 10, 2), engine, 1);
    let call = |variable: &str, value: &str, words: &[&str]| {
        let output = cluster.project.command(words).env(variable, value).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let pinned = "CALLSHEET_CLUSTER_CERTIFICATE";
    let other = format!("sha256:{}", "0".repeat(64));
    for words in [&["runs", "--on", &cluster.on][..], &["worker", "--at", &cluster.on]] {
        let (worked, told) = call(pinned, &other, words);
        assert!(!worked && told.contains("is not trusted here") && told.contains(pinned), "{told}");
        let (worked, told) = call(pinned, "none", words);
        assert!(!worked && told.contains("is not the fingerprint of a certificate"), "{told}");
    }
    let (worked, told) = call(pinned, &cluster.certificate, &["runs", "--on", &cluster.on]);
    assert!(worked, "{told}");
    // By a name that is not the one of the project's own cluster, nobody vouches for it.
    let named = cluster.on.replace("127.0.0.1", "localhost");
    let (worked, told) = call("CALLSHEET_CLUSTER_TOKEN", &cluster.token(), &["runs", "--on", &named]);
    assert!(!worked && told.contains("is not trusted here"), "{told}");
    let plain = cluster.on.replace("https", "http");
    let (worked, told) = call(pinned, &cluster.certificate, &["runs", "--on", &plain]);
    assert!(!worked && told.contains("such as https://"), "{told}");
    for host in [cluster.on.strip_prefix("https://").unwrap(), &cluster.engine_port()] {
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        stream
            .write_all(
                format!("POST /workers HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\r\n", cluster.token())
                    .as_bytes(),
            )
            .unwrap();
        let mut answer = Vec::new();
        // It may also break the connection.
        let _broken = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));
    }
}

/// A worker that was installed before the cluster gets no work, and hears what to do.
pub fn an_old_worker(engine: &Path) {
    let cluster = Cluster::start(counting(1, 10, 2), engine, 1);
    let asks = |versions: serde_json::Value| {
        let offer = json!({ "providers": [], "tools": null, "changes": true, "at_once": 4 });
        let asks = json!({ "name": "other", "process": "other", "offer": offer, "has": [], "versions": versions });
        cluster.post(&cluster.token(), "work/take", &asks)
    };
    for versions in [json!(null), json!({ "log": 0, "messages": 1 }), json!({ "log": 1, "messages": 99 })] {
        let answer = asks(versions);
        assert!(answer.starts_with("HTTP/1.1 426"), "{answer}");
        assert!(!cluster.workers().contains_key("other"), "{answer}");
    }
    let before_versions = cluster.post(&cluster.token(), "work/take", &json!({ "name": "other" }));
    assert!(before_versions.starts_with("HTTP/1.1 426"), "{before_versions}");
    let answer = asks(json!({ "log": 0, "messages": 1 }));
    assert!(answer.contains("install the cluster's version here"), "{answer}");
    let run = cluster.begin(&WORDS);
    ends(&cluster, &run);
}
