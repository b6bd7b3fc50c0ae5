//! Kills at many moments. Nothing is lost, and no command runs again unless a person says so.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, End};
use crate::same::{FLOW_WORDS, SHEET_WORDS, local_flow, local_sheet, with_flow, with_sheet};
use crate::support::root;

/// Kills of each kind: few here, as many as `CALLSHEET_KILLS` says.
fn kills() -> u32 {
    std::env::var("CALLSHEET_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6)
}

const WORKER: &str = "worker";
const DISPATCHER: &str = "dispatch";
const ENGINE: &str = "restate-server";

pub fn a_killed_worker(engine: &Path) {
    let cluster = Cluster::start(with_flow(), engine, 2);
    survives(&cluster, &FLOW_WORDS, &local_flow(), &[&[WORKER]]);
}

pub fn a_killed_engine(engine: &Path) {
    let cluster = Cluster::start(with_flow(), engine, 2);
    survives(&cluster, &FLOW_WORDS, &local_flow(), &[&[ENGINE]]);
}

pub fn a_killed_dispatcher(engine: &Path) {
    let cluster = Cluster::start(with_flow(), engine, 2);
    survives(&cluster, &FLOW_WORDS, &local_flow(), &[&[DISPATCHER]]);
}

pub fn all_killed(engine: &Path) {
    let cluster = Cluster::start(with_flow(), engine, 2);
    survives(
        &cluster,
        &FLOW_WORDS,
        &local_flow(),
        &[&[ENGINE, WORKER], &[WORKER, DISPATCHER], &[DISPATCHER, ENGINE, WORKER, WORKER]],
    );
}

pub fn a_sheet(engine: &Path) {
    let cluster = Cluster::start(with_sheet(), engine, 2);
    survives(&cluster, &SHEET_WORDS, &local_sheet(), &[&[WORKER], &[ENGINE], &[DISPATCHER]]);
}

/// Runs the same again and again, each time with the next kill, and compares each end.
fn survives(cluster: &Cluster, words: &[&str], wanted: &End, killed: &[&[&str]]) {
    let begun = Instant::now();
    let run = cluster.begin(words);
    cluster.approve_all(&run);
    let length = begun.elapsed();
    assert_eq!(cluster.end(&run), *wanted);
    let first = commands(cluster);
    let (mut ran, mut again) = (first, 0);
    for (number, names) in (1..=kills()).zip(killed.iter().cycle()) {
        clean(cluster);
        // Spread over the length of a run: the golden ratio leaves no gap for long.
        let moment = length.mul_f64((f64::from(number) * 0.618_033_988_749_895).fract());
        let run = cluster.begin(words);
        let killer = || {
            std::thread::sleep(moment);
            names.iter().for_each(|name| assert!(cluster.kill(name), "{name} runs"));
            std::thread::sleep(Duration::from_millis(300));
        };
        again += std::thread::scope(|scope| {
            let killer = scope.spawn(killer);
            let again = cluster.approve_all(&run);
            killer.join().unwrap();
            again
        });
        cluster.until("the cluster answers again", |cluster| cluster.call(&["runs"]).code == 0);
        assert_eq!(cluster.end(&run), *wanted, "{names:?} killed after {moment:?}, run {run}");
        let now = commands(cluster);
        assert!(now - ran >= first, "the command ran");
        let allowed = first * (1 + number as usize) + again;
        assert!(now <= allowed, "a command ran again, and nobody was asked: {now} of {allowed}, {moment:?}");
        ran = now;
    }
    eprintln!("{} kills in runs of {length:?}; a person let {again} calls be made again", kills());
}

/// The files of the project as they were before the run.
fn clean(cluster: &Cluster) {
    for made in ["rota.md", "thanks.md", "lines.txt"] {
        let _absent = std::fs::remove_file(cluster.project.path(made));
    }
    cluster.project.write("minutes.md", std::fs::read(root().join("examples/garden/minutes.md")).unwrap());
}

/// How often the command of the template ran.
fn commands(cluster: &Cluster) -> usize {
    let file = cluster.project.path("ran.txt");
    if file.exists() { cluster.project.read("ran.txt").lines().count() } else { 0 }
}
