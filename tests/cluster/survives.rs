//! Kills at many moments. Nothing is lost, and no command runs again unless a person says so.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, End};
use crate::same::{FLOW_WORDS, local_flow, with_flow};

/// Kills of each process: few here, as many as `CALLSHEET_KILLS` says.
fn kills() -> u32 {
    std::env::var("CALLSHEET_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6)
}

pub fn a_killed_worker(engine: &Path) {
    survives(engine, &["callsheet"]);
}

pub fn a_killed_engine(engine: &Path) {
    survives(engine, &["restate"]);
}

fn survives(engine: &Path, names: &[&str]) {
    let cluster = Cluster::start(with_flow(), engine);
    let wanted = local_flow();
    let begun = Instant::now();
    let run = cluster.begin(&FLOW_WORDS);
    cluster.approve_all(&run);
    let length = begun.elapsed();
    same(&cluster, &run, &wanted);
    let (mut ran, mut allowed) = (commands(&cluster), 1);
    for number in 1..=kills() {
        // Spread over the length of a run: the golden ratio leaves no gap for long.
        let moment = length.mul_f64((f64::from(number) * 0.618_033_988_749_895).fract());
        let run = cluster.begin(&FLOW_WORDS);
        std::thread::sleep(moment);
        for name in names {
            assert!(cluster.kill(name), "{name} runs");
        }
        let again = cluster.approve_all(&run);
        same(&cluster, &run, &wanted);
        allowed += 1 + again;
        let now = commands(&cluster);
        assert!(now > ran, "the command ran");
        assert!(now <= allowed, "a command ran again, and nobody was asked: {now} of {allowed}, {moment:?}");
        ran = now;
        std::thread::sleep(Duration::from_millis(20));
    }
    eprintln!(
        "{} kills of {names:?}, {} calls made again by a person, run of {length:?}",
        kills(),
        allowed - kills() as usize - 1
    );
}

fn same(cluster: &Cluster, run: &str, wanted: &End) {
    assert_eq!(cluster.end(run), *wanted, "run {run}");
}

/// How often the command of the template ran.
fn commands(cluster: &Cluster) -> usize {
    let file = cluster.project.path("ran.txt");
    if file.exists() { cluster.project.read("ran.txt").lines().count() } else { 0 }
}
