//! Markdown of models as HTML: its form only. No markup of its own, no picture, no link but to the web.

use callsheet_core::visible::readable;
use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Headings of a text begin below those of the page.
const BELOW: usize = 3;

/// A text as HTML. HTML in it is shown as text; links that lead to files are their words.
pub fn markdown(text: &str) -> Markup {
    let text = readable(text.trim());
    let parser = Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let mut links = Vec::new();
    let safe = parser.filter_map(move |event| harmless(event, &mut links));
    let mut out = String::new();
    html::push_html(&mut out, safe);
    PreEscaped(out)
}

fn harmless<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Option<Event<'a>> {
    Some(match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link { dest_url, link_type, .. }) => {
            let is_web = is_web(&dest_url);
            links.push(is_web);
            if !is_web {
                return None;
            }
            Event::Start(Tag::Link { link_type, dest_url, title: CowStr::Borrowed(""), id: CowStr::Borrowed("") })
        }
        Event::End(TagEnd::Link) => links.pop()?.then_some(Event::End(TagEnd::Link))?,
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => return None,
        Event::Start(Tag::Heading { level, .. }) => {
            let level = lower(level);
            Event::Start(Tag::Heading { level, id: None, classes: Vec::new(), attrs: Vec::new() })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
        Event::Start(Tag::CodeBlock(_)) => {
            Event::Start(Tag::CodeBlock(pulldown_cmark::CodeBlockKind::Fenced(CowStr::Borrowed(""))))
        }
        other => other,
    })
}

fn lower(level: pulldown_cmark::HeadingLevel) -> pulldown_cmark::HeadingLevel {
    let lower = (level as usize).saturating_add(BELOW).min(6);
    pulldown_cmark::HeadingLevel::try_from(lower).unwrap_or(level)
}

fn is_web(address: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_model_is_markup() {
        let text = "# Head\n\n<script>alert(1)</script> a <b onclick=x>b</b>\n\n[x](javascript:alert(1)) \
                    [f](notes/a.md#L3) [w](https://example.org \"t\\\" onload=1\") ![i](https://example.org/p.png)\n\n\
                    ```html\" onload=1\n<i>\n```\n\n<style>\nbody{}\n</style>\n";
        let html = markdown(text).into_string();
        for bad in ["<script", "<b ", "javascript:", "<img", "<style", "onload=1\"", "<i>"] {
            assert!(!html.contains(bad), "{bad}: {html}");
        }
        assert!(html.contains("<h4>Head</h4>") && html.contains("<a href=\"https://example.org\">w</a>"), "{html}");
        assert!(html.contains("&lt;script&gt;") && html.contains(" f "), "{html}");
    }

    #[test]
    fn hidden_characters_are_shown() {
        assert!(markdown("safe\u{202e}txet").into_string().contains("&lt;U+202E&gt;"));
    }
}
