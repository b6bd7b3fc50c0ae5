//! One line of a log, such as `06:30 station=Ried level=212 temp=8.5`.

/// What a gauge said at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Minutes since midnight.
    pub minute: u32,
    pub station: String,
    /// Centimetres.
    pub level: i32,
    /// Degrees of the water, where the gauge measures them.
    pub temperature: Option<f32>,
}

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadError {
    BadTime,
    MissingStation,
    MissingLevel,
    BadNumber(String),
}

/// Reads one line.
pub fn parse(line: &str) -> Result<Reading, ReadError> {
    let mut words = line.split_whitespace();
    let minute = parse_time(words.next().unwrap_or_default())?;
    let (mut station, mut level, mut temperature) = (None, None, None);
    for word in words {
        let Some((key, value)) = word.split_once('=') else { continue };
        match key {
            "station" => station = Some(value.to_owned()),
            "level" => level = Some(number(value)? as i32),
            "temp" => temperature = Some(number(value)?),
            _ => {}
        }
    }
    Ok(Reading {
        minute,
        station: station.ok_or(ReadError::MissingStation)?,
        level: level.ok_or(ReadError::MissingLevel)?,
        temperature,
    })
}

fn number(text: &str) -> Result<f32, ReadError> {
    text.parse().map_err(|_| ReadError::BadNumber(text.to_owned()))
}

/// `06:30` is 390 minutes.
fn parse_time(text: &str) -> Result<u32, ReadError> {
    let (hours, minutes) = text.split_once(':').ok_or(ReadError::BadTime)?;
    let hours: u32 = hours.parse().map_err(|_| ReadError::BadTime)?;
    let minutes: u32 = minutes.parse().map_err(|_| ReadError::BadTime)?;
    if hours > 24 || minutes > 59 {
        return Err(ReadError::BadTime);
    }
    Ok(hours * 60 + minutes)
}
