//! Character references of HTML: the numeric ones and the names that occur in prose.

/// Names and their characters.
const NAMED: [(&str, &str); 46] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("ndash", "\u{2013}"),
    ("mdash", "\u{2014}"),
    ("hellip", "\u{2026}"),
    ("lsquo", "\u{2018}"),
    ("rsquo", "\u{2019}"),
    ("ldquo", "\u{201c}"),
    ("rdquo", "\u{201d}"),
    ("sbquo", "\u{201a}"),
    ("bdquo", "\u{201e}"),
    ("laquo", "\u{ab}"),
    ("raquo", "\u{bb}"),
    ("lsaquo", "\u{2039}"),
    ("rsaquo", "\u{203a}"),
    ("bull", "\u{2022}"),
    ("middot", "\u{b7}"),
    ("copy", "\u{a9}"),
    ("reg", "\u{ae}"),
    ("trade", "\u{2122}"),
    ("deg", "\u{b0}"),
    ("plusmn", "\u{b1}"),
    ("times", "\u{d7}"),
    ("divide", "\u{f7}"),
    ("euro", "\u{20ac}"),
    ("pound", "\u{a3}"),
    ("cent", "\u{a2}"),
    ("sect", "\u{a7}"),
    ("para", "\u{b6}"),
    ("larr", "\u{2190}"),
    ("rarr", "\u{2192}"),
    ("uarr", "\u{2191}"),
    ("darr", "\u{2193}"),
    ("le", "\u{2264}"),
    ("ge", "\u{2265}"),
    ("ne", "\u{2260}"),
    ("shy", ""),
    ("zwj", ""),
    ("zwnj", ""),
];
/// Length of the longest reference.
const LONGEST: usize = 12;

/// The text with its references replaced. Anything else is unchanged.
pub(super) fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        rest = match reference(after) {
            Some((value, rest)) => {
                decoded.push_str(&value);
                rest
            }
            None => {
                decoded.push('&');
                after
            }
        };
    }
    decoded.push_str(rest);
    decoded
}

fn reference(after: &str) -> Option<(String, &str)> {
    let end = after.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let (name, rest) = (after.get(..end)?, after.get(end + 1..)?);
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
            None => number.parse().ok()?,
        };
        return Some((char::from_u32(code)?.to_string(), rest));
    }
    let (_, value) = NAMED.iter().find(|(known, _)| *known == name)?;
    Some(((*value).to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_and_other_ampersands_stay() {
        assert_eq!(decode("a &amp; b &lt;c&gt; &#233;&#xE9; &hellip;"), "a & b <c> éé \u{2026}");
        assert_eq!(decode("AT&T &unknown; &#xD800; &#; & &;&"), "AT&T &unknown; &#xD800; &#; & &;&");
        assert_eq!(decode("&éééééééééé;"), "&éééééééééé;");
    }
}
