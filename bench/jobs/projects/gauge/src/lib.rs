//! Reads the log of a river gauge.

pub mod level;
pub mod reading;
pub mod report;

/// Lines that a log may have; more are ignored.
pub const MAX_LINES: usize = 2000;

/// Reads a whole log. Lines that cannot be read are counted, not returned.
pub fn read_log(text: &str) -> (Vec<reading::Reading>, usize) {
    let mut readings = Vec::new();
    let mut bad = 0;
    for line in text.lines().take(MAX_LINES) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match reading::parse(line) {
            Ok(reading) => readings.push(reading),
            Err(_) => bad += 1,
        }
    }
    (readings, bad)
}
