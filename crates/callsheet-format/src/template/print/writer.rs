//! Writes elements with indentation and escapes.

type Attributes<'a> = [(&'a str, String)];

/// Writes elements.
#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    fn start(&mut self, name: &str, attributes: &Attributes<'_>) {
        self.indent(self.depth);
        self.text.push('<');
        self.text.push_str(name);
        for (name, value) in attributes {
            self.text.push_str(&format!(" {name}=\"{}\"", escape(value, true)));
        }
    }

    fn indent(&mut self, depth: usize) {
        self.text.push_str(&"  ".repeat(depth));
    }

    pub(super) fn open(&mut self, name: &str, attributes: &Attributes<'_>) {
        self.start(name, attributes);
        self.text.push_str(">\n");
        self.depth += 1;
    }

    pub(super) fn close(&mut self, name: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.indent(self.depth);
        self.text.push_str(&format!("</{name}>\n"));
    }

    /// Writes an element with the content that `inside` writes. Without content, writes an empty element if that is
    /// allowed.
    pub(super) fn element(
        &mut self,
        name: &str,
        attributes: &Attributes<'_>,
        may_be_empty: bool,
        inside: impl FnOnce(&mut Self),
    ) {
        let start = self.text.len();
        self.open(name, attributes);
        let opened = self.text.len();
        inside(self);
        if self.text.len() > opened || !may_be_empty {
            return self.close(name);
        }
        self.text.truncate(start);
        self.depth = self.depth.saturating_sub(1);
        self.empty(name, attributes);
    }

    /// Writes an element without content.
    pub(super) fn empty(&mut self, name: &str, attributes: &Attributes<'_>) {
        self.start(name, attributes);
        self.text.push_str("/>\n");
    }

    /// Writes an element whose text is dedented on reading. Several lines are indented between the tags.
    pub(super) fn text(&mut self, name: &str, attributes: &Attributes<'_>, text: &str) {
        if text.is_empty() {
            return self.empty(name, attributes);
        }
        if !text.contains('\n') {
            return self.inline(name, attributes, text);
        }
        self.open(name, attributes);
        for line in escape(text, false).split('\n') {
            if !line.is_empty() {
                self.indent(self.depth);
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
        self.close(name);
    }

    /// Writes an element whose text keeps its line ends.
    pub(super) fn inline(&mut self, name: &str, attributes: &Attributes<'_>, text: &str) {
        self.start(name, attributes);
        self.text.push('>');
        self.text.push_str(&escape(text, false));
        self.text.push_str(&format!("</{name}>\n"));
    }

    /// Writes a comment about something that XML cannot express.
    pub(super) fn comment(&mut self, what: &str) {
        self.indent(self.depth);
        // A comment must not contain two hyphens. The second pass splits the rest of three.
        let words: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.text.push_str(&format!("<!-- {} -->\n", words.replace("--", "- -").replace("--", "- -")));
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

fn escape(text: &str, attribute: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if attribute => out.push_str("&quot;"),
            '\r' => out.push_str("&#13;"),
            '\n' if attribute => out.push_str("&#10;"),
            '\t' if attribute => out.push_str("&#9;"),
            other => out.push(other),
        }
    }
    out
}
