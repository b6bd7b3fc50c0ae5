//! `map`: runs its body for each element, with a limited number at the same time.

use serde::{Deserialize, Serialize};

use crate::template::bind::{Bound, Trust};
use crate::template::form::{Attribute, Child, Element, ITEMS, MAX_PARALLEL, ON_ERROR, ValueKind};
use crate::template::names::{Seen, Walk};
use crate::template::result::{TaskError, TaskResult};
use crate::template::shape::Shape;
use crate::template::tree::{InheritContext, Node, PathUse, Role};
use crate::template::value::is_ident;

use super::{
    ChildSlot, EvalPhase, Facts, Given, Kind, Known, Move, Names, OnError, Opening, Opens, Operator, Parts, Rows, Slot,
    Work, Written, pool,
};

/// Runs one task for each element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// The list.
    pub items: PathUse,
    /// The name of an element.
    pub item: String,
    /// The largest number of elements at the same time.
    pub max_parallel: u32,
    /// What happens when one fails.
    pub on_error: OnError,
    /// The task for each element.
    pub body: Box<Node>,
}

static BODY: Element = Element::slot("body");
const SLOT: Slot = Slot::new("body");

const ROLE: Role = Role::new("map", InheritContext::Full, false, false);

pub(super) static FACTS: Facts = Facts {
    word: "map",
    rows: Rows::Task {
        about: "The same task for each element of a list",
        example: include_str!("examples/map.yaml"),
        attributes: &[ITEMS.required(), Attribute::new("as", ValueKind::Ident).or("item"), MAX_PARALLEL, ON_ERROR],
        children: &[Child::new(&BODY).required()],
    },
    read: |given| Some(Kind::Map(read(given)?)),
    leaf: None,
    role: ROLE,
    part_role: Role::ATOMIC,
    spawned: Role::SUBTASK,
    binds: &["item_index"],
    shows_inputs: false,
    looks_up: true,
    splits: true,
    spawns: false,
    transparent: false,
    guards: false,
    lends_ids: false,
    in_order: false,
    gives_its_last: false,
};

fn read(given: &mut dyn Given) -> Option<Map> {
    Some(Map {
        items: given.path("items")?,
        item: given.word("as").filter(|name| is_ident(name)).unwrap_or_else(|| "item".to_owned()),
        max_parallel: given.count("max_parallel")?,
        on_error: OnError::read(given),
        body: given.node(&SLOT)?,
    })
}

impl Operator for Map {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn nodes(&self) -> Vec<&Node> {
        vec![&self.body]
    }

    fn nodes_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.body]
    }

    fn items(&self) -> Option<&PathUse> {
        Some(&self.items)
    }

    fn item(&self) -> Option<&str> {
        Some(&self.item)
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let (items, item) = (("items", self.items.path.to_string()), ("as", self.item.clone()));
        vec![items, item, ("max_parallel", self.max_parallel.to_string()), self.on_error.attribute()]
    }

    fn write(&self, to: &mut dyn Written) {
        to.node(&SLOT, &self.body);
    }

    fn walk(&self, names: &mut Walk<'_>, _: Option<Seen>) -> Shape {
        let element = names.items(&self.items);
        names.bind(&self.item, element);
        names.bind("item_index", Seen::own(Shape::number()));
        let body = names.child(&self.body, "body");
        // What a call passes on without naming it is not known here.
        let calls = self.body.walk().iter().any(|node| node.template.is_some());
        if !calls && !names.uses(&self.item) && !names.uses("item_index") {
            names.unused_element(&self.item, self.items.at);
        }
        pool::shape([body], self.on_error)
    }

    fn below(&self, place: ChildSlot) -> Option<Work<'_>> {
        matches!(place, ChildSlot::Item { .. }).then_some(Work::Node(&self.body))
    }

    fn next(&self, at: &dyn Parts) -> Move {
        let Some(count) = at.count() else { return Move::Owe(EvalPhase::Close) };
        pool::next(at, pool::size(count), self.max_parallel, self.on_error, |index| ChildSlot::Item { index })
    }

    fn collects(&self) -> bool {
        self.on_error == OnError::Collect
    }

    fn open(&self, at: &dyn Opening, names: &mut Names) -> Result<Opens, Box<TaskError>> {
        names.items = at.elements(&self.items)?;
        Ok(Opens::Plan(names.items_plan()))
    }

    fn binds(&self, at: &dyn Known, place: ChildSlot) -> Vec<(String, Bound)> {
        let ChildSlot::Item { index } = place else { return Vec::new() };
        let element = at.element(index).map(|(_, bound)| (self.item.clone(), bound));
        element.into_iter().chain([("item_index".to_owned(), Bound::json(index, Trust::Author))]).collect()
    }

    fn close(&self, at: &dyn Known) -> TaskResult {
        let count = at.count().map_or_else(|| at.parts().len(), pool::size);
        pool::result(at, count, self.on_error)
    }
}
