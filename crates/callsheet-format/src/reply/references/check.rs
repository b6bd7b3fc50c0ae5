//! Checks references at plan and refinement (spec 5.2-5.5, 5.8).

use std::collections::BTreeSet;

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::links::{TargetFault, is_plain_file, is_restricted, link_target, parse_name, parse_target};
use callsheet_core::nouns::{Fragment, PlanPart, Reference, Target};

use crate::reading::{Answer, Diagnostics, Lookup, ReadContext};

use super::links::{WrittenLink, remark_of_none};
use super::named::sources;
use super::scope::Scope;
use super::{paths, tasks, titled};
use crate::reading::numbered_start;

pub(super) const KEY: &str = "References";

/// The reference that is being checked.
pub(super) struct Checking<'a> {
    pub scope: &'a Scope,
    pub context: &'a ReadContext,
    pub notes: &'a mut Diagnostics,
    pub span: Span,
    /// The link as written.
    pub raw: &'a str,
    /// The key of the task with the link.
    pub key: &'static str,
    /// Whether a repair of its target was recorded.
    pub repaired: bool,
}

impl Checking<'_> {
    /// An error about this link.
    pub fn issue(&self, code: IssueCode, variant: &str, facts: &[(&str, &str)]) -> callsheet_core::issue::Issue {
        let mut all = vec![("link", self.raw)];
        all.extend_from_slice(facts);
        self.notes.issue(code, variant, self.span, &all).key(self.key).item(self.raw)
    }

    /// Records an error about this link.
    pub fn refuse<'v>(
        &mut self,
        code: IssueCode,
        variant: &str,
        wanted: &str,
        values: impl IntoIterator<Item = &'v str>,
    ) {
        let values: Vec<&str> = values.into_iter().collect();
        let mut issue = self.issue(code, variant, &[]);
        if self.notes.may_compare(values.len()) {
            issue = issue.allowed(wanted, values);
        }
        self.notes.push(issue);
    }

    /// Slugs that the task may refer to, unless too many were already listed.
    pub fn usable(&self) -> Vec<String> {
        let affordable = self.notes.may_compare(self.scope.producers().len());
        if affordable { self.scope.usable() } else { Vec::new() }
    }

    /// Records a repair of the target.
    pub fn repaired(&mut self, code: RepairCode, target: &Target) {
        self.repaired = true;
        self.notes.repair(code, self.span, self.raw, link_target(target));
    }
}

/// Reads and checks a `References` value whose first line is line `first` of the text. Returns only valid references;
/// all others are issues with their place and candidates.
pub fn check_value(
    value: &str,
    first: u32,
    scope: &Scope,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Vec<Reference> {
    let (references, sizes, span) = unweighed(value, (KEY, first), scope, context, notes);
    if let Some(span) = span {
        budget(&references, &sizes, scope, context, span, notes);
    }
    references
}

/// The same for a value that names where items come from. No prompt contains it, so it has no budget.
pub fn check_source(
    value: &str,
    (key, first): (&'static str, u32),
    scope: &Scope,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Vec<Reference> {
    unweighed(value, (key, first), scope, context, notes).0
}

/// Valid references with their tokens, and their lines.
type Checked = (Vec<Reference>, Vec<u32>, Option<Span>);

fn unweighed(
    value: &str,
    (key, first): (&'static str, u32),
    scope: &Scope,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Checked {
    if remark_of_none(value).is_some_and(|words| !scope.is_named_in(&words)) {
        notes.repair(RepairCode::KeyDropped, Span::line(first), value, "");
        return Checked::default();
    }
    let mut is_file = |path: &str| {
        let lookup = Lookup::Path { path: path.to_owned(), fragment: None };
        matches!(notes.answer(context, lookup), Some(Answer::File(_)))
    };
    let (links, words) = sources(value, scope, &mut is_file);
    for aside in words {
        notes.repair(RepairCode::ProseTrimmed, line_of(aside.line, first), &aside.raw, "");
    }
    each(&links, (key, first), scope, context, notes)
}

fn line_of(line: usize, first: u32) -> Span {
    Span::line(first.saturating_add(u32::try_from(line).unwrap_or(u32::MAX)))
}

/// Checks links, and the budget of the task that contains them (spec 5.8).
pub fn check_links(
    links: &[WrittenLink<'_>],
    first: u32,
    scope: &Scope,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Vec<Reference> {
    let (references, sizes, span) = each(links, (KEY, first), scope, context, notes);
    if let Some(span) = span {
        budget(&references, &sizes, scope, context, span, notes);
    }
    references
}

fn each(
    links: &[WrittenLink<'_>],
    (key, first): (&'static str, u32),
    scope: &Scope,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Checked {
    let mut references: Vec<Reference> = Vec::new();
    let mut sizes: Vec<u32> = Vec::new();
    let mut span: Option<Span> = None;
    let mut links = links.iter().peekable();
    while let Some(link) = links.next() {
        let joined = links.peek().and_then(|next| titled::joined([link, next], first, scope, context, notes));
        if joined.is_some() {
            links.next();
        }
        let link = joined.as_ref().unwrap_or(link);
        let at = line_of(link.line, first);
        span = Some(span.map_or(at, |span| span.to(at)));
        for code in link.repairs.iter().flatten() {
            notes.repair(*code, at, &link.raw, format_args!("[{}]({})", link.title, link.target));
        }
        let mut checking = Checking { scope, context, notes, span: at, raw: &link.raw, key, repaired: false };
        if let Some((target, tokens)) = check_written(&link.target, link.linked, &mut checking) {
            if is_restricted(&target, &context.restricted) {
                let issue = checking.issue(IssueCode::ReferenceRestricted, "", &[]);
                checking.notes.push(issue.warning());
            }
            sizes.push(tokens);
            references.push(Reference { title: link.title.clone().into_owned(), target });
        }
    }
    (references, sizes, span)
}

/// Checks a single target, for links outside a `References` value.
pub fn check_target(
    written: &str,
    span: Span,
    scope: &Scope,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Option<Target> {
    let mut checking = Checking { scope, context, notes, span, raw: written, key: KEY, repaired: false };
    check_written(written, true, &mut checking).map(|(target, _)| target)
}

/// The target and its tokens.
fn check_written(written: &str, linked: bool, checking: &mut Checking<'_>) -> Option<(Target, u32)> {
    // Words that are not a path, and a truncated link, are quoted unchanged and not looked up on disk.
    if !linked && (written.contains(' ') || checking.raw.contains("](")) {
        checking.refuse(IssueCode::ReferenceInvalid, "words", written, []);
        return None;
    }
    let target = match parse_target(written) {
        Ok(target) => target,
        Err(TargetFault::Glob(pattern)) => named_so(written, &pattern, checking)?,
        Err(fault) => {
            refuse_fault(fault, checking);
            return None;
        }
    };
    let target = anchor_of_file(written, target, checking);
    let (checked, tokens) = check_kind(target, checking)?;
    let same =
        || link_target(&checked) == written || same_address(&checked, written) || is_by_number(&checked, written);
    if !checking.repaired && !is_plain_file(&checked, written) && !same() {
        checking.repaired(RepairCode::ReferenceAlias, &checked);
    }
    Some((checked, tokens))
}

/// Whether a target means the output of `Task 3: Find the log` as `#task-3-results`, as every form of a list writes it.
fn is_by_number(checked: &Target, written: &str) -> bool {
    let Target::TaskOutput { slug, heading: None } = checked else { return false };
    numbered_start(slug).is_some_and(|start| written == format!("#{start}-results"))
}

/// Reads `#plan.md` as the file `plan.md`, if the file exists and neither a task nor a heading of the prompt has that
/// name.
fn anchor_of_file(written: &str, target: Target, checking: &mut Checking<'_>) -> Target {
    let Some(rest) = written.strip_prefix('#').filter(|rest| rest.contains(['.', '/'])) else { return target };
    let anchor = matches!(target, Target::PromptHeading(_) | Target::TaskOutput { heading: None, .. });
    let (true, Ok(file)) = (anchor, parse_target(rest)) else { return target };
    let lookup = match &file {
        Target::File { path, fragment } => Lookup::Path { path: path.clone(), fragment: fragment.clone() },
        Target::Directory(path) => Lookup::Path { path: path.clone(), fragment: None },
        _ => return target,
    };
    if tasks::is_named(&target, checking) {
        return target;
    }
    let is_there = matches!(checking.notes.answer(checking.context, lookup), Some(Answer::File(_)));
    if is_there { file } else { target }
}

/// Whether only the encoding differs, which does not count as an alias.
fn same_address(target: &Target, written: &str) -> bool {
    matches!(target, Target::Http(_) | Target::Resource { .. }) || target.to_string() == written
}

fn refuse_fault(fault: TargetFault, checking: &mut Checking<'_>) {
    match fault {
        TargetFault::Empty => checking.refuse(IssueCode::ReferenceInvalid, "empty", "", []),
        TargetFault::Scheme(scheme) => {
            let issue = checking.issue(IssueCode::ReferenceInvalid, "scheme", &[("scheme", &scheme)]);
            checking.notes.push(issue.allowed("", KINDS.iter().copied()));
        }
        TargetFault::Lines(lines) => {
            let issue = checking.issue(IssueCode::LinesOutOfRange, "no-range", &[("lines", &lines)]);
            checking.notes.push(issue);
        }
        TargetFault::Glob(pattern) => refuse_glob(&pattern, &[], checking),
    }
}

/// A file whose name looks like a pattern: `app/[id]/page.tsx`. It is a pattern only if no file has that name.
fn named_so(written: &str, pattern: &str, checking: &mut Checking<'_>) -> Option<Target> {
    let target = match parse_name(written) {
        Ok(target) => target,
        Err(fault) => {
            refuse_fault(fault, checking);
            return None;
        }
    };
    let lookup = match &target {
        Target::File { path, fragment } => Lookup::Path { path: path.clone(), fragment: fragment.clone() },
        Target::Directory(path) => Lookup::Path { path: path.clone(), fragment: None },
        _ => return Some(target),
    };
    match checking.notes.answer(checking.context, lookup) {
        None => checking.refuse(IssueCode::LookupMissing, "", pattern, []),
        Some(Answer::Missing(others) | Answer::Outside(others)) => refuse_glob(pattern, &others.near, checking),
        Some(_) => return Some(target),
    }
    None
}

fn refuse_glob(pattern: &str, near: &[String], checking: &mut Checking<'_>) {
    let found = match checking.notes.answer(checking.context, Lookup::Glob(pattern.to_owned())) {
        Some(Answer::Matches(paths)) if !paths.is_empty() => paths.as_slice(),
        _ => near,
    };
    if checking.key != KEY {
        // One list: the folder before the first part with a pattern.
        let folder = pattern.split(['*', '?', '[', '{']).next().unwrap_or_default();
        let folder = folder.rsplit_once('/').map_or_else(|| "./".to_owned(), |(folder, _)| format!("{folder}/"));
        let issue = checking.issue(IssueCode::GlobRefused, "items", &[("folder", &folder)]);
        checking.notes.push(issue);
        return;
    }
    checking.refuse(IssueCode::GlobRefused, "", pattern, found.iter().take(10).map(String::as_str));
}

/// Forms of targets, for issues about unknown schemes.
const KINDS: &[&str] = &[
    "project_description",
    "current_file",
    "plan:<section>",
    "#<slug>-results",
    "task://<slug>/<filename>",
    "#<heading of the prompt>",
    "path",
    "path#L10-L20",
    "dir/",
    "https://",
    "mcp:<server>/<uri>",
];

fn check_kind(target: Target, checking: &mut Checking<'_>) -> Option<(Target, u32)> {
    match target {
        Target::ProjectDescription => Some((target, 0)),
        Target::CurrentFile(fragment) => current_file(fragment, checking),
        Target::Plan(PlanPart::Section(number)) if number == 0 || number > checking.scope.sections => {
            let count =
                if checking.notes.may_compare(checking.scope.sections as usize) { checking.scope.sections } else { 0 };
            let sections: Vec<String> = (1..=count).map(|n| format!("plan:task-section-{n}")).collect();
            let wanted = target.to_string();
            checking.refuse(IssueCode::AnchorMissing, "section", &wanted, sections.iter().map(String::as_str));
            None
        }
        Target::Plan(_) => Some((target, 0)),
        Target::TaskOutput { .. } | Target::TaskDetail { .. } => tasks::check(target, checking),
        Target::PromptHeading(key) => tasks::check_heading(&key, checking),
        Target::Http(_) if checking.context.allow_http => Some((target, 0)),
        Target::Http(_) => {
            checking.refuse(IssueCode::HttpRefused, "", "", []);
            None
        }
        Target::Resource { server, uri } => resource(server, uri, checking),
        Target::File { path, fragment } => paths::check(path, fragment, false, checking),
        Target::Directory(path) => paths::check(path, None, true, checking),
    }
}

/// Checks that a server lists the resource and that it can be read.
fn resource(server: String, uri: String, checking: &mut Checking<'_>) -> Option<(Target, u32)> {
    let lookup = Lookup::Resource { server: server.clone(), uri: uri.clone() };
    match checking.notes.answer(checking.context, lookup) {
        Some(Answer::File(facts)) => return Some((Target::Resource { server, uri }, facts.tokens)),
        Some(Answer::Missing(others)) => {
            checking.refuse(IssueCode::FileMissing, "resource", &uri, others.near.iter().map(String::as_str));
        }
        Some(Answer::Unreadable(reason)) => {
            let issue = checking.issue(IssueCode::FileUnreadable, "", &[("reason", reason)]);
            checking.notes.push(issue);
        }
        _ => checking.refuse(IssueCode::LookupMissing, "", &uri, []),
    }
    None
}

/// Checks the open file like any other. It keeps the name under which the person knows it.
fn current_file(fragment: Option<Fragment>, checking: &mut Checking<'_>) -> Option<(Target, u32)> {
    let Some(path) = checking.context.current_file.clone() else {
        let issue = checking.issue(IssueCode::NoCurrentFile, "", &[]).warning();
        checking.notes.push(issue);
        return None;
    };
    match paths::check(path, fragment, false, checking)? {
        (Target::File { fragment, .. }, tokens) => Some((Target::CurrentFile(fragment), tokens)),
        (_, tokens) => Some((Target::CurrentFile(None), tokens)),
    }
}

/// `over-budget`: one execution run may not have more references than fit into a prompt; a single large reference is a
/// warning. Duplicates count once, and a reference that is cut counts with its cut size.
fn budget(
    references: &[Reference],
    sizes: &[u32],
    scope: &Scope,
    context: &ReadContext,
    span: Span,
    notes: &mut Diagnostics,
) {
    let limit = if context.reference_budget > 0 { context.reference_budget } else { u32::MAX };
    let mut seen = BTreeSet::new();
    let mut shown: Vec<(&Target, u32)> = Vec::new();
    for (reference, tokens) in references.iter().zip(sizes) {
        if !seen.insert(link_target(&file_of(&reference.target, context))) {
            continue;
        }
        shown.push((&reference.target, (*tokens).min(limit)));
        if *tokens > limit {
            let target = link_target(&reference.target);
            let facts = [("link", target.as_str()), ("tokens", &tokens.to_string()), ("limit", &limit.to_string())];
            let issue = notes.issue(IssueCode::OverBudget, "one", span, &facts).warning();
            notes.push(issue.key(KEY).item(&target));
        }
    }
    let sized = || shown.iter().map(|(target, tokens)| (target.is_shared(), u64::from(*tokens)));
    let shared: u64 = sized().filter(|(shared, _)| *shared).map(|(_, tokens)| tokens).sum();
    let own = sized().filter(|(shared, _)| !shared).map(|(_, tokens)| tokens);
    let count = own.clone().count();
    let largest = if scope.one_run { own.sum::<u64>() } else { own.max().unwrap_or(0) };
    // A single reference is cut at execution. The warning about it is above.
    let several = shown.len() - count + if scope.one_run { count } else { count.min(1) } > 1;
    if context.prompt_budget > 0 && several && shared + largest > u64::from(context.prompt_budget) {
        let named = shown.iter().map(|(target, tokens)| format!("{} {tokens}", link_target(target)));
        let named: Vec<String> = named.collect();
        let facts = [
            ("tokens", &*(shared + largest).to_string()),
            ("limit", &context.prompt_budget.to_string()),
            ("sizes", &named.join(", ")),
        ];
        let issue = notes.issue(IssueCode::OverBudget, "", span, &facts).key(KEY);
        notes.push(issue);
    }
}

/// The file of a target, including the open file under its own name.
fn file_of(target: &Target, context: &ReadContext) -> Target {
    match (target, &context.current_file) {
        (Target::CurrentFile(fragment), Some(path)) => Target::File { path: path.clone(), fragment: fragment.clone() },
        _ => target.clone(),
    }
}
