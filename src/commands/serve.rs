//! `serve`: the live page, on this machine only. What it has done is done by the same functions as the commands.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use callsheet_core::run::Run;
use callsheet_core::spec::RunId;
use callsheet_core::symbols::Coloured;
use callsheet_runtime::driver::undo as take_back;
use callsheet_runtime::effects::open_questions;
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{GateView, InboxMessage, LiveText, Store};
use callsheet_runtime::runfiles::RunFiles;
use callsheet_runtime::sheetfile::{preview_edit, sheet_text};
use callsheet_runtime::shown::{Shown, edited};
use callsheet_store::LiveReader;
use callsheet_web::{Desk, Guard, Refusal, SheetCheck, SheetIssue, Started, Verdict};

use crate::cli::{Exit, Failure, HunksArg, OpenArgs, ServeArgs};
use crate::setup::{Setup, find_run, store_failure};
use crate::term::harmless;

use super::answer_gate::{Said, answer_gate, ask_to_stop};
use super::answered::answer_text;
use super::drive::{Front, drive_failure, without_model};
use super::report::html;
use super::resume::sheet_is_edited;
use super::steer::ask_again;
use super::take_in::{recorded, take_in};
use super::undo::lines;
use super::waits::waits;

/// Bytes of what a process said that are shown.
const LAST_WORDS: u64 = 4_096;

pub(super) fn serve(setup: Setup, arguments: &ServeArgs) -> Result<Exit, Failure> {
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let listeners = callsheet_web::listen(arguments.port).await.map_err(|error| {
            Failure::usage(format!("can't use port {}: {error}", arguments.port), "leave --port out to get a free one")
        })?;
        let guard = Guard::new(listeners.port).map_err(|refusal| Failure::internal(refusal.what, refusal.advice))?;
        let (address, plain_address) = (guard.address(), guard.plain_address());
        if setup.json {
            super::print_json(&serde_json::json!({ "address": address, "plain_address": plain_address }))?;
        } else {
            tell!(
                "{} is open at this address, for this machine only, until you press Ctrl-C:",
                setup.project.display()
            );
            super::print(&format!("{address}\n"))?;
            tell!("If your browser does not find that name: {plain_address}");
        }
        let desk = Arc::new(OwnDesk { setup, store: OnceLock::new(), processes: Mutex::default() });
        tokio::select! {
            ended = callsheet_web::serve(listeners, callsheet_web::router(desk, guard)) => {
                ended.map_err(|error| Failure::internal(format!("the page ended: {error}"), ""))?;
            }
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(Exit::Complete)
    })
}

/// A process that resumes a run, and the file that it writes to.
struct Process {
    child: Child,
    words: File,
}

struct OwnDesk {
    setup: Setup,
    store: OnceLock<Arc<dyn Store>>,
    processes: Mutex<BTreeMap<RunId, Process>>,
}

fn refusal(failure: Failure) -> Refusal {
    Refusal { what: failure.what, advice: failure.advice }
}

impl OwnDesk {
    fn existing(&self) -> Result<Arc<dyn Store>, Failure> {
        if let Some(store) = self.store.get() {
            return Ok(Arc::clone(store));
        }
        let store = self.setup.existing_store()?;
        Ok(Arc::clone(self.store.get_or_init(|| store)))
    }

    fn files(&self, id: &RunId) -> Result<RunFiles, Failure> {
        let workspace =
            Workspace::new(&self.setup.project, &[]).map_err(|fault| Failure::usage(fault.to_string(), ""))?;
        RunFiles::new(&workspace, id).map_err(|fault| Failure::usage(fault.to_string(), ""))
    }

    /// What the person left is taken by a living run at once, else by whoever resumes it.
    fn left(what: &str, is_driven: bool) -> String {
        if is_driven {
            format!("{what}: the run takes it over now")
        } else {
            format!("{what}: it counts when the run resumes")
        }
    }

    /// Resumes a run as `callsheet resume RUN --plain` does, in a process of its own that outlives this one.
    fn start(&self, id: &RunId) -> Result<String, Failure> {
        let store = self.existing()?;
        let found = find_run(&store, Some(id.as_str()), |_| true, "")?;
        if let Some(owner) = &found.owner {
            return Err(Failure::usage(format!("run {id} is running already ({owner})"), ""));
        }
        let failed = |error: std::io::Error| {
            Failure::internal(
                format!("can't start a process: {error}"),
                format!("resume it in a terminal: {} resume {id}", self.setup.command),
            )
        };
        let words = tempfile::tempfile().map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg("-C").arg(&self.setup.project).args(["resume", id.as_str(), "--plain"]);
        command
            .stdin(Stdio::null())
            .stdout(words.try_clone().map_err(failed)?)
            .stderr(words.try_clone().map_err(failed)?);
        let child = command.process_group(0).spawn().map_err(failed)?;
        let said = format!(
            "Started process {}, which resumes the run as `{} resume {id}` does. It ends when the run ends or next waits for you",
            child.id(),
            self.setup.command
        );
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), Process { child, words });
        Ok(said)
    }

    fn save(&self, id: &RunId, seen: &str, text: &str) -> Result<String, Failure> {
        let store = self.existing()?;
        let found = find_run(&store, Some(id.as_str()), |_| true, "")?;
        let run = recorded(&store, &found)?.run;
        let files = self.files(id)?;
        let failed = |fault: callsheet_runtime::runfiles::RunFileFault| Failure::internal(fault.to_string(), "");
        let on_disk = files.sheet().map_err(failed)?.map(|file| file.bytes);
        let is_seen = on_disk.as_deref().is_none_or(|bytes| same_text(bytes, seen));
        if !is_seen && sheet_is_edited(&self.setup, id, &run)? {
            let what = format!("somebody else edited {}/sheet.md meanwhile", files.directory().display());
            return Err(Failure::usage(what, "copy your text, reload the page, and edit again"));
        }
        let check = self.check(&run, id, text)?;
        if check.issues.iter().any(|issue| issue.severity == callsheet_core::issue::Severity::Error) {
            return Err(Failure::usage("the sheet has errors; nothing was saved", "fix the lines below"));
        }
        let as_it_was = on_disk.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        files.write_sheet(&edited(&as_it_was, Shown::text, text)).map_err(failed)?;
        if found.owner.is_none() {
            take_in(&self.setup, &store, &found, &run)?;
        }
        let counts =
            if found.owner.is_some() || run.may_edit() { "the run has it" } else { "it counts when the run resumes" };
        let effect = if check.effect.is_empty() { String::new() } else { format!(" {}", check.effect) };
        Ok(format!("Saved; {counts}.{effect}"))
    }

    fn check(&self, run: &Run, id: &RunId, text: &str) -> Result<SheetCheck, Failure> {
        let store = self.existing()?;
        let front = Front::silent();
        let services = without_model(&self.setup, &front, store, id, run.settings(), &OpenArgs::default())?;
        let preview = preview_edit(&services, run, text).map_err(|fault| drive_failure(&fault, id))?;
        let issues = preview.issues.into_iter().map(|(line, column, issue)| SheetIssue {
            line,
            column,
            severity: issue.severity,
            words: format!("{}: {issue}", issue.code),
        });
        let done = run.done().count();
        let effect = preview.changes.map(|(added, changed, removed)| {
            let stay =
                if done == 1 { "1 finished task stays".to_owned() } else { format!("{done} finished tasks stay") };
            format!("This edit adds {added}, changes {changed} and removes {removed} tasks; {stay}.")
        });
        Ok(SheetCheck { issues: issues.collect(), effect: effect.unwrap_or_default() })
    }
}

/// Whether a form has the text of a file. Browsers send its lines in their own way.
fn same_text(bytes: &[u8], text: &str) -> bool {
    let shown = Shown::text(&String::from_utf8_lossy(bytes));
    shown.as_str().trim_end() == text.trim_end()
}

impl Desk for OwnDesk {
    fn colours(&self, path: &str, text: &str) -> Vec<Coloured> {
        crate::wiring::colours(path, text)
    }

    fn project(&self) -> String {
        let name = self.setup.project.file_name().map(|name| name.to_string_lossy().into_owned());
        harmless(&name.unwrap_or_else(|| self.setup.project.display().to_string()))
    }

    fn store(&self) -> Result<Option<Arc<dyn Store>>, Refusal> {
        if self.store.get().is_none() && !self.setup.has_store() {
            return Ok(None);
        }
        self.existing().map(Some).map_err(refusal)
    }

    fn gates(&self, run: &Run) -> Result<Vec<GateView>, Refusal> {
        let store = self.existing().map_err(refusal)?;
        waits(&self.setup, &*store, run).map_err(refusal)
    }

    fn writing(&self, run: &RunId, owner: &str) -> Vec<LiveText> {
        LiveReader::new(&self.setup.store_folder(), run).read(owner)
    }

    fn answer(&self, run: &Run, id: &RunId) -> String {
        answer_text(&self.setup, run, id)
    }

    fn decide(&self, run: &RunId, gate: u32, verdict: &Verdict) -> Result<String, Refusal> {
        let (words, said) = match verdict {
            Verdict::Approve { tasks } => ("Approved", Said::Approve(tasks.clone())),
            Verdict::Deny { tasks, because } => ("Denied", Said::Deny(tasks.clone(), because.clone())),
            Verdict::Keep { hunks, edits, because } => {
                let hunks = HunksArg(hunks.iter().map(|number| (*number, *number)).collect());
                ("Approved the chosen hunks", Said::Keep(hunks, edits.clone(), because.clone()))
            }
        };
        answer_gate(&self.setup, run, gate, &said).map(|is_driven| Self::left(words, is_driven)).map_err(refusal)
    }

    fn reply(&self, id: &RunId, task: &str, call: &str, text: &str) -> Result<String, Refusal> {
        let reply = || -> Result<String, Failure> {
            let store = self.existing()?;
            let found = find_run(&store, Some(id.as_str()), |_| true, "")?;
            let run = recorded(&store, &found)?.run;
            let is_meant = |open: &callsheet_runtime::effects::OpenQuestion| {
                open.asking.task.as_str() == task && open.asking.call == call
            };
            let open = open_questions(&run).find(is_meant).ok_or_else(|| {
                Failure::usage("this question was answered or withdrawn meanwhile", "look at what is asked now")
            })?;
            let letter = InboxMessage::Reply { text: text.to_owned(), to: Some(open.asking) };
            store.post(id, &letter).map_err(store_failure)?;
            Ok(Self::left("Answered", found.owner.is_some()))
        };
        reply().map_err(refusal)
    }

    fn cancel(&self, run: &RunId) -> Result<String, Refusal> {
        ask_to_stop(&self.setup, run).map(|()| "The run is stopping".to_owned()).map_err(refusal)
    }

    fn retry(&self, run: &RunId, tasks: &[String]) -> Result<String, Refusal> {
        let retry = || match ask_again(&self.setup, run, tasks)? {
            true => Ok("The run retries it now".to_owned()),
            false => self.start(run),
        };
        retry().map_err(refusal)
    }

    fn resume(&self, run: &RunId) -> Result<String, Refusal> {
        self.start(run).map_err(refusal)
    }

    fn raise(&self, id: &RunId, limit: &str, max: f64) -> Result<String, Refusal> {
        let raise = || -> Result<String, Failure> {
            let store = self.existing()?;
            let found = find_run(&store, Some(id.as_str()), |_| true, "")?;
            let run = recorded(&store, &found)?.run;
            super::raise::raise(&*store, id, &run, &[(limit, max)])?;
            if found.owner.is_some() {
                return Ok("Raised: the new limit counts from now on".to_owned());
            }
            self.start(id)
        };
        raise().map_err(refusal)
    }

    fn undo(&self, run: &RunId) -> Result<String, Refusal> {
        let undo = || -> Result<String, Failure> {
            let store = self.existing()?;
            let setup = &self.setup;
            let undone = take_back(&store, &setup.project, &setup.store_folder(), run, &|_| ())
                .map_err(|fault| drive_failure(&fault, run))?;
            let words = lines(&undone, run.as_str()).join("; ");
            if undone.refused.is_empty() {
                return Ok(words);
            }
            Err(Failure::usage(words, "fix these files by hand; the diffs below hold the originals"))
        };
        undo().map_err(refusal)
    }

    fn report(&self, id: &RunId) -> Result<Shown, Refusal> {
        let report = || -> Result<Shown, Failure> {
            let store = self.existing()?;
            let found = find_run(&store, Some(id.as_str()), |_| true, "")?;
            let folded = recorded(&store, &found)?;
            Ok(html(&store, &found, &folded))
        };
        report().map_err(refusal)
    }

    fn started(&self, run: &RunId) -> Option<Started> {
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        let process = processes.get_mut(run)?;
        let Ok(Some(status)) = process.child.try_wait() else { return Some(Started::Working) };
        // The other codes say how the run stands, which the page shows.
        let failed = !matches!(status.code(), Some(0 | 3..=6 | 130));
        Some(Started::Ended { failed, words: last_words(&mut process.words) })
    }

    fn sheet(&self, run: &Run, id: &RunId) -> Result<String, Refusal> {
        let files = self.files(id).map_err(refusal)?;
        let found = files.sheet().map_err(|fault| Refusal { what: fault.to_string(), advice: String::new() })?;
        Ok(found.map_or_else(|| sheet_text(run), |file| String::from_utf8_lossy(&file.bytes).into_owned()))
    }

    fn check_sheet(&self, run: &Run, id: &RunId, text: &str) -> Result<SheetCheck, Refusal> {
        self.check(run, id, text).map_err(refusal)
    }

    fn save_sheet(&self, run: &RunId, seen: &str, text: &str) -> Result<String, Refusal> {
        self.save(run, seen, text).map_err(refusal)
    }
}

/// The end of what a process said.
fn last_words(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let read = file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS))).and_then(|_| file.read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(error) => format!("its words can't be read: {error}"),
    }
}
