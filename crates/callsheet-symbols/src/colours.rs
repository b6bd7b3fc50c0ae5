//! Classifies the pieces of a code text for colouring, with the queries that come with each grammar.

use std::time::{Duration, Instant};

use callsheet_core::symbols::{Coloured, Token};
use tree_sitter::{Query, QueryCursor, QueryCursorOptions, StreamingIterator};

use crate::{Deadline, TreeSitter, languages, parse};

/// The largest text that is coloured, in bytes.
const LARGEST: usize = 256 * 1024;

/// The longest time for one text.
const LONGEST: Duration = Duration::from_millis(200);

impl TreeSitter {
    /// The coloured pieces of a code text, or of a part of one, in order and without overlap. Empty if the path's
    /// language is unknown.
    pub fn colours(&self, path: &str, text: &str) -> Vec<Coloured> {
        let Some(language) = languages::of_path(path).filter(|_| text.len() <= LARGEST) else { return Vec::new() };
        let deadline = Deadline(Instant::now() + LONGEST);
        let source = || language.colours.concat();
        let query = self.compiled(("colours", language.name), &language.grammar, source);
        let (Ok(query), Ok(tree)) = (query, parse(language, text, &deadline)) else { return Vec::new() };
        let tokens: Vec<Option<Token>> = query.capture_names().iter().map(|name| token(name)).collect();
        let mut look = |_: &tree_sitter::QueryCursorState| deadline.look();
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(4_096);
        let options = QueryCursorOptions::new().progress_callback(&mut look);
        let mut captures = cursor.captures_with_options(&query, tree.root_node(), text.as_bytes(), options);
        let mut painted: Vec<Option<Token>> = vec![None; text.len()];
        while let Some((found, index)) = captures.next() {
            let Some(capture) = found.captures().get(*index) else { continue };
            if let (Some(token), Some(bytes)) =
                (tokens.get(capture.index as usize).copied().flatten(), painted.get_mut(capture.node.byte_range()))
            {
                bytes.fill(Some(token));
            }
        }
        pieces(&painted)
    }
}

/// Adjacent pieces of one kind become one piece.
fn pieces(painted: &[Option<Token>]) -> Vec<Coloured> {
    let mut pieces: Vec<Coloured> = Vec::new();
    for (at, token) in painted.iter().enumerate() {
        let Some(token) = *token else { continue };
        match pieces.last_mut() {
            Some((range, last)) if *last == token && range.end == at => range.end += 1,
            _ => pieces.push((at..at + 1, token)),
        }
    }
    pieces
}

/// The kind by the first word of a capture's name, which all these queries use.
fn token(capture: &str) -> Option<Token> {
    Some(match capture.split('.').next().unwrap_or_default() {
        "keyword" => Token::Keyword,
        "string" | "escape" => Token::Text,
        "comment" => Token::Comment,
        "number" | "boolean" => Token::Number,
        "constant" if capture == "constant.builtin" => Token::Number,
        "type" => Token::Type,
        _ => return None,
    })
}

/// Identifies a query that is compiled once: the outline of a language, or its colours.
pub(crate) type QueryName = (&'static str, &'static str);

/// Whether a query fits its grammar.
pub(crate) fn fits(grammar: &tree_sitter_language::LanguageFn, source: &str) -> Result<Query, tree_sitter::QueryError> {
    Query::new(&(*grammar).into(), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_colours_and_broken_text_keeps_some() {
        let code = [
            ("a.rs", "/// Doc\nfn f() -> u8 { 7 }"),
            ("a.py", "# c\ndef f():\n    return 7"),
            ("a.js", "// c\nconst f = () => 7;"),
            ("a.ts", "// c\nconst f = (): number => 7;"),
            ("a.tsx", "// c\nconst f = (): number => 7;"),
            ("a.go", "package a\n// c\nfunc f() int { return 7 }"),
            ("a.java", "// c\nclass A { int f() { return 7; } }"),
            ("a.c", "// c\nint f(void) { return 7; }"),
            ("a.cpp", "// c\nint f() { return 7; }"),
        ];
        for (path, text) in code {
            let colours = TreeSitter::default().colours(path, text);
            let of = |token: Token| colours.iter().any(|(_, found)| *found == token);
            assert!(of(Token::Keyword) || path == "a.c" && of(Token::Type), "{path}: {colours:?}");
            assert!(of(Token::Comment) && of(Token::Number), "{path}: {colours:?}");
            assert!(colours.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start), "{path}");
        }
        let part = "    if tries > 3:\n        raise Late(\"too \\n many\"\n";
        let colours = TreeSitter::default().colours("x.py", part);
        let shown: Vec<(&str, Token)> = colours.iter().map(|(range, token)| (&part[range.clone()], *token)).collect();
        assert!(
            shown.contains(&("3", Token::Number)) && shown.iter().any(|(text, _)| text.contains("too")),
            "{shown:?}"
        );
        assert!(TreeSitter::default().colours("x.md", "# a").is_empty());
    }
}
