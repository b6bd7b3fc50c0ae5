//! Plans and runs.

use std::path::PathBuf;
use std::sync::Arc;

use callsheet_app::{LocalRuns, RunControl, RunView, new_run, recorded, run_name};
use callsheet_core::nouns::{Policy, RunId, Settings};
use callsheet_core::record::Outcome;
use callsheet_runtime::driver::{EntrySpec, ResumeKind, Session, begin_in, drive, plan_only, reopen};
use callsheet_runtime::ports::{Attendance, Clock, Model, Observer, SystemClock, Unattended};
use callsheet_runtime::services::Services;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::approver::{Asking, Attended, ByFace, Told};
use crate::builder::Builder;
use crate::error::Error;
use crate::host::Embedder;
use crate::parts::Parts;

/// A project, a model, and the runs in it. A clone shares everything with the original.
///
/// All asynchronous methods need a Tokio runtime with its timer on. Runs are tasks of that runtime.
#[derive(Clone)]
pub struct Callsheet {
    parts: Arc<Parts>,
    runs: Arc<LocalRuns>,
}

/// A plan, as the text of a sheet. A person or a program may edit the text; [`Callsheet::run_sheet`] runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The run that planned. [`Callsheet::resume`] carries the plan out as it is.
    pub run: RunId,
    /// The plan as Markdown.
    pub sheet: String,
}

/// A run that has ended, or that waits for somebody.
pub struct Finished {
    /// Its name.
    pub run: RunId,
    /// How it ended, or why it waits.
    pub outcome: Outcome,
    /// Its answer. Empty if it has none.
    pub answer: String,
    /// Everything else that a face shows: tasks, calls, costs, problems.
    pub view: RunView,
}

/// A run that works.
pub struct Running {
    run: RunId,
    stop: CancellationToken,
    asking: Option<JoinHandle<()>>,
    driven: JoinHandle<Result<Finished, Error>>,
}

impl Callsheet {
    /// Begins to set up Callsheet for a project folder and a model.
    pub fn builder(project: impl Into<PathBuf>, model: Arc<dyn Model>) -> Builder {
        Builder::new(project.into(), model)
    }

    pub(crate) fn new(parts: Parts) -> Self {
        let parts = Arc::new(parts);
        let runs = Arc::new(LocalRuns::new(Arc::new(Embedder(Arc::clone(&parts)))));
        Self { parts, runs }
    }

    /// The runs, for a face: list them, follow their events, approve, answer, retry, stop. All faces of Callsheet use
    /// this interface.
    pub fn runs(&self) -> Arc<dyn RunControl> {
        Arc::<LocalRuns>::clone(&self.runs)
    }

    /// Plans a request and does nothing else.
    ///
    /// # Errors
    /// [`Error::NotPlanned`] if the model gave no plan.
    pub async fn plan(&self, request: &str) -> Result<Plan, Error> {
        let (run, session) = self.new_run(request)?;
        // Whoever asks for a plan gets one, however small the request is.
        let settings = Settings { plan_only: true, plan: Policy::Always, ..self.parts.settings.clone() };
        let services = Arc::new(self.parts.services(&run, &settings, Arc::clone(&self.parts.observer))?);
        let session = begin_in(&services, session, EntrySpec::Prompt(request.to_owned()), settings)?;
        match plan_only(services, session, CancellationToken::new()).await? {
            Ok(sheet) => Ok(Plan { run, sheet }),
            Err((outcome, message)) => {
                let message = message.unwrap_or_else(|| "planning ended early".to_owned());
                Err(Error::NotPlanned { run, outcome, message })
            }
        }
    }

    /// Plans a request, unless it is a single task, and carries it out.
    ///
    /// # Errors
    /// See [`Error`]. How a run ended is no error.
    pub async fn run(&self, request: &str) -> Result<Finished, Error> {
        self.start(request)?.finished().await
    }

    /// Carries out a plan.
    ///
    /// # Errors
    /// [`Error::Input`] with the places in the text if the plan has errors. Nothing was started then.
    pub async fn run_sheet(&self, sheet: &str) -> Result<Finished, Error> {
        self.start_sheet(sheet)?.finished().await
    }

    /// Continues a run that waits, was stopped or was killed. It never asks a model again for a reply that it has
    /// recorded.
    ///
    /// # Errors
    /// There is no such run, or another process works on it.
    pub async fn resume(&self, run: &RunId) -> Result<Finished, Error> {
        self.start_again(run)?.finished().await
    }

    /// Like [`Callsheet::run`], but returns at once.
    ///
    /// # Errors
    /// The request is empty, or the record cannot be written.
    pub fn start(&self, request: &str) -> Result<Running, Error> {
        self.begin(request, EntrySpec::Prompt(request.to_owned()))
    }

    /// Like [`Callsheet::run_sheet`], but returns at once.
    ///
    /// # Errors
    /// As [`Callsheet::run_sheet`].
    pub fn start_sheet(&self, sheet: &str) -> Result<Running, Error> {
        self.begin("sheet", EntrySpec::Sheet { text: sheet.to_owned(), prompt: None })
    }

    /// Like [`Callsheet::resume`], but returns at once.
    ///
    /// # Errors
    /// As [`Callsheet::resume`].
    pub fn start_again(&self, run: &RunId) -> Result<Running, Error> {
        let found = callsheet_app::find_run(&self.parts.store, Some(run.as_str()), |_| true, "")?;
        let view = recorded(&self.parts.store, &found)?.run;
        let mut settings = view.about().settings.clone();
        settings.plan_only &= !view.about().has_list;
        settings.model = self.parts.settings.model.clone();
        let told = self.told();
        let services = self.services(run, &settings, told.as_ref())?;
        let change = |recorded: Settings| Settings { limits: recorded.limits, ..settings };
        let session = reopen(&services, run, view.into_run(), ResumeKind::Resume, change)?;
        Ok(self.driven(run.clone(), services, session, told.as_ref()))
    }

    fn begin(&self, words: &str, entry: EntrySpec) -> Result<Running, Error> {
        let (run, session) = self.new_run(words)?;
        let told = self.told();
        let settings = self.parts.settings.clone();
        let services = self.services(&run, &settings, told.as_ref())?;
        let session = begin_in(&services, session, entry, settings)?;
        Ok(self.driven(run, services, session, told.as_ref()))
    }

    fn new_run(&self, words: &str) -> Result<(RunId, Session), Error> {
        Ok(new_run(&self.parts.store, &run_name(words, SystemClock.now_ms()))?)
    }

    /// Who tells the approver what happens. `None` without an approver.
    fn told(&self) -> Option<Told> {
        let observer = Arc::clone(&self.parts.observer);
        self.parts.approver.as_ref().map(|_| Told::new(observer))
    }

    fn services(&self, run: &RunId, settings: &Settings, told: Option<&Told>) -> Result<Arc<Services>, Error> {
        let (observer, attendance): (Arc<dyn Observer>, Arc<dyn Attendance>) = match told {
            Some(told) => (Arc::new(told.clone()), Arc::new(Attended(told.sender()))),
            None if self.parts.is_attended => (Arc::clone(&self.parts.observer), Arc::new(ByFace)),
            None => (Arc::clone(&self.parts.observer), Arc::new(Unattended)),
        };
        let services = self.parts.services(run, settings, observer)?;
        Ok(Arc::new(Services { attendance, ..services }))
    }

    /// Drives a run in a task of its own, and asks the approver in another.
    fn driven(&self, run: RunId, services: Arc<Services>, session: Session, told: Option<&Told>) -> Running {
        let stop = CancellationToken::new();
        let asking = self.parts.approver.as_ref().zip(told).map(|(approver, told)| Asking {
            runs: Arc::clone(&self.runs),
            run: run.clone(),
            approver: Arc::clone(approver),
            observer: Arc::clone(&self.parts.observer),
            seen: told.sender(),
        });
        let asking = asking.map(|asking| tokio::spawn(asking.go_on()));
        let (runs, id, stopped) = (Arc::clone(&self.runs), run.clone(), stop.clone());
        let driven = tokio::spawn(async move {
            let (outcome, driven) = drive(services, session, stopped).await?;
            let view = RunView::from(driven);
            let answer = runs.answer(&view);
            Ok(Finished { run: id, outcome, answer, view })
        });
        Running { run, stop, asking, driven }
    }
}

impl Running {
    /// Its name.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Asks it to stop cleanly: calls in flight are cancelled, and [`Callsheet::resume`] continues the run.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Whether it has ended or waits for somebody.
    pub fn is_finished(&self) -> bool {
        self.driven.is_finished()
    }

    /// Waits until it ends or waits for somebody.
    ///
    /// # Errors
    /// The record cannot be written, or Callsheet has a defect.
    pub async fn finished(mut self) -> Result<Finished, Error> {
        let finished = (&mut self.driven).await;
        finished.unwrap_or_else(|error| Err(Error::Failed(format!("the run crashed: {error}"))))
    }
}

/// A run whose handle is dropped stops cleanly.
impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(asking) = &self.asking {
            asking.abort();
        }
    }
}
