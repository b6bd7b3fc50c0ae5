//! Bundled skills: the files of `skills/`.

use callsheet_core::nouns::{SkillForm, SkillLayer, SkillSource};
use callsheet_format::skill::SkillFile;

macro_rules! bundled {
    ($($name:literal),+ $(,)?) => {
        const FILES: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../../skills/", $name, ".md")))),+
        ];
    };
}

bundled!(
    "answer_from_documents",
    "edit_code",
    "edit_document",
    "explore_code",
    "find_code",
    "read_files",
    "review_change",
    "run_checks",
    "write_document",
);

/// The bundled skill files, sorted by name.
pub fn bundled_files() -> Vec<SkillFile> {
    FILES
        .iter()
        .map(|(name, text)| SkillFile {
            form: SkillForm::SingleFile,
            stem: (*name).to_owned(),
            source: SkillSource { layer: SkillLayer::Bundled, path: format!("bundled: {name}.md") },
            text: (*text).to_owned(),
        })
        .collect()
}
