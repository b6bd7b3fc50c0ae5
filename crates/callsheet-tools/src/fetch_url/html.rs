//! Converts HTML to readable text: headings, lists, links and tables as Markdown, without scripts and styles.
//!
//! Pages are hostile. The reader makes one pass, looks only forward, does not recurse and keeps no tree. Neither deep
//! nesting nor unclosed tags cost more than the page's length. That is why this is not a full HTML parser.

use reqwest::Url;

use super::entities::decode;

/// Longer links are omitted, because they carry data instead of leading to a place.
const LONGEST_LINK: usize = 200;
/// Lists that are nested deeper are not indented further.
const DEEPEST_LIST: usize = 8;
/// The content of these elements is not text.
const SKIPPED: [&str; 9] = ["script", "style", "template", "svg", "math", "iframe", "object", "canvas", "noembed"];

/// The readable text of a page. Relative links are resolved against `base`.
pub(super) fn readable_text(html: &str, base: Option<&Url>) -> String {
    let mut text = Text { base, ..Text::default() };
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.add(&decode(before));
        rest = match markup(tag) {
            Markup::Comment(rest) => rest,
            Markup::Tag { tag, rest } => {
                text.tag(&tag);
                after_skipped(&tag, rest)
            }
            Markup::Text => {
                text.add("<");
                tag
            }
            Markup::Unclosed => "",
        };
    }
    text.add(&decode(rest));
    text.finish()
}

/// What follows a `<`.
enum Markup<'a> {
    /// A comment, a doctype or a processing instruction, and the rest after it.
    Comment(&'a str),
    Tag {
        tag: Tag<'a>,
        rest: &'a str,
    },
    /// The `<` itself is text.
    Text,
    /// The page ends inside a tag, and its text ends there too.
    Unclosed,
}

struct Tag<'a> {
    name: String,
    closing: bool,
    attributes: &'a str,
}

fn markup(after: &str) -> Markup<'_> {
    if let Some(comment) = after.strip_prefix("!--") {
        return comment.split_once("-->").map_or(Markup::Unclosed, |(_, rest)| Markup::Comment(rest));
    }
    if after.starts_with(['!', '?']) {
        return after.split_once('>').map_or(Markup::Unclosed, |(_, rest)| Markup::Comment(rest));
    }
    let (closing, inner) = after.strip_prefix('/').map_or((false, after), |inner| (true, inner));
    if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Markup::Text;
    }
    let Some((inside, rest)) = until_tag_ends(inner) else { return Markup::Unclosed };
    let end = inside.find(|c: char| c.is_ascii_whitespace() || c == '/').unwrap_or(inside.len());
    let (name, attributes) = inside.split_at_checked(end).unwrap_or((inside, ""));
    Markup::Tag { tag: Tag { name: name.to_ascii_lowercase(), closing, attributes }, rest }
}

/// Splits at the first `>` outside quoted attribute values.
fn until_tag_ends(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some((text.get(..at)?, text.get(at + 1..)?)),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// The rest after the end tag of an element whose content is not text. For other elements, all of `rest`.
fn after_skipped<'a>(tag: &Tag<'_>, rest: &'a str) -> &'a str {
    if tag.closing || tag.attributes.ends_with('/') || !SKIPPED.contains(&tag.name.as_str()) {
        return rest;
    }
    let mut from = rest;
    while let Some((_, after)) = from.split_once("</") {
        let is_end = after.get(..tag.name.len()).is_some_and(|name| name.eq_ignore_ascii_case(&tag.name));
        if is_end {
            return after.split_once('>').map_or("", |(_, rest)| rest);
        }
        from = after;
    }
    ""
}

/// The value of an attribute.
fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '=').unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        if name.is_empty() && !after.starts_with('=') {
            return None;
        }
        let after = after.trim_start();
        let Some(value) = after.strip_prefix('=') else {
            rest = after;
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value.get(1..)?.split_once(quote).unwrap_or((value.get(1..)?, "")),
            _ => value.split_at_checked(value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len()))?,
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(decode(value));
        }
        rest = after;
    }
}

/// The text as it grows.
#[derive(Default)]
struct Text<'a> {
    out: String,
    base: Option<&'a Url>,
    /// Whether white space comes before the next character.
    space: bool,
    /// Line ends before the next character, at most two.
    lines: usize,
    /// Nesting depth of `pre`.
    literal: usize,
    lists: usize,
    /// Where the text of the open link began, and its address.
    link: Option<(usize, String)>,
}

impl Text<'_> {
    fn add(&mut self, text: &str) {
        for character in text.chars() {
            if self.literal > 0 && character == '\n' {
                self.flush();
                self.out.push('\n');
            } else if self.literal > 0 && matches!(character, ' ' | '\t') {
                self.flush();
                self.out.push(character);
            } else if character.is_whitespace() {
                self.space = true;
            } else if !character.is_control() {
                self.flush();
                self.out.push(character);
            }
        }
    }

    /// Writes the pending white space.
    fn flush(&mut self) {
        if self.lines > 0 {
            self.out.truncate(self.out.trim_end_matches(' ').len());
            if !self.out.is_empty() {
                let there = self.out.bytes().rev().take(2).take_while(|byte| *byte == b'\n').count();
                self.out.extend(std::iter::repeat_n('\n', self.lines.saturating_sub(there)));
            }
        } else if self.space && !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
            self.out.push(' ');
        }
        self.lines = 0;
        self.space = false;
    }

    /// Whether the line already has content.
    fn in_line(&self) -> bool {
        self.lines == 0 && !self.out.is_empty() && !self.out.ends_with('\n')
    }

    fn line_break(&mut self, lines: usize) {
        self.lines = self.lines.max(lines);
    }

    fn mark(&mut self, mark: &str) {
        self.flush();
        self.out.push_str(mark);
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        match tag.name.as_str() {
            "br" => self.line_break(1),
            "hr" => {
                self.line_break(2);
                self.mark("---");
                self.line_break(2);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(tag),
            "li" if !tag.closing => {
                self.line_break(1);
                let depth = self.lists.clamp(1, DEEPEST_LIST) - 1;
                self.mark(&format!("{}- ", "  ".repeat(depth)));
            }
            "ul" | "ol" | "menu" => self.list(tag.closing),
            "td" | "th" if !tag.closing && self.in_line() => self.mark(" | "),
            "pre" => {
                self.line_break(2);
                self.literal =
                    if tag.closing { self.literal.saturating_sub(1) } else { self.literal.saturating_add(1) };
            }
            "a" => self.anchor(tag),
            "img" => {
                if let Some(alt) = attribute(tag.attributes, "alt").filter(|alt| !alt.trim().is_empty()) {
                    self.add(&alt);
                }
            }
            "p" | "table" | "blockquote" | "title" | "figure" | "form" | "dl" | "article" | "section" | "main" => {
                self.line_break(2);
            }
            "div" | "tr" | "dt" | "dd" | "header" | "footer" | "nav" | "aside" | "caption" | "figcaption"
            | "address" | "details" | "summary" | "fieldset" | "option" | "body" | "head" | "html" => {
                self.line_break(1)
            }
            _ => {}
        }
    }

    fn heading(&mut self, tag: &Tag<'_>) {
        self.line_break(2);
        if !tag.closing {
            let level = tag.name.bytes().last().map_or(1, |digit| usize::from(digit.saturating_sub(b'0')));
            self.mark(&format!("{} ", "#".repeat(level.clamp(1, 6))));
        }
    }

    fn list(&mut self, closing: bool) {
        self.lists = if closing { self.lists.saturating_sub(1) } else { self.lists.saturating_add(1) };
        self.line_break(if self.lists > usize::from(!closing) { 1 } else { 2 });
    }

    fn anchor(&mut self, tag: &Tag<'_>) {
        if tag.closing {
            if let Some((start, address)) = self.link.take()
                && self.out.get(start..).is_some_and(|text| !text.trim().is_empty() && !text.contains('\n'))
            {
                let start = start + self.out.get(start..).map_or(0, |text| text.len() - text.trim_start().len());
                self.out.insert(start, '[');
                self.out.push_str(&format!("]({address})"));
            }
            return;
        }
        self.link = attribute(tag.attributes, "href").and_then(|href| self.resolve(&href)).map(|address| {
            // Pending white space belongs before the link.
            if self.lines > 0 {
                self.flush();
            }
            (self.out.len(), address)
        });
    }

    fn resolve(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        let address = match self.base {
            Some(base) => base.join(href).ok()?,
            None => Url::parse(href).ok()?,
        };
        let fits = matches!(address.scheme(), "http" | "https") && address.as_str().len() <= LONGEST_LINK;
        fits.then(|| address.into())
    }

    fn finish(self) -> String {
        let mut text = String::with_capacity(self.out.len());
        for line in self.out.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages in `pages/` with their expected texts; `UPDATE_EXPECT=1` rewrites the texts.
    #[test]
    fn pages_read_as_their_texts_say() {
        let base = Url::parse("https://example.com/docs/index.html").unwrap();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fetch_url/pages");
        let mut pages = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "html") {
                continue;
            }
            let html = std::fs::read_to_string(&path).unwrap();
            assert!(html.contains("covers: "), "{}", path.display());
            let found = readable_text(&html, Some(&base)) + "\n";
            let expected = path.with_extension("txt");
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                std::fs::write(&expected, &found).unwrap();
            }
            assert_eq!(found, std::fs::read_to_string(&expected).unwrap_or_default(), "{}", path.display());
            pages += 1;
        }
        assert!(pages >= 3);
    }

    #[test]
    fn hostile_pages_cost_no_more_than_their_length() {
        let many = 200_000;
        for part in [
            "<div>",
            "<a href=\"",
            "<",
            "</",
            "<!--",
            "<script>",
            "&#",
            "&",
            "<ul><li>",
            "<p '",
            "<pre>\n",
            "<a href=x>y",
        ] {
            let page = part.repeat(many / part.len());
            assert!(readable_text(&page, None).len() <= page.len() * 2, "{part}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(100))]
        #[test]
        fn any_text_is_read_without_a_panic_and_holds_no_control_character(
            page in "(<[a-z/!]{0,3}|[a-z]{1,6}|[ =\"'>&;#]|\u{1b}|é|<a href=|<li>|</a>|<pre>|<script>|&#27;|&#x9b;){0,60}"
        ) {
            let text = readable_text(&page, None);
            proptest::prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{text:?}");
        }
    }
}
