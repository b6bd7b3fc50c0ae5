//! Which commands may list files (spec "Templates" 14): `ls find git rg fd`, without options that write or start
//! something. Anything unknown is refused.

/// Options of a program that are not allowed, by their long names. Shorter and longer spellings are refused too,
/// because some programs accept abbreviations.
const FIND: &[&str] = &["-exec", "-ok", "-delete", "-fprint", "-fls", "-files0"];
const RG: &[&str] = &["--pre", "--hostname-bin", "--search-zip"];
const FD: &[&str] = &["--exec", "--list-details", "--batch-size"];
const GIT: &[&str] =
    &["--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--show-signature", "--ext-grep", "--exec"];

/// The `git` commands that are allowed. Each of them can list paths.
const GIT_COMMANDS: &[&str] = &["ls-files", "ls-tree", "grep", "diff", "log", "show"];

/// Arguments between `git` and its command, so that a repository's own configuration starts nothing.
const GIT_BEFORE: &[&str] = &[
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "log.showSignature=false",
    "-c",
    "core.quotePath=false",
];

/// Environment variables for `git`.
pub(super) const GIT_VARIABLES: [(&str, &str); 5] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
];

/// Why a command is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The program is not on the list.
    Program(String),
    /// One of the words is not allowed.
    Word(String),
}

/// The words to start, or why they are refused.
pub(super) fn allowed(argv: &[String]) -> Result<Vec<String>, Refused> {
    let Some((program, rest)) = argv.split_first() else { return Err(Refused::Program(String::new())) };
    let refused = |word: &str| match program.as_str() {
        "ls" => false,
        "find" => FIND.iter().any(|option| word.starts_with(option)),
        "rg" => forbids(word, RG, &['z']),
        "fd" => forbids(word, FD, &['x', 'X', 'l']),
        "git" => forbids(word, GIT, &['O']) || word.contains("%G"),
        _ => true,
    };
    if !["ls", "find", "git", "rg", "fd"].contains(&program.as_str()) {
        return Err(Refused::Program(program.clone()));
    }
    if let Some(word) = rest.iter().find(|word| refused(word)) {
        return Err(Refused::Word(word.clone()));
    }
    if program != "git" {
        return Ok(argv.to_vec());
    }
    match rest.split_first() {
        Some((command, rest)) if GIT_COMMANDS.contains(&command.as_str()) => {
            let before = std::iter::once("git").chain(GIT_BEFORE.iter().copied()).map(str::to_owned);
            let diffs = matches!(command.as_str(), "diff" | "log" | "show");
            let safe = if diffs { ["--no-ext-diff", "--no-textconv"].as_slice() } else { &[] };
            let safe = safe.iter().map(|word| (*word).to_owned());
            Ok(before.chain([command.clone()]).chain(safe).chain(rest.iter().cloned()).collect())
        }
        other => Err(Refused::Word(other.map(|(command, _)| command.clone()).unwrap_or_default())),
    }
}

/// Whether a word is a forbidden option: a long option that is one of `long`, abbreviated or extended, or a group of
/// short options that contains one of `short`.
fn forbids(word: &str, long: &[&str], short: &[char]) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    if let Some(rest) = name.strip_prefix("--") {
        let near = |option: &&str| name.starts_with(*option) || option.starts_with(name);
        return !rest.is_empty() && long.iter().any(near);
    }
    word.starts_with('-') && word.contains(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    /// covers: templates 14, C14
    #[test]
    fn only_what_reads_is_started() {
        for line in [
            "ls src",
            "ls -la",
            "find . -name *.rs -print",
            "rg --files",
            "rg -l needle -- src",
            "rg --files --glob *.md",
            "fd --extension rs",
            "fd -e rs",
            "git ls-files",
            "git grep -l needle",
            "git diff --name-only main",
        ] {
            assert!(allowed(&words(line)).is_ok(), "{line}: {:?}", allowed(&words(line)));
        }
        for line in [
            "",
            "cat a",
            "sh -c ls",
            "./ls",
            "/bin/ls",
            "find . -exec rm {} ;",
            "find . -execdir rm {} ;",
            "find . -okdir rm {} ;",
            "find . -delete",
            "find . -fprint0 a",
            "find . -fls a",
            "rg --pre cat x",
            "rg --pre=cat x",
            "rg --pre-glob *.x --files",
            "rg --hostname-bin=x --hyperlink-format=default y",
            "rg -z x",
            "rg -lz x",
            "rg --search-z x",
            "fd -x rm",
            "fd --exec rm",
            "fd --exec-batch=rm",
            "fd -Hx rm",
            "fd -l",
            "git",
            "git -c alias.a=!sh a",
            "git status",
            "git checkout .",
            "git grep -Oless needle",
            "git grep --open-files-in-pager=less needle",
            "git grep --open needle",
            "git log --output=a",
            "git log --out=a",
            "git show --ext-diff",
            "git log --format=%G?",
        ] {
            assert!(allowed(&words(line)).is_err(), "{line}");
        }
    }

    /// covers: templates 14
    #[test]
    fn git_starts_nothing_of_a_repository() {
        let argv = allowed(&words("git log --name-only")).unwrap();
        assert_eq!(argv.first().map(String::as_str), Some("git"));
        let at = argv.iter().position(|word| word == "log").unwrap();
        assert!(argv.iter().take(at).any(|word| word == "core.fsmonitor=false"));
        assert_eq!(&argv[at + 1..], &["--no-ext-diff", "--no-textconv", "--name-only"]);
    }
}
