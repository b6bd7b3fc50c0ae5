//! Colours for the code in a unified diff: for unchanged and added lines. Removed lines have a single colour.

use callsheet_core::symbols::Coloured;
use callsheet_core::view::{DiffKind, diff_lines};

/// Colours a text. The path determines the language.
pub type Painter<'a> = &'a dyn Fn(&str, &str) -> Vec<Coloured>;

/// Consecutive lines of one file in a diff.
#[derive(Default)]
struct Stretch {
    text: String,
    /// Lines of the diff, each with its start in the text.
    lines: Vec<(usize, usize)>,
}

/// For each line of a diff, its coloured pieces as bytes of the line including its sign. `path` is the file, unless the
/// diff names others.
pub fn diff_colours(lines: &[&str], path: &str, paint: Painter<'_>) -> Vec<Vec<Coloured>> {
    let mut colours = vec![Vec::new(); lines.len()];
    let mut path = path.to_owned();
    let mut stretch = Stretch::default();
    let text = lines.join("\n");
    for (at, line) in diff_lines(&text).iter().enumerate() {
        if matches!(line.kind, DiffKind::Name | DiffKind::Hunk) {
            std::mem::take(&mut stretch).paint(&path, paint, &mut colours);
        }
        match line.kind {
            DiffKind::Name => {
                if let Some(named) = line.text.strip_prefix("+++ ") {
                    path = named.strip_prefix("b/").unwrap_or(named).to_owned();
                }
            }
            DiffKind::Same | DiffKind::Added => {
                let Some(text) = line.text.strip_prefix([' ', '+']) else { continue };
                stretch.lines.push((at, stretch.text.len()));
                stretch.text.push_str(text);
                stretch.text.push('\n');
            }
            _ => {}
        }
    }
    stretch.paint(&path, paint, &mut colours);
    colours
}

impl Stretch {
    fn paint(self, path: &str, paint: Painter<'_>, colours: &mut [Vec<Coloured>]) {
        if self.lines.is_empty() {
            return;
        }
        let end = self.text.len();
        for (range, token) in paint(path, &self.text) {
            let first = self.lines.partition_point(|(_, from)| *from <= range.start).saturating_sub(1);
            for (index, (at, from)) in
                self.lines.iter().enumerate().skip(first).take_while(|(_, (_, from))| *from < range.end)
            {
                let line_end = self.lines.get(index + 1).map_or(end, |(_, next)| *next).saturating_sub(1);
                let (start, stop) = (range.start.max(*from), range.end.min(line_end));
                if let Some(pieces) = colours.get_mut(*at).filter(|_| start < stop) {
                    // Behind the sign.
                    pieces.push((start - from + 1..stop - from + 1, token));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use callsheet_core::symbols::Token;

    use super::*;

    #[test]
    fn pieces_fall_on_the_lines_that_stay_and_come() {
        let diff = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n # one\n-# gone\n+# two\n+x\n@@ -9 +10 @@\n+# three";
        let lines: Vec<&str> = diff.lines().collect();
        let paint = |path: &str, text: &str| {
            assert_eq!(path, "x.py");
            let found = text
                .match_indices('#')
                .map(|(at, _)| (at..text[at..].find('x').map_or(text.len(), |to| at + to), Token::Comment));
            found.take(1).collect::<Vec<_>>()
        };
        let colours = diff_colours(&lines, "", &paint);
        let shown: Vec<&str> = lines
            .iter()
            .zip(&colours)
            .flat_map(|(line, pieces)| pieces.iter().map(|(range, _)| &line[range.clone()]))
            .collect();
        assert_eq!(shown, ["# one", "# two", "# three"]);
        assert!(colours[4].is_empty(), "what goes has one colour");
    }
}
