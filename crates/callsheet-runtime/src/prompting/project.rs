//! What prompts say about the project: its description, its files, and the file that a person has open.

use callsheet_core::nouns::{Phase, tokens};
use callsheet_format::prompt::CurrentFile;
use callsheet_format::sheet::split_mark;

use crate::material::RankedFile;
use crate::paths::printable;
use crate::references;
use crate::rules::{Omitted, room, rules};
use crate::services::Services;

/// The maximum number of tokens of the project's description in a prompt.
const DESCRIPTION_TOKENS: u32 = 1_500;

/// The maximum number of files whose paths a planner is shown.
const LISTED: usize = 100;
/// The maximum number of tokens for these paths.
const LISTED_TOKENS: u32 = 800;

/// What a prompt of a phase says about the project: its rules, else its README, else a summary of its files; empty if
/// there is none of these. An execution gets no summary: it sees what its task names, and a new file must not change
/// its prompt. If the prompt also lists the files, the summary does not. `read` holds the files that the task reads.
pub(crate) fn project_description(
    services: &Services,
    phase: Phase,
    read: &[String],
    window: Option<u32>,
) -> (String, Vec<Omitted>) {
    if let Some(rules) = rules(&services.workspace, read, room(window)) {
        return (rules.text, rules.omitted);
    }
    (described(services, phase), Vec::new())
}

fn described(services: &Services, phase: Phase) -> String {
    let Some(excerpt) = references::project_description(&services.workspace) else {
        let snapshots = &services.snapshots;
        let (kept, names) = match phase {
            Phase::Plan | Phase::Iterate | Phase::Continue => (&snapshots.overview_without_names, false),
            Phase::Refine => (&snapshots.overview, true),
            _ => return String::new(),
        };
        return kept.get_or_init(|| references::overview(&services.workspace, names).unwrap_or_default()).clone();
    };
    let text = references::cut(&excerpt, DESCRIPTION_TOKENS).text;
    split_mark(&text).1.replace("\r\n", "\n")
}

/// Paths of the project's files, those most related to the request first, with a note on how many are left out. They
/// stay as they were when they were first requested, so that all prompts of a run begin alike.
pub(crate) fn project_files(services: &Services, request: &str) -> Vec<String> {
    services.snapshots.listed.get_or_init(|| listed(files_for(services, request))).clone()
}

/// All files of the project: those that match a text first, best first; then the others, those in few folders first,
/// each in path order.
pub(crate) fn files_for(services: &Services, text: &str) -> Vec<RankedFile> {
    let mut files = services.snapshots.words.rank(&services.workspace, text);
    let fitting = files.iter().take_while(|file| file.score > 0.0).count();
    // The sort is stable: the others stay in path order.
    files.get_mut(fitting..).unwrap_or_default().sort_by_key(|file| file.path.matches('/').count());
    files
}

fn listed(files: Vec<RankedFile>) -> Vec<String> {
    let total = files.len();
    let mut left = LISTED_TOKENS;
    let mut paths = Vec::new();
    for file in files.into_iter().take(LISTED) {
        let path = printable(&file.path);
        // Its list mark and its line end count too.
        let Some(rest) = left.checked_sub(tokens(&path).saturating_add(1)) else { break };
        left = rest;
        paths.push(path);
    }
    if paths.len() < total {
        paths.push(references::names_omitted(total - paths.len()));
    }
    paths
}

/// The file that a person has open, with its beginning.
pub(crate) fn current_file(services: &Services) -> Option<CurrentFile> {
    let path = services.current_file.clone()?;
    let located = services.workspace.locate(&path).ok()?;
    let bytes = services.workspace.read(&located, 256 * 1024).ok()?;
    let text = if bytes.is_binary() { String::new() } else { String::from_utf8_lossy(&bytes.bytes).into_owned() };
    Some(CurrentFile { language: references::language(&path).to_owned(), path, text })
}
