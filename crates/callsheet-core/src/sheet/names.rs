//! Names, slugs and heading keys (spec 3.1, 6).

/// The heading key of spec 3.1: lowercased, each run outside `[a-z0-9]` one `-`, edges trimmed.
pub fn heading_key(title: &str) -> String {
    let mut key = String::with_capacity(title.len());
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            key.push(c);
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    while key.ends_with('-') {
        key.pop();
    }
    key
}
