//! Text on a terminal: coloured by the form of its lines, and in a pager if it is longer than the screen. A pipe gets
//! plain text.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};

use callsheet_core::view::{DiffKind, DiffReader};
use console::{Style, Term};

use super::Words;

/// Prints text. `plain` means without colours and pager.
///
/// # Errors
/// Stdout cannot be written for a reason other than a closed pipe.
pub fn page(text: &str, plain: bool) -> std::io::Result<()> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if plain || dumb || !std::io::stdout().is_terminal() {
        return write(&Words::of(text));
    }
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let words = if colours { painted(text) } else { Words::of(text) };
    let (height, width) = Term::stdout().size();
    if lines_on_screen(words.as_str(), usize::from(width)) < usize::from(height) || !paged(&words) {
        return write(&words);
    }
    Ok(())
}

fn write(words: &Words) -> std::io::Result<()> {
    match words.print() {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

fn lines_on_screen(text: &str, width: usize) -> usize {
    let width = width.max(20);
    text.lines().map(|line| console::measure_text_width(line).max(1).div_ceil(width)).sum()
}

/// Shows the words in a pager. Returns whether one was used. `PAGER` contains its command line. Empty or `cat` means
/// none.
fn paged(words: &Words) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if matches!(pager.trim(), "" | "cat") {
        return false;
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(&pager).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Show colours, and leave the text on the screen.
        command.env("LESS", "RX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut pipe) = child.stdin.take() {
        // A reader who leaves early has seen enough.
        let _closed = pipe.write_all(words.as_str().as_bytes());
    }
    // A shell that finds no such program exits with 127, and nothing was shown.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}

/// Colours lines by their form. The colours add nothing to the meaning of the words.
fn painted(text: &str) -> Words {
    let text = super::harmless(text);
    let mut lines = text.lines().peekable();
    let mut out = Words::default();
    let mut reader = DiffReader::default();
    while let Some(line) = lines.next() {
        let style = match reader.read(line, lines.peek().copied()).kind {
            DiffKind::Name => Some(Style::new().bold()),
            DiffKind::Added => Some(Style::new().green()),
            DiffKind::Removed => Some(Style::new().red()),
            DiffKind::Hunk => Some(Style::new().cyan()),
            DiffKind::Same | DiffKind::Note => None,
            DiffKind::Other => style_of(line),
        };
        match style {
            Some(style) => out.paint(line, style),
            None => out.push_str(line),
        }
        out.push_str("\n");
    }
    out
}

fn style_of(line: &str) -> Option<Style> {
    let style = Style::new();
    let first = line.trim_start();
    if first.starts_with("==== ")
        || ["Run ", "Section ", "Step ", "# ", "## ", "### "].iter().any(|head| line.starts_with(head))
    {
        return Some(style.bold());
    }
    match first.chars().next()? {
        '✓' => Some(style.green()),
        '✗' | '⊘' => Some(style.red()),
        '▶' | '~' if line.starts_with(' ') => Some(style.cyan()),
        _ if ["Problem:", "Failed:", "Denied:"].iter().any(|word| line.starts_with(word)) => Some(style.red()),
        _ if line.starts_with("Warning:") => Some(style.yellow()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_no_word() {
        let text = "Run a: complete\n  ✓ One [one] done\n- cost: $0.10\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n kept\n\n- item\n";
        let painted = painted(text);
        let painted = painted.as_str();
        assert_eq!(console::strip_ansi_codes(painted), text);
        assert!(painted.contains("\u{1b}[31m-old") && painted.contains("\u{1b}[32m+new"), "{painted}");
        assert!(
            painted.contains("\n- cost: $0.10\n") && painted.contains("\n- item\n"),
            "only a diff is one: {painted}"
        );
    }
}
