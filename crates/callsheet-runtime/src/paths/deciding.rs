//! Names of files that decide what runs later on the person's machine, or what a model is told (spec 11.10).

use std::path::Path;

/// Folders with rules and configuration for programs that people run, or for models.
pub const DECIDING_FOLDERS: [&str; 10] = [
    ".callsheet",
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".gemini",
    ".githooks",
    ".husky",
    ".idea",
    ".vscode",
];

/// Files of the same kind.
pub const DECIDING_FILES: [&str; 2] = [".envrc", ".mcp.json"];

/// Files with rules for models, in lower case.
pub const RULE_FILES: [&str; 3] = ["agents.md", "claude.md", "gemini.md"];

/// Whether a change of a file may decide what runs later or what a model is told, so that no grant covers it (spec
/// 11.14): a hidden file, a file in a hidden folder, rules for models, and what makes a folder a git repository or is in
/// one. `root` is the project, `path` is below it. Case does not matter.
pub fn decides(root: &Path, path: &Path) -> bool {
    let names: Vec<String> =
        path.components().map(|part| part.as_os_str().to_string_lossy().to_ascii_lowercase()).collect();
    let is_rule = |name: &String| {
        let (stem, rest) = name.split_once('.').unwrap_or((name, ""));
        RULE_FILES.iter().any(|file| file.strip_suffix(".md") == Some(stem)) && rest.ends_with("md")
    };
    let of_repository = |name: &String| name == "head" || name == "commondir";
    let by_name = names.iter().any(|name| name.starts_with('.') || of_repository(name));
    let in_repository =
        path.ancestors().skip(1).any(|folder| is_repository(&root.join(folder)) && folder != Path::new(""));
    by_name || names.last().is_some_and(is_rule) || in_repository
}

/// Whether git would use a folder as a repository.
fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_decides_what_runs_is_known_by_its_name_and_folder() {
        let project = tempfile::tempdir().unwrap();
        let bare = project.path().join("store.git");
        std::fs::create_dir(&bare).unwrap();
        std::fs::write(bare.join("HEAD"), "ref: refs/heads/main").unwrap();
        for (path, expected) in [
            ("src/main.rs", false),
            ("docs/agents/list.md", false),
            ("docs/agents-list.md", false),
            ("a/headings.md", false),
            (".github/workflows/ci.yml", true),
            (".cursorrules", true),
            ("a/.npmrc", true),
            ("AGENTS.md", true),
            ("AGENTS.override.md", true),
            ("a/Claude.local.md", true),
            (".Husky/pre-commit", true),
            ("sub/.vscode/tasks.json", true),
            (".git/config", true),
            ("docs/HEAD", true),
            ("docs/commondir", true),
            ("store.git/hooks/post-commit", true),
            ("store.git/config", true),
        ] {
            assert_eq!(decides(project.path(), Path::new(path)), expected, "{path}");
        }
    }
}
