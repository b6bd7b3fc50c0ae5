//! Walks through every template, called templates before their callers. The result of a call, and which of its
//! arguments reach a command, are then known when the call is reached.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::template::Template;
use callsheet_core::template::names::{Around, Found, WalkedTemplate, walk_in};

use crate::template::known::Known;

use super::{Loading, calls};

/// The findings in a template, and whether it has errors of its own.
type Walked = (bool, Vec<Found>);

/// Walks through all templates. Returns the findings of each, in the given order.
pub(super) fn walk_all(
    loading: &Loading<'_>,
    every: &[(usize, &Template)],
    in_force: &BTreeMap<&str, &Template>,
    known: &Known<'_>,
) -> Vec<Walked> {
    let mut summaries: BTreeMap<&str, WalkedTemplate> = BTreeMap::new();
    let mut walked: BTreeMap<usize, Walked> = BTreeMap::new();
    let order = order(every, in_force);
    let unknown = Cell::new(false);
    // Templates that call one another learn of each other in a second walk.
    for _ in 0..2 {
        for (number, file, template) in
            order.iter().filter_map(|at| every.get(*at).map(|(file, known)| (*at, *file, *known)))
        {
            let called = |name: &str| {
                let (name, template) = in_force.get_key_value(name)?;
                let summary = summaries.get(name);
                unknown.set(unknown.get() || summary.is_none());
                Some((*template, summary))
            };
            let schema = |name: &str| known.schema.and_then(|find| find(&template.origin.file, name));
            let around =
                Around { outside: &|name| name == "request", called: &called, schema: &schema, given: &|_| None };
            let (found, summary) = walk_in(template, around);
            let faulty = loading.readings.get(file).is_some_and(|reading| reading.is_faulty(template, false));
            // The result of a template with errors is unknown.
            if !faulty && is(in_force, template) {
                summaries.insert(&template.name, summary);
            }
            walked.insert(number, (faulty, found));
        }
        if !unknown.replace(false) {
            break;
        }
    }
    walked.into_values().collect()
}

fn is(in_force: &BTreeMap<&str, &Template>, template: &Template) -> bool {
    in_force.get(template.name.as_str()).is_some_and(|own| std::ptr::eq(*own, template))
}

/// The numbers of all templates, each after those that it calls. In a cycle, one of them comes first. Works without
/// recursion, because the chain of calls may be long.
fn order(every: &[(usize, &Template)], in_force: &BTreeMap<&str, &Template>) -> Vec<usize> {
    let numbers = every.iter().enumerate().filter(|(_, (_, template))| is(in_force, template));
    let numbers: BTreeMap<&str, usize> = numbers.map(|(number, (_, known))| (known.name.as_str(), number)).collect();
    let mut seen = BTreeSet::new();
    let mut order = Vec::new();
    for start in 0..every.len() {
        let mut open = vec![(start, false)];
        while let Some((number, done)) = open.pop() {
            if done {
                order.push(number);
            } else if seen.insert(number)
                && let Some((_, template)) = every.get(number)
            {
                open.push((number, true));
                let calls = calls::calls_of(template);
                let names = calls.iter().filter_map(|call| call.node.template.as_deref());
                open.extend(names.filter_map(|name| numbers.get(name)).map(|next| (*next, false)));
            }
        }
    }
    order
}
