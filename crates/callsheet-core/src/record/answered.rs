//! Where a person answered.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Answer;

/// Where an approval was answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// By somebody at a terminal that shows the run.
    Terminal,
    /// By the command `approve` or `deny`.
    Command,
    /// By somebody at the page in a browser.
    Page,
    /// By somebody in an editor (spec 13.8).
    Editor,
    /// By a program that the person lets answer (spec 13.5).
    Client,
    /// By a program or a person whose token of this name may approve (spec 11.22).
    Api(String),
    /// By somebody who signed it elsewhere with this key (spec 14.4).
    Signed(String),
    /// By a setting for the whole run from before it began.
    Flag,
    /// By a grant for commands of its kind (spec 11.14).
    Grant,
}

impl Answer {
    /// The verdict in words.
    pub fn verdict(&self) -> &'static str {
        match self {
            Self::All | Self::Listed => "approved",
            Self::Each { .. } | Self::Part { .. } => "approved in part",
            Self::Deny { .. } => "denied",
            Self::Stop => "stopped at the gate",
        }
    }
}

impl AnsweredBy {
    /// In words that follow the verdict: `approved at the terminal`.
    pub fn words(&self) -> Cow<'static, str> {
        let words = match self {
            Self::Terminal => "at the terminal",
            Self::Command => "by a command",
            Self::Page => "on the page",
            Self::Editor => "in an editor",
            Self::Client => "by a program that may approve",
            Self::Api(name) => return format!("by {name}, whose token may approve").into(),
            Self::Signed(key) => return format!("elsewhere, signed with {key}").into(),
            Self::Flag => "in advance, by a flag",
            Self::Grant => "in advance, by a grant",
        };
        words.into()
    }
}
