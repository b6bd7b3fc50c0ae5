//! A part of a change set that a person keeps (spec 11.4): the hunks they answer by number become a new set, validated
//! whole, with what was refused told to the model and to the result of the task.

use callsheet_core::fence::fence;
use callsheet_core::issue::Issue;
use callsheet_core::prompt::Note;
use callsheet_core::record::{Answer, ChangeSet, FileChange, RefusedPart};
use callsheet_core::spec::BlobId;
use callsheet_format::edit;
use callsheet_format::edit::{FileEdit, Hunk, HunkKind, Picked};
use callsheet_format::reading::{Answer as LookupAnswer, Lookup};

use crate::ports::{PartAnswer, Store, StoreFault};
use crate::references;

use super::{DriveFault, World, read};

/// What an answer hunk by hunk comes to.
pub(super) enum Part {
    /// An answer to record.
    Answer(Answer),
    /// It cannot be taken, in lines for a person.
    Invalid(Vec<String>),
}

/// The hunks of a set; none if one of its files is no text.
pub(super) fn hunks(store: &dyn Store, changes: &ChangeSet) -> Result<Vec<Hunk>, StoreFault> {
    Ok(edits(store, changes)?.map(|edits| edit::hunks(&edits)).unwrap_or_default())
}

/// The texts of a set.
fn edits(store: &dyn Store, changes: &ChangeSet) -> Result<Option<Vec<FileEdit>>, StoreFault> {
    let text = |blob: &Option<BlobId>| match blob {
        Some(blob) => store.blob(blob).map(|bytes| String::from_utf8(bytes).ok().map(Some)),
        None => Ok(Some(None)),
    };
    let mut edits = Vec::new();
    for file in &changes.files {
        let (Some(before), Some(after)) = (text(&file.before)?, text(&file.after)?) else { return Ok(None) };
        edits.push(FileEdit { path: file.path.clone(), before, after });
    }
    Ok(Some(edits))
}

/// Why verdicts do not fit the hunks of a set.
pub(super) fn fault(store: &dyn Store, changes: &ChangeSet, part: &PartAnswer) -> Result<Option<String>, StoreFault> {
    let edits = edits(store, changes)?;
    Ok(edits.and_then(|edits| edit::pick(&edits, &part.hunks).err()).map(|fault| fault.to_string()))
}

/// Makes an answer of verdicts on the hunks of a set that waits.
pub(super) fn answer(world: &World, changes: &ChangeSet, part: &PartAnswer) -> Result<Part, DriveFault> {
    let Some(edits) = edits(&*world.store, changes)? else {
        return Ok(Part::Invalid(vec!["the change is not text, so you can only approve it whole".to_owned()]));
    };
    let picked = match edit::pick(&edits, &part.hunks) {
        Ok(picked) => picked,
        Err(fault) => return Ok(Part::Invalid(vec![fault.to_string()])),
    };
    if picked.edits == edits {
        return Ok(Part::Answer(Answer::Listed));
    }
    if picked.edits.is_empty() {
        return Ok(Part::Answer(Answer::Deny { words: part.words.clone() }));
    }
    // Told now, while the person is there; whether a file moves after this is seen when the set is applied.
    if let Err(issues) = read::keep(world, &on_disk_now(world, &picked.edits).unwrap_or(picked.edits.clone()))? {
        return Ok(Part::Invalid(issues.iter().map(ToString::to_string).collect()));
    }
    let kept = part_of(world, changes, &picked.edits)?;
    let diff = world.store.put_blob(edit::diff_of(&picked.refused).as_bytes())?;
    let refused = RefusedPart { diff, told: told(&edits, &picked, &part.words), words: part.words.clone() };
    Ok(Part::Answer(Answer::Part { kept, refused }))
}

/// These edits of a set as a set of their own, made of the files as they were shown.
fn part_of(world: &World, changes: &ChangeSet, edits: &[FileEdit]) -> Result<ChangeSet, StoreFault> {
    let keep = |text: &Option<String>| text.as_ref().map(|text| world.store.put_blob(text.as_bytes())).transpose();
    let mut files = Vec::with_capacity(edits.len());
    for edit in edits {
        let mode = changes.files.iter().find(|file| file.path == edit.path).and_then(|file| file.mode);
        let (before, after) = (keep(&edit.before)?, keep(&edit.after)?);
        files.push(FileChange { path: edit.path.clone(), before, after, mode });
    }
    Ok(ChangeSet { files, diff: Some(world.store.put_blob(edit::diff_of(edits).as_bytes())?) })
}

/// A set as it is to be made of the files as they are now, and whether a person sees the same lines in it as in the set;
/// or why there is none. Issues are empty where the files themselves leave no room for it.
pub(super) fn rebased(world: &World, changes: &ChangeSet) -> Result<Result<(ChangeSet, bool), Vec<Issue>>, DriveFault> {
    let Some(shown) = edits(&*world.store, changes)? else { return Ok(Err(Vec::new())) };
    let Some(now) = on_disk_now(world, &shown) else { return Ok(Err(Vec::new())) };
    // A path that became a link leads to another file than the one that was shown.
    let leads =
        |set: &ChangeSet| set.files.iter().map(|file| &file.path).eq(changes.files.iter().map(|file| &file.path));
    let set = read::keep(world, &now)?;
    Ok(set.and_then(|set| if leads(&set) { Ok((set, edit::has_same_lines(&shown, &now))) } else { Err(Vec::new()) }))
}

/// The edits as they are to be made of the files as they are now, where somebody has written other lines of them since
/// the change was made; `None` if one does not fit beside what is there.
fn on_disk_now(world: &World, edits: &[FileEdit]) -> Option<Vec<FileEdit>> {
    let lookups: Vec<Lookup> = edits.iter().map(|edit| Lookup::Content(edit.path.clone())).collect();
    let answers = references::answer(&lookups, world.disk());
    let made = edits.iter().map(|edit| {
        let Some(LookupAnswer::Content(now)) = answers.get(&Lookup::Content(edit.path.clone())) else {
            return edit.before.is_none().then(|| edit.clone());
        };
        match (&edit.before, &edit.after) {
            (Some(before), _) if before == now => Some(edit.clone()),
            (Some(before), Some(after)) => {
                let after = Some(edit::rebase(before, after, now)?);
                Some(FileEdit { path: edit.path.clone(), before: Some(now.clone()), after })
            }
            _ => None,
        }
    });
    made.collect()
}

/// What was refused, for the result of the task: places only, since a result is read in many prompts.
fn told(edits: &[FileEdit], picked: &Picked, words: &str) -> String {
    let refused = edit::hunks(edits).into_iter().filter_map(|hunk| {
        let edited = picked.edited_hunks.contains(&hunk.number);
        (edited || picked.refused_hunks.contains(&hunk.number)).then(|| {
            let place = place(&hunk);
            if edited { Note::RefusedEdited.fill(&[("hunk", &place)]) } else { place }
        })
    });
    let refused = refused.collect::<Vec<_>>().join(", ");
    let text = Note::ChangesKeptInPart.fill(&[("refused", &refused), ("words", &fenced(words))]);
    text.trim_end().to_owned()
}

fn place(hunk: &Hunk) -> String {
    let (path, first, last) = (hunk.path.as_str(), hunk.first.to_string(), hunk.last.to_string());
    match hunk.kind {
        HunkKind::Creates => Note::RefusedCreation.fill(&[("path", path)]),
        HunkKind::Deletes => Note::RefusedDeletion.fill(&[("path", path)]),
        HunkKind::Lines if hunk.last < hunk.first => Note::RefusedInsertion.fill(&[("line", &last), ("path", path)]),
        HunkKind::Lines => Note::RefusedLines.fill(&[("first", &first), ("last", &last), ("path", path)]),
    }
}

/// What a model reads of a call whose changes were made in part; both diffs and the words of the person are fenced.
pub(super) fn output(world: &World, made: &str, refused: &RefusedPart) -> Result<String, DriveFault> {
    let diff = world.text(&refused.diff)?;
    let text = Note::ChangesAppliedInPart.fill(&[
        ("diff", &fence("diff", made)),
        ("refused", &fence("diff", &diff)),
        ("words", &fenced(&refused.words)),
    ]);
    Ok(text.trim_end().to_owned())
}

fn fenced(words: &str) -> String {
    if words.trim().is_empty() { String::new() } else { fence("text", words) }
}
