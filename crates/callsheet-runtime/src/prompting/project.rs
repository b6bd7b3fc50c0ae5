//! What prompts tell of the project: its description, and the file a person has open.

use callsheet_format::prompt::CurrentFile;
use callsheet_format::sheet::split_mark;

use crate::references;
use crate::services::Services;

/// Tokens of the project's description in a prompt.
const DESCRIPTION_TOKENS: u32 = 1_500;

/// The project's description (AGENTS.md, else README, else what its files tell); empty if there is none.
pub(crate) fn project_description(services: &Services) -> String {
    let Some(excerpt) = references::project_description(&services.workspace) else {
        let overview = || references::overview(&services.workspace).unwrap_or_default();
        return services.snapshots.overview.get_or_init(overview).clone();
    };
    let text = references::cut(&excerpt, DESCRIPTION_TOKENS).text;
    split_mark(&text).1.replace("\r\n", "\n")
}

/// The file a person has open, with its beginning.
pub(crate) fn current_file(services: &Services) -> Option<CurrentFile> {
    let path = services.current_file.clone()?;
    let located = services.workspace.locate(&path).ok()?;
    let bytes = services.workspace.read(&located, 256 * 1024).ok()?;
    let text = if bytes.is_binary() { String::new() } else { String::from_utf8_lossy(&bytes.bytes).into_owned() };
    Some(CurrentFile { language: references::language(&path).to_owned(), path, text })
}
