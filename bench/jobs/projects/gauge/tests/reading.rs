use gauge::reading::{parse, ReadError};

#[test]
fn reads_a_whole_line() {
    let reading = parse("06:30 station=Ried level=212 temp=8.5").unwrap();
    assert_eq!((reading.minute, reading.level, reading.temperature), (390, 212, Some(8.5)));
    assert_eq!(reading.station, "Ried");
}

#[test]
fn a_temperature_may_be_missing() {
    assert_eq!(parse("06:30 station=Ried level=212").unwrap().temperature, None);
}

#[test]
fn a_station_may_not() {
    assert_eq!(parse("06:30 level=212"), Err(ReadError::MissingStation));
}

#[test]
fn the_last_minute_of_the_day() {
    assert_eq!(parse("23:59 station=Ried level=1").unwrap().minute, 1439);
}

#[test]
fn midnight_is_not_hour_24() {
    assert_eq!(parse("24:00 station=Ried level=1"), Err(ReadError::BadTime));
}
