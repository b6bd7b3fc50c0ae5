//! What a command wrote in its copy of the project.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::BlobId;
use callsheet_core::record::FileChange;
use callsheet_runtime::changes::Written;
use callsheet_runtime::paths::{OWN_FOLDER, seen_files, seen_others};

use crate::checkouts::MadeFiles;
use crate::snapshots::{LARGEST, Stamp, runs};

/// How a copy differs from the files that were written into it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    /// What can be brought back.
    pub written: Written,
    /// The new contents, and where they are.
    pub contents: Vec<(BlobId, PathBuf)>,
    /// What can't be brought back: links, devices, and files that are too large or whose names are no text.
    pub odd: Vec<String>,
    /// What is not brought back because the project does not see it: ignored files, and folders without files.
    pub left: Vec<String>,
}

impl Differences {
    /// Looks at a copy.
    ///
    /// # Errors
    /// Something in it cannot be read.
    pub fn of(root: &Path, made: &MadeFiles) -> io::Result<Self> {
        let mut found = Self::default();
        let mut there = BTreeSet::new();
        for path in made.keys() {
            match root.join(path).symlink_metadata() {
                Ok(_) => drop(there.insert(PathBuf::from(path))),
                Err(error) if is_absent(&error) => {
                    let before = made.get(path).map(|file| file.id.clone());
                    found.written.files.push(FileChange { path: path.clone(), before, after: None, mode: None });
                }
                Err(error) => return Err(error),
            }
        }
        there.extend(seen_files(root));
        for below in &there {
            found.look(root, below, made)?;
        }
        found.odd.extend(seen_others(root).iter().map(|below| below.display().to_string()));
        found.odd.sort();
        found.odd.dedup();
        found.written.files.sort_by(|one, other| one.path.cmp(&other.path));
        found.note_left(root, root, &there)?;
        Ok(found)
    }

    fn look(&mut self, root: &Path, below: &Path, made: &MadeFiles) -> io::Result<()> {
        let place = root.join(below);
        let data = place.symlink_metadata()?;
        let path = below.to_str().filter(|_| data.is_file() && data.len() <= LARGEST);
        let Some(path) = path else {
            self.odd.push(below.display().to_string());
            return Ok(());
        };
        let before = made.get(path);
        if before.is_some_and(|file| file.stamp == Stamp::of(&data)) {
            return Ok(());
        }
        let after = BlobId::of(&std::fs::read(&place)?);
        if before.is_none_or(|file| file.id != after) {
            let (path, before) = (path.to_owned(), before.map(|file| file.id.clone()));
            self.written.files.push(FileChange { path, before, after: Some(after.clone()), mode: None });
            self.contents.push((after, place));
        }
        if before.is_some_and(|file| file.runs) != runs(&data) {
            self.written.programs.insert(path.to_owned(), runs(&data));
        }
        Ok(())
    }

    /// Notes what else is there, a folder as a whole.
    fn note_left(&mut self, root: &Path, folder: &Path, there: &BTreeSet<PathBuf>) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let place = entry?.path();
            let below = place.strip_prefix(root).unwrap_or(&place);
            let is_dir = place.symlink_metadata()?.is_dir();
            let holds = || there.range(below.to_owned()..).next().is_some_and(|next| next.starts_with(below));
            if below == Path::new(OWN_FOLDER)
                || there.contains(below)
                || self.odd.iter().any(|odd| *odd == below.display().to_string())
            {
                continue;
            }
            if is_dir && holds() {
                self.note_left(root, &place, there)?;
            } else {
                let end = if is_dir { "/" } else { "" };
                self.left.push(format!("{}{end}", below.display()));
            }
        }
        self.left.sort();
        Ok(())
    }
}

/// Whether nothing is at a path. A file may have taken the place of its folder.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::bucket::Blobs;
    use crate::calls::SnapshotFile;
    use crate::checkouts::change;

    /// covers: 15.23
    #[test]
    fn every_difference_is_found_and_what_the_project_does_not_see_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (root, contents) = (folder.path().join("garden"), Blobs::new(&folder.path().join("contents"), None));
        let file = |path: &str, text: &str| {
            contents.keep(text.as_bytes()).unwrap();
            SnapshotFile { path: path.to_owned(), id: BlobId::of(text.as_bytes()), runs: false }
        };
        let files = [
            file(".gitignore", "target/\n*.log\n"),
            file("a.md", "One."),
            file("b/gone.md", "Two."),
            file("b/stays.md", "Three."),
            file("run.sh", "true"),
        ];
        let made = change(&root, &files, &MadeFiles::new(), &contents).unwrap();
        assert_eq!(Differences::of(&root, &made).unwrap(), Differences::default());

        let write = |path: &str, text: &str| {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        };
        write("a.md", "Ten.");
        // Written anew with the same content.
        write("b/stays.md", "Three.");
        std::fs::remove_file(root.join("b/gone.md")).unwrap();
        write("made/new.sh", "echo");
        std::fs::set_permissions(root.join("made/new.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::set_permissions(root.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        write("target/debug/x", "built");
        write("b/x.log", "said");
        write(".callsheet/runs/mine/sheet.md", "A sheet.");
        std::fs::create_dir(root.join("empty")).unwrap();
        symlink("/etc/passwd", root.join("link")).unwrap();
        let found = Differences::of(&root, &made).unwrap();
        let id = |text: &str| Some(BlobId::of(text.as_bytes()));
        let change = |path: &str, before, after| FileChange { path: path.to_owned(), before, after, mode: None };
        let files = vec![
            change("a.md", id("One."), id("Ten.")),
            change("b/gone.md", id("Two."), None),
            change("made/new.sh", None, id("echo")),
        ];
        assert_eq!(found.written.files, files);
        let programs = ["made/new.sh", "run.sh"].map(|path| (path.to_owned(), true));
        assert_eq!(found.written.programs, programs.into());
        assert_eq!(found.contents.len(), 2);
        assert_eq!(found.odd, ["link"]);
        assert_eq!(found.left, ["b/x.log", "empty/", "target/"]);
    }
}
