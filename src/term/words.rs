//! Numbers and states in words for people.

pub use callsheet_core::view::{dollars, duration, outcome_words, thousands};
use callsheet_runtime::ports::ModelInfo;

/// The context window of a model and its source, or the setting that sets it.
pub fn window_words(model: &ModelInfo) -> String {
    match (model.window, model.window_from) {
        (Some(tokens), from) => {
            let from = from.map(|from| format!(", {}", from.words())).unwrap_or_default();
            format!("{} tokens{from}", thousands(u64::from(tokens)))
        }
        (None, _) => format!("not known (set providers.{}.window)", model.provider),
    }
}

/// Whether a model sees pictures, or the setting that says so.
pub fn picture_words(model: &ModelInfo) -> String {
    match model.capabilities.vision {
        true => "seen".to_owned(),
        false => format!("not seen (if it sees them, set providers.{}.vision=true)", model.provider),
    }
}

/// Turns words into a sentence with a capital letter.
pub fn sentence(words: &str) -> String {
    let mut rest = words.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}
