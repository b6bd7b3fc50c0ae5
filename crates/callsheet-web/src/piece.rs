//! Pages consist of pieces: small named elements, each in a list. A browser that already has pieces gets only those
//! that have changed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use callsheet_runtime::shown;
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

/// A part of a page that is replaced as a whole.
pub(crate) struct Piece {
    /// The id of the element, unique in the page.
    pub id: String,
    /// The id of the element that contains it.
    pub list: String,
    tag: Tag,
    class: String,
    hash: String,
    inner: String,
}

/// The kind of a piece in its list.
#[derive(Clone, Copy)]
pub(crate) enum Tag {
    /// An item of a list.
    Item,
    /// Any other element.
    Block,
}

impl Piece {
    pub fn new(tag: Tag, list: impl Into<String>, id: impl Into<String>, class: &str, inner: Markup) -> Self {
        let inner = shown::Shown::html(&inner.into_string()).into_string();
        let mut hasher = DefaultHasher::new();
        (class, inner.as_str()).hash(&mut hasher);
        let hash = format!("{:x}", hasher.finish());
        Self { id: id.into(), list: list.into(), tag, class: class.to_owned(), hash, inner }
    }

    /// The element. A browser compares `data-h` to see whether it already has the element.
    pub fn render(&self) -> Markup {
        self.render_with(&PreEscaped(self.inner.clone()))
    }

    /// The element with other pieces inside.
    pub fn render_with(&self, inner: &Markup) -> Markup {
        match self.tag {
            Tag::Item => html! { li id=(self.id) class=(self.class) data-h=(self.hash) { (inner) } },
            Tag::Block => html! { div id=(self.id) class=(self.class) data-h=(self.hash) { (inner) } },
        }
    }
}

/// All pieces of a list, in order.
pub(crate) fn listed(pieces: &[Piece], list: &str) -> Markup {
    html! { @for piece in pieces.iter().filter(|piece| piece.list == list) { (piece.render()) } }
}

/// The pieces that a browser has.
#[derive(Default)]
pub(crate) struct Has(BTreeMap<String, (String, String)>);

impl Has {
    /// A browser that has these pieces.
    pub fn of<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> Self {
        let entry = |piece: &Piece| (piece.id.clone(), (piece.list.clone(), piece.hash.clone()));
        Self(pieces.into_iter().map(entry).collect())
    }

    /// The changes that give the browser these pieces, in order. `p` puts the piece with the id `i` into the list
    /// `l`, after `a` or as the first. `d` removes the piece with this id.
    pub fn changes(&mut self, pieces: &[Piece]) -> Vec<Value> {
        let now = Self::of(pieces);
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        let mut changes = Vec::new();
        for gone in self.0.keys().filter(|id| !now.0.contains_key(*id)) {
            changes.push(json!({ "d": gone }));
        }
        for piece in pieces {
            let after = last.insert(&piece.list, &piece.id);
            if self.0.get(&piece.id) != now.0.get(&piece.id) {
                let text = piece.render().0;
                changes.push(json!({ "p": text, "i": piece.id, "l": piece.list, "a": after }));
            }
        }
        *self = now;
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(list: &str, id: &str, text: &str) -> Piece {
        Piece::new(Tag::Item, list, id, "row", html! { (text) })
    }

    #[test]
    fn only_what_changed_is_sent() {
        let mut shown = Has::default();
        let first = [piece("open", "a", "1"), piece("open", "b", "1"), piece("open", "c", "1")];
        assert_eq!(shown.changes(&first).len(), 3);
        assert!(shown.changes(&first).is_empty());
        let changes = shown.changes(&[piece("open", "a", "1"), piece("done", "b", "1"), piece("open", "d", "<b>")]);
        let brief: Vec<String> =
            changes.iter().map(|change| format!("{} {} {}", change["d"], change["i"], change["a"])).collect();
        assert_eq!(brief, [r#""c" null null"#, r#"null "b" null"#, r#"null "d" "a""#]);
        let text = changes.last().and_then(|change| change["p"].as_str()).unwrap();
        assert!(text.starts_with(r#"<li id="d" class="row" data-h=""#) && text.ends_with("&lt;b&gt;</li>"), "{text}");
    }
}
