//! A person at the terminal, who answers gates and the questions of tools.

use std::io::BufRead;

use callsheet_app::{RunCommand, Standing, WordCount, standing};
use callsheet_core::evaluate::{ProcessFile, ProcessRequest, SCRIPT, SCRIPT_READ};
use callsheet_core::nouns::{Task, ToolCall};
use callsheet_core::record::{CheckEnd, GateKind};
use callsheet_core::template::Inherit;
use callsheet_runtime::ports::{CheckView, GateView, UNHELD};
use callsheet_runtime::shown::Shown;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::hunks::{diff_text, numbered_diff};
use super::safe::Exact;
use super::{Words, one_line};

/// What a person decided at a gate.
pub enum Decision {
    /// These commands, in this order.
    Commands(Vec<RunCommand>),
    /// Nothing yet. The plan file was or may have been edited, so the gate asks again.
    Edited,
}

/// Asks on stderr and reads answers from stdin, one question at a time.
pub struct TerminalPerson {
    lines: Mutex<Option<Lines>>,
    pub(super) colour: bool,
}

/// Lines of stdin. One line at a time is read, only when it is needed, because an editor also reads from stdin.
struct Lines {
    wanted: mpsc::UnboundedSender<()>,
    read: mpsc::UnboundedReceiver<String>,
    /// Whether a line is still being read for a question that was withdrawn.
    pending: bool,
}

impl TerminalPerson {
    /// A person with or without colours.
    pub fn new(colour: bool) -> Self {
        Self { lines: Mutex::new(None), colour }
    }

    /// Reads one line. `None` if the terminal is closed or the question is withdrawn.
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
        show(&Words::of(text));
        self.line(cancel).await.map(|line| line.trim().to_owned())
    }

    /// Discards what was typed before a gate was shown.
    async fn forget_typed(&self) {
        // Without a terminal, there is nothing to discard.
        let _nothing = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        if let Some(lines) = self.lines.lock().await.as_mut() {
            while lines.read.try_recv().is_ok() {
                lines.pending = false;
            }
        }
    }

    /// Asks the person about a gate. `sheet` is the plan file of the run. `None` if nobody is there or the question
    /// was withdrawn.
    pub async fn decide(&self, view: &GateView, sheet: &str, cancel: &CancellationToken) -> Option<Decision> {
        self.forget_typed().await;
        show(&gate_text(view, self.colour));
        let several = matches!(&view.gate.kind, GateKind::BeforeRun(tasks) if tasks.len() > 1);
        let before_run = matches!(view.gate.kind, GateKind::BeforeRun(_));
        let standing = standing(view);
        let choices = choices(view, standing.as_ref());
        let gates = || std::iter::once(view.gate.n).chain(view.also.iter().map(|also| also.gate.n)).collect();
        let approve = |later, always| RunCommand::Approve { gates: gates(), tasks: Vec::new(), later, always };
        let one = |command| Some(Decision::Commands(vec![command]));
        loop {
            let answer = self.ask(&format!("{choices}\n> "), cancel).await?;
            match answer.to_ascii_lowercase().as_str() {
                "y" | "yes" => return one(approve(false, None)),
                "a" | "all" if before_run => return one(approve(true, None)),
                "a" | "always" => match &standing {
                    Some(Standing::Command(call)) => {
                        if let Some(words) = self.always(call, cancel).await? {
                            return one(approve(false, Some(words)));
                        }
                    }
                    Some(Standing::Script | Standing::Changes) => return one(approve(false, Some(WordCount::All))),
                    None => {}
                },
                "s" | "stop" => return one(RunCommand::Stop),
                "p" | "plan" if before_run => show(&Words::of(&format!("{}\n", Shown::exact(&view.plan)))),
                "h" | "hunks" if !view.hunks.is_empty() => {
                    if let Some(command) = self.review(view, cancel).await? {
                        return one(command);
                    }
                }
                "o" if several => return self.one_by_one(view, cancel).await,
                "e" | "edit" if before_run => {
                    self.open_editor(sheet, cancel).await?;
                    return Some(Decision::Edited);
                }
                "n" | "no" => {
                    let because = self
                        .ask("Why? The model sees your reason when it plans again (Enter: no reason)\n> ", cancel)
                        .await?;
                    return one(RunCommand::Deny { gates: gates(), tasks: Vec::new(), because });
                }
                _ => show(&Words::of("Please answer with one of the letters.\n")),
            }
        }
    }

    /// Asks the question of a task. A line that ends with a backslash is followed by another one. `None` if nobody is
    /// there or the question was withdrawn.
    pub async fn reply(&self, task: &str, question: &str, cancel: &CancellationToken) -> Option<String> {
        let mut exact = Exact::default();
        let (who, asked) = (exact.show(task), exact.show(question));
        let told = exact.told();
        let mut words = format!("\n{who} asks: {asked}\n{told}A line that ends with \\ continues in the next one.\n> ");
        let mut answer = String::new();
        loop {
            let line = self.ask(&words, cancel).await?;
            let Some(begun) = line.strip_suffix('\\') else { return Some(answer + &line) };
            answer += &format!("{}\n", begun.trim_end());
            words = "> ".to_owned();
        }
    }

    /// Opens a file in the editor and waits until it ends. `None` if nobody is there.
    pub(super) async fn open_editor(&self, file: &str, cancel: &CancellationToken) -> Option<()> {
        let Some(mut command) = editor() else {
            let question = format!("Edit {}, then press Enter\n> ", Shown::exact(file));
            return self.ask(&question, cancel).await.map(drop);
        };
        command.arg(file);
        let ended = tokio::task::spawn_blocking(move || command.status()).await;
        match ended {
            Ok(Ok(status)) if status.success() => {}
            Ok(Ok(status)) => show(&Words::of(&format!("the editor exited with {status}\n"))),
            Ok(Err(error)) => show(&Words::of(&format!("can't start the editor: {error}\n"))),
            Err(_) => show(&Words::of("the editor crashed\n")),
        }
        Some(())
    }

    async fn one_by_one(&self, view: &GateView, cancel: &CancellationToken) -> Option<Decision> {
        let (mut approved, mut denied) = (Vec::new(), Vec::new());
        for writer in &view.writers {
            let question = format!("{}: [y] yes  [n] no  [Enter] decide later\n> ", name_line(&writer.task.name, 60));
            match self.ask(&question, cancel).await?.to_ascii_lowercase().as_str() {
                "y" | "yes" => approved.push(writer.task.slug.to_string()),
                "n" | "no" => denied.push(writer.task.slug.to_string()),
                _ => {}
            };
        }
        let gates = || vec![view.gate.n];
        let mut commands = Vec::new();
        if !denied.is_empty() {
            let because = self.ask("Why not? (Enter: no reason)\n> ", cancel).await?;
            commands.push(RunCommand::Deny { gates: gates(), tasks: denied, because });
        }
        if !approved.is_empty() {
            commands.push(RunCommand::Approve { gates: gates(), tasks: approved, later: false, always: None });
        }
        Some(Decision::Commands(commands))
    }
}

/// The letters that answer a gate.
fn choices(view: &GateView, standing: Option<&Standing>) -> String {
    let these = if view.also.is_empty() { "" } else { " to these" };
    let always = standing.map(|standing| format!("[a] {}  ", standing.words().to_lowercase())).unwrap_or_default();
    let hunks = if view.hunks.is_empty() { "" } else { "[h] hunk by hunk  " };
    let fixed = match &view.gate.kind {
        GateKind::BeforeRun(tasks) if tasks.len() > 1 => {
            "[y] yes to these  [a] yes to all tasks of this run  [o] one by one  [e] edit the sheet  [p] show plan  [n] no to these  [s] stop"
        }
        GateKind::BeforeRun(_) => {
            "[y] yes  [a] yes to all tasks of this run  [e] edit the sheet  [p] show plan  [n] no  [s] stop"
        }
        _ => return format!("[y] yes{these}  [n] no{these}  {hunks}{always}[s] stop"),
    };
    fixed.to_owned()
}

/// One thread owns stdin, so that a withdrawn question never consumes the answer to the next one.
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

/// The person's editor, with its arguments split at blanks. `None` if none is set.
pub(super) fn editor() -> Option<std::process::Command> {
    let set = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|set| !set.trim().is_empty()))?;
    let mut words = set.split_whitespace();
    let mut command = std::process::Command::new(words.next()?);
    command.args(words);
    for key in callsheet_runtime::transport_policy::withheld() {
        command.env_remove(key);
    }
    Some(command)
}

pub(super) fn show(words: &Words) {
    words.tell();
}

/// The gate as text. `show` also prints it for a waiting run.
pub fn gate_text(view: &GateView, colour: bool) -> Words {
    let mut text = Words::of("\n");
    let mut exact = Exact::default();
    match &view.gate.kind {
        GateKind::BeforeRun(tasks) => {
            // A reader that only asks for approval changes nothing.
            let changes = view.writers.iter().any(|writer| writer.reason != Task::ASKS_FOR_APPROVAL);
            let what = if changes { "to change something" } else { "your approval" };
            text.push_str(&match tasks.len() {
                1 => format!("1 task wants {what}:\n"),
                count => format!("{count} tasks want {what}:\n"),
            });
            for writer in &view.writers {
                text.push_str(&writer_text(writer, &mut exact));
            }
        }
        GateKind::BeforeApply { task, .. } => {
            text.push_str(&format!("{} wants to make these changes:\n\n", exact.show(task.as_str())));
            let diff = match view.hunks.as_slice() {
                [] => view.diff.clone(),
                hunks => numbered_diff(hunks),
            };
            exact.count(&diff);
            text.append(&diff_text(&diff, colour));
            if let Some(check) = &view.check {
                text.push_str(&check_text(check, &mut exact));
            }
            if let Some(words) = view.unchecked_words() {
                text.push_str(&format!("\n{}\n", exact.show(&words)));
            }
        }
        GateKind::BeforeCall { task, .. } => {
            let name = exact.show(task.as_str());
            text.push_str(&match view.also.len() {
                0 if view.unended.is_some() => {
                    format!(
                        "a call was started and never finished; {name} wants to make this call, which may repeat it"
                    )
                }
                0 if view.again => format!("this call was started and never finished; {name} wants to make it again"),
                0 => format!("{name} wants to make this call"),
                more => format!("{name} and {more} more want to make these calls"),
            });
            if let Some(directory) = &view.directory {
                text.push_str(&format!(" in {}", exact.show(directory)));
            }
            if view.unheld {
                text.push_str(&format!(" ({UNHELD})"));
            }
            text.push_str(":\n\n");
            if let Some(call) = &view.call {
                text.push_str(&call_text(call, &mut exact));
            }
            if let Some(unended) = &view.unended {
                text.push_str(&format!("\nThe call that never finished:\n{}", call_text(unended, &mut exact)));
            }
            for also in &view.also {
                let name = exact.show(also.task.as_str());
                text.push_str(&format!("  {name}:\n{}", call_text(&also.call, &mut exact)));
            }
        }
    }
    text.push_str(&exact.told());
    text.push_str("\n");
    text
}

/// How many lines of a failed check are shown, from its end.
const CHECK_LINES: usize = 30;

/// The result of checking a change.
fn check_text(check: &CheckView, exact: &mut Exact) -> String {
    let how = match check.end {
        CheckEnd::Passed => "passed",
        CheckEnd::Failed => "FAILED",
        CheckEnd::NotRun => "did not run",
    };
    let mut text =
        format!("\nThe check {} {how} on a copy of the project with this change.\n", exact.show(&check.name));
    let lines: Vec<&str> = check.output.lines().collect();
    let first = lines.len().saturating_sub(CHECK_LINES);
    let shown = lines.into_iter().skip(first).filter(|_| check.end != CheckEnd::Passed);
    shown.for_each(|line| text.push_str(&format!("  | {}\n", exact.show(line))));
    text
}

/// A name on one line, with marks for hidden characters.
fn name_line(name: &str, width: usize) -> String {
    one_line(Shown::exact(name).as_str(), width)
}

/// A call in full, because a person must approve exactly what they saw. A process of a template is shown with the
/// files that are written for it.
fn call_text(call: &ToolCall, exact: &mut Exact) -> String {
    let process = matches!(call.name.as_str(), SCRIPT | SCRIPT_READ);
    let request = serde_json::from_value::<ProcessRequest>(call.arguments.clone()).ok().filter(|_| process);
    let Some(request) = request else {
        return format!("  {} {}\n", exact.show(&call.name), exact.show(&call.arguments.to_string()));
    };
    let path = |word: &String| {
        let named = |word: String, file: &ProcessFile| {
            word.replace(&format!("\0{}\0", file.name), &format!("<{}{}>", file.name, file.suffix))
        };
        serde_json::Value::from(request.files.iter().fold(word.clone(), named)).to_string()
    };
    let words: Vec<String> = request.argv.iter().map(path).collect();
    let mut text = format!("  {} [{}]\n", call.name, exact.show(&words.join(",")));
    let mut part = |title: &str, content: &str| {
        let (title, content) = (exact.show(title), exact.show(content.trim_end_matches(['\n', '\r', ' ', '\t'])));
        text.push_str(&format!("  {title}:\n    {}\n", content.replace('\n', "\n    ")));
    };
    for file in &request.files {
        part(&format!("file <{}{}>", file.name, file.suffix), &file.content);
    }
    if let Some(stdin) = &request.stdin {
        part("standard input", stdin);
    }
    for (name, value) in &request.variables {
        part(&format!("variable {name}"), value);
    }
    if request.inherit == Inherit::All {
        text.push_str("  inherits all environment variables of callsheet, including secrets\n");
    }
    text
}

fn writer_text(writer: &callsheet_runtime::ports::WriterView, exact: &mut Exact) -> String {
    let task = &writer.task;
    exact.count(&task.name);
    let slug = exact.show(task.slug.as_str());
    let mut text = format!("\n  {} (step {}, {slug})\n", name_line(&task.name, 80), writer.step);
    let mut line = |label: &str, value: &str| {
        if !value.is_empty() {
            // Never shortened, because a person must approve exactly what they saw.
            text.push_str(&format!("    {label}: {}\n", exact.show(value).replace('\n', "\n      ")));
        }
    };
    line("needed", &task.need);
    line("skill", &writer.skill);
    line("reason for approval", &writer.reason);
    line("for each", &task.for_each_words());
    let references: Vec<String> = task.own_references().iter().map(|reference| reference.target.to_string()).collect();
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
