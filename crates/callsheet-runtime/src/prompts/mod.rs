//! Prompt templates of all layers (spec 8.1): the project's, then the user's, then the bundled ones.

use std::fs;
use std::path::{Path, PathBuf};

use callsheet_core::prompt::{PromptError, PromptKey, TemplateSource, Templates};

/// Where templates are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptDirs {
    /// The project's root; its `.callsheet/prompts/` is read.
    pub project: Option<PathBuf>,
    /// The user's prompts directory.
    pub user: Option<PathBuf>,
}

/// The templates of a run. Load once and keep for the run; the driver records which were used, by hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedPrompts {
    /// One text per key, the strongest layer's.
    pub templates: Templates,
    /// Files of the directories that are no template, each with the text of spec 8.6.
    pub unknown: Vec<(PathBuf, PromptError)>,
}

/// Reads every layer. Blocking: a few small files. A file that cannot be used is an error only when its key is used.
pub fn load_prompts(dirs: &PromptDirs) -> LoadedPrompts {
    let project = dirs.project.as_ref().map(|root| root.join(".callsheet/prompts"));
    let layers: Vec<PathBuf> = project.into_iter().chain(dirs.user.clone()).collect();
    let mut loaded = LoadedPrompts { templates: Templates::bundled(), unknown: Vec::new() };
    for key in PromptKey::ALL {
        let file = layers
            .iter()
            .flat_map(|dir| key.stems().iter().map(move |stem| dir.join(format!("{stem}.md"))))
            .find(|file| file.exists());
        if let Some(file) = file {
            let text = fs::read_to_string(&file).map_err(|fault| fault.to_string());
            loaded.templates.replace(*key, TemplateSource { path: file.display().to_string(), text });
        }
    }
    for dir in &layers {
        loaded.unknown.extend(unknown_files(dir));
    }
    loaded
}

fn unknown_files(dir: &Path) -> Vec<(PathBuf, PromptError)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut unknown: Vec<(PathBuf, PromptError)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let stem = path.file_name()?.to_str()?.strip_suffix(".md")?;
            let fault = stem.parse::<PromptKey>().err()?;
            Some((path, fault))
        })
        .collect();
    unknown.sort_by(|a, b| a.0.cmp(&b.0));
    unknown
}
