//! Ranking (spec 13): the sum over the terms of the question of tf·(ln((N+1)/(df+1)) + 1), times 1.5 for a term in the
//! file name. Terms are those of template matching (spec 10). Logarithms come from a software library and scores are
//! rounded, so the order is the same on every machine.

use std::collections::{BTreeMap, BTreeSet};

use crate::template::tokens;

use super::{ContextItem, ContextQuery, FileMatch, RelevantContext};

/// The maximum number of files of an answer.
const MOST: usize = 10;
/// Factor for a term in the file name.
const IN_NAME: f64 = 1.5;
/// The smallest score of a match, as a share of the best score.
const FLOOR: f64 = 0.25;
/// The maximum number of terms shown as the reason.
const REASONS: usize = 6;

/// A document to rank: a name whose last part is a file name, and the words about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// Path or title.
    pub name: &'a str,
    /// Metadata or text.
    pub text: &'a str,
}

/// A matching document.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Which, from 0.
    pub index: usize,
    /// Its score, rounded to 6 decimals.
    pub score: f64,
    /// Terms of the question that it contains, in order.
    pub terms: Vec<String>,
}

/// Ranks documents for a question: the best first, ties by name, without documents that contain no term.
pub fn rank(question: &str, documents: &[Document<'_>]) -> Vec<Ranked> {
    let wanted: BTreeSet<String> = tokens(question).into_iter().collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let counts: Vec<BTreeMap<String, u32>> = documents.iter().map(|document| count(document.text, &wanted)).collect();
    let mut frequency: BTreeMap<&str, u32> = BTreeMap::new();
    for term in counts.iter().flat_map(BTreeMap::keys) {
        *frequency.entry(term).or_default() += 1;
    }
    let total = f64::from(u32::try_from(documents.len()).unwrap_or(u32::MAX));
    let weight = |term: &str| {
        let found = f64::from(frequency.get(term).copied().unwrap_or(0));
        libm::log((total + 1.0) / (found + 1.0)) + 1.0
    };
    let score = |(index, (document, terms)): (usize, (&Document<'_>, &BTreeMap<String, u32>))| {
        let name: BTreeSet<String> = tokens(file_name(document.name)).into_iter().collect();
        let sum = terms.iter().fold(0.0_f64, |sum, (term, times)| {
            let factor = if name.contains(term) { IN_NAME } else { 1.0 };
            sum + f64::from(*times) * weight(term) * factor
        });
        let score = (sum * 1_000_000.0).round() / 1_000_000.0;
        Ranked { index, score, terms: terms.keys().cloned().collect() }
    };
    let mut ranked: Vec<Ranked> =
        documents.iter().zip(&counts).enumerate().map(score).filter(|ranked| ranked.score > 0.0).collect();
    let name = |ranked: &Ranked| documents.get(ranked.index).map(|document| document.name);
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| name(a).cmp(&name(b))));
    ranked
}

/// The answer to a question, from metadata texts by path. Items of the frame and files of the index are ranked in a
/// single pass (spec 5).
pub fn relevant_context(query: &ContextQuery, index: &[(String, String)]) -> RelevantContext {
    let index = if query.search_index { index } else { &[] };
    let files = index.iter().map(|(path, text)| Document { name: path, text });
    let words: Vec<String> = query.inherited_context.iter().map(words).collect();
    let items =
        query.inherited_context.iter().zip(&words).map(|(item, words)| Document { name: &item.name, text: words });
    let documents: Vec<Document<'_>> = files.chain(items).collect();
    let ranked = rank(&question(query), &documents);
    let (of_index, of_frame): (Vec<&Ranked>, Vec<&Ranked>) =
        ranked.iter().partition(|ranked| ranked.index < index.len());
    let (of_index, of_frame) = (relevant(of_index), relevant(of_frame));
    let matches: Vec<FileMatch> = of_index
        .into_iter()
        .take(MOST)
        .filter_map(|ranked| {
            let reasons = ranked.terms.iter().take(REASONS).map(String::as_str).collect::<Vec<_>>().join(", ");
            Some(FileMatch(index.get(ranked.index)?.0.clone(), Some(reasons)))
        })
        .collect();
    let mut items: Vec<usize> = of_frame.into_iter().map(|ranked| ranked.index - index.len()).collect();
    items.sort_unstable();
    RelevantContext {
        context: String::new(),
        matches,
        items,
        empty_index: query.search_index && index.is_empty(),
        warnings: Vec::new(),
    }
}

/// Removes documents that match far less than the best one.
fn relevant(mut ranked: Vec<&Ranked>) -> Vec<&Ranked> {
    let least = ranked.first().map_or(0.0, |best| best.score * FLOOR);
    ranked.retain(|one| one.score >= least);
    ranked
}

/// For a file of the frame, only its path is used.
fn words(item: &ContextItem) -> String {
    format!("{} {}", item.name, item.text)
}

/// The text of the task or its replacement, then its inputs and earlier outputs.
fn question(query: &ContextQuery) -> String {
    let mut text = query.description.clone().unwrap_or_else(|| query.task_text.clone());
    for (name, value) in &query.inputs {
        text.push_str(&format!(" {name} {value}"));
    }
    for output in &query.previous_outputs {
        text.push(' ');
        text.push_str(output);
    }
    text
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn count(text: &str, wanted: &BTreeSet<String>) -> BTreeMap<String, u32> {
    let mut out = BTreeMap::new();
    for token in tokens(text).into_iter().filter(|token| wanted.contains(token)) {
        *out.entry(token).or_default() += 1;
    }
    out
}
