//! The part of a change set that a person keeps (spec 11.4). The kept hunks become a new set, validated as a whole, and
//! the skipped hunks are recorded for the model and for the result of the task.

use callsheet_core::events::{self, Event};
use callsheet_core::issue::Issue;
use callsheet_core::nouns::{BlobId, Slug};
use callsheet_core::prompt::Note;
use callsheet_core::record::{Answer, ChangeSet, FileChange, Gate, GateKind, RefusedPart};
use callsheet_format::edit;
use callsheet_format::edit::{FileEdit, Hunk, HunkKind, Picked};
use callsheet_format::reading::{Answer as LookupAnswer, Lookup};

use crate::effects::stage;
use crate::fault::DriveFault;
use crate::ports::{PartAnswer, Store, StoreFault};
use crate::prompting::conversation::fenced;
use crate::references;
use crate::services::Services;

/// The result of verdicts on single hunks.
pub(crate) enum HunkAnswer {
    /// An answer to record.
    Answer(Answer),
    /// The verdicts cannot be accepted. Lines for a person say why.
    Invalid(Vec<String>),
    /// The set adapted to the current files. The gate must show it instead of the one that was answered.
    Moved(ChangeSet),
}

/// Shown at the gate of a change that no longer fits.
const NO_LONGER_FITS: &str = "a file of this change has changed since, and the change no longer fits: approve it to have the task make it again \
     from the current file, or deny it";

/// The hunks of a set. Empty if one of its files is not text.
pub(crate) fn hunks(store: &dyn Store, changes: &ChangeSet) -> Result<Vec<Hunk>, StoreFault> {
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
pub(crate) fn fault(store: &dyn Store, changes: &ChangeSet, part: &PartAnswer) -> Result<Option<String>, StoreFault> {
    let edits = edits(store, changes)?;
    Ok(edits.and_then(|edits| edit::pick(&edits, &part.hunks).err()).map(|fault| fault.to_string()))
}

/// Makes an answer from verdicts on the hunks of a waiting set.
pub(crate) fn answer(services: &Services, changes: &ChangeSet, part: &PartAnswer) -> Result<HunkAnswer, DriveFault> {
    let Some(edits) = edits(&*services.store, changes)? else {
        return Ok(HunkAnswer::Invalid(vec!["the change is not text, so you can only approve it whole".to_owned()]));
    };
    let picked = match edit::pick(&edits, &part.hunks) {
        Ok(picked) => picked,
        Err(fault) => return Ok(HunkAnswer::Invalid(vec![fault.to_string()])),
    };
    let moved = moved(services, changes)?;
    if let Moved::Adapted(set) = moved {
        return Ok(HunkAnswer::Moved(set));
    }
    if picked.edits == edits {
        return Ok(HunkAnswer::Answer(Answer::Listed));
    }
    if picked.edits.is_empty() {
        return Ok(HunkAnswer::Answer(Answer::Deny { words: part.words.clone() }));
    }
    // Checked now, while the person is there. Changes to a file after this are noticed when the set is applied.
    if let Err(issues) = stage::keep(services, &on_disk_now(services, &picked.edits).unwrap_or(picked.edits.clone()))? {
        let lost = matches!(moved, Moved::Lost).then(|| NO_LONGER_FITS.to_owned());
        return Ok(HunkAnswer::Invalid(issues.iter().map(ToString::to_string).chain(lost).collect()));
    }
    let kept = part_of(services, changes, &picked.edits)?;
    let diff = services.store.put_blob(edit::diff_of(&picked.refused).as_bytes())?;
    let refused = RefusedPart { diff, told: rejection_note(&edits, &picked, &part.words), words: part.words.clone() };
    Ok(HunkAnswer::Answer(Answer::Part { kept, refused }))
}

/// These edits of a set as a separate set, made from the files as they were shown.
fn part_of(services: &Services, changes: &ChangeSet, edits: &[FileEdit]) -> Result<ChangeSet, StoreFault> {
    let keep = |text: &Option<String>| text.as_ref().map(|text| services.store.put_blob(text.as_bytes())).transpose();
    let mut files = Vec::with_capacity(edits.len());
    for edit in edits {
        let mode = changes.files.iter().find(|file| file.path == edit.path).and_then(|file| file.mode);
        let (before, after) = (keep(&edit.before)?, keep(&edit.after)?);
        files.push(FileChange { path: edit.path.clone(), before, after, mode });
    }
    Ok(ChangeSet { files, diff: Some(services.store.put_blob(edit::diff_of(edits).as_bytes())?) })
}

/// What happened to a set that waits at a gate.
pub(crate) enum Moved {
    /// A person would still see the same lines in it.
    No,
    /// The set adapted to the current files.
    Adapted(ChangeSet),
    /// It does not fit the files any more.
    Lost,
}

/// Whether the files of a waiting set have changed so that its gate shows something wrong.
pub(crate) fn moved(services: &Services, changes: &ChangeSet) -> Result<Moved, DriveFault> {
    let Some(shown) = edits(&*services.store, changes)? else { return Ok(Moved::No) };
    let lookups: Vec<Lookup> = shown.iter().map(|edit| Lookup::Content(edit.path.clone())).collect();
    let answers = references::answer(&lookups, services.disk());
    let is_as_before = |edit: &FileEdit| match answers.get(&Lookup::Content(edit.path.clone())) {
        Some(LookupAnswer::Content(now)) => edit.before.as_ref() == Some(now),
        _ => edit.before.is_none(),
    };
    if shown.iter().all(is_as_before) {
        return Ok(Moved::No);
    }
    Ok(match rebased(services, changes)? {
        Ok((_, true)) => Moved::No,
        Ok((set, false)) => Moved::Adapted(set),
        Err(_) => Moved::Lost,
    })
}

/// Reports that a change no longer fits.
pub(crate) fn tell_lost(services: &Services, task: &Slug) {
    services.notice(&format!("note: {task}: {NO_LONGER_FITS}"));
}

/// The event that replaces a waiting set by one that fits the current files. The person is told.
pub(crate) fn adapted(services: &Services, gate: &Gate, changes: ChangeSet) -> Option<Event> {
    let GateKind::BeforeApply { task, run, set } = &gate.kind else { return None };
    services.notice(&format!("note: {task}: a file changed in the meantime; here is the change adapted to it"));
    let (task, run, set) = (task.clone(), run.clone(), *set);
    Some(events::ChangesRebased { task, run, set, changes, as_shown: false }.into())
}

/// A set adapted to the current files, and whether a person sees the same lines in it; or why there is none. The issues
/// are empty if the files themselves leave no room for it.
pub(crate) fn rebased(
    services: &Services,
    changes: &ChangeSet,
) -> Result<Result<(ChangeSet, bool), Vec<Issue>>, DriveFault> {
    let Some(shown) = edits(&*services.store, changes)? else { return Ok(Err(Vec::new())) };
    let Some(now) = on_disk_now(services, &shown) else { return Ok(Err(Vec::new())) };
    // A path that became a link leads to a file other than the one that was shown.
    let leads =
        |set: &ChangeSet| set.files.iter().map(|file| &file.path).eq(changes.files.iter().map(|file| &file.path));
    let set = stage::keep(services, &now)?;
    Ok(set.and_then(|set| if leads(&set) { Ok((set, edit::has_same_lines(&shown, &now))) } else { Err(Vec::new()) }))
}

/// The edits adapted to the current files, in which somebody has changed other lines since. `None` if one does not fit
/// with the current content.
fn on_disk_now(services: &Services, edits: &[FileEdit]) -> Option<Vec<FileEdit>> {
    let lookups: Vec<Lookup> = edits.iter().map(|edit| Lookup::Content(edit.path.clone())).collect();
    let answers = references::answer(&lookups, services.disk());
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

/// What was skipped, for the result of the task. Names only places, because many prompts contain the result.
fn rejection_note(edits: &[FileEdit], picked: &Picked, words: &str) -> String {
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
