//! Reports calls of templates that have errors. Such a call is an error itself, and so is a call of the template that
//! makes it (spec 3).

use std::collections::{BTreeMap, VecDeque};

use callsheet_core::template::{Code, Lines, Severity};

use crate::template::report::Draft;

use super::calls::Call;
use super::{Chosen, Loading};

/// A call, the number of its file, and whether the template that contains it is in force.
pub(super) struct Placed<'a> {
    pub(super) file: usize,
    pub(super) call: Call<'a>,
    pub(super) in_force: bool,
}

/// Why a template cannot be used.
#[derive(Clone)]
struct Cause<'a> {
    /// The template that contains the error itself.
    root: &'a str,
    /// The code of the first error, or of the first warning that counts as an error.
    code: Code,
    /// `FILE:LINE`.
    at: String,
}

/// Reports all calls of templates that have errors, in the order in which errors spread. Returns the first error of
/// each unusable template, as `FILE:LINE CODE`, by the name of the template.
pub(super) fn tell<'a>(
    loading: &mut Loading<'a>,
    chosen: &Chosen,
    calls: &[Placed<'a>],
    strict: bool,
) -> BTreeMap<String, String> {
    let mut causes = loading.causes(chosen, strict);
    let mut calls_of: BTreeMap<&str, Vec<&Placed<'a>>> = BTreeMap::new();
    for placed in calls {
        if let Some(name) = placed.call.node.template.as_deref() {
            calls_of.entry(name).or_default().push(placed);
        }
    }
    let mut open: VecDeque<&str> = causes.keys().copied().collect();
    while let Some(name) = open.pop_front() {
        let Some(cause) = causes.get(name).cloned() else { continue };
        for Placed { file, call, in_force } in calls_of.get(name).into_iter().flatten().copied() {
            let span = call.node.called_at.span;
            // A template's own error is reported only once. A call in an endless cycle is reported as a cycle.
            if (*in_force && cause.root == call.from) || loading.tells_error(*file, span.start) {
                continue;
            }
            let has = match cause.code.severity() {
                Severity::Error => "has errors",
                _ => "has warnings, which strict checking treats as errors,",
            };
            let message = format!("the template `{name}` {has} and cannot be called: {} {}", cause.at, cause.code);
            let advice = format!("fix `{}` first", cause.root);
            loading.add(*file, Draft::new(Code::T030, span, message).found(name).advice(advice), call.from, None);
            if *in_force && !causes.contains_key(call.from) {
                causes.insert(call.from, cause.clone());
                open.push_back(call.from);
            }
        }
    }
    causes.into_iter().map(|(name, cause)| (name.to_owned(), format!("{} {}", cause.at, cause.code))).collect()
}

impl<'a> Loading<'a> {
    /// Whether an issue across files is an error of the element that begins there.
    fn tells_error(&self, file: usize, start: usize) -> bool {
        let more = self.more.get(file).into_iter().flatten();
        more.into_iter().any(|(draft, ..)| draft.is_error() && draft.span().start == start)
    }

    /// The templates that have errors themselves, including those that cannot be read at all.
    fn causes(&self, chosen: &Chosen, strict: bool) -> BTreeMap<&'a str, Cause<'a>> {
        let mut causes = BTreeMap::new();
        for (index, (file, reading)) in self.files.iter().zip(self.readings).enumerate() {
            let blocks =
                |code: Code| code.severity() == Severity::Error || (strict && code.severity() == Severity::Warning);
            let own = reading.issues.iter().map(|(at, issue)| (*at, issue.code));
            let more = self.more.get(index).into_iter().flatten().map(|(draft, ..)| (draft.span(), draft.code()));
            let mut found: Vec<_> = own.chain(more).filter(|(_, code)| blocks(*code)).collect();
            if found.is_empty() {
                continue;
            }
            found.sort();
            let lines = Lines::new(std::str::from_utf8(&file.bytes).unwrap_or_default());
            for (at, code) in found {
                let owners: Vec<_> = reading.outermost.iter().filter(|known| known.owns(at)).collect();
                let all = owners.is_empty().then_some(&reading.outermost).into_iter().flatten();
                for owner in owners.iter().copied().chain(all) {
                    let Some(name) = owner.name.as_deref() else { continue };
                    let lowered = |number: &usize| {
                        let template = reading.templates.get(*number);
                        template.is_some_and(|template| template.origin.spot.span == owner.span)
                    };
                    // If several templates have this name, the one in force counts.
                    let in_force = chosen.get(name).is_none_or(|(own, number)| *own == index && lowered(number));
                    if in_force && !causes.contains_key(name) {
                        let at = format!("{}:{}", file.file, lines.place(at.start).line);
                        causes.insert(name, Cause { root: name, code, at });
                    }
                }
            }
        }
        causes
    }
}
