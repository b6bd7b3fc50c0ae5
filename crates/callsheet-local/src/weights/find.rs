//! Weights this machine already has.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Offer, Source, WeightsRow};

/// The file of `row` in `folder`, if it exists with the right size. Its checksum was verified when it was fetched.
pub fn installed(row: &WeightsRow, folder: &Path) -> Option<PathBuf> {
    let path = folder.join(&row.file);
    let size = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?.len();
    row.sources.iter().any(|offer| row.check(offer).allows(size)).then_some(path)
}

/// Address of the model hub if the environment names none.
const HUB: &str = "https://huggingface.co";

/// The address of the model hub: `HF_ENDPOINT`, else the default. `variable` looks up an environment variable.
pub fn hub_address(variable: impl Fn(&str) -> Option<String>) -> String {
    let own = variable("HF_ENDPOINT").map(|address| address.trim().trim_end_matches('/').to_owned());
    own.filter(|address| !address.is_empty()).unwrap_or_else(|| HUB.to_owned())
}

/// The folder in which model hub tools keep their downloads: `models--OWNER--REPO/snapshots/REVISION/FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubCache {
    root: PathBuf,
}

impl HubCache {
    /// A cache at `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The cache that the environment names: `HF_HUB_CACHE`, `HF_HOME/hub`, else the user's cache folder. `variable`
    /// looks up an environment variable.
    pub fn locate(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = || path("XDG_CACHE_HOME").or_else(|| path("HOME").map(|home| home.join(".cache")));
        let root = path("HF_HUB_CACHE")
            .or_else(|| path("HF_HOME").map(|home| home.join("hub")))
            .or_else(|| cache().map(|cache| cache.join("huggingface/hub")))?;
        Some(Self { root })
    }

    /// The file of `row`, if another tool fetched it from one of the row's hub sources.
    pub fn find(&self, row: &WeightsRow) -> Option<PathBuf> {
        let in_cache = |offer: &Offer| {
            let Source::Hub { owner, repo, file } = &offer.from else { return None };
            let right_size = |path: &PathBuf| {
                fs::metadata(path).is_ok_and(|found| found.is_file() && row.check(offer).allows(found.len()))
            };
            let snapshots = folders(&self.root.join(format!("models--{owner}--{repo}")).join("snapshots"));
            snapshots.into_iter().map(|snapshot| snapshot.join(file)).find(right_size)
        };
        row.sources.iter().find_map(in_cache)
    }

    /// Every GGUF file in the cache, sorted. The search goes at most two levels of folders deep in a snapshot.
    pub fn gguf_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for model in folders(&self.root) {
            for snapshot in folders(&model.join("snapshots")) {
                collect(&snapshot, 2, &mut found);
            }
        }
        found.sort();
        found
    }
}

fn collect(folder: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, found);
        } else if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf")) && path.is_file() {
            found.push(path);
        }
    }
}

/// The folders in `parent`, sorted. Empty if it cannot be read.
fn folders(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}
