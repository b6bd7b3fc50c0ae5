//! `search_text`: lines of files that match a regular expression or a literal text.

mod page;

use async_trait::async_trait;
use callsheet_core::nouns::ToolSpec;
use callsheet_runtime::ports::{Documents, Tool, ToolContext, ToolFault, ToolOutcome};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use serde::Deserialize;
use serde_json::Value;

use self::page::Page;
use crate::common::place::{Place, readable};
use crate::common::text::{Capped, count};
use crate::common::walk::{Found, walk};
use crate::common::words::say;
use crate::common::{Stop, Ticket, arguments, blocking, reading_tool};
use crate::find_files::Glob;

/// The maximum number of words of a pattern that are searched separately.
const WORDS: usize = 8;
/// Shortest such word in bytes. Shorter words occur inside others everywhere.
const LEAST_WORD: usize = 3;

reading_tool!(SearchText, "search_text", "grep", "grep_files");

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    context_lines: usize,
}

/// How the pattern was understood.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Regex,
    /// It is not a regular expression.
    Literal,
    /// As a regular expression it matches nothing.
    LiteralAfterRegex,
}

#[async_trait]
impl Tool for SearchText {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        let given = given.clone();
        let scope = context.clone();
        blocking(context, move |ticket| {
            let wanted: Arguments = arguments(&given)?;
            let start = readable(&scope, wanted.path.as_deref().unwrap_or("."), ticket)?;
            search(&wanted, &start, (scope.max_output_bytes, &*scope.documents), ticket).map(ToolOutcome::Output)
        })
        .await
    }
}

/// What is searched.
struct Scope<'a> {
    start: &'a Place,
    glob: Option<Glob>,
    context_lines: usize,
    documents: &'a dyn Documents,
    ticket: &'a Ticket,
}

impl Scope<'_> {
    /// Searches every file in it.
    fn search(&self, matcher: &RegexMatcher, mut page: Page) -> Result<Page, Stop> {
        let mut searcher = searcher(self.context_lines);
        let start = self.start;
        if start.path.is_dir() {
            walk(start, None, self.ticket, |found| {
                if !found.is_dir && self.glob.as_ref().is_none_or(|glob| glob.fits(start, &found)) {
                    page.search(&mut searcher, matcher, (start, &found, self.documents), self.ticket)?;
                }
                Ok(())
            })?;
        } else {
            let found = Found { path: start.path.clone(), shown: start.shown.clone(), is_dir: false };
            page.search(&mut searcher, matcher, (start, &found, self.documents), self.ticket)?;
        }
        Ok(page)
    }
}

fn search(
    wanted: &Arguments,
    start: &Place,
    (limit, documents): (usize, &dyn Documents),
    ticket: &Ticket,
) -> Result<String, Stop> {
    let glob = wanted.glob.as_deref().map(Glob::new).transpose()?;
    let scope = Scope { start, glob, context_lines: wanted.context_lines.min(5), documents, ticket };
    let pass = |reading| scope.search(&matcher(wanted, reading)?, Page::new(limit));
    let mut reading = if matcher(wanted, Reading::Regex).is_ok() { Reading::Regex } else { Reading::Literal };
    let mut page = pass(reading)?;
    // Models forget to escape: `call()` is a valid expression that does not match these six characters.
    if reading == Reading::Regex && page.matches() == 0 && has_operators(&wanted.pattern) {
        let literal = pass(Reading::LiteralAfterRegex)?;
        if literal.matches() > 0 {
            reading = Reading::LiteralAfterRegex;
            page = literal;
        }
    }
    if page.matches() == 0
        && let Some(text) = by_words(&wanted.pattern, &scope, limit)?
    {
        return Ok(text);
    }
    let note = match reading {
        Reading::Regex => String::new(),
        Reading::Literal => say("search-literal", &[]),
        Reading::LiteralAfterRegex => say("search-literal-instead", &[]),
    };
    Ok(page.render(&wanted.pattern, wanted.ignore_case, &note))
}

/// What each word of a pattern without matches finds alone, ignoring case, the rarest first. `None` if there is only
/// one word, or none of them finds anything either.
fn by_words(pattern: &str, scope: &Scope<'_>, limit: usize) -> Result<Option<String>, Stop> {
    let words = words_of(pattern);
    if words.len() < 2 {
        return Ok(None);
    }
    let mut found = Vec::new();
    for word in words {
        let matcher = RegexMatcherBuilder::new().case_insensitive(true).fixed_strings(true).build(&word);
        let matcher = matcher.map_err(|error| Stop::failed("search-bad-pattern", &[("error", &error)]))?;
        found.push((word, scope.search(&matcher, Page::of_word(limit))?));
    }
    if found.iter().all(|(_, page)| page.matches() == 0) {
        return Ok(None);
    }
    // A stable sort: words without a match come last, equal ones keep their order.
    found.sort_by_key(|(_, page)| (page.matches() == 0, page.matches()));
    let mut output = Capped::new(limit);
    let mut left_out = false;
    output.line(&format!("[{}]", say("search-words", &[])));
    for (word, page) in &found {
        let matches = count(page.matches(), "match");
        let key = if page.matches() == 0 { "search-word-none" } else { "search-word" };
        left_out |= !output.line(&format!("[{}]", say(key, &[("word", word), ("count", &matches)])));
        for line in page.lines() {
            left_out |= !output.line(line);
        }
        left_out |= page.is_cut();
    }
    let note = if left_out { say("search-words-more", &[]) } else { String::new() };
    Ok(Some(output.with_note(&note)))
}

/// The words of a pattern, each once and unchanged. Escapes and operators of regular expressions do not count.
fn words_of(pattern: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                plain.push(' ');
                // `\.` is the character itself, which is not part of a word either.
                characters.next();
            }
            character => plain.push(character),
        }
    }
    let mut words: Vec<String> = Vec::new();
    for word in plain.split(|character: char| !character.is_alphanumeric() && character != '_') {
        let is_word = word.len() >= LEAST_WORD && !words.iter().any(|known| known.eq_ignore_ascii_case(word));
        if is_word && words.len() < WORDS {
            words.push(word.to_owned());
        }
    }
    words
}

fn matcher(wanted: &Arguments, reading: Reading) -> Result<RegexMatcher, Stop> {
    RegexMatcherBuilder::new()
        .case_insensitive(wanted.ignore_case)
        .line_terminator(Some(b'\n'))
        .fixed_strings(reading != Reading::Regex)
        .build(&wanted.pattern)
        .map_err(|error| Stop::failed("search-bad-pattern", &[("error", &error)]))
}

fn searcher(context_lines: usize) -> Searcher {
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(context_lines)
        .after_context(context_lines)
        .heap_limit(Some(16 * 1024 * 1024))
        .build()
}

fn has_operators(pattern: &str) -> bool {
    pattern.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'])
}
