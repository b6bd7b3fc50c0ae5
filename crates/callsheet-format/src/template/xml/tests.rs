use callsheet_core::template::Bytes;
use proptest::prelude::*;

use super::build::Document;
use super::{Element, FaultKind, Item, Mapped, Mode, parse};

fn show(element: &Element, out: &mut String) {
    out.push_str(&format!("({}", element.name));
    for attribute in &element.attributes {
        out.push_str(&format!(" {}={}", attribute.name, attribute.value.as_str()));
    }
    for item in &element.items {
        match item {
            Item::Text(text) => out.push_str(&format!(" {:?}", text.as_str())),
            Item::Element(child) => show(child, out),
        }
    }
    out.push(')');
}

fn shown(text: &str, mode: Mode) -> (String, Vec<String>) {
    let document = parse(text, mode);
    let mut out = String::new();
    if let Some(root) = &document.root {
        show(root, &mut out);
    }
    (out, document.faults.into_iter().map(|fault| fault.message).collect())
}

#[test]
fn one_fault_for_each_crossed_tag() {
    let (tree, faults) = shown("<r><a><b>x</a></b><c><d></c></d><e><f></e></f><g/></r>", Mode::Strict);
    assert_eq!(tree, r#"(r(a(b "x"))(c(d))(e(f))(g))"#);
    assert_eq!(faults.len(), 3, "{faults:?}");
}

#[test]
fn faults_do_not_end_reading() {
    let (tree, faults) = shown("<r a=1 b='x < y' c><x>1 & 2 < 3</x></y><z q=\"open\n<k/></r>", Mode::Strict);
    assert_eq!(tree, "(r a=1 b=x < y(x \"1 & 2 \" \"< 3\")(z q=open (k)))");
    assert_eq!(faults.len(), 9, "{faults:#?}");
}

#[test]
fn lenient_reading_takes_another_case() {
    let (tree, faults) = shown("<Result>x</result>", Mode::Lenient);
    assert_eq!(tree, "(Result \"x\")");
    assert_eq!(faults, ["</result> closes <Result>"]);
    assert_eq!(shown("<Result>x</result>", Mode::Strict).1.len(), 2);
}

#[test]
fn entities_and_line_ends_are_read() {
    let (tree, faults) = shown("<r a='&#x41;\n&lt;'>&amp;&#10;\r\n<![CDATA[<&]]>&no;</r>", Mode::Strict);
    assert_eq!(tree, "(r a=A < \"&\\n\\n\" \"<&\" \"&no;\")");
    assert_eq!(faults, ["`&no;` is not defined"]);
}

#[test]
fn declarations_are_refused() {
    let text = "<!DOCTYPE r [<!ENTITY a \"]>\"><!ENTITY b SYSTEM 'file:///etc/passwd'>]><r>&b;</r>";
    let kinds: Vec<FaultKind> = parse(text, Mode::Strict).faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [FaultKind::Forbidden, FaultKind::Malformed]);
}

#[test]
fn decoded_text_knows_its_places() {
    let text = "<r>\n    one &amp; two\n      three\n\n    four  \n  </r>";
    let Document { root: Some(root), .. } = parse(text, Mode::Strict) else { panic!("no root") };
    let Some(Item::Text(content)) = root.items.first() else { panic!("no text") };
    let plain: Mapped = content.dedented();
    assert_eq!(plain.as_str(), "one & two\n  three\n\nfour");
    for word in ["one", "two", "three", "four"] {
        let at = plain.as_str().find(word).unwrap();
        let Bytes { start, end } = plain.span(at, at + word.len());
        assert_eq!(&text[start..end], word);
    }
    let amp = plain.as_str().find('&').unwrap();
    assert_eq!(&text[plain.source(amp)..plain.source(amp) + 5], "&amp;");
}

#[test]
fn dedenting_is_done_once() {
    for text in ["a\n  b\n    c", "\n\n   a\n \n  b\n", "x", "", "  x  ", "\ta\n\tb", "a\n\n\n"] {
        let once = Mapped::made(text, Bytes::default()).dedented();
        let framed = format!("\n{}\n", once.as_str());
        assert_eq!(Mapped::made(&framed, Bytes::default()).dedented().as_str(), once.as_str(), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "(<|>|/|=|\"|'|&|;|a|b|<a>|</a>|<b |<!--|-->|<!|\\[|\\]|<\\?|\\?>|é|\n| ){0,60}") {
        for mode in [Mode::Strict, Mode::Lenient] {
            let document = parse(&text, mode);
            for fault in &document.faults {
                prop_assert!(fault.span.start <= text.len() && fault.span.end <= text.len());
                prop_assert!(text.is_char_boundary(fault.span.start) && text.is_char_boundary(fault.span.end));
            }
        }
    }
}
