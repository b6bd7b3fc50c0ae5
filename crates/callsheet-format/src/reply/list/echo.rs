//! Finished tasks that a reply repeats (spec 4.4 `echo-dropped`, 4.8 `done-changed`).

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::names::{folded, slug_of};

use crate::reading::{Diagnostics, KnownTask, Past, ReadContext};

use super::format::label;
use super::steps::{Steps, asks_the_same};
use super::task::Draft;

/// Removes echoes of finished tasks. Empty steps are removed too, except those of an edit, whose positions count.
pub fn drop_echoes(steps: Steps, is_edit: bool, context: &ReadContext, notes: &mut Diagnostics) -> Steps {
    let done: Vec<&KnownTask> = context.tasks.iter().filter(|known| known.done).collect();
    if done.is_empty() {
        return steps;
    }
    let mut echoes: Vec<(Span, String)> = Vec::new();
    let mut shown: Vec<Span> = Vec::new();
    let mut kept: Steps = Vec::new();
    for step in steps {
        let mut tasks: Vec<Draft> = Vec::new();
        for draft in step {
            match finished(&draft, &done, &context.past) {
                // It is unchanged from what the host wrote.
                Some(known) if is_edit && draft.state && asks_the_same(&draft, &known.task) => {
                    shown.push(draft.span);
                }
                Some(known) if is_echo(&draft, known, is_edit, &context.past) => {
                    echoes.push((draft.span, draft.task.name));
                }
                Some(_) => {
                    changed(&draft, notes);
                    tasks.push(draft);
                }
                None => tasks.push(draft),
            }
        }
        if is_edit || !tasks.is_empty() {
            kept.push(tasks);
        }
    }
    shown.sort_unstable();
    notes.retract(&shown);
    echoes.sort();
    let spans: Vec<Span> = echoes.iter().map(|(span, _)| *span).collect();
    notes.retract(&spans);
    for (span, name) in &echoes {
        notes.set_task(Some(name));
        notes.repair(RepairCode::EchoDropped, *span, name, "");
    }
    notes.set_task(None);
    kept
}

/// The finished task with the same name, or with a former name that matches a former wording.
fn finished<'a>(draft: &Draft, done: &[&'a KnownTask], past: &Past) -> Option<&'a KnownTask> {
    let name = draft.task.name.as_str();
    let slug = slug_of(name);
    let same_name = |known: &&&KnownTask| known.task.slug == slug || known.task.name == name;
    let former = |known: &&&KnownTask| known.task.aliases.contains(&slug) && was_same(draft, known, past);
    done.iter().find(same_name).or_else(|| done.iter().find(former)).copied().filter(|_| !name.is_empty())
}

/// Whether a draft repeats a finished task. A person who changes it as the host wrote it asks for something else. In a
/// text from an earlier moment, and in one of a model, the need and the skill say which task is meant.
fn is_echo(draft: &Draft, known: &KnownTask, is_edit: bool, past: &Past) -> bool {
    if was_same(draft, known, past) {
        return true;
    }
    if is_edit { !draft.state && is_same(draft, known) } else { draft.output || is_same(draft, known) }
}

/// Whether a draft shows a task as it was before its refinement or an edit, in a text from an earlier moment. The task
/// is done anyway (spec 2.18).
fn was_same(draft: &Draft, known: &KnownTask, past: &Past) -> bool {
    let need = folded(&draft.task.need);
    let mut wordings = past.wordings.get(&known.task.slug).into_iter().flatten();
    wordings.any(|former| former.skill == draft.task.skill && folded(&former.need) == need)
}

fn is_same(draft: &Draft, known: &KnownTask) -> bool {
    known.task.skill == draft.task.skill && folded(&known.task.need) == folded(&draft.task.need)
}

/// Notes a draft that has the name of a finished task but another text: it is a new task.
fn changed(draft: &Draft, notes: &mut Diagnostics) {
    notes.set_task(Some(&draft.task.name));
    notes.set_section(Some(&draft.section));
    let facts = [("name", draft.task.name.as_str())];
    let issue = notes.issue(IssueCode::DoneChanged, "", draft.span, &facts).warning().key(label::NAME);
    notes.push(issue);
    notes.set_task(None);
    notes.set_section(None);
}
