//! One directory of skills: `<name>.md` files and `<name>/SKILL.md` folders (spec 7.1, 7.2).

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::{SkillForm, SkillLayer, SkillSource};
use callsheet_format::skill::{MAX_SKILL_BYTES, SkillFile, SkillIssue};

use super::unreadable;

/// A directory with more entries contains something other than skills.
const MAX_ENTRIES: usize = 1_000;

/// A file and, in folder form, its folder.
pub(super) struct ScannedSkill {
    pub(super) file: SkillFile,
    pub(super) folder: Option<PathBuf>,
    /// Path of the file. Empty for a bundled one.
    pub(super) path: PathBuf,
}

/// Skill files directly in `dir`, sorted by name. A missing directory has none. Paths are shown relative to
/// `shown_from` if possible.
pub(super) fn scan(
    dir: &Path,
    layer: SkillLayer,
    shown_from: &Path,
    issues: &mut Vec<SkillIssue>,
) -> Vec<ScannedSkill> {
    let is_link = dir.is_symlink() || dir.parent().is_some_and(Path::is_symlink);
    if layer < SkillLayer::User && is_link && !shown_from.as_os_str().is_empty() {
        let message = "is a link, and Callsheet reads no project skills through links";
        issues.push(unreadable(&dir.display().to_string(), message, "replace it with the folder itself"));
        return Vec::new();
    }
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(fault) => {
            issues.push(unreadable(
                &dir.display().to_string(),
                &format!("cannot be read: {fault}"),
                "check its permissions",
            ));
            return Vec::new();
        }
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    if paths.len() > MAX_ENTRIES {
        let message = format!("has more than {MAX_ENTRIES} entries; Callsheet reads only the first ones");
        issues.push(unreadable(&dir.display().to_string(), &message, "keep nothing but skills there"));
        paths.truncate(MAX_ENTRIES);
    }
    paths.into_iter().filter_map(|path| read(&path, layer, shown_from, issues)).collect()
}

/// One skill by its own path: a file, or a folder with a `SKILL.md`.
pub(super) fn one(path: &Path, layer: SkillLayer, issues: &mut Vec<SkillIssue>) -> Option<ScannedSkill> {
    let inside = path.file_name().is_some_and(|name| name == "SKILL.md");
    let path = if inside { path.parent().filter(|folder| folder.file_name().is_some())? } else { path };
    read(path, layer, Path::new(""), issues)
}

fn read(path: &Path, layer: SkillLayer, shown_from: &Path, issues: &mut Vec<SkillIssue>) -> Option<ScannedSkill> {
    let name = path.file_name()?.to_str()?;
    if name.starts_with('.') {
        return None;
    }
    let (form, stem, file, folder) = if path.is_dir() {
        let file = path.join("SKILL.md");
        if !file.is_file() {
            return None;
        }
        (SkillForm::Folder, name, file, Some(path.to_path_buf()))
    } else {
        (SkillForm::SingleFile, name.strip_suffix(".md")?, path.to_path_buf(), None)
    };
    // Other programs read only folders there.
    let only_folders = matches!(layer, SkillLayer::ProjectClaude | SkillLayer::UserClaude | SkillLayer::UserAgents);
    if only_folders && form == SkillForm::SingleFile {
        return None;
    }
    if stem.eq_ignore_ascii_case("readme") {
        return None;
    }
    let shown = file.strip_prefix(shown_from).unwrap_or(&file).display().to_string();
    if layer < SkillLayer::User && (path.is_symlink() || file.is_symlink()) {
        issues.push(unreadable(
            &shown,
            "is a link, and a project skill must not be a link",
            "replace it with the file itself",
        ));
        return None;
    }
    match text(&file) {
        Ok(text) => {
            let source = SkillSource { layer, path: shown };
            Some(ScannedSkill { file: SkillFile { form, stem: stem.to_owned(), source, text }, folder, path: file })
        }
        Err(reason) => {
            issues.push(unreadable(&shown, &reason, "fix or remove the file"));
            None
        }
    }
}

/// The text of a file, at most one byte more than the limit, so that core can refuse it by size.
fn text(path: &Path) -> Result<String, String> {
    let limit = u64::try_from(MAX_SKILL_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let file = crate::paths::open_regular_file(path).map_err(|fault| format!("cannot be read: {fault}"))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(|fault| format!("cannot be read: {fault}"))?;
    if bytes.len() > MAX_SKILL_BYTES {
        return Err(format!("is larger than {MAX_SKILL_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}
