use gauge::level::{alarm, peak, rise_per_hour, Alarm};
use gauge::read_log;

#[test]
fn alarms_begin_at_their_level() {
    assert_eq!(alarm(249), Alarm::Calm);
    assert_eq!(alarm(250), Alarm::Watch);
    assert_eq!(alarm(380), Alarm::Flood);
}

#[test]
fn the_first_of_equal_peaks() {
    let (readings, bad) = read_log("01:00 station=A level=9\n02:00 station=B level=9\nnonsense");
    assert_eq!(peak(&readings).unwrap().station, "A");
    assert_eq!(bad, 1);
}

#[test]
fn rise_counts_an_hour() {
    let (readings, _) = read_log("01:00 station=A level=100\n01:30 station=A level=120");
    assert_eq!(rise_per_hour(&readings[0], &readings[1]), Some(40));
}
