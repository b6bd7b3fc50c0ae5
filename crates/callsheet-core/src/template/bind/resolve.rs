//! Filling texts: one pass, left to right; what is filled in is never looked at again (spec 4).

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::Serialize;

use crate::template::names::{Found, Use, bound_inside, walk};
use crate::template::result::{InputFaultDetails, Missing};
use crate::template::tree::{Command, Node, Origin, Template};
use crate::template::value::{Filled, Path, Piece};

use super::{Environment, Trust};

/// Finds the templates that are called.
pub type FindTemplate<'f, 't> = dyn Fn(&str) -> Option<&'t Template> + 'f;

/// A text without open placeholders. Only this module makes one, so a text that reaches a model was filled here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resolved {
    text: String,
    #[serde(skip)]
    trust: Trust,
}

impl Resolved {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The least trusted of what was filled in.
    pub fn trust(&self) -> Trust {
        self.trust
    }
}

/// The texts of a task, filled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResolvedTask {
    /// Statement.
    pub description: Resolved,
    /// What the model is told to do; the description if nothing else is said.
    pub instructions: Resolved,
    /// Joins the base prompt.
    pub system: Resolved,
    /// What a good result looks like.
    pub expected_output: Resolved,
    /// How it is judged.
    pub criteria: Resolved,
    /// Literal paths of `file_paths`.
    pub paths: Vec<Resolved>,
    /// The query of a lookup.
    pub query: Resolved,
}

/// Fills a text. Names without a value are added to `missing`, with their places.
pub fn resolve_text(
    text: &Filled,
    environment: &Environment,
    field: &str,
    origin: &Origin,
    task: &str,
    missing: &mut Vec<Missing>,
) -> Resolved {
    let mut out = Resolved::default();
    for piece in text.pieces() {
        match piece {
            Piece::Literal(literal) => out.text.push_str(literal),
            Piece::Placeholder(path, at) => match environment.find(path) {
                Some(bound) => {
                    out.text.push_str(&bound.text());
                    out.trust = out.trust.max(bound.trust);
                }
                None => missing.push(Missing {
                    name: path.to_string(),
                    field: field.to_owned(),
                    task: task.to_owned(),
                    file: origin.file.clone(),
                    line: at.place.line,
                    column: at.place.column,
                    record: environment.record_of(path),
                }),
            },
        }
    }
    out
}

/// Fills every text of a task; all names without a value are told at once.
///
/// # Errors
/// Names without a value.
pub fn resolve_task(node: &Node, environment: &Environment, task: &str) -> Result<ResolvedTask, Vec<Missing>> {
    let mut missing = Vec::new();
    let mut fill =
        |text: &Filled, field: &str| resolve_text(text, environment, field, &node.origin, task, &mut missing);
    let description = fill(&node.intent.description, "description");
    let instructions = fill(&node.intent.instructions, "instructions");
    let resolved = ResolvedTask {
        instructions: if node.intent.instructions.is_empty() { description.clone() } else { instructions },
        description,
        system: fill(&node.system, "system"),
        expected_output: fill(&node.intent.expected_output, "expected_output"),
        criteria: fill(&node.intent.criteria, "criteria"),
        paths: node.refs.iter().flat_map(|refs| &refs.paths).map(|path| fill(path, "file_paths")).collect(),
        query: node.refs.as_ref().map(|refs| fill(&refs.query, "file_paths")).unwrap_or_default(),
    };
    if missing.is_empty() { Ok(resolved) } else { Err(missing) }
}

/// Fills the words of a command, each one argument whatever is filled in. Only values of an author or a caller may go
/// in (spec 8).
///
/// # Errors
/// Names without a value, and names of values that are not trusted.
pub fn resolve_command(
    command: &Command,
    environment: &Environment,
    origin: &Origin,
    task: &str,
) -> Result<Vec<Resolved>, InputFaultDetails> {
    let mut fault = InputFaultDetails::default();
    let mut words = Vec::new();
    for word in &command.words {
        let filled = resolve_text(word, environment, "command", origin, task, &mut fault.missing);
        if filled.trust > Trust::Caller {
            let names: Vec<String> = word.paths().map(Path::to_string).collect();
            fault.refuse(&names.join(", "), "a value of an author or caller", &format!("{:?}", filled.trust));
        }
        words.push(filled);
    }
    if fault.is_empty() { Ok(words) } else { Err(fault) }
}

/// Names that a template, and what it calls as standard templates, asks its caller for; of a function template its
/// parameters.
pub fn names_asked<'a>(template: &'a Template, templates: &FindTemplate<'_, 'a>) -> BTreeSet<String> {
    if let Some(params) = &template.params {
        return params.iter().map(|param| param.name.clone()).collect();
    }
    let asked = RefCell::new(BTreeSet::new());
    let mut seen = BTreeSet::new();
    let mut open = vec![template];
    while let Some(template) = open.pop() {
        if template.is_function() || !seen.insert(template.name.clone()) {
            continue;
        }
        // Every name that nothing inside binds is asked of the outside.
        walk(template, &|name| {
            asked.borrow_mut().insert(name.to_owned());
            true
        });
        for node in template.body.walk() {
            asked.borrow_mut().extend(node.inputs.iter().map(|input| input.name.clone()));
            open.extend(node.template.as_deref().and_then(templates));
        }
    }
    asked.into_inner()
}

/// Names that no part of a run can bind, before its first model call: what later steps bind counts as known
/// (spec 4). `templates` finds the templates that are called.
pub fn missing_before_run<'a>(
    template: &'a Template,
    environment: &Environment,
    templates: &FindTemplate<'_, 'a>,
) -> Vec<Missing> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![(template, BTreeSet::<String>::new())];
    while let Some((template, bound)) = open.pop() {
        if !seen.insert(template.name.clone()) {
            continue;
        }
        let outside = |name: &str| bound.contains(name) || environment.name(name).is_some();
        for found in walk(template, &outside) {
            let Found::Unknown { path, at, field, task, how, .. } = found else { continue };
            if how == Use::Expression {
                continue;
            }
            let file = template.origin.file.clone();
            let (line, column) = (at.place.line, at.place.column);
            out.push(Missing {
                name: path.to_string(),
                field: field.to_owned(),
                task,
                file,
                line,
                column,
                record: None,
            });
        }
        let nodes = template.body.walk();
        // What a standard template gets by name, and what stands around the call, is known there.
        let mut around = bound.clone();
        around.extend(nodes.iter().copied().flat_map(bound_inside));
        around.extend(template.params.iter().flatten().map(|param| param.name.clone()));
        for node in nodes {
            let called = node.template.as_deref().and_then(templates);
            let Some(called) = called.filter(|called| !seen.contains(&called.name)) else { continue };
            let mut names = around.clone();
            names.extend(node.kind.operator().arguments().iter().filter_map(|argument| argument.name.clone()));
            open.push((called, names));
        }
    }
    out.sort();
    out.dedup();
    out
}
