//! Finds the symbols of code files with tree-sitter: the adapter for the runtime's `Outline` port. Each language is one
//! folder of `src/languages`.

mod colours;
mod languages;
mod nodes;
mod outline;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callsheet_core::symbols::Symbol;
use callsheet_format::sheet::split_mark;
use callsheet_runtime::ports::{Outline, OutlineFault};
use colours::{QueryName, fits};
use languages::Language;
use tree_sitter::{ParseOptions, Parser, Query, Tree};
use tree_sitter_language::LanguageFn;

/// The largest text that is parsed, in bytes.
const LARGEST: usize = 4 * 1024 * 1024;

/// The maximum number of symbols in one file.
const MOST_SYMBOLS: usize = 20_000;

/// The longest time for one file.
const LONGEST: Duration = Duration::from_secs(2);

/// Finds symbols with tree-sitter. It compiles each query once.
#[derive(Default)]
pub struct TreeSitter {
    queries: Mutex<BTreeMap<QueryName, Arc<Query>>>,
}

impl Outline for TreeSitter {
    fn outline(&self, path: &str, text: &str) -> Result<Vec<Symbol>, OutlineFault> {
        let language = languages::of_path(path).ok_or(OutlineFault::NoParser)?;
        if text.len() > LARGEST {
            return Err(OutlineFault::TooLarge);
        }
        // After a byte order mark, the first line begins like any other.
        let (mark, text) = split_mark(text);
        let query = self.compiled(("outline", language.name), &language.grammar, || language.query.to_owned())?;
        let deadline = Deadline(Instant::now() + LONGEST);
        let tree = parse(language, text, &deadline)?;
        let nodes = nodes::find(&query, &tree, text, &deadline)?;
        if nodes.symbols.len() > MOST_SYMBOLS {
            return Err(OutlineFault::TooLarge);
        }
        let mut symbols = outline::symbols(nodes, text);
        if symbols.is_empty() && tree.root_node().has_error() {
            return Err(OutlineFault::Unparsable);
        }
        for symbol in &mut symbols {
            symbol.start += mark.len();
            symbol.end += mark.len();
        }
        Ok(symbols)
    }
}

impl TreeSitter {
    fn compiled(
        &self,
        name: QueryName,
        grammar: &LanguageFn,
        source: impl FnOnce() -> String,
    ) -> Result<Arc<Query>, OutlineFault> {
        let mut queries = self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(query) = queries.get(&name) {
            return Ok(Arc::clone(query));
        }
        let query = fits(grammar, &source()).map_err(|fault| {
            tracing::error!(?name, %fault, "the query does not fit the grammar");
            OutlineFault::NoParser
        })?;
        let query = Arc::new(query);
        queries.insert(name, Arc::clone(&query));
        Ok(query)
    }
}

/// The time at which to stop.
struct Deadline(Instant);

impl Deadline {
    fn look(&self) -> ControlFlow<()> {
        if Instant::now() > self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn parse(language: &Language, text: &str, deadline: &Deadline) -> Result<Tree, OutlineFault> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar.into()).map_err(|fault| {
        tracing::error!(language = language.name, %fault, "the grammar does not fit the library");
        OutlineFault::NoParser
    })?;
    let mut look = |_: &tree_sitter::ParseState| deadline.look();
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut look);
    parser.parse_with_options(&mut read, None, Some(options)).ok_or(OutlineFault::TimedOut)
}

#[cfg(test)]
mod tests {
    use callsheet_core::symbols::SymbolKind;
    use tree_sitter::Query;

    use super::languages;

    #[test]
    fn every_query_fits_its_grammar_and_captures_only_what_is_known() {
        for language in languages::all() {
            let query = Query::new(&language.grammar.into(), language.query);
            let query = query.unwrap_or_else(|fault| panic!("{}: {fault}", language.name));
            for capture in query.capture_names() {
                let known = ["name", "owner", "scope", "wrap", "lead", "inner"].contains(capture)
                    || SymbolKind::ALL.iter().any(|kind| kind.as_str() == *capture);
                assert!(known, "{}: @{capture}", language.name);
            }
        }
    }
}
