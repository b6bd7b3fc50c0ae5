//! Removes texts of a cluster that no run names.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use callsheet_core::nouns::BlobId;
use callsheet_runtime::ports::RunSummary;
use serde::{Deserialize, Serialize};

use crate::bucket::Blobs;
use crate::calls::{ALL, INDEX};
use crate::client::Client;
use crate::fault::ClusterFault;

/// How long a text stays that no run names. A run names it soon after it was stored.
const STAYS: Duration = Duration::from_secs(24 * 60 * 60);

/// What was removed, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unnamed {
    /// How many texts.
    pub texts: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Removes from the folder of the cluster what no run names, directly or through another text.
pub(crate) async fn collect(client: &Client, blobs: Blobs, dry_run: bool) -> Result<Unnamed, ClusterFault> {
    let before = SystemTime::now().checked_sub(STAYS).unwrap_or(SystemTime::UNIX_EPOCH);
    let runs: Vec<RunSummary> = client.ask(&format!("{INDEX}/{ALL}/list")).await?;
    let mut named = BTreeSet::new();
    for RunSummary { run, .. } in runs {
        let (_, entries) = client.log(&run, 0).await?;
        let text = serde_json::to_vec(&entries).map_err(|error| ClusterFault::Refused(error.to_string()))?;
        named.extend(hashes(&text));
    }
    let machine = |why: String| ClusterFault::Machine { what: "the folder of texts".to_owned(), why };
    let removed = tokio::task::spawn_blocking(move || {
        let mut queue: Vec<BlobId> = named.iter().cloned().collect();
        while let Some(id) = queue.pop() {
            // Some hashes belong to no stored text.
            for inner in blobs.get(&id).iter().flat_map(|bytes| hashes(bytes)) {
                if named.insert(inner.clone()) {
                    queue.push(inner);
                }
            }
        }
        blobs.remove_unnamed(&named, before, dry_run)
    });
    let removed = removed.await.map_err(|error| machine(error.to_string()))?;
    let (texts, bytes) = removed.map_err(|error| machine(error.to_string()))?;
    Ok(Unnamed { texts, bytes })
}

/// Every hash in a text. Any text can name others, so this does not depend on its form.
fn hashes(text: &[u8]) -> impl Iterator<Item = BlobId> {
    let words = text.split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f')).filter(|word| word.len() == 64);
    words.filter_map(|word| std::str::from_utf8(word).ok().map(BlobId::new))
}
