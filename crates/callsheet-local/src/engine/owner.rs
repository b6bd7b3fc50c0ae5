//! The thread that owns a model's context.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Instant;

use callsheet_runtime::ports::{ModelFault, ModelReply, ModelRequest};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::constraint::Constraints;
use super::generate;
use super::load::{LoadFault, Loaded, backend};
use super::session::Session;

/// Contexts of one model must not be created at the same time (llama.cpp writes to the model while it does).
static CREATING: Mutex<()> = Mutex::new(());

/// What a caller learns about its request.
pub(super) enum News {
    Text(String),
    Done(Box<Result<ModelReply, ModelFault>>),
}

/// One request in the queue.
pub(super) struct Job {
    pub request: ModelRequest,
    pub deadline: Option<Instant>,
    pub stop: CancellationToken,
    pub news: UnboundedSender<News>,
}

impl Job {
    /// Whether to stop now, and why.
    pub fn check(&self) -> Result<(), ModelFault> {
        if self.stop.is_cancelled() {
            return Err(ModelFault::Cancelled);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(ModelFault::Deadline);
        }
        Ok(())
    }
}

/// The sending end of the queue; the thread ends when it is dropped.
pub(super) struct Owner {
    jobs: mpsc::Sender<Job>,
}

/// The fault for a dead owner thread, which only a defect in the engine can cause.
pub(super) fn gone() -> ModelFault {
    ModelFault::Configuration {
        message: "the embedded model has stopped; run the command again, and report this if it happens again".into(),
    }
}

impl Owner {
    /// Starts the thread and waits until its context exists.
    pub fn start(loaded: Loaded) -> Result<Self, LoadFault> {
        let (jobs, queue) = mpsc::channel();
        let (ready, started) = mpsc::channel();
        let thread = thread::Builder::new().name("embedded-model".into());
        thread
            .spawn(move || run(&loaded, &queue, &ready))
            .map_err(|fault| LoadFault::Engine(format!("no thread: {fault}")))?;
        started.recv().map_err(|_| LoadFault::Engine("its thread ended".into()))??;
        Ok(Self { jobs })
    }

    pub fn send(&self, job: Job) -> Result<(), ModelFault> {
        self.jobs.send(job).map_err(|_| gone())
    }
}

fn run(loaded: &Loaded, queue: &mpsc::Receiver<Job>, ready: &mpsc::Sender<Result<(), LoadFault>>) {
    let context = {
        let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
        backend().and_then(|backend| {
            let context = loaded.model.new_context(backend, loaded.context());
            context.map_err(|fault| LoadFault::Engine(fault.to_string()))
        })
    };
    let parts = context.and_then(|context| Ok((context, Constraints::new(&loaded.model)?)));
    let (context, constraints) = match parts {
        Ok(parts) => parts,
        Err(fault) => {
            // Sending fails only if the loader itself has gone.
            let _ = ready.send(Err(fault));
            return;
        }
    };
    let mut session = Session::new(context, loaded);
    if ready.send(Ok(())).is_err() {
        return;
    }
    for job in queue {
        let answer = || job.check().and_then(|()| generate::answer(&mut session, &constraints, &job));
        let result = catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
            let message = "the embedded engine failed on this request".into();
            Err(ModelFault::Communication { message })
        });
        // After a fault of the engine, the content of the cache is unknown. After a cancel, the counted tokens are
        // right.
        if matches!(result, Err(ModelFault::Communication { .. })) {
            session.forget();
        }
        // A caller that has gone needs no answer.
        let _ = job.news.send(News::Done(Box::new(result)));
    }
}
