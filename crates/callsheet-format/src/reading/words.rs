//! The words of issues. Models read them, so they are files under `prompts/`, with one wording per line:
//! `code[.variant] = what | what to do`.

use std::sync::LazyLock;

use callsheet_core::issue::IssueCode;
use callsheet_core::texts::{Texts, fill};

static WORDS: LazyLock<Texts> =
    LazyLock::new(|| Texts::of(&[include_str!("prompts/issues.txt"), include_str!("prompts/task_issues.txt")]));

/// What is wrong and what to do. A variant without its own words uses those of the code. If a wording is missing, the
/// code itself is used; a test prevents that.
pub fn of(code: IssueCode, variant: &str, facts: &[(&str, &str)]) -> (String, String) {
    let code = code.as_str();
    let own = WORDS.clauses(&format!("{code}.{variant}"));
    let (what, todo) = own.or_else(|| WORDS.clauses(code)).unwrap_or((code, ""));
    (fill(what, facts), fill(todo, facts))
}

/// A clause for building issues, such as why a JSON text cannot be read.
pub fn clause(name: &str, facts: &[(&str, &str)]) -> String {
    WORDS.get(&format!("clause.{name}")).map_or_else(|| name.to_owned(), |text| fill(text, facts))
}
