//! Prompt templates of all layers (spec 8.1): the project's, then the user's, then the bundled ones.

use std::fs;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::BlobId;
use callsheet_core::prompt::PromptError;
use callsheet_format::prompt::{PromptKey, TemplateSource, Templates};

use crate::paths::{read_regular, read_regular_text};
use crate::trust::{LeftOut, Trusted};

/// Where templates are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptDirs {
    /// The project's root; its `.callsheet/prompts/` is read.
    pub project: Option<PathBuf>,
    /// The user's prompts directory.
    pub user: Option<PathBuf>,
    /// Files of the project that its user trusts.
    pub trusted: Trusted,
}

/// The templates of a run. Load once and keep for the run; the driver records which were used, by hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedPrompts {
    /// One text per key, the strongest layer's.
    pub templates: Templates,
    /// Files of the directories that are no template, each with the text of spec 8.6.
    pub unknown: Vec<(PathBuf, PromptError)>,
    /// Files of the project that are not used until they are trusted (spec 12.7).
    pub left_out: Vec<LeftOut>,
    /// Files of the project that are links, and therefore not read.
    pub links: Vec<PathBuf>,
}

/// Reads every layer: a few small files. Blocks. An unusable file is an error only when its key is used.
pub fn load_prompts(dirs: &PromptDirs) -> LoadedPrompts {
    let project = dirs.project.as_ref().map(|root| root.join(".callsheet/prompts"));
    let layers: Vec<PathBuf> = project.clone().into_iter().chain(dirs.user.clone()).collect();
    let mut loaded =
        LoadedPrompts { templates: Templates::bundled(), unknown: Vec::new(), left_out: Vec::new(), links: Vec::new() };
    for key in PromptKey::ALL {
        let file = layers
            .iter()
            .flat_map(|dir| key.stems().iter().map(move |stem| dir.join(format!("{stem}.md"))))
            .filter(|file| file.exists())
            .find(|file| project.as_ref().is_none_or(|own| !file.starts_with(own)) || loaded.takes(*key, file, dirs));
        if let Some(file) = file {
            let text = read_regular_text(&file).map_err(|fault| fault.to_string());
            loaded.templates.replace(*key, TemplateSource { path: file.display().to_string(), text });
        }
    }
    for dir in &layers {
        loaded.unknown.extend(unknown_files(dir));
    }
    loaded
}

impl LoadedPrompts {
    /// Whether a prompt of the project is used. It is not used if it is a link, or if it differs from the bundled one
    /// and its current text is not trusted.
    fn takes(&mut self, key: PromptKey, file: &Path, dirs: &PromptDirs) -> bool {
        if file.is_symlink() {
            self.links.push(file.to_path_buf());
            return false;
        }
        // An unreadable file is reported when the prompt is used.
        let Ok(content) = read_regular(file) else { return true };
        if content == Templates::bundled_text(key).as_bytes() || dirs.trusted.holds(file, &content) {
            return true;
        }
        self.left_out.push(LeftOut {
            path: file.to_path_buf(),
            hash: BlobId::of(&content),
            kind: "prompt",
            names: vec![key.as_str().to_owned()],
            gains: vec![format!("replace the prompt {}", key.as_str())],
        });
        false
    }
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
