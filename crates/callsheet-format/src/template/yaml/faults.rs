//! Explains faults of YAML without the terms of the YAML specification.

use callsheet_core::template::{Bytes, Code};

use crate::template::report::Draft;
use crate::yaml::{FaultKind, YamlFault};

/// The fault as an issue. `base` is the offset of the text in the file.
pub(super) fn draft(text: &str, base: usize, fault: &YamlFault) -> Draft {
    let mut fault = fault.clone();
    let before = text.get(..fault.offset).unwrap_or_default();
    // The parser notices a missing colon only at the start of the next line.
    if fault.message.contains("expect ':'") && before.ends_with('\n') {
        fault.offset = before.trim_end().rfind('\n').map_or(0, |at| at + 1);
    }
    let fault = &fault;
    let rest = text.get(fault.offset..).unwrap_or_default();
    let found: String = rest.split('\n').next().unwrap_or_default().chars().take(40).collect();
    let length = rest.chars().next().map_or(0, |first| if first == '\n' { 0 } else { first.len_utf8() });
    let (code, message, advice) = explained(text, fault, rest);
    let span = Bytes::new(base + fault.offset, base + fault.offset + length);
    let draft = Draft::new(code, span, message).advice(advice);
    if found.trim().is_empty() { draft } else { draft.found(&found) }
}

const QUOTE: &str = "put the whole text in quotes";

fn explained(text: &str, fault: &YamlFault, rest: &str) -> (Code, String, String) {
    let first = rest.chars().next().unwrap_or_default();
    let start = text.get(..fault.offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let before = text.get(start..fault.offset).unwrap_or_default();
    let line = text.get(start..).unwrap_or_default().split('\n').next().unwrap_or_default();
    let said = |message: &str, advice: &str| (Code::T001, message.to_owned(), advice.to_owned());
    match fault.kind {
        FaultKind::TooLarge => return (Code::T003, fault.message.clone(), "split the file".to_owned()),
        FaultKind::Braces => {
            let whole: String =
                rest.split(['\n', '#']).next().unwrap_or_default().trim_end().chars().take(60).collect();
            let advice = format!("{QUOTE}: \"{}\"", whole.replace('"', "'"));
            return (Code::T001, "a text that begins with `{{` needs quotes".to_owned(), advice);
        }
        FaultKind::Forbidden => {
            let (what, _) = [("an alias", '*'), ("an anchor", '&'), ("a tag", '!')]
                .into_iter()
                .find(|(_, sign)| *sign == first)
                .unwrap_or(("an anchor, an alias or a tag", first));
            let message = format!("`{first}` begins {what}, which templates do not have");
            return (Code::T002, message, format!("write the value itself; if it is a text, {QUOTE}"));
        }
        FaultKind::Syntax => {}
    }
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    let info = fault.message.as_str();
    if line.get(..indent).is_some_and(|indent| indent.contains('\t')) {
        return said("a tab indents this line", "indent with spaces");
    }
    if matches!(first, '@' | '`' | '%') {
        let message = format!("a text that begins with `{first}` needs quotes");
        return (Code::T001, message, QUOTE.to_owned());
    }
    if line.contains("{{") && (info.contains("flow") || before.contains('[') || before.contains('{')) {
        return said("a text with `{{` in brackets needs quotes", QUOTE);
    }
    if info.contains("mapping values are not allowed") {
        let same = before.trim_start_matches([' ', '-']).contains(": ");
        return match same {
            true => said("a text with `: ` in it needs quotes", QUOTE),
            false => said(
                "this line continues the text above it, so it cannot begin a key",
                "indent it like the keys beside it, or begin the text above with `|`",
            ),
        };
    }
    if info.contains("quoted scalar") {
        let is_closed = ['"', '\''].iter().all(|quote| line.matches(*quote).count() % 2 == 0);
        if is_closed {
            return said("something follows the closing quote", "put the whole text in quotes of the other kind");
        }
        return said("this quote is not closed", "close it");
    }
    if info.contains("flow") || info.contains("':' indicator") {
        let advice = "separate entries by commas and close the bracket; put texts with `[ ] { } ,` in quotes";
        return said("these brackets are not well formed", advice);
    }
    if info.contains("expected key") || info.contains("'-' indicator") {
        return said("the indentation of this line fits none of the lines above", "indent it like the lines beside it");
    }
    if info.contains("expect ':'") {
        return said("this line has no `key: value`", "write a blank behind the colon");
    }
    (Code::T001, format!("this is not well-formed YAML: {info}"), "correct it".to_owned())
}
