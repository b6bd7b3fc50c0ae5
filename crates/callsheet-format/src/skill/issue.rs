//! Problems and remarks about a skill file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How serious an issue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillSeverity {
    /// The skill is left out.
    Error,
    /// The skill is loaded. Something in its file has no effect, or another effect than intended.
    Warning,
    /// Nothing is wrong, but a person should know.
    Notice,
}

impl SkillSeverity {
    /// The word for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// One issue of a skill file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillIssue {
    /// Weight.
    pub severity: SkillSeverity,
    /// The file name as shown to a person.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in characters.
    pub column: u32,
    /// What is wrong: a clause without a final period.
    pub message: String,
    /// What to do: a clause without a final period.
    pub advice: String,
    /// What is misspelt at this place, if that is the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misspelt: Option<Misspelt>,
}

/// A word that is probably misspelt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misspelt {
    /// The word as written.
    pub word: String,
    /// What may be meant, nearest first.
    pub meant: Vec<String>,
}

impl fmt::Display for SkillIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}: {}; {}",
            self.file,
            self.line,
            self.column,
            self.severity.as_str(),
            self.message,
            self.advice
        )
    }
}

/// The maximum number of issues listed of one file.
const LISTED: usize = 50;

/// Collects the issues of one file.
pub(super) struct Report<'a> {
    pub(super) file: &'a str,
    issues: Vec<SkillIssue>,
    /// How many more there are.
    more: usize,
    failed: bool,
}

/// 1-based line and column.
pub(super) type At = (u32, u32);

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self { file, issues: Vec::new(), more: 0, failed: false }
    }

    pub(super) fn error(&mut self, at: At, message: impl Into<String>, advice: impl Into<String>) {
        self.push(SkillSeverity::Error, at, message.into(), advice.into());
    }

    pub(super) fn warn(&mut self, at: At, message: impl Into<String>, advice: impl Into<String>) {
        self.push(SkillSeverity::Warning, at, message.into(), advice.into());
    }

    /// Notes that the issue just reported is about this word, if it is probably misspelt.
    pub(super) fn misspelt(&mut self, word: &str, meant: Vec<String>) {
        let listed = self.issues.last_mut().filter(|_| self.more == 0 && !meant.is_empty());
        if let Some(issue) = listed {
            issue.misspelt = Some(Misspelt { word: word.to_owned(), meant });
        }
    }

    pub(super) fn has_error(&self) -> bool {
        self.failed
    }

    /// The issues, and how many are not listed. That line is an error if one was found.
    pub(super) fn listed(mut self) -> Vec<SkillIssue> {
        if self.more > 0 {
            let severity = if self.failed { SkillSeverity::Error } else { SkillSeverity::Warning };
            let message = format!("{} more issues are not listed", self.more);
            let advice = "correct those above first".to_owned();
            let file = self.file.to_owned();
            self.issues.push(SkillIssue { severity, file, line: 1, column: 1, message, advice, misspelt: None });
        }
        self.issues
    }

    fn push(&mut self, severity: SkillSeverity, (line, column): At, message: String, advice: String) {
        self.failed |= severity == SkillSeverity::Error;
        if self.issues.len() >= LISTED {
            self.more += 1;
            return;
        }
        let file = self.file.to_owned();
        self.issues.push(SkillIssue { severity, file, line, column, message, advice, misspelt: None });
    }
}
