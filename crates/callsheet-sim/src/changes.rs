//! The change sets of the simulated world.

use callsheet_core::nouns::BlobId;
use callsheet_core::record::{ChangeSet, FileChange};

/// A change set that was made again because somebody changed the files.
pub(crate) fn moved(changes: &ChangeSet) -> ChangeSet {
    let mut changes = changes.clone();
    for file in &mut changes.files {
        let before = file.after.as_ref().map_or("", BlobId::as_str);
        file.after = Some(BlobId::of(format!("{before} beside other lines").as_bytes()));
    }
    changes
}

/// The changes that a tool or a reply asks for.
pub(crate) fn changes() -> ChangeSet {
    let change = FileChange { path: "a.rs".to_owned(), before: None, after: Some(BlobId::of(b"after")), mode: None };
    ChangeSet { files: vec![change], diff: None }
}
