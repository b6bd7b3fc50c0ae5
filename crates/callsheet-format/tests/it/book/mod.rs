//! The book of real replies: each is read as the product reads it, and compared with the verdict of a person. The test
//! (`tests/book.rs`) and the report (`examples/replies.rs`) share this.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "fixtures; a mistake in one fails at once")]
#![allow(dead_code, reason = "the test and the report use their parts")]

pub mod case;
pub mod words;
pub mod world;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use callsheet_core::issue::Severity;
use callsheet_format::reading::{ReadContext, Reading};
use callsheet_format::reply::task::{
    TurnInput, read_execution, read_loop_turn, read_merge, read_refinement, read_write_execution,
};
use callsheet_format::reply::{ReplyKind, lookups, read_continuation, read_iteration, read_plan};
use case::Case;

/// The phases of the book, one folder each.
pub const PHASES: [&str; 8] =
    ["plan", "continuation", "refinement", "execution", "write", "loop", "merge", "iteration"];

/// What reading made of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub accepted: bool,
    pub repairs: BTreeMap<String, u32>,
    pub errors: BTreeMap<String, u32>,
    pub warnings: BTreeMap<String, u32>,
    /// The value, the repairs and the issues in words.
    pub words: String,
}

impl Seen {
    /// The verdict as expectations write it.
    pub fn verdict(&self) -> String {
        let list = |codes: &BTreeMap<String, u32>| {
            codes.iter().map(|(code, count)| format!("{code} {count}")).collect::<Vec<_>>().join(", ")
        };
        if !self.accepted {
            return format!("re-asked: {}", list(&self.errors));
        }
        let how = if self.repairs.is_empty() {
            "accepted as is".to_owned()
        } else {
            format!("accepted with repairs: {}", list(&self.repairs))
        };
        if self.warnings.is_empty() { how } else { format!("{how}; warnings: {}", list(&self.warnings)) }
    }
}

/// One reply of the book.
#[derive(Clone, Debug)]
pub struct Entry {
    pub phase: &'static str,
    /// `small-a`, named by its size alone (see the README of the book).
    pub model: String,
    pub request: String,
    pub seed: String,
    pub path: PathBuf,
    /// What a person says: `accept`, `refuse` or `refuse by meaning`, the value, and why.
    pub judged: String,
    /// The verdict that the expectation holds.
    pub read: String,
    /// Further header lines of the expectation.
    pub flags: Vec<String>,
    pub reply: String,
    pub words: String,
    pub case: Case,
}

impl Entry {
    /// A person would accept it for what it is.
    pub fn is_acceptable(&self) -> bool {
        self.judged.starts_with("accept")
    }

    /// A person would refuse it for what it means alone, which code does not judge: it may be accepted.
    pub fn is_refused_by_meaning(&self) -> bool {
        self.judged.starts_with("refuse by meaning")
    }

    pub fn is_judged(&self) -> bool {
        self.is_acceptable() || self.judged.starts_with("refuse")
    }

    fn load(path: &Path, phase: &'static str) -> Self {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let parts: Vec<&str> = stem.split('-').collect();
        let (seed, rest) = parts.split_last().expect("MODEL-REQUEST-SEED");
        let (model, request) = rest.split_at_checked(2).expect("small-x-REQUEST-SEED");
        let expect = fs::read_to_string(path.with_extension("expect")).unwrap_or_default();
        let (header, words) = expect.split_once("\n\n").unwrap_or((expect.trim_end(), ""));
        let line = |key: &str| header.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("?").to_owned();
        Self {
            phase,
            model: model.join("-"),
            request: request.join("-"),
            seed: (*seed).to_owned(),
            judged: line("judged: "),
            read: line("read: "),
            flags: header.lines().filter_map(|line| line.strip_prefix("flag: ")).map(str::to_owned).collect(),
            reply: fs::read_to_string(path).expect("a reply"),
            words: words.to_owned(),
            case: Case::load(phase, &request.join("-")),
            path: path.to_owned(),
        }
    }

    /// Reads the reply in the world it was asked in.
    pub fn see(&self) -> Seen {
        let mut context = self.case.context();
        context.length_stop = self.flags.iter().any(|flag| flag == "length-stop");
        let text = self.reply.as_str();
        match self.phase {
            "plan" => list(ReplyKind::Plan, text, &mut context, &self.case, read_plan),
            "continuation" => list(ReplyKind::Continuation, text, &mut context, &self.case, read_continuation),
            "iteration" => list(ReplyKind::Iteration, text, &mut context, &self.case, read_iteration),
            "refinement" => {
                answer(ReplyKind::Refinement, text, &mut context, &self.case);
                seen(&read_refinement(text, &context), words::refinement)
            }
            "execution" => {
                answer(ReplyKind::Execution, text, &mut context, &self.case);
                seen(&read_execution(text, &context), words::execution)
            }
            "merge" => {
                answer(ReplyKind::Merge, text, &mut context, &self.case);
                seen(&read_merge(text, &context), words::execution)
            }
            "write" => {
                answer(ReplyKind::WriteExecution, text, &mut context, &self.case);
                seen(&read_write_execution(text, &context), words::write)
            }
            _ => {
                answer(ReplyKind::Execution, text, &mut context, &self.case);
                let input = TurnInput { native: &[], taken_ids: &self.case.taken_ids, tools_offered: true };
                seen(&read_loop_turn(text, input, &context), words::turn)
            }
        }
    }

    /// Rewrites the expectation; the person's words stay.
    pub fn bless(&self, seen: &Seen) {
        let flags: String = self.flags.iter().map(|flag| format!("flag: {flag}\n")).collect();
        let text = format!("judged: {}\n{flags}read: {}\n\n{}", self.judged, seen.verdict(), seen.words);
        fs::write(self.path.with_extension("expect"), text).expect("write the expectation");
    }
}

fn list(
    kind: ReplyKind,
    text: &str,
    context: &mut ReadContext,
    case: &Case,
    read: impl Fn(&str, &ReadContext) -> Reading<callsheet_format::reply::ListReply>,
) -> Seen {
    answer(kind, text, context, case);
    seen(&read(text, context), words::list)
}

fn answer(kind: ReplyKind, text: &str, context: &mut ReadContext, case: &Case) {
    for _ in 0..4 {
        let wanted = lookups(kind, text, context);
        if wanted.is_empty() {
            return;
        }
        for lookup in wanted {
            let answer = case.world.answer(&lookup);
            context.answers.insert(lookup, answer);
        }
    }
}

fn seen<T>(reading: &Reading<T>, words: impl Fn(&T) -> String) -> Seen {
    let count = |severity: Severity| {
        let mut codes = BTreeMap::new();
        for issue in reading.issues.iter().filter(|issue| issue.severity == severity) {
            *codes.entry(issue.code.to_string()).or_insert(0) += 1;
        }
        codes
    };
    let mut repairs = BTreeMap::new();
    for repair in &reading.repairs {
        *repairs.entry(repair.code.to_string()).or_insert(0) += 1;
    }
    Seen {
        accepted: reading.is_accepted(),
        repairs,
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        words: words(&reading.value) + &words::notes(reading),
    }
}

/// The folder of the book.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/book")
}

/// Every reply, in order of phase and name.
pub fn entries() -> Vec<Entry> {
    let mut all = Vec::new();
    for phase in PHASES {
        let Ok(files) = fs::read_dir(folder().join(phase)) else { continue };
        let mut paths: Vec<PathBuf> = files
            .map(|entry| entry.expect("entry").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
            .collect();
        paths.sort();
        all.extend(paths.iter().map(|path| Entry::load(path, phase)));
    }
    all
}
