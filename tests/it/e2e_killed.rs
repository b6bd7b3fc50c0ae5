//! `kill -9` at many moments of all kinds of runs. What comes after is what an uninterrupted run gives: the same files, the
//! same answer, and no call that stands in the record made again. `just kills` does it more often.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::garden::{Ended, TestProject};
use crate::support::killed::{EDIT, FLOW, FLOW_SCRIPT, FOLLOW_UP, REPORT, REPORT_SCRIPT, SHEET, SHEET_SCRIPT};

/// What a person types, or does to the sheet, and the exit code that belongs to it. `RUN` is the name of the run.
enum Step {
    Type(i32, &'static [&'static str]),
    /// Changes the sheet of the run before anything else goes on.
    Edit(fn(String) -> String),
    /// The same as typing, and while the first task is at work the sheet is changed.
    TypeAndEdit(i32, &'static [&'static str], fn(String) -> String),
}

use Step::{Edit, Type, TypeAndEdit};

/// A kind of run.
struct Job<'a> {
    /// `tests/fixtures/e2e/NAME.toml`, or the script itself.
    script: &'a str,
    files: &'a [(&'a str, &'a str)],
    steps: &'a [Step],
}

/// What is left at the end.
#[derive(Debug, PartialEq)]
struct End {
    /// Files of the project, without what a command writes down each time it runs.
    files: BTreeMap<PathBuf, String>,
    answer: String,
    /// Replies and finished tools, by phase or tool, and task.
    calls: BTreeMap<String, usize>,
}

/// A kill: which step, and after which part of the time that it takes.
#[derive(Clone, Copy, Debug)]
struct Kill {
    step: usize,
    part: f64,
}

struct Played {
    project: TestProject,
    lengths: Vec<Duration>,
    answer: String,
    /// Calls that were cut off and that a person had made again.
    again: usize,
    /// The process lived when it was to be killed.
    hit: bool,
}

impl Played {
    fn of(job: &Job<'_>, kill: Option<(Kill, &[Duration])>) -> Self {
        let project = if job.script.contains("[[rule]]") {
            TestProject::scripted(job.script)
        } else {
            TestProject::with(job.script)
        };
        job.files.iter().for_each(|(name, text)| project.write(name, text));
        let mut played = Self { project, lengths: Vec::new(), answer: String::new(), again: 0, hit: false };
        for (number, step) in job.steps.iter().enumerate() {
            let begun = Instant::now();
            match kill.filter(|(kill, _)| kill.step == number) {
                Some((kill, lengths)) => played.killed(step, lengths[number].mul_f64(kill.part)),
                None => played.whole(step),
            }
            played.lengths.push(begun.elapsed());
        }
        played
    }

    fn whole(&mut self, step: &Step) {
        match step {
            Type(code, words) => {
                let ended = self.typed(words);
                self.goes_on(ended, *code);
            }
            Edit(change) => self.edit(*change),
            TypeAndEdit(code, words, change) => {
                let words = self.words(words);
                let mut child = self.spawned(&words);
                self.edit_at_work(*change);
                assert!(child.wait().unwrap().success() || *code != 0, "{words:?}");
                let ended = self.resumed(&words);
                self.goes_on(ended, *code);
            }
        }
    }

    fn killed(&mut self, step: &Step, moment: Duration) {
        let (code, words) = match step {
            Edit(change) => return self.edit(*change),
            Type(code, words) | TypeAndEdit(code, words, _) => (*code, self.words(words)),
        };
        let before = self.facts_of("run_continued");
        let mut child = self.spawned(&words);
        match step {
            // The moment counts from the edit on, so that it is made in each of them.
            TypeAndEdit(_, _, change) => {
                self.edit_at_work(*change);
                std::thread::sleep(moment / 2);
            }
            _ => std::thread::sleep(moment),
        }
        self.hit = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        let drives = ["run", "template", "continue", "resume"].contains(&words[0].as_str());
        let has_begun = match words[0].as_str() {
            "continue" => self.facts_of("run_continued") > before,
            _ => self.facts_of("run_started") > 0,
        };
        let ended = if drives && has_begun { self.resumed(&words) } else { self.again(&words) };
        self.goes_on(ended, code);
    }

    /// An answer that was noted already finds nothing to answer.
    fn again(&mut self, words: &[String]) -> Ended {
        let said = ["approve", "undo"].contains(&words[0].as_str());
        let mut ended = self.project.call(&words.iter().map(String::as_str).collect::<Vec<_>>());
        if said && ended.code == 2 {
            ended.code = 0;
        }
        ended
    }

    /// A call that was cut off and may not be repeated asks whether it is made again: the person says yes.
    fn goes_on(&mut self, mut ended: Ended, code: i32) {
        for _ in 0..3 {
            if ended.code != 3 || code == 3 {
                break;
            }
            self.project.expect(0, &["approve"]);
            self.again += 1;
            ended = self.typed(&["resume", "RUN"]);
        }
        assert_eq!(ended.code, code, "stdout:\n{}\nstderr:\n{}", ended.out, ended.err);
        if !ended.out.is_empty() {
            self.answer = ended.out;
        }
    }

    fn resumed(&self, words: &[String]) -> Ended {
        let flags = words.iter().skip_while(|word| !word.starts_with("--approval"));
        let run = self.words(&["resume", "RUN"]);
        let words: Vec<&str> = run.iter().chain(flags).map(String::as_str).collect();
        self.project.call(&words)
    }

    fn typed(&self, words: &[&str]) -> Ended {
        let words = self.words(words);
        self.project.call(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        let name = || self.project.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
        words.iter().map(|word| if *word == "RUN" { name() } else { (*word).to_owned() }).collect()
    }

    fn spawned(&self, words: &[String]) -> std::process::Child {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.project.command(&words);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn edit(&self, change: fn(String) -> String) {
        let sheet = self.project.run_folder().join("sheet.md");
        std::fs::write(&sheet, change(std::fs::read_to_string(&sheet).unwrap())).unwrap();
    }

    /// Waits until the sheet is there and its first task is at work.
    fn edit_at_work(&self, change: fn(String) -> String) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.facts_of("task_refined") + self.facts_of("references_checked") == 0 || !self.has_sheet() {
            assert!(Instant::now() < end, "no task begins");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.edit(change);
    }

    fn has_sheet(&self) -> bool {
        self.project.run_folder().join("sheet.md").exists()
    }

    fn facts_of(&self, event: &str) -> usize {
        let shown = self.project.call(&["show", "--events"]);
        let kind = format!("\"event\":\"{event}\"");
        shown.out.lines().filter(|line| line.contains(&kind)).count()
    }

    /// How often the command of the job ran.
    fn ran(&self) -> usize {
        let file = self.project.path("ran.txt");
        if file.exists() { self.project.read("ran.txt").lines().count() } else { 0 }
    }

    fn end(&self) -> End {
        let files = self.project.files().into_iter().filter(|(file, _)| !file.ends_with("ran.txt"));
        let root = self.project.project();
        let files = files.map(|(file, bytes)| {
            (file.strip_prefix(&root).unwrap().to_owned(), String::from_utf8_lossy(&bytes).into_owned())
        });
        let mut calls = BTreeMap::new();
        for fact in self.project.facts() {
            let what = match fact["event"].as_str().unwrap() {
                "reply_received" => format!("{} {}", fact["key"]["phase"], fact["key"]["task"]),
                "tool_finished" => format!("tool {} {}", fact["task"], fact["call"]),
                _ => continue,
            };
            *calls.entry(what).or_insert(0) += 1;
        }
        End { files: files.collect(), answer: self.answer.clone(), calls }
    }
}

/// Kills of each job: few here, as many as `CALLSHEET_KILLS` says in `just kills`.
fn kills() -> usize {
    std::env::var("CALLSHEET_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3)
}

fn survives(job: &Job<'_>) {
    let whole = Played::of(job, None);
    let wanted = whole.end();
    assert!(!wanted.calls.is_empty() && !wanted.answer.is_empty(), "{wanted:?}");
    let mut hits = 0;
    let mut tried = 0_u32;
    while hits < kills() {
        tried += 1;
        assert!(tried < 20 * u32::try_from(kills()).unwrap() + 20, "the runs end before they are killed");
        // Spread over steps and moments: the golden ratio leaves no gap for long.
        let part = (f64::from(tried) * 0.618_033_988_749_895).fract();
        let typed = |step: &&(usize, &Step)| !matches!(step.1, Edit(_));
        let steps: Vec<(usize, &Step)> = job.steps.iter().enumerate().filter(|step| typed(&step)).collect();
        let kill = Kill { step: steps[usize::try_from(tried).unwrap() % steps.len()].0, part };
        let played = Played::of(job, Some((kill, &whole.lengths)));
        assert_eq!(played.end(), wanted, "{kill:?} of {:?}", whole.lengths);
        assert!(played.ran() <= whole.ran() + played.again, "a command ran again, and nobody was asked: {kill:?}");
        hits += usize::from(played.hit);
    }
    eprintln!("{hits} kills");
}

#[test]
fn a_planned_request_survives_kills() {
    survives(&Job { script: "steps", files: &[], steps: &[Type(0, &["run", "read all"])] });
}

#[test]
fn a_sheet_with_writers_and_approvals_survives_kills() {
    let steps = &[
        Type(3, &["run", "--sheet", "work.md"]),
        Type(0, &["approve"]),
        Type(3, &["resume", "RUN"]),
        Type(0, &["approve"]),
        Type(0, &["resume", "RUN"]),
    ];
    survives(&Job { script: SHEET_SCRIPT, files: &[("work.md", SHEET)], steps });
}

#[test]
fn a_template_with_a_map_a_loop_and_a_script_survives_kills() {
    let files = &[
        (".callsheet/templates/flow.xml", FLOW),
        ("count.sh", "echo ran >> ran.txt\nsleep 0.1\nwc -l < water.md > lines.txt\ncat lines.txt\n"),
    ];
    let run = &["template", "run", "flow", "list:=[1,2,3]", "--approval", "never"];
    survives(&Job { script: FLOW_SCRIPT, files, steps: &[Type(0, run)] });
}

#[test]
fn a_sheet_that_calls_a_template_survives_kills() {
    let files = &[(".callsheet/templates/water.xml", REPORT)];
    survives(&Job { script: REPORT_SCRIPT, files, steps: &[Type(0, &["run", "Report who waters the barrels"])] });
}

#[test]
fn a_follow_up_survives_kills() {
    let steps = &[Type(0, &["run", "who waters?"]), Type(0, &["continue", "RUN", "# The pump\nWhat does it need?"])];
    survives(&Job { script: FOLLOW_UP, files: &[], steps });
}

#[test]
fn an_undo_survives_kills() {
    let steps = &[Type(0, &["run", "bring the notes up to date", "--approval", "never"]), Type(0, &["undo"])];
    survives(&Job { script: "writer", files: &[], steps });
}

#[test]
fn an_edit_between_processes_survives_kills() {
    let steps = &[
        Type(3, &["run", "--sheet", "work.md"]),
        Edit(|sheet| sheet.replace("Add rota.md with two people a week.", "Add rota.md with one person a week.")),
        Type(0, &["approve"]),
        Type(3, &["resume", "RUN"]),
        Type(0, &["approve"]),
        Type(0, &["resume", "RUN"]),
    ];
    survives(&Job { script: SHEET_SCRIPT, files: &[("work.md", SHEET)], steps });
}

#[test]
fn an_edit_while_tasks_are_at_work_survives_kills() {
    let change: fn(String) -> String = |sheet| sheet.replace("What the pump needs.", "What the seal costs.");
    let steps = &[TypeAndEdit(0, &["run", "--sheet", "work.md"], change)];
    survives(&Job { script: EDIT.0, files: &[("work.md", EDIT.1)], steps });
}
