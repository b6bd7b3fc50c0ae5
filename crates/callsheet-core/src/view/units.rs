//! Numbers in the words people read.

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
