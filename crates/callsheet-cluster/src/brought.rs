//! Commands in a copy of the project: what one wrote is made where the project is, before its result is given.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::evaluate::ProcessReport;
use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_core::prompt::Note;
use callsheet_core::visible::visible_line;
use callsheet_runtime::changes::{ApplyFault, Journal, Means, Written, bring_back};
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{StoreFault, Tool, ToolContext, ToolFault, ToolOutcome};
use callsheet_runtime::services::Services;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::calls::{Bring, Brought, Job};
use crate::checkouts::InUse;
use crate::copies::Differences;
use crate::door::BRING;
use crate::fault::ClusterFault;
use crate::host::{Host, HostFault};
use crate::texts::Texts;

/// How long a worker waits before it calls a dispatcher again that does not respond.
const AGAIN: Duration = Duration::from_millis(300);
/// How many paths are named.
const NAMED: usize = 10;

/// The copy in which the work of a job runs.
pub(crate) struct ProjectCopy {
    pub job: Job,
    pub folder: PathBuf,
    pub in_use: InUse,
    pub texts: Arc<Texts>,
}

/// Why nothing that a command wrote is in the project.
enum NotKept {
    /// Nobody waits for it any more.
    Late,
    /// For this reason, in words.
    Refused(String),
}

/// Lets each command of a run bring back what it writes.
pub(crate) fn in_copy(services: &mut Services, copy: &Arc<ProjectCopy>) {
    for tool in services.tools.values_mut().chain(&mut services.process_tools) {
        let spec = tool.spec();
        if spec.effect == ToolEffect::Execute && spec.repeat == RepeatClass::Once {
            *tool = Arc::new(Copied { tool: Arc::clone(tool), copy: Arc::clone(copy) });
        }
    }
}

/// A command in a copy.
struct Copied {
    tool: Arc<dyn Tool>,
    copy: Arc<ProjectCopy>,
}

#[async_trait]
impl Tool for Copied {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn obstacle(&self, arguments: &Value, workspace: &Workspace) -> Option<String> {
        self.tool.obstacle(arguments, workspace)
    }

    async fn run(&self, arguments: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        let made = self.tool.run(arguments, context).await;
        if context.cancel.is_cancelled() || matches!(made, Err(ToolFault::Cancelled | ToolFault::Defect(_))) {
            return made;
        }
        match self.copy.bring(&context.cancel).await {
            Ok(left) => with_left(made, &left),
            Err(NotKept::Late) => Err(ToolFault::Cancelled),
            Err(NotKept::Refused(why)) => not_kept(made, &why),
        }
    }

    async fn end(&self) {
        self.tool.end().await;
    }
}

/// Adds what stayed in the copy. What an author's process reports has a form of its own.
fn with_left(made: Result<ToolOutcome, ToolFault>, left: &[String]) -> Result<ToolOutcome, ToolFault> {
    let is_report = |text: &str| serde_json::from_str::<ProcessReport>(text).is_ok();
    match made {
        Ok(ToolOutcome::Output(text)) if !left.is_empty() && !is_report(&text) => {
            let note = Note::CommandLeft.fill(&[("paths", &named(left))]);
            Ok(ToolOutcome::Output(format!("{text}\n[{note}]")))
        }
        made => made,
    }
}

/// The failure of a call of whose writes none was kept, with what it said.
fn not_kept(made: Result<ToolOutcome, ToolFault>, why: &str) -> Result<ToolOutcome, ToolFault> {
    let note = Note::CommandNotKept.fill(&[("why", why)]);
    match made {
        Ok(ToolOutcome::Output(text) | ToolOutcome::Failed(text)) => {
            Ok(ToolOutcome::Failed(format!("{note}\n\n{text}")))
        }
        Err(ToolFault::Told { person, model }) => {
            Err(ToolFault::Told { person: format!("{person}\n{why}"), model: format!("{note}\n\n{model}") })
        }
        _ => Ok(ToolOutcome::Failed(note)),
    }
}

fn named(paths: &[String]) -> String {
    let mut words: Vec<String> = paths.iter().take(NAMED).map(|path| visible_line(path)).collect();
    words.extend(paths.len().checked_sub(NAMED).filter(|more| *more > 0).map(|more| format!("{more} more")));
    words.join(", ")
}

impl ProjectCopy {
    /// Brings back what was written. Returns what stays.
    async fn bring(self: &Arc<Self>, cancel: &CancellationToken) -> Result<Vec<String>, NotKept> {
        let copy = Arc::clone(self);
        let found = tokio::task::spawn_blocking(move || {
            let found = Differences::of(&copy.folder, &copy.in_use.files()).map_err(|error| error.to_string())?;
            if !found.odd.is_empty() {
                return Err(format!(
                    "links, devices and files above 64 MiB cannot be brought from another machine: {}",
                    named(&found.odd)
                ));
            }
            copy.give(&found)?;
            Ok(found)
        });
        let found = found.await.map_err(|error| NotKept::Refused(error.to_string()))?;
        let Differences { written, left, .. } = found.map_err(NotKept::Refused)?;
        if !written.is_empty() {
            self.make(written, cancel).await?;
        }
        if !left.is_empty() {
            tracing::info!(run = %self.job.run, left = named(&left), "what a command wrote stays here");
        }
        Ok(left)
    }

    /// Gives the new contents.
    fn give(&self, found: &Differences) -> Result<(), String> {
        for (id, place) in &found.contents {
            let bytes = std::fs::read(place).map_err(|error| format!("{}: {error}", place.display()))?;
            if callsheet_core::nouns::BlobId::of(&bytes) != *id {
                return Err(format!("{} changes while nothing runs", place.display()));
            }
            self.texts.put_all(&self.job.run, &[bytes]).map_err(|fault| fault.to_string())?;
        }
        Ok(())
    }

    /// Has it made in the project. Asks again for as long as the dispatcher is away and the work is wanted.
    async fn make(&self, written: Written, cancel: &CancellationToken) -> Result<(), NotKept> {
        let (client, own, key) = (&self.in_use.checkouts.client, &self.in_use.checkouts.own, self.job.key());
        loop {
            let lease = own.lease(&key).filter(|_| !cancel.is_cancelled()).ok_or(NotKept::Late)?;
            let bring = Bring { key: key.clone(), lease, written: written.clone() };
            match client.call::<Brought>(BRING, &bring).await {
                Ok(Brought::Made) => return Ok(()),
                Ok(Brought::Late) => return Err(NotKept::Late),
                Ok(Brought::Refused(why)) => return Err(NotKept::Refused(why)),
                Err(ClusterFault::Unreachable { .. }) => tokio::time::sleep(AGAIN).await,
                Err(fault) => return Err(NotKept::Refused(fault.to_string())),
            }
        }
    }
}

impl Host {
    /// Makes in the project what a command wrote elsewhere.
    pub async fn bring_back(&self, job: &Job, written: &Written) -> Result<Brought, HostFault> {
        let Some((services, workspace)) = self.place_of(job).await? else { return Ok(Brought::Late) };
        let paths: Vec<PathBuf> = written.paths().map(PathBuf::from).collect();
        let closed = self.closed_to_commands(&workspace, &paths);
        if !closed.is_empty() {
            let paths: Vec<String> = closed.iter().map(|path: &PathBuf| shown(path)).collect();
            let why = "a command on another machine may not change hidden files, and what decides what runs later";
            return Ok(Brought::Refused(format!("{why}: {}", named(&paths))));
        }
        let (tell, cancel) = (|text: &str| services.notice(text), CancellationToken::new());
        let means = Means { workspace: &services.workspace, store: &*services.store, tell: &tell, cancel: &cancel };
        match bring_back(written, &Journal::of_command(&services.kept, job.attempt), means) {
            Ok(()) => Ok(Brought::Made),
            Err(ApplyFault::Moved(issues) | ApplyFault::Refused(issues)) => {
                let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
                Ok(Brought::Refused(issues.join("\n")))
            }
            Err(ApplyFault::Store(StoreFault::NoBlob(id))) => {
                Ok(Brought::Refused(format!("its text {id} did not come")))
            }
            Err(fault) => Err(HostFault::Again(fault.to_string())),
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
