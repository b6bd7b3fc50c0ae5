//! `find`: shows what a run would find for a text.

use std::sync::Arc;

use callsheet_app::Advice;
use callsheet_core::file_index::ContextQuery;
use callsheet_core::nouns::{Reference, RunId, Target};
use callsheet_core::words::{Question, Words};
use callsheet_runtime::material::MaterialRequest;
use callsheet_runtime::ports::{Observer, Signal, Store};
use callsheet_runtime::references::{named_references, shown_alone};
use callsheet_runtime::services::Services;
use callsheet_store::MemoryStore;
use serde_json::json;

use crate::cli::{Exit, Failure, FindArgs, OpenArgs};
use crate::setup::{Setup, config_failure};
use crate::term::{harmless, one_line};
use crate::wiring::without_model;

/// The largest number of characters in an excerpt.
const EXCERPT: usize = 160;

/// Ignores signals, because a lookup prints only its result.
struct Unheard;

impl Observer for Unheard {
    fn see(&self, _: &Signal<'_>) {}
}

pub(super) fn find(setup: &Setup, arguments: &FindArgs) -> Result<Exit, Failure> {
    let text = arguments.text.join(" ");
    if text.trim().is_empty() {
        return Err(Failure::usage("there is nothing to look for", Advice::command("write words", ["find", "…"])));
    }
    let settings = setup.config.settings().map_err(config_failure)?;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let services =
        without_model(setup, Arc::new(Unheard), store, &RunId::new("find"), &settings, &OpenArgs::default())?;
    let found = by_words(setup, &services, &text, settings.budget.material)?;
    let indexed = by_index(setup, &services, &text)?;
    if found + indexed == 0 && !setup.json {
        tell!("nothing in the project has these words");
    }
    Ok(Exit::Complete)
}

/// The files that a direct task would read for this request (spec 2.3): those that it names, and those that contain
/// its words.
fn by_words(setup: &Setup, services: &Services, text: &str, budget: u32) -> Result<usize, Failure> {
    let paths = named_references(text, services.disk()).into_iter().filter_map(|reference| match reference.target {
        Target::File { path, .. } | Target::Directory(path) => Some(path),
        _ => None,
    });
    let paths: Vec<String> = paths.collect();
    let material = services.material(&MaterialRequest { text, named: &paths, below: None, budget });
    let mut found = material.references;
    found.retain(|one| one.named || one.score > 0.0);
    found.sort_by(|a, b| b.named.cmp(&a.named).then(b.score.total_cmp(&a.score)));
    for one in &found {
        let target = one.reference.target.to_string();
        let excerpt = excerpt(services, &one.reference, text);
        if setup.json {
            super::print_json(&json!({
                "by": "words", "path": target, "score": one.score, "tokens": one.tokens, "named": one.named,
                "whole": one.fits, "excerpt": excerpt,
            }))?;
            continue;
        }
        let named = if one.named { ", named" } else { "" };
        let line = format!("{target}  {:.2}{named}, about {} tokens\n    {excerpt}\n", one.score, one.tokens);
        super::print(&harmless(&line))?;
    }
    if material.left_out > 0 && !setup.json {
        tell!("{} more match the words but do not fit into `budget.material`", material.left_out);
    }
    Ok(found.len())
}

/// The line that contains the most of the words.
fn excerpt(services: &Services, reference: &Reference, text: &str) -> String {
    let budget = callsheet_core::nouns::Budget::default();
    let Ok(block) = shown_alone(&reference.target, services.disk(), &budget) else { return String::new() };
    let question = Question::of(text);
    let fits = |line: &str| {
        let words = Words::of(line);
        question.terms().iter().filter(|term| words.times(term) > 0).count()
    };
    // Skip the heading and the mark of the block.
    let lines = block.text.lines().skip(2).filter(|line| !line.trim().is_empty() && !line.starts_with("```"));
    // Prefer the first of several best lines.
    let best = lines.map(|line| (fits(line), line)).reduce(|best, next| if next.0 > best.0 { next } else { best });
    one_line(best.map_or("", |(_, line)| line), EXCERPT)
}

/// What templates with fresh context would find in the index (spec "Templates" 13).
fn by_index(setup: &Setup, services: &Services, text: &str) -> Result<usize, Failure> {
    let query = ContextQuery { task_text: text.to_owned(), search_index: true, ..ContextQuery::default() };
    let runtime = super::runtime()?;
    let found = runtime.block_on(async {
        let looked = services.memory.get_relevant_context_for(query).await;
        looked.map_err(|fault| Failure::internal(format!("can't search the index: {}", fault.0), ""))
    })?;
    for matched in &found.matches {
        let path = std::path::Path::new(&matched.0);
        let shown = path.strip_prefix(&setup.project).unwrap_or(path).display().to_string();
        let why = matched.1.clone().unwrap_or_default();
        if setup.json {
            super::print_json(&json!({ "by": "index", "path": shown, "why": why }))?;
        } else {
            super::print(&harmless(&format!("{shown}  in the index: {why}\n")))?;
        }
    }
    if found.empty_index && !setup.json {
        tell!("templates with fresh context find nothing: there is no index; `{} index` builds it", setup.command);
    }
    Ok(found.matches.len())
}
