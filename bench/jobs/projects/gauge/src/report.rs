//! The report that the program prints.

use crate::level::{alarm, peak, rise_per_hour, Alarm, FAST_RISE_CM};
use crate::reading::Reading;

/// Words for an alarm.
pub fn words(alarm: Alarm) -> &'static str {
    match alarm {
        Alarm::Calm => "calm",
        Alarm::Watch => "watch: crew on call",
        Alarm::Flood => "flood: close the bridge",
    }
}

/// `390` is `06:30`.
pub fn clock(minute: u32) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// The whole report.
pub fn render(readings: &[Reading], bad: usize) -> String {
    let Some(top) = peak(readings) else {
        return "no readings".to_owned();
    };
    let mut rows = vec![format!("peak {} cm at {} in {}", top.level, clock(top.minute), top.station)];
    rows.push(words(alarm(top.level)).to_owned());
    for pair in readings.windows(2) {
        if let Some(rise) = rise_per_hour(&pair[0], &pair[1]).filter(|rise| *rise >= FAST_RISE_CM) {
            rows.push(format!("fast rise at {}: {rise} cm an hour", clock(pair[1].minute)));
        }
    }
    if bad > 0 {
        rows.push(format!("{bad} lines could not be read"));
    }
    rows.join("\n")
}
