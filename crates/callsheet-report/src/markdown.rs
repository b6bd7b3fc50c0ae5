//! Renders Markdown of models as HTML. Every element is one of ours: no HTML of the text, no pictures, and only web
//! links.

use callsheet_core::visible::readable;
use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Alignment, Event, LinkType, Options, Parser, Tag, TagEnd};

/// How deep elements may be nested. Deeper text has no formatting.
const DEPTH: usize = 24;

/// A text as HTML. HTML in it is shown as text. A link to a file becomes its words, followed by the file name.
pub fn markdown(text: &str) -> Markup {
    let text = readable(text.trim());
    let mut builder = Builder::default();
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        builder.take(event);
    }
    builder.whole()
}

/// An open element and its content so far.
struct Frame<'a> {
    tag: Tag<'a>,
    inner: String,
}

#[derive(Default)]
struct Builder<'a> {
    frames: Vec<Frame<'a>>,
    out: String,
    /// Number of open elements that are nested too deep to be rendered.
    deeper: usize,
    /// Cells of the table row so far, and whether it is the header row.
    cell: usize,
    is_head: bool,
    alignments: Vec<Alignment>,
}

impl<'a> Builder<'a> {
    fn take(&mut self, event: Event<'a>) {
        match event {
            Event::Start(_) if self.deeper > 0 || self.frames.len() >= DEPTH => self.deeper += 1,
            Event::Start(tag) => self.open(tag),
            Event::End(_) if self.deeper > 0 => self.deeper -= 1,
            Event::End(end) => self.close(end),
            Event::Code(text) => self.put(html! { code { (&*text) } }),
            Event::SoftBreak => self.put(html! { "\n" }),
            Event::HardBreak => self.put(html! { br; }),
            Event::Rule => self.put(html! { hr; }),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.put(html! { (&*text) }),
            Event::TaskListMarker(done) => self.put(html! { (if done { "☑ " } else { "☐ " }) }),
        }
    }

    fn put(&mut self, made: Markup) {
        let inner = self.frames.last_mut().map_or(&mut self.out, |frame| &mut frame.inner);
        inner.push_str(&made.0);
    }

    fn open(&mut self, tag: Tag<'a>) {
        match &tag {
            Tag::Table(alignments) => self.alignments.clone_from(alignments),
            Tag::TableHead => (self.is_head, self.cell) = (true, 0),
            Tag::TableRow => (self.is_head, self.cell) = (false, 0),
            _ => {}
        }
        self.frames.push(Frame { tag, inner: String::new() });
    }

    fn close(&mut self, _: TagEnd) {
        let Some(Frame { tag, inner }) = self.frames.pop() else { return };
        // This was rendered here, so it is already escaped.
        let inner = PreEscaped(inner);
        let made = self.element(&tag, &inner);
        self.put(made);
    }

    fn element(&mut self, tag: &Tag<'_>, inner: &Markup) -> Markup {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => html! { p { (inner) } },
            // Headings of a text are one level below those of the page.
            Tag::Heading { level, .. } => match *level as usize {
                1 => html! { h4 { (inner) } },
                2 => html! { h5 { (inner) } },
                _ => html! { h6 { (inner) } },
            },
            Tag::BlockQuote(_) => html! { blockquote { (inner) } },
            Tag::CodeBlock(_) => html! { pre { code { (inner) } } },
            Tag::List(Some(first)) => html! { ol start=[Some(*first).filter(|first| *first != 1)] { (inner) } },
            Tag::List(None) => html! { ul { (inner) } },
            Tag::Item => html! { li { (inner) } },
            Tag::Emphasis => html! { em { (inner) } },
            Tag::Strong => html! { strong { (inner) } },
            Tag::Strikethrough => html! { s { (inner) } },
            Tag::Link { link_type, dest_url, .. } => link(*link_type, dest_url, inner),
            Tag::Table(_) => html! { table { (inner) } },
            Tag::TableHead => html! { thead { tr { (inner) } } },
            Tag::TableRow => html! { tr { (inner) } },
            Tag::TableCell => self.cell_of_table(inner),
            // Only the words of a picture remain.
            _ => inner.clone(),
        }
    }

    fn cell_of_table(&mut self, inner: &Markup) -> Markup {
        let is_right = matches!(self.alignments.get(self.cell), Some(Alignment::Right));
        self.cell += 1;
        let class = is_right.then_some("number");
        html! { @if self.is_head { th class=[class] { (inner) } } @else { td class=[class] { (inner) } } }
    }

    /// The complete output. Elements that were never closed are closed.
    fn whole(mut self) -> Markup {
        while let Some(frame) = self.frames.pop() {
            let end = frame.tag.to_end();
            self.frames.push(frame);
            self.close(end);
        }
        PreEscaped(self.out)
    }
}

fn link(kind: LinkType, target: &str, words: &Markup) -> Markup {
    if ["https://", "http://"].iter().any(|scheme| target.starts_with(scheme)) {
        return html! { a href=(target) rel="noreferrer" { (words) } };
    }
    // A link with another scheme leads nowhere, and a link within the same text has no file name to show.
    let is_file = !target.is_empty() && !target.starts_with('#') && !target.contains(':');
    let says_it = matches!(kind, LinkType::Autolink | LinkType::Email) || words.0 == target;
    html! { (words) @if is_file && !says_it { " " span.source { "(" (target) ")" } } }
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
        assert!(html.contains("<h4>Head</h4>"), "{html}");
        assert!(html.contains("<a href=\"https://example.org\" rel=\"noreferrer\">w</a>"), "{html}");
        assert!(
            html.contains("&lt;script&gt;") && html.contains(" f <span class=\"source\">(notes/a.md#L3)</span>"),
            "{html}"
        );
    }

    #[test]
    fn its_form_is_kept() {
        let text = "1. *a* and **b**\n2. ~~c~~ `d < e`\n\n> said\n\n| n | m |\n|---|--:|\n| 1 | 2 |\n\n---\n\n3. c\n";
        let html = markdown(text).into_string();
        let wanted = "<ol><li><em>a</em> and <strong>b</strong></li><li><s>c</s> <code>d &lt; e</code></li></ol>\
                      <blockquote><p>said</p></blockquote>\
                      <table><thead><tr><th>n</th><th class=\"number\">m</th></tr></thead>\
                      <tr><td>1</td><td class=\"number\">2</td></tr></table><hr><ol start=\"3\"><li>c</li></ol>";
        assert_eq!(html, wanted);
    }

    #[test]
    fn a_deep_text_costs_little_and_ends_whole() {
        let html = markdown(&format!("{}deep", "> ".repeat(20_000))).into_string();
        assert_eq!((html.matches("<blockquote>").count(), html.matches("</blockquote>").count()), (DEPTH, DEPTH));
        assert!(html.contains("deep"), "{html}");
    }

    #[test]
    fn hidden_characters_are_shown() {
        assert!(markdown("safe\u{202e}txet").into_string().contains("&lt;U+202E&gt;"));
    }
}
