//! The files of a project that wait for the user's trust (spec 12.7). `trust` lists them. They are also reported at
//! the start of runs, in `doctor`, and in lists of skills, templates and prompts.

use std::path::Path;

use callsheet_app::Advice;
use callsheet_core::visible::{visible, visible_line};
use callsheet_format::skill::SkillContext;
use callsheet_runtime::prompts::load_prompts;
use callsheet_runtime::skills::load_skills;
use callsheet_runtime::trust::LeftOut;

use crate::cli::Failure;
use crate::setup::Setup;
use crate::wiring::{prompt_dirs, skill_dirs, tool_specs};

/// The templates, skills and prompts of the project that are left out until they are trusted.
///
/// # Errors
/// The configuration cannot be read.
pub fn left_out(setup: &Setup) -> Result<Vec<LeftOut>, Failure> {
    let tools = tool_specs(setup);
    let skills = load_skills(&skill_dirs(setup), SkillContext { tools: &tools, read_only_sandbox: false });
    let templates = crate::library::load(setup)?;
    let prompts = load_prompts(&prompt_dirs(setup));
    #[cfg(feature = "mcp")]
    let servers = crate::servers::left_out(setup);
    #[cfg(not(feature = "mcp"))]
    let servers = None;
    Ok(servers
        .into_iter()
        .chain(skills.left_out)
        .chain(templates.left_out.iter().cloned())
        .chain(prompts.left_out)
        .collect())
}

/// A line about the files that are left out. `None` if there are none.
pub fn left_out_words(setup: &Setup, left_out: &[LeftOut]) -> Option<String> {
    let files: Vec<String> = left_out.iter().map(|one| shown(setup, &one.path)).collect();
    let what = files.join(", ");
    let call = &setup.command;
    (!files.is_empty())
        .then(|| format!("skipped until you trust them: {what}. `{call} trust` lists what they could do"))
}

/// The failure that explains why something with this name is missing, if it is left out.
pub fn why_left_out(setup: &Setup, left_out: &[LeftOut], kind: &str, name: &str) -> Option<Failure> {
    let one = left_out.iter().find(|one| one.kind == kind && one.names.iter().any(|known| known == name))?;
    let what = format!("skipped the {kind} \"{name}\": {} could {}", shown(setup, &one.path), one.gains.join(", "));
    Some(Failure::usage(visible(&what), Advice::command("read the file, then", ["trust"])))
}

/// A path as a person sees it: relative to the project if it is inside.
pub fn shown(setup: &Setup, path: &Path) -> String {
    visible_line(&path.strip_prefix(&setup.project).unwrap_or(path).display().to_string())
}
