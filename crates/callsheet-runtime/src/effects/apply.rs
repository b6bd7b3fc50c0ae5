//! Applies change sets, and rolls back interrupted ones (spec 3.10).

use callsheet_core::events::{self, Event};
use callsheet_core::issue::Issue;
use callsheet_core::nouns::{BlobId, ExecutionId, Slug};
use callsheet_core::record::ChangeSet;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::changes::{self as disk, ApplyFault, Journal, Means};
use crate::ports::StoreFault;

use super::hooks::{HookRefusal, ask_hooks};
use super::hunks;
use super::try_changes::refused_set;
use super::work::{EffectFuture, EffectResult, Work};
use crate::branch::refuse_elsewhere;
use crate::fault::{DriveFault, InputFault};
use crate::services::{HookPoint, Services};

/// Applies a set whose start is on disk, on the git branch of the run, if it has one. If a file changed since the set was made, nothing is applied: the set is
/// adapted to the current file, and what a person has not seen in this form goes back to the gate.
pub(crate) fn apply(
    work: Work,
    branch: Option<String>,
    (task, run, set): (Slug, ExecutionId, u32),
    changes: ChangeSet,
) -> EffectFuture {
    Box::pin(async move {
        if let Some(refused) = refused_by_hook(&work, &task, &changes).await? {
            let events = refused.map(|issue| rejected(&work.services, task, run, set, vec![issue]));
            return Ok(EffectResult::Events(events.into_iter().collect()));
        }
        let Work { services, cancel, .. } = work;
        blocking(move || {
            if let Some(branch) = branch {
                refuse_elsewhere(&services.workspace, &branch).map_err(InputFault::from)?;
            }
            let journal = Journal::new(&services.kept, &task, &run, set);
            match disk::apply(&changes, &journal, means(&services, &|text| services.notice(text), &cancel)) {
                Ok(()) => Ok(vec![events::ChangesApplied { task, run, set, changes }.into()]),
                Err(ApplyFault::Moved(issues)) => match hunks::rebased(&services, &changes)? {
                    Ok((changes, as_shown)) => {
                        if !as_shown {
                            let paths: Vec<&str> =
                                issues.iter().filter_map(|issue| issue.place.item.as_deref()).collect();
                            let paths = paths.join(", ");
                            services.notice(&format!(
                                "note: {task}: {paths} changed in the meantime; here is the change adapted to it"
                            ));
                        }
                        Ok(vec![events::ChangesRebased { task, run, set, changes, as_shown }.into()])
                    }
                    Err(none) => {
                        Ok(vec![rejected(&services, task, run, set, if none.is_empty() { issues } else { none })])
                    }
                },
                Err(ApplyFault::Refused(issues)) => Ok(vec![rejected(&services, task, run, set, issues)]),
                Err(ApplyFault::Cancelled) => Ok(Vec::new()),
                Err(fault) => Err(defect(fault)),
            }
        })
        .await
    })
}

/// The issue of a hook that refuses the changes (spec 12.11). The inner `None` means that the apply was cancelled
/// meanwhile.
async fn refused_by_hook(work: &Work, task: &Slug, changes: &ChangeSet) -> Result<Option<Option<Issue>>, DriveFault> {
    let services = &work.services;
    if !services.hooks.has(HookPoint::PreWrite) {
        return Ok(None);
    }
    let text = |blob: &Option<BlobId>| blob.as_ref().map(|blob| services.text(blob)).transpose();
    let mut files = Vec::new();
    for file in &changes.files {
        files.push(json!({ "path": file.path, "before": text(&file.before)?, "after": text(&file.after)? }));
    }
    let input = json!({ "task": task, "files": files });
    match ask_hooks(services, HookPoint::PreWrite, &input, &work.cancel).await {
        Ok(()) => Ok(None),
        Err(_) if work.cancel.is_cancelled() => Ok(Some(None)),
        Err(HookRefusal { hook, why }) => Ok(Some(Some(refused_set("hook-refused", &hook, &why)))),
    }
}

/// A person may have approved these changes, and will be asked again about new ones.
fn rejected(services: &Services, task: Slug, run: ExecutionId, set: u32, issues: Vec<Issue>) -> Event {
    services.notice(&format!("note: {task}: can't apply its changes; none was applied:"));
    issues.iter().for_each(|issue| services.notice(&format!("{}: {issue}", issue.code)));
    events::ChangesRejected { task, run, set, issues }.into()
}

/// Puts the originals of an interrupted apply back.
pub(crate) fn roll_back(work: Work, task: Slug, run: ExecutionId, set: u32, changes: ChangeSet) -> EffectFuture {
    Box::pin(async move {
        let Work { services, cancel, .. } = work;
        blocking(move || {
            let journal = Journal::new(&services.kept, &task, &run, set);
            match disk::roll_back(&changes, &journal, means(&services, &|text| services.notice(text), &cancel)) {
                Ok(issues) => {
                    issues.iter().for_each(|issue| services.notice(&issue.to_string()));
                    Ok(vec![events::ChangesRolledBack { task, run, set }.into()])
                }
                Err(ApplyFault::Cancelled) => Ok(Vec::new()),
                Err(fault) => Err(defect(fault)),
            }
        })
        .await
    })
}

fn means<'a>(services: &'a Services, tell: &'a dyn Fn(&str), cancel: &'a CancellationToken) -> Means<'a> {
    Means { workspace: &services.workspace, store: &*services.store, tell, cancel }
}

async fn blocking(
    work: impl FnOnce() -> Result<Vec<Event>, DriveFault> + Send + 'static,
) -> Result<EffectResult, DriveFault> {
    tokio::task::spawn_blocking(work).await.map_err(DriveFault::defect)?.map(EffectResult::Events)
}

pub(crate) fn defect(fault: ApplyFault) -> DriveFault {
    match fault {
        ApplyFault::Store(fault) => DriveFault::Store(fault),
        fault => DriveFault::Store(StoreFault::Broken(fault.to_string())),
    }
}
