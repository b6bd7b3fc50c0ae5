//! The pause that a provider asks for: in headers, in members of an error object, or in words. Pure.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use regex::{Regex, bytes};
use serde_json::Value;

/// Headers with the rest of a limit, and the header that says when the limit is reset.
const LIMITS: &[(&str, &str)] = &[
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
];

/// Members of an error object that contain a pause, with the milliseconds of their unit. In lower case, without
/// separators.
const MEMBERS: &[(&str, u64)] = &[
    ("retrydelay", 1_000),
    ("retryafter", 1_000),
    ("retryafterseconds", 1_000),
    ("retryafterms", 1),
    ("estimatedtime", 1_000),
    ("xratelimitreset", 1_000),
];

/// The deepest nesting of an error object.
const MAX_DEPTH: usize = 8;

/// Larger numbers are points in time: seconds since 1970.
const EPOCH_SECONDS: f64 = 1e9;
/// Larger numbers are points in time: milliseconds since 1970.
const EPOCH_MILLIS: f64 = 1e12;

// Over bytes and in ASCII, because the tables of Unicode cost milliseconds, and the probe of a new server often reads an error.
static WORDS: LazyLock<Option<bytes::Regex>> = LazyLock::new(|| {
    let time = r"(?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|hours?|h|minutes?|min|m|seconds?|secs?|s)\s*)+";
    bytes::Regex::new(&format!(r"(?i-u)\b(?:again|retry|retrying|wait|available)\b[^\d\n]{{0,40}}({time})\b")).ok()
});

static PARTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(\d+(?:\.\d+)?)\s*(milliseconds?|ms|hours?|h|minutes?|min|m|seconds?|secs?|s)").ok()
});

/// The pause that headers or body ask for.
pub fn asked(header: impl Fn(&str) -> Option<String>, body: &str, now: SystemTime) -> Option<Duration> {
    in_headers(header, now).or_else(|| in_body(body, now))
}

fn in_headers(header: impl Fn(&str) -> Option<String>, now: SystemTime) -> Option<Duration> {
    if let Some(millis) = header("retry-after-ms").and_then(|text| text.trim().parse::<u64>().ok()) {
        return Some(Duration::from_millis(millis));
    }
    if let Some(wait) = header("retry-after").and_then(|text| time(&text, 1_000, now)) {
        return Some(wait);
    }
    let used_up = LIMITS.iter().filter(|(rest, _)| header(rest).is_some_and(|text| text.trim() == "0"));
    used_up.filter_map(|(_, reset)| time(&header(reset)?, 1_000, now)).max()
}

/// The pause that an error body asks for.
pub fn in_body(body: &str, now: SystemTime) -> Option<Duration> {
    let value = serde_json::from_str::<Value>(body).ok();
    let member = value.as_ref().and_then(|value| in_value(value, now, MAX_DEPTH));
    member.or_else(|| {
        let found = WORDS.as_ref()?.captures(body.as_bytes())?;
        time(std::str::from_utf8(found.get(1)?.as_bytes()).ok()?, 1_000, now)
    })
}

fn in_value(value: &Value, now: SystemTime, depth: usize) -> Option<Duration> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Array(items) => items.iter().find_map(|item| in_value(item, now, depth)),
        Value::Object(members) => {
            let own = members.iter().find_map(|(key, value)| {
                let key: String = key.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
                let (_, unit) = MEMBERS.iter().find(|(name, _)| *name == key)?;
                match value {
                    Value::Number(number) => time(&number.to_string(), *unit, now),
                    Value::String(text) => time(text, *unit, now),
                    _ => None,
                }
            });
            own.or_else(|| members.values().find_map(|value| in_value(value, now, depth)))
        }
        _ => None,
    }
}

/// Reads a time in the forms that providers use: a number of units, `1m12.5s`, or a date.
fn time(text: &str, unit_ms: u64, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return plain(number, unit_ms, now);
    }
    if let Ok(at) = httpdate::parse_http_date(text) {
        return Some(at.duration_since(now).unwrap_or_default());
    }
    let mut sum = 0.0;
    for part in PARTS.as_ref()?.captures_iter(text) {
        let number = part.get(1)?.as_str().parse::<f64>().ok()?;
        let unit = part.get(2)?.as_str().to_lowercase();
        sum += number
            * match unit.as_str() {
                unit if unit == "ms" || unit.starts_with("milli") => 0.001,
                unit if unit.starts_with('h') => 3_600.0,
                unit if unit.starts_with('m') => 60.0,
                _ => 1.0,
            };
    }
    let found = PARTS.as_ref()?.is_match(text);
    found.then(|| Duration::try_from_secs_f64(sum).ok()).flatten()
}

fn plain(number: f64, unit_ms: u64, now: SystemTime) -> Option<Duration> {
    let since_1970 = || now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let at = |seconds: f64| Some(Duration::try_from_secs_f64(seconds).ok()?.saturating_sub(since_1970()));
    if number >= EPOCH_MILLIS {
        at(number / 1_000.0)
    } else if number >= EPOCH_SECONDS {
        at(number)
    } else if unit_ms == 1 {
        Duration::try_from_secs_f64(number / 1_000.0).ok()
    } else {
        Duration::try_from_secs_f64(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
    }

    /// covers: 12.1
    #[test]
    fn pauses_stand_in_headers() {
        for (headers, millis) in [
            (&[("retry-after", "7")][..], Some(7_000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after-ms", "250"), ("retry-after", "7")], Some(250)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (&[("retry-after", "soon")], None),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1m30s")], Some(90_000)),
            (&[("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "1m30s")], None),
        ] {
            let header =
                |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            let found = asked(header, "", now()).map(|wait| wait.as_millis());
            assert_eq!(found, millis, "{headers:?}");
        }
        let today = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let header = |name: &str| match name {
            "x-ratelimit-remaining" => Some("0".to_owned()),
            "x-ratelimit-reset" => Some("1800000010000".to_owned()),
            _ => None,
        };
        assert_eq!(asked(header, "", today), Some(Duration::from_secs(10)));
    }

    /// covers: 12.1
    #[test]
    fn pauses_stand_in_bodies() {
        for (body, millis) in [
            (r#"[{"error":{"code":429,"details":[{"@type":"x"},{"retryDelay":"6s"}]}}]"#, Some(6_000)),
            (r#"{"error":{"message":"slow down","retry_after":3}}"#, Some(3_000)),
            (r#"{"error":{"retry_after_ms":"1500"}}"#, Some(1_500)),
            (r#"{"error":"Model is currently loading","estimated_time":20.5}"#, Some(20_500)),
            (r#"{"error":{"message":"Rate limit reached. Please try again in 7.66s. Visit"}}"#, Some(7_660)),
            (r#"{"message":"Please retry after 30 seconds."}"#, Some(30_000)),
            ("Please try again in 1m12.5s.", Some(72_500)),
            ("please wait 2 minutes", Some(120_000)),
            ("try again in 20ms", Some(20)),
            ("try again later", None),
            ("Limit 30000, Used 29000, Requested 2000", None),
            ("", None),
        ] {
            assert_eq!(in_body(body, now()).map(|wait| wait.as_millis()), millis, "{body}");
        }
    }
}
