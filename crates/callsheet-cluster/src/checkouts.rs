//! The files of the project on a worker that has none: a checkout for each snapshot that work needs. Contents are fetched once
//! and kept by their hash. What a command does in a checkout is found in `copies`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::paths::remove_tree_settled;
use tokio::sync::Mutex as AsyncMutex;

use crate::bucket::{Blobs, Bucket, blocking};
use crate::calls::{GetText, Snapshot, SnapshotFile};
use crate::client::Client;
use crate::door::{FILE, FILES};
use crate::fault::ClusterFault;
use crate::own_work::OwnWork;
use crate::snapshots::{Stamp, runs};

/// How long removing a checkout may take.
const REMOVING: Duration = Duration::from_secs(60);

/// A copy of the project as it was when work began.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// Its folder.
    pub folder: PathBuf,
    /// What is trusted there, as in the project: hashes by path.
    pub trusted: BTreeMap<String, String>,
}

/// The checkouts of a worker.
pub(crate) struct Checkouts {
    folder: PathBuf,
    contents: Blobs,
    pub client: Client,
    pub own: Arc<OwnWork>,
    /// One is made at a time.
    making: AsyncMutex<()>,
    places: Mutex<Vec<Place>>,
}

/// A folder for a checkout. It stays at its path, and changes to another snapshot when nobody uses it.
#[derive(Default)]
struct Place {
    /// What is there. `None` while it is made, if that failed, or if a command writes there.
    snapshot: Option<BlobId>,
    users: usize,
    files: MadeFiles,
}

/// The files that were written into a checkout.
pub(crate) type MadeFiles = BTreeMap<String, MadeFile>;

/// A file as it was written into a checkout.
#[derive(Clone, Debug)]
pub(crate) struct MadeFile {
    pub id: BlobId,
    pub stamp: Stamp,
    pub runs: bool,
}

/// What work does in a checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It only reads, beside others.
    Reads,
    /// It may write, alone.
    Writes,
}

/// Keeps a checkout as it is for as long as this lives.
pub(crate) struct InUse {
    pub checkouts: Arc<Checkouts>,
    number: usize,
}

impl InUse {
    /// The files as they were written there.
    pub fn files(&self) -> MadeFiles {
        self.checkouts.places().get(self.number).map(|place| place.files.clone()).unwrap_or_default()
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(place) = self.checkouts.places().get_mut(self.number) {
            place.users = place.users.saturating_sub(1);
        }
    }
}

impl Checkouts {
    /// Checkouts below a folder.
    pub fn new(folder: &Path, bucket: Option<Bucket>, client: Client, own: Arc<OwnWork>) -> Arc<Self> {
        let contents = Blobs::new(&folder.join("contents"), bucket);
        Arc::new(Self {
            folder: folder.to_owned(),
            contents,
            client,
            own,
            making: AsyncMutex::default(),
            places: Mutex::default(),
        })
    }

    /// The project as it is now, for work of a run.
    pub async fn get(self: &Arc<Self>, run: &RunId, wants: Use) -> Result<(Checkout, InUse), ClusterFault> {
        let _one = self.making.lock().await;
        let claim = serde_json::to_vec(&self.own.claim(run)).unwrap_or_default();
        let answer = self.client.call_bytes(FILES, claim, "application/json").await?;
        let wrong = |why: String| ClusterFault::Refused(format!("the files of the project: {why}"));
        let snapshot: Snapshot = serde_json::from_slice(&answer).map_err(|error| wrong(error.to_string()))?;
        let paths = snapshot.files.iter().map(|file| file.path.as_str()).chain([snapshot.name.as_str()]);
        if let Some(path) = paths.into_iter().find(|path| !is_plain(path)) {
            return Err(wrong(format!("\"{path}\" leads elsewhere")));
        }
        let (number, is_there, files) = self.place(&BlobId::of(&answer), wants);
        let (in_use, folder) = (InUse { checkouts: Arc::clone(self), number }, self.root(number).join(&snapshot.name));
        if !is_there {
            self.fetch(run, &snapshot).await?;
            let (contents, wanted, root) = (self.contents.clone(), snapshot.files, folder.clone());
            let made = tokio::task::spawn_blocking(move || {
                // A command may have left what cannot be looked into.
                let afresh = |_| {
                    remove_tree_settled(&root, Instant::now() + REMOVING)?;
                    change(&root, &wanted, &MadeFiles::new(), &contents)
                };
                let made = change(&root, &wanted, &files, &contents).or_else(afresh)?;
                contents.keep_only(&wanted.iter().map(|file| file.id.clone()).collect());
                Ok::<_, io::Error>(made)
            });
            let unusable = |why: String| ClusterFault::Machine { what: folder.display().to_string(), why };
            let made = made.await.map_err(|error| unusable(error.to_string()))?;
            let made = made.map_err(|error| unusable(error.to_string()))?;
            if let Some(place) = self.places().get_mut(number) {
                let snapshot = (wants == Use::Reads).then(|| BlobId::of(&answer));
                (place.snapshot, place.files) = (snapshot, made);
            }
        }
        Ok((Checkout { folder, trusted: snapshot.trusted }, in_use))
    }

    /// The place of a snapshot, whether it is there already, and otherwise which files are. Whoever writes gets one that
    /// nobody else uses.
    fn place(&self, id: &BlobId, wants: Use) -> (usize, bool, MadeFiles) {
        let mut places = self.places();
        let found = places.iter().position(|place| wants == Use::Reads && place.snapshot.as_ref() == Some(id));
        let number = found.or_else(|| places.iter().position(|place| place.users == 0)).unwrap_or(places.len());
        if number == places.len() {
            places.push(Place::default());
        }
        let place = &mut places[number];
        place.users += 1;
        if found.is_some() {
            return (number, true, MadeFiles::new());
        }
        place.snapshot = None;
        (number, false, std::mem::take(&mut place.files))
    }

    /// Fetches the contents that are missing.
    async fn fetch(&self, run: &RunId, snapshot: &Snapshot) -> Result<(), ClusterFault> {
        let wanted: BTreeSet<&BlobId> = snapshot.files.iter().map(|file| &file.id).collect();
        for id in wanted {
            if blocking(|| self.contents.get(id)).is_ok() {
                continue;
            }
            let asks = GetText { claim: self.own.claim(run), id: id.clone() };
            let body = serde_json::to_vec(&asks).unwrap_or_default();
            let bytes = self.client.call_bytes(FILE, body, "application/json").await?;
            let damaged = || ClusterFault::Refused(format!("the content {id} came damaged"));
            if BlobId::of(&bytes) != *id {
                return Err(damaged());
            }
            self.contents.keep(&bytes).map_err(|fault| ClusterFault::Refused(fault.to_string()))?;
        }
        Ok(())
    }

    fn root(&self, number: usize) -> PathBuf {
        self.folder.join((number + 1).to_string())
    }

    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a path stays below where it starts.
fn is_plain(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Makes a folder have these files and no others. Those that are as they were written are left alone.
pub(crate) fn change(
    root: &Path,
    wanted: &[SnapshotFile],
    known: &MadeFiles,
    contents: &Blobs,
) -> io::Result<MadeFiles> {
    std::fs::create_dir_all(root)?;
    let by_path: BTreeMap<&str, &SnapshotFile> = wanted.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut made = MadeFiles::new();
    clear(root, root, &mut |path, data| {
        let Some((file, known)) = by_path.get(path).zip(known.get(path)) else { return false };
        let is_same = file.id == known.id && known.stamp == Stamp::of(data) && file.runs == runs(data);
        if is_same {
            made.insert(path.to_owned(), known.clone());
        }
        is_same
    })?;
    for file in wanted.iter().filter(|file| !made.contains_key(&file.path)).collect::<Vec<_>>() {
        let place = root.join(&file.path);
        std::fs::create_dir_all(place.parent().unwrap_or(root))?;
        let bytes = contents.get(&file.id).map_err(|fault| io::Error::other(fault.to_string()))?;
        std::fs::write(&place, bytes)?;
        std::fs::set_permissions(&place, PermissionsExt::from_mode(if file.runs { 0o755 } else { 0o644 }))?;
        let stamp = Stamp::of(&place.symlink_metadata()?);
        made.insert(file.path.clone(), MadeFile { id: file.id.clone(), stamp, runs: file.runs });
    }
    Ok(made)
}

/// Removes what is not kept, and folders that are empty then.
fn clear(root: &Path, folder: &Path, keeps: &mut impl FnMut(&str, &std::fs::Metadata) -> bool) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let place = entry?.path();
        let data = place.symlink_metadata()?;
        if data.is_dir() {
            clear(root, &place, keeps)?;
            // It has files that are kept otherwise.
            let _used = std::fs::remove_dir(&place);
            continue;
        }
        let below = place.strip_prefix(root).ok().and_then(Path::to_str);
        if !data.is_file() || !below.is_some_and(|below| keeps(below, &data)) {
            std::fs::remove_file(&place)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(contents: &Blobs, path: &str, text: &str) -> SnapshotFile {
        contents.keep(text.as_bytes()).unwrap();
        SnapshotFile { path: path.to_owned(), id: BlobId::of(text.as_bytes()), runs: path.ends_with(".sh") }
    }

    /// covers: 15.21
    #[test]
    fn a_checkout_becomes_the_snapshot_whatever_was_done_there() {
        let folder = tempfile::tempdir().unwrap();
        let (root, contents) = (folder.path().join("garden"), Blobs::new(&folder.path().join("contents"), None));
        let first =
            [file(&contents, "a.md", "One."), file(&contents, "b/c.sh", "true"), file(&contents, "d.md", "Two.")];
        let made = change(&root, &first, &MadeFiles::new(), &contents).unwrap();
        assert_eq!(std::fs::metadata(root.join("b/c.sh")).unwrap().permissions().mode() & 0o777, 0o755);
        let inode = |path: &str| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(root.join(path)).unwrap());
        let untouched = inode("b/c.sh");
        // Somebody writes there.
        std::fs::write(root.join("a.md"), "Ono.").unwrap();
        std::fs::create_dir(root.join("new")).unwrap();
        std::fs::write(root.join("new/file"), "Three.").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
        let second = [first[0].clone(), first[1].clone(), file(&contents, "e.md", "Four.")];
        change(&root, &second, &made, &contents).unwrap();
        let mut there: Vec<PathBuf> = Vec::new();
        clear(&root, &root, &mut |path, _| {
            there.push(path.into());
            true
        })
        .unwrap();
        there.sort();
        assert_eq!(there, ["a.md", "b/c.sh", "e.md"].map(PathBuf::from));
        assert_eq!(std::fs::read_to_string(root.join("a.md")).unwrap(), "One.");
        assert_eq!(inode("b/c.sh"), untouched, "what has not changed is not written");
        assert!(!root.join("new").exists());
    }

    /// covers: 15.21
    #[test]
    fn no_path_leads_out_of_a_checkout() {
        for path in ["", "/etc/passwd", "../a", "a/../../b"] {
            assert!(!is_plain(path), "{path}");
        }
        assert!(is_plain("a/b.md") && is_plain(".callsheet/skills/x.md"));
    }
}
