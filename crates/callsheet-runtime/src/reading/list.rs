//! Turns a list that was read into the content of an event: pins skills and matches tasks with those of the run (spec
//! 2.11, 6.4).

use std::collections::BTreeMap;

use callsheet_core::adopt;
use callsheet_core::adopt::{Adoption, Former};
use callsheet_core::nouns::SkillPolicy;
use callsheet_core::record::AdoptedList;
use callsheet_core::run::{Run, State};
use callsheet_format::reply::ListReply;

use crate::fault::DriveFault;
use crate::services::Services;
use crate::skills::LoadedSkills;

/// Pins the skills that a list names and matches it with the unfinished tasks of the run (spec 2.11, 6.4). `edit` means
/// a person's edit of the whole sheet.
pub(crate) fn reconcile(
    services: &Services,
    run: &Run,
    reply: ListReply,
    loaded: &LoadedSkills,
    edit: bool,
) -> Result<AdoptedList, DriveFault> {
    let mut skills: BTreeMap<String, SkillPolicy> = BTreeMap::new();
    for name in reply.list.tasks().filter_map(|task| task.skill.as_ref()) {
        if !skills.contains_key(name)
            && let Some(skill) = loaded.catalog.get(name)
        {
            skills.insert(name.clone(), services.pin(skill, loaded)?);
        }
    }
    let former: Vec<Former<'_>> = run
        .tasks()
        .filter(|task| task.state() != State::Done)
        .map(|task| Former { task: &task.task, ended: task.state().is_ended() })
        .collect();
    let taken = run.taken().cloned().collect();
    let edit = edit.then_some(&reply.ended);
    let adoption = Adoption { former: &former, skills: &skills, taken: &taken, edit };
    let mut adopted = adopt::adopt(&reply.list, &adoption);
    adopted.beside = reply.beside;
    Ok(adopted)
}
