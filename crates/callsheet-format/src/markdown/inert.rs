//! Markdown without what a viewer would run or fetch: HTML, and pictures, which tell a server who reads the text.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// After this many rounds, everything is escaped. What escaping turns into text may be Markdown in the next round.
const ROUNDS: usize = 8;

/// The same Markdown with its HTML as text and its pictures as links. Code is unchanged.
pub fn inert(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..ROUNDS {
        let (code, is_plain) = look(&text);
        let escaped = escape(&text, &code);
        if is_plain && escaped == text {
            return text;
        }
        text = escaped;
    }
    escape(&text, &[])
}

/// Where code is, and whether there is neither HTML nor a picture.
fn look(text: &str) -> (Vec<Range<usize>>, bool) {
    let mut code = Vec::new();
    let mut is_plain = true;
    for (event, range) in
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).into_offset_iter()
    {
        match event {
            Event::Start(Tag::CodeBlock(_)) | Event::Code(_) => code.push(range),
            Event::Start(Tag::HtmlBlock | Tag::Image { .. }) | Event::Html(_) | Event::InlineHtml(_) => {
                is_plain = false
            }
            _ => {}
        }
    }
    (code, is_plain)
}

fn escape(text: &str, code: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut code = code.iter().peekable();
    let mut backslashes = 0;
    for (at, c) in text.char_indices() {
        while code.next_if(|range| range.end <= at).is_some() {}
        let is_code = code.peek().is_some_and(|range| range.contains(&at));
        let next = text.get(at + c.len_utf8()..).and_then(|rest| rest.chars().next());
        match (c, next) {
            ('<', Some(next)) if !is_code && (next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')) => {
                out.push_str("&lt;");
            }
            ('!', Some('[')) if !is_code && backslashes % 2 == 0 => out.push_str("\\!"),
            _ => out.push(c),
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_text_and_pictures_are_links() {
        let pairs = [
            ("a < b, 1<2, <3", "a < b, 1<2, <3"),
            ("<script>x</script>", "&lt;script>x&lt;/script>"),
            ("![a](http://x/y.png) and \\![b](c)", "\\![a](http://x/y.png) and \\![b](c)"),
            ("`<b> ![`\n\n```html\n<img src=x>\n```\n", "`<b> ![`\n\n```html\n<img src=x>\n```\n"),
            ("<!-- a --> <?php", "&lt;!-- a --> &lt;?php"),
        ];
        for (text, wanted) in pairs {
            assert_eq!(inert(text), wanted);
        }
    }

    /// Former HTML may contain Markdown that hides where code begins.
    #[test]
    fn nothing_becomes_html_or_a_picture_by_escaping() {
        let hostile = [
            "<div>\n```\n</div>\n\n```\n<img src=http://x>\n```\n",
            "<div>\n![x](http://x/1.png)\n</div>",
            "`a <b `> <img src=x> `",
            "\\\\![a](http://x)",
            "[a]: http://x\n\n![a] ![a][a] ![][a]",
            "<img\nsrc=x>",
            "    <b>\n\n<pre>\n    ![a](b)\n",
        ];
        for text in hostile {
            let (_, is_plain) = look(&inert(text));
            assert!(is_plain, "{text:?} becomes {:?}", inert(text));
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_keeps_html(parts in proptest::collection::vec(proptest::sample::select(vec![
            "<b>", "</b>", "<!--", "-->", "```", "\n", "\n\n", "`", "![", "](x)", "    ", "\\", "<div>", "a", "> ", "- ", "[a]: x", "&lt;",
        ]), 0..40)) {
            let (_, is_plain) = look(&inert(&parts.concat()));
            proptest::prop_assert!(is_plain, "{:?}", inert(&parts.concat()));
        }
    }
}
