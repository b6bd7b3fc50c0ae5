//! The files for people while a run is driven. They are views of the log (spec 10.6): if one cannot be written, the
//! trace notes it and nothing else happens. Replies do not wait for these files; a separate thread writes them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use callsheet_core::events::Event;
use callsheet_core::nouns::{BlobId, Slug};
use callsheet_core::record::DetailBlob;
use callsheet_core::run::{Execution, Run, TaskRun};

use crate::prompting::reverted::rejected_and_reverted;
use crate::runfiles::trace_fault;
use crate::services::Services;
use crate::sheetfile::SheetTracker;

/// What a session knows about the files for people.
#[derive(Default)]
pub(super) struct Views {
    pub stale: StaleViews,
    /// Writes task files in the background. Created with the first such file.
    pub writer: Option<ViewWriter>,
    pub sheet: SheetTracker,
    /// The recorded rendering of the sheet that is not in its file yet.
    pub noted: Option<String>,
    /// When the sheet may be written again in the background, in milliseconds since the Unix epoch.
    pub sheet_again_ms: u64,
}

/// Views that have changed since they were written. Writing them at every fact would take longer than the facts.
#[derive(Default)]
pub(crate) struct StaleViews {
    sheet: bool,
    tasks: BTreeSet<Slug>,
    /// Tasks whose review has not ended.
    reviewed: BTreeSet<Slug>,
}

impl StaleViews {
    /// Notes what an event changes.
    pub fn note(&mut self, event: &Event) {
        let stale = event.stale();
        self.sheet |= stale.sheet;
        self.tasks.extend(stale.task.cloned());
    }

    /// Notes the tasks whose review has ended since the last call, perhaps because of a limit.
    pub fn note_reviews(&mut self, run: &Run) {
        let open: BTreeSet<Slug> = run.reviewed().map(|task| task.task.slug.clone()).collect();
        let over: Vec<Slug> = self.reviewed.difference(&open).cloned().collect();
        self.sheet |= !over.is_empty();
        self.tasks.extend(over);
        self.reviewed = open;
    }

    /// Notes that the sheet must be written.
    pub fn note_sheet(&mut self) {
        self.sheet = true;
    }

    /// Notes that every file must be written.
    pub fn note_all(&mut self, run: &Run) {
        self.sheet = true;
        self.tasks.extend(run.all_tasks().map(|task| task.task.slug.clone()));
    }

    /// The current content for the files of changed tasks.
    pub fn take_tasks(&mut self, run: &Run) -> Vec<TaskView> {
        std::mem::take(&mut self.tasks).iter().filter_map(|slug| run.task(slug)).map(TaskView::of).collect()
    }

    /// Returns whether the sheet must be written.
    pub fn take_sheet(&mut self, run: &Run) -> bool {
        // A task tree has no sheet.
        std::mem::take(&mut self.sheet) && run.has_list() && run.operators().tree().is_none()
    }
}

/// The files of one task, by the blobs that they show.
pub(crate) struct TaskView {
    slug: Slug,
    /// Documents of several runs.
    runs: Vec<(Slug, BlobId)>,
    document: Option<BlobId>,
    /// What a person skipped, for the end of the document.
    rejected: String,
    details: Vec<DetailBlob>,
    diffs: Vec<BlobId>,
}

impl TaskView {
    pub fn of(task: &TaskRun) -> Self {
        let several = task.runs.iter().filter(|_| task.runs.len() > 1);
        let document = |exec: &Execution| Some((exec.slug.clone(), exec.result()?.document.clone()?));
        let result = task.result();
        let applied = task.applied.iter().filter(|set| !set.reverted);
        Self {
            slug: task.task.slug.clone(),
            runs: several.filter_map(document).collect(),
            document: result.and_then(|result| result.document.clone()),
            rejected: rejected_and_reverted(task),
            details: result.map_or_else(|| task.kept_details(), |result| result.details.clone()),
            diffs: applied.filter_map(|set| set.changes.diff.clone()).collect(),
        }
    }

    pub fn write(&self, services: &Services) {
        let files = &services.files;
        let text = |blob| services.text(blob).unwrap_or_default();
        for (exec, document) in &self.runs {
            trace_fault(files.write_run(&self.slug, exec, &text(document)).map(drop));
        }
        if let Some(document) = &self.document {
            trace_fault(files.write_task(&self.slug, &format!("{}{}", text(document), self.rejected)).map(drop));
        }
        for detail in &self.details {
            if let Ok(content) = services.store.blob(&detail.blob) {
                trace_fault(files.write_detail(&self.slug, &detail.filename, &content).map(drop));
            }
        }
        if !self.diffs.is_empty() {
            trace_fault(files.write_diff(&self.slug, &self.diffs.iter().map(text).collect::<String>()).map(drop));
        }
    }
}

enum Order {
    Write(Vec<TaskView>),
    /// Signals that everything before it is on disk.
    Reached(SyncSender<()>),
}

/// Writes task files in the given order, on its own thread, which ends with it. The thread holds the store, and only
/// the last one to close the store leaves no log behind, so the owner waits for the thread.
pub(crate) struct ViewWriter {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl ViewWriter {
    /// `None` if the system provides no thread; the caller then writes itself.
    pub fn begin(services: &Arc<Services>) -> Option<Self> {
        let (orders, incoming) = channel();
        let services = Arc::clone(services);
        let begun = std::thread::Builder::new().name("views".to_owned()).spawn(move || {
            for order in incoming {
                match order {
                    Order::Write(views) => views.iter().for_each(|view| view.write(&services)),
                    // The waiting caller may have ended.
                    Order::Reached(waits) => drop(waits.send(())),
                }
            }
        });
        begun.ok().map(|thread| Self { orders: Some(orders), thread: Some(thread) })
    }

    /// Queues the files for writing. Returns them if the thread no longer runs.
    pub fn write(&self, views: Vec<TaskView>) -> Result<(), Vec<TaskView>> {
        let Some(orders) = &self.orders else { return Err(views) };
        orders.send(Order::Write(views)).map_err(|refused| match refused.0 {
            Order::Write(views) => views,
            Order::Reached(_) => Vec::new(),
        })
    }

    /// Waits until everything queued so far is written.
    pub fn wait(&self) {
        let (reached, waits) = sync_channel(1);
        if self.orders.as_ref().is_some_and(|orders| orders.send(Order::Reached(reached)).is_ok()) {
            let _ = waits.recv();
        }
    }
}

impl Drop for ViewWriter {
    fn drop(&mut self) {
        self.orders = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::debug!("the thread of the views ended abnormally");
        }
    }
}
