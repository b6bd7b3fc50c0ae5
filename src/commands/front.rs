//! Where a driver reports its run, and the signals that stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use callsheet_app::RunView;
use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::{Attendance, Observer, Signal, Unattended};
use callsheet_store::is_looked_at;
use tokio_util::sync::CancellationToken;

use crate::cli::{OutputFormat, WorkArgs};
use crate::notify::notify;
use crate::relay::{self, Relayed, ToViewer};
use crate::setup::Setup;
use crate::term::{JsonLines, PlainLines};

/// How often to check whether somebody is watching.
const LOOK: Duration = Duration::from_millis(500);

/// The receiver of a run's reports: a viewer in another process, a reader of JSON, or a log.
pub(super) struct Front {
    pub(super) observer: Arc<dyn Observer>,
    plain: Option<Arc<PlainLines>>,
    /// The number of entries that were recorded before.
    facts: AtomicU64,
}

impl Front {
    pub fn new(setup: &Setup, work: &WorkArgs) -> Self {
        let facts = AtomicU64::new(0);
        if setup.json && work.output_format != Some(OutputFormat::Json) {
            return Self { observer: Arc::new(JsonLines), plain: None, facts };
        }
        if relay::is_on() {
            return Self { observer: Arc::new(ToViewer), plain: None, facts };
        }
        let lines = Arc::new(PlainLines::default());
        Self { observer: Arc::clone(&lines) as Arc<dyn Observer>, plain: Some(lines), facts }
    }

    /// Says whether somebody is there to answer.
    pub fn attendance(&self, setup: &Setup, run: &RunId) -> Arc<dyn Attendance> {
        match relay::viewer_left() {
            Some(left) => Arc::new(Watched { left, setup: setup.clone(), run: run.clone() }),
            None => Arc::new(Unattended),
        }
    }

    /// Starts the view of a resumed run from its record.
    pub fn begin_with(&self, run: &RunView) {
        self.facts.store(run.cursor().0, Ordering::Relaxed);
        if let Some(plain) = &self.plain {
            plain.begin_with(run);
        }
    }

    /// Reports that the run is about to be driven.
    pub fn begins(&self, id: &RunId) {
        if relay::is_on() {
            relay::tell(&Relayed::Run { run: id.clone(), facts: self.facts.load(Ordering::Relaxed) });
        }
    }

    /// Reports a notice.
    pub fn notice(&self, words: &str) {
        self.observer.see(&Signal::Notice(words));
    }

    /// Stops the run when Ctrl-C is pressed or the terminal goes away, cleanly the first time and at once the second.
    /// `resume` is the command that continues the run.
    pub fn listen_for_interrupt(&self, stop: CancellationToken, resume: String) {
        let observer = Arc::clone(&self.observer);
        tokio::spawn(async move {
            if wait_for_signal().await.is_none() {
                return;
            }
            observer.see(&Signal::Notice(&format!("Stopping; a second interrupt stops at once. Next: {resume}")));
            stop.cancel();
            if wait_for_signal().await.is_some() {
                // The log is on disk. A resume settles what was in flight.
                callsheet_tools::run_command::kill_all();
                std::process::exit(130);
            }
        });
    }
}

/// Whether a viewer is at the other end of the connection, or somebody else is looking at the run.
struct Watched {
    left: CancellationToken,
    setup: Setup,
    run: RunId,
}

#[async_trait]
impl Attendance for Watched {
    async fn ended(&self) {
        notify(&self.setup, &self.run, "waits for you");
        self.left.cancelled().await;
        while is_looked_at(&self.setup.store_folder(), &self.run) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Whether this process was started with hangups ignored. Checked once, before it installs its own handler.
pub(super) fn ignores_hangup() -> bool {
    static IGNORED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IGNORED.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        // Signal 1 is the lowest bit.
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
    })
}

/// Waits for Ctrl-C, a termination signal, or the end of the terminal.
pub(super) async fn wait_for_signal() -> Option<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).ok()?;
    // With `nohup`, a hangup is ignored and must stay so.
    let mut hangup = if ignores_hangup() { None } else { signal(SignalKind::hangup()).ok() };
    let hung_up = async {
        match &mut hangup {
            Some(hangup) => hangup.recv().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.ok(),
        told = terminate.recv() => told,
        gone = hung_up => gone,
    }
}
