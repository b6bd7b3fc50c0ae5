//! Measures constrained planning with the weights of one GGUF file:
//! `cargo run --release -p callsheet-local --features engine --example plan_grammar -- FILE.gguf [SEEDS] [COMPARED]`.
//!
//! For each seed it asks for a plan through the grammar, for the first COMPARED seeds (all, unless told) also freely and with
//! the grammar as a mask only, and prints how many replies have a valid structure and the tokens a second. The prompt is in the cache for every reply but the first, so the time is that of writing.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use callsheet_format::grammar;
use callsheet_format::grammar::{Grammar, ListShape};
use callsheet_local::{EmbeddedModel, EmbeddedOptions};
use callsheet_runtime::ports::{Constraint, Message, Model, ModelFault, ModelRequest};
use tokio_util::sync::CancellationToken;

const SYSTEM: &str = include_str!("prompts/plan.md");
const REQUESTS: [&str; 3] = [
    "Write a short project proposal for a community garden and save it as proposal.md",
    "Find all TODO comments in the src folder of my Rust project and write a report of them",
    "Compare SQLite and PostgreSQL for a small web shop and recommend one",
];
const REFERENCES: [&str; 3] = ["[Project](project_description)", "[Readme](README.md)", "[Notes](notes.md)"];

fn plan() -> Grammar {
    let references = REFERENCES.map(String::from);
    let shape = ListShape { references: &references, max_sections: 3, max_tasks: 2, first_number: 1 };
    grammar::plan(&shape).grammar()
}

fn request(seed: u64, constraint: Option<Grammar>) -> ModelRequest {
    let index = usize::try_from(seed).unwrap_or(0) % REQUESTS.len();
    ModelRequest {
        label: "plan".into(),
        system: SYSTEM.into(),
        messages: vec![Message::user(REQUESTS[index])],
        tools: Vec::new(),
        native_tools: Vec::new(),
        constraint: constraint.map(|grammar| Constraint { grammar: Some(grammar), ..Constraint::default() }),
        max_output_tokens: 1_500,
        temperature: Some(0.7),
        seed: Some(seed),
        deadline: Duration::from_secs(300),
    }
}

/// Strict structure of a plan: headings in order, keys in order, known links, nothing else.
fn is_valid(text: &str) -> bool {
    let Some((head, list)) = text.split_once("\n## Tasks\n") else { return false };
    let Some(goals) = head.strip_prefix("## Goals / summary\n") else { return false };
    let goals = goals.strip_suffix("\n\n**plan complete**").unwrap_or(goals);
    if goals.trim().is_empty() || goals.contains("\n#") {
        return false;
    }
    let order = ["Name", "What is needed", "References", "Expected output"];
    let (mut section, mut tasks, mut readable, mut last) = (0, 0, 0, usize::MAX);
    for line in list.lines() {
        if let Some(number) = line.strip_prefix("### Task section") {
            let numbered = number.is_empty() || number.trim() == (section + 1).to_string();
            if (section > 0 && last != 3) || !numbered {
                return false;
            }
            (section, readable, last) = (section + 1, tasks, usize::MAX);
            continue;
        }
        if line.is_empty() && last == 3 {
            continue;
        }
        let Some((label, value)) = line.strip_prefix("- **").and_then(|rest| rest.split_once("** ")) else {
            return false;
        };
        let Some(key) = order.iter().position(|known| *known == label) else { return false };
        let follows = match key {
            0 => last == usize::MAX || last == 3,
            3 => last == 1 || last == 2,
            key => last == key - 1,
        };
        let good = match label {
            "References" => value.split_inclusive(')').map(str::trim).all(|link| {
                let output = |n: u32| link == format!("[Task {n}](#task-{n}-results)");
                REFERENCES.contains(&link) || (1..=readable).any(output)
            }),
            _ => !value.trim().is_empty(),
        };
        if !follows || !good {
            return false;
        }
        tasks += u32::from(key == 0);
        last = key;
    }
    section > 0 && last == 3
}

/// Replies, valid ones, tokens, seconds.
#[derive(Default)]
struct Tally {
    replies: u32,
    valid: u32,
    tokens: u64,
    seconds: f64,
}

async fn run(
    model: &EmbeddedModel,
    seed: u64,
    grammar: Option<Grammar>,
    tally: &mut Tally,
) -> Result<String, ModelFault> {
    let request = request(seed, grammar);
    let cancel = CancellationToken::new();
    // The first of two asks brings the prompt into the cache.
    let warm = ModelRequest { max_output_tokens: 1, constraint: None, ..request.clone() };
    model.ask(&warm, &|_| {}, &cancel).await?;
    let start = Instant::now();
    let reply = model.ask(&request, &|_| {}, &cancel).await?;
    tally.seconds += start.elapsed().as_secs_f64();
    tally.replies += 1;
    tally.tokens += reply.usage.output;
    tally.valid += u32::from(is_valid(&reply.text));
    eprintln!("seed {seed}: {} tokens, {:?}, valid: {}", reply.usage.output, reply.stop, is_valid(&reply.text));
    Ok(reply.text)
}

fn show(name: &str, tally: &Tally) {
    #[allow(clippy::cast_precision_loss, reason = "a few thousand tokens")]
    let speed = tally.tokens as f64 / tally.seconds.max(f64::EPSILON);
    println!(
        "{name:<34} valid {:>3}/{:<3} {:>6} tokens  {speed:>6.1} tokens/s",
        tally.valid, tally.replies, tally.tokens
    );
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: plan_grammar FILE.gguf [SEEDS] [COMPARED]");
        return ExitCode::from(2);
    };
    let seeds: u64 = arguments.next().and_then(|seeds| seeds.parse().ok()).unwrap_or(20);
    let compared = arguments.next().and_then(|seeds| seeds.parse().ok()).unwrap_or(seeds);
    match measure(&path, seeds, compared).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(path: &std::path::Path, seeds: u64, compared: u64) -> Result<(), Box<dyn std::error::Error>> {
    let options = EmbeddedOptions { window: Some(2_048), ..EmbeddedOptions::default() };
    let start = Instant::now();
    let model = EmbeddedModel::load(path, &options)?;
    println!("loaded {} parameters in {:.2} s", model.parameters(), start.elapsed().as_secs_f64());
    let masked = EmbeddedModel::load(path, &EmbeddedOptions { feed_forced: false, ..options })?;
    let (mut free, mut mask, mut forced) = (Tally::default(), Tally::default(), Tally::default());
    let mut last = String::new();
    for seed in 0..seeds {
        // One after the other within a seed, so that a busy machine slows all three alike.
        if seed < compared {
            run(&model, seed, None, &mut free).await?;
            run(&masked, seed, Some(plan()), &mut mask).await?;
        }
        last = run(&model, seed, Some(plan()), &mut forced).await?;
    }
    println!("{last}\n");
    show("free", &free);
    show("grammar as a mask", &mask);
    show("grammar with forced text in batches", &forced);
    Ok(())
}
