//! The words of issues. They are read by models, so they are files under `prompts/`, one line a wording:
//! `code[.variant] = what | what to do`.

use std::sync::LazyLock;

use callsheet_core::issue::IssueCode;
use callsheet_core::texts::{Texts, fill};

static WORDS: LazyLock<Texts> =
    LazyLock::new(|| Texts::of(&[include_str!("prompts/issues.txt"), include_str!("prompts/task_issues.txt")]));

/// What is wrong and what to do. A variant without words of its own has those of the code. A wording that is missing falls
/// back to the code itself; a test keeps that from happening.
pub fn of(code: IssueCode, variant: &str, facts: &[(&str, &str)]) -> (String, String) {
    let code = code.as_str();
    let own = WORDS.clauses(&format!("{code}.{variant}"));
    let (what, todo) = own.or_else(|| WORDS.clauses(code)).unwrap_or((code, ""));
    (fill(what, facts), fill(todo, facts))
}

/// A clause that issues are put together from, such as why a JSON text cannot be read.
pub fn clause(name: &str, facts: &[(&str, &str)]) -> String {
    WORDS.get(&format!("clause.{name}")).map_or_else(|| name.to_owned(), |text| fill(text, facts))
}
