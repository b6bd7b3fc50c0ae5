//! Changes of files as people read them: lines with their signs.

use callsheet_core::visible::visible;
use callsheet_format::edit::{Hunk, HunkKind};
use maud::{Markup, html};

/// Lines of a unified diff. Characters that nobody sees are shown.
pub(crate) fn lines(text: &str) -> Markup {
    html! {
        pre.diff tabindex="0" {
            @for line in text.lines() {
                span class=(class(line)) { (visible(line)) "\n" }
            }
        }
    }
}

fn class(line: &str) -> &'static str {
    if line.starts_with("+++") || line.starts_with("---") {
        return "l file";
    }
    match line.as_bytes().first() {
        Some(b'+') => "l add",
        Some(b'-') => "l del",
        Some(b'@') => "l at",
        Some(b'\\') => "l note",
        _ => "l",
    }
}

/// What a hunk does, in words: `notes/rota.md, lines 3 to 5`.
pub(crate) fn place(hunk: &Hunk) -> String {
    let path = visible(&hunk.path);
    match hunk.kind {
        HunkKind::Creates => format!("{path}, new file"),
        HunkKind::Deletes => format!("{path}, deleted"),
        HunkKind::Lines if hunk.last < hunk.first => format!("{path}, after line {}", hunk.last),
        HunkKind::Lines if hunk.last == hunk.first => format!("{path}, line {}", hunk.first),
        HunkKind::Lines => format!("{path}, lines {} to {}", hunk.first, hunk.last),
    }
}

/// A hunk, for somebody who looks.
pub(crate) fn hunk(hunk: &Hunk) -> Markup {
    html! {
        @if hunk.text.is_empty() { p.soft { "An empty file." } } @else { (lines(&hunk.text)) }
    }
}

/// Lines that a change adds and removes.
pub(crate) fn counts(text: &str) -> (usize, usize) {
    let body = text.lines().filter(|line| !line.starts_with("+++") && !line.starts_with("---"));
    body.fold((0, 0), |(added, removed), line| match line.as_bytes().first() {
        Some(b'+') => (added + 1, removed),
        Some(b'-') => (added, removed + 1),
        _ => (added, removed),
    })
}

/// A unified diff, file by file.
pub(crate) fn files(text: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let begins = line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if begins {
            let next = lines.next().unwrap_or_default();
            let named = [next.trim_start_matches("+++ "), line.trim_start_matches("--- ")];
            let path = named.into_iter().find(|path| *path != "/dev/null").unwrap_or_default();
            let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
            files.push((path.to_owned(), String::new()));
        } else if let Some((_, body)) = files.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_falls_into_files() {
        let text = "--- a/x.md\n+++ b/x.md\n@@ -1 +1 @@\n-a\n+++ b\n--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+n\n";
        let found = files(text);
        assert_eq!(found[0], ("x.md".to_owned(), "@@ -1 +1 @@\n-a\n+++ b\n".to_owned()));
        assert_eq!(found[1].0, "new.md");
        assert_eq!(counts(&found[1].1), (1, 0));
    }
}
