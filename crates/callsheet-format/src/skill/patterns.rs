//! Patterns in the lists of tools of published skills: `Bash(git diff:*)` (spec 7.11).

/// A tool name and what stands in parentheses behind it: `Bash(git diff:*)`.
pub(super) fn split_pattern(written: &str) -> (&str, Option<&str>) {
    match written.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        Some((name, pattern)) => (name.trim(), Some(pattern.trim())),
        None => (written, None),
    }
}

/// The first words of the commands that a pattern such as `git diff:*` or `git diff *` means. `None` if it means
/// something else than all commands that begin with plain words.
pub(super) fn first_words(pattern: &str) -> Option<Vec<String>> {
    let words = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"))?;
    let plain = |c: char| c.is_alphanumeric() || " /._-+=@,:".contains(c);
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    (!words.is_empty() && words.iter().all(|word| word.chars().all(plain))).then_some(words)
}
