//! `skill new`: creates a commented skill file.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use callsheet_core::nouns::{SkillForm, SkillLayer, SkillSource};
use callsheet_format::skill::{SkillContext, SkillFile, read_skill};
use callsheet_runtime::skills::load_skills;

use crate::cli::{Exit, Failure, SkillNewArgs};
use crate::setup::{Setup, shell_word};
use crate::wiring::skill_dirs;

use super::skill::tool_specs;

pub(super) fn new(setup: &Setup, arguments: &SkillNewArgs) -> Result<Exit, Failure> {
    let name = arguments.name.as_str();
    let (layer, folder) = if arguments.user {
        (SkillLayer::User, setup.folders.config.join("skills"))
    } else {
        (SkillLayer::Project, setup.project.join(".callsheet/skills"))
    };
    let (form, text) = if arguments.folder {
        (SkillForm::Folder, include_str!("prompts/skill_folder.md").replace("{name}", name))
    } else {
        (SkillForm::SingleFile, include_str!("prompts/skill.md").to_owned())
    };
    let text = text.replace("{title}", &title(name));
    refuse_bad_name(setup, name, form, layer, &text)?;
    let single = folder.join(format!("{name}.md"));
    let inside = folder.join(name).join("SKILL.md");
    // Two skills with one name in one folder are an error, even in different forms (spec 7.5).
    for path in [&single, &inside] {
        if fs::symlink_metadata(path).is_ok() {
            return Err(Failure::usage(
                format!("{} exists", path.display()),
                "choose another name, or edit that file; nothing was written",
            ));
        }
    }
    let path = if arguments.folder { inside } else { single };
    let tools = tool_specs(setup);
    let loaded = load_skills(&skill_dirs(setup), SkillContext { tools: &tools, read_only_sandbox: false });
    let known = loaded.catalog.get(name).map(|skill| skill.source.clone());
    write(&path, &text).map_err(|error| {
        Failure::internal(
            format!("can't write {}: {error}", path.display()),
            "give yourself write access to the folder",
        )
    })?;
    if !arguments.user {
        super::trust::own(setup, &path, &text)?;
    }
    if setup.json {
        super::print_json(
            &serde_json::json!({ "name": name, "path": path.display().to_string(), "same_name": known }),
        )?;
        return Ok(Exit::Complete);
    }
    super::print(&format!("{}\n", path.display()))?;
    if let Some(source) = known {
        // Stronger layers are ordered first.
        let verb = if layer < source.layer { "replaces" } else { "is replaced by" };
        tell!("note: it {verb} the skill of that name in {}", source.path);
    }
    tell!("edit it, then: {} skill check {}", setup.command, shell_word(&path.to_string_lossy()));
    Ok(Exit::Complete)
}

/// The name as the beginning of a sentence.
fn title(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut letters = words.trim().chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Refuses an invalid name with the checks of the reader, which also keep the path inside the folder.
fn refuse_bad_name(setup: &Setup, name: &str, form: SkillForm, layer: SkillLayer, text: &str) -> Result<(), Failure> {
    if name.eq_ignore_ascii_case("readme") {
        return Err(Failure::usage(format!("Callsheet ignores a skill file named {name}"), "choose another name"));
    }
    let file = SkillFile {
        form,
        stem: name.to_owned(),
        source: SkillSource { layer, path: name.to_owned() },
        text: text.to_owned(),
    };
    let tools = tool_specs(setup);
    let (skill, issues) = read_skill(&file, SkillContext { tools: &tools, read_only_sandbox: false });
    match (skill, issues.first()) {
        (None, Some(issue)) => Err(Failure::usage(issue.message.clone(), issue.advice.clone())),
        (Some(skill), None) if skill.name == name => Ok(()),
        _ => Err(Failure::usage(format!("\"{name}\" is not a valid name"), "use words of a-z, A-Z, 0-9, `-` and `_`")),
    }
}

/// A file that somebody else creates in the meantime is not overwritten either.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
