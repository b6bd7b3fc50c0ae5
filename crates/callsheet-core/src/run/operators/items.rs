//! The items of a list for which a task of a sheet is done (spec 3.16): a tree below the task goes through them.

use crate::nouns::Slug;
use crate::run::TaskRun;
use crate::template::operators::ChildSlot;

use super::{Caller, NodeInstance, Operators};

/// The name of the call by which a task is done for each item of a list. Its tree is made when it begins.
pub const FOR_EACH: &str = "for_each";

/// The variable of the tree with the items, each with a `title`.
pub const ITEMS: &str = "items";

impl Operators {
    /// The call that goes through the items of a list, if the task is part of that.
    pub fn lister(&self, op: &NodeInstance) -> Option<&Caller> {
        self.caller(op.mount).filter(|caller| caller.run.as_str() == FOR_EACH)
    }

    /// The tree that goes through the items of a list for a task of a sheet.
    pub fn list_of(&self, task: &Slug) -> Option<&NodeInstance> {
        let is_of_task = |op: &&NodeInstance| self.lister(op).is_some_and(|caller| caller.task == *task);
        self.iter().filter(|op| op.parent.is_none()).filter(is_of_task).last()
    }

    /// Whether a task goes through the items of a list for a task of a sheet, and some items failed.
    pub fn has_failed_items(&self, op: &NodeInstance) -> bool {
        let of_list = op.parent.is_none() && self.lister(op).is_some();
        of_list && self.children(op).any(|item| item.failed())
    }

    /// What the items of a tree are called, in order.
    pub fn item_titles(&self, top: &NodeInstance) -> Vec<&str> {
        let items = self.tree_of(top).and_then(|tree| tree.variables.get(ITEMS)?.as_array());
        let titles = items.into_iter().flatten().map(|item| item.get("title").and_then(serde_json::Value::as_str));
        titles.map(Option::unwrap_or_default).collect()
    }

    /// What the item at a place is called in a list that a task of a sheet is done for.
    pub(super) fn item_title(&self, top: &NodeInstance, place: ChildSlot) -> Option<String> {
        let ChildSlot::Item { index } = place else { return None };
        self.lister(top).filter(|_| top.parent.is_none())?;
        let items = self.tree_of(top)?.variables.get(ITEMS)?;
        Some(items.get(usize::try_from(index).ok()?)?.get("title")?.as_str()?.to_owned())
    }
}

/// The approval of a task is that of all its items, which have the same words and the same skill.
pub(super) fn approve_as(item: &mut TaskRun, task: &TaskRun) {
    item.approved = task.approved;
    if let (Some(own), Some(skill)) = (&mut item.skill, &task.skill) {
        own.asks_each = skill.asks_each;
        own.commands.clone_from(&skill.commands);
    }
}
