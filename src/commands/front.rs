//! Who watches a run that a command drives, who is asked, and what ends it from outside.

use std::sync::Arc;

use callsheet_core::run::Run;
use callsheet_core::spec::RunId;
use callsheet_runtime::ports::{Observer, Person, Signal};
use callsheet_tui::OnScreen;
use tokio_util::sync::CancellationToken;

use crate::cli::{Failure, OutputFormat, WorkArgs};
use crate::setup::Setup;
use crate::term::{self, FullScreen, JsonLines, NobodyThere, PlainLines, TerminalPerson};

use super::viewer::viewer;
use super::watch::screen_failure;

/// Somebody who watches and somebody who is asked, as the terminal allows.
pub(super) struct Front {
    pub(super) observer: Arc<dyn Observer>,
    pub(super) person: Arc<dyn Person>,
    screen: Option<Arc<FullScreen>>,
    plain: Option<Arc<PlainLines>>,
}

impl Front {
    pub fn new(setup: &Setup, work: &WorkArgs) -> Self {
        let colours = term::colours();
        if setup.json && work.output_format != Some(OutputFormat::Json) {
            return Self { observer: Arc::new(JsonLines), person: Arc::new(NobodyThere), screen: None, plain: None };
        }
        let silent = setup.json || work.print;
        if term::has_screen() && !work.plain && !silent {
            let screen = Arc::new(FullScreen::default());
            let observer = Arc::clone(&screen) as Arc<dyn Observer>;
            let person = Arc::new(OnScreen { gone: screen.0.gone() });
            return Self { observer, person, screen: Some(screen), plain: None };
        }
        let lines = Arc::new(PlainLines::default());
        let person: Arc<dyn Person> = if term::is_interactive() && !silent {
            Arc::new(TerminalPerson::new(colours, setup.grants()))
        } else {
            Arc::new(NobodyThere)
        };
        Self { observer: Arc::clone(&lines) as Arc<dyn Observer>, person, screen: None, plain: Some(lines) }
    }

    /// A resumed run: the view starts from what is recorded.
    pub fn begin_with(&self, run: &Run) {
        if let Some(screen) = &self.screen {
            screen.0.begin_with(run.clone());
        } else if let Some(plain) = &self.plain {
            plain.begin_with(run);
        }
    }

    /// Says something to whoever watches.
    pub fn notice(&self, words: &str) {
        self.observer.see(&Signal::Notice(words));
    }

    /// Takes the terminal, if there is a screen to draw.
    pub fn open(&self, setup: &Setup, id: &RunId) -> Result<(), Failure> {
        let Some(screen) = &self.screen else { return Ok(()) };
        screen.0.open(viewer(setup, id), term::colours()).map_err(screen_failure)
    }

    /// Gives the terminal back.
    pub fn close(&self) {
        if let Some(screen) = &self.screen {
            screen.0.close();
        }
    }

    /// Ctrl-C, or the end of the terminal, stops cleanly the first time and at once the second. `resume`: the command that goes on.
    pub fn listen_for_interrupt(&self, stop: CancellationToken, resume: String) {
        let screen = self.screen.clone();
        tokio::spawn(async move {
            // Where hangups are ignored, the run goes on without its terminal.
            let gone = screen.as_ref().map(|screen| screen.0.gone()).filter(|_| !ignores_hangup());
            let left = async {
                match &gone {
                    Some(gone) => gone.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                told = wait_for_signal() => if told.is_none() { return },
                () = left => {}
            }
            let words = format!("Stopping; a second interrupt stops at once. Next: {resume}");
            match &screen {
                Some(screen) if screen.0.is_open() => screen.see(&Signal::Notice(&words)),
                _ => tell!("\n{words}"),
            }
            stop.cancel();
            if wait_for_signal().await.is_some() {
                callsheet_tui::restore();
                // The log is on disk; a resume settles what was in flight.
                callsheet_tools::run_command::kill_all();
                std::process::exit(130);
            }
        });
    }
}

/// Whether this process was started with hangups ignored. Looked at once, before a handler of ours takes its place.
fn ignores_hangup() -> bool {
    static IGNORED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IGNORED.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        // Signal 1 is the lowest bit.
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
    })
}

/// Ctrl-C, a polite kill, or a terminal that goes away.
async fn wait_for_signal() -> Option<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).ok()?;
    // Under `nohup` a hangup is ignored, and stays so.
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
