//! A turn: it begins with a prompt, and lasts until the run has ended or needs another message.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use agent_client_protocol::v1::schema::{
    ContentBlock, CreateElicitationResponse, RequestPermissionResponse, StopReason,
};
use callsheet_app::{Cursor, Order, Question, RunCommand, RunControl, Stage, settled};
use callsheet_core::nouns::BlobId;
use callsheet_core::record::{AnsweredBy, FileChange, Gate};

use crate::commands::{Asked, read};
use crate::editor::{Answered, Asking, Editor};
use crate::form::{answer, hunks, kept, question};
use crate::gate::{Choice, Shows, Sources, chosen, shows};
use crate::limits::{ATTACHED, FILE_ANSWERS, LOOK, OWNER, RESULT, STOP, STREAM};
use crate::project::{Project, Said, Work};
use crate::request::{Texts, compose};
use crate::session::{Begun, asks};
use crate::teller::Teller;
use crate::words::{cut, message, progress, refused};

/// A turn of a session.
struct Turn<'a> {
    begun: &'a mut Begun,
    editor: &'a Editor,
    project: Arc<dyn Project>,
    runs: Arc<dyn RunControl>,
    /// Gates that were answered, or that the person left open. They are not asked about again in this turn.
    settled: Vec<Gate>,
    /// Questions that were answered, or that the person left open.
    replied: Vec<Question>,
    /// What the person is asked now.
    asking: Option<Shown>,
    /// How much of the run had been recorded when the process was started.
    begun_at: Cursor,
    /// When the run was last asked to stop, and whether that was the second time.
    stopped: Option<(Instant, bool)>,
    /// The process that drove the run at the last check, if one did.
    owner: Option<String>,
    owner_seen: Instant,
    /// When new text of a reply was last looked for.
    streamed: Instant,
}

/// What the person is asked.
enum Shown {
    /// To decide about a gate.
    Gate(Box<Shows>, Asking<RequestPermissionResponse>),
    /// Which hunks of a gate's change to keep.
    Hunks(Box<Shows>, Asking<CreateElicitationResponse>),
    /// To answer the question of a task.
    Question(Question, Asking<CreateElicitationResponse>),
}

impl Shown {
    fn withdraw(self) {
        match self {
            Self::Gate(_, asking) => asking.withdraw(),
            Self::Hunks(_, asking) | Self::Question(_, asking) => asking.withdraw(),
        }
    }
}

/// What a prompt leads to.
enum Step {
    /// Start this work in a process.
    Start(Work),
    /// Answer a question.
    Reply(Question, String),
    /// Watch the run, which is in progress or waits. Resume it if no process drives it.
    Watch,
}

/// Carries out a prompt, and ends the turn.
///
/// # Errors
/// The prompt cannot be carried out, or the run cannot be read. The error says why.
pub(crate) fn prompt(mut begun: Begun, editor: &Editor, parts: &[ContentBlock]) -> Result<StopReason, String> {
    let project = Arc::clone(&begun.session.project);
    let mut turn = Turn {
        editor,
        runs: project.runs(),
        project,
        settled: Vec::new(),
        replied: Vec::new(),
        asking: None,
        begun_at: Cursor::default(),
        stopped: None,
        owner: None,
        owner_seen: Instant::now(),
        streamed: Instant::now(),
        begun: &mut begun,
    };
    let carried_out = turn.carry_out(parts);
    if let Some(shown) = turn.asking.take() {
        shown.withdraw();
    }
    carried_out.map(|()| match begun.cancelled.load(Ordering::SeqCst) {
        true => StopReason::Cancelled,
        false => StopReason::EndTurn,
    })
}

impl Turn<'_> {
    fn carry_out(&mut self, parts: &[ContentBlock]) -> Result<(), String> {
        let until = Instant::now() + FILE_ANSWERS;
        let texts = Files { folder: self.project.folder(), editor: self.editor, until };
        let request = compose(parts, &texts)?;
        let (templates, fault) = self.begun.session.templates();
        self.editor.tell(fault);
        let asked = read(&request.text, &templates)?;
        self.editor.tell(request.left_out.iter().map(|words| message(words)));
        let notes =
            std::mem::take(&mut *self.begun.session.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        self.editor.tell(notes.iter().map(|words| progress(words)));
        self.catch_up()?;
        match self.step(asked)? {
            Step::Start(work) => {
                let is_new = matches!(work, Work::Request { .. } | Work::Template { .. });
                let former = if is_new { self.begun.work.run.take() } else { None };
                let ended = self.start(&work).and_then(|()| self.go_on());
                if self.begun.work.run.is_none() {
                    // The new run did not begin, so the earlier one remains the run of the session.
                    self.begun.work.run = former;
                }
                return ended;
            }
            Step::Reply(question, text) => {
                let to = question.asking.clone();
                self.replied.push(question);
                self.order(RunCommand::Reply { to, text }, None)?;
                self.resume_if_rests()?;
            }
            Step::Watch => self.resume_if_rests()?,
        }
        self.go_on()
    }

    /// Catches up on what happened to the run since the last turn.
    fn catch_up(&mut self) -> Result<(), String> {
        if self.process_said()?.is_some() {
            self.begun.work.driving = None;
        }
        self.find_owner()?;
        self.look()
    }

    /// Decides what a prompt leads to, based on the state of the newest run.
    fn step(&self, asked: Asked) -> Result<Step, String> {
        let name = || self.begun.session.name.clone();
        let Some((run, teller)) = &self.begun.work.run else {
            return match asked {
                Asked::Resume => Err("there is no run yet: write what to do".to_owned()),
                Asked::Template { name: template, values, text } => {
                    Ok(Step::Start(Work::Template { name: name(), template, values, text }))
                }
                Asked::Text(text) => Ok(Step::Start(Work::Request { name: name(), text })),
            };
        };
        let view = &teller.view;
        let is_at_work = self.begun.work.driving.is_some() || self.owner.is_some();
        let has_ended = !is_at_work && matches!(view.about().stage, Stage::Concluded(_) | Stage::Continue);
        let not_used = || {
            let words = format!("Run {run} has not ended, so your message was not used. Send it again afterwards.");
            self.editor.tell([message(&words)]);
        };
        match asked {
            Asked::Resume if has_ended && view.about().outcome.is_some_and(|outcome| outcome.is_finished()) => {
                Err(format!("run {run} has ended: write what to do next"))
            }
            Asked::Resume => Ok(Step::Watch),
            Asked::Template { name: template, values, text } if has_ended => {
                Ok(Step::Start(Work::Template { name: name(), template, values, text }))
            }
            Asked::Template { .. } => Err(format!("run {run} has not ended: send /resume, or stop it first")),
            Asked::Text(text) if has_ended => Ok(Step::Start(Work::FollowUp { run: run.clone(), name: name(), text })),
            Asked::Text(text) => match view.questions().into_iter().next() {
                Some(question) => Ok(Step::Reply(question, text)),
                None => {
                    not_used();
                    Ok(Step::Watch)
                }
            },
        }
    }

    fn resume_if_rests(&mut self) -> Result<(), String> {
        let Some((run, _)) = &self.begun.work.run else { return Ok(()) };
        if self.begun.work.driving.is_none() && self.owner.is_none() {
            let work = Work::Resume(run.clone());
            self.start(&work)?;
        }
        Ok(())
    }

    fn start(&mut self, work: &Work) -> Result<(), String> {
        self.begun_at = self.begun.work.run.as_ref().map(|(_, teller)| teller.view.cursor()).unwrap_or_default();
        self.begun.work.driving = Some(self.project.drive(work)?);
        Ok(())
    }

    /// Watches the run until the turn ends.
    fn go_on(&mut self) -> Result<(), String> {
        loop {
            if self.editor.is_gone() {
                return Ok(());
            }
            let ended = self.process_said()?;
            self.look()?;
            if let Some(failure) = ended {
                self.begun.work.driving = None;
                return self.end(failure);
            }
            if self.begun.work.run.is_some() && self.owner_seen.elapsed() >= OWNER {
                self.find_owner()?;
                if self.begun.work.driving.is_none() && self.owner.is_none() {
                    self.look()?;
                    return self.end(None);
                }
            }
            self.stream();
            if self.begun.cancelled.load(Ordering::SeqCst) {
                self.stop();
            } else {
                self.ask()?;
                if self.needs_words()? {
                    return Ok(());
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Handles the messages of the process. `Some` if it has ended, with the reason if it failed.
    fn process_said(&mut self) -> Result<Option<Option<String>>, String> {
        let Some(driving) = &mut self.begun.work.driving else { return Ok(None) };
        let mut ended = None;
        for said in driving.said() {
            match said {
                Said::Run(run) => {
                    if self.begun.work.run.as_ref().is_none_or(|(known, _)| *known != run) {
                        self.begun.work.run = Some((run, Teller::default()));
                    }
                }
                Said::Line(words) => self.editor.tell([progress(&words)]),
                Said::Ended(failure) => ended = Some(failure),
            }
        }
        match (&ended, &self.begun.work.run) {
            (Some(failure), None) if !self.begun.cancelled.load(Ordering::SeqCst) => {
                self.begun.work.driving = None;
                Err(failure.clone().unwrap_or_else(|| "the run did not start".to_owned()))
            }
            _ => Ok(ended),
        }
    }

    /// Reads new entries of the record, and sends them to the editor.
    fn look(&mut self) -> Result<(), String> {
        let Some((run, teller)) = &mut self.begun.work.run else { return Ok(()) };
        let entries = self.runs.watch(run, teller.view.cursor()).map_err(|refusal| refused(&refusal))?;
        if entries.is_empty() {
            return Ok(());
        }
        let project = &*self.project;
        let is_driven = self.begun.work.driving.is_some() || self.owner.is_some();
        self.editor.tell(teller.take(entries, project, false));
        self.editor.tell(teller.state(is_driven, project));
        self.editor.tell(teller.withdrawn());
        let applied = std::mem::take(&mut teller.applied);
        self.write_open(applied);
        Ok(())
    }

    /// Finds the process that drives the run.
    fn find_owner(&mut self) -> Result<(), String> {
        self.owner_seen = Instant::now();
        self.owner = None;
        let Some((run, _)) = &self.begun.work.run else { return Ok(()) };
        let runs = self.runs.list().map_err(|refusal| refused(&refusal))?;
        self.owner = runs.into_iter().find(|known| known.run == *run).and_then(|known| known.owner);
        Ok(())
    }

    /// Sends new text of a reply in progress.
    fn stream(&mut self) {
        let now = Instant::now();
        if now.saturating_duration_since(self.streamed) < STREAM {
            return;
        }
        self.streamed = now;
        let (Some(owner), Some((run, teller))) = (&self.owner, &mut self.begun.work.run) else { return };
        self.editor.tell(teller.stream.look(self.runs.writing(run, owner), now));
    }

    /// Brings open files in the editor up to date with changes that are on disk. Text that is not saved stays.
    fn write_open(&mut self, applied: Vec<FileChange>) {
        if !self.editor.changes_files() {
            return;
        }
        let until = Instant::now() + FILE_ANSWERS;
        for file in applied {
            let text = |blob: Option<&BlobId>| String::from_utf8(self.runs.blob(blob?).ok()?).ok();
            let (before, Some(after)) = (text(file.before.as_ref()), text(file.after.as_ref())) else { continue };
            let path = self.project.folder().join(&file.path);
            let left = || until.saturating_duration_since(Instant::now());
            // The disk has the new text, so an editor that sends another text has the file open.
            let Some(shown) = self.editor.text_of(&path, left()).filter(|shown| *shown != after) else { continue };
            if Some(shown) != before {
                let kept = "has changes in the editor that are not saved. The approved change is on disk, and the editor \
                            keeps its text.";
                self.editor.tell([message(&format!("{} {kept}", file.path))]);
            } else if !self.editor.write(&path, &after, left()) {
                let words = format!("{}: the editor did not take the change, which is on disk", file.path);
                self.editor.tell([progress(&words)]);
            }
        }
    }

    /// Ends the turn, because no process drives the run any more.
    fn end(&mut self, failure: Option<String>) -> Result<(), String> {
        if let Some((_, teller)) = &mut self.begun.work.run {
            let project = &*self.project;
            self.editor.tell(teller.state(false, project));
            let failure = failure.map(|words| cut(&words, RESULT));
            if teller.view.cursor() == self.begun_at
                && let Some(words) = failure
            {
                return Err(words);
            }
            // Otherwise the record says how the run ended.
            let unknown = teller.view.about().outcome.is_none();
            self.editor.tell(failure.filter(|_| unknown).map(|words| message(&words)));
            self.editor.tell(teller.end(project));
            self.tell_question();
        }
        Ok(())
    }

    fn tell_question(&self) {
        let Some((_, teller)) = &self.begun.work.run else { return };
        let questions = teller.view.questions();
        self.editor.tell(questions.first().map(|question| message(&asks(&question.task, &question.text))));
    }

    /// Stops the run, which can be resumed. If its process does not stop in time, kills it.
    fn stop(&mut self) {
        let again = match self.stopped {
            None => false,
            Some((since, false)) if since.elapsed() >= STOP => true,
            Some(_) => return,
        };
        self.stopped = Some((Instant::now(), again));
        match &mut self.begun.work.driving {
            Some(driving) => driving.stop(),
            // If the run has just ended, the next check of its owner ends the turn.
            None => self.editor.tell(self.order(RunCommand::Stop, None).err().map(|words| progress(&words))),
        }
    }

    /// Passes on the answer to what the person is asked, or asks about the next open gate or question.
    fn ask(&mut self) -> Result<(), String> {
        if let Some(shown) = self.asking.take() {
            return self.answered(shown);
        }
        let Some((_, teller)) = &self.begun.work.run else { return Ok(()) };
        match teller.view.open_gates().into_iter().find(|gate| !self.settled.contains(gate)) {
            Some(gate) => self.ask_about(gate),
            None => {
                self.ask_question();
                Ok(())
            }
        }
    }

    /// Asks for the answer to the next open question, if the editor shows forms.
    fn ask_question(&mut self) {
        let Some((_, teller)) = &self.begun.work.run else { return };
        let open = teller.view.questions().into_iter().find(|open| !self.replied.contains(open));
        if let Some(open) = open.filter(|_| self.editor.shows_forms()) {
            let asking = self.editor.fill(question(&open));
            self.asking = Some(Shown::Question(open, asking));
        }
    }

    /// Passes on the answer to what the person is asked, if there is one.
    fn answered(&mut self, shown: Shown) -> Result<(), String> {
        let Some((_, teller)) = &self.begun.work.run else { return Ok(()) };
        let (gates, questions) = (teller.view.open_gates(), teller.view.questions());
        match shown {
            Shown::Gate(shows, asking) if shows.is_open(&gates) => match asking.answered() {
                Answered::NotYet => self.asking = Some(Shown::Gate(shows, asking)),
                Answered::Never => self.settled.extend(shows.gates),
                Answered::Yes(response) => match chosen(&shows.choices, &response) {
                    Some(Choice::Hunks) => {
                        let asking = self.editor.fill(hunks(&shows.view));
                        self.asking = Some(Shown::Hunks(shows, asking));
                    }
                    Some(Choice::Order(command)) => self.decide(*shows, Some(command)),
                    None => self.decide(*shows, None),
                },
            },
            Shown::Hunks(shows, asking) if shows.is_open(&gates) => match asking.answered() {
                Answered::NotYet => self.asking = Some(Shown::Hunks(shows, asking)),
                Answered::Never => self.settled.extend(shows.gates),
                Answered::Yes(response) => {
                    let command = kept(&shows.view, &response);
                    self.decide(*shows, command);
                }
            },
            Shown::Question(question, asking) if questions.contains(&question) => match asking.answered() {
                Answered::NotYet => self.asking = Some(Shown::Question(question, asking)),
                Answered::Never => self.replied.push(question),
                Answered::Yes(response) => {
                    let to = question.asking.clone();
                    self.replied.push(question);
                    if let Some(text) = answer(&response) {
                        self.order(RunCommand::Reply { to, text }, None)?;
                        self.resume_if_rests()?;
                    }
                }
            },
            over => over.withdraw(),
        }
        Ok(())
    }

    /// Gives the command that the person chose for a gate, if they chose one. The gate is not asked about again.
    fn decide(&mut self, shows: Shows, command: Option<RunCommand>) {
        self.settled.extend(shows.gates);
        if let Some(command) = command
            && let Err(words) = self.order(command, Some(shows.seen))
        {
            self.editor.tell([message(&words)]);
        }
    }

    fn ask_about(&mut self, gate: Gate) -> Result<(), String> {
        let Some((_, teller)) = &mut self.begun.work.run else { return Ok(()) };
        let view = self.runs.gate(&teller.view, &gate).map_err(|refusal| refused(&refusal))?;
        let sources = Sources {
            folder: self.project.folder(),
            text: self.project.gate_text(&view),
            forms: self.editor.shows_forms(),
            blob: &|blob| self.runs.blob(blob),
        };
        match shows(&teller.view, &view, &sources).map_err(|refusal| refused(&refusal))? {
            Some(shows) => {
                teller.gates.push(gate.n);
                self.editor.tell([shows.begins()]);
                let asking = self.editor.ask(&shows);
                self.asking = Some(Shown::Gate(Box::new(shows), asking));
            }
            None => {
                let run = teller.view.about().id.map(ToString::to_string).unwrap_or_default();
                let words = "An approval is too large to show here. Look at it in a terminal:";
                self.editor.tell([message(&format!("{words} `callsheet show {run}`, then `callsheet approve {run}`"))]);
                self.settled.push(gate);
            }
        }
        Ok(())
    }

    /// Whether the run waits for a message, or for an approval that the person left open. If so, tells the person.
    fn needs_words(&mut self) -> Result<bool, String> {
        let Some((run, teller)) = &self.begun.work.run else { return Ok(false) };
        let run = run.clone();
        if self.asking.is_some() || !teller.view.only_waits() {
            return Ok(false);
        }
        // A message to the process may not be recorded yet.
        if self.runs.has_messages(&run).map_err(|refusal| refused(&refusal))? {
            return Ok(false);
        }
        self.look()?;
        let Some((_, teller)) = &self.begun.work.run else { return Ok(false) };
        let is_settled = |gate: &Gate| self.settled.contains(gate);
        if !teller.view.only_waits() || !teller.view.open_gates().iter().all(is_settled) {
            return Ok(false);
        }
        match teller.view.questions().is_empty() {
            false => self.tell_question(),
            true => {
                let words = format!("Run {run} still waits for your approval. Send /resume to be asked again.");
                self.editor.tell([message(&words)]);
            }
        }
        Ok(true)
    }

    fn order(&self, command: RunCommand, seen: Option<Cursor>) -> Result<(), String> {
        let Some((run, _)) = &self.begun.work.run else { return Ok(()) };
        let order = Order::new(AnsweredBy::Editor, command).map_err(|refusal| refused(&refusal))?;
        let order = Order { revision: seen, ..order };
        self.runs
            .order(run, &order)
            .and_then(|sent| settled(&*self.runs, &order, sent))
            .map(drop)
            .map_err(|refusal| refused(&refusal))
    }
}

/// The texts of project files, on disk and in the editor.
struct Files<'a> {
    folder: &'a Path,
    editor: &'a Editor,
    /// When the editor's time to send texts is over.
    until: Instant,
}

impl Texts for Files<'_> {
    fn folder(&self) -> &Path {
        self.folder
    }

    fn on_disk(&self, path: &Path) -> Option<String> {
        let size = std::fs::metadata(path).ok()?.len();
        if usize::try_from(size).is_ok_and(|size| size <= ATTACHED) { std::fs::read_to_string(path).ok() } else { None }
    }

    fn in_editor(&self, path: &Path) -> Option<String> {
        let left = self.until.saturating_duration_since(Instant::now());
        if path.is_file() { self.editor.text_of(path, left) } else { None }
    }
}
