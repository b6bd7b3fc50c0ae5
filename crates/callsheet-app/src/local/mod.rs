//! The runs of a project, on this machine or on a cluster.

mod elsewhere;
mod find;
mod fork;
mod gates;
mod limits;
mod parts;
mod questions;
mod sheet;
mod tasks;
mod undo;

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId, Slug};
use callsheet_core::record::Gate;
use callsheet_core::symbols::Coloured;
use callsheet_runtime::driver::ResumeKind;
use callsheet_runtime::effects::gate_view;
use callsheet_runtime::grants::GrantedThing;
use callsheet_runtime::ports::{Asked, GateView, InboxMessage, LiveText, Posted, RunSummary, Store};
use callsheet_runtime::shown::Shown;

use crate::advice::Advice;
use crate::answer::answer_text;
use crate::command::{Order, Receipt, RunCommand};
use crate::control::{RunControl, SheetCheck, Started};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::view::{Cursor, RunView};

pub use find::{find_run, recorded, unknown_run};
pub use gates::{Standing, asked_about, standing};
pub use questions::no_question;
pub use tasks::unknown_task;
pub use undo::undo_lines;

/// The runs of a project: those of this machine, or of the cluster that its store stands for.
pub struct LocalRuns {
    host: Arc<dyn Host>,
    store: OnceLock<Arc<dyn Store>>,
}

impl LocalRuns {
    /// The runs of the host's project.
    pub fn new(host: Arc<dyn Host>) -> Self {
        Self { host, store: OnceLock::new() }
    }

    /// Opens the existing store.
    ///
    /// # Errors
    /// The project has no runs, or the store cannot be used.
    pub fn store(&self) -> Result<Arc<dyn Store>, Refusal> {
        if let Some(store) = self.store.get() {
            return Ok(Arc::clone(store));
        }
        let store = self.host.store()?.ok_or_else(|| self.host.no_runs())?;
        Ok(Arc::clone(self.store.get_or_init(|| store)))
    }

    /// The run with this name.
    fn found(&self, run: &RunId) -> Result<(Arc<dyn Store>, RunSummary), Refusal> {
        let store = self.store()?;
        let found = find_run(&store, Some(run.as_str()), |_| true, "")?;
        Ok((store, found))
    }

    /// Reads the edited plan file of a run before anything is decided about the run. Returns whether this recorded
    /// anything.
    ///
    /// # Errors
    /// The edited file has errors or cannot be read.
    pub fn take_in(&self, found: &RunSummary, run: &RunView) -> Result<bool, Refusal> {
        sheet::take_in(self, found, run)
    }

    /// Allows something, on this machine or where the cluster of the runs is. Returns what was granted, in words.
    fn grant(&self, what: GrantedThing, only: Option<(RunId, Slug)>) -> Result<String, Refusal> {
        match self.store()?.hosting() {
            Some(hosting) => hosting.grant(&what, only.as_ref()).map_err(Refusal::from),
            None => self.host.grant(what, only),
        }
    }

    /// The text of the plan file of a run, if it differs from what `run` says that the run wrote or read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn edited_text(&self, id: &RunId, run: &RunView) -> Result<Option<String>, Refusal> {
        sheet::edited_text(self, id, run)
    }

    /// The text of the plan file of a run on a cluster, if a person edited it and the run has not read it. A run of this
    /// machine reads its file by itself.
    ///
    /// # Errors
    /// The file or the record cannot be read.
    pub fn edit_to_give(&self, run: &RunId) -> Result<Option<String>, Refusal> {
        let (store, found) = self.found(run)?;
        if store.hosting().is_none() { Ok(None) } else { sheet::edit_to_give(self, &store, &found) }
    }

    /// Whether the plan file of a run was edited.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_edited(&self, id: &RunId, run: &RunView) -> Result<bool, Refusal> {
        sheet::edited_on_disk(self, id, run)
    }
}

/// The runs of a project, while they carry out one order.
struct Ordered<'a> {
    runs: &'a LocalRuns,
    order: &'a Order,
}

impl Deref for Ordered<'_> {
    type Target = LocalRuns;

    fn deref(&self) -> &LocalRuns {
        self.runs
    }
}

impl Ordered<'_> {
    /// Posts messages to the run. Each gets an id of the order, so that repeating the order has no second effect.
    fn post(&self, store: &Arc<dyn Store>, run: &RunSummary, messages: &[InboxMessage]) -> Result<(), Refusal> {
        for (number, message) in messages.iter().enumerate() {
            let posted = Posted { order: Some(self.order.id(number)), message: message.clone() };
            store.post(&run.run, &posted)?;
        }
        Ok(())
    }

    /// The entries that were recorded after the person decided.
    fn since(&self, run: &RunId) -> Result<Vec<LogEntry>, Refusal> {
        self.order.revision.map_or(Ok(Vec::new()), |seen| self.watch(run, seen))
    }

    /// The receipt for an order that was sent again after it was carried out. `None` if it is new.
    fn done_before(&self, run: &RunId) -> Result<Option<Receipt>, Refusal> {
        let since = self.since(run)?;
        let is_done = since.iter().flat_map(|entry| &entry.orders).any(|id| self.order.owns(id));
        Ok(is_done.then(|| Receipt::done(run, "this was done already")))
    }

    fn carry_out(&self, run: &RunId) -> Result<Receipt, Refusal> {
        if let Some(receipt) = self.done_before(run)? {
            return Ok(receipt);
        }
        match &self.order.command {
            RunCommand::Approve { .. } | RunCommand::Keep { .. } | RunCommand::Deny { .. } => gates::answer(self, run),
            RunCommand::Reply { to, text } => questions::reply(self, run, to, text),
            RunCommand::Retry { tasks, keep_changes, because } => {
                tasks::retry(self, run, tasks, *keep_changes, because)
            }
            RunCommand::Remove { tasks } => tasks::remove(self, run, tasks),
            RunCommand::Raise { limits } => limits::raise(self, run, limits),
            RunCommand::Edit { seen, text } => sheet::save(self, run, seen, text),
            RunCommand::Stop => self.stop(run),
            RunCommand::Undo { tasks } => undo::undo(self, run, tasks),
        }
    }

    fn stop(&self, run: &RunId) -> Result<Receipt, Refusal> {
        let (store, found) = self.found(run)?;
        if found.owner.is_none() {
            // The message would stay in the inbox and immediately stop the next resume.
            let waits = found.outcome == Some(callsheet_core::record::Outcome::ApprovalRequired);
            let deny = || Advice::command("to reject what is pending", ["deny", run.as_str()]);
            let advice = if waits { deny() } else { Advice::default() };
            return Err(Refusal::usage(format!("run {run} is not running; there is nothing to cancel"), advice));
        }
        self.post(&store, &found, &[InboxMessage::Cancel])?;
        Ok(Receipt::new(run, "the cancel request", found.owner.as_ref()))
    }
}

impl RunControl for LocalRuns {
    fn project(&self) -> String {
        let project = self.host.project();
        let name = project.file_name().map(|name| name.to_string_lossy().into_owned());
        Shown::text(&name.unwrap_or_else(|| project.display().to_string())).into_string()
    }

    fn list(&self) -> Result<Vec<RunSummary>, Refusal> {
        if self.store.get().is_none() && self.host.store()?.is_none() {
            return Ok(Vec::new());
        }
        self.store()?.runs().map_err(Refusal::from)
    }

    fn watch(&self, run: &RunId, seen: Cursor) -> Result<Vec<LogEntry>, Refusal> {
        self.store()?.read(run, seen.0.saturating_add(1)).map_err(Refusal::from)
    }

    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, Refusal> {
        self.store()?.blob(id).map_err(Refusal::from)
    }

    fn has_messages(&self, run: &RunId) -> Result<bool, Refusal> {
        self.store()?.has_messages(run).map_err(Refusal::from)
    }

    fn gate(&self, run: &RunView, gate: &Gate) -> Result<GateView, Refusal> {
        let mut view = gate_view(&*self.store()?, self.host.project(), run.run(), gate)?;
        let settings = run.about().settings;
        for writer in &mut view.writers {
            let skill = run.task(&writer.task.slug).and_then(|task| task.skill.as_ref());
            let wish = skill.and_then(|skill| skill.model.as_deref());
            if let Some(model) = self.host.executing_model(settings, wish) {
                writer.model = model;
            }
        }
        Ok(view)
    }

    fn gates(&self, run: &RunView) -> Result<Vec<GateView>, Refusal> {
        run.open_gates().iter().map(|gate| self.gate(run, gate)).collect()
    }

    fn writing(&self, run: &RunId, owner: &str) -> Vec<LiveText> {
        let Ok(store) = self.store() else { return Vec::new() };
        store.hosting().map_or_else(|| self.host.writing(run, owner), |hosting| hosting.writing(run))
    }

    fn colours(&self, path: &str, text: &str) -> Vec<Coloured> {
        self.host.colours(path, text)
    }

    fn answer(&self, run: &RunView) -> String {
        answer_text(&*self.host, run)
    }

    fn order(&self, run: &RunId, order: &Order) -> Result<Receipt, Refusal> {
        Ordered { runs: self, order }.carry_out(run)
    }

    fn resume(&self, run: &RunId) -> Result<Receipt, Refusal> {
        let (store, found) = self.found(run)?;
        if let Some(owner) = &found.owner {
            return Err(Refusal::usage(format!("run {run} is running already ({owner})"), ""));
        }
        if let Some(hosting) = store.hosting() {
            let settings = Box::new(recorded(&store, &found)?.run.about().settings.clone());
            let edited = sheet::edit_to_give(self, &store, &found)?;
            hosting.ask(run, Asked::Reopen { how: ResumeKind::Resume, settings }, edited)?;
            return Ok(Receipt::done(run, format!("{} resumed run {run}", hosting.place())));
        }
        let known = recorded(&store, &found)?.run;
        sheet::take_in(self, &found, &known)?;
        self.refuse_differing(run, &known)?;
        self.host.start(run).map(|words| Receipt::done(run, words))
    }

    fn fork(&self, run: &RunId, at: Option<&str>) -> Result<Receipt, Refusal> {
        fork::fork(self, run, at)
    }

    fn started(&self, run: &RunId) -> Option<Started> {
        self.host.started(run)
    }

    fn sheet(&self, run: &RunView) -> Result<String, Refusal> {
        sheet::text(self, run)
    }

    fn unset_keys(&self, run: &RunView) -> Vec<(String, String)> {
        self.host.unset_keys(&run.providers())
    }

    fn edit_errors(&self, run: &RunView) -> Result<Vec<String>, Refusal> {
        sheet::edit_errors(self, run)
    }

    fn check_sheet(&self, run: &RunView, text: &str) -> Result<SheetCheck, Refusal> {
        sheet::check(self, run, text)
    }
}
