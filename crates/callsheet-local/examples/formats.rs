//! Whether the grammars hold small models to every form, and what that costs:
//! `cargo run --release -p callsheet-local --features engine --example formats -- FILE.gguf [SEEDS] [TOKENS] [FREE] [FORM] [--show]`.
//!
//! For each form it asks for SEEDS replies of at most TOKENS tokens through the grammar and lets the real reader judge
//! them; a reply without repair and without issue of its form is valid, one that the limit cut is counted apart. After the first
//! FREE of them the same prompt is continued without a grammar for as many tokens, right after, to compare the time a token
//! takes. Invalid and cut replies are printed in full, with --show all of them. FORM names one form to measure it alone.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use callsheet_core::issue::{Issue, Repair};
use callsheet_core::names::slug_of;
use callsheet_core::nouns::{
    BlobId, RepeatClass, Skill, SkillForm, SkillLayer, SkillPolicy, SkillSource, Task, ToolEffect, ToolSpec,
};
use callsheet_core::record::StopReason;
use callsheet_format::grammar;
use callsheet_format::grammar::{EditableFile, Form, ListShape, WriteOffer};
use callsheet_format::reading::{Answer, Candidates, FileFacts, KnownTask, Lookup, ReadContext, Reading};
use callsheet_format::reply::task::{
    TurnInput, read_execution, read_loop_turn, read_merge, read_refinement, read_write_execution,
};
use callsheet_format::reply::{ReplyKind, lookups, read_continuation, read_iteration, read_plan};
use callsheet_local::{EmbeddedModel, EmbeddedOptions, Timing};
use callsheet_runtime::ports::{Constraint, Message, Model, ModelFault, ModelRequest};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const SYSTEM: &str = include_str!("prompts/formats.md");
const REQUESTS: [&str; 4] = [
    "Write a short proposal for a community garden.",
    "Find all TODO comments of the project and report them.",
    "Compare two databases for a small web shop.",
    "Explain in the manual how retries are counted.",
];
const FORMS: [&str; 9] =
    ["plan", "iteration", "continuation", "refinement", "execution", "merge", "turn", "last turn", "write execution"];
const SKILLS: [&str; 4] = ["find_code", "read_docs", "review", "write_docs"];
const LINKS: [&str; 3] = ["[Readme](README.md)", "[Net](src/net.rs#L1-L9)", "[Find it](#find-it-results)"];
const FILES: [(&str, bool); 2] = [("README.md", true), ("src/net.rs", false)];
/// Codes that judge the content, which no grammar knows: texts that do not occur, lines that do not exist.
const CONTENT: [&str; 14] = [
    "excerpt-not-found",
    "excerpt-ambiguous",
    "lines-out-of-range",
    "symbol-not-found",
    "symbol-ambiguous",
    "symbol-unsupported",
    "file-exists",
    "change-overlap",
    "link-broken",
    "call-path-missing",
    "skill-missing",
    "skill-unlikely",
    "output-unread",
    "unchanged-unquoted",
];

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, parameters| ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters,
        effect: ToolEffect::Read,
        repeat: RepeatClass::Read,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    };
    let path =
        json!({"type": "object", "properties": {"path": {"type": "string", "maxLength": 60}}, "required": ["path"]});
    let search = json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "maxLength": 40},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50}
        },
        "required": ["pattern"]
    });
    vec![tool("read_file", path), tool("search_text", search)]
}

fn form(name: &str) -> Form {
    let references = texts(&LINKS);
    let shape = ListShape { references: &references, max_sections: 2, max_tasks: 1, first_number: 1 };
    let open = texts(&["Review 1"]);
    match name {
        "plan" => grammar::plan(&shape),
        "iteration" => grammar::iteration(&shape, &open),
        "continuation" => grammar::continuation(&shape, &open),
        "refinement" => grammar::refinement(&references, &tools(), true),
        "execution" => grammar::execution(),
        "merge" => grammar::merge(),
        "turn" => grammar::loop_turn(&tools()),
        "last turn" => grammar::loop_turn(&[]),
        _ => {
            let file = |(path, shown_in_full): (&str, bool)| EditableFile { path: path.into(), shown_in_full };
            grammar::write_execution(&WriteOffer::of(&FILES.map(file), None))
        }
    }
}

fn content(path: &str) -> String {
    (1..=40).map(|line| format!("line {line} of {path}\n")).collect()
}

fn task(name: &str, skill: Option<&str>) -> Task {
    Task {
        name: name.into(),
        slug: slug_of(name),
        aliases: Vec::new(),
        need: "Look at the result.".into(),
        skill: skill.map(str::to_owned),
        for_each: None,
        references: Vec::new(),
        expected: "A list.".into(),
        approval: false,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    }
}

fn context(cut: bool) -> ReadContext {
    let skill = |name: &&str| Skill {
        name: (*name).into(),
        description: String::new(),
        form: SkillForm::SingleFile,
        source: SkillSource { layer: SkillLayer::Bundled, path: String::new() },
        refinement: String::new(),
        execution: String::new(),
        examples: Vec::new(),
        input_requirements: String::new(),
        policy: SkillPolicy { tools: texts(&["read_file", "search_text"]), ..SkillPolicy::default() },
        text: String::new(),
    };
    let known = |name: &str, done: bool| KnownTask {
        task: task(name, Some("review")),
        step: (!done).then_some(0),
        done,
        denied: false,
        headings: Vec::new(),
        details: Vec::new(),
        tokens: 10,
        writer: false,
    };
    let shown = |full: bool| {
        let files = FILES.iter().filter(move |(_, whole)| *whole == full);
        files.map(|(path, _)| ((*path).to_owned(), BlobId::of(content(path).as_bytes()))).collect()
    };
    ReadContext {
        catalog: SKILLS.iter().map(skill).collect(),
        tools: tools().into_iter().map(Arc::new).collect(),
        tasks: vec![known("Find it", true).into(), known("Review 1", false).into()].into(),
        taken: [slug_of("Find it")].into(),
        current: Some(task("Review 1", Some("review"))),
        prompt_budget: 24_000,
        reference_budget: 8_000,
        shown_in_full: shown(true),
        shown_in_part: shown(false),
        length_stop: cut,
        ..ReadContext::default()
    }
}

fn answer(lookup: &Lookup) -> Answer {
    let known = |path: &str| FILES.iter().any(|(known, _)| *known == path);
    match lookup {
        Lookup::Path { path, .. } if known(path) => {
            Answer::File(FileFacts { path: path.clone(), lines: 40, ..FileFacts::default() })
        }
        Lookup::Content(path) if known(path) => Answer::Content(content(path)),
        Lookup::Glob(_) => Answer::Matches(Vec::new()),
        _ => Answer::Missing(Candidates::default()),
    }
}

/// What the reader of the form says against the text: repairs, and issues that are not of its content.
fn complaints(name: &str, text: &str) -> Vec<String> {
    let mut context = context(false);
    let kind = match name {
        "plan" => ReplyKind::Plan,
        "iteration" => ReplyKind::Iteration,
        "continuation" => ReplyKind::Continuation,
        "refinement" => ReplyKind::Refinement,
        "merge" => ReplyKind::Merge,
        "write execution" => ReplyKind::WriteExecution,
        _ => ReplyKind::Execution,
    };
    for _ in 0..4 {
        for lookup in lookups(kind, text, &context) {
            let answer = answer(&lookup);
            context.answers.insert(lookup, answer);
        }
    }
    let taken = BTreeSet::new();
    let turn = TurnInput { native: &[], taken_ids: &taken, tools_offered: name == "turn" };
    match kind {
        ReplyKind::Plan => told(read_plan(text, &context)),
        ReplyKind::Iteration => told(read_iteration(text, &context)),
        ReplyKind::Continuation => told(read_continuation(text, &context)),
        ReplyKind::Refinement => told(read_refinement(text, &context)),
        ReplyKind::Merge => told(read_merge(text, &context)),
        ReplyKind::WriteExecution => told(read_write_execution(text, &context)),
        _ if name.ends_with("turn") => told(read_loop_turn(text, turn, &context)),
        _ => told(read_execution(text, &context)),
    }
}

fn told<T>(reading: Reading<T>) -> Vec<String> {
    // Two equal calls are one call; a grammar cannot compare them.
    let repairs = reading.repairs.iter().filter(|repair| repair.code.as_str() != "call-deduplicated");
    let issues = reading.issues.iter().filter(|issue| !CONTENT.contains(&issue.code.as_str()));
    let repairs = repairs.map(|Repair { code, before, after, .. }| format!("repair {code}: {before:?} -> {after:?}"));
    repairs.chain(issues.map(Issue::to_string)).collect()
}

fn request(name: &str, seed: u64, tokens: u32, held: bool) -> ModelRequest {
    let index = usize::try_from(seed).unwrap_or(0) % REQUESTS.len();
    ModelRequest {
        label: name.into(),
        system: SYSTEM.into(),
        messages: vec![Message::user(REQUESTS[index])],
        tools: Vec::new(),
        native_tools: Vec::new(),
        constraint: held.then(|| Constraint { grammar: Some(form(name).grammar()), ..Constraint::default() }),
        max_output_tokens: tokens,
        temperature: Some(0.7),
        seed: Some(seed),
        deadline: Duration::from_secs(3_600),
    }
}

#[derive(Default)]
struct Tally {
    replies: u32,
    valid: u32,
    cut: u32,
    texts: BTreeSet<String>,
    held: Timing,
    /// The replies that were also written without a grammar.
    paired: Timing,
    free: Timing,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.replies += other.replies;
        self.valid += other.valid;
        self.cut += other.cut;
        self.texts.extend(other.texts.iter().cloned());
        self.held = sum(self.held, other.held);
        self.paired = sum(self.paired, other.paired);
        self.free = sum(self.free, other.free);
    }
}

fn sum(one: Timing, other: Timing) -> Timing {
    Timing {
        tokens: one.tokens + other.tokens,
        forced: one.forced + other.forced,
        decode: one.decode + other.decode,
        constraint: one.constraint + other.constraint,
        sample: one.sample + other.sample,
    }
}

fn since(now: Timing, before: Timing) -> Timing {
    Timing {
        tokens: now.tokens - before.tokens,
        forced: now.forced - before.forced,
        decode: now.decode.saturating_sub(before.decode),
        constraint: now.constraint.saturating_sub(before.constraint),
        sample: now.sample.saturating_sub(before.sample),
    }
}

struct Plan {
    path: PathBuf,
    seeds: u64,
    tokens: u32,
    free: u64,
    form: Option<String>,
    show: bool,
}

impl Plan {
    fn of(arguments: impl Iterator<Item = String>) -> Option<Self> {
        let (flags, words): (Vec<String>, Vec<String>) = arguments.partition(|argument| argument.starts_with("--"));
        let number = |at: usize| words.get(at).and_then(|word| word.parse().ok());
        Some(Self {
            path: PathBuf::from(words.first()?),
            seeds: number(1).unwrap_or(12),
            tokens: number(2).and_then(|tokens| u32::try_from(tokens).ok()).unwrap_or(400),
            free: number(3).unwrap_or(1),
            form: words.get(4).cloned(),
            show: flags.iter().any(|flag| flag == "--show"),
        })
    }
}

async fn measure(plan: &Plan) -> Result<bool, Box<dyn std::error::Error>> {
    let options = EmbeddedOptions { window: Some(2_048), ..EmbeddedOptions::default() };
    let model = EmbeddedModel::load(&plan.path, &options)?;
    println!("{} parameters, {} replies a form, at most {} tokens", model.parameters(), plan.seeds, plan.tokens);
    let mut all = Tally::default();
    for name in FORMS.into_iter().filter(|name| plan.form.as_deref().is_none_or(|form| form == *name)) {
        let mut tally = Tally::default();
        for seed in 0..plan.seeds {
            one(&model, name, seed, plan, &mut tally).await?;
        }
        show(name, &tally);
        all.add(&tally);
    }
    show("all", &all);
    Ok(all.valid == all.replies)
}

async fn one(model: &EmbeddedModel, name: &str, seed: u64, plan: &Plan, tally: &mut Tally) -> Result<(), ModelFault> {
    let before = model.timing();
    let ask = request(name, seed, plan.tokens, true);
    let reply = model.ask(&ask, &|_| {}, &CancellationToken::new()).await?;
    let held = since(model.timing(), before);
    tally.replies += 1;
    tally.held = sum(tally.held, held);
    let is_cut = reply.stop == StopReason::Length;
    let complaints = complaints(name, &reply.text);
    let word = match (is_cut, complaints.is_empty()) {
        (true, _) => "CUT",
        (false, true) => "valid",
        (false, false) => "INVALID",
    };
    tally.cut += u32::from(is_cut);
    tally.valid += u32::from(word == "valid");
    if plan.show || word != "valid" {
        println!("{word} {name}, seed {seed}:\n{}\n--\n{}\n--", complaints.join("\n"), reply.text);
    }
    tally.texts.insert(reply.text);
    if seed < plan.free {
        let before = model.timing();
        let length = u32::try_from(held.tokens).unwrap_or(plan.tokens);
        model.ask(&request(name, seed, length, false), &|_| {}, &CancellationToken::new()).await?;
        tally.free = sum(tally.free, since(model.timing(), before));
        tally.paired = sum(tally.paired, held);
    }
    Ok(())
}

/// Milliseconds a token.
#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
fn each(part: Duration, time: Timing) -> f64 {
    part.as_secs_f64() * 1_000.0 / (time.tokens.max(1) as f64)
}

#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
fn show(name: &str, tally: &Tally) {
    let Tally { replies, valid, cut, held, .. } = tally;
    println!(
        "{name:<16} valid {valid:>3}, cut {cut:>2} of {replies:<3} different {:>3}, {:>6} tokens ({:>2.0} % forced)",
        tally.texts.len(),
        held.tokens,
        held.forced as f64 * 100.0 / (held.tokens.max(1) as f64),
    );
    let work = |time: Timing| time.decode + time.sample;
    let whole = |time: Timing| work(time) + time.constraint;
    let share = held.constraint.as_secs_f64() * 100.0 / work(*held).as_secs_f64().max(f64::EPSILON);
    println!(
        "    ms a token: model {:.2}, grammar {:.3} ({share:.1} %); the same lengths by grammar {:.2}, free {:.2}, ratio {:.3} ({} and {} tokens)",
        each(work(*held), *held),
        each(held.constraint, *held),
        each(whole(tally.paired), tally.paired),
        each(whole(tally.free), tally.free),
        each(whole(tally.paired), tally.paired) / each(whole(tally.free), tally.free).max(f64::EPSILON),
        tally.paired.tokens,
        tally.free.tokens,
    );
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(plan) = Plan::of(std::env::args().skip(1)) else {
        eprintln!("usage: formats FILE.gguf [SEEDS] [TOKENS] [FREE] [FORM] [--show]");
        return ExitCode::from(2);
    };
    match measure(&plan).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}
