//! Estimates token counts for providers that do not count: ceil(ASCII characters / 4 + other characters) (spec 5.8).

/// Estimated tokens of a text.
pub fn estimate(text: &str) -> u64 {
    u64::from(callsheet_core::nouns::tokens(text))
}
