//! The built binary in a copy of the example garden, with a home of its own.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// A project, the user's folders, and the scripted model that answers.
pub struct TestProject {
    folder: tempfile::TempDir,
    script: Option<PathBuf>,
    /// Whether the model followed another script before.
    switched: bool,
    /// Files that need trust were written since it was given last.
    untrusted: AtomicBool,
}

/// How a command ended.
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl TestProject {
    /// A garden whose model follows `tests/fixtures/e2e/NAME.toml`.
    pub fn with(script: &str) -> Self {
        let mut garden = Self::bare();
        garden.follow(script);
        garden
    }

    /// A folder without files, and without a model.
    pub fn empty() -> Self {
        let project = Self::bare();
        project.files().iter().for_each(|(file, _)| std::fs::remove_file(file).unwrap());
        project
    }

    /// A garden without a model.
    pub fn bare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let garden = Self { folder, script: None, switched: false, untrusted: AtomicBool::new(false) };
        std::fs::create_dir_all(garden.path("")).unwrap();
        garden.fill();
        garden
    }

    /// Makes the files of the project those of the example garden again. Callsheet's own stay.
    pub fn renew(&self) {
        self.files().iter().for_each(|(file, _)| std::fs::remove_file(file).unwrap());
        self.fill();
    }

    fn fill(&self) {
        for entry in std::fs::read_dir(super::root().join("examples/garden")).unwrap().flatten() {
            if entry.path().is_file() {
                std::fs::copy(entry.path(), self.path(entry.file_name().to_str().unwrap())).unwrap();
            }
        }
    }

    /// The model follows another script from here on.
    pub fn follow(&mut self, script: &str) {
        self.switch_to(super::root().join(format!("tests/fixtures/e2e/{script}.toml")));
    }

    /// Another file is another model, and runs that there are already have to be told.
    fn switch_to(&mut self, script: PathBuf) {
        self.switched |= self.script.as_ref().is_some_and(|before| *before != script);
        self.script = Some(script);
    }

    /// The model follows this script from here on.
    pub fn follow_text(&mut self, script: &str) {
        let file = self.folder.path().join("script.toml");
        std::fs::write(&file, script).unwrap();
        self.switch_to(file);
    }

    /// A garden whose model follows this script.
    pub fn scripted(script: &str) -> Self {
        let mut garden = Self::bare();
        garden.follow_text(script);
        garden
    }

    /// No model is named from here on.
    pub fn forget_model(&mut self) {
        self.script = None;
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().join("garden")
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The store of the project, in the state folder of the user.
    pub fn store(&self) -> PathBuf {
        let known = std::fs::read_dir(self.home().join("state/projects"));
        known
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .next()
            .unwrap_or_else(|| self.home().join("none"))
    }

    pub fn has_store(&self) -> bool {
        self.store().join("callsheet.db").exists()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.project().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A file by the hand of the user: templates, skills and prompts are trusted before the next command.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        self.plant(name, content);
        let needs = [".callsheet/templates", ".callsheet/skills", ".callsheet/prompts"];
        if needs.iter().any(|folder| name.starts_with(folder)) {
            self.untrusted.store(true, Ordering::Relaxed);
        }
    }

    /// A file that came with the project.
    pub fn plant(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), content).unwrap();
    }

    /// Every file of the project that is not Callsheet's, with its content.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        super::walk(&self.project(), &mut files);
        files.sort();
        files.into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
    }

    /// Trusts what is in the project.
    pub fn trust(&self) {
        self.untrusted.store(false, Ordering::Relaxed);
        let ended = self.plain(&["trust", "--yes"]).output().unwrap();
        // A test of a project that cannot be used says so by the command it is about.
        assert!(ended.status.code().is_some());
    }

    fn plain(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callsheet"));
        command.args(arguments).current_dir(self.project()).stdin(Stdio::null()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("CALLSHEET_HOME", self.home());
        // A request that is not routed first needs no reply for that in each script.
        command.env("CALLSHEET_PLAN", "always");
        command
    }

    /// A command in the project, nothing inherited that could name a model.
    pub fn command(&self, arguments: &[&str]) -> Command {
        if self.untrusted.load(Ordering::Relaxed) {
            self.trust();
        }
        let mut command = self.plain(arguments);
        if let Some(script) = &self.script
            && works(arguments)
        {
            command.env("CALLSHEET_MODEL", format!("scripted:{}", script.display()));
            if self.switched
                && ["resume", "continue", "retry"].contains(&arguments.first().copied().unwrap_or_default())
            {
                command.args(["--model", &self.model()]);
            }
        }
        command
    }

    /// Runs a command to its end.
    pub fn call(&self, arguments: &[&str]) -> Ended {
        Ended::from(self.command(arguments).output().unwrap())
    }

    /// The same, with the exit code that is expected.
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Ended {
        let ended = self.call(arguments);
        assert_eq!(ended.code, code, "callsheet {arguments:?}\nstdout:\n{}\nstderr:\n{}", ended.out, ended.err);
        ended
    }

    /// The scripted model of this project.
    pub fn model(&self) -> String {
        self.script.as_ref().map(|script| format!("scripted:{}", script.display())).unwrap_or_default()
    }

    /// Kills the process that drives the newest run, as a crash would.
    pub fn kill_driver(&self) {
        let runs = json_lines(&self.expect(0, &["--json", "runs"]).out);
        let owner = runs[0]["owner"].as_str().expect("a process drives the run");
        let pid = owner.split(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    /// The newest run's facts.
    pub fn facts(&self) -> Vec<serde_json::Value> {
        json_lines(&self.expect(0, &["show", "--events"]).out)
    }

    /// How many facts of a kind the newest run has.
    pub fn count(&self, event: &str) -> usize {
        self.facts().iter().filter(|fact| fact["event"] == event).count()
    }

    /// Model calls that were begun, by their key.
    pub fn asked(&self) -> Vec<String> {
        self.facts().iter().filter_map(|fact| fact["effect"].get("ask")).map(ToString::to_string).collect()
    }

    /// Whether a process of this number, as it is told itself, runs in the project. One that nobody waited for yet does not.
    pub fn runs(&self, number: &str) -> bool {
        let number = number.trim();
        std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
            let status = std::fs::read_to_string(process.path().join("status")).unwrap_or_default();
            let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
            let here = std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.path(".")));
            here && numbers.split_whitespace().last() == Some(number) && !status.contains("State:\tZ")
        })
    }

    /// The newest run's folder.
    pub fn run_folder(&self) -> PathBuf {
        let runs = self.path(".callsheet/runs");
        let mut names: Vec<PathBuf> = std::fs::read_dir(&runs).unwrap().flatten().map(|entry| entry.path()).collect();
        names.sort();
        names.pop().unwrap()
    }

    /// The name of the newest run.
    pub fn newest_run(&self) -> String {
        self.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub fn run_file(&self, name: &str) -> String {
        std::fs::read_to_string(self.run_folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn works(arguments: &[&str]) -> bool {
    let template = arguments.windows(2).any(|words| words == ["template", "run"]);
    template || works_with_lists(arguments)
}

fn works_with_lists(arguments: &[&str]) -> bool {
    arguments.first().is_some_and(|command| ["run", "plan", "resume", "continue", "retry"].contains(command))
        && !arguments.contains(&"--model")
}

/// Each line of a text as JSON.
pub fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// No control character but newline and tab.
pub fn is_harmless(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control())
}
