//! Finds templates for a text or a task (spec 10). The same library and query give the same bytes on every platform:
//! logarithms come from a software library, square roots and the basic operations are exact by IEEE 754, sums are
//! computed in the order of the tokens, and scores are rounded to 6 decimals before they are compared.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::result::SubtaskRequest;
use super::tree::{InputSource, Node, Template};

/// The largest number of answers.
const MOST: usize = 5;
/// The smallest score of an answer.
const LEAST: f64 = 0.1;
/// The weights of text, hints, subtype and inputs.
const WEIGHTS: [f64; 4] = [0.55, 0.25, 0.10, 0.10];
/// Words without meaning for a search.
const STOP_WORDS: &str = include_str!("stop_words.txt");

/// What a template must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The text.
    pub text: String,
    /// Matching tags or names.
    pub hints: Vec<String>,
    /// The subtype, if it matters.
    pub subtype: Option<String>,
    /// The names of available inputs. `None` if they are unknown.
    pub inputs: Option<BTreeSet<String>>,
}

/// The parts of a score. `None` for a part that was not considered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// The cosine similarity of the words.
    pub text: Option<f64>,
    /// The share of hints that were found.
    pub hints: Option<f64>,
    /// 1 if the subtypes are equal.
    pub subtype: Option<f64>,
    /// The share of required inputs that are available.
    pub inputs: Option<f64>,
}

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Its name.
    pub template: String,
    /// The score from 0 to 1, rounded to 6 decimals.
    pub score: f64,
    /// Its operator. Automatic choice only considers `atomic`.
    pub task_type: String,
    /// Its subtype.
    pub subtype: String,
    /// The parts of the score.
    pub parts: Parts,
    /// The words of the query that it contains, in order.
    pub matched_terms: Vec<String>,
    /// Its required inputs that the query does not name.
    pub missing_inputs: Vec<String>,
}

impl Query {
    /// A query from natural language.
    pub fn of_text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// A query from the task of a template, with its tags as hints.
    pub fn of_template(template: &Template) -> Self {
        Self { hints: template.tags.clone(), ..Self::of_node(&template.body) }
    }

    /// A query from a task of any operator.
    pub fn of_node(node: &Node) -> Self {
        let intent = &node.intent;
        let texts = [&intent.description, &intent.expected_output, &intent.criteria];
        let text: Vec<String> = texts.iter().map(ToString::to_string).collect();
        let inputs: BTreeSet<String> = node.inputs.iter().map(|input| input.name.clone()).collect();
        let subtype = Some(node.subtype.clone()).filter(|subtype| subtype != "standard");
        Self {
            text: text.join(" "),
            hints: Vec::new(),
            subtype,
            inputs: Some(inputs).filter(|names| !names.is_empty()),
        }
    }

    /// A query from a request for a subtask.
    pub fn of_request(request: &SubtaskRequest) -> Self {
        let expected = request.expected_output.as_deref().unwrap_or_default();
        let inputs: BTreeSet<String> = request.inputs.keys().cloned().collect();
        Self {
            text: format!("{} {expected}", request.description),
            hints: request.template_hints.clone(),
            subtype: request.subtype.clone(),
            inputs: Some(inputs).filter(|names| !names.is_empty()),
        }
    }
}

/// The tokens of a text: NFKC, lower case, split at `_`, at camelCase humps and at everything that is not
/// alphanumeric. Excludes stop words and words of one or two characters.
pub fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut before_lower = false;
    for character in text.nfkc().chain([' ']) {
        let hump = character.is_uppercase() && before_lower;
        if (hump || !character.is_alphanumeric()) && !word.is_empty() {
            let done = std::mem::take(&mut word);
            if done.chars().nth(2).is_some() && !STOP_WORDS.lines().any(|stop| stop == done) {
                out.push(done);
            }
        }
        before_lower = character.is_lowercase() || character.is_numeric();
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
    }
    out
}

/// The best candidates among `templates`, best first: at most 5, each with a score of at least 0.1.
pub fn match_templates<'a>(templates: impl IntoIterator<Item = &'a Template>, query: &Query) -> Vec<Match> {
    let atomic = |template: &&Template| template.body.kind.is_atomic();
    rank(templates.into_iter().filter(atomic), query, &Words { document, stem: str::to_owned })
}

/// The best candidates among templates of every operator, for a person. Compares everything that describes them, and
/// the beginnings of words.
pub fn match_all_templates<'a>(templates: impl IntoIterator<Item = &'a Template>, query: &Query) -> Vec<Match> {
    rank(templates.into_iter(), query, &Words { document: whole_document, stem })
}

/// How templates and words are compared.
struct Words {
    document: fn(&Template) -> String,
    stem: fn(&str) -> String,
}

/// The number of letters of a word that are compared where its endings do not matter.
const STEM: usize = 6;

fn stem(word: &str) -> String {
    let singular = word.strip_suffix('s').filter(|rest| rest.chars().count() > 2).unwrap_or(word);
    singular.chars().take(STEM).collect()
}

fn rank<'a>(templates: impl Iterator<Item = &'a Template>, query: &Query, words: &Words) -> Vec<Match> {
    let matches = |template: &&Template| template.body.subtype == "associative_matching";
    let participants: Vec<&Template> = templates.filter(|template| !matches(template)).collect();
    let documents: Vec<BTreeMap<String, u32>> =
        participants.iter().map(|template| count(&(words.document)(template), words.stem)).collect();
    let mut frequency: BTreeMap<&str, u32> = BTreeMap::new();
    for document in &documents {
        for term in document.keys() {
            *frequency.entry(term).or_default() += 1;
        }
    }
    let total = u32::try_from(participants.len()).unwrap_or(u32::MAX);
    let idf = |term: &str| {
        let found = frequency.get(term).copied().unwrap_or(0);
        libm::log((f64::from(total) + 1.0) / (f64::from(found) + 1.0)) + 1.0
    };
    let weigh = |terms: &BTreeMap<String, u32>| -> BTreeMap<String, f64> {
        let weight = |term: &str, count: u32| (1.0 + libm::log(f64::from(count))) * idf(term);
        terms.iter().map(|(term, count)| (term.clone(), weight(term, *count))).collect()
    };
    let wanted = weigh(&count(&query.text, words.stem));
    let mut rows: Vec<Match> = participants
        .iter()
        .zip(&documents)
        .map(|(template, document)| {
            let matched_terms = terms_in(document, query, words.stem);
            Match { matched_terms, ..row(template, &weigh(document), &wanted, query) }
        })
        .filter(|row| row.score >= LEAST)
        .collect();
    rows.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.template.cmp(&b.template)));
    rows.truncate(MOST);
    rows
}

fn document(template: &Template) -> String {
    format!("{} {} {}", template.name, template.body.intent.description, template.tags.join(" "))
}

/// The document of a template, with the descriptions of all its tasks and inputs.
fn whole_document(template: &Template) -> String {
    let mut text = document(template);
    for node in template.body.walk() {
        text.push_str(&format!(" {} {}", node.intent.description, node.intent.expected_output));
    }
    for input in template.takes() {
        text.push_str(&format!(" {} {}", input.name, input.meaning));
    }
    text
}

/// The words of the query that a document contains, in order.
fn terms_in(document: &BTreeMap<String, u32>, query: &Query, stem: fn(&str) -> String) -> Vec<String> {
    let words: BTreeSet<String> = tokens(&query.text).into_iter().collect();
    words.into_iter().filter(|word| document.contains_key(&stem(word))).collect()
}

fn count(text: &str, stem: fn(&str) -> String) -> BTreeMap<String, u32> {
    let mut out = BTreeMap::new();
    for token in tokens(text) {
        *out.entry(stem(&token)).or_default() += 1;
    }
    out
}

fn row(template: &Template, document: &BTreeMap<String, f64>, wanted: &BTreeMap<String, f64>, query: &Query) -> Match {
    let required = required_inputs(template);
    let named = |name: &&String| query.inputs.as_ref().is_some_and(|inputs| inputs.contains(*name));
    let missing_inputs: Vec<String> = required.iter().filter(|name| !named(name)).cloned().collect();
    let parts = Parts {
        // A text without a significant word matches nothing.
        text: Some(cosine(document, wanted)),
        hints: (!query.hints.is_empty()).then(|| hints(template, &query.hints)),
        subtype: query.subtype.as_ref().map(|subtype| f64::from(u8::from(*subtype == template.body.subtype))),
        inputs: query.inputs.as_ref().map(|_| match required.len() {
            0 => 1.0,
            count => ratio(count - missing_inputs.len(), count),
        }),
    };
    let values = [parts.text, parts.hints, parts.subtype, parts.inputs];
    let (mut sum, mut weights) = (0.0, 0.0);
    for (value, weight) in values.into_iter().zip(WEIGHTS) {
        if let Some(value) = value {
            sum += value * weight;
            weights += weight;
        }
    }
    let score = if weights > 0.0 { sum / weights } else { 0.0 };
    let round = |value: Option<f64>| value.map(rounded);
    Match {
        template: template.name.clone(),
        score: rounded(score.clamp(0.0, 1.0)),
        task_type: template.body.kind.word().to_owned(),
        subtype: template.body.subtype.clone(),
        parts: Parts {
            text: round(parts.text),
            hints: round(parts.hints),
            subtype: round(parts.subtype),
            inputs: round(parts.inputs),
        },
        matched_terms: Vec::new(),
        missing_inputs,
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1_000_000.0).round() / 1_000_000.0
}

// Counts stay far below 2^53, where the conversion would lose precision.
#[allow(clippy::cast_precision_loss)]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn cosine(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> f64 {
    // An empty sum would be negative zero.
    let dot = a.iter().filter_map(|(term, weight)| Some(weight * b.get(term)?)).fold(0.0, |sum, part| sum + part);
    let length = |terms: &BTreeMap<String, f64>| terms.values().map(|weight| weight * weight).sum::<f64>().sqrt();
    let lengths = length(a) * length(b);
    if lengths > 0.0 { dot / lengths } else { 0.0 }
}

/// The share of hints that are a tag, the name, or a word of the name.
fn hints(template: &Template, hints: &[String]) -> f64 {
    let name = template.name.to_lowercase();
    let words = tokens(&template.name);
    let found = |hint: &&String| {
        let hint = hint.trim().to_lowercase();
        hint == name || words.contains(&hint) || template.tags.iter().any(|tag| tag.to_lowercase() == hint)
    };
    ratio(hints.iter().filter(found).count(), hints.len())
}

/// The inputs and parameters that the template requires.
fn required_inputs(template: &Template) -> Vec<String> {
    let params = template.params.iter().flatten().filter(|param| param.required).map(|param| &param.name);
    let given = |source: &InputSource| matches!(source, InputSource::Caller);
    let inputs =
        template.body.inputs.iter().filter(|input| {
            input.required && input.default.is_none() && given(&input.source) && template.params.is_none()
        });
    params.chain(inputs.map(|input| &input.name)).cloned().collect()
}
