//! Where a project is: found from a folder inside it, and known again after it was renamed or moved.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use callsheet_core::spec::BlobId;
use callsheet_runtime::paths::{private, read_regular_text, write_private};
use serde::{Deserialize, Serialize};

use crate::config::Folders;

/// The ids of a project, one a line: one of each place it had runs in. Git ignores the folder.
const IDS: &str = ".callsheet/runs/.id";
/// Beside the store of a project: where that is, and which id it has there.
const PLACE: &str = "place.json";
/// Ids that are read of a project.
const MOST_IDS: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    project: PathBuf,
    id: String,
}

/// Runs of a project that had another path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The folder of its store.
    pub store: PathBuf,
    /// Where the project was.
    pub project: PathBuf,
}

/// The project that a folder belongs to: the nearest folder, from there upwards, that has a `.callsheet` or is the root of a
/// git repository, else the folder itself. A folder of another owner, or one that holds Callsheet's own folders, such as a
/// home folder, is a project only for who stands in it.
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

/// Notes where the project is, so that its runs are found when it has another path. Once for each path.
///
/// # Errors
/// The system's reason.
pub fn note(project: &Path, store: &Path) -> std::io::Result<()> {
    let known = read_place(store).filter(|place| place.project == project);
    let place = known.unwrap_or_else(|| Place { project: project.to_path_buf(), id: fresh_id(project) });
    if ids(project).contains(&place.id) {
        return Ok(());
    }
    write_place(store, &place)?;
    let file = project.join(IDS);
    if file.is_symlink() {
        return Ok(());
    }
    private().append(true).create(true).open(file)?.write_all(format!("{}\n", place.id).as_bytes())
}

/// Stores of this project from when it had another path. A project that is still at that path is another one, of which
/// this is a copy.
pub fn elsewhere(project: &Path, folders: &Folders) -> Vec<Elsewhere> {
    let ids = ids(project);
    let own = folders.store(project);
    if ids.is_empty() {
        return Vec::new();
    }
    let stores = own.parent().and_then(|stores| stores.read_dir().ok()).into_iter().flatten().flatten();
    let mut found: Vec<Elsewhere> = stores
        .map(|entry| entry.path())
        .filter(|store| *store != own && callsheet_store::database(store).exists())
        .filter_map(|store| read_place(&store).map(|place| (store, place)))
        .filter(|(_, place)| ids.contains(&place.id) && !self::ids(&place.project).contains(&place.id))
        .map(|(store, place)| Elsewhere { store, project: place.project })
        .collect();
    found.sort_by(|one, other| one.project.cmp(&other.project));
    found
}

/// Makes a store from elsewhere that of the project. There must be none yet, or none with a run.
///
/// # Errors
/// The system's reason.
pub fn adopt(project: &Path, folders: &Folders, from: &Elsewhere) -> std::io::Result<()> {
    let own = folders.store(project);
    if own.exists() {
        std::fs::remove_dir_all(&own)?;
    }
    std::fs::rename(&from.store, &own)?;
    let id = read_place(&own).map_or_else(|| fresh_id(project), |place| place.id);
    write_place(&own, &Place { project: project.to_path_buf(), id })
}

fn ids(project: &Path) -> BTreeSet<String> {
    let text = read_regular_text(&project.join(IDS)).unwrap_or_default();
    text.lines().take(MOST_IDS).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn read_place(store: &Path) -> Option<Place> {
    serde_json::from_slice(&std::fs::read(store.join(PLACE)).ok()?).ok()
}

fn write_place(store: &Path, place: &Place) -> std::io::Result<()> {
    write_private(&store.join(PLACE), &serde_json::to_vec(place).unwrap_or_default())
}

/// An id that nobody can guess who does not know the project: else files from elsewhere could ask for its runs.
fn fresh_id(project: &Path) -> String {
    let chance = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let words = format!("{} {chance} {} {}", project.display(), since.as_nanos(), std::process::id());
    BlobId::of(words.as_bytes()).as_str().to_owned()
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
        // A home folder with a repository of its own is no project of all that is below it.
        std::fs::create_dir_all(root.join(".git")).unwrap();
        assert_eq!(project_of(&root.join("plain/a"), &home(&root)), root.join("plain/a"));
        assert_eq!(project_of(&root, &home(&root)), root);
    }

    #[test]
    fn a_renamed_project_finds_its_store_and_a_copy_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let folders = home(&root);
        let (old, new) = (root.join("old"), root.join("new"));
        std::fs::create_dir_all(old.join(".callsheet/runs")).unwrap();
        let store = folders.store(&old);
        std::fs::create_dir_all(&store).unwrap();
        std::fs::write(callsheet_store::database(&store), "").unwrap();
        note(&old, &store).unwrap();
        note(&old, &store).unwrap();
        assert_eq!(ids(&old).len(), 1);
        std::fs::create_dir_all(new.join(".callsheet/runs")).unwrap();
        std::fs::copy(old.join(IDS), new.join(IDS)).unwrap();
        assert_eq!(elsewhere(&new, &folders), [], "the first one is still there");
        std::fs::remove_dir_all(&old).unwrap();
        let found = elsewhere(&new, &folders);
        assert_eq!(found, [Elsewhere { store, project: old }]);
        adopt(&new, &folders, &found[0]).unwrap();
        assert!(callsheet_store::database(&folders.store(&new)).exists());
        assert_eq!(elsewhere(&new, &folders), []);
    }
}
