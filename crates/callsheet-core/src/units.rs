//! Numbers in words for people.

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

/// A limit or a use as a number: `40`, `0.25`.
pub fn amount(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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
}
