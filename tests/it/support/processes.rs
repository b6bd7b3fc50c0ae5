//! Runs as processes of this machine, which are killed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::crashes::{Act, Case, Edit, Kill, Place};
use super::garden::{Ended, TestProject};

/// How long a run may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// Processes of this machine.
pub struct Processes(TestProject);

impl Processes {
    pub fn of(case: &Case) -> Self {
        Self(case.project())
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        words.iter().map(|word| if *word == "RUN" { self.run() } else { (*word).to_owned() }).collect()
    }

    fn spawned(&self, words: &[String]) -> Child {
        let mut command = self.0.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// After a kill: a run that has begun is resumed, and anything else is typed again. An answer that was noted already
    /// finds nothing to answer.
    fn recover(&self, words: &[String], before: usize) {
        let has_begun = match words[0].as_str() {
            "run" | "template" => self.count("run_started") > 0,
            "continue" => self.count("run_continued") > before,
            _ => false,
        };
        let words = if has_begun { self.words(&["resume", "RUN"]) } else { words.to_vec() };
        let ended = self.call(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let answers = ["approve", "undo"].contains(&words[0].as_str());
        assert!([0, 3].contains(&ended.code) || (answers && ended.code == 2), "{words:?}: {}", ended.err);
    }

    fn count(&self, event: &str) -> usize {
        let kind = format!("\"event\":\"{event}\"");
        self.call(&["show", "--events"]).out.lines().filter(|line| line.contains(&kind)).count()
    }

    fn edit(&self, change: Edit) {
        let sheet = self.0.run_folder().join("sheet.md");
        std::fs::write(&sheet, change(std::fs::read_to_string(&sheet).unwrap())).unwrap();
    }

    /// Waits until the sheet is there and its first task is at work.
    fn edit_at_work(&self, change: Edit) {
        let end = Instant::now() + PATIENCE;
        while self.count("task_refined") + self.count("references_checked") == 0
            || !self.0.run_folder().join("sheet.md").exists()
        {
            assert!(Instant::now() < end, "no task begins");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.edit(change);
    }
}

/// Whether a process ended before this moment. `None` waits for its end.
fn ends_before(child: &mut Child, moment: Option<Instant>) -> bool {
    let Some(moment) = moment else { return child.wait().is_ok() };
    while Instant::now() < moment {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

impl Place for Processes {
    fn renew(&mut self, case: &Case) {
        self.0 = case.project();
    }

    fn act(&mut self, act: &Act, kill: Option<Kill>) -> bool {
        let typed: Vec<Vec<String>> = match act {
            Act::Edit(change) => {
                self.edit(*change);
                return false;
            }
            Act::Drive(words) | Act::DriveAndEdit(words, _) => vec![self.words(words)],
            Act::Approve => vec![self.words(&["approve", "RUN"]), self.words(&["resume", "RUN"])],
            Act::Undo => vec![self.words(&["undo", "RUN"])],
        };
        let mut moment = kill.map(|kill| Instant::now() + kill.after);
        let mut hit = false;
        for words in typed {
            let before = self.count("run_continued");
            let mut child = self.spawned(&words);
            if let Act::DriveAndEdit(_, change) = act {
                // The moment counts from the edit on, so that it is made in each run.
                self.edit_at_work(*change);
                moment = kill.map(|kill| Instant::now() + kill.after / 2);
            }
            if ends_before(&mut child, moment) {
                let code = child.wait().unwrap().code();
                assert!(matches!(code, Some(0 | 3)), "{words:?} ended with {code:?}");
                continue;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            (hit, moment) = (true, None);
            self.recover(&words, before);
        }
        hit
    }

    fn go_on(&mut self) {
        let resumed = self.call(&["resume", &self.run()]);
        assert!([0, 3].contains(&resumed.code), "{}", resumed.err);
    }

    fn call(&self, words: &[&str]) -> Ended {
        self.0.call(words)
    }

    fn project(&self) -> &TestProject {
        &self.0
    }

    fn run(&self) -> String {
        self.0.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
    }
}
