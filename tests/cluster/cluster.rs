//! A cluster that a test starts, and its processes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use callsheet_app::RunView;
use callsheet_cluster::{Access, RemoteStore, Trust};
use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::Store;
use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use crate::support::crashes::End;
use crate::support::garden::{Ended, TestProject, json_lines};

/// How long a run may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

/// A cluster for one project.
pub struct Cluster {
    pub project: TestProject,
    pub on: String,
    pub certificate: String,
    up: Child,
}

impl Cluster {
    pub fn start(project: TestProject, engine: &Path, workers: u32) -> Self {
        Self::start_with(project, engine, workers, &[])
    }

    pub fn start_with(project: TestProject, engine: &Path, workers: u32, flags: &[&str]) -> Self {
        let workers = workers.to_string();
        let words = ["--json", "cluster", "up", "--workers", &workers];
        let mut command = project.command(&words.iter().chain(flags).copied().collect::<Vec<_>>());
        command.env("CALLSHEET_ENGINE", engine).env("ACME_KEY", "key").envs(keys_of_buckets()).stdout(Stdio::piped());
        let mut up = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::new(up.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let said: Value = serde_json::from_str(&first).expect("the cluster says where it is");
        let part = |name: &str| said[name].as_str().unwrap().to_owned();
        Self { project, on: part("on"), certificate: part("certificate"), up }
    }

    pub fn call(&self, words: &[&str]) -> Ended {
        let words: Vec<&str> = words.iter().copied().chain(["--on", &self.on]).collect();
        self.project.call(&words)
    }

    /// Begins a run, and returns its name.
    pub fn begin(&self, words: &[&str]) -> String {
        let words: Vec<&str> = words.iter().copied().chain(["--on", &self.on]).collect();
        let mut command = self.project.command(&words);
        command.env("ACME_KEY", "key").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut said = String::new();
        let mut name = None;
        for line in lines {
            name = line.strip_prefix("run ").map(str::to_owned);
            if name.is_some() {
                break;
            }
            said += &line;
        }
        // The run goes on without its client.
        child.kill().unwrap();
        child.wait().unwrap();
        name.unwrap_or_else(|| panic!("no run began: {said}"))
    }

    /// Types a command that lets a known run go on, until the run has recorded this. The run goes on without its client.
    pub fn say(&self, words: &[&str], run: &str, event: &str) {
        let recorded = |cluster: &Self| cluster.facts(run).iter().filter(|fact| fact["event"] == event).count();
        let before = recorded(self);
        let words: Vec<&str> = words.iter().copied().chain(["--on", &self.on]).collect();
        let mut command = self.project.command(&words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.until(event, |cluster| recorded(cluster) > before);
        // It may have ended.
        let _ended = child.kill().and_then(|()| child.wait());
    }

    pub fn facts(&self, run: &str) -> Vec<Value> {
        json_lines(&self.call(&["show", run, "--events"]).out)
    }

    pub fn has(&self, run: &str, event: &str) -> bool {
        self.facts(run).iter().any(|fact| fact["event"] == event)
    }

    /// Waits until the run has ended or only waits for a person.
    pub fn until_rests(&self, run: &str) {
        self.until(&format!("run {run} rests"), |cluster| cluster.rests(run) != Rests::No);
    }

    pub fn rests(&self, run: &str) -> Rests {
        let Ok(entries) = self.store().read(&RunId::new(run), 1) else { return Rests::No };
        let mut view = RunView::default();
        entries.iter().for_each(|entry| view.take(entry).unwrap());
        match (view.about().outcome, view.only_asks()) {
            (Some(_), _) => Rests::Ended,
            (None, Some(_)) => Rests::Asks,
            (None, None) => Rests::No,
        }
    }

    /// Approves what waits until the run has ended.
    pub fn approve_all(&self, run: &str) {
        self.until(&format!("run {run} ends"), |cluster| match cluster.rests(run) {
            Rests::Ended => true,
            Rests::No => false,
            Rests::Asks => {
                cluster.call(&["approve", run]);
                false
            }
        });
    }

    pub fn end(&self, run: &str) -> End {
        End::of(&self.project, &self.call(&["--json", "show", run]).out, &self.facts(run))
    }

    /// A worker that nobody starts again.
    pub fn worker(&self, name: &str, flags: &[&str]) -> OwnWorker {
        let words = ["worker", "--at", &self.on, "--name", name];
        let mut command = self.project.command(&words.iter().chain(flags).copied().collect::<Vec<_>>());
        let child = command.env("ACME_KEY", "key").stderr(Stdio::null()).spawn().unwrap();
        OwnWorker(child)
    }

    /// A worker on another machine: another user's home, and a copy of the project elsewhere.
    pub fn far_worker(&self, name: &str, elsewhere: &TestProject) -> OwnWorker {
        self.far_worker_with(&self.worker_token(), name, elsewhere)
    }

    /// The same with this token.
    pub fn far_worker_with(&self, token: &str, name: &str, elsewhere: &TestProject) -> OwnWorker {
        let mut command = elsewhere.command(&["worker", "--at", &self.on, "--name", name]);
        command.env("CALLSHEET_CLUSTER_TOKEN", token);
        command.env("CALLSHEET_CLUSTER_CERTIFICATE", &self.certificate);
        OwnWorker(command.env("ACME_KEY", "key").stderr(Stdio::null()).spawn().unwrap())
    }

    /// How much the workers do and did, by name.
    pub fn workers(&self) -> BTreeMap<String, (u64, u64)> {
        let listed = self.call(&["--json", "cluster", "workers"]);
        let worker = |one: Value| {
            (one["name"].as_str().unwrap().to_owned(), (one["doing"].as_u64().unwrap(), one["done"].as_u64().unwrap()))
        };
        json_lines(&listed.out).into_iter().map(worker).collect()
    }

    /// Waits until something holds.
    pub fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < end, "never: {what}; {:?}", self.workers());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn door(&self) -> Value {
        let door = std::fs::read(self.project.store().join("cluster/door.json")).unwrap();
        serde_json::from_slice(&door).unwrap()
    }

    /// What everybody shows.
    pub fn token(&self) -> String {
        self.door()["token"].as_str().unwrap().to_owned()
    }

    /// What workers show.
    pub fn worker_token(&self) -> String {
        self.project.expect(0, &["cluster", "token"]).out.trim().to_owned()
    }

    /// What workers show that run commands elsewhere.
    pub fn commands_token(&self) -> String {
        self.project.expect(0, &["cluster", "token", "--commands"]).out.trim().to_owned()
    }

    /// A worker on another machine that reads and writes in an object store.
    pub fn far_worker_at(&self, store: &str, name: &str, elsewhere: &TestProject) -> Command {
        let mut command = elsewhere.command(&["worker", "--at", &self.on, "--name", name, "--store", store]);
        command.env("CALLSHEET_CLUSTER_TOKEN", self.worker_token());
        command.env("CALLSHEET_CLUSTER_CERTIFICATE", &self.certificate).env("ACME_KEY", "key").envs(keys_of_buckets());
        command
    }

    /// Where the engine calls.
    pub fn engine_port(&self) -> String {
        self.door()["engine"].as_str().unwrap().to_owned()
    }

    /// The runs, as a client sees them.
    pub fn store(&self) -> RemoteStore {
        let trust = Trust::Pinned(self.certificate.parse().unwrap());
        RemoteStore::new(&Access { address: self.on.clone(), token: Some(self.token()), trust }).unwrap()
    }

    /// The processes that `cluster up` started, by what they are.
    fn processes(&self) -> Vec<(Pid, String)> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.up.id())).unwrap().flatten();
        let children = tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
        let children: Vec<i32> =
            children.flat_map(|text| text.split_whitespace().flat_map(str::parse).collect::<Vec<i32>>()).collect();
        let named = children.into_iter().filter_map(|pid| {
            let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
            let part = ["engine-1.toml", "engine-2.toml", "engine-3.toml", "dispatch", "worker"]
                .into_iter()
                .find(|part| words.split('\0').any(|word| word.ends_with(part)));
            Some((Pid::from_raw(pid)?, part?.to_owned()))
        });
        named.collect()
    }

    /// Kills a process. `cluster up` starts it again.
    pub fn kill(&self, name: &str) -> bool {
        let found = self.processes().into_iter().find(|(_, own)| own == name);
        found.is_some_and(|(pid, _)| kill_process(pid, Signal::KILL).is_ok())
    }

    /// Whether a part runs.
    pub fn lives(&self, name: &str) -> bool {
        self.processes().iter().any(|(_, own)| own == name)
    }

    /// Posts JSON to the cluster, as a part of it would, with this token. Returns the answer.
    pub fn post(&self, token: &str, path: &str, body: &Value) -> String {
        let host = self.on.strip_prefix("https://").unwrap();
        let body = body.to_string();
        let mut stream = self.connect(host);
        write!(
            stream,
            "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\nconnection: close\r\n\
             authorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A connection that trusts the cluster's certificate for its address, as any program can that has its file.
    fn connect(&self, host: &str) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        let certificate = self.project.store().join("cluster/door.pem");
        roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        let name = ServerName::try_from(host.split(':').next().unwrap().to_owned()).unwrap();
        StreamOwned::new(ClientConnection::new(config, name).unwrap(), TcpStream::connect(host).unwrap())
    }
}

/// The variables with the place and the keys of a bucket, if a test uses one.
fn keys_of_buckets() -> impl Iterator<Item = (String, String)> {
    std::env::vars().filter(|(name, _)| name.starts_with("AWS_"))
}

/// Whether a run rests.
#[derive(PartialEq)]
pub enum Rests {
    No,
    /// It waits for a person.
    Asks,
    Ended,
}

/// A worker that a test started. It ends with this value.
pub struct OwnWorker(pub Child);

impl OwnWorker {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    pub fn kill(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

impl Drop for OwnWorker {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _gone = kill_process(Pid::from_child(&self.up), Signal::TERM);
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if matches!(self.up.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        while ["engine-1.toml", "engine-2.toml", "engine-3.toml"].iter().any(|node| self.kill(node)) {}
        let _ended = self.up.kill().and_then(|()| self.up.wait());
    }
}
