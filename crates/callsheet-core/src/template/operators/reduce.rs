//! `reduce`: for each input, one after the other, runs `inner_task` and then `reduction_task`, which joins the result
//! of the first to the earlier results (spec 8).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::bind::{Bound, Trust, resolve_text};
use crate::template::form::{Child, Content, Element, ITEMS, ValueKind};
use crate::template::names::{Seen, Walk};
use crate::template::result::details::partial_result;
use crate::template::result::{Details, PartialResult, TaskError, TaskResult};
use crate::template::shape::{Shape, Source};
use crate::template::tree::{InheritContext, Node, Origin, PathUse, Role};
use crate::template::value::Filled;

use super::{
    ChildSlot, EvalPhase, Facts, Given, Kind, Known, Move, Names, Opening, Opens, Operator, Part, Parts, Rows, Slot,
    Tally, Work, Written, with_error,
};

/// Runs two tasks for each input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reduce {
    /// A list to process instead of the inputs.
    pub items: Option<PathUse>,
    /// The first accumulator: JSON if it can be parsed, otherwise a string.
    pub initial: Filled,
    /// The task for each input.
    pub inner: Box<Node>,
    /// The task that joins its result to the accumulator.
    pub reduction: Box<Node>,
}

static INITIAL_VALUE: Element = Element::new("initial_value", &[], &[], Content::Optional(ValueKind::Filled));
static INNER_TASK: Element = Element::slot("inner_task");
static REDUCTION_TASK: Element = Element::slot("reduction_task");
const INNER_SLOT: Slot = Slot::new("inner_task");
const REDUCTION_SLOT: Slot = Slot::new("reduction_task");

const DO: &str = "do";
const JOIN: &str = "join";

fn inner(index: u32) -> ChildSlot {
    ChildSlot::Part { word: DO, index }
}

fn reduction(index: u32) -> ChildSlot {
    ChildSlot::Part { word: JOIN, index }
}

const ROLE: Role = Role::new("reduce", InheritContext::None, true, true);
const PART_ROLE: Role =
    Role { gathers: false, ..Role::new("inner_task, reduction_task", InheritContext::Full, false, false) };

pub(super) static FACTS: Facts = Facts {
    word: "reduce",
    rows: Rows::Task {
        about: "Each input in turn, combined with the result so far",
        example: include_str!("examples/reduce.yaml"),
        attributes: &[ITEMS],
        children: &[
            Child::new(&INITIAL_VALUE).required(),
            Child::new(&INNER_TASK).required(),
            Child::new(&REDUCTION_TASK).required(),
        ],
    },
    read: |given| Some(Kind::Reduce(read(given)?)),
    leaf: None,
    role: ROLE,
    part_role: PART_ROLE,
    spawned: ROLE,
    binds: &["current_data", "current_name", "current_index", "original_input", "current_result", "accumulator"],
    shows_inputs: true,
    looks_up: true,
    splits: true,
    spawns: true,
    transparent: false,
    guards: false,
    lends_ids: false,
    in_order: true,
    gives_its_last: true,
};

fn read(given: &mut dyn Given) -> Option<Reduce> {
    Some(Reduce {
        items: given.path("items"),
        initial: given.text("initial_value"),
        inner: given.node(&INNER_SLOT)?,
        reduction: given.node(&REDUCTION_SLOT)?,
    })
}

impl Reduce {
    /// The accumulator before an input: the value of the last reduction, or the initial value.
    fn accumulator(&self, at: &dyn Known, before: u32) -> (Value, Trust) {
        let joined = (0..before).rev().filter_map(|index| at.part(reduction(index)));
        match joined.into_iter().find(|part| part.closed && !part.failed) {
            Some(part) => (at.result(&part).value(), at.trust(&part)),
            None => self.initial(at),
        }
    }

    /// `initial_value`: JSON if it can be parsed, otherwise the text.
    fn initial(&self, at: &dyn Known) -> (Value, Trust) {
        let text = resolve_text(&self.initial, &at.scope(), "initial_value", &Origin::default(), "", &mut Vec::new());
        let value = serde_json::from_str(text.as_str()).unwrap_or_else(|_| Value::from(text.as_str()));
        (value, text.trust())
    }

    /// The shape of the initial text.
    fn initial_shape(&self) -> Shape {
        let Some(text) = self.initial.as_literal() else { return Shape::any() };
        serde_json::from_str(text).map_or_else(|_| Shape::text(), |value| Shape::of_value(&value))
    }

    fn for_inner(at: &dyn Known, index: u32) -> Vec<(String, Bound)> {
        let Some((name, bound)) = at.element(index) else { return Vec::new() };
        vec![
            ("current_data".to_owned(), bound),
            ("current_name".to_owned(), Bound::json(name, Trust::Author)),
            ("current_index".to_owned(), Bound::json(index, Trust::Author)),
        ]
    }

    fn for_reduction(&self, at: &dyn Known, index: u32) -> Vec<(String, Bound)> {
        let current = at.part(inner(index)).map(|part| at.bound(&part));
        let (accumulator, trust) = self.accumulator(at, index);
        let original = at.element(index).map(|(_, bound)| bound);
        let mut names = vec![("accumulator".to_owned(), Bound::json(accumulator, trust))];
        names.extend(current.map(|bound| ("current_result".to_owned(), bound)));
        names.extend(original.map(|bound| ("original_input".to_owned(), bound)));
        names
    }

    /// The result when a part failed.
    fn failed(&self, at: &dyn Known, part: &Part, total: u32) -> TaskResult {
        let index = match part.place {
            ChildSlot::Part { index, .. } => index,
            _ => 0,
        };
        let done = (0..index).filter_map(|index| {
            let part = at.part(reduction(index))?;
            Some(PartialResult { input_index: usize::try_from(index).ok(), ..partial_result(&at.result(&part)) })
        });
        let processed = (0..index).filter_map(|index| at.element(index));
        let processed =
            processed.map(|(name, bound)| if self.items.is_some() { bound.value() } else { Value::from(name) });
        let more = Details {
            failed_input_index: usize::try_from(index).ok(),
            total_inputs: usize::try_from(total).ok(),
            processed_inputs: Some(processed.collect()),
            current_accumulator: Some(self.accumulator(at, index).0),
            partial_results: Some(done.collect()),
            ..Details::default()
        };
        with_error(at, Some(part), more)
    }
}

impl Operator for Reduce {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn nodes(&self) -> Vec<&Node> {
        vec![&self.inner, &self.reduction]
    }

    fn nodes_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.inner, &mut self.reduction]
    }

    fn items(&self) -> Option<&PathUse> {
        self.items.as_ref()
    }

    fn element(&self) -> Option<&str> {
        Some("current_data")
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        self.items.iter().map(|items| ("items", items.path.to_string())).collect()
    }

    fn write(&self, to: &mut dyn Written) {
        to.text("initial_value", &self.initial.to_string());
        to.node(&INNER_SLOT, &self.inner);
        to.node(&REDUCTION_SLOT, &self.reduction);
    }

    fn walk(&self, names: &mut Walk<'_>, inputs: Option<Seen>) -> Shape {
        let listed = self.items.as_ref().map(|items| names.items(items));
        names.text(&self.initial, "initial_value");
        let element = listed.or(inputs).unwrap_or_else(|| Seen::own(Shape::unknown()));
        let mark = names.mark();
        names.bind("current_data", element.clone());
        names.bind("current_name", element.with(Shape::text()));
        names.bind("current_index", element.with(Shape::number()));
        let current = names.child(&self.inner, "inner_task");
        names.reset(mark);
        names.bind("original_input", element);
        names.bind("current_result", Seen::result(current));
        let initial = self.initial_shape();
        names.bind("accumulator", Seen::result(initial.or(&names.declared(&self.reduction)).value()));
        let joined = names.child(&self.reduction, "reduction_task");
        // An empty text says that there is no value yet.
        if !self.initial.is_empty() {
            names.start(&initial, &joined.clone().value(), &self.reduction);
        }
        initial.or(&joined.value()).from(Source::Task)
    }

    fn below(&self, place: ChildSlot) -> Option<Work<'_>> {
        match place {
            ChildSlot::Part { word: DO, .. } => Some(Work::Node(&self.inner)),
            ChildSlot::Part { word: JOIN, .. } => Some(Work::Node(&self.reduction)),
            _ => None,
        }
    }

    fn next(&self, at: &dyn Parts) -> Move {
        // Its parts run one after the other, two for each element.
        let Tally { opened, closed, failed, .. } = at.tally();
        let index = u32::try_from(opened / 2).unwrap_or(u32::MAX);
        if opened > closed {
            Move::Wait
        } else if failed > 0 || index >= at.count().unwrap_or(0) {
            Move::Owe(EvalPhase::Close)
        } else {
            Move::Open(vec![if opened % 2 == 0 { inner(index) } else { reduction(index) }])
        }
    }

    /// Without a list, it processes its inputs.
    fn open(&self, at: &dyn Opening, names: &mut Names) -> Result<Opens, Box<TaskError>> {
        names.items = match &self.items {
            Some(items) => at.elements(items)?,
            None => {
                let inputs = at.node().inputs.iter().map(|input| input.name.clone());
                inputs.filter_map(|name| names.bound.get(&name).cloned().map(|bound| (name, bound))).collect()
            }
        };
        Ok(Opens::Plan(names.items_plan()))
    }

    fn binds(&self, at: &dyn Known, place: ChildSlot) -> Vec<(String, Bound)> {
        match place {
            ChildSlot::Part { word: DO, index } => Self::for_inner(at, index),
            ChildSlot::Part { word: JOIN, index } => self.for_reduction(at, index),
            _ => Vec::new(),
        }
    }

    /// Only the reduction gets earlier results.
    fn tells(&self, part: ChildSlot, to: ChildSlot) -> bool {
        let joins = |place| matches!(place, ChildSlot::Part { word: JOIN, .. });
        joins(part) && joins(to)
    }

    /// If there is nothing to join, the initial text is the whole result.
    fn trust(&self, at: &dyn Known) -> Trust {
        self.initial(at).1
    }

    /// The last accumulator. If a part failed, the results up to then.
    fn close(&self, at: &dyn Known) -> TaskResult {
        let total = at.count().unwrap_or(0);
        if let Some(part) = at.parts().iter().find(|part| part.failed) {
            return self.failed(at, part, total);
        }
        let (value, _) = self.accumulator(at, total);
        let content = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // The accumulator is the value of the reduction if there is one, otherwise its text (spec 8).
        let parsed = (!value.is_string()).then_some(value);
        TaskResult { content, parsed_content: parsed, ..TaskResult::default() }
    }
}
