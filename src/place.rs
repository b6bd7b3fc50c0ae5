//! Finds the project of a folder, and recognises a project that was renamed or moved.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use callsheet_runtime::paths::write_private;
use serde::{Deserialize, Serialize};

use crate::config::Folders;

/// The file beside a project's store that records the path and the identity of the project folder.
const PLACE: &str = "place.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    project: PathBuf,
    folder: Identity,
}

/// The identity of a folder, independent of its path. Nothing inside the folder determines it, so no command and no
/// other project can give it to another folder. A copied folder, or one on another file system, has another identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    inode: u64,
    made: SystemTime,
}

impl Identity {
    /// The identity of a folder. `None` if there is no such folder, or if the file system does not record creation
    /// times.
    fn of(folder: &Path) -> Option<Self> {
        let metadata = folder.metadata().ok()?;
        Some(Self { inode: metadata.ino(), made: metadata.created().ok()? })
    }
}

/// The runs of a project that had another path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The folder of its store.
    pub store: PathBuf,
    /// The former path of the project.
    pub project: PathBuf,
}

/// The project that a folder belongs to. This is the nearest folder, from there upwards, that contains `.callsheet`
/// or is the root of a git repository, or else the folder itself. A folder of another owner, and a folder that
/// contains Callsheet's own folders, such as a home folder, is a project only if it is the start folder.
pub fn project_of(folder: &Path, folders: &Folders) -> PathBuf {
    let is_project = |path: &Path| path.join(".callsheet").is_dir() || path.join(".git").exists();
    let owner = |path: &Path| path.metadata().ok().map(|metadata| metadata.uid());
    if is_project(folder) {
        return folder.to_path_buf();
    }
    let above = folder.ancestors().skip(1).take_while(|path| owner(path) == owner(folder));
    let mut above = above.filter(|path| !folders.kept().iter().any(|kept| kept.starts_with(path)));
    above.find(|path| is_project(path)).unwrap_or(folder).to_path_buf()
}

/// Records the path of the project, so that its runs are found when the path changes.
///
/// # Errors
/// The reason from the operating system.
pub fn note(project: &Path, store: &Path) -> std::io::Result<()> {
    let Some(folder) = Identity::of(project) else { return Ok(()) };
    let place = Place { project: project.to_path_buf(), folder };
    if read_place(store).as_ref() == Some(&place) { Ok(()) } else { write_place(store, &place) }
}

/// The stores of this project from its former paths.
pub fn elsewhere(project: &Path, folders: &Folders) -> Vec<Elsewhere> {
    let own = folders.store(project);
    let Some(identity) = Identity::of(project) else { return Vec::new() };
    let stores = own.parent().and_then(|stores| stores.read_dir().ok()).into_iter().flatten().flatten();
    // One folder may have two paths, for example if it is mounted twice.
    let is_gone = |place: &Place| Identity::of(&place.project).as_ref() != Some(&identity);
    let mut found: Vec<Elsewhere> = stores
        .map(|entry| entry.path())
        .filter(|store| *store != own && callsheet_store::database(store).exists())
        .filter_map(|store| read_place(&store).map(|place| (store, place)))
        .filter(|(_, place)| place.folder == identity && is_gone(place))
        .map(|(store, place)| Elsewhere { store, project: place.project })
        .collect();
    found.sort_by(|one, other| one.project.cmp(&other.project));
    found
}

/// The store of a former project at this path, of which nothing is left. `None` if there is none.
pub fn left_behind(project: &Path, folders: &Folders) -> Option<Elsewhere> {
    let store = folders.store(project);
    let found = callsheet_store::database(&store).exists() && !project.exists();
    found.then(|| Elsewhere { store, project: project.to_path_buf() })
}

/// Makes a former store the store of the project. The project must not have a store with runs yet.
///
/// # Errors
/// The reason from the operating system.
pub fn adopt(project: &Path, folders: &Folders, from: &Elsewhere) -> std::io::Result<()> {
    let own = folders.store(project);
    if own.exists() {
        std::fs::remove_dir_all(&own)?;
    }
    std::fs::rename(&from.store, &own)?;
    note(project, &own)
}

fn read_place(store: &Path) -> Option<Place> {
    serde_json::from_slice(&std::fs::read(store.join(PLACE)).ok()?).ok()
}

fn write_place(store: &Path, place: &Place) -> std::io::Result<()> {
    write_private(&store.join(PLACE), &serde_json::to_vec(place).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(root: &Path) -> Folders {
        Folders::below(&root.join("home"))
    }

    #[test]
    fn a_project_is_found_from_below() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["git/.git", "git/sub/deep", "git/own/.callsheet", "git/own/a", "plain/a", "home/state"] {
            std::fs::create_dir_all(root.join(path)).unwrap();
        }
        for (from, expected) in
            [("git/sub/deep", "git"), ("git", "git"), ("git/own/a", "git/own"), ("plain/a", "plain/a")]
        {
            assert_eq!(project_of(&root.join(from), &home(&root)), root.join(expected), "{from}");
        }
        // A home folder with a repository of its own is not the project of all folders below it.
        std::fs::create_dir_all(root.join(".git")).unwrap();
        assert_eq!(project_of(&root.join("plain/a"), &home(&root)), root.join("plain/a"));
        assert_eq!(project_of(&root, &home(&root)), root);
    }

    /// No file in a project determines which runs it has, so neither a command nor a clone can claim the runs of
    /// others.
    #[test]
    fn a_renamed_project_finds_its_store_and_a_copy_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let folders = home(&root);
        let (old, new, copy) = (root.join("old"), root.join("new"), root.join("copy"));
        std::fs::create_dir(&old).unwrap();
        std::fs::create_dir(&copy).unwrap();
        let store = folders.store(&old);
        std::fs::create_dir_all(&store).unwrap();
        std::fs::write(callsheet_store::database(&store), "").unwrap();
        note(&old, &store).unwrap();
        assert!(elsewhere(&copy, &folders).is_empty() && left_behind(&old, &folders).is_none(), "it is still there");
        assert_eq!(old.read_dir().unwrap().count(), 0, "nothing is written into the project");
        std::fs::rename(&old, &new).unwrap();
        let known = Elsewhere { store, project: old.clone() };
        assert_eq!(left_behind(&old, &folders).as_ref(), Some(&known));
        assert_eq!(elsewhere(&copy, &folders), []);
        assert_eq!(elsewhere(&new, &folders), std::slice::from_ref(&known));
        adopt(&new, &folders, &known).unwrap();
        assert!(callsheet_store::database(&folders.store(&new)).exists());
        assert_eq!(elsewhere(&new, &folders), []);
    }
}
