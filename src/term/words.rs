//! Numbers and states in the words people read.

pub use callsheet_core::view::outcome_words;
use callsheet_runtime::ports::ModelInfo;

/// `850 ms`, `4.2 s`, `3 min 05 s`, `2 h 03 min`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// `12,345`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The context window of a model and who said so, or the setting that says it.
pub fn window_words(model: &ModelInfo) -> String {
    match (model.window, model.window_from) {
        (Some(tokens), from) => {
            let from = from.map(|from| format!(", {}", from.words())).unwrap_or_default();
            format!("{} tokens{from}", thousands(u64::from(tokens)))
        }
        (None, _) => format!("not known (set providers.{}.window)", model.provider),
    }
}

/// A sentence from words: with a capital letter in front.
pub fn sentence(words: &str) -> String {
    let mut rest = words.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(duration(12), "12 ms");
        assert_eq!(duration(4_250), "4.2 s");
        assert_eq!(duration(185_000), "3 min 05 s");
        assert_eq!(duration(7_380_000), "2 h 03 min");
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }
}
