//! The times of a run in words for people.

use crate::run::Times;
use crate::units::duration;

/// The parts of a run's time with their words, without empty ones.
pub fn time_parts(times: &Times) -> Vec<(&'static str, u64)> {
    let parts =
        [("waiting for models", times.models_ms), ("working", times.working_ms), ("waiting for you", times.you_ms)];
    parts.into_iter().filter(|(_, ms)| *ms > 0).collect()
}

/// `53.2 s: 38.0 s waiting for models, 3.2 s working, 12.0 s waiting for you`.
pub fn time_words(times: &Times) -> String {
    let parts = time_parts(times);
    let each: Vec<String> = parts.iter().map(|(words, ms)| format!("{} {words}", duration(*ms))).collect();
    match parts.as_slice() {
        [] => duration(0),
        [(words, ms)] => format!("{} {words}", duration(*ms)),
        _ => format!("{}: {}", duration(times.total_ms()), each.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_says_what_it_went_to() {
        let times = Times { models_ms: 38_000, working_ms: 3_200, you_ms: 0 };
        assert_eq!(time_words(&times), "41.2 s: 38.0 s waiting for models, 3.2 s working");
        assert_eq!(time_words(&Times { you_ms: 1_000, ..Times::default() }), "1.0 s waiting for you");
    }
}
