//! Checks calls: whether the template exists, whether the arguments fit, and whether calls form a cycle (T030-T032).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::fuzzy::{meant, meant_or, nearest};
use callsheet_core::template::{Bytes, Code, Node, Spot, Template, UNCLEAR, names_asked};

use crate::template::report::Draft;

/// What can be called.
pub(super) struct Callable<'a> {
    pub(super) templates: BTreeMap<&'a str, &'a Template>,
    /// The names of templates that cannot be read at all. Calls of them are reported like those of all templates with
    /// errors.
    pub(super) broken: BTreeSet<&'a str>,
    /// The names of skills. `None` if skills are not checked.
    pub(super) skills: Option<&'a BTreeSet<String>>,
    /// The names that standard templates ask for, as far as they were computed.
    pub(super) asked: RefCell<BTreeMap<String, BTreeSet<String>>>,
}

/// The arguments that a skill takes when it is called as a template (spec 16).
const SKILL_ARGUMENTS: &[&str] = &["what_is_needed", "expected_output", "references"];

/// One call in a template.
pub(super) struct Call<'a> {
    pub(super) from: &'a str,
    pub(super) node: &'a Node,
    /// Whether the call is inside a `cond` of the template.
    pub(super) guarded: bool,
}

/// All calls in a template, each with whether a condition guards it.
pub(super) fn calls_of(template: &Template) -> Vec<Call<'_>> {
    let mut out = Vec::new();
    let mut open = vec![(&template.body, false)];
    while let Some((node, guarded)) = open.pop() {
        if node.template.is_some() {
            out.push(Call { from: &template.name, node, guarded });
        }
        let inside = guarded || node.kind.facts().guards;
        let mut children = node.children();
        children.reverse();
        open.extend(children.into_iter().map(|child| (child, inside)));
    }
    out
}

/// The faults of one call, except cycles.
pub(super) fn check(call: &Call<'_>, known: &Callable<'_>) -> Vec<Draft> {
    let Some(name) = call.node.template.as_deref() else { return Vec::new() };
    if let Some(skill) = name.strip_prefix("skill:") {
        let unknown = known.skills.is_some_and(|skills| !skills.contains(skill));
        return if unknown { vec![unknown_name(call, name, known)] } else { skill_arguments(call) };
    }
    if let Some(template) = known.templates.get(name) {
        return arity(call, template, known);
    }
    if known.broken.contains(name) {
        return Vec::new();
    }
    vec![unknown_name(call, name, known)]
}

/// Reports an unknown name, with up to five candidates among templates and skills (spec 10).
fn unknown_name(call: &Call<'_>, name: &str, known: &Callable<'_>) -> Draft {
    let skills: Vec<String> = known.skills.into_iter().flatten().map(|skill| format!("skill:{skill}")).collect();
    let names = known.templates.keys().copied().chain(skills.iter().map(String::as_str));
    let near = nearest(name, names.filter(|other| *other != call.from), 5);
    let what = if name.starts_with("skill:") { "skill" } else { "template" };
    let message = format!("there is no {what} `{}`", name.strip_prefix("skill:").unwrap_or(name));
    let draft = Draft::new(Code::T030, call.node.called_at.span, message);
    let bare = name.strip_prefix("skill:").unwrap_or(name);
    let advice = match meant(bare, near.iter().map(|near| near.strip_prefix("skill:").unwrap_or(near))).first() {
        None => format!("add it, or fix the name; `callsheet {what} list` lists all"),
        Some(meant) => {
            let whole = near.iter().find(|near| near.strip_prefix("skill:").unwrap_or(near) == meant);
            format!("did you mean `{}`?", whole.unwrap_or(meant))
        }
    };
    draft.found(name).expected(near.iter().map(String::as_str)).advice(advice)
}

/// The names of arguments in order. `None` if an argument is positional.
fn given(node: &Node) -> Vec<(Option<&str>, Spot)> {
    let arguments =
        node.kind.operator().arguments().iter().map(|argument| (argument.name.as_deref(), argument.origin.spot));
    let inputs = node.inputs.iter().map(|input| (Some(input.name.as_str()), input.origin.spot));
    arguments.chain(inputs).collect()
}

fn fault(at: Spot, message: String, advice: &str) -> Draft {
    Draft::new(Code::T031, at.span, message).advice(advice)
}

fn skill_arguments(call: &Call<'_>) -> Vec<Draft> {
    let mut out = Vec::new();
    for (name, at) in given(call.node) {
        match name {
            Some(UNCLEAR) => {}
            None => out.push(fault(at, "a skill accepts no positional arguments".to_owned(), "name it")),
            Some(name) if !SKILL_ARGUMENTS.contains(&name) => {
                let draft = fault(at, format!("a skill accepts no argument `{name}`"), "use what_is_needed");
                out.push(draft.found(name).expected(SKILL_ARGUMENTS.iter().copied()));
            }
            Some(_) => {}
        }
    }
    out
}

/// Reports missing, surplus, unknown and misordered arguments.
fn arity(call: &Call<'_>, template: &Template, known: &Callable<'_>) -> Vec<Draft> {
    let mut out = Vec::new();
    let Some(params) = &template.params else { return asked_names(call, template, known) };
    let names = params.iter().map(|param| param.name.as_str());
    let mut bound: BTreeSet<&str> = BTreeSet::new();
    // An argument with a misspelt name is not also reported as missing.
    let mut misspelt: BTreeSet<String> = BTreeSet::new();
    let (mut position, mut named, mut unclear) = (0, false, false);
    for (name, at) in given(call.node) {
        match name {
            // It may be the argument that is missing.
            Some(UNCLEAR) => unclear = true,
            Some(name) => {
                named = true;
                if !names.clone().any(|known| known == name) {
                    let message = format!("`{}` has no parameter `{name}`", template.name);
                    let advice = meant_or(name, names.clone(), "remove it, or add the parameter");
                    out.push(fault(at, message, &advice).found(name).expected(names.clone()));
                    misspelt.extend(meant(name, names.clone()).into_iter().next());
                } else if !bound.insert(name) {
                    out.push(fault(at, format!("`{name}` occurs twice"), "keep one").found(name));
                }
            }
            None if named => {
                let message = "a positional argument follows a named one".to_owned();
                out.push(fault(at, message, "put it first, or name it"));
            }
            None => {
                match params.get(position) {
                    Some(param) => drop(bound.insert(&param.name)),
                    None => {
                        let message = format!("`{}` accepts {} arguments", template.name, params.len());
                        out.push(fault(at, message, "remove the surplus one").expected(names.clone()));
                    }
                }
                position += 1;
            }
        }
    }
    let told = |name: &str| unclear || bound.contains(name) || misspelt.contains(name);
    for param in params.iter().filter(|param| param.required && !told(&param.name)) {
        let message = format!("the argument `{}` of `{}` is missing", param.name, template.name);
        out.push(fault(call.node.called_at, message, "add it").expected([param.name.as_str()]));
    }
    out
}

/// Checks the names that a standard template, or a template that it calls, asks for.
fn asked_names(call: &Call<'_>, template: &Template, known: &Callable<'_>) -> Vec<Draft> {
    let given = given(call.node);
    let mut out = Vec::new();
    if given.is_empty() {
        return out;
    }
    let mut all = known.asked.borrow_mut();
    let asked = all
        .entry(template.name.clone())
        .or_insert_with(|| names_asked(template, &|name| known.templates.get(name).copied()));
    for (name, at) in given {
        let Some(name) = name else {
            let message = format!("`{}` has no parameters and accepts only named arguments", template.name);
            out.push(fault(at, message, "name it"));
            continue;
        };
        if name == UNCLEAR || asked.contains(name) {
            continue;
        }
        let advice = meant_or(name, asked.iter().map(String::as_str), "remove it");
        let message = format!("nothing in `{}` uses `{name}`", template.name);
        out.push(fault(at, message, &advice).found(name).expected(asked.iter().map(String::as_str)));
    }
    out
}

/// Reports cycles of calls without a condition. `max_depth` bounds any other cycle.
pub(super) fn cycles<'a>(calls: &[&Call<'a>]) -> Vec<(&'a str, Draft)> {
    let edge = |call: &&Call<'a>| Some((call.from, call.node.template.as_deref()?));
    let bare: Vec<(&str, &str, Bytes)> = calls
        .iter()
        .filter(|call| !call.guarded)
        .filter_map(|call| edge(call).map(|(from, to)| (from, to, call.node.called_at.span)))
        .collect();
    let groups = components(&bare.iter().map(|(from, to, _)| (*from, *to)).collect::<Vec<_>>());
    let same = |a: &str, b: &str| groups.get(a).is_some_and(|group| groups.get(b) == Some(group));
    let draft = |from: &str, to: &str, span| {
        let draft = Draft::new(Code::T032, span, format!("`{from}` calls itself endlessly through `{to}`"));
        draft.found(to).advice("add a <cond> that ends the recursion, or remove the call")
    };
    bare.iter().filter(|(from, to, _)| same(from, to)).map(|(from, to, span)| (*from, draft(from, to, *span))).collect()
}

/// The strongly connected components of a graph, each with a number. Works without recursion, because the graph may
/// be deep.
fn components<'a>(edges: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, usize> {
    let (mut ahead, mut back) = (BTreeMap::<&str, Vec<&str>>::new(), BTreeMap::<&str, Vec<&str>>::new());
    for (from, to) in edges {
        ahead.entry(from).or_default().push(to);
        ahead.entry(to).or_default();
        back.entry(to).or_default().push(from);
    }
    let mut seen = BTreeSet::new();
    let mut order = Vec::new();
    for start in ahead.keys().copied() {
        let mut open = vec![(start, false)];
        while let Some((node, done)) = open.pop() {
            if done {
                order.push(node);
            } else if seen.insert(node) {
                open.push((node, true));
                open.extend(ahead.get(node).into_iter().flatten().map(|next| (*next, false)));
            }
        }
    }
    let mut groups = BTreeMap::new();
    for (number, start) in order.into_iter().rev().enumerate() {
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if !groups.contains_key(node) {
                groups.insert(node, number);
                open.extend(back.get(node).into_iter().flatten().copied());
            }
        }
    }
    groups
}
