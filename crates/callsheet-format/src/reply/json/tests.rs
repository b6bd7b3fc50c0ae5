use callsheet_core::issue::RepairCode;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{MAX_DEPTH, Scanner, in_a_string, meant, read_document, whole};

fn one(text: &str) -> (Value, Vec<RepairCode>) {
    let document = read_document(text).unwrap_or_else(|fault| panic!("{text}: {}", fault.what));
    assert_eq!(document.values.len(), 1, "{text}");
    (document.values[0].value.clone(), document.repairs.iter().map(|repair| repair.code).collect())
}

#[test]
fn repairs_what_has_one_reading() {
    let cases = [
        (r#"{"a": [1, 2,],}"#, json!({"a": [1, 2]})),
        ("{// why\n\"a\": 1 /* how */ # so\n}", json!({"a": 1})),
        (r#"{'a': 'it\'s "so"'}"#, json!({"a": "it's \"so\""})),
        ("{a: True, b_c: False, $d: None}", json!({"a": true, "b_c": false, "$d": null})),
        ("{\"a\": \"one\ntwo\tthree\"}", json!({"a": "one\ntwo\tthree"})),
        (r#"{"a": "fn\s+\w+\("}"#, json!({"a": "fn\\s+\\w+\\("})),
        (r#"{"a": "it\'s"}"#, json!({"a": "it's"})),
        (r#"{"a": {"b": [1, {"c": "d""#, json!({"a": {"b": [1, {"c": "d"}]}})),
    ];
    for (text, value) in cases {
        let (read, codes) = one(text);
        assert_eq!(read, value, "{text}");
        assert!(codes.iter().all(|code| *code == RepairCode::JsonSyntax) && !codes.is_empty(), "{text}: {codes:?}");
    }
}

#[test]
fn straightens_quotes_and_odd_blanks_outside_values() {
    let (value, codes) = one("{\u{201c}a\u{201d}:\u{a0}\u{201c}keep \u{2019}this\u{2019}\u{201d}}");
    assert_eq!(value, json!({"a": "keep \u{2019}this\u{2019}"}));
    assert_eq!(codes, [RepairCode::QuotesStraightened, RepairCode::QuotesStraightened]);
}

#[test]
fn refuses_what_has_several_readings() {
    let cases = [
        r#"{"a" 1}"#,
        r#"{"a": 1 "b": 2}"#,
        r#"{"a": [1}"#,
        r#"{"a": }"#,
        r#"{"a":"#,
        r#"{"a": 1,"#,
        r#"{"a": word}"#,
        r#"{"a": 01}"#,
        r#"{"a": "\q"}"#,
        r#"{'a': 'don't'}"#,
        r#"{"a": "x"}}"#,
        "{/* open",
        "\u{1}",
    ];
    for text in cases {
        let fault = read_document(text).expect_err(text);
        assert!(!fault.truncated, "{text}: {}", fault.what);
    }
}

#[test]
fn a_cut_off_string_is_truncated_not_invalid() {
    for text in [r#"{"a": "half"#, r#"{"a": ["b", "c\"#, r#"{"ke"#] {
        assert!(read_document(text).expect_err(text).truncated, "{text}");
    }
}

#[test]
fn deep_nesting_is_refused_without_using_the_stack() {
    let deep = "[".repeat(200_000);
    assert!(read_document(&deep).expect_err("too deep").what.contains("deeper"));
    let fits = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert!(read_document(&fits).is_ok());
}

#[test]
fn several_values_stand_one_after_another() {
    let document = read_document("{\"a\":1}\n\n[2],\n{\"b\":3}").expect("reads");
    assert_eq!(document.values.len(), 3);
    assert_eq!((document.values[1].start, document.values[1].end), (9, 12));
}

#[test]
fn a_scanner_leaves_what_follows_alone() {
    let text = "call {\"a\": 1} and more";
    let document = Scanner::new(text).one(5).expect("reads");
    assert_eq!(document.values[0].value, json!({"a": 1}));
    assert_eq!(&text[document.values[0].end..], " and more");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e12..1.0e12f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn valid_json_is_read_unchanged(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.expect("writes");
        let document = read_document(&text).map_err(|fault| TestCaseError::fail(fault.what))?;
        prop_assert_eq!(&document.values[0].value, &serde_json::from_str::<Value>(&text).expect("strict"));
        prop_assert!(document.repairs.is_empty() && document.values.len() == 1);
    }

    #[test]
    fn no_text_panics(text in any::<String>(), soup in "[\\[\\]{}:,'\"\\\\/*#a-c0-9 \n\u{201c}\u{201d}-]{0,60}") {
        let _ = read_document(&text);
        if let Ok(document) = read_document(&soup) {
            for value in document.values {
                prop_assert!(soup.get(value.start..value.end).is_some());
            }
        }
        for (at, _) in soup.char_indices() {
            let _ = Scanner::new(&soup).one(at);
        }
    }

    #[test]
    fn mended_text_needs_no_second_mending(soup in "[\\[\\]{}:,'\"/*#abTrue0-9 \n]{0,40}") {
        if let Ok(document) = read_document(&soup) {
            for value in document.values {
                let again = read_document(&value.value.to_string()).map_err(|fault| TestCaseError::fail(fault.what))?;
                prop_assert!(again.repairs.is_empty());
            }
        }
    }
}

#[test]
fn a_reply_means_the_one_value_in_it() {
    let value = json!({"a": 1});
    let replies = [
        "{\"a\": 1}",
        "Sure, here it is:\n\n{\"a\": 1}",
        "{\"a\": 1}\n\nHope this helps!",
        "```json\n{\"a\": 1}\n```",
        "```\n{\"a\": 1}",
        "Here:\n```json\n{\"a\": 1}\n```\nLet me know if you need more.",
        "Use `{name}` like [this](x):\n```python\nx = {'b': 2, **more}\n```\n{\"a\": 1}",
        "<think>Is it {\"a\": 2}?</think>\n{\"a\": 1}",
        "It may be {\"a\": 2}.\n</think>\n{\"a\": 1}",
        "<think>One.</think> <think>Or {\"a\": 2}</think> {\"a\": 1}",
        "{\"a\": 1,}",
        "{'a': 1}",
        "// the answer\n{\"a\": 1 /* one */}",
        "# Answer\n\n{\"a\": 1}",
        "The answer is `{\"a\": 1}`.",
        "{\"a\": 1}\n{\"a\": 1}",
    ];
    for reply in replies {
        let found = meant(reply).unwrap_or_else(|fault| panic!("{reply}: {}", fault.what));
        assert!(!found.is_empty() && found.iter().all(|one| one.located.value == value), "{reply}: {found:?}");
        let strange = reply.trim().starts_with("{\"a\": 1}") && reply.trim().len() == 8 || reply.starts_with("```");
        assert_eq!(found[0].repairs.is_empty(), strange || found.len() > 1, "{reply}: {found:?}");
    }
    let inner = in_a_string(&meant("\"{\\\"a\\\": 1}\"").expect("a string")[0].located.value);
    assert_eq!(inner.map(|one| one.located.value), Some(value));
    assert_eq!(in_a_string(&json!("[draft] of 1")), None);
    assert_eq!(in_a_string(&json!("12")), None);
}

#[test]
fn what_would_be_a_guess_is_no_value() {
    let replies = [
        "",
        "The answer is 42.",
        "<think>{\"a\": 1}",
        "{\"a\": 1 \"b\": 2}",
        "Sure: {'a': 'don't', 'b': {'c': 1}} done",
        "{a: {\"b\": 1} oops}",
        "I use {\"a\": number}: {\"a\": 1}",
        "```json\n{\"a\": }\n```\n{\"a\": 1}",
        "[1, see {\"a\": 1}",
    ];
    for reply in replies {
        assert!(meant(reply).is_err(), "{reply}: {:?}", meant(reply));
    }
    // Several values are reported. This code does not choose.
    let found = meant("First {\"a\": 1}, but really {\"a\": 2}.").expect("two values");
    assert_eq!(found.iter().map(|one| one.located.value["a"].clone()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(whole("First {\"a\": 1}"), None);
}

/// A hostile reply costs only one walk.
#[test]
fn a_long_reply_of_brackets_is_looked_through_once() {
    for text in ["[".repeat(100_000), "{x ".repeat(50_000), "`{` ".repeat(50_000), "{\"a\" ".repeat(50_000)] {
        assert!(meant(&text).is_err());
    }
}
