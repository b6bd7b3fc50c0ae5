//! A sheet's task list as the tree that templates have, and as a template (spec 16).
//!
//! | sheet | tree |
//! |---|---|
//! | sections | steps of a sequential that collects errors: it stops before the next step that holds a writer |
//! | a section with several tasks | parallel, which collects too |
//! | a task with a skill | a call of `skill:NAME` with `what_is_needed`, `expected_output` and `references`; the request and outputs of tasks stand behind what is needed |
//! | a task with a template as skill | a call of that template with the arguments of its refinement, or of several in parallel; what it must be given and nothing gave yet is a parameter |
//! | a task without one | an atomic task; files it reads are `file_paths`, outputs of tasks are inputs |
//! | Requires user approval | `requires_approval` |

use std::collections::{BTreeMap, BTreeSet};

use crate::sheet::link;
use crate::spec::{PlanPart, Reference, Slug, Target, Task, TaskList, ToolCall};

use super::print::{Printed, print_with};
use super::tree::{
    Argument, ArgumentValue, Context, FilePaths, FrontEnd, InheritContext, Input, InputSource, Kind, Node, OnError,
    Origin, Param, PartialContext, PathUse, Role, Settings, Taken, Template, ValueType, defaults,
};
use super::value::{Filled, Path, Piece, is_ident};

use serde_json::Value;

/// The name under which a task reads the person's request.
const REQUEST: &str = "request";

/// Longest id.
const ID: usize = 64;

/// The templates among the skills of a list, by the name under which a task names one.
pub type TemplateSkills<'a> = BTreeMap<String, &'a Template>;

/// Lowers a list to one sequential node. `file` is the sheet as shown to a person.
pub fn lower_sheet(list: &TaskList, file: &str, templates: &TemplateSkills<'_>) -> Node {
    Lowering::new(file, list, templates).list(list)
}

/// A list as a template of that name, which takes the request as a parameter where a task reads it. What XML cannot
/// say is a comment, and told.
pub fn sheet_template(name: &str, list: &TaskList, templates: &TemplateSkills<'_>) -> Printed {
    let mut lowering = Lowering::new(name, list, templates);
    let mut body = lowering.list(list);
    body.name = Some(name.to_owned());
    let request = lowering.asks.then(|| param(REQUEST, ValueType::String, ""));
    let template = Template {
        name: name.to_owned(),
        params: Some(request.into_iter().chain(lowering.wanted).collect()),
        returns: None,
        tags: Vec::new(),
        auto_select: false,
        origin: body.origin.clone(),
        body,
    };
    print_with([&template], lowering.lost)
}

fn param(name: &str, kind: ValueType, meaning: &str) -> Param {
    let (name, meaning) = (name.to_owned(), allowed(meaning).trim().to_owned());
    Param { name, kind, required: true, default: None, meaning, at: Default::default() }
}

struct Lowering<'a> {
    file: &'a str,
    templates: &'a TemplateSkills<'a>,
    /// Tasks of the list; outputs of others are not there when it runs as a template.
    slugs: BTreeSet<&'a Slug>,
    /// A task reads the request.
    asks: bool,
    /// What calls of templates must be given and nothing gave.
    wanted: Vec<Param>,
    lost: Vec<String>,
}

impl<'a> Lowering<'a> {
    fn new(file: &'a str, list: &'a TaskList, templates: &'a TemplateSkills<'a>) -> Self {
        let slugs = list.tasks().map(|task| &task.slug).collect();
        Self { file, templates, slugs, asks: false, wanted: Vec::new(), lost: Vec::new() }
    }

    fn origin(&self) -> Origin {
        Origin { file: self.file.to_owned(), front_end: FrontEnd::Sheet, ..Origin::default() }
    }

    fn list(&mut self, list: &TaskList) -> Node {
        let steps = list.steps.iter().enumerate().map(|(index, step)| {
            let mut tasks: Vec<Node> = step.tasks.iter().map(|task| self.task(task)).collect();
            if tasks.len() == 1
                && let Some(task) = tasks.pop()
            {
                return task;
            }
            let kind = Kind::Parallel { children: tasks, max_parallel: 4, on_error: OnError::Collect };
            let mut node = Node::new(kind, self.origin());
            node.id = Some(format!("s{index}"));
            node.context.settings = defaults(Role::Parallel);
            node
        });
        let kind = Kind::Sequential { steps: steps.collect(), on_error: OnError::Collect };
        let mut node = Node::new(kind, self.origin());
        let first = list.tasks().next().map_or("", |task| &task.need);
        let goals = Some(list.goals.text.as_str()).filter(|text| !text.trim().is_empty());
        node.intent.description = plain(goals.unwrap_or(first));
        node.context.settings = defaults(Role::Sequential);
        node
    }

    fn task(&mut self, task: &Task) -> Node {
        let template = task.skill.as_ref().and_then(|skill| self.templates.get(skill));
        let mut node = match (&task.skill, template) {
            (Some(_), Some(template)) => self.with_template(task, template),
            (Some(skill), None) => self.with_skill(task, skill),
            (None, _) => self.without_skill(task),
        };
        node.id = Some(id_of(&task.slug));
        if template.is_none() {
            node.approval.required = task.approval.then_some(true);
            for call in &task.calls {
                self.lose(task, &format!("a call of {} that was chosen for it", call.name));
            }
        }
        if !task.extra.is_empty() {
            self.lose(task, &format!("further lines: {}", task.extra.replace('\n', "; ")));
        }
        node
    }

    fn lose(&mut self, task: &Task, what: &str) {
        self.lost.push(format!("{}: {what}", task.slug));
    }

    fn with_skill(&mut self, task: &Task, skill: &str) -> Node {
        let mut references: Vec<String> = Vec::new();
        let mut need = vec![Piece::Literal(task.need.trim().to_owned())];
        for reference in &task.references {
            match (&reference.target, self.value_of(task, reference)) {
                (Target::File { .. } | Target::Directory(_), _) => references.push(link(reference)),
                (_, Some((_, path))) => {
                    need.push(Piece::Literal(format!("\n\n{}\n", reference.title.trim())));
                    need.extend(Path::parse(&path).map(|path| Piece::Place(path, Default::default())));
                }
                (_, None) => self.lose(task, &format!("the reference {}", link(reference))),
            }
        }
        let texts = [
            ("what_is_needed", clean(need)),
            ("expected_output", plain(&task.expected)),
            ("references", plain(&references.join("\n"))),
        ];
        let argument = |(name, text): (&str, Filled)| Argument {
            name: Some(name.to_owned()),
            value: ArgumentValue::Value(text),
            origin: self.origin(),
        };
        let arguments = texts.into_iter().filter(|(_, text)| !text.is_empty()).map(argument).collect();
        let mut node = Node::new(Kind::Call { arguments }, self.origin());
        node.template = Some(format!("skill:{}", skill.strip_prefix("skill:").unwrap_or(skill)));
        node.context.settings = Settings::alone();
        node
    }

    /// What is needed is for the refinement, which a template does not have: its calls stand as it chose them.
    fn with_template(&mut self, task: &Task, template: &Template) -> Node {
        self.lose(task, &format!("what is needed, which chose what its call is given: {}", task.need.trim()));
        if !task.expected.trim().is_empty() {
            self.lose(task, &format!("the expected output: {}", task.expected.trim()));
        }
        for reference in &task.references {
            self.lose(task, &format!("the reference {}", link(reference)));
        }
        let mut calls: Vec<Node> = match task.calls.as_slice() {
            [] => vec![self.template_call(task, template, None)],
            calls => calls.iter().map(|call| self.template_call(task, template, Some(call))).collect(),
        };
        if let Some(call) = calls.pop_if(|_| task.calls.len() < 2) {
            return call;
        }
        for (index, call) in calls.iter_mut().enumerate() {
            call.id = Some(format!("s{index}"));
        }
        let kind = Kind::Parallel { children: calls, max_parallel: 4, on_error: OnError::Collect };
        let mut node = Node::new(kind, self.origin());
        node.context.settings = defaults(Role::Parallel);
        node
    }

    fn template_call(&mut self, task: &Task, template: &Template, call: Option<&ToolCall>) -> Node {
        let mut arguments = Vec::new();
        for taken in template.takes() {
            // Where a type says what is wanted, null is nothing; elsewhere it was chosen like any other value.
            let meant = |value: &&Value| !value.is_null() || taken.kind == ValueType::Any;
            let given = call.and_then(|call| call.arguments.get(taken.name)).filter(meant);
            let value = match given {
                Some(Value::String(text)) => ArgumentValue::Value(Filled::literal(&self.said(task, taken.name, text))),
                Some(value) => {
                    if taken.kind == ValueType::Any {
                        self.lose(task, &format!("that {} is {value} and no text", taken.name));
                    }
                    // As null is filled in (spec 4).
                    let text = if value.is_null() { String::new() } else { value.to_string() };
                    ArgumentValue::Value(Filled::literal(&text))
                }
                None if taken.required => {
                    let name = self.want(task, &taken);
                    let Some(path) = Path::parse(&name) else { continue };
                    ArgumentValue::From(PathUse { path, at: Default::default() })
                }
                None => continue,
            };
            arguments.push(Argument { name: Some(taken.name.to_owned()), value, origin: self.origin() });
        }
        let mut node = Node::new(Kind::Call { arguments }, self.origin());
        node.template = Some(template.name.clone());
        node.approval.required = task.approval.then_some(true);
        node
    }

    /// The text of an argument. Returns of the carriage are written by their number; other control characters cannot be.
    fn said(&mut self, task: &Task, name: &str, text: &str) -> String {
        let said: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\r' | '\n' | '\t')).collect();
        if said != text {
            self.lose(task, &format!("control characters in {name}"));
        }
        said
    }

    /// The parameter that a person must give instead of a refinement, under a name of its own.
    fn want(&mut self, task: &Task, taken: &Taken<'_>) -> String {
        let free = |name: &str| name != REQUEST && self.wanted.iter().all(|param| param.name != name);
        let bare = Some(taken.name).filter(|name| free(name) && !matches!(*name, "steps" | "run" | "task" | "files"));
        let long = format!("{}-{}", id_of(&task.slug), taken.name);
        let name = bare.map_or_else(|| long.chars().take(ID).collect(), str::to_owned);
        self.wanted.push(param(&name, taken.kind, taken.meaning));
        name
    }

    fn without_skill(&mut self, task: &Task) -> Node {
        let mut node = Node::new(Kind::Atomic, self.origin());
        node.intent.description = plain(&task.need);
        node.intent.expected_output = plain(&task.expected);
        let explicit = PartialContext {
            inherit_context: Some(InheritContext::None),
            fresh_context: Some(false),
            ..PartialContext::default()
        };
        node.context = Context { explicit, settings: Settings::alone() };
        let mut paths = FilePaths { origin: self.origin(), ..FilePaths::default() };
        for reference in &task.references {
            match &reference.target {
                Target::File { .. } | Target::Directory(_) => {
                    paths.paths.push(Filled::literal(&reference.target.to_string()));
                }
                _ => match self.value_of(task, reference) {
                    Some((name, path)) => node.inputs.extend(self.input(&name, &path)),
                    None => self.lose(task, &format!("the reference {}", link(reference))),
                },
            }
        }
        let mut seen = BTreeSet::new();
        node.inputs.retain(|input| seen.insert(input.name.clone()));
        node.refs = (!paths.paths.is_empty()).then_some(paths);
        node
    }

    /// The name and path of a reference that is a value when the template runs. The whole takes the place of one part,
    /// which is told.
    fn value_of(&mut self, task: &Task, reference: &Reference) -> Option<(String, String)> {
        match &reference.target {
            Target::TaskOutput { slug, heading } if self.slugs.contains(slug) => {
                if heading.is_some() {
                    self.lose(task, &format!("{slug} is passed whole instead of {}", link(reference)));
                }
                let id = id_of(slug);
                let path = format!("steps.{id}.content");
                Some((id, path))
            }
            Target::Plan(PlanPart::OriginalPrompt) | Target::PromptHeading(_) => {
                self.asks = true;
                if let Target::PromptHeading(heading) = &reference.target {
                    self.lose(task, &format!("the request is passed whole instead of #{heading}"));
                }
                Some((REQUEST.to_owned(), REQUEST.to_owned()))
            }
            _ => None,
        }
    }

    fn input(&self, name: &str, path: &str) -> Option<Input> {
        let from = PathUse { path: Path::parse(path)?, at: Default::default() };
        Some(Input {
            name: name.to_owned(),
            source: InputSource::From(from),
            required: true,
            default: None,
            matched: true,
            origin: self.origin(),
        })
    }
}

/// A text without placeholders, as an element holds it: no outer blanks, no characters that XML forbids.
fn plain(text: &str) -> Filled {
    Filled::literal(allowed(text).trim())
}

/// Characters that XML allows.
fn allowed(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

fn clean(pieces: Vec<Piece>) -> Filled {
    match pieces.as_slice() {
        [Piece::Literal(text)] => plain(text),
        _ => Filled::from_pieces(pieces.into_iter().map(|piece| match piece {
            Piece::Literal(text) => Piece::Literal(allowed(&text)),
            place @ Piece::Place(..) => place,
        })),
    }
}

/// A slug as an id. A slug that begins with a digit gets a letter.
fn id_of(slug: &Slug) -> String {
    let text = slug.to_string();
    let id: String = if is_ident(&text) { text } else { format!("t-{text}") };
    id.chars().take(ID).collect()
}
