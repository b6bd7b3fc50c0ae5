//! The hunks of a change set: what a person sees, and what remains of the set when they keep some, skip others, or
//! rewrite one (spec 11.4).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::{DiffOp, DiffTag, TextDiff};

use super::FileEdit;
use super::edited::{self, EditFault};

/// How many lines of context surround a hunk.
const CONTEXT: usize = 3;

/// The line after a last line without a line ending.
pub(super) const NO_NEWLINE: &str = "\\ No newline at end of file";

/// One hunk of a change set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Its number in the set, counted from 1 in the order of files and lines.
    pub number: u32,
    /// File, relative to the project root.
    pub path: String,
    /// Its effect on the file.
    pub kind: HunkKind,
    /// The hunk as in a unified diff, from its `@@` on. Empty if an empty file is created or deleted.
    pub text: String,
    /// First line of the old file that it changes, counted from 1.
    pub first: u32,
    /// Last such line. One less than `first` if it only adds lines.
    pub last: u32,
}

/// The effect of a hunk on its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HunkKind {
    /// It changes lines.
    Lines,
    /// It creates the file. Such a file has one hunk.
    Creates,
    /// It deletes the file. Such a file has one hunk.
    Deletes,
}

/// A person's verdict on one hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HunkVerdict {
    /// It is made.
    Keep,
    /// Skip it.
    Refuse,
    /// Apply it as in this text: the hunk with other `+` lines, with `-` lines turned into context, or the reverse.
    Edited(String),
}

/// A verdict on the hunk with this number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkPick {
    /// Number of the hunk.
    pub number: u32,
    /// The verdict.
    pub verdict: HunkVerdict,
}

/// What remains of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    /// The files that still change.
    pub edits: Vec<FileEdit>,
    /// For every file that differs: from the kept text to the proposed one.
    pub refused: Vec<FileEdit>,
    /// Numbers of the skipped hunks.
    pub refused_hunks: Vec<u32>,
    /// Numbers of the edited hunks.
    pub edited_hunks: Vec<u32>,
}

/// Why verdicts cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PickFault {
    /// No such hunk.
    #[error("there is no hunk {number}; there are {count}")]
    Unknown {
        /// Number given.
        number: u32,
        /// Number of hunks in the set.
        count: u32,
    },
    /// An edited hunk does not fit its file.
    #[error("hunk {number}: {fault}")]
    Edit {
        /// Number of the hunk.
        number: u32,
        /// What is wrong with its text.
        fault: EditFault,
    },
}

/// All hunks of a set, numbered through.
pub fn hunks(edits: &[FileEdit]) -> Vec<Hunk> {
    let mut found = Vec::new();
    for edit in edits {
        let diff = FileDiff::of(edit.before.as_deref(), edit.after.as_deref());
        for group in &diff.groups {
            let number = u32::try_from(found.len()).unwrap_or(u32::MAX).saturating_add(1);
            let (kind, text) = (diff.kind, diff.text(group));
            let (first, last) = group.changed();
            found.push(Hunk { number, path: edit.path.clone(), kind, text, first, last });
        }
    }
    found
}

/// Whether the hunks of two sets have the same lines, byte for byte, wherever they are in a file.
pub fn has_same_lines(shown: &[FileEdit], now: &[FileEdit]) -> bool {
    let lines = |edits| {
        let hunks = hunks(edits).into_iter();
        let lines = |hunk: Hunk| (hunk.path, hunk.kind, hunk.text.split_once('\n').map(|(_, rest)| rest.to_owned()));
        hunks.map(lines).collect::<Vec<_>>()
    };
    lines(shown) == lines(now)
}

/// What remains of a set after hunks are kept, skipped or edited. A hunk without a verdict is skipped; of several
/// verdicts on one hunk, the last counts. If all hunks are kept, the result is the set itself; if none is kept, it has
/// no edit.
///
/// # Errors
/// A number that does not exist, or an edited text that does not fit the file.
pub fn pick(edits: &[FileEdit], picks: &[HunkPick]) -> Result<Picked, PickFault> {
    let verdicts: BTreeMap<u32, &HunkVerdict> = picks.iter().map(|pick| (pick.number, &pick.verdict)).collect();
    let mut picked = Picked::default();
    let mut count = 0u32;
    for edit in edits {
        let diff = FileDiff::of(edit.before.as_deref(), edit.after.as_deref());
        let mut chosen = Vec::new();
        for _ in &diff.groups {
            count = count.saturating_add(1);
            let verdict = verdicts.get(&count).copied().unwrap_or(&HunkVerdict::Refuse);
            match verdict {
                HunkVerdict::Keep => {}
                HunkVerdict::Refuse => picked.refused_hunks.push(count),
                HunkVerdict::Edited(_) => picked.edited_hunks.push(count),
            }
            chosen.push((count, verdict));
        }
        let after = diff.taken(edit, &chosen)?;
        if after != edit.after {
            let (path, asked) = (edit.path.clone(), edit.after.clone());
            picked.refused.push(FileEdit { path, before: after.clone(), after: asked });
        }
        if after != edit.before {
            picked.edits.push(FileEdit { after, ..edit.clone() });
        }
    }
    match verdicts.keys().find(|number| **number == 0 || **number > count) {
        Some(number) => Err(PickFault::Unknown { number: *number, count }),
        None => Ok(picked),
    }
}

/// The unified diff of one file in the form that `patch -p1` reads. `None` means that the file does not exist. Empty if
/// nothing changes.
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let diff = FileDiff::of(before, after);
    let hunks: String = diff.groups.iter().map(|group| diff.text(group)).collect();
    format!("{}{hunks}", header(path, diff.kind))
}

/// The first two lines of a file's unified diff.
pub fn header(path: &str, kind: HunkKind) -> String {
    let old = if kind == HunkKind::Creates { "/dev/null".to_owned() } else { format!("a/{path}") };
    let new = if kind == HunkKind::Deletes { "/dev/null".to_owned() } else { format!("b/{path}") };
    format!("--- {old}\n+++ {new}\n")
}

/// The diff of a whole set, with the files in the given order.
pub fn diff_of(edits: &[FileEdit]) -> String {
    edits.iter().map(|edit| unified(&edit.path, edit.before.as_deref(), edit.after.as_deref())).collect()
}

/// Consecutive changed lines with their context.
struct Group {
    ops: Vec<DiffOp>,
    old: Range<usize>,
    new: Range<usize>,
}

impl Group {
    fn of(ops: Vec<DiffOp>) -> Self {
        let range = |side: fn(&DiffOp) -> Range<usize>| {
            let start = ops.first().map_or(0, |op| side(op).start);
            start..ops.last().map_or(start, |op| side(op).end)
        };
        let (old, new) = (range(DiffOp::old_range), range(DiffOp::new_range));
        Self { ops, old, new }
    }

    /// First and last changed line of the old file, without the context.
    fn changed(&self) -> (u32, u32) {
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let mut changes = self.ops.iter().filter(|op| op.tag() != DiffTag::Equal).map(DiffOp::old_range);
        let first = changes.next().unwrap_or_default();
        let end = changes.next_back().map_or(first.end, |last| last.end);
        (number(first.start).saturating_add(1), number(end))
    }
}

/// One file before and after, as lines. Only a line feed ends a line, so the joined lines are the text, byte for byte.
struct FileDiff<'a> {
    kind: HunkKind,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    groups: Vec<Group>,
}

impl<'a> FileDiff<'a> {
    fn of(before: Option<&'a str>, after: Option<&'a str>) -> Self {
        let lines = |text: Option<&'a str>| text.unwrap_or("").split_inclusive('\n').collect::<Vec<_>>();
        let (old, new) = (lines(before), lines(after));
        let kind = match (before, after) {
            (None, Some(_)) => HunkKind::Creates,
            (Some(_), None) => HunkKind::Deletes,
            _ => HunkKind::Lines,
        };
        let ops = TextDiff::configure().diff_slices(&old, &new).grouped_ops(CONTEXT);
        let changes = |ops: &Vec<DiffOp>| ops.iter().any(|op| op.tag() != DiffTag::Equal);
        let mut groups: Vec<Group> = ops.into_iter().filter(changes).map(Group::of).collect();
        if groups.is_empty() && kind != HunkKind::Lines {
            groups.push(Group::of(Vec::new()));
        }
        Self { kind, old, new, groups }
    }

    fn text(&self, group: &Group) -> String {
        if group.ops.is_empty() {
            return String::new();
        }
        let mut text = format!("@@ -{} +{} @@\n", range(&group.old), range(&group.new));
        let mut put = |mark: char, lines: &[&str]| {
            for line in lines {
                text.push(mark);
                text.push_str(line);
                if !line.ends_with('\n') {
                    text.push_str(&format!("\n{NO_NEWLINE}\n"));
                }
            }
        };
        for op in &group.ops {
            match op.tag() {
                DiffTag::Equal => put(' ', between(&self.old, &op.old_range())),
                _ => {
                    put('-', between(&self.old, &op.old_range()));
                    put('+', between(&self.new, &op.new_range()));
                }
            }
        }
        text
    }

    /// The text of the file with these verdicts on its hunks.
    fn taken(&self, edit: &FileEdit, verdicts: &[(u32, &HunkVerdict)]) -> Result<Option<String>, PickFault> {
        if verdicts.iter().all(|(_, verdict)| **verdict == HunkVerdict::Keep) {
            return Ok(edit.after.clone());
        }
        if verdicts.iter().all(|(_, verdict)| **verdict == HunkVerdict::Refuse) {
            return Ok(edit.before.clone());
        }
        let mut text = String::new();
        let mut at = 0;
        for (group, (number, verdict)) in self.groups.iter().zip(verdicts) {
            text.extend(between(&self.old, &(at..group.old.start)).iter().copied());
            let old = between(&self.old, &group.old);
            let new = between(&self.new, &group.new);
            match verdict {
                HunkVerdict::Keep => text.extend(new.iter().copied()),
                HunkVerdict::Refuse => text.extend(old.iter().copied()),
                HunkVerdict::Edited(edited) => {
                    let adds = group.ops.iter().filter(|op| op.tag() != DiffTag::Equal);
                    let added = adds.flat_map(|op| between(&self.new, &op.new_range())).copied().collect::<Vec<_>>();
                    let stretch = edited::Stretch {
                        old,
                        added: &added,
                        ends_file: group.old.end >= self.old.len(),
                        ending: super::text::ending(edit.before.as_deref().or(edit.after.as_deref()).unwrap_or("")),
                    };
                    let lines = stretch.apply(edited).map_err(|fault| PickFault::Edit { number: *number, fault })?;
                    text.push_str(&lines);
                }
            }
            at = group.old.end;
        }
        text.extend(between(&self.old, &(at..self.old.len())).iter().copied());
        Ok(if self.kind == HunkKind::Deletes && text.is_empty() { None } else { Some(text) })
    }
}

fn between<'b, 'a>(lines: &'b [&'a str], range: &Range<usize>) -> &'b [&'a str] {
    lines.get(range.clone()).unwrap_or_default()
}

/// A range of lines in the form for the head of a hunk.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start.saturating_add(1)),
        count => format!("{},{count}", lines.start.saturating_add(1)),
    }
}
