//! `reduce`: what it goes through, what it binds for its parts, and what it gives (spec 8).

use serde_json::Value;

use crate::record::Plan;
use crate::run::{Place, TaskOp};
use crate::template::{Bound, Details, Kind, Node, TaskResult, Trust};

use super::{Evaluator, Names};

/// Without a list it goes through its inputs.
pub(super) fn inputs(node: &Node, names: &Names) -> Vec<(String, Bound)> {
    let bound = |name: &String| names.bound.get(name).cloned();
    let inputs = node.inputs.iter().map(|input| input.name.clone());
    inputs.filter_map(|name| Some((name.clone(), bound(&name)?))).collect()
}

impl Evaluator<'_> {
    /// What it binds for a part.
    pub(super) fn reduce_names(&self, above: &TaskOp, place: &Place) -> Vec<(String, Bound)> {
        match place {
            Place::Inner { index } => self.for_inner(above, *index),
            Place::Reduction { index } => self.for_reduction(above, *index),
            _ => Vec::new(),
        }
    }

    fn for_inner(&self, above: &TaskOp, index: u32) -> Vec<(String, Bound)> {
        let Some((name, bound)) = self.element(above, index) else { return Vec::new() };
        vec![
            ("current_data".to_owned(), bound),
            ("current_name".to_owned(), Bound::json(name, Trust::Author)),
            ("current_index".to_owned(), Bound::json(index, Trust::Author)),
        ]
    }

    fn for_reduction(&self, above: &TaskOp, index: u32) -> Vec<(String, Bound)> {
        let current = self.run.operators().child(above, &Place::Inner { index }).map(|inner| self.bound(inner));
        let (accumulator, trust) = self.accumulator(above, index);
        let original = self.element(above, index).map(|(_, bound)| bound);
        let mut names = vec![("accumulator".to_owned(), Bound::json(accumulator, trust))];
        names.extend(current.map(|bound| ("current_result".to_owned(), bound)));
        names.extend(original.map(|bound| ("original_input".to_owned(), bound)));
        names
    }

    /// What was joined before an input: the last reduction's value, at first the initial one.
    fn accumulator(&self, above: &TaskOp, before: u32) -> (Value, Trust) {
        let last = before.checked_sub(1).map(|index| Place::Reduction { index });
        let joined = last.and_then(|place| self.run.operators().child(above, &place));
        match joined.filter(|op| op.closed.is_some() && !op.failed()) {
            Some(op) => (self.result(op).value(), self.trust(op)),
            None if before > 0 => self.accumulator(above, before - 1),
            None => self.initial(above),
        }
    }

    /// `initial_value`: JSON if it parses, else the text.
    pub(super) fn initial(&self, above: &TaskOp) -> (Value, Trust) {
        let Some(Kind::Reduce { initial, .. }) = self.node(above).map(|node| &node.kind) else {
            return (Value::Null, Trust::Author);
        };
        let own = self.own_scope(above);
        let origin = crate::template::Origin::default();
        let text = crate::template::resolve_text(initial, &own, "initial_value", &origin, "", &mut Vec::new());
        let value = serde_json::from_str(text.as_str()).unwrap_or_else(|_| Value::from(text.as_str()));
        (value, text.trust())
    }

    /// The last accumulator; of one that failed what there was.
    pub(super) fn reduce_result(&self, op: &TaskOp) -> TaskResult {
        let total = match op.opened.as_ref().map(|opened| &opened.plan) {
            Some(Plan::Items { count }) => *count,
            _ => 0,
        };
        let failing = self.children(op).into_iter().filter(|child| !child.place.is_nested()).find(|part| part.failed());
        let Some(part) = failing else {
            let (value, _) = self.accumulator(op, total);
            let content = match &value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            // The accumulator is the reduction's value where it is one, else its text (spec 8).
            let parsed = (!value.is_string()).then_some(value);
            return TaskResult { content, parsed_content: parsed, ..TaskResult::default() };
        };
        let index = match part.place {
            Place::Inner { index } | Place::Reduction { index } => index,
            _ => 0,
        };
        let (accumulator, _) = self.accumulator(op, index);
        let done = (0..index).filter_map(|index| {
            let reduction = self.run.operators().child(op, &Place::Reduction { index })?;
            let input_index = usize::try_from(index).ok();
            Some(crate::template::PartialResult { input_index, ..self.partial_result(reduction) })
        });
        let of_list = matches!(self.node(op).map(|node| &node.kind), Some(Kind::Reduce { items: Some(_), .. }));
        let processed = (0..index).filter_map(|index| self.element(op, index));
        let processed = processed.map(|(name, bound)| if of_list { bound.value() } else { Value::from(name) });
        let more = Details {
            failed_input_index: usize::try_from(index).ok(),
            total_inputs: usize::try_from(total).ok(),
            processed_inputs: Some(processed.collect()),
            current_accumulator: Some(accumulator),
            partial_results: Some(done.collect()),
            ..Details::default()
        };
        self.with_error(Some(&part), more)
    }
}
