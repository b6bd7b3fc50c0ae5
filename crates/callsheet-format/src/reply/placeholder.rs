//! Detects blanks of a form that a model copied instead of filling in.

/// Whether a text contains only blanks such as `<what this worker must do, in one sentence>`, in the style of the forms
/// in prompts. Addresses and tags do not consist only of words, so they do not count.
pub fn is_copied_form(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some() && lines.all(is_blank)
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start_matches(['#', '-', '*']).trim();
    let Some(inner) = line.strip_prefix('<').and_then(|rest| rest.trim_end_matches('.').strip_suffix('>')) else {
        return false;
    };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | ',' | ':' | ';' | '\'' | '.' | '-');
    inner.contains(' ') && inner.starts_with(char::is_alphabetic) && inner.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::is_copied_form;

    /// covers: 4.6
    #[test]
    fn blanks_of_every_bundled_form_are_known_and_ordinary_text_is_not() {
        for key in crate::prompt::PromptKey::ALL {
            let text = crate::prompt::Templates::bundled_text(*key);
            for blank in text.lines().filter_map(|line| line.find('<').and_then(|at| line.get(at..))) {
                let whole = blank.ends_with('>') && blank.matches('<').count() == 1 && blank.contains(' ');
                assert!(!whole || blank.starts_with("<!--") || is_copied_form(blank), "{key}: {blank}");
            }
        }
        for text in [
            "",
            "<https://example.org/a b>",
            "<b>bold words</b>",
            "<img src=\"a b\">",
            "Use <the name> here",
            "a < b and c > d",
            "<name>",
            "The answer.\n<the answer, in one to five sentences>",
        ] {
            assert!(!is_copied_form(text), "{text}");
        }
        assert!(is_copied_form("<the answer, in one to five sentences>\n## <a title of your own>\n"));
    }
}
