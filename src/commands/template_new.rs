//! `template new`: creates a commented template.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use callsheet_core::template::is_template_name;
use callsheet_format::template::Layer;
use callsheet_runtime::templates::load_templates;

use crate::cli::{Exit, Failure, TemplateNewArgs, operators};
use crate::setup::{Setup, shell_word};
use crate::wiring::template_dirs;

pub(super) fn new(setup: &Setup, arguments: &TemplateNewArgs) -> Result<Exit, Failure> {
    let name = arguments.name.as_str();
    if !is_template_name(name) {
        let what = format!("\"{name}\" is not a valid name");
        return Err(Failure::usage(what, "start with a letter or `_`; then use letters, digits, `_`, `-` and `.`"));
    }
    let (layer, folder) = if arguments.user {
        (Layer::User, setup.folders.config.join("templates"))
    } else {
        (Layer::Project, setup.project.join(".callsheet/templates"))
    };
    let path = folder.join(format!("{name}.yaml"));
    if fs::symlink_metadata(&path).is_ok() {
        let what = format!("{} exists", path.display());
        return Err(Failure::usage(what, "choose another name, or edit that file; nothing was written"));
    }
    let loaded = load_templates(&template_dirs(setup), &crate::library::known(setup), false);
    let known = loaded.library.get(name).map(|known| (known.layer, known.template.origin.file.clone()));
    if let Some((_, file)) = known.as_ref().filter(|(other, _)| *other == layer) {
        let what = format!("{file} already contains a template with that name");
        return Err(Failure::usage(what, "choose another name, or edit that file; nothing was written"));
    }
    let example = operators().find(|(facts, ..)| facts.word == arguments.operator).map(|(_, _, example)| example);
    let text = example.unwrap_or_default().replace("NAME", name);
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
        let same = known.map(|(_, file)| file);
        let row = serde_json::json!({ "name": name, "path": path.display().to_string(), "same_name": same });
        return super::print_json(&row).map(|()| Exit::Complete);
    }
    super::print(&format!("{}\n", path.display()))?;
    if let Some((other, file)) = known {
        let verb = if layer > other { "replaces" } else { "is replaced by" };
        tell!("note: it {verb} the template of that name in {file}");
    }
    tell!("edit it, then: {} template check {}", setup.command, shell_word(&path.to_string_lossy()));
    Ok(Exit::Complete)
}

/// A file that somebody else creates in the meantime is not overwritten either.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
