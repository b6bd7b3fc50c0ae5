//! Texts of runs and files of the project in an object store. Here it is a folder, unless `CALLSHEET_TEST_STORE` names a bucket.

use std::path::Path;
use std::process::Stdio;

use callsheet_core::nouns::BlobId;

use crate::cluster::{Cluster, OwnWorker};
use crate::far::kept;
use crate::support::garden::TestProject;
use crate::support::killed::{APPROVED, RUN_SHEET};

/// An object store for a test. A bucket may have texts of earlier tests.
fn address(folder: &tempfile::TempDir) -> String {
    let named = std::env::var("CALLSHEET_TEST_STORE").ok();
    named.unwrap_or_else(|| format!("file://{}", folder.path().join("shared").display()))
}

/// A worker elsewhere reads and writes there. Afterwards the run can be shown, although the texts are gone from the cluster's
/// own folder.
pub fn texts_and_files(engine: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let store = address(&folder);
    let cluster = Cluster::start_with(APPROVED.project(), engine, 1, &["--store", &store]);
    let elsewhere = TestProject::empty();
    let mut far = cluster.far_worker_at(&store, "far", &elsewhere);
    let _far = OwnWorker(far.stderr(Stdio::null()).spawn().unwrap());
    cluster.until("it comes", |cluster| cluster.workers().contains_key("far"));
    let run = cluster.begin(&RUN_SHEET);
    cluster.approve_all(&run);
    let end = cluster.end(&run);
    assert_eq!(end.outcome, "complete");
    let own = cluster.project.store().join("cluster/texts");
    let count = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().count();
    assert!(count(&own) > 0);
    std::fs::remove_dir_all(&own).unwrap();
    let call = cluster.call(&["show", &run, "--call", "1"]);
    assert!(call.code == 0 && call.out.contains("barrels"), "{}{}", call.out, call.err);
    assert_eq!(cluster.end(&run), end);
    assert!(count(&own) > 0, "what is read is kept");
    if store.starts_with("file:") {
        let shared = folder.path().join("shared");
        let file = BlobId::of(&std::fs::read(cluster.project.path("water.md")).unwrap());
        let has = |id: &BlobId| shared.join(&id.as_str()[..2]).join(id.as_str()).exists();
        cluster.until("the files of a checkout are there", |_| has(&file));
        assert!(kept(&elsewhere).join("files/1/garden/water.md").exists());
    }
}

/// A worker that would write where the cluster does not read ends, and says why.
pub fn another_store(engine: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("file://{}", folder.path().join(name).display());
    let cluster = Cluster::start_with(APPROVED.project(), engine, 0, &["--store", &at("shared")]);
    let elsewhere = TestProject::empty();
    let ended = cluster.far_worker_at(&at("other"), "far", &elsewhere).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(1) && said.contains("not the object store of the cluster"), "{said}");
    let key = cluster.far_worker_at("s3://id:geheim@bucket", "far", &elsewhere).output().unwrap();
    let said = String::from_utf8_lossy(&key.stderr).into_owned();
    assert!(key.status.code() == Some(2) && said.contains("AWS_ACCESS_KEY_ID") && !said.contains("geheim"), "{said}");
}
