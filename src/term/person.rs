//! A person at the terminal: the gates and the questions of tools.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::Arc;

use async_trait::async_trait;
use callsheet_core::evaluate::{ProcessFile, ProcessRequest, SCRIPT, SCRIPT_READ};
use callsheet_core::record::{Answer, GateKind, Verdict};
use callsheet_core::spec::{Slug, ToolCall};
use callsheet_core::template::Inherit;
use callsheet_runtime::ports::{GateAnswer, GateView, Person, QuestionAnswer, QuestionView, address};
use tokio::sync::{Mutex, MutexGuard, mpsc};
use tokio_util::sync::CancellationToken;

use super::hunks::{diff_text, numbered_diff};
use super::{LiveView, harmless, one_line};

/// Nobody can be asked: every gate waits.
pub struct NobodyThere;

#[async_trait]
impl Person for NobodyThere {
    async fn approve(&self, _: &GateView, _: &CancellationToken) -> GateAnswer {
        GateAnswer::Absent
    }

    async fn answer(&self, _: &QuestionView, _: &CancellationToken) -> QuestionAnswer {
        QuestionAnswer::Absent
    }
}

/// Asks on stderr and reads answers from stdin, one question at a time.
pub struct TerminalPerson {
    view: Option<Arc<LiveView>>,
    lines: Mutex<Option<Lines>>,
    /// Held by the one question that is on the screen, until it is answered.
    turn: Mutex<()>,
    pub(super) colour: bool,
}

/// Lines of stdin, read one at a time and only when somebody waits for one: an editor reads from there, too.
struct Lines {
    wanted: mpsc::UnboundedSender<()>,
    read: mpsc::UnboundedReceiver<String>,
    /// A line is being read, for a question that was withdrawn.
    pending: bool,
}

impl TerminalPerson {
    /// A person who may have a live view open.
    pub fn new(view: Option<Arc<LiveView>>, colour: bool) -> Self {
        Self { view, lines: Mutex::new(None), turn: Mutex::new(()), colour }
    }

    /// Waits until no other question is on the screen; `None`: this one was withdrawn meanwhile.
    async fn turn(&self, cancel: &CancellationToken) -> Option<MutexGuard<'_, ()>> {
        tokio::select! {
            turn = self.turn.lock() => Some(turn),
            () = cancel.cancelled() => None,
        }
    }

    /// One line of input; `None` when the terminal is closed or the question is withdrawn.
    async fn line(&self, cancel: &CancellationToken) -> Option<String> {
        let mut lines = self.lines.lock().await;
        let lines = lines.get_or_insert_with(read_stdin);
        if !lines.pending {
            lines.wanted.send(()).ok()?;
            lines.pending = true;
        }
        tokio::select! {
            line = lines.read.recv() => {
                lines.pending = false;
                line
            }
            () = cancel.cancelled() => None,
        }
    }

    pub(super) async fn ask(&self, text: &str, cancel: &CancellationToken) -> Option<String> {
        show(text);
        self.line(cancel).await.map(|line| line.trim().to_owned())
    }

    /// What was typed before a gate was shown answers nothing.
    async fn forget_typed(&self) {
        // Without a terminal there is nothing to flush.
        let _nothing = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        if let Some(lines) = self.lines.lock().await.as_mut() {
            while lines.read.try_recv().is_ok() {
                lines.pending = false;
            }
        }
    }

    async fn gate(&self, view: &GateView, cancel: &CancellationToken) -> Option<GateAnswer> {
        self.forget_typed().await;
        show(&gate_text(view, self.colour));
        let several = matches!(&view.gate.kind, GateKind::BeforeRun(tasks) if tasks.len() > 1);
        let before_run = matches!(view.gate.kind, GateKind::BeforeRun(_));
        loop {
            let choices = match (before_run, several) {
                (true, true) => {
                    "[y] yes to these (Enter)  [a] yes to all of this run  [o] one by one  [e] edit the sheet  [p] show plan  [n] no  [s] stop"
                }
                (true, false) => {
                    "[y] yes (Enter)  [a] yes to all of this run  [e] edit the sheet  [p] show plan  [n] no  [s] stop"
                }
                (false, _) if view.hunks.is_empty() => "[y] yes  [n] no  [s] stop",
                (false, _) => "[y] yes  [n] no  [h] hunk by hunk  [s] stop",
            };
            let answer = self.ask(&format!("{choices}\n> "), cancel).await?;
            match answer.to_ascii_lowercase().as_str() {
                "y" | "yes" => return Some(GateAnswer::Answered(Answer::Listed)),
                // The offered default (spec 11.5). A change or a call is never made on an empty line.
                "" if before_run => return Some(GateAnswer::Answered(Answer::Listed)),
                "a" | "all" if before_run => return Some(GateAnswer::Answered(Answer::All)),
                "s" | "stop" => return Some(GateAnswer::Answered(Answer::Stop)),
                "p" | "plan" if before_run => show(&format!("{}\n", harmless(&view.plan))),
                "h" | "hunks" if !view.hunks.is_empty() => {
                    if let Some(answer) = self.review(&view.hunks, cancel).await? {
                        return Some(answer);
                    }
                }
                "o" if several => return self.one_by_one(view, cancel).await.map(GateAnswer::Answered),
                "e" | "edit" if before_run => match &view.sheet {
                    Some(sheet) => return self.edit(sheet, cancel).await,
                    None => show("There is no sheet to edit.\n"),
                },
                "n" | "no" => {
                    let words =
                        self.ask("Why? The next plan is made with these words (Enter: none)\n> ", cancel).await?;
                    return Some(GateAnswer::Answered(Answer::Deny { words }));
                }
                _ => show("Please answer with one of the letters.\n"),
            }
        }
    }

    /// Spec 11.5: the sheet is changed in the person's editor, or in any other way until they press Enter.
    async fn edit(&self, sheet: &str, cancel: &CancellationToken) -> Option<GateAnswer> {
        self.open_editor(sheet, cancel).await.map(|()| GateAnswer::Edited)
    }

    /// Waits until the person is done with a file. `None`: nobody is there.
    pub(super) async fn open_editor(&self, file: &str, cancel: &CancellationToken) -> Option<()> {
        let Some(mut command) = editor() else {
            let question = format!("Edit {}, then press Enter\n> ", harmless(file));
            return self.ask(&question, cancel).await.map(drop);
        };
        command.arg(file);
        let ended = tokio::task::spawn_blocking(move || command.status()).await;
        match ended {
            Ok(Ok(status)) if status.success() => {}
            Ok(Ok(status)) => show(&format!("the editor ended with {status}\n")),
            Ok(Err(error)) => show(&format!("the editor cannot be started: {error}\n")),
            Err(_) => show("the editor ended abnormally\n"),
        }
        Some(())
    }

    async fn one_by_one(&self, view: &GateView, cancel: &CancellationToken) -> Option<Answer> {
        let mut verdicts: BTreeMap<Slug, Verdict> = BTreeMap::new();
        for writer in &view.writers {
            let question = format!("{}: [y] yes  [n] no  [Enter] decide later\n> ", one_line(&writer.task.name, 60));
            match self.ask(&question, cancel).await?.to_ascii_lowercase().as_str() {
                "y" | "yes" => verdicts.insert(writer.task.slug.clone(), Verdict::Approve),
                "n" | "no" => verdicts.insert(writer.task.slug.clone(), Verdict::Deny),
                _ => None,
            };
        }
        let denied = verdicts.values().any(|verdict| *verdict == Verdict::Deny);
        let words = if denied { self.ask("Why not? (Enter: no words)\n> ", cancel).await? } else { String::new() };
        Some(Answer::Each { verdicts, words })
    }
}

#[async_trait]
impl Person for TerminalPerson {
    async fn approve(&self, view: &GateView, cancel: &CancellationToken) -> GateAnswer {
        let Some(_turn) = self.turn(cancel).await else { return GateAnswer::Absent };
        if let Some(live) = &self.view {
            live.pause();
        }
        let answer = self.gate(view, cancel).await;
        if let Some(live) = &self.view {
            live.go_on();
        }
        answer.unwrap_or(GateAnswer::Absent)
    }

    async fn answer(&self, view: &QuestionView, cancel: &CancellationToken) -> QuestionAnswer {
        let Some(_turn) = self.turn(cancel).await else { return QuestionAnswer::Absent };
        if let Some(live) = &self.view {
            live.pause();
        }
        let question =
            format!("\n{} asks: {}\n> ", address(view.inside.as_ref(), &view.task), harmless(&view.question));
        let answer = self.ask(&question, cancel).await;
        if let Some(live) = &self.view {
            live.go_on();
        }
        answer.map_or(QuestionAnswer::Absent, QuestionAnswer::Answered)
    }
}

/// One thread owns stdin, so that a withdrawn question never swallows the answer to the next one.
fn read_stdin() -> Lines {
    let (wanted, mut asked) = mpsc::unbounded_channel();
    let (sender, read) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while asked.blocking_recv().is_some() {
            let mut line = String::new();
            let ended = !matches!(std::io::stdin().lock().read_line(&mut line), Ok(1..));
            if ended || sender.send(line).is_err() {
                return;
            }
        }
    });
    Lines { wanted, read, pending: false }
}

/// The person's editor, its arguments split at blanks; `None` if none is set.
fn editor() -> Option<std::process::Command> {
    let set = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|set| !set.trim().is_empty()))?;
    let mut words = set.split_whitespace();
    let mut command = std::process::Command::new(words.next()?);
    command.args(words);
    for key in callsheet_runtime::edge::withheld() {
        command.env_remove(key);
    }
    Some(command)
}

pub(super) fn show(text: &str) {
    let mut out = std::io::stderr().lock();
    let _closed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The gate as text; also what `show` prints of a waiting run.
pub fn gate_text(view: &GateView, colour: bool) -> String {
    let mut text = String::from("\n");
    match &view.gate.kind {
        GateKind::BeforeRun(tasks) => {
            text.push_str(&match tasks.len() {
                1 => "1 task wants to change something:\n".to_owned(),
                count => format!("{count} tasks want to change something:\n"),
            });
            for writer in &view.writers {
                text.push_str(&writer_text(writer));
            }
        }
        GateKind::BeforeApply { task, .. } => {
            text.push_str(&format!("{} wants to make these changes:\n\n", view.address(task)));
            text.push_str(&match view.hunks.as_slice() {
                [] => diff_text(&view.diff, colour),
                hunks => numbered_diff(hunks, colour),
            });
        }
        GateKind::BeforeCall { task, .. } => {
            text.push_str(&format!("{} wants to make this call", view.address(task)));
            if let Some(directory) = &view.directory {
                text.push_str(&format!(" in {}", harmless(directory)));
            }
            text.push_str(":\n\n");
            if let Some(call) = &view.call {
                text.push_str(&call_text(call));
            }
        }
    }
    text.push('\n');
    text
}

/// A call as it would be made, never cut: what is approved must be what was seen. A process of a template is shown with the
/// files that are written for it.
fn call_text(call: &ToolCall) -> String {
    let process = matches!(call.name.as_str(), SCRIPT | SCRIPT_READ);
    let request = serde_json::from_value::<ProcessRequest>(call.arguments.clone()).ok().filter(|_| process);
    let Some(request) = request else { return format!("  {} {}\n", call.name, harmless(&call.arguments.to_string())) };
    let path = |word: &String| {
        let named = |word: String, file: &ProcessFile| {
            word.replace(&format!("\0{}\0", file.name), &format!("<{}{}>", file.name, file.suffix))
        };
        serde_json::Value::from(request.files.iter().fold(word.clone(), named)).to_string()
    };
    let words: Vec<String> = request.argv.iter().map(path).collect();
    let mut text = format!("  {} [{}]\n", call.name, harmless(&words.join(",")));
    let mut part = |title: String, content: &str| {
        text.push_str(&format!("  {title}:\n    {}\n", harmless(content.trim_end()).replace('\n', "\n    ")));
    };
    for file in &request.files {
        part(harmless(&format!("file <{}{}>", file.name, file.suffix)), &file.content);
    }
    if let Some(stdin) = &request.stdin {
        part("standard input".to_owned(), stdin);
    }
    for (name, value) in &request.variables {
        part(harmless(&format!("variable {name}")), value);
    }
    if request.inherit == Inherit::All {
        text.push_str("  inherits every variable of the environment that callsheet runs in, secrets included\n");
    }
    text
}

fn writer_text(writer: &callsheet_runtime::ports::WriterView) -> String {
    let task = &writer.task;
    let mut text = format!("\n  {} (step {}, {})\n", one_line(&task.name, 80), writer.step, task.slug);
    let mut line = |label: &str, value: &str| {
        if !value.is_empty() {
            // Never cut: what is approved must be what was seen.
            text.push_str(&format!("    {label}: {}\n", harmless(value).replace('\n', "\n      ")));
        }
    };
    line("needed", &task.need);
    line("skill", &writer.skill);
    line("why it needs approval", &writer.reason);
    let references: Vec<String> = task.references.iter().map(|reference| reference.target.to_string()).collect();
    line("reads", &references.join(" "));
    line("expected", &task.expected);
    for call in &task.calls {
        line("call", &format!("{} {}", call.name, call.arguments));
    }
    line("model", &writer.model);
    line(
        "refined",
        match (writer.refined, writer.by_model) {
            (false, _) => "not yet",
            (true, true) => "yes",
            (true, false) => "no need",
        },
    );
    text
}
