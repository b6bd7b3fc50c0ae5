//! Types that a template declares and that contradict each other (T525): what it returns and what its body declares, and
//! the two sides of a comparison (spec 3, 8).

use std::collections::BTreeMap;

use callsheet_core::template::names::bound_by_operator;
use callsheet_core::template::{
    Code, Condition, Input, InputSource, Kind, Node, OnParseFailure, OutputType, Path, SchemaChoice, Step, Template,
    Term, ValueType, type_word,
};
use serde_json::{Value, json};

use crate::template::report::Draft;

/// The key of what the condition of a loop knows as `evaluation`; no name of an author.
const JUDGED: &str = "the evaluation";

/// What is declared of names, as JSON Schemas. A name without one hides outer ones of that name.
struct Forms<'o> {
    names: BTreeMap<String, Option<Value>>,
    outer: Option<&'o Forms<'o>>,
}

/// Calls in calls that are followed to what they give.
const DEEP: usize = 3;

/// Finds the templates that are called.
type Find<'f, 't> = dyn Fn(&str) -> Option<&'t Template> + 'f;

/// Tells of every contradiction in a template.
pub(super) fn check(template: &Template, find: &Find<'_, '_>, add: &mut dyn FnMut(Draft)) {
    let returned = template.returns.and_then(schema_of);
    let given = gives(&template.body, find, DEEP);
    if let (Some(returned), Some(given)) = (returned.as_ref().and_then(word), given.as_ref().and_then(word))
        && returned != given
    {
        let message = format!("the template returns {returned}, but its body declares {given}");
        let draft = Draft::new(Code::T525, template.origin.spot.span, message).found(returned);
        add(draft.advice("fix `returns`, or the declared output"));
    }
    let params = template.params.iter().flatten().map(|param| (param.name.clone(), schema_of(param.kind)));
    node(&template.body, &Forms { names: params.collect(), outer: None }, find, add);
}

fn node(task: &Node, outer: &Forms<'_>, find: &Find<'_, '_>, add: &mut dyn FnMut(Draft)) {
    let mut own = Forms { names: BTreeMap::new(), outer: Some(outer) };
    own.names.extend(task.inputs.iter().map(|input| (input.name.clone(), written(input, outer))));
    own.names.extend(bound_by_operator(task).into_iter().map(|name| (name, None)));
    match &task.kind {
        Kind::Cond { cases, .. } => cases.iter().for_each(|case| condition(&case.test, &own, add)),
        Kind::DirectorEvaluatorLoop { condition: Some(test), evaluator, .. } => {
            let judged = (JUDGED.to_owned(), gives(evaluator, find, DEEP));
            condition(test, &Forms { names: [judged].into(), outer: Some(&own) }, add);
        }
        _ => {}
    }
    let children = task.children();
    let steps = match &task.kind {
        Kind::Sequential { steps, .. } => steps.len(),
        _ => 0,
    };
    let first_step = children.len() - steps;
    for (index, child) in children.into_iter().enumerate() {
        node(child, &own, find, add);
        if steps > 0 && index >= first_step {
            own.learn(child, index - first_step, find);
        }
    }
}

/// The declared form of what a task gives, where nothing else can come of it. `deep`: calls that may still be followed.
fn gives(task: &Node, find: &Find<'_, '_>, deep: usize) -> Option<Value> {
    if let Some(output) = &task.output {
        // What falls back is a text.
        let held = output.form == OutputType::Json && output.on_parse_failure == OnParseFailure::Error;
        return match output.schema.as_ref().filter(|_| held)? {
            SchemaChoice::Type(kind) => schema_of(*kind),
            SchemaChoice::Inline(schema) => Some(schema.clone()),
            SchemaChoice::Named(_) => None,
        };
    }
    match &task.kind {
        Kind::Sequential { steps, .. } => gives(steps.last()?, find, deep),
        Kind::Map { .. } | Kind::Parallel { .. } => Some(json!({ "type": "array" })),
        Kind::Call { .. } => {
            let called = find(task.template.as_deref()?)?;
            match called.returns {
                Some(returned) => schema_of(returned),
                None => gives(&called.body, find, deep.checked_sub(1)?),
            }
        }
        // Without an `else` nothing may come of it.
        Kind::Cond { cases, otherwise: Some(otherwise) } => {
            let all = cases.iter().map(|case| &case.body).chain([&**otherwise]);
            one_type(all.map(|branch| gives(branch, find, deep)))
        }
        // Of no elements it is what it began with.
        Kind::Reduce { initial, reduction, .. } => {
            let begun = initial.as_literal().map(|text| {
                let value = serde_json::from_str::<Value>(text.trim()).ok();
                json!({ "type": value.as_ref().map_or("string", type_word) })
            });
            one_type([begun, gives(reduction, find, deep)].into_iter())
        }
        _ => None,
    }
}

/// The type of all forms, if it is one.
fn one_type(mut forms: impl Iterator<Item = Option<Value>>) -> Option<Value> {
    let first = word(&forms.next()??)?;
    let same = forms.all(|form| form.as_ref().and_then(word) == Some(first));
    same.then(|| json!({ "type": first }))
}

/// The form of an input that its author wrote out, or took from a name.
fn written(input: &Input, outer: &Forms<'_>) -> Option<Value> {
    if let (InputSource::From(from), None) = (&input.source, &input.default) {
        return outer.type_of(&from.path).map(|kind| json!({ "type": kind }));
    }
    let InputSource::Text(text) = &input.source else { return None };
    let text = text.as_literal()?.trim();
    let value = if text.starts_with(['[', '{']) { serde_json::from_str::<Value>(text).ok() } else { None };
    Some(json!({ "type": value.as_ref().map_or("string", type_word) }))
}

fn schema_of(kind: ValueType) -> Option<Value> {
    let kind = match kind {
        ValueType::Any => return None,
        ValueType::StringArray => ValueType::Array,
        other => other,
    };
    Some(json!({ "type": kind.as_str() }))
}

/// The one type that a schema allows.
fn word(schema: &Value) -> Option<&'static str> {
    Some(match schema.get("type")?.as_str()? {
        "string" => "string",
        "number" | "integer" => "number",
        "boolean" => "boolean",
        "object" => "object",
        "array" => "array",
        _ => return None,
    })
}

impl Forms<'_> {
    /// What a step gives is known to those after it.
    fn learn(&mut self, step: &Node, index: usize, find: &Find<'_, '_>) {
        let form = gives(step, find, DEEP);
        if let Kind::Parallel { children, .. } = &step.kind {
            let given = |child: &Node| gives(child, find, DEEP);
            let named =
                children.iter().filter_map(|child| Some((format!("steps.{}", child.id.as_ref()?), given(child))));
            self.names.extend(named);
        }
        self.names.insert(format!("step_results[{index}]"), form.clone());
        let named = step.id.iter().map(|id| (format!("steps.{id}"), form.clone()));
        self.names.extend(named);
        for name in ["output", "previous_result"] {
            self.names.insert(name.to_owned(), form.clone());
        }
    }

    fn find(&self, name: &str) -> Option<&Value> {
        match self.names.get(name) {
            Some(form) => form.as_ref(),
            None => self.outer?.find(name),
        }
    }

    /// The same of a result by its number, which is one of the nearest sequence.
    fn result(&self, index: usize) -> Option<&Value> {
        if self.names.contains_key("step_results") {
            return self.names.get(&format!("step_results[{index}]"))?.as_ref();
        }
        self.outer?.result(index)
    }

    /// The type of a path, where one is declared.
    fn type_of(&self, path: &Path) -> Option<&'static str> {
        let (form, rest, is_result) = match (path.name.as_str(), path.steps.split_first()) {
            ("steps", Some((Step::Name(id), rest))) => (self.find(&format!("steps.{id}"))?, rest, true),
            ("step_results", Some((Step::Index(index), rest))) => (self.result(*index)?, rest, true),
            ("evaluation", Some((Step::Name(field), _))) if matches!(field.as_str(), "success" | "feedback") => {
                return None;
            }
            ("evaluation", _) if self.names.contains_key(JUDGED) => (self.find(JUDGED)?, path.steps.as_slice(), true),
            ("output" | "previous_result", _) => (self.find(&path.name)?, path.steps.as_slice(), true),
            _ => (self.find(&path.name)?, path.steps.as_slice(), false),
        };
        let rest = match rest.split_first() {
            Some((Step::Name(field), rest)) if is_result => match field.as_str() {
                "parsed_content" | "parsedContent" => rest,
                "content" | "status" => return rest.is_empty().then_some("string"),
                "notes" | "error" | "json" | "stdout" | "stderr" | "exit_code" | "exitCode" => return None,
                _ => path_behind(path),
            },
            _ => rest,
        };
        word(rest.iter().try_fold(form, |form, step| match step {
            Step::Name(name) => form.get("properties")?.get(name),
            Step::Index(_) => form.get("items"),
        })?)
    }
}

/// What follows the name of a result.
fn path_behind(path: &Path) -> &[Step] {
    let of_step = usize::from(matches!(path.name.as_str(), "steps" | "step_results"));
    path.steps.get(of_step..).unwrap_or_default()
}

/// Comparisons of two types, which never hold, or, of `!=`, always.
fn condition(condition: &Condition, forms: &Forms<'_>, add: &mut dyn FnMut(Draft)) {
    let type_of = |term: &Term| match term {
        Term::Literal(value) => Some(type_word(value)),
        Term::Path(path) => forms.type_of(path),
        Term::Not(_) | Term::All(_) | Term::Any(_) | Term::Compare(..) => Some("boolean"),
    };
    let mut open = vec![condition.test.root()];
    while let Some(term) = open.pop() {
        match term {
            Term::Literal(_) | Term::Path(_) => {}
            Term::Not(inner) => open.push(inner),
            Term::All(all) | Term::Any(all) => open.extend(all),
            Term::Compare(left, _, right) => {
                let (left, right) = (&**left, &**right);
                open.extend([left, right]);
                let (Some(one), Some(two)) = (type_of(left), type_of(right)) else { continue };
                if one != two && one != "null" && two != "null" {
                    let text = condition.test.as_str();
                    let message =
                        format!("`{text}` compares {one} with {two}, which are never equal and cannot be ordered");
                    let draft = Draft::new(Code::T525, condition.at.span, message).found(text);
                    add(draft.advice("compare values of the same type"));
                }
            }
        }
    }
}
