//! An engine of several nodes: runs go on while one of them is gone.

use std::path::Path;
use std::time::Duration;

use crate::cluster::{Cluster, Rests};
use crate::support::crashes::{Act, end_of};
use crate::support::killed::FLOWING;
use crate::support::processes::Processes;

/// Each node is killed while a run is at work, and is not started again before that run has ended. Each leads some runs, so
/// each time some lose their leader.
pub fn one_is_gone(engine: &Path) {
    // While the program is away, `cluster up` cannot start a node again.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("restate-server");
    let comes = || std::os::unix::fs::symlink(engine, &program).unwrap();
    comes();
    let cluster = Cluster::start_with(FLOWING.project(), &program, 2, &["--nodes", "3"]);
    let wanted = end_of(&FLOWING, &mut Processes::of(&FLOWING));
    let [Act::Drive(words)] = FLOWING.acts else { panic!("one command") };
    for node in ["engine-1.toml", "engine-2.toml", "engine-3.toml"] {
        cluster.project.renew();
        FLOWING.write_files(&cluster.project);
        let runs: Vec<String> = (0..3).map(|_| cluster.begin(words)).collect();
        std::fs::remove_file(&program).unwrap();
        assert!(cluster.kill(node), "{node} runs");
        for run in &runs {
            cluster.until(&format!("{run} ends without {node}"), |cluster| cluster.rests(run) == Rests::Ended);
        }
        assert!(!cluster.lives(node), "{node} is gone all the time");
        for run in &runs {
            let end = cluster.end(run);
            assert_eq!((&end.outcome, &end.calls), (&wanted.outcome, &wanted.calls), "{run} without {node}");
        }
        comes();
        cluster.until("the node is back", |cluster| cluster.lives(node));
        // It takes part again before the next one goes.
        std::thread::sleep(Duration::from_secs(10));
    }
}
