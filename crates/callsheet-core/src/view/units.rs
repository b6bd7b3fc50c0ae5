//! Numbers in the words people read.

use crate::run::Times;

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

/// `$12.34`, `$0.05`, `$0.0042`, `less than $0.0001`.
pub fn dollars(usd: f64) -> String {
    match usd {
        _ if usd <= 0.0 => "$0".to_owned(),
        _ if usd < 0.000_05 => "less than $0.0001".to_owned(),
        _ if usd < 0.095 => {
            let text = format!("{usd:.4}");
            let short = text.trim_end_matches('0');
            // At least cents.
            format!("${short:0<4}")
        }
        _ => format!("${usd:.2}"),
    }
}

/// `1 call`, `3 calls`.
pub fn counted(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {one}s", thousands(u64::try_from(number).unwrap_or(0))) }
}

/// The parts of a run's time, each with its words; none of no length.
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
    fn numbers_read_well() {
        assert_eq!(duration(12), "12 ms");
        assert_eq!(duration(4_250), "4.2 s");
        assert_eq!(duration(185_000), "3 min 05 s");
        assert_eq!(duration(7_380_000), "2 h 03 min");
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!((counted(1, "call"), counted(1_200, "call")), ("1 call".to_owned(), "1,200 calls".to_owned()));
    }

    #[test]
    fn money_shows_two_digits_that_count() {
        let shown: Vec<String> = [0.0, 0.000_01, 0.0042, 0.05, 0.0512, 0.5, 12.345].into_iter().map(dollars).collect();
        assert_eq!(shown, ["$0", "less than $0.0001", "$0.0042", "$0.05", "$0.0512", "$0.50", "$12.35"]);
    }

    #[test]
    fn time_says_what_it_went_to() {
        let times = Times { models_ms: 38_000, working_ms: 3_200, you_ms: 0 };
        assert_eq!(time_words(&times), "41.2 s: 38.0 s waiting for models, 3.2 s working");
        assert_eq!(time_words(&Times { you_ms: 1_000, ..Times::default() }), "1.0 s waiting for you");
    }
}
