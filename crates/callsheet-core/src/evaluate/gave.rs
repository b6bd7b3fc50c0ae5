//! What the parts of a task gave so far, kept from one part to the next: the names that later parts see, and what they are
//! told. Each part of thousands is read once.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::nouns::BlobId;
use crate::run::{ChildSlot, NodeInstance};
use crate::template::operators::Gave;
use crate::template::{AccumulationFormat, Bound, Node};

use super::Evaluator;
use super::entries::Told;

/// How many parts were read, and the last of them with its result. If an earlier one has another result now, then so has
/// the last, because what follows a part that is done again is done again, too.
#[derive(Debug, Default)]
struct Reach {
    parts: usize,
    last: Option<(usize, BlobId)>,
}

impl Reach {
    fn add(&mut self, part: &NodeInstance) {
        self.parts += 1;
        self.last = result_of(part);
    }
}

fn result_of(part: &NodeInstance) -> Option<(usize, BlobId)> {
    Some((part.number, part.closed()?.result.clone()))
}

/// Names made of parts.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    reach: Reach,
    gave: Gave,
}

/// Outputs of parts that say something, each with the place of its part.
#[derive(Debug, Default)]
pub(super) struct Said {
    reach: Reach,
    told: Vec<(ChildSlot, Arc<Told>)>,
}

impl<'a> Evaluator<'a> {
    fn at(&self, number: usize) -> Option<&'a NodeInstance> {
        self.run.operators().at(number)
    }

    /// A part that came back.
    fn returned(&self, number: usize) -> Option<&'a NodeInstance> {
        self.at(number).filter(|part| part.is_closed())
    }

    /// Whether these parts begin with those that were read.
    fn begins(&self, parts: &[usize], reach: &Reach) -> bool {
        let Some(index) = reach.parts.checked_sub(1) else { return true };
        let last = parts.get(index).and_then(|number| result_of(self.at(*number)?));
        last.is_some() && last == reach.last
    }

    /// What the first parts of a task gave, so many of them, as names may be bound to it.
    pub(super) fn gave_before(&self, op: &NodeInstance, count: u32) -> Gave {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let parts = op.parts();
        let parts = parts.get(..count).unwrap_or(parts);
        let known = self.memory.borrow_mut().gathered.remove(&op.number);
        let mut gathered = known.filter(|known| self.begins(parts, &known.reach)).unwrap_or_default();
        for part in parts.iter().skip(gathered.reach.parts).filter_map(|number| self.returned(*number)) {
            let bound = self.bound(part);
            let gave = &mut gathered.gave;
            gave.trust = gave.trust.max(bound.trust);
            self.add_ids(part, Arc::make_mut(&mut gave.by_id));
            Arc::make_mut(&mut gave.results).push(bound);
            gathered.reach.add(part);
        }
        let gave = gathered.gave.clone();
        // One that works between others that came back is read later.
        if gathered.reach.parts == parts.len() {
            self.memory.borrow_mut().keep_gathered(op.number, gathered);
        }
        gave
    }

    /// A part by its id, and after one that lends them its children by theirs (spec 8).
    fn add_ids(&self, part: &NodeInstance, ids: &mut BTreeMap<String, Bound>) {
        let Some(node) = self.node(part) else { return };
        if node.kind.facts().lends_ids {
            part.parts().iter().filter_map(|number| self.returned(*number)).for_each(|part| self.add_ids(part, ids));
        }
        if let Some(id) = &node.id {
            ids.insert(id.clone(), self.bound(part));
        }
    }

    /// What the one at a place is told of the outputs of other children of its parent: of those that say something.
    pub(super) fn told_by(&self, above: &NodeInstance, node: &Node, place: ChildSlot) -> Vec<Arc<Told>> {
        let format = node.context.settings.accumulation_format;
        let known = self.memory.borrow_mut().said.remove(&above.number);
        let mut said = known.filter(|known| self.begins(&above.children, &known.reach)).unwrap_or_default();
        while let Some(child) = above.children.get(said.reach.parts).and_then(|number| self.returned(*number)) {
            said.told.extend(self.said_by(child, format));
            said.reach.add(child);
        }
        let rest = above.children.iter().skip(said.reach.parts).filter_map(|number| self.returned(*number));
        let rest: Vec<_> = rest.filter_map(|child| self.said_by(child, format)).collect();
        let operator = node.kind.operator();
        let tells = |(of, _): &&(ChildSlot, Arc<Told>)| *of != place && operator.tells(*of, place);
        let told = said.told.iter().chain(&rest).filter(tells).map(|(_, told)| Arc::clone(told)).collect();
        self.memory.borrow_mut().keep_said(above.number, said);
        told
    }

    fn said_by(&self, child: &NodeInstance, format: AccumulationFormat) -> Option<(ChildSlot, Arc<Told>)> {
        let entry = self.entry_of(child, format);
        (!entry.parts().is_empty()).then(|| (child.place, Arc::new(Told::of(entry))))
    }
}
