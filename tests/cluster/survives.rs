//! The kinds of runs that survive kills of local processes survive kills of each part of a cluster.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::{InboxMessage, Store};

use crate::cluster::{Cluster, OwnWorker};
use crate::support::crashes::{Act, Case, Edit, Kill, Place, end_of, survives};
use crate::support::garden::{Ended, TestProject};
use crate::support::killed::CASES;
use crate::support::processes::Processes;

/// Kills of each kind of run: few here, as many as `CALLSHEET_KILLS` says.
fn kills() -> usize {
    said("CALLSHEET_KILLS").unwrap_or(3)
}

/// Whether the engine has several nodes, as many as `CALLSHEET_NODES` says.
fn nodes() -> Option<usize> {
    said("CALLSHEET_NODES").filter(|nodes| *nodes > 1)
}

fn said(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|said| said.parse().ok())
}

const WORKER: &str = "worker";
const DISPATCHER: &str = "dispatch";
const ENGINE: &str = "engine-1.toml";
/// The worker elsewhere, which the test itself starts again.
const FAR: &str = "far";

/// What is killed together.
const VICTIMS: [&[&str]; 7] = [
    &[WORKER],
    &[ENGINE],
    &[DISPATCHER],
    &[ENGINE, WORKER],
    &[WORKER, DISPATCHER],
    &[FAR, DISPATCHER],
    &[DISPATCHER, ENGINE, WORKER, WORKER],
];

/// The same with three nodes, each of which leads some runs.
const VICTIMS_OF_NODES: [&[&str]; 7] = [
    &[ENGINE, WORKER],
    &["engine-2.toml", WORKER],
    &["engine-3.toml", WORKER],
    &[ENGINE],
    &["engine-2.toml", FAR],
    &["engine-3.toml", DISPATCHER],
    &[ENGINE, DISPATCHER, WORKER, WORKER],
];

/// What is left of each run is what is left of an uninterrupted local one.
pub fn case(engine: &Path, number: usize) {
    let case = &CASES[number];
    let wanted = end_of(case, &mut Processes::of(case));
    let mut place = Hosted { engine: engine.to_owned(), first: number, cluster: None, run: String::new() };
    survives(case, &mut place, &wanted, kills());
}

/// Runs on a cluster of two workers in the project and one elsewhere, which also runs commands. It serves one run after the
/// other.
struct Hosted {
    engine: PathBuf,
    /// The first victims. With few kills, the cases differ in what is killed.
    first: usize,
    cluster: Option<(Cluster, TestProject, Mutex<OwnWorker>)>,
    run: String,
}

impl Hosted {
    fn cluster(&self) -> &Cluster {
        &self.cluster.as_ref().unwrap().0
    }

    /// Types a command until it succeeds. An answer that was noted already finds nothing to answer.
    fn insist(&self, words: &[&str]) {
        self.cluster().until(&words.join(" "), |cluster| [0, 2].contains(&cluster.call(words).code));
    }

    fn sheet(&self) -> String {
        format!(".callsheet/runs/{}/sheet.md", self.run)
    }

    /// Waits until the sheet is there and its first task is at work, and gives the edit.
    fn edit_at_work(&self, change: Edit) {
        let is_at_work = |cluster: &Cluster| {
            cluster.has(&self.run, "references_checked") && cluster.project.path(&self.sheet()).exists()
        };
        self.cluster().until("a task begins", is_at_work);
        let sheet = self.project().read(&self.sheet());
        let edit = InboxMessage::Edit { text: change(sheet) };
        self.cluster().store().post(&RunId::new(&self.run), &edit.into()).unwrap();
    }
}

impl Place for Hosted {
    fn renew(&mut self, case: &Case) {
        match &self.cluster {
            Some((cluster, ..)) => {
                cluster.project.renew();
                case.write_files(&cluster.project);
            }
            None => {
                let nodes = nodes().map(|nodes| nodes.to_string());
                let flags: Vec<&str> = nodes.iter().flat_map(|nodes| ["--nodes", nodes]).collect();
                let cluster = Cluster::start_with(case.project(), &self.engine, 2, &flags);
                let elsewhere = TestProject::empty();
                let far = cluster.far_worker_with(&cluster.commands_token(), FAR, &elsewhere);
                cluster.until("the worker comes", |cluster| cluster.workers().contains_key(FAR));
                self.cluster = Some((cluster, elsewhere, Mutex::new(far)));
            }
        }
    }

    fn act(&mut self, act: &Act, kill: Option<Kill>) -> bool {
        let begun = Instant::now();
        match act {
            Act::Edit(change) => {
                self.project().plant(&self.sheet(), change(self.project().read(&self.sheet())));
                return false;
            }
            Act::Drive(words) | Act::DriveAndEdit(words, _) => {
                if words.contains(&"RUN") {
                    let words: Vec<&str> =
                        words.iter().map(|word| if *word == "RUN" { &self.run } else { *word }).collect();
                    self.cluster().say(&words, &self.run, "run_continued");
                } else {
                    self.run = self.cluster().begin(words);
                }
            }
            Act::Approve | Act::Undo => {}
        }
        if let Act::DriveAndEdit(_, change) = act {
            self.edit_at_work(*change);
        }
        let this = &*self;
        std::thread::scope(|scope| {
            let killer = kill.map(|kill| scope.spawn(move || this.kill(kill, begun)));
            match act {
                Act::Approve => this.insist(&["approve", &this.run]),
                Act::Undo => this.insist(&["undo", &this.run]),
                _ => {}
            }
            this.cluster().until_rests(&this.run);
            let rested = Instant::now();
            let Some(killed) = killer.map(|killer| killer.join().unwrap()) else { return false };
            this.cluster().until("the cluster answers again", |cluster| cluster.call(&["runs"]).code == 0);
            killed < rested
        })
    }

    fn go_on(&mut self) {
        self.cluster().until_rests(&self.run);
    }

    fn call(&self, words: &[&str]) -> Ended {
        self.cluster().call(words)
    }

    fn project(&self) -> &TestProject {
        &self.cluster().project
    }

    fn run(&self) -> String {
        self.run.clone()
    }
}

impl Hosted {
    /// Kills some parts, and returns when. `cluster up` starts them again.
    fn kill(&self, kill: Kill, begun: Instant) -> Instant {
        std::thread::sleep((begun + kill.after).saturating_duration_since(Instant::now()));
        let moment = Instant::now();
        let victims = if nodes().is_some() { VICTIMS_OF_NODES } else { VICTIMS };
        let names = victims[(self.first + kill.number) % victims.len()];
        let (cluster, elsewhere, far) = self.cluster.as_ref().unwrap();
        for name in names {
            if *name == FAR {
                let mut far = far.lock().unwrap();
                far.kill();
                *far = cluster.far_worker_with(&cluster.commands_token(), FAR, elsewhere);
            } else {
                assert!(cluster.kill(name), "{name} runs");
            }
        }
        // Whoever asks now finds a part that was started again, and not one that is about to end.
        std::thread::sleep(Duration::from_millis(300));
        moment
    }
}
