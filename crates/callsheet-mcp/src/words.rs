//! The texts that models read. They are in `prompts/mcp.txt`.

use std::fmt::Display;
use std::sync::LazyLock;

use callsheet_core::texts::{Texts, fill};

static WORDS: LazyLock<Texts> = LazyLock::new(|| Texts::of(&[include_str!("../prompts/mcp.txt")]));

/// The text of a key, with each `{name}` replaced by its value.
pub(crate) fn say(key: &str, values: &[(&str, &dyn Display)]) -> String {
    fill(WORDS.get(key).unwrap_or(key), values)
}
