//! The replies of routing calls.

use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::nouns::TaskList;
use callsheet_core::record::{Beside, CallKey};
use callsheet_core::run::Run;

use crate::world::World;

/// Chooses the skill for the request, or for a task of the waiting list. The last skill completes the list.
pub(crate) fn routed(world: &mut World, run: &Run, key: CallKey) -> Event {
    let is_last = run.drafted().is_some() && run.unrouted_tasks().nth(1).is_none();
    let one_task = run.drafted().is_none() && world.random.chance(20);
    if one_task || is_last {
        let known = run.tasks().next().is_some().then_some(run);
        let (origin, list) = (ListOrigin::Reply(key), world.list(known));
        return events::ListAdopted { origin, list, repairs: Vec::new(), issues: Vec::new() }.into();
    }
    let skill = (run.drafted().is_some() && world.random.chance(80)).then(|| "write".to_owned());
    let asks = run.drafted().is_none() && world.random.chance(10);
    let writes = if asks { vec!["asked.md".to_owned()] } else { Vec::new() };
    events::Routed { key, skill, writes, issues: Vec::new() }.into()
}

/// A list whose tasks need skills. `None` if the list has no task.
pub(crate) fn without_skills(world: &mut World, known: Option<&Run>) -> Option<(TaskList, Beside)> {
    let adopted = world.list(known);
    let mut list = adopted.list();
    list.tasks_mut().for_each(|task| task.skill = None);
    let has_task = list.tasks().next().is_some();
    has_task.then_some((list, adopted.beside))
}
