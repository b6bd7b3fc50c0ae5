//! What is wrong with a template or worth knowing, where it is, and what to do (spec 3).

mod codes;

pub use codes::{Code, Severity};

use std::fmt;

use serde::{Deserialize, Serialize};

/// Another place that belongs to an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Related {
    /// 1-based line.
    pub line: u32,
    /// 1-based column in Unicode scalar values.
    pub column: u32,
    /// A description of that place, as a clause without a final period.
    pub message: String,
    /// The file, if it is another file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// One diagnostic. Its JSON form is one object with the keys in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Code.
    pub code: Code,
    /// Its severity.
    pub severity: Severity,
    /// The rule in words.
    pub rule: String,
    /// What is wrong, as a clause without a final period.
    pub message: String,
    /// The file as shown to a person.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column in Unicode scalar values.
    pub column: u32,
    /// The line of its end.
    pub end_line: u32,
    /// The column after the last character.
    pub end_column: u32,
    /// The template and the elements, joined by `/`, with ids and names if they exist.
    pub path: String,
    /// The text that was found.
    pub found: Option<String>,
    /// What would be allowed.
    pub expected: Vec<String>,
    /// What to do, as a clause without a final period.
    pub advice: String,
    /// Other places.
    pub related: Vec<Related>,
}

impl Issue {
    /// Whether it makes its template unavailable. If `strict`, warnings do so, too.
    pub fn blocks(&self, strict: bool) -> bool {
        self.severity == Severity::Error || (strict && self.severity == Severity::Warning)
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, severity, message, file, line, column, .. } = self;
        write!(f, "{file}:{line}:{column}: {} {code} {}: {message}", severity.as_str(), self.rule)?;
        if !self.advice.is_empty() {
            write!(f, "; {}", self.advice)?;
        }
        for related in &self.related {
            let other = related.file.as_ref().unwrap_or(file);
            write!(f, "\n  {other}:{}:{}: {}", related.line, related.column, related.message)?;
        }
        Ok(())
    }
}
