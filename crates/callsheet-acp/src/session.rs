//! Sessions. A session has the name of its first run, and its later runs have that name and a number. So the recorded
//! runs are enough to load a session again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use agent_client_protocol::v1::schema::SessionUpdate;
use callsheet_app::{Cursor, new_key};
use callsheet_core::nouns::RunId;
use callsheet_core::view::civil;
use callsheet_runtime::ports::RunSummary;

use crate::limits::{COMMANDS, LISTED, SESSIONS};
use crate::project::{Driving, Project, Workplace};
use crate::teller::Teller;
use crate::words::{message, progress, refused};

/// The sessions of this process.
pub(crate) struct Sessions {
    workplace: Arc<dyn Workplace>,
    open: Mutex<BTreeMap<String, Arc<Session>>>,
}

/// A session of an editor.
pub(crate) struct Session {
    /// The name of the session and of its first run.
    pub name: String,
    pub project: Arc<dyn Project>,
    /// Notes for the person, which the next turn shows.
    pub notes: Mutex<Vec<String>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `Some` during a turn. Cancelling the turn sets the flag.
    turn: Option<Arc<AtomicBool>>,
    work: Work,
}

/// What a turn passes on to the next one.
#[derive(Default)]
pub(crate) struct Work {
    /// The newest run, and what the editor was shown of it.
    pub run: Option<(RunId, Teller)>,
    /// The process that drives the run, if this program started it.
    pub driving: Option<Box<dyn Driving>>,
}

/// A turn in progress. It ends when this value is dropped.
pub(crate) struct Begun {
    /// The session.
    pub session: Arc<Session>,
    /// Set when the person cancels the turn.
    pub cancelled: Arc<AtomicBool>,
    /// What the last turn passed on, and what this one will.
    pub work: Work,
}

impl Drop for Begun {
    fn drop(&mut self) {
        let mut state = self.session.state();
        state.turn = None;
        state.work = std::mem::take(&mut self.work);
    }
}

impl Sessions {
    pub fn new(workplace: Arc<dyn Workplace>) -> Self {
        Self { workplace, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn project(&self, folder: &Path) -> Result<Arc<dyn Project>, String> {
        if !folder.is_absolute() {
            return Err(format!("{} is not an absolute path", folder.display()));
        }
        self.workplace.open(folder)
    }

    /// Begins a session in a folder.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn begin(&self, folder: &Path) -> Result<Arc<Session>, String> {
        let project = self.project(folder)?;
        let key = new_key().map_err(|refusal| refused(&refusal))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let (year, month, day, seconds) = civil(u64::try_from(now).unwrap_or(u64::MAX));
        let clock = format!("{:02}{:02}{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let name = format!("{year:04}{month:02}{day:02}-{clock}-editor-{}", key.get(..8).unwrap_or_default());
        self.keep(name, project)
    }

    fn keep(&self, name: String, project: Arc<dyn Project>) -> Result<Arc<Session>, String> {
        let mut open = self.open();
        if open.len() >= SESSIONS {
            return Err(format!("{SESSIONS} sessions are open, which is the limit: restart the agent"));
        }
        let notes = Mutex::new(project.notes());
        let session = Arc::new(Session { name: name.clone(), project, notes, state: Mutex::default() });
        open.insert(name, Arc::clone(&session));
        Ok(session)
    }

    /// The folders whose sessions are known here: those of open sessions, and the one in which the program runs if it
    /// can be used.
    pub fn folders(&self) -> Vec<PathBuf> {
        let here = self.workplace.here().filter(|folder| self.project(folder).is_ok());
        let open = self.open();
        let folders = open.values().map(|session| session.project.folder().to_owned());
        folders.chain(here).collect::<BTreeSet<PathBuf>>().into_iter().collect()
    }

    /// An open session.
    pub fn find(&self, name: &str) -> Option<Arc<Session>> {
        self.open().get(name).cloned()
    }

    /// Opens a session of an earlier process. Returns its history, too.
    ///
    /// # Errors
    /// There is no such session in this folder.
    pub fn load(&self, name: &str, folder: &Path) -> Result<(Arc<Session>, Vec<SessionUpdate>), String> {
        let project = self.project(folder)?;
        let runs = project.runs();
        let listed = runs.list().map_err(|refusal| refused(&refusal))?;
        let of_session: Vec<&RunSummary> = listed.iter().rev().filter(|run| belongs(run.run.as_str(), name)).collect();
        if of_session.is_empty() {
            return Err(format!("there is no session {name} in {}", folder.display()));
        }
        let mut updates = Vec::new();
        let mut last = None;
        for run in of_session {
            let mut teller = Teller::default();
            let entries = runs.watch(&run.run, Cursor::default()).map_err(|refusal| refused(&refusal))?;
            updates.extend(teller.take(entries, &*project, true));
            updates.extend(teller.state(run.owner.is_some(), &*project));
            updates.extend(rest(run, &teller));
            last = Some((run.run.clone(), teller));
        }
        let session = match self.find(name) {
            Some(session) => session,
            None => self.keep(name.to_owned(), project)?,
        };
        let mut state = session.state();
        if state.turn.is_none() {
            state.work.run = last;
        }
        drop(state);
        Ok((session, updates))
    }

    /// The first run of each session in a folder, newest first.
    ///
    /// # Errors
    /// The folder cannot be used, or its runs cannot be read.
    pub fn list(&self, folder: &Path) -> Result<Vec<RunSummary>, String> {
        let runs = self.project(folder)?.runs().list().map_err(|refusal| refused(&refusal))?;
        let is_first = |run: &&RunSummary| {
            let name = run.run.as_str();
            !runs.iter().any(|other| other.run != run.run && belongs(name, other.run.as_str()))
        };
        Ok(runs.iter().filter(is_first).take(LISTED).cloned().collect())
    }
}

/// Whether a run belongs to a session.
fn belongs(run: &str, session: &str) -> bool {
    let Some(rest) = run.strip_prefix(session) else { return false };
    let number = rest.strip_prefix('-').unwrap_or_default();
    rest.is_empty() || !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

/// Says what a run that has not ended waits for. `None` if it has ended.
fn rest(run: &RunSummary, teller: &Teller) -> Option<SessionUpdate> {
    use callsheet_core::record::Outcome;
    let name = &run.run;
    let words = match (&run.owner, run.outcome) {
        (Some(owner), _) => format!("Run {name} is in progress ({owner}). Send a message to watch it here."),
        (None, None) => format!("Run {name} was interrupted. Send /resume to continue it."),
        (None, Some(Outcome::ApprovalRequired)) => {
            format!("Run {name} waits for your approval. Send /resume to be asked here.")
        }
        (None, Some(Outcome::InputRequired)) => match teller.view.questions().first() {
            Some(question) => asks(&question.task, &question.text),
            None => format!("Run {name} waits for you: callsheet show {name}"),
        },
        _ => return None,
    };
    Some(message(&words))
}

/// The words for a task's question, which the next prompt answers.
pub(crate) fn asks(task: &str, question: &str) -> String {
    format!("**{task} asks:** {question}\n\nYour next message is the answer.")
}

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a turn. `None` if another one is in progress.
    pub fn begin_turn(self: &Arc<Self>) -> Option<Begun> {
        let mut state = self.state();
        if state.turn.is_some() {
            return None;
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        state.turn = Some(Arc::clone(&cancelled));
        let work = std::mem::take(&mut state.work);
        drop(state);
        Some(Begun { session: Arc::clone(self), cancelled, work })
    }

    /// Cancels the turn in progress, if any.
    pub fn cancel(&self) {
        if let Some(turn) = &self.state().turn {
            turn.store(true, Ordering::SeqCst);
        }
    }

    /// Notes that the editor's MCP servers are not used. The person's configuration decides which tools a model gets.
    pub fn note_servers(&self, count: usize) {
        if count > 0 {
            let words = "the editor's MCP servers are not used; Callsheet uses those of its own configuration";
            self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(words.to_owned());
        }
    }

    /// The templates that prompts can name, or none and the message that says why.
    pub fn templates(&self) -> (Vec<(String, String)>, Option<SessionUpdate>) {
        match self.project.templates() {
            Ok(mut templates) => {
                templates.truncate(COMMANDS);
                (templates, None)
            }
            Err(words) => (Vec::new(), Some(progress(&format!("templates can't be read: {words}")))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::belongs;

    #[test]
    fn further_runs_of_a_session_have_a_number() {
        assert!(belongs("a-editor-1f", "a-editor-1f") && belongs("a-editor-1f-2", "a-editor-1f"));
        assert!(!belongs("a-editor-1f-x", "a-editor-1f") && !belongs("a-editor-1f2", "a-editor-1f"));
        assert!(!belongs("a-editor-1f-", "a-editor-1f") && !belongs("a-editor", "a-editor-1f"));
    }
}
