//! How high the water is, and how fast it rises.

use crate::reading::Reading;

/// From this level, in centimetres, the crew is on call.
pub const WATCH_CM: i32 = 250;
/// From this level the bridge is closed.
pub const FLOOD_CM: i32 = 380;
/// A rise that alarms at any level, in centimetres an hour.
pub const FAST_RISE_CM: i32 = 40;

/// What a level means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    Calm,
    Watch,
    Flood,
}

/// The alarm of one level.
pub fn alarm(level: i32) -> Alarm {
    if level >= FLOOD_CM {
        Alarm::Flood
    } else if level >= WATCH_CM {
        Alarm::Watch
    } else {
        Alarm::Calm
    }
}

/// Centimetres an hour between two readings; nothing if no time passed.
pub fn rise_per_hour(earlier: &Reading, later: &Reading) -> Option<i32> {
    let minutes = later.minute.checked_sub(earlier.minute)?;
    if minutes == 0 {
        return None;
    }
    Some((later.level - earlier.level) * 60 / minutes as i32)
}

/// The highest reading; of equal ones the first.
pub fn peak(readings: &[Reading]) -> Option<&Reading> {
    let mut best: Option<&Reading> = None;
    for reading in readings {
        if best.is_none_or(|found| reading.level > found.level) {
            best = Some(reading);
        }
    }
    best
}
