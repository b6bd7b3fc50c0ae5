//! Front matter that is not valid YAML, as people write it: repaired if only quotes or tabs are wrong (spec 7.12).

use super::keys::normal;
use super::read::MAX_DEPTH;
use super::table::{FOLDER_KEYS, KEYS, KeyKind};
use crate::yaml;

/// The front matter with blanks in place of tabs, and with quotes around the texts of known keys that are no YAML of
/// their own; and the keys that were quoted. Each line keeps its number.
pub(super) fn mended(front: &str) -> (String, Vec<String>) {
    let lines: Vec<String> = front.lines().map(without_tabs).collect();
    let (mut out, mut quoted) = (Vec::<String>::new(), Vec::new());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let behind = lines.get(at + 1..).unwrap_or_default();
        let more = behind.iter().take_while(|next| next.starts_with(' ') && !next.trim().is_empty()).count();
        let own = lines.get(at..=at + more).unwrap_or_default();
        at += own.len();
        let text = own.join("\n");
        match text_of(line, own).filter(|_| yaml::parse(&text, 1, MAX_DEPTH).is_err()) {
            Some((key, value)) => {
                // A JSON text is a YAML text.
                out.push(format!("{key}: {}", serde_json::Value::String(value)));
                out.extend(std::iter::repeat_n(String::new(), more));
                quoted.push(key.to_owned());
            }
            None => out.extend_from_slice(own),
        }
    }
    (out.join("\n"), quoted)
}

/// A line with blanks in place of the tabs that indent it.
fn without_tabs(line: &str) -> String {
    let text = line.trim_start_matches([' ', '\t']);
    let indent = line.get(..line.len() - text.len()).unwrap_or_default();
    format!("{}{text}", indent.replace('\t', "  "))
}

/// Key and value of lines that give the text of a known key. `None` for other keys, blocks, and quotes without an end.
fn text_of<'a>(line: &'a str, own: &[String]) -> Option<(&'a str, String)> {
    let (key, first) = line.split_once(':')?;
    let known =
        KEYS.iter().chain(FOLDER_KEYS).find(|known| known.names.iter().any(|name| normal(name) == normal(key)))?;
    let is_text = matches!(known.kind, KeyKind::Text | KeyKind::Name | KeyKind::Description);
    let value: Vec<&str> =
        std::iter::once(first).chain(own.iter().skip(1).map(String::as_str)).map(str::trim).collect();
    let value = value.join(" ").trim().to_owned();
    let is_block = value.starts_with(['|', '>']) || value.is_empty();
    let is_open = ['"', '\''].iter().any(|mark| value.starts_with(*mark) && value.matches(*mark).count() % 2 == 1);
    (is_text && !is_block && !is_open && !key.starts_with(' ')).then_some((key, value))
}
