//! `index`: builds the metadata of the project's files, which lookups of fresh context search (spec "Templates" 13).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callsheet_runtime::file_index::{BuildRequest, Built, build_index};
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{Index, IndexEntry, IndexFault, IndexMode};
use callsheet_store::SqliteIndex;
use serde_json::json;

use crate::cli::{Exit, Failure, IndexArgs};
use crate::setup::{Setup, store_failure};
use crate::term::harmless;
use crate::wiring::{granted, outline};

pub(super) fn index(setup: &Setup, arguments: &IndexArgs) -> Result<Exit, Failure> {
    setup.store()?;
    let index = SqliteIndex::new(&setup.store_folder());
    let known = index.entries().map_err(index_failure)?;
    match &arguments.remove {
        Some(paths) => remove(setup, &index, &known, paths),
        None if arguments.list => list(setup, &known),
        None => build(setup, &index, &known, arguments),
    }
}

fn build(setup: &Setup, index: &SqliteIndex, known: &[IndexEntry], arguments: &IndexArgs) -> Result<Exit, Failure> {
    let workspace = Workspace::new(&setup.project, &[]).map_err(|fault| Failure::usage(fault.to_string(), ""))?;
    // Do not run a `git` from a folder that commands can write to at any time.
    let mut granted = granted(setup);
    setup.grants().all().unwrap_or_default().iter().for_each(|grant| grant.add_to(&mut granted));
    let workspace = workspace.noting(setup.notes()).granting(granted);
    let outline = outline();
    let request = BuildRequest {
        workspace: &workspace,
        outline: &*outline,
        include: &arguments.include,
        exclude: &arguments.exclude,
    };
    let built = build_index(request).map_err(|message| Failure::usage(message, "use globs such as *.rs or docs/**"))?;
    index.update_global_index(&built.entries, IndexMode::Replace).map_err(index_failure)?;
    tell(setup, known, &built)
}

/// Prints how the index changed.
fn tell(setup: &Setup, known: &[IndexEntry], built: &Built) -> Result<Exit, Failure> {
    let known_by_path: BTreeMap<&str, &IndexEntry> = known.iter().map(|entry| (entry.path.as_str(), entry)).collect();
    let new = built.entries.iter().filter(|entry| !known_by_path.contains_key(entry.path.as_str())).count();
    let changed =
        built.entries.iter().filter(|entry| known_by_path.get(entry.path.as_str()).is_some_and(|old| old != entry));
    let changed = changed.count();
    let removed = known.len().saturating_add(new).saturating_sub(built.entries.len());
    let total = built.entries.len();
    if setup.json {
        super::print_json(&json!({
            "files": total, "new": new, "changed": changed, "removed": removed,
            "binary": built.binary, "too_large": built.too_large, "unreadable": built.unreadable,
        }))?;
        return Ok(Exit::Complete);
    }
    super::print(&format!("{total} files indexed: {new} new, {changed} changed, {removed} removed\n"))?;
    let left_out = [
        (built.binary, "binary"),
        (built.too_large, "larger than 1 MiB"),
        (built.unreadable, "unreadable, or with a name that is not UTF-8"),
    ];
    for (count, why) in left_out.into_iter().filter(|(count, _)| *count > 0) {
        tell!("skipped: {count} {why}");
    }
    Ok(Exit::Complete)
}

fn list(setup: &Setup, known: &[IndexEntry]) -> Result<Exit, Failure> {
    for entry in known {
        if setup.json {
            super::print_json(&json!({ "path": entry.path, "size": entry.size, "metadata": entry.text }))?;
        } else {
            super::print(&format!("{}\n", harmless(&entry.path)))?;
        }
    }
    Ok(Exit::Complete)
}

/// Removes everything, or files and the contents of folders.
fn remove(setup: &Setup, index: &SqliteIndex, known: &[IndexEntry], paths: &[PathBuf]) -> Result<Exit, Failure> {
    let wanted: Vec<PathBuf> = paths.iter().map(|path| absolute(&setup.project, path)).collect();
    let gone: Vec<IndexEntry> = known
        .iter()
        .filter(|entry| wanted.is_empty() || wanted.iter().any(|path| Path::new(&entry.path).starts_with(path)))
        .cloned()
        .collect();
    index.update_global_index(&gone, IndexMode::Remove).map_err(index_failure)?;
    if setup.json {
        super::print_json(&json!({ "removed": gone.len(), "files": known.len() - gone.len() }))?;
    } else {
        super::print(&format!("removed {} entries, kept {}\n", gone.len(), known.len() - gone.len()))?;
    }
    Ok(Exit::Complete)
}

/// A path as the index names it. The file may no longer exist.
fn absolute(project: &Path, path: &Path) -> PathBuf {
    let from_here = std::env::current_dir().map(|here| here.join(path)).ok();
    let here = from_here.and_then(|path| path.canonicalize().ok());
    here.unwrap_or_else(|| project.join(path).components().collect())
}

fn index_failure(fault: IndexFault) -> Failure {
    match fault {
        IndexFault::Store(fault) => store_failure(fault),
        other => Failure::internal(other.to_string(), ""),
    }
}
