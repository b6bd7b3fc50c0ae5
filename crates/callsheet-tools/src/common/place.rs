//! Places that tools name, resolved within the workspace's confinement (spec 5.6).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_runtime::paths::{EntryKind, Located, PathFault, Workspace};
use callsheet_runtime::ports::ToolContext;

use super::walk::walk;
use super::words::say;
use super::{Stop, Ticket};

/// How many similar paths are suggested for a missing file (spec 5.4).
const CANDIDATES: usize = 5;

/// An existing file or folder that may be read.
#[derive(Clone)]
pub(crate) struct Place {
    workspace: Arc<Workspace>,
    located: Located,
    /// Canonical absolute path.
    pub path: PathBuf,
    /// The root that contains it, canonical and absolute.
    pub root: PathBuf,
    /// How a model should name it: relative to the project, or absolute elsewhere.
    pub shown: String,
}

impl Place {
    fn new(workspace: &Arc<Workspace>, located: Located) -> Self {
        let path = match located.path() {
            "." => workspace.root().to_path_buf(),
            text => workspace.root().join(text),
        };
        let root = roots(workspace).find(|root| path.starts_with(root)).unwrap_or(workspace.root()).to_path_buf();
        let shown = located.path().to_owned();
        Self { workspace: Arc::clone(workspace), located, path, root, shown }
    }

    /// How a model should name a path below it.
    pub(crate) fn show(&self, path: &Path) -> String {
        path.strip_prefix(self.workspace.root()).unwrap_or(path).display().to_string()
    }

    /// Whether a canonical path is inside a root that may be read.
    pub(crate) fn contains(&self, target: &Path) -> bool {
        roots(&self.workspace).any(|root| target.starts_with(root))
    }

    /// The type of the entry now.
    pub(crate) fn kind(&self) -> Result<EntryKind, Stop> {
        self.workspace.kind(&self.located).map_err(|fault| refusal(&fault))
    }

    /// Opens it. The confinement is checked again on the opened parent.
    pub(crate) fn open(&self) -> Result<File, Stop> {
        self.workspace.open(&self.located).map_err(|fault| refusal(&fault))
    }

    /// Opens a file below it that a walk found.
    pub(crate) fn open_below(&self, shown: &str) -> Option<File> {
        let located = self.workspace.locate(shown).ok()?;
        self.workspace.open(&located).ok()
    }
}

fn roots(workspace: &Workspace) -> impl Iterator<Item = &Path> {
    std::iter::once(workspace.root()).chain(workspace.read_roots().iter().map(PathBuf::as_path))
}

/// The existing place that `path` names. A skill's runs may also read its own folder (spec 7.1).
pub(crate) fn readable(context: &ToolContext, path: &str, ticket: &Ticket) -> Result<Place, Stop> {
    let workspace = match &context.skill_dir {
        Some(folder) => {
            let roots: Vec<PathBuf> = context.workspace.read_roots().iter().chain([folder]).cloned().collect();
            Workspace::new(context.workspace.root(), &roots).map_or_else(|_| Arc::clone(&context.workspace), Arc::new)
        }
        None => Arc::clone(&context.workspace),
    };
    let beside_the_skill =
        context.skill_dir.as_ref().filter(|_| Path::new(path).is_relative()).map(|dir| dir.join(path));
    // A skill names the files beside it relative to its folder; the project has priority.
    let located =
        workspace.locate(path).or_else(|fault| match (fault, beside_the_skill.as_deref().and_then(Path::to_str)) {
            (PathFault::Missing(_), Some(beside)) => {
                workspace.locate(beside).map_err(|_| PathFault::Missing(path.to_owned()))
            }
            (fault, _) => Err(fault),
        });
    match located {
        Ok(located) => Ok(Place::new(&workspace, located)),
        Err(PathFault::Missing(_)) => match workspace.respelled(path) {
            Some(located) => Ok(Place::new(&workspace, located)),
            None => Err(Stop::Failed(missing(&workspace, path, ticket))),
        },
        Err(fault) => Err(refusal(&fault)),
    }
}

/// The canonical form of a path that may be written to.
pub(crate) fn writable(context: &ToolContext, path: &str) -> Result<String, Stop> {
    match context.workspace.locate_writable(path) {
        Ok(located) => Ok(located.path().to_owned()),
        Err(fault) => Err(refusal(&fault)),
    }
}

fn refusal(fault: &PathFault) -> Stop {
    match fault {
        PathFault::Outside(path) => Stop::failed("path-outside", &[("path", path)]),
        PathFault::Protected(path) => Stop::failed("path-protected", &[("path", path)]),
        PathFault::Missing(path) => Stop::failed("does-not-exist", &[("path", path)]),
        PathFault::Unreadable { path, reason } => {
            Stop::failed("path-unreadable", &[("path", path), ("reason", reason)])
        }
        PathFault::Unwritable { path, reason } => {
            Stop::failed("path-unwritable", &[("path", path), ("reason", reason)])
        }
    }
}

fn missing(workspace: &Arc<Workspace>, path: &str, ticket: &Ticket) -> String {
    let candidates = candidates(workspace, path, ticket);
    if candidates.is_empty() {
        return say("does-not-exist", &[("path", &path)]);
    }
    say("does-not-exist-but", &[("path", &path), ("candidates", &candidates.join(", "))])
}

/// Files and folders with the same or a similar name, best first.
fn candidates(workspace: &Arc<Workspace>, path: &str, ticket: &Ticket) -> Vec<String> {
    let Ok(located) = workspace.locate(".") else { return Vec::new() };
    let wanted = Path::new(path).file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(u8, String)> = Vec::new();
    let _cancelled = walk(&Place::new(workspace, located), None, ticket, |entry| {
        let name = entry.path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        if let Some(rank) = likeness(&wanted, &name) {
            found.push((rank, entry.shown));
        }
        Ok(())
    });
    found.sort();
    found.into_iter().take(CANDIDATES).map(|(_, shown)| shown).collect()
}

/// 0 for the same name, a larger number for a less similar one, `None` for no similarity.
fn likeness(wanted: &str, name: &str) -> Option<u8> {
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let (wanted_stem, stem) = (stem(wanted), stem(name));
    if wanted == name {
        Some(0)
    } else if !stem.is_empty() && wanted_stem == stem {
        Some(1)
    } else if stem.len() >= 3 && wanted_stem.len() >= 3 && (stem.contains(&wanted_stem) || wanted_stem.contains(&stem))
    {
        Some(2)
    } else {
        None
    }
}
