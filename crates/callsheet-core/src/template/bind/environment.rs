//! Environments: named values and how much each is trusted (spec 1, 4).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::result::{TaskResult, brief, brief_item};
use crate::template::value::{Path, Step, render};

/// The most fields that a message about a missing one lists.
const MOST_FIELDS: usize = 30;

/// The origin of a value, most trusted first. A value made from several has the least trusted of their origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// An author wrote it in the template.
    #[default]
    Author,
    /// The caller gave it with the run.
    Caller,
    /// A model wrote it.
    Model,
    /// A tool or a script printed it.
    Tool,
    /// It was read from a file.
    File,
}

/// A value that a name is bound to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Datum {
    /// A JSON value.
    Json(Value),
    /// The result of a task: its value, and through `record(…)` the record of its call.
    #[serde(with = "shared")]
    Result(Arc<TaskResult>),
    /// An EvaluationResult as JSON, which is read like a result. Before the first evaluation, it and all its fields
    /// are null.
    Evaluation(Value),
    /// Values by index.
    #[serde(with = "shared")]
    List(Arc<Vec<Bound>>),
    /// Values by name.
    #[serde(with = "shared")]
    Map(Arc<BTreeMap<String, Bound>>),
}

/// Results are recorded as a whole.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(value: &Arc<T>, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_ref().serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}

/// A value and its trust.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The value.
    pub datum: Datum,
    /// The lowest trust among its sources.
    pub trust: Trust,
}

impl Bound {
    /// A JSON value.
    pub fn json(value: impl Into<Value>, trust: Trust) -> Self {
        Self { datum: Datum::Json(value.into()), trust }
    }

    /// A result.
    pub fn result(result: Arc<TaskResult>, trust: Trust) -> Self {
        Self { datum: Datum::Result(result), trust }
    }

    /// Its value for other tasks, as JSON. The value of a result is its `parsed_content`, or else its text, never its
    /// record.
    pub fn value(&self) -> Value {
        match &self.datum {
            Datum::Json(value) => value.clone(),
            Datum::Result(result) => result.value(),
            Datum::Evaluation(value) => evaluated(value).map_or(Value::Null, |result| result.value()),
            Datum::List(list) => Value::Array(list.iter().map(Self::value).collect()),
            Datum::Map(map) => Value::Object(map.iter().map(|(name, bound)| (name.clone(), bound.value())).collect()),
        }
    }

    /// Its text for use in other texts. The text of a result is what the result says (spec 4).
    pub fn text(&self) -> String {
        match &self.datum {
            Datum::Result(result) => result.words().into_owned(),
            Datum::Evaluation(value) => evaluated(value).map(|result| result.words().into_owned()).unwrap_or_default(),
            Datum::Json(_) | Datum::List(_) | Datum::Map(_) => render(&self.value()),
        }
    }

    /// The part that the steps lead to.
    pub(super) fn at(&self, steps: &[Step]) -> Option<Self> {
        let Some((step, rest)) = steps.split_first() else { return Some(self.clone()) };
        match (&self.datum, step) {
            (Datum::List(list), Step::Index(index)) => list.get(*index)?.at(rest),
            (Datum::Map(map), Step::Name(name)) => map.get(name)?.at(rest),
            (Datum::Json(value), _) => Some(Self::json(dig(value, steps)?.clone(), self.trust)),
            (Datum::Result(result), Step::Record) => Some(Self::json(in_record(result, rest)?, self.trust)),
            (Datum::Result(result), _) => Some(Self::json(in_result(result, steps)?, self.trust)),
            (Datum::Evaluation(value), _) => Some(Self::json(in_evaluation(value, steps)?, self.trust)),
            _ => None,
        }
    }
}

fn dig<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Name(name) => value.get(name),
        Step::Index(index) => value.get(index),
        Step::Record => None,
    })
}

/// What the steps lead to in the value of a result. If the value has no such field, names like `content` and `stdout`
/// lead to the text, the value itself and the outputs of a process (spec 4).
fn in_result(result: &TaskResult, steps: &[Step]) -> Option<Value> {
    if let Some(found) = result.parsed_content.as_ref().and_then(|value| dig(value, steps)) {
        return Some(found.clone());
    }
    let (Step::Name(name), rest) = steps.split_first()? else { return None };
    let shadowed = result.parsed_content.as_ref().is_some_and(|value| value.get(name).is_some());
    let part = result.part(name).filter(|_| !shadowed)?;
    dig(&part, rest).cloned()
}

/// What the steps lead to in the record of a call. Notes and errors as a whole are reduced to what they say. Every
/// single field is found by its name.
fn in_record(result: &TaskResult, steps: &[Step]) -> Option<Value> {
    let record = serde_json::to_value(result).ok()?;
    match steps {
        [Step::Name(notes)] if notes == "notes" => Some(Value::Object(result.notes.said())),
        [Step::Name(notes), rest @ ..] if notes == "notes" => in_notes(record.get("notes")?, rest),
        [Step::Name(error)] if error == "error" => {
            let mut error = record.get("error")?.clone();
            brief(&mut error);
            Some(error)
        }
        _ => dig(&record, steps).cloned(),
    }
}

/// A note. Errors are reduced to their kind and message. Only a longer path leads to their other fields.
fn in_notes(notes: &Value, steps: &[Step]) -> Option<Value> {
    let mut found = dig(notes, steps)?.clone();
    match steps {
        [Step::Name(errors), rest @ ..] if errors == "errors" => match rest {
            [] => found.as_array_mut().into_iter().flatten().for_each(brief_item),
            [Step::Index(_)] => brief_item(&mut found),
            [Step::Index(_), Step::Name(error)] if error == "error" => brief(&mut found),
            _ => {}
        },
        _ => {}
    }
    Some(found)
}

/// The result in an evaluation. `None` if there was no evaluation.
fn evaluated(value: &Value) -> Option<TaskResult> {
    if value.is_null() { None } else { serde_json::from_value(value.clone()).ok() }
}

/// What the steps lead to in an evaluation. It is read like a result, but `success` and `feedback` may also come from
/// the judgement in its notes (spec 8).
fn in_evaluation(value: &Value, steps: &[Step]) -> Option<Value> {
    if value.is_null() {
        return Some(Value::Null);
    }
    let result = evaluated(value)?;
    match steps {
        [Step::Record, rest @ ..] => in_record(&result, rest),
        [Step::Name(name), ..] if matches!(name.as_str(), "success" | "feedback") => {
            in_result(&result, steps).or_else(|| dig(value.get("notes")?, steps).cloned())
        }
        _ => in_result(&result, steps),
    }
}

/// The names in scope. Inner names hide outer ones. A function template starts a chain of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    names: Arc<BTreeMap<String, Bound>>,
    outer: Option<Arc<Environment>>,
    /// Whether these are the read-only names of a run, which are outside all others. Only their fields can be used as
    /// names.
    ambient: bool,
}

impl Environment {
    /// A new chain: the root of a run, a function template, or a subtask.
    pub fn root(names: impl IntoIterator<Item = (String, Bound)>) -> Self {
        Self { names: Arc::new(names.into_iter().collect()), outer: None, ambient: false }
    }

    /// What Callsheet itself knows of a run and a task. Names of an author or a caller hide these names (spec 4).
    pub fn ambient(names: impl IntoIterator<Item = (String, Bound)>) -> Self {
        Self { ambient: true, ..Self::root(names) }
    }

    /// An environment with further names inside this one.
    pub fn inner(self: &Arc<Self>, names: impl IntoIterator<Item = (String, Bound)>) -> Self {
        self.around(Arc::new(names.into_iter().collect()))
    }

    /// An environment with shared further names inside this one.
    pub fn around(self: &Arc<Self>, names: Arc<BTreeMap<String, Bound>>) -> Self {
        Self { names, outer: Some(Arc::clone(self)), ambient: false }
    }

    /// The names of this environment without the outer ones.
    pub fn own(&self) -> &BTreeMap<String, Bound> {
        &self.names
    }

    /// Adds or replaces a name in this environment.
    pub fn bind(&mut self, name: &str, bound: Bound) {
        Arc::make_mut(&mut self.names).insert(name.to_owned(), bound);
    }

    /// The value of a name. Names of the system are not variables. Only their fields have values.
    pub fn name(&self, name: &str) -> Option<&Bound> {
        self.layer(name).filter(|(_, ambient)| !ambient).map(|(bound, _)| bound)
    }

    fn layer(&self, name: &str) -> Option<(&Bound, bool)> {
        let mut here = self;
        loop {
            if let Some(bound) = here.names.get(name) {
                return Some((bound, here.ambient));
            }
            here = here.outer.as_deref()?;
        }
    }

    /// The value of a path. `None` if the name is not bound or the path does not exist in the value.
    pub fn find(&self, path: &Path) -> Option<Bound> {
        let (bound, ambient) = self.layer(&path.name)?;
        if ambient && path.steps.is_empty() { None } else { bound.at(&path.steps) }
    }

    /// For a path that leads nowhere in the value: the path to the field of the same name in the record of the call.
    pub fn record_of(&self, path: &Path) -> Option<String> {
        path.in_record().filter(|record| self.find(record).is_some()).map(|record| record.to_string())
    }

    /// The fields of the value in which a path leads nowhere. Empty if it has none.
    pub fn fields_of(&self, path: &Path) -> Vec<String> {
        let prefixes = (0..path.steps.len()).rev().filter_map(|count| path.steps.get(..count));
        let mut values =
            prefixes.filter_map(|steps| self.value(&Path { name: path.name.clone(), steps: steps.to_vec() }));
        match values.next() {
            Some(Value::Object(fields)) => fields.keys().take(MOST_FIELDS).cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// The JSON value of a path.
    pub fn value(&self, path: &Path) -> Option<Value> {
        self.find(path).map(|bound| bound.value())
    }
}
