//! Patterns in the lists of tools of published skills: `Bash(git diff:*)` (spec 7.11).

use callsheet_core::nouns::SkillCommand;

/// A tool name and what stands in parentheses behind it: `Bash(git diff:*)`.
pub(super) fn split_pattern(written: &str) -> (&str, Option<&str>) {
    match written.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        Some((name, pattern)) => (name.trim(), Some(pattern.trim())),
        None => (written, None),
    }
}

/// The commands that a pattern means: `git diff:*` and `git diff *` those that begin with these words, `npm test` that
/// command alone. `None` if it means something else than plain words.
pub(super) fn commands(pattern: &str) -> Option<SkillCommand> {
    let first = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    let words = first.unwrap_or(pattern);
    let plain = |c: char| c.is_alphanumeric() || " /._-+=@,:".contains(c);
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let is_plain = !words.is_empty() && words.iter().all(|word| word.chars().all(plain));
    is_plain.then_some(SkillCommand { words, whole: first.is_none() })
}
