//! The files that a run sees, for a copy of the project.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::OWN_FOLDER;
use super::read::walker;

/// The folders of Callsheet's own folder that it writes itself.
const WRITTEN: [&str; 2] = ["runs", "worker"];

/// The files of a project that a search finds, and those in Callsheet's folder that people write. Links are left out. Paths
/// start at the root, sorted.
pub fn seen_files(root: &Path) -> Vec<PathBuf> {
    seen(root, FileType::is_file)
}

/// What is found beside these files and is neither one nor a folder, such as links.
pub fn seen_others(root: &Path) -> Vec<PathBuf> {
    seen(root, |kind| !kind.is_file() && !kind.is_dir())
}

fn seen(root: &Path, wanted: impl Fn(&FileType) -> bool) -> Vec<PathBuf> {
    let written = WRITTEN.map(|name| root.join(OWN_FOLDER).join(name));
    let mut ours = WalkBuilder::new(root.join(OWN_FOLDER));
    ours.standard_filters(false).follow_links(false);
    ours.filter_entry(move |entry| !written.iter().any(|folder| entry.path() == folder));
    let found = walker(root).build().chain(ours.build()).flatten();
    let found = found.filter(|entry| entry.file_type().is_some_and(|kind| wanted(&kind)));
    let mut paths: Vec<PathBuf> =
        found.filter_map(|entry| entry.path().strip_prefix(root).map(Path::to_owned).ok()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 15.21
    #[test]
    fn a_copy_has_what_a_search_finds_and_what_people_wrote_for_callsheet() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for file in [
            "notes/a.md",
            ".hidden",
            ".gitignore",
            "secret.env",
            ".git/config",
            ".callsheet/skills/count/SKILL.md",
            ".callsheet/runs/mine/sheet.md",
            ".callsheet/worker/texts/a",
        ] {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::write(root.join(file), "*.env\n").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
        let seen: Vec<String> = seen_files(root).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(seen, [".callsheet/skills/count/SKILL.md", ".gitignore", ".hidden", "notes/a.md"]);
        assert_eq!(seen_others(root), [Path::new("link")]);
    }
}
