//! A call that waits for a run. The program is told how the run proceeds, if it asked for that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callsheet_app::{RunControl, RunLines, RunView, Started, one_line};
use callsheet_core::nouns::RunId;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

use super::words;
use crate::limits::TOLD_PART;

/// How often the record of a run is read.
const LOOK: Duration = Duration::from_millis(200);

/// How often to check whether a process still drives the run.
const OWNER: Duration = Duration::from_secs(1);

/// What a call waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// No process drives the run.
    Ended,
    /// The same, or something waits for a person.
    Rests,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// What was waited for happened.
    Over,
    /// The program withdrew its call.
    Withdrawn,
}

/// A program that waits for the result of a call.
pub(super) struct Waiter {
    peer: Peer<RoleServer>,
    /// Names the call in reports. `None` if the program wants none.
    token: Option<ProgressToken>,
    withdrawn: CancellationToken,
}

impl Waiter {
    pub fn of(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { peer: context.peer.clone(), token, withdrawn: context.ct.clone() }
    }

    /// Follows a run, and reports each new line of it.
    pub async fn follow(&self, runs: Arc<dyn RunControl>, run: RunId, until: Until) -> Result<Waited, String> {
        let mut watched = Watched::new(runs, run, until);
        loop {
            let looked = tokio::task::spawn_blocking(move || watched.look().map(|seen| (watched, seen)));
            let seen;
            (watched, seen) = looked.await.map_err(|error| error.to_string())??;
            self.report(&seen).await;
            if seen.is_over {
                return Ok(Waited::Over);
            }
            tokio::select! {
                () = self.withdrawn.cancelled() => return Ok(Waited::Withdrawn),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn report(&self, seen: &Seen) {
        let (Some(token), Some(line)) = (&self.token, &seen.line) else { return };
        let mut told = ProgressNotificationParam::new(token.clone(), seen.entries);
        told.message = Some(line.clone());
        // A program that has left needs no report.
        let _left = self.peer.notify_progress(told).await;
    }
}

/// What one look at a run showed.
struct Seen {
    /// How much is recorded. It only grows, as the protocol demands of progress.
    entries: f64,
    /// The newest line, if there is a new one.
    line: Option<String>,
    is_over: bool,
}

/// A run that is followed.
struct Watched {
    runs: Arc<dyn RunControl>,
    run: RunId,
    until: Until,
    view: RunView,
    lines: RunLines,
    /// When it was last seen that a process drives the run.
    driven: Option<Instant>,
}

impl Watched {
    fn new(runs: Arc<dyn RunControl>, run: RunId, until: Until) -> Self {
        Self { runs, run, until, view: RunView::default(), lines: RunLines::default(), driven: None }
    }

    fn look(&mut self) -> Result<Seen, String> {
        // What is checked before the record is read is recorded by then.
        let is_driven = self.is_driven()?;
        let may_rest = self.until == Until::Rests && !self.runs.has_messages(&self.run).map_err(words)?;
        let mut lines = Vec::new();
        for entry in self.runs.watch(&self.run, self.view.cursor()).map_err(words)? {
            self.view.take(&entry).map_err(|error| error.to_string())?;
            lines.extend(self.lines.of(&entry, &self.view));
        }
        let asks = !self.view.open_gates().is_empty() || !self.view.questions().is_empty();
        let entries = u32::try_from(self.view.cursor().0).map_or(f64::MAX, f64::from);
        let line = lines.last().map(|line| one_line(line, TOLD_PART));
        Ok(Seen { entries, line, is_over: !is_driven || may_rest && asks })
    }

    fn is_driven(&mut self) -> Result<bool, String> {
        let has_ended = self.view.about().outcome.is_some();
        if !has_ended && self.driven.is_some_and(|seen| seen.elapsed() < OWNER) {
            return Ok(true);
        }
        self.driven = Some(Instant::now());
        let runs = self.runs.list().map_err(words)?;
        let has_owner = runs.iter().any(|known| known.run == self.run && known.owner.is_some());
        Ok(has_owner || self.runs.started(&self.run) == Some(Started::Working))
    }
}
