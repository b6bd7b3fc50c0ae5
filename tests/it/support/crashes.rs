//! `kill -9` at many moments of a run, wherever it is hosted. What comes after is what an uninterrupted run gives: the same
//! end, answer and files. No reply that stands in the record is asked for again, and no command runs again unasked.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::garden::{Ended, TestProject, json_lines};

/// A kind of run.
pub struct Case {
    pub name: &'static str,
    /// `tests/fixtures/e2e/NAME.toml`, or the script itself.
    pub script: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    /// What a person does, one thing after the other. Each waits until the run has ended or waits for the person.
    pub acts: &'static [Act],
}

/// What a person does.
pub enum Act {
    /// Types a command that drives a run. `RUN` is the name of the run.
    Drive(&'static [&'static str]),
    /// The same, and changes the sheet while the first task is at work.
    DriveAndEdit(&'static [&'static str], Edit),
    /// Approves what waits.
    Approve,
    /// Reverts the changes of the run.
    Undo,
    /// Changes the sheet of the run.
    Edit(Edit),
}

/// A change of a sheet.
pub type Edit = fn(String) -> String;

/// A kill, this long after an act begins.
#[derive(Clone, Copy, Debug)]
pub struct Kill {
    /// A place that has several things to kill chooses by this number.
    pub number: usize,
    pub after: Duration,
}

/// Where runs are hosted.
pub trait Place {
    /// Prepares the project of a case as if nothing had ever run there.
    fn renew(&mut self, case: &Case);

    /// Does something and waits until the run has ended or waits for the person. With a kill, the person then does what
    /// is necessary to go on. Returns whether the kill hit the run at work.
    fn act(&mut self, act: &Act, kill: Option<Kill>) -> bool;

    /// Lets the run go on after an answer.
    fn go_on(&mut self);

    /// A command about the runs of this place.
    fn call(&self, words: &[&str]) -> Ended;

    fn project(&self) -> &TestProject;

    /// The name of the run.
    fn run(&self) -> String;
}

/// What is left of a run.
#[derive(Debug, PartialEq)]
pub struct End {
    pub outcome: Value,
    pub answer: Value,
    pub tasks: Value,
    /// Replies and finished tools, by phase or tool, and task.
    pub calls: BTreeMap<String, usize>,
    /// Files of the project, without what a command writes down each time it runs.
    pub files: BTreeMap<PathBuf, String>,
}

/// A run from its beginning to its end.
struct Played {
    end: End,
    /// How long each act took.
    lengths: Vec<Duration>,
    /// Calls that were cut off and that the person had made again.
    again: usize,
    /// How often the command of the case ran.
    ran: usize,
    hit: bool,
}

impl Case {
    /// A project for it.
    pub fn project(&self) -> TestProject {
        let project = if self.script.contains("[[rule]]") {
            TestProject::scripted(self.script)
        } else {
            TestProject::with(self.script)
        };
        self.write_files(&project);
        project
    }

    pub fn write_files(&self, project: &TestProject) {
        self.files.iter().for_each(|(name, text)| project.write(name, text));
    }
}

impl End {
    /// The end of a run, from what commands show of it.
    pub fn of(project: &TestProject, shown: &str, facts: &[Value]) -> Self {
        let shown: Value = serde_json::from_str(shown.trim()).expect("a run is shown");
        let mut calls = BTreeMap::new();
        for fact in facts {
            let what = match fact["event"].as_str().unwrap() {
                "reply_received" => format!("{} {}", fact["key"]["phase"], fact["key"]["task"]),
                "tool_finished" => format!("tool {} {}", fact["task"], fact["call"]),
                _ => continue,
            };
            *calls.entry(what).or_insert(0) += 1;
        }
        let root = project.project();
        let files = project.files().into_iter().filter(|(file, _)| !file.ends_with("ran.txt"));
        let files = files.map(|(file, bytes)| {
            (file.strip_prefix(&root).unwrap().to_owned(), String::from_utf8_lossy(&bytes).into_owned())
        });
        let part = |name: &str| shown[name].clone();
        let answer =
            if shown["task_result"].is_null() { part("answer") } else { shown["task_result"]["content"].clone() };
        Self { outcome: part("outcome"), answer, tasks: part("tasks"), calls, files: files.collect() }
    }
}

/// The end of an uninterrupted run.
pub fn end_of(case: &Case, place: &mut dyn Place) -> End {
    play(place, case, None).end
}

/// Plays a case again and again, each time with a kill at another moment, until so many of them hit. Each end is the wanted
/// one.
pub fn survives(case: &Case, place: &mut dyn Place, wanted: &End, kills: usize) {
    let mut whole = play(place, case, None);
    assert_eq!(whole.end, *wanted);
    assert!(!wanted.calls.is_empty() && !wanted.answer.is_null(), "{wanted:?}");
    let acts = case.acts.iter().enumerate().filter(|(_, act)| !matches!(act, Act::Edit(_)));
    let acts: Vec<usize> = acts.map(|(number, _)| number).collect();
    let (mut hits, mut tried) = (0, 0);
    while hits < kills {
        tried += 1;
        assert!(tried < 20 * kills + 20, "the runs end before they are killed");
        // Spread over acts and moments: the golden ratio leaves no gap for long.
        let part = (f64::from(u32::try_from(tried).unwrap()) * 0.618_033_988_749_895).fract();
        let at = acts[tried % acts.len()];
        let kill = Kill { number: tried + tried / acts.len(), after: whole.lengths[at].mul_f64(part) };
        let played = play(place, case, Some((at, kill)));
        let when = format!("{kill:?} in act {at}, run {}", place.run());
        assert_eq!(played.end, *wanted, "{when}");
        assert!(played.ran <= whole.ran + played.again, "a command ran again, and nobody was asked: {when}");
        hits += usize::from(played.hit);
        if !played.hit {
            // The machine was busier before, and a run takes less time than it seemed to.
            let lengths = whole.lengths.iter_mut().zip(played.lengths);
            lengths.for_each(|(length, now)| *length = now.min(*length));
        }
    }
    eprintln!("{}: {hits} kills", case.name);
}

fn play(place: &mut dyn Place, case: &Case, kill: Option<(usize, Kill)>) -> Played {
    place.renew(case);
    let (mut lengths, mut again, mut hit) = (Vec::new(), 0, false);
    for (number, act) in case.acts.iter().enumerate() {
        let begun = Instant::now();
        hit |= place.act(act, kill.filter(|(at, _)| *at == number).map(|(_, kill)| kill));
        again += answer_again(place);
        lengths.push(begun.elapsed());
    }
    let run = place.run();
    let facts = json_lines(&place.call(&["show", &run, "--events"]).out);
    let end = End::of(place.project(), &place.call(&["--json", "show", &run]).out, &facts);
    Played { end, lengths, again, ran: ran(place.project()), hit }
}

/// A call that was cut off and may not be repeated asks whether it is made again: the person says yes. Returns how many did.
fn answer_again(place: &mut dyn Place) -> usize {
    let mut again = 0;
    for _ in 0..5 {
        let run = place.run();
        let shown = place.call(&["--json", "show", &run]);
        let shown: Value = serde_json::from_str(shown.out.trim()).unwrap_or_else(|_| panic!("{}", shown.err));
        let asked =
            shown["waits"].as_array().map_or(0, |waits| waits.iter().filter(|gate| gate["again"] == true).count());
        if asked == 0 {
            return again;
        }
        let approved = place.call(&["approve", &run]);
        assert_eq!(approved.code, 0, "{}", approved.err);
        again += asked;
        place.go_on();
    }
    panic!("{} asks again and again", place.run());
}

/// How often the command of a case ran.
fn ran(project: &TestProject) -> usize {
    if project.path("ran.txt").exists() { project.read("ran.txt").lines().count() } else { 0 }
}
