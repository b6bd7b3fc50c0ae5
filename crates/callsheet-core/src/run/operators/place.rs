//! As what a task of the tree was opened.

use crate::spec::Slug;
use crate::template::{InputSource, Node};

use super::Work;
use super::rules::Rules;

/// The place of a child below its parent. Numbers count from 0, iterations from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The top task.
    Top,
    /// An operator nested in an input.
    Input {
        /// Which.
        index: u32,
    },
    /// An operator nested in an argument of a call.
    Argument {
        /// Which.
        index: u32,
    },
    /// A step of a sequence, a child of `parallel`.
    Child {
        /// Which.
        index: u32,
    },
    /// The body of a `map` for one element.
    Item {
        /// Which element.
        index: u32,
    },
    /// `inner_task` for one input.
    Inner {
        /// Which input.
        index: u32,
    },
    /// `reduction_task` for one input.
    Reduction {
        /// Which input.
        index: u32,
    },
    /// The director of an iteration.
    Director {
        /// Which.
        iteration: u32,
    },
    /// The script of an iteration.
    Script {
        /// Which.
        iteration: u32,
    },
    /// The evaluator of an iteration.
    Evaluator {
        /// Which.
        iteration: u32,
    },
    /// A branch of a `cond`; `None` is `else`.
    Branch {
        /// Which.
        case: Option<u32>,
    },
    /// The body of a called template.
    Body,
    /// The task by which a model chooses among the files that were found for its parent.
    Match,
    /// The handler that is asked to split its parent's failed task.
    Split,
    /// What that gave, in the place of its failed parent.
    Regrown,
    /// A subtask that a call of its parent's handler asks for.
    Subtask {
        /// Which handler of the parent, from 1.
        attempt: u32,
        /// Which of its calls.
        call: u32,
    },
}

impl Place {
    /// Nested in an input or argument, or choosing files: it runs before its parent is opened.
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::Input { .. } | Self::Argument { .. } | Self::Match)
    }

    /// A subtask.
    pub fn is_subtask(&self) -> bool {
        matches!(self, Self::Subtask { .. })
    }

    /// The part of the tree at this place below `node`.
    pub(super) fn below<'t>(&self, node: &'t Node) -> Option<Work<'t>> {
        let Self::Input { index } = self else { return (Rules::of(&node.kind).below)(&node.kind, self) };
        match &node.inputs.get(super::index_of(*index)?)?.source {
            InputSource::Operator(node) => Some(Work::Node(node)),
            _ => None,
        }
    }

    /// What it adds to the name of its parent. `node`: what stands there.
    pub(super) fn word(&self, work: Option<Work<'_>>, template: &str) -> String {
        let node = match work {
            Some(Work::Node(node)) => Some(node),
            _ => None,
        };
        let id = node.and_then(|node| node.id.as_deref());
        match self {
            Self::Top | Self::Body => template.to_owned(),
            Self::Input { index } => format!("input-{}", index + 1),
            Self::Argument { index } => format!("arg-{}", index + 1),
            Self::Child { index } => id.map_or_else(|| format!("s{index}"), str::to_owned),
            Self::Item { index } => (index + 1).to_string(),
            Self::Inner { index } => format!("inner-{}", index + 1),
            Self::Reduction { index } => format!("reduction-{}", index + 1),
            Self::Director { iteration } => format!("director-{iteration}"),
            Self::Script { iteration } => format!("script-{iteration}"),
            Self::Evaluator { iteration } => format!("evaluator-{iteration}"),
            Self::Branch { case: Some(case) } => format!("case-{}", case + 1),
            Self::Branch { case: None } => "else".to_owned(),
            Self::Match => "match".to_owned(),
            Self::Split => "split".to_owned(),
            Self::Regrown => "regrown".to_owned(),
            Self::Subtask { call, .. } => format!("sub-{}", call + 1),
        }
    }
}

/// Longest slug (spec 6.2).
const LONGEST: usize = 64;
/// Letters of the hash that ends a shortened one.
const HASHED: usize = 8;

/// The name of a part of a task: that of the task and one word more.
pub(super) fn extended(id: &Slug, word: &str) -> Slug {
    match id.as_str().split_once('/') {
        Some((caller, own)) => Slug::new(format!("{caller}/{}", slug_of(&[own, word]))),
        None => slug_of(&[id.as_str(), word]),
    }
}

/// The name of the top task of a call's tree. No task of a list has a `/` in its name.
pub(super) fn below_caller(caller: &Slug, template: &str) -> Slug {
    Slug::new(format!("{caller}/{}", slug_of(&[template])))
}

/// A slug of words, shortened with a hash of the whole if it is too long.
pub(super) fn slug_of(words: &[&str]) -> Slug {
    let mut text = String::new();
    for character in words.join("-").chars().flat_map(char::to_lowercase) {
        let kept = if character.is_ascii_alphanumeric() { character } else { '-' };
        if kept != '-' || !text.ends_with('-') {
            text.push(kept);
        }
    }
    let trimmed = text.trim_matches('-');
    let text = if trimmed.is_empty() { "task" } else { trimmed };
    if text.len() <= LONGEST {
        return Slug::new(text);
    }
    let hash = crate::spec::BlobId::of(words.join("-").as_bytes());
    let (head, tail) = (text.get(..LONGEST - HASHED - 1), hash.as_str().get(..HASHED));
    Slug::new(format!("{}-{}", head.unwrap_or_default().trim_end_matches('-'), tail.unwrap_or_default()))
}
