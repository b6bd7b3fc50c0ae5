//! Media types: which ones are text, and how their bytes are decoded.

/// The media type without parameters in lower case, and the charset, if there is one.
pub(super) fn parse(header: &str) -> (String, Option<String>) {
    let mut parts = header.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase());
    (media, charset)
}

/// Whether a media type is text.
pub(super) fn is_text(media: &str) -> bool {
    const TEXT: [&str; 12] = [
        "application/json",
        "application/xml",
        "application/javascript",
        "application/x-javascript",
        "application/ecmascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/x-ndjson",
        "application/jsonl",
        "application/x-sh",
        "application/sql",
    ];
    media.starts_with("text/") || media.ends_with("+json") || media.ends_with("+xml") || TEXT.contains(&media)
}

/// Whether a media type is HTML.
pub(super) fn is_html(media: &str) -> bool {
    matches!(media, "text/html" | "application/xhtml+xml")
}

/// Whether bytes of an unknown type look like text.
pub(super) fn looks_like_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// Decodes bytes as text and replaces invalid ones.
pub(super) fn decode(bytes: &[u8], charset: Option<&str>) -> String {
    match charset {
        // The first 256 characters of Unicode are Latin-1; Windows-1252 differs only in a few quotes and dashes.
        Some("iso-8859-1" | "latin1" | "windows-1252") if std::str::from_utf8(bytes).is_err() => {
            bytes.iter().map(|byte| char::from(*byte)).collect()
        }
        _ => String::from_utf8_lossy(bytes).trim_start_matches('\u{feff}').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_from_their_parameters() {
        assert_eq!(parse("Text/HTML; Charset=\"ISO-8859-1\""), ("text/html".to_owned(), Some("iso-8859-1".to_owned())));
        assert_eq!(parse(""), (String::new(), None));
    }

    #[test]
    fn text_types_are_text_and_others_are_not() {
        for media in ["text/plain", "text/html", "application/json", "application/ld+json", "image/svg+xml"] {
            assert!(is_text(media), "{media}");
        }
        for media in ["image/png", "application/pdf", "application/octet-stream", "video/mp4", ""] {
            assert!(!is_text(media), "{media}");
        }
    }

    #[test]
    fn a_cut_character_at_the_end_is_still_text() {
        assert!(looks_like_text("Zö".as_bytes().get(..2).unwrap()));
        assert!(!looks_like_text(&[0xff, 0xfe, 0x41]));
        assert!(!looks_like_text(b"a\0b"));
    }

    #[test]
    fn latin_is_read_as_such_only_if_it_is_no_utf8() {
        assert_eq!(decode(b"caf\xe9", Some("iso-8859-1")), "café");
        assert_eq!(decode("café".as_bytes(), Some("iso-8859-1")), "café");
        assert_eq!(decode(b"\xef\xbb\xbfa\xff", None), "a\u{fffd}");
    }
}
