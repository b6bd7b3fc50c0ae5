//! The links under `No longer relevant` (spec 5.10).

use std::collections::BTreeSet;

use callsheet_core::issue::{IssueCode, Span};
use callsheet_core::links::{TargetFault, link_target, parse_name, parse_target};
use callsheet_core::nouns::Target;

use crate::reading::{Answer, Diagnostics, Lookup, ReadContext};
use crate::reply::references::{WrittenLink, written_links};

/// Canonical targets of the links in a text. Words that are not a target are ignored. What looks like a pattern means
/// the file or directory with exactly that name; if there is none, the reader reports that it marks nothing (spec 5.2).
pub(super) fn targets(text: &str, span: Span, context: &ReadContext, notes: &mut Diagnostics) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for link in marks(text) {
        let target = match parse_target(&link.target) {
            Ok(target) => target,
            Err(TargetFault::Glob(pattern)) => match named_so(&link.target, context, notes) {
                Named::So(target) => target,
                Named::Unknown => continue,
                Named::Nothing => {
                    let issue = notes.issue(IssueCode::GlobRefused, "", span, &[("link", &pattern)]);
                    notes.push(issue.warning());
                    continue;
                }
            },
            Err(_) => continue,
        };
        let target = link_target(&target);
        if seen.insert(target.clone()) {
            found.push(target);
        }
    }
    found
}

/// What a text marks, whether it is a valid target or not.
pub(super) fn marks(text: &str) -> impl Iterator<Item = WrittenLink<'_>> {
    written_links(text).into_iter().filter(|link| link.linked || !link.target.contains(' '))
}

enum Named {
    So(Target),
    Nothing,
    /// The lookup is not answered yet.
    Unknown,
}

/// A file or directory whose name looks like a pattern.
fn named_so(written: &str, context: &ReadContext, notes: &mut Diagnostics) -> Named {
    let Ok(target) = parse_name(written) else { return Named::Nothing };
    let lookup = match &target {
        Target::File { path, fragment } => Lookup::Path { path: path.clone(), fragment: fragment.clone() },
        Target::Directory(path) => Lookup::Path { path: path.clone(), fragment: None },
        _ => return Named::So(target),
    };
    match notes.answer(context, lookup) {
        None => Named::Unknown,
        Some(Answer::Missing(_) | Answer::Outside(_)) => Named::Nothing,
        Some(_) => Named::So(target),
    }
}
