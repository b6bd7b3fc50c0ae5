//! `demo`: plays a recorded run of a real job. Only the replies come from the recording. The machine, the record, the
//! approval, the kill and the undo are real, in a temporary copy of the example project.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::cli::{DemoArgs, Exit, Failure};
use crate::setup::Setup;
use crate::term::harmless;

/// The files of the example project.
const GARDEN: [(&str, &str); 5] = [
    ("AGENTS.md", include_str!("../../../examples/garden/AGENTS.md")),
    ("README.md", include_str!("../../../examples/garden/README.md")),
    ("minutes.md", include_str!("../../../examples/garden/minutes.md")),
    (PLAN, include_str!("../../../examples/garden/plan.md")),
    ("water.md", include_str!("../../../examples/garden/water.md")),
];

/// The file that the run changes.
const PLAN: &str = "plan.md";

/// The description of the machine in prompts, then one recorded call per line. `scripts/record-demo` writes it.
const TAPE: &str = include_str!("tape.jsonl");

const REQUEST: &str = include_str!("request.txt");
const CONFIG: &str = include_str!("config.toml");

/// The beginning of the line for a done task.
const DONE: &str = "✓ ";

/// Longer than anybody watches, for replies that must not arrive before the process is killed.
const NEVER_MS: u64 = 86_400_000;

/// The speed of `--fast`, as a share of the recorded time.
const FAST: f64 = 0.02;

/// The place in which the demo is played.
struct Stage {
    folder: TempDir,
    program: PathBuf,
    pace: f64,
}

pub(super) fn demo(setup: &Setup, arguments: &DemoArgs) -> Result<Exit, Failure> {
    if setup.json {
        return Err(Failure::usage("`demo` is for people and has no JSON form", "leave out --json"));
    }
    Stage::new(if arguments.fast { FAST } else { 1.0 })?.play()?;
    Ok(Exit::Complete)
}

fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::internal(
        format!("can't play the demonstration: {what}"),
        "in a source tree, `scripts/record-demo` records it again",
    )
}

impl Stage {
    fn new(pace: f64) -> Result<Self, Failure> {
        let own = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("callsheet-demo-").permissions(own).tempdir().map_err(broken)?;
        let program = std::env::current_exe().map_err(broken)?;
        let stage = Self { folder, program, pace };
        stage.write("home/config.toml", CONFIG)?;
        GARDEN.iter().try_for_each(|(name, text)| stage.write(&format!("garden/{name}"), text))?;
        stage.unpack("tape", false)?;
        stage.unpack("held", true)?;
        Ok(stage)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.path().join(name);
        let folder = path.parent().unwrap_or(self.folder.path());
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text)).map_err(broken)
    }

    /// Writes the recording to a folder. With `held`, only the first call that executes a task is answered.
    fn unpack(&self, folder: &str, held: bool) -> Result<(), Failure> {
        let mut executed = 0;
        for (number, line) in TAPE.lines().enumerate() {
            let mut call: Value = serde_json::from_str(line).map_err(broken)?;
            let label = call.pointer("/request/label").and_then(Value::as_str).unwrap_or_default();
            executed += u32::from(label.starts_with("execute "));
            if held
                && executed > 1
                && let Some(took) = call.get_mut("took_ms")
            {
                *took = NEVER_MS.into();
            }
            let name = if number == 0 { ".environment".to_owned() } else { format!("{number:04}-call.json") };
            self.write(&format!("{folder}/{name}"), &call.to_string())?;
        }
        Ok(())
    }

    fn play(&self) -> Result<(), Failure> {
        say(include_str!("words/begin.txt"))?;
        if TAPE.contains(r#""id": "scripted:"#) {
            say(include_str!("words/by_hand.txt"))?;
        }
        self.pause(3);
        say(include_str!("words/plan.txt"))?;
        self.pause(2);
        let run = ["run", REQUEST.trim(), "--approval", "before-apply"];
        self.killed(&run)?;
        self.pause(3);
        say(include_str!("words/resume.txt"))?;
        self.pause(2);
        self.call(&["resume"], Exit::Waiting)?;
        self.pause(4);
        say(include_str!("words/approve.txt"))?;
        self.pause(2);
        self.call(&["approve"], Exit::Complete)?;
        self.call(&["resume"], Exit::Complete)?;
        self.pause(3);
        say(include_str!("words/undo.txt"))?;
        self.pause(2);
        self.call(&["undo"], Exit::Complete)?;
        let now = std::fs::read_to_string(self.folder.path().join("garden").join(PLAN)).map_err(broken)?;
        if GARDEN.iter().any(|(name, text)| *name == PLAN && *text != now) {
            return Err(broken(format!("{PLAN} was not restored")));
        }
        say(include_str!("words/end.txt"))
    }

    fn pause(&self, seconds: u64) {
        std::thread::sleep(Duration::from_secs(seconds).mul_f64(self.pace));
    }

    /// Runs a command to its end and shows its output.
    fn call(&self, words: &[&str], expected: Exit) -> Result<(), Failure> {
        let (mut child, lines) = self.start(words, "tape")?;
        for line in lines.lines() {
            show(&line.map_err(broken)?)?;
        }
        let status = child.wait().map_err(broken)?;
        if status.code() == Some(i32::from(expected as u8)) {
            Ok(())
        } else {
            Err(broken(format!("it ended with {status}")))
        }
    }

    /// Runs a command that is killed when its first task is done.
    fn killed(&self, words: &[&str]) -> Result<(), Failure> {
        let (mut child, lines) = self.start(words, "held")?;
        let mut killed = false;
        for line in lines.lines() {
            let line = line.map_err(broken)?;
            show(&line)?;
            if !killed && line.starts_with(DONE) {
                killed = true;
                self.pause(1);
                child.kill().map_err(broken)?;
                say(&format!("\n$ kill -9 {}", child.id()))?;
            }
        }
        let status = child.wait().map_err(broken)?;
        if killed { Ok(()) } else { Err(broken(format!("it ended with {status}"))) }
    }

    /// Starts a command of this program, with its output as one stream of lines.
    fn start(
        &self,
        words: &[&str],
        tape: &str,
    ) -> Result<(std::process::Child, BufReader<std::io::PipeReader>), Failure> {
        let shown: Vec<String> = words
            .iter()
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() })
            .collect();
        say(&format!("\n$ callsheet {}", shown.join(" ")))?;
        let (reader, writer) = std::io::pipe().map_err(broken)?;
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(self.folder.path().join("garden"));
        if words.first().is_some_and(|word| ["run", "resume"].contains(word)) {
            command.arg("--plain").arg("--replay").arg(self.folder.path().join(tape));
            command.arg("--set").arg(format!("pace={}", self.pace));
        }
        let inherited = std::env::vars_os().map(|(name, _)| name);
        for name in inherited.filter(|name| name.to_string_lossy().starts_with("CALLSHEET_")) {
            command.env_remove(name);
        }
        command.env("CALLSHEET_HOME", self.folder.path().join("home"));
        command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(broken)?).stderr(writer);
        let child = command.spawn().map_err(broken)?;
        Ok((child, BufReader::new(reader)))
    }
}

fn say(text: &str) -> Result<(), Failure> {
    super::print(&format!("{}\n", text.trim_end()))
}

/// Prints a line of a command's output.
fn show(line: &str) -> Result<(), Failure> {
    super::print(harmless(&format!("  │ {line}")).trim_end())?;
    super::print("\n")
}
