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

/// Whether a path below the project is such a file or lies in such a folder. Case does not matter.
pub fn decides(path: &Path) -> bool {
    let names: Vec<String> =
        path.components().map(|part| part.as_os_str().to_string_lossy().to_ascii_lowercase()).collect();
    let of_program = |name: &String| DECIDING_FOLDERS.contains(&name.as_str()) || name == ".git";
    let last = names.last().is_some_and(|last| {
        let last = last.as_str();
        DECIDING_FILES.contains(&last) || RULE_FILES.contains(&last)
    });
    let pairs = [(".cargo", "config"), (".cargo", "config.toml"), (".agents", "skills")];
    let of_pair = names.windows(2).any(|two| pairs.contains(&(two[0].as_str(), two[1].as_str())));
    last || of_pair || names.iter().any(of_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_decides_what_runs_is_known_by_its_name() {
        for (path, expected) in [
            ("src/main.rs", false),
            (".github/workflows/ci.yml", false),
            ("docs/agents.md.txt", false),
            (".agents/notes.md", false),
            (".cargo/audit.toml", false),
            ("AGENTS.md", true),
            ("a/Claude.md", true),
            (".Husky/pre-commit", true),
            ("sub/.vscode/tasks.json", true),
            (".envrc", true),
            ("a/.cargo/config.toml", true),
            (".agents/skills/x/SKILL.md", true),
            (".git/config", true),
        ] {
            assert_eq!(decides(Path::new(path)), expected, "{path}");
        }
    }
}
