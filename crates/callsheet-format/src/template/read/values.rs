//! Checks the values of attributes and elements (spec 2.1, 3).

use callsheet_core::fuzzy::{nearest, within};
use callsheet_core::nouns::LimitRange;
use callsheet_core::template::{Bytes, Code, Expression, Filled, Path, ValueType, is_ident, is_template_name};

use crate::template::grammar::Kind;
use crate::template::report::Draft;
use crate::template::xml::Mapped;

use super::Reader;
use super::command;

/// Subtypes with a special meaning.
const SUBTYPES: &[&str] = &["standard", "subtask", "director", "evaluator", "associative_matching"];

/// Removes the braces of placeholders, as in paths and expressions.
pub(super) fn without_braces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, (inside, after))) =
        rest.split_once("{{").and_then(|(before, inside)| Some((before, inside.split_once("}}")?)))
    {
        // Quotes around the placeholder would turn its name into a string.
        let quote = before.chars().last().filter(|c| matches!(c, '"' | '\''));
        let inner = quote.and_then(|quote| Some((before.strip_suffix(quote)?, after.strip_prefix(quote)?)));
        let (before, after) = inner.unwrap_or((before, after));
        out.push_str(before);
        out.push_str(inside.trim());
        rest = after;
    }
    out.push_str(rest);
    out
}

impl Reader<'_> {
    /// Reports faults of a value. `name` is the attribute or element. `span` is its place if it is empty.
    pub(super) fn check_value(&mut self, kind: Kind, name: &str, value: &Mapped, span: Bytes) {
        let text = value.as_str();
        let whole = if text.is_empty() { span } else { value.whole() };
        let takes_places = matches!(kind, Kind::Filled | Kind::Command);
        if let Some(at) = text.find("{{").filter(|_| !takes_places) {
            let end = text.get(at..).and_then(|rest| rest.find("}}")).map_or(at + 2, |found| at + found + 2);
            let draft = Draft::new(Code::T051, value.span(at, end), format!("`{name}` takes no placeholder"));
            let bare = without_braces(text);
            let advice = match kind {
                Kind::Path if Path::parse(&bare).is_some() => format!("write `{bare}`, without braces"),
                Kind::Expression if Expression::parse(&bare).is_ok() => format!("write `{bare}`, without braces"),
                Kind::Path | Kind::Expression => "name the variable without braces".to_owned(),
                _ => "write the value itself".to_owned(),
            };
            self.add(draft.found(text.get(at..end).unwrap_or_default()).advice(advice));
            return;
        }
        let draft = match kind {
            Kind::Text => None,
            Kind::Filled => return self.check_places(value),
            Kind::Command | Kind::PlainCommand => {
                self.check_places(value);
                return command::check(self, value);
            }
            Kind::Ident => (!is_ident(text)).then(|| not_ident(name, text, whole)),
            Kind::TemplateName => (!is_template_name(text)).then(|| not_ident(name, text, whole)),
            Kind::CallName => (!is_call_name(text)).then(|| not_ident(name, text, whole)),
            Kind::Path => self.check_path(text, whole),
            Kind::Subtype if !is_ident(text) => Some(not_ident(name, text, whole)),
            Kind::Subtype => (!SUBTYPES.contains(&text)).then(|| {
                let message = format!("the subtype `{text}` has no meaning here");
                Draft::new(Code::T506, whole, message)
                    .expected(SUBTYPES.iter().copied())
                    .advice("check its spelling; it is treated as `standard`")
            }),
            Kind::Bool => (!matches!(text, "true" | "false")).then(|| not_bool(name, text, whole)),
            Kind::Int(least, most) => {
                let fits = whole_number(text).is_some_and(|number| (least..=most).contains(&number));
                (!fits).then(|| not_number(name, &format!("a whole number from {least} to {most}"), whole))
            }
            Kind::Limit(range) => {
                let fits = number(text).is_some_and(|number| range.holds(number));
                (!fits).then(|| not_number(name, &range_words(range), whole))
            }
            Kind::OneOf(words) => (!words.contains(&text)).then(|| not_one_of(name, text, words, whole)),
            Kind::Type => ValueType::parse(text).is_none().then(|| not_type(text, whole)),
            Kind::Expression => return self.check_expression(value, span),
            Kind::Schema => self.check_schema_word(text, whole),
            Kind::JsonSchema => check_json_schema(text, whole),
            Kind::List => text.split(',').any(|word| word.trim().is_empty()).then(|| {
                let draft = Draft::new(Code::T018, whole, format!("`{name}` has an empty entry"));
                draft.advice("separate words by single commas")
            }),
            Kind::Params => return self.check_params(value),
        };
        if let Some(draft) = draft {
            self.add(draft.found(text));
        }
    }

    /// Checks the placeholders of a text.
    fn check_places(&mut self, value: &Mapped) {
        let text = value.as_str();
        for written in Filled::read(text).1 {
            let span = value.span(written.start, written.end);
            let found = text.get(written.start..written.end).unwrap_or_default();
            if written.path.is_none() {
                let draft = Draft::new(Code::T050, span, "this `{{` begins no placeholder").found(found);
                self.add(draft.advice("write {{name}}, or {{{{ for a literal {{"));
            } else if written.alias {
                self.path_alias(span, found);
            }
        }
    }

    fn path_alias(&mut self, span: Bytes, found: &str) {
        let draft = Draft::new(Code::T503, span, "`result[…]` is read as `step_results[…]`").found(found);
        self.add(draft.expected(["step_results"]).advice("write `step_results[…]`"));
    }

    fn check_path(&mut self, text: &str, span: Bytes) -> Option<Draft> {
        match Path::parse(text).map(Path::canonical) {
            Some((_, false)) => None,
            Some((_, true)) => {
                self.path_alias(span, text);
                None
            }
            None => {
                let message = format!("`{text}` is not a variable path");
                Some(Draft::new(Code::T017, span, message).advice("write a name, then any of .name and [number]"))
            }
        }
    }

    fn check_expression(&mut self, value: &Mapped, span: Bytes) {
        let text = value.as_str();
        match Expression::read(text) {
            Ok((_, false)) => {}
            Ok((_, true)) => self.path_alias(value.whole(), text),
            Err((at, message)) => {
                let span = if text.is_empty() { span } else { value.span(at.min(text.len()), text.len()) };
                let draft = Draft::new(Code::T054, span, message).found(text.get(at..).unwrap_or_default());
                self.add(draft.advice(sign_meant(text.get(at..).unwrap_or_default())));
            }
        }
    }

    /// Checks `ident[:type][=default]`, separated by commas. A parameter with a default must not precede one without.
    fn check_params(&mut self, value: &Mapped) {
        let text = value.as_str();
        let mut names = std::collections::BTreeSet::new();
        let mut optional = false;
        for param in split_params(text) {
            let span = value.span(param.start, param.end);
            let goes_on = text.get(param.end..).is_some_and(|rest| rest.contains(','));
            if goes_on && param.default.is_some_and(is_begun) {
                let draft = Draft::new(Code::T017, span, format!("the default of `{}` holds a comma", param.name));
                let form = format!("write <param name=\"{}\" default=\"…\"/> in <params>", param.name);
                // Nothing follows the comma.
                return self.add(draft.found(text).advice(form));
            }
            if !is_ident(param.name) {
                self.add(not_ident("params", param.name, span).found(param.name));
            } else if names.contains(param.name) {
                let draft = Draft::new(Code::T021, span, format!("the parameter `{}` is named twice", param.name));
                self.add(draft.found(param.name).advice("rename one of the two"));
            }
            names.insert(param.name);
            if let Some(word) = param.kind.filter(|word| ValueType::parse(word).is_none()) {
                self.add(not_type(word, span).found(word));
            }
            if optional && param.default.is_none() {
                self.late_required(param.name, span);
            }
            optional |= param.default.is_some();
        }
    }

    /// Reports a parameter without a default that follows one with a default.
    pub(super) fn late_required(&mut self, name: &str, span: Bytes) {
        let message = format!("the required parameter `{name}` follows an optional one");
        self.add(Draft::new(Code::T023, span, message).found(name).advice("put it before, or give it a default"));
    }

    fn check_schema_word(&mut self, text: &str, span: Bytes) -> Option<Draft> {
        let named = text.strip_prefix('@').is_some_and(is_template_name);
        let known = named || (text != "any" && ValueType::parse(text).is_some());
        let words = ValueType::WORDS.iter().copied().filter(|word| *word != "any").chain(["@NAME"]);
        (!known).then(|| {
            let draft = Draft::new(Code::T034, span, format!("`{text}` is not a schema"));
            let near = near_word(text, words.clone());
            let otherwise = || "write a type, @NAME, or put a JSON Schema inside the element".to_owned();
            draft.expected(words).advice(near.map_or_else(otherwise, |word| format!("write {word}")))
        })
    }
}

/// Whether the text begins a list or an object without ending it.
fn is_begun(text: &str) -> bool {
    let closing = match text.chars().next() {
        Some('[') => ']',
        Some('{') => '}',
        _ => return false,
    };
    !text.ends_with(closing)
}

fn not_ident(name: &str, text: &str, span: Bytes) -> Draft {
    let message = match text.is_empty() {
        true => format!("`{name}` is empty"),
        false => format!("`{text}` is not a valid name"),
    };
    Draft::new(Code::T017, span, message)
        .advice("start with a letter from a to z or _; then use such letters, digits, _ and -, up to 64 in all")
}

fn not_bool(name: &str, text: &str, span: Bytes) -> Draft {
    let advice = match text.to_ascii_lowercase().as_str() {
        "yes" | "true" | "1" | "on" | "enabled" => "write true",
        "no" | "false" | "0" | "off" | "disabled" => "write false",
        _ => "write true or false",
    };
    Draft::new(Code::T015, span, format!("{name} must be true or false")).expected(["true", "false"]).advice(advice)
}

fn not_number(name: &str, wanted: &str, span: Bytes) -> Draft {
    let draft = Draft::new(Code::T016, span, format!("{name} must be {wanted}"));
    draft.expected([wanted]).advice(format!("write {wanted}"))
}

fn not_one_of(name: &str, text: &str, words: &[&'static str], span: Bytes) -> Draft {
    let draft = Draft::new(Code::T014, span, format!("{name} must be {}", words.join(" or ")));
    let draft = draft.expected(words.iter().copied());
    if name == "type" && text == "reparse" {
        return draft.advice("`reparse` is reserved: only the runtime starts a reparse");
    }
    draft.advice(
        near_word(text, words.iter().copied())
            .map_or_else(|| format!("write {}", words.join(" or ")), |word| format!("write {word}")),
    )
}

/// What to write where an expression could not be read further.
fn sign_meant(rest: &str) -> &'static str {
    let word = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    match (word, rest.chars().next()) {
        ("and", _) => "write && (in XML `&amp;&amp;`)",
        ("or", _) => "write ||",
        ("is" | "eq", _) | (_, Some('=')) => "write == to compare",
        (_, Some('+' | '-' | '*' | '/' | '(')) => "expressions support no arithmetic, and no call but len(…)",
        _ => "paths, literals, comparisons, !, && and || are allowed",
    }
}

/// The most likely intended word, if one is similar.
pub(in crate::template) fn near_word<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = nearest(text, words, 1).into_iter().next()?;
    let letters = text.chars().count();
    let limit = letters.div_ceil(3).min(3).min(letters.saturating_sub(1));
    within(&text.to_lowercase(), &near.to_lowercase(), limit).then_some(near)
}

fn not_type(text: &str, span: Bytes) -> Draft {
    let near = near_word(text, ValueType::WORDS.iter().copied());
    Draft::new(Code::T057, span, format!("`{text}` is not a type"))
        .expected(ValueType::WORDS.iter().copied())
        .advice(near.map_or_else(|| format!("write {}", ValueType::WORDS.join(", ")), |word| format!("write {word}")))
}

fn range_words(range: LimitRange) -> String {
    match range {
        LimitRange::Count { least, most } => format!("a whole number from {least} to {most}"),
        LimitRange::Share => "a number greater than 0, and 1 or less".to_owned(),
        LimitRange::Amount => "a number above 0".to_owned(),
    }
}

fn check_json_schema(text: &str, span: Bytes) -> Option<Draft> {
    let message = match serde_json::from_str::<serde_json::Value>(text) {
        Err(error) => format!("the JSON Schema is not valid JSON: {error}"),
        Ok(schema) => match callsheet_core::template::schema::compile(&schema) {
            Ok(_) => return None,
            Err(message) => format!("this is not a JSON Schema: {message}"),
        },
    };
    Some(Draft::new(Code::T034, span, message).advice("correct it"))
}

/// Whether the text is the name of a template, or `template:` or `skill:` followed by a name.
pub(super) fn is_call_name(text: &str) -> bool {
    is_template_name(text.strip_prefix("template:").or_else(|| text.strip_prefix("skill:")).unwrap_or(text))
}

/// A whole number that consists only of digits.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    (!text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// A plain decimal number.
pub(super) fn number(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain.then(|| text.parse().ok()).flatten()
}

/// One entry of `params`.
pub(in crate::template) struct RawParam<'a> {
    pub(in crate::template) name: &'a str,
    pub(in crate::template) kind: Option<&'a str>,
    pub(in crate::template) default: Option<&'a str>,
    /// The range of the entry without outer blanks.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The entries of `params`. An empty text has none.
pub(in crate::template) fn split_params(text: &str) -> Vec<RawParam<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    if text.trim().is_empty() {
        return out;
    }
    for entry in text.split(',') {
        let trimmed = entry.trim();
        let start = at + (entry.len() - entry.trim_start().len());
        let (head, default) = match trimmed.split_once('=') {
            Some((head, default)) => (head.trim(), Some(default.trim())),
            None => (trimmed, None),
        };
        let (name, kind) = match head.split_once(':') {
            Some((name, kind)) => (name.trim(), Some(kind.trim())),
            None => (head, None),
        };
        out.push(RawParam { name, kind, default, start, end: start + trimmed.len() });
        at += entry.len() + 1;
    }
    out
}
