//! Link targets (spec 5.1-5.3): converts text with all aliases to a [`Target`], and back. Other code checks what
//! exists.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::nouns::{Fragment, PlanPart, Reference, Target};

use super::names::{heading_key, slug_of};

/// Why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetFault {
    /// Nothing there.
    Empty,
    /// A pattern. Each reference names a single thing (spec 5.2).
    Glob(String),
    /// An unknown scheme.
    Scheme(String),
    /// An invalid line range: line 0, or an end before the start.
    Lines(String),
}

/// Reads a target: decodes percent signs once, and resolves aliases as far as the text alone allows. The caller finds
/// out whether a plain `#x` names a prompt heading or a task, and whether a path is a directory.
pub fn parse_target(written: &str) -> Result<Target, TargetFault> {
    parse(written, false)
}

/// Like `parse_target`, but for a path that may contain pattern characters: `app/[id]/page.tsx` is a name if such a
/// file exists.
pub fn parse_name(written: &str) -> Result<Target, TargetFault> {
    parse(written, true)
}

fn parse(written: &str, is_name: bool) -> Result<Target, TargetFault> {
    let text = written.trim();
    if text.is_empty() || text == "#" {
        return Err(TargetFault::Empty);
    }
    if let Some(target) = keyword(&decode(text)) {
        return Ok(target);
    }
    if let Some(anchor) = text.strip_prefix('#') {
        return match bare_anchor(&decode(anchor)) {
            // `##` and `#!` leave nothing that could name a heading.
            Target::PromptHeading(key) if key.is_empty() => Err(TargetFault::Empty),
            target => Ok(target),
        };
    }
    if let Some((scheme, rest)) = scheme(text) {
        return schemed(text, &scheme, rest, is_name);
    }
    path(text, is_name)
}

/// The target in the form for a link: canonical, with characters encoded that would end or change it.
pub fn link_target(target: &Target) -> String {
    match target {
        Target::File { path, fragment: None } => path_link(path),
        Target::File { path, fragment: Some(part) } => format!("{}#{}", path_link(path), encode(&part.to_string())),
        Target::Directory(path) => format!("{}/", path_link(path.trim_end_matches('/'))),
        Target::CurrentFile(Some(part)) => format!("current_file#{}", encode(&part.to_string())),
        Target::TaskOutput { slug, heading: Some(heading) } => format!("task://{slug}.md#{}", encode(heading)),
        Target::TaskDetail { slug, file } => format!("task://{slug}/{}", encode(file)),
        Target::Http(url) => address(url),
        Target::Resource { .. } => address(&target.to_string()),
        other => other.to_string(),
    }
}

/// A path in the form for a link. A path that would read as something else, with a scheme, lines or a reserved word, is
/// written so that it does not.
pub fn path_link(path: &str) -> String {
    let encoded = encode(path);
    if encoded.contains(':') {
        return encoded.replace(':', "%3A");
    }
    if keyword(&encoded).is_some() { format!("./{encoded}") } else { encoded }
}

/// Whether the target of a reference was listed as no longer relevant, itself or as a part of a listed target (spec
/// 5.10).
pub fn is_restricted(target: &Target, listed: &BTreeSet<String>) -> bool {
    if listed.is_empty() {
        return false;
    }
    let holds = |target: &Target| listed.contains(&link_target(target));
    holds(target) || target.whole().is_some_and(|whole| holds(&whole))
}

/// A web address in the form for a link.
fn address(url: &str) -> String {
    url.replace(' ', "%20").replace('(', "%28").replace(')', "%29").replace('`', "%60")
}

/// Whether a target is the file with exactly this path. Nearly every link is.
pub fn is_plain_file(target: &Target, written: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    matches!(target, Target::File { path, fragment: None } if path == written) && written.bytes().all(plain)
}

/// A reference as a Markdown link.
pub fn link(reference: &Reference) -> String {
    let mut title = String::with_capacity(reference.title.len());
    for c in reference.title.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        if matches!(c, '[' | ']' | '\\') {
            title.push('\\');
        }
        title.push(c);
    }
    format!("[{title}]({})", link_target(&reference.target))
}

fn keyword(text: &str) -> Option<Target> {
    let bare = text.strip_prefix('#').unwrap_or(text);
    let (head, fragment) = match bare.split_once('#') {
        Some((head, fragment)) => (head, Some(fragment)),
        None => (bare, None),
    };
    let is = |names: [&str; 2]| names.iter().any(|name| head.eq_ignore_ascii_case(name));
    if fragment.is_none() && is(["project_description", "project-description"]) {
        return Some(Target::ProjectDescription);
    }
    if is(["current_file", "current-file"]) {
        return fragment.map(fragment_of).transpose().ok().map(Target::CurrentFile);
    }
    None
}

/// Reads `#x`: a section of the plan, a task's output, or else a heading of the prompt.
fn bare_anchor(anchor: &str) -> Target {
    if let Some(part) = plan_part(anchor) {
        return Target::Plan(part);
    }
    // The key is what is written, so it must then mean the same as the words do now.
    let key = heading_key(anchor);
    match (key.as_str(), key.strip_suffix("-results")) {
        ("project-description", _) => Target::ProjectDescription,
        ("current-file", _) => Target::CurrentFile(None),
        (_, Some(slug)) if !slug.is_empty() => Target::TaskOutput { slug: slug_of(slug), heading: None },
        // A name in another script, whose key is empty.
        ("results", _) => {
            match anchor.trim().strip_suffix("-results").filter(|name| name.contains(char::is_alphanumeric)) {
                Some(name) => Target::TaskOutput { slug: slug_of(name), heading: None },
                None => Target::PromptHeading(key),
            }
        }
        _ => Target::PromptHeading(key),
    }
}

fn plan_part(title: &str) -> Option<PlanPart> {
    let key = heading_key(title);
    match key.as_str() {
        "original-prompt" => Some(PlanPart::OriginalPrompt),
        "goals-summary" | "goals" => Some(PlanPart::Goals),
        _ => {
            let number = key.strip_prefix("task-section-")?.parse().ok()?;
            Some(PlanPart::Section(number))
        }
    }
}

/// Reads `scheme:rest`. A single letter is a drive, and `path:10` is a path with lines.
fn scheme(text: &str) -> Option<(String, &str)> {
    let (head, rest) = text.split_once(':')?;
    let named = head.len() > 1
        && head.starts_with(|c: char| c.is_ascii_alphabetic())
        && head.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-'));
    let lines = rest.starts_with(|c: char| c.is_ascii_digit() || c == 'L') && line_range(rest).is_some();
    (named && !lines).then(|| (head.to_ascii_lowercase(), rest))
}

fn schemed(text: &str, scheme: &str, rest: &str, is_name: bool) -> Result<Target, TargetFault> {
    let output = |name: &str| {
        let (name, heading) = match name.split_once('#') {
            Some((name, heading)) => (name, Some(heading.to_owned())),
            None => (name, None),
        };
        let name = name.trim().trim_start_matches('#');
        let name = name.strip_suffix(".md").unwrap_or(name);
        let name = name.strip_suffix("-results").unwrap_or(name);
        let heading = heading.filter(|heading| !heading.is_empty()).map(|heading| heading_key(&heading));
        if name.is_empty() { Err(TargetFault::Empty) } else { Ok(Target::TaskOutput { slug: slug_of(name), heading }) }
    };
    let decoded = decode(rest);
    match scheme {
        "http" | "https" if rest.starts_with("//") && rest.len() > 2 => Ok(Target::Http(address(text))),
        "mcp" => match rest.split_once('/') {
            Some((server, uri)) if !server.is_empty() && !uri.is_empty() => {
                Ok(Target::Resource { server: server.to_owned(), uri: address(uri) })
            }
            _ => Err(TargetFault::Empty),
        },
        "file" => {
            let rest = rest.strip_prefix("//").unwrap_or(rest);
            path(rest.strip_prefix("localhost/").map_or(rest, |_| rest.get(9..).unwrap_or(rest)), is_name)
        }
        "plan" => match plan_part(&decoded) {
            Some(part) => Ok(Target::Plan(part)),
            None => output(&decoded),
        },
        "output" => output(&decoded),
        "task" => {
            let rest = decoded.trim_start_matches('/');
            match rest.split_once('/') {
                Some((slug, file)) if !file.is_empty() && !file.contains('/') => {
                    Ok(Target::TaskDetail { slug: slug_of(slug), file: file.to_owned() })
                }
                _ => output(rest.trim_end_matches('/')),
            }
        }
        _ => Err(TargetFault::Scheme(scheme.to_owned())),
    }
}

fn path(written: &str, is_name: bool) -> Result<Target, TargetFault> {
    let (head, fragment) = match written.split_once('#') {
        Some((head, fragment)) => (head, Some(fragment)),
        None => match written.rsplit_once(':') {
            Some((head, lines)) if !head.is_empty() && line_range(lines).is_some() => (head, Some(lines)),
            _ => (written, None),
        },
    };
    if !is_name && is_glob(head) {
        return Err(TargetFault::Glob(head.to_owned()));
    }
    let decoded = decode(head);
    let decoded = if decoded.contains('\\') { decoded.replace('\\', "/").into() } else { decoded };
    let directory = decoded.ends_with('/') && decoded.len() > 1;
    let clean = normal(&decoded);
    let fragment = fragment.filter(|text| !text.is_empty()).map(|text| fragment_of(&decode(text))).transpose()?;
    match (clean.is_empty(), fragment) {
        (true, _) if decoded.is_empty() => Err(TargetFault::Empty),
        (true, _) => Ok(Target::Directory(".".to_owned())),
        (false, None) if directory => Ok(Target::Directory(clean)),
        (false, fragment) => Ok(Target::File { path: clean, fragment }),
    }
}

/// A path without `.` components and doubled separators. A leading `/` stays.
fn normal(path: &str) -> String {
    if !path.split('/').any(|part| part.is_empty() || part == ".") {
        return path.to_owned();
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let joined = parts.join("/");
    if path.starts_with('/') { format!("/{joined}") } else { joined }
}

fn is_glob(path: &str) -> bool {
    let between = |open: char, close: char, needs: &str| {
        path.split_once(open)
            .and_then(|(_, rest)| rest.split_once(close))
            .is_some_and(|(inner, _)| needs.is_empty() || inner.contains(needs))
    };
    path.bytes().any(|byte| matches!(byte, b'*' | b'?')) || between('[', ']', "") || between('{', '}', ",")
}

/// A fragment as written after `#` (spec 5.3).
pub fn fragment_of(text: &str) -> Result<Fragment, TargetFault> {
    match line_range(text) {
        Some((first, last)) if first >= 1 && last >= first => Ok(Fragment::Lines { first, last }),
        Some(_) => Err(TargetFault::Lines(text.to_owned())),
        None => Ok(Fragment::Anchor(text.to_owned())),
    }
}

/// Reads `L10-L20`, `L10-20`, `10-20`, `L10`, `10`.
fn line_range(text: &str) -> Option<(u32, u32)> {
    let number = |part: &str| -> Option<u32> {
        let digits = part.strip_prefix(['L', 'l']).unwrap_or(part);
        (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
    };
    match text.split_once('-') {
        Some((first, last)) => Some((number(first)?, number(last)?)),
        None => {
            let line = number(text)?;
            Some((line, line))
        }
    }
}

/// Decodes percent signs once. Invalid sequences stay unchanged.
pub fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = |offset: usize| bytes.get(at + offset).and_then(|b| char::from(*b).to_digit(16));
        match (byte, hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn encode(text: &str) -> String {
    if text.is_ascii() && !text.bytes().any(|byte| b" ()<>*?[]{}%#\\\"`\n\t".contains(&byte)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' | '(' | ')' | '<' | '>' | '*' | '?' | '[' | ']' | '{' | '}' | '%' | '#' | '\\' | '"' | '`' | '\n'
            | '\t' => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c if c.is_ascii() || c.is_alphanumeric() => out.push(c),
            // Reading straightens unusual quotes and blanks, but a target may contain them.
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| out.push_str(&format!("%{byte:02X}"))),
        }
    }
    out
}
