//! Finds the comments of a template file, which are lost when the file is printed again.

use callsheet_core::template::Lines;

use super::xml::MAX_DEPTH;
use super::yaml::is_yaml;
use crate::yaml::{Node, Value, parse_all};

/// The lines on which comments begin.
pub fn comment_lines(file: &str, text: &str) -> Vec<u32> {
    let starts = if is_yaml(file) { in_yaml(text) } else { in_xml(text) };
    let lines = Lines::new(text);
    starts.into_iter().map(|at| lines.place(at).line).collect()
}

fn in_xml(text: &str) -> Vec<usize> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let comment = rest.find("<!--");
        let literal = rest.find("<![CDATA[").filter(|literal| comment.is_none_or(|comment| *literal < comment));
        let (start, close) = match (literal, comment) {
            (Some(start), _) => (start, "]]>"),
            (None, Some(start)) => {
                out.push(at + start);
                (start, "-->")
            }
            (None, None) => break,
        };
        let inside = rest.get(start..).unwrap_or_default();
        at += start + inside.find(close).map_or(inside.len(), |end| end + close.len());
    }
    out
}

fn in_yaml(text: &str) -> Vec<usize> {
    let mut scalars = Vec::new();
    let (nodes, _) = parse_all(text, 1, MAX_DEPTH);
    nodes.iter().for_each(|node| spans(node, &mut scalars));
    scalars.sort_unstable();
    let signs = text.match_indices('#').map(|(at, _)| at);
    let outside = |at: &usize| {
        let before = scalars.partition_point(|(start, _)| start <= at);
        before.checked_sub(1).and_then(|index| scalars.get(index)).is_none_or(|(_, end)| end <= at)
    };
    let begins =
        |at: &usize| text.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t', '\n']));
    let mut out: Vec<usize> = Vec::new();
    for at in signs.filter(begins).filter(outside) {
        let same = out.last().and_then(|last| text.get(*last..at)).is_some_and(|between| !between.contains('\n'));
        if !same {
            out.push(at);
        }
    }
    out
}

fn spans(node: &Node, out: &mut Vec<(usize, usize)>) {
    match &node.value {
        Value::Null => {}
        Value::Scalar { .. } => out.push((node.span.start, node.span.end)),
        Value::List(items) => items.iter().for_each(|item| spans(item, out)),
        Value::Map(entries) => {
            for (key, value) in entries {
                spans(key, out);
                spans(value, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::comment_lines;

    /// covers: 2.8
    #[test]
    fn comments_are_found_and_texts_are_none() {
        let yaml = "# one\ntemplate: a # two\nask: |\n  x # no\n  # no\nabout: 'a # no'\n# three # same\n";
        assert_eq!(comment_lines("a.yaml", yaml), [1, 2, 7]);
        let xml = "<a>\n<!-- one\n -->\n<![CDATA[<!-- no -->]]>\n<!-- two --></a>";
        assert_eq!(comment_lines("a.xml", xml), [2, 5]);
    }
}
