//! Decides a change set hunk by hunk at the terminal (spec 11.4), like `git add -p`.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use callsheet_app::RunCommand;
use callsheet_core::view::{DiffKind, DiffLine, diff_lines};
use callsheet_format::edit::{Hunk, HunkKind, HunkVerdict, header};
use callsheet_runtime::ports::GateView;
use callsheet_runtime::shown::Shown;
use console::Style;
use tokio_util::sync::CancellationToken;

use super::Words;
use super::person::{TerminalPerson, editor, show};

/// The text above a hunk in the editor.
const EDITING: &str = include_str!("hunk_in_editor.txt");

/// How a review continues after one hunk.
enum Step {
    Next,
    Back,
    Stay,
    /// All hunks have a verdict.
    End,
    Leave,
}

impl TerminalPerson {
    /// Asks about each hunk. The inner `None` means that the person left the review, and the gate asks as before.
    /// `None` means that nobody is there.
    pub(super) async fn review(&self, view: &GateView, cancel: &CancellationToken) -> Option<Option<RunCommand>> {
        let hunks = view.hunks.as_slice();
        let mut verdicts: BTreeMap<u32, HunkVerdict> = BTreeMap::new();
        let mut at = 0;
        loop {
            let Some(hunk) = hunks.get(at) else {
                let because = match told(hunks.len(), &verdicts) {
                    Some(said) => {
                        show(&Words::of(&format!("{said}\n")));
                        self.ask("Why not all of it? (Enter: no reason)\n> ", cancel).await?
                    }
                    None => String::new(),
                };
                return Some(Some(RunCommand::keep(view.gate.n, &verdicts, because)));
            };
            match self.one(hunk, hunks, &mut verdicts, cancel).await? {
                Step::Next => at += 1,
                Step::Back => at = at.saturating_sub(1),
                Step::Stay => {}
                Step::End => at = hunks.len(),
                Step::Leave => return Some(None),
            }
        }
    }

    async fn one(
        &self,
        hunk: &Hunk,
        all: &[Hunk],
        verdicts: &mut BTreeMap<u32, HunkVerdict>,
        cancel: &CancellationToken,
    ) -> Option<Step> {
        let edited = match verdicts.get(&hunk.number) {
            Some(HunkVerdict::Edited(text)) => Some(text.clone()),
            _ => None,
        };
        let shown = Hunk { text: edited.clone().unwrap_or_else(|| hunk.text.clone()), ..hunk.clone() };
        let mut words = Words::of("\n");
        words.append(&diff_text(&numbered_diff(std::slice::from_ref(&shown)), self.colour));
        show(&words);
        let so_far = match verdicts.get(&hunk.number) {
            Some(HunkVerdict::Keep) => ", kept so far",
            Some(HunkVerdict::Refuse) => ", rejected so far",
            Some(HunkVerdict::Edited(_)) => ", edited",
            None => "",
        };
        let question = format!(
            "Hunk {} of {}{so_far}: [y] keep  [n] reject  [e] edit  [a] keep this and the rest  \
             [d] reject this and the rest  [b] back  [q] leave\n> ",
            hunk.number,
            all.len()
        );
        let answer = self.ask(&question, cancel).await?;
        let keep = || edited.clone().map_or(HunkVerdict::Keep, HunkVerdict::Edited);
        Some(match answer.to_ascii_lowercase().as_str() {
            "y" | "yes" => {
                verdicts.insert(hunk.number, keep());
                Step::Next
            }
            "n" | "no" => {
                verdicts.insert(hunk.number, HunkVerdict::Refuse);
                Step::Next
            }
            "e" | "edit" => match self.edited(&shown, cancel).await? {
                Some(text) => {
                    verdicts.insert(hunk.number, HunkVerdict::Edited(text));
                    Step::Next
                }
                None => Step::Stay,
            },
            "a" => {
                verdicts.insert(hunk.number, keep());
                rest(all, hunk, &HunkVerdict::Keep, verdicts);
                Step::End
            }
            "d" => {
                verdicts.insert(hunk.number, HunkVerdict::Refuse);
                rest(all, hunk, &HunkVerdict::Refuse, verdicts);
                Step::End
            }
            "b" | "back" => Step::Back,
            "q" | "quit" | "leave" => Step::Leave,
            _ => {
                show(&Words::of("Please answer with one of the letters.\n"));
                Step::Stay
            }
        })
    }

    /// Opens the hunk in the person's editor. The inner `None` means that the person deleted the text or that no
    /// editor could be used.
    async fn edited(&self, hunk: &Hunk, cancel: &CancellationToken) -> Option<Option<String>> {
        let file = match temporary(&hunk_to_edit(hunk)) {
            Ok(file) => file,
            Err(error) => {
                show(&Words::of(&format!("can't create a file to edit: {error}\n")));
                return Some(None);
            }
        };
        self.open_editor(&file.display().to_string(), cancel).await?;
        let read = std::fs::read_to_string(&file);
        let _gone = std::fs::remove_file(&file);
        Some(match read.map(|text| hunk_of(&text)) {
            Ok(Some(text)) => Some(text),
            Ok(None) => {
                show(&Words::of("The file was empty, so the hunk is unchanged.\n"));
                None
            }
            Err(error) => {
                show(&Words::of(&format!("can't read the edited file: {error}\n")));
                None
            }
        })
    }
}

/// Gives this verdict to all later hunks that have none yet.
fn rest(all: &[Hunk], hunk: &Hunk, verdict: &HunkVerdict, verdicts: &mut BTreeMap<u32, HunkVerdict>) {
    for other in all.iter().filter(|other| other.number > hunk.number) {
        verdicts.entry(other.number).or_insert_with(|| verdict.clone());
    }
}

/// How many hunks of a set are kept, unless all are kept unchanged.
fn told(count: usize, verdicts: &BTreeMap<u32, HunkVerdict>) -> Option<String> {
    let of = |wanted: fn(&HunkVerdict) -> bool| verdicts.values().filter(|verdict| wanted(verdict)).count();
    let refused = of(|verdict| *verdict == HunkVerdict::Refuse);
    let edited = of(|verdict| matches!(verdict, HunkVerdict::Edited(_)));
    (refused + edited > 0).then(|| format!("{} of {count} hunks kept, {edited} of them edited", count - refused))
}

/// A hunk as text for the editor, after a description of possible edits.
pub fn hunk_to_edit(hunk: &Hunk) -> String {
    // Editors treat carriage returns as a fault. The file keeps its own.
    format!("{EDITING}{}", hunk.text.replace("\r\n", "\n"))
}

/// The hunk in the edited text. `None` if the person deleted it.
pub fn hunk_of(text: &str) -> Option<String> {
    holds_a_line(text).then(|| text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect())
}

fn holds_a_line(text: &str) -> bool {
    text.lines().any(|line| !(line.trim().is_empty() || line.starts_with('#') || line.starts_with("@@")))
}

/// Opens a file in the person's editor and waits until the editor ends.
///
/// # Errors
/// There is no editor, or it failed.
pub fn edit_file(file: &Path) -> Result<(), String> {
    let name = Shown::exact(&file.display().to_string());
    let Some(mut command) = editor() else {
        return Err(format!("set VISUAL or EDITOR to your editor, or edit {name} in another terminal"));
    };
    match command.arg(file).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the editor exited with {status}")),
        Err(error) => Err(format!("can't start the editor: {error}")),
    }
}

/// Opens a hunk in the person's editor and waits until the editor ends. `None` if the person deleted the hunk.
///
/// # Errors
/// There is no editor, or it failed.
pub fn edit_hunk(hunk: &Hunk) -> Result<Option<String>, String> {
    let file = temporary(&hunk_to_edit(hunk)).map_err(|error| format!("can't create a file to edit: {error}"))?;
    let edited = edit_file(&file)
        .and_then(|()| std::fs::read_to_string(&file).map_err(|error| format!("can't read the edited file: {error}")));
    let _gone = std::fs::remove_file(&file);
    edited.map(|text| hunk_of(&text))
}

/// Creates a new file that only this person can read.
fn temporary(text: &str) -> std::io::Result<PathBuf> {
    let folder = std::env::temp_dir();
    let mut last = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
    for number in 0..1_000u32 {
        match create(&folder.join(format!("callsheet-{}-{number}.diff", std::process::id())), text) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => last = error,
            made => return made,
        }
    }
    Err(last)
}

fn create(path: &Path, text: &str) -> std::io::Result<PathBuf> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())?;
    Ok(path.to_owned())
}

/// The hunks under the names of their files, each with its number.
pub(super) fn numbered_diff(hunks: &[Hunk]) -> String {
    let mut text = String::new();
    let mut file = "";
    for hunk in hunks {
        if hunk.path != file {
            file = &hunk.path;
            text.push_str(&header(file, hunk.kind));
        }
        match hunk.text.split_once('\n') {
            Some((head, lines)) => text.push_str(&format!("{head} hunk {}\n{lines}", hunk.number)),
            None if hunk.kind == HunkKind::Deletes => text.push_str(&format!("(an empty file) hunk {}\n", hunk.number)),
            None => text.push_str(&format!("(no lines) hunk {}\n", hunk.number)),
        }
    }
    text
}

/// A diff for the terminal.
pub(super) fn diff_text(diff: &str, colour: bool) -> Words {
    let mut words = Words::default();
    for DiffLine { kind, text: line, .. } in diff_lines(Shown::exact(diff).as_str()) {
        let style = match kind {
            DiffKind::Name => Some(Style::new().bold()),
            DiffKind::Added => Some(Style::new().green()),
            DiffKind::Removed => Some(Style::new().red()),
            DiffKind::Hunk => Some(Style::new().cyan()),
            DiffKind::Same | DiffKind::Note | DiffKind::Other => None,
        };
        words.push_str("  ");
        match style.filter(|_| colour) {
            Some(style) => words.paint(line, style),
            None => words.push_str(line),
        }
        words.push_str("\n");
    }
    words
}
