//! Character data: the five predefined entities and character references only (spec 3).

use callsheet_core::template::Bytes;

use super::mapped::Mapped;
use super::{Fault, FaultKind};

/// The largest length of a name between `&` and `;`.
const LONGEST: usize = 32;

/// Decodes `raw`, which begins at `base`, and appends it to `out`. In an attribute, line ends and tabs become blanks.
pub(super) fn decode(raw: &str, base: usize, attribute: bool, out: &mut Mapped, faults: &mut Vec<Fault>) {
    let mut plain = 0;
    let mut at = 0;
    while let Some(found) = raw.get(at..).and_then(|rest| rest.find(['&', '\r', '\n', '\t', '\0'])) {
        let special = at + found;
        let rest = raw.get(special..).unwrap_or_default();
        let (text, length) = match rest.as_bytes().first() {
            Some(b'&') => reference(rest, base + special, faults),
            Some(b'\r') => {
                (if attribute { ' ' } else { '\n' }.to_string(), if rest.starts_with("\r\n") { 2 } else { 1 })
            }
            Some(b'\0') => {
                let span = Bytes::new(base + special, base + special + 1);
                faults.push(Fault::malformed(span, "a NUL character", "remove it"));
                (String::new(), 1)
            }
            Some(_) if attribute => (" ".to_owned(), 1),
            _ => {
                at = special + 1;
                continue;
            }
        };
        flush(raw, plain, special, base, out);
        out.push(&text, base + special, length);
        at = special + length;
        plain = at;
    }
    flush(raw, plain, raw.len(), base, out);
}

fn flush(raw: &str, start: usize, end: usize, base: usize, out: &mut Mapped) {
    if let Some(text) = raw.get(start..end).filter(|text| !text.is_empty()) {
        out.push(text, base + start, text.len());
    }
}

/// Whether a possible reference ends with `;`.
fn is_closed(rest: &str) -> bool {
    rest.bytes().skip(1).take(LONGEST + 1).find(|byte| b"; <&\n\t\r".contains(byte)) == Some(b';')
}

/// The text of the reference at the start of `rest`, and its length. A bare `&` stays as it is, with a fault.
fn reference(rest: &str, at: usize, faults: &mut Vec<Fault>) -> (String, usize) {
    let name_length = rest.bytes().skip(1).take(LONGEST).take_while(|byte| !b"; <&\n\t\r".contains(byte)).count();
    let name = rest.get(1..=name_length).unwrap_or_default();
    let span = Bytes::new(at, at + 1 + name_length);
    if name.is_empty() || rest.as_bytes().get(1 + name_length) != Some(&b';') {
        // `&&` counts as one fault.
        let next = rest.get(1..).filter(|next| next.starts_with('&') && !is_closed(next));
        let count = if next.is_some() { 2 } else { 1 };
        let (what, advice) = match count {
            1 => ("a bare `&`", "write `&amp;`"),
            _ => ("a bare `&&`", "write `&amp;&amp;`"),
        };
        faults.push(Fault::malformed(Bytes::new(at, at + count), what, advice));
        return ("&".repeat(count), count);
    }
    let length = name_length + 2;
    let text = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => name.strip_prefix('#').and_then(character),
    };
    if let Some(character) = text {
        return (character.to_string(), length);
    }
    let message = format!("`&{name};` is not defined");
    let advice = "only amp, lt, gt, quot, apos and character references exist";
    faults.push(Fault::new(FaultKind::Malformed, Bytes { end: at + length, ..span }, message, advice));
    (rest.get(..length).unwrap_or_default().to_owned(), length)
}

fn character(reference: &str) -> Option<char> {
    let number = match reference.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => reference.parse().ok()?,
    };
    char::from_u32(number)
        .filter(|c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..))
}
