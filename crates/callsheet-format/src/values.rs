//! Values in files that people write: JSON, JSON Lines, tables (CSV, TSV) and plain lines.

use serde_json::{Map, Value};

/// The format of a value in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// One JSON value.
    Json,
    /// One JSON value per line.
    JsonLines,
    /// A table with a header line. The byte separates its columns.
    Table(u8),
    /// Any other file: its lines.
    Lines,
}

/// Why a text does not have its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ValueFault {
    /// Line, from 1.
    pub line: u64,
    /// What is wrong, in words.
    pub what: String,
}

impl ValueForm {
    /// The format, by the extension of a file name.
    pub fn of(path: &str) -> Self {
        let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
        match ending.as_str() {
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::JsonLines,
            "csv" => Self::Table(b','),
            "tsv" => Self::Table(b'\t'),
            _ => Self::Lines,
        }
    }

    /// The value of a text. All formats except JSON give a list: of values, of objects with the names of the columns,
    /// or of the non-blank lines.
    ///
    /// # Errors
    /// The text does not have this format.
    pub fn read(self, text: &str) -> Result<Value, ValueFault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Json => serde_json::from_str(text).map_err(|error| fault(error.line(), &error)),
            Self::JsonLines => {
                let value = |(number, line)| serde_json::from_str(line).map_err(|error| fault(number, &error));
                full_lines(text).map(value).collect::<Result<_, _>>().map(Value::Array)
            }
            Self::Table(separator) => table(text, separator).map(Value::Array),
            Self::Lines => Ok(full_lines(text).map(|(_, line)| Value::from(line)).collect()),
        }
    }
}

fn fault(line: usize, what: &dyn std::fmt::Display) -> ValueFault {
    ValueFault { line: u64::try_from(line).unwrap_or(u64::MAX), what: what.to_string() }
}

fn full_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

/// Separators that other programs put between columns.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Another separator, if the first line of a table contains it and not the separator of its format.
fn other_separator(text: &str, separator: u8) -> Option<ValueFault> {
    let first = text.lines().next().unwrap_or_default();
    let count = |sign: u8| columns_of(first, sign).len();
    let other = SEPARATORS.into_iter().filter(|sign| *sign != separator).max_by_key(|sign| count(*sign))?;
    let name = |sign: u8| if sign == b'\t' { "tabs".to_owned() } else { format!("`{}`", char::from(sign)) };
    (count(separator) == 1 && count(other) > 1).then(|| ValueFault {
        line: 1,
        what: format!("the columns are separated by {}, but this format uses {}", name(other), name(separator)),
    })
}

fn columns_of(line: &str, separator: u8) -> csv::StringRecord {
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).has_headers(false).from_reader(line.as_bytes());
    reader.records().next().and_then(Result::ok).unwrap_or_default()
}

/// The line of a quote that opens a cell and is never closed, or that text follows. The rest of the table would be read
/// as one cell.
fn stray_quote(text: &str, separator: u8) -> Option<ValueFault> {
    let mut open: Option<u64> = None;
    let mut line = 1;
    let mut begins = true;
    let mut bytes = text.bytes().peekable();
    let told = |line, what: &str| Some(ValueFault { line, what: what.to_owned() });
    while let Some(byte) = bytes.next() {
        let quote = byte == b'"';
        match open {
            Some(_) if quote && bytes.peek() == Some(&b'"') => drop(bytes.next()),
            Some(_) if quote => {
                open = None;
                let next = bytes.peek().copied().unwrap_or(b'\n');
                if next != separator && !matches!(next, b'\n' | b'\r') {
                    return told(line, "text follows a closing quote; a quote inside a cell is written `\"\"`");
                }
            }
            None if quote && begins => open = Some(line),
            _ => {}
        }
        begins = open.is_none() && (byte == separator || byte == b'\n');
        line += u64::from(byte == b'\n');
    }
    told(open?, "a quote that opens here is never closed")
}

fn table(text: &str, separator: u8) -> Result<Vec<Value>, ValueFault> {
    if let Some(fault) = other_separator(text, separator).or_else(|| stray_quote(text, separator)) {
        return Err(fault);
    }
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).from_reader(text.as_bytes());
    let wrong = |error: &csv::Error| match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => ValueFault {
            line: pos.as_ref().map_or(1, csv::Position::line),
            what: format!("{len} columns, but the first line names {expected_len}"),
        },
        _ => ValueFault { line: error.position().map_or(1, csv::Position::line), what: error.to_string() },
    };
    let names = reader.headers().map_err(|error| wrong(&error))?.clone();
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
        return Err(ValueFault { line: 1, what: format!("two columns are called `{twice}`") });
    }
    let row = |record: csv::StringRecord| {
        let cells = names.iter().zip(&record).map(|(name, cell)| (name.to_owned(), Value::from(cell)));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    reader.records().map(|record| record.map(row).map_err(|error| wrong(&error))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(path: &str, text: &str) -> Result<Value, String> {
        ValueForm::of(path).read(text).map_err(|fault| fault.to_string())
    }

    #[test]
    fn the_ending_says_the_form() {
        let rows = json!([{"name": "Ann", "age": "7"}, {"name": "Bo, jr.", "age": ""}]);
        assert_eq!(read("a.CSV", "\u{feff}name,age\r\nAnn,7\r\n\"Bo, jr.\",\r\n"), Ok(rows.clone()));
        assert_eq!(read("a.csv", "a,b;c\n\"x \"\"y\"\"\n;z\",2\n"), Ok(json!([{"a": "x \"y\"\n;z", "b;c": "2"}])));
        assert_eq!(read("a.csv", "name\n5\" disk\nB;o\n"), Ok(json!([{"name": "5\" disk"}, {"name": "B;o"}])));
        assert_eq!(read("a.tsv", "name\tage\nAnn\t7\nBo, jr.\t\n"), Ok(rows));
        assert_eq!(read("a/b.jsonl", "{\"a\": 1}\n\n[2]\n\"x\""), Ok(json!([{"a": 1}, [2], "x"])));
        assert_eq!(read("b.ndjson", ""), Ok(json!([])));
        assert_eq!(read("b.json", "{\"a\": [1]}\n"), Ok(json!({"a": [1]})));
        assert_eq!(read("names.txt", "Ann\n\n  Bo\n"), Ok(json!(["Ann", "  Bo"])));
        assert_eq!(read("names", ""), Ok(json!([])));
        assert_eq!(read("a.csv", ""), Ok(json!([])));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = |path, text, line: &str| {
            let fault = read(path, text).unwrap_err();
            assert!(fault.starts_with(line), "{fault}");
        };
        wrong("a.csv", "a,b\n1,2\n3\n", "line 3: 1 columns, but the first line names 2");
        wrong("a.csv", "a,a\n1,2\n", "line 1: two columns are called `a`");
        wrong("a.csv", "a;b\n1;2\n", "line 1: the columns are separated by `;`, but this format uses `,`");
        wrong("a.csv", "\"a\";\"b\"\n\"1\";\"2\"\n", "line 1: the columns are separated by `;`");
        wrong("a.csv", "name\tage\nAnn\t7\n", "line 1: the columns are separated by tabs");
        wrong("a.tsv", "a,b\n1,2\n", "line 1: the columns are separated by `,`, but this format uses tabs");
        wrong("a.csv", "a,b\n1,\"2\n3,4\n5,6\n", "line 2: a quote that opens here is never closed");
        wrong("a.csv", "a,b\n\"1\" x,2\n", "line 2: text follows a closing quote");
        wrong("a.csv", "a,b\n1,\"x\n\ny\",3\n", "line 2: 3 columns");
        wrong("a.jsonl", "{}\n\n{\n", "line 3: ");
        wrong("a.json", "[1,\n2", "line 2: ");
    }
}
