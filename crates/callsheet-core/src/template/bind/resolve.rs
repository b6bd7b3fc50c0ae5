//! Fills texts in one pass from left to right. Inserted text is never examined again (spec 4).

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::Serialize;

use crate::template::names::{Found, Use, bound_inside, walk};
use crate::template::result::{InputFaultDetails, Missing};
use crate::template::tree::{Command, Node, Origin, Template};
use crate::template::value::{Filled, Path, Piece};

use super::{Environment, Trust};

/// Finds a called template by its name.
pub type FindTemplate<'f, 't> = dyn Fn(&str) -> Option<&'t Template> + 'f;

/// A text without open placeholders. Only this module creates one, so every text that reaches a model was filled
/// here.
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

    /// The lowest trust among the inserted values.
    pub fn trust(&self) -> Trust {
        self.trust
    }
}

/// The filled texts of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResolvedTask {
    /// The description of the task.
    pub description: Resolved,
    /// What the model must do. The description if there are no instructions.
    pub instructions: Resolved,
    /// The text that is added to the base prompt.
    pub system: Resolved,
    /// What a good result contains.
    pub expected_output: Resolved,
    /// How the result is judged.
    pub criteria: Resolved,
    /// The literal paths of `file_paths`.
    pub paths: Vec<Resolved>,
    /// The query of a lookup.
    pub query: Resolved,
}

/// Fills a text. Adds names without a value to `missing`, with their places.
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
                    fields: environment.fields_of(path),
                }),
            },
        }
    }
    out
}

/// Fills all texts of a task and collects all names without a value.
///
/// # Errors
/// A name has no value.
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

/// Fills the words of a command. Each word stays one argument, whatever is inserted. Only values of an author or a
/// caller may be inserted (spec 8).
///
/// # Errors
/// A name has no value, or its value is not trusted.
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

/// The names that a template, including the standard templates that it calls, needs from its caller. For a function
/// template, its parameters.
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
        // A name that nothing inside binds must come from outside.
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

/// The names that no part of a run can bind, before its first model call. Names that later steps bind count as known
/// (spec 4). `templates` finds called templates.
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
                fields: Vec::new(),
            });
        }
        let nodes = template.body.walk();
        // A standard template sees its arguments by name and the names around the call.
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
