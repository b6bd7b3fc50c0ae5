//! What tasks waited for, and how long, from the facts: the gaps between the bars of the timeline.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::events::LogEntry;
use crate::nouns::Slug;
use crate::run::{Run, Why};

use super::why::why_of_names;

/// A wait of a task, in milliseconds from the first fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The task.
    pub task: Slug,
    /// The kind of thing it waited for.
    pub kind: WaitKind,
    /// What it last waited for, in words: `waits for Find Code`.
    pub what: String,
    /// Start.
    pub from: u64,
    /// End. `None` if it still waits.
    pub to: Option<u64>,
}

/// What a task may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// All slots were taken.
    Slot,
    /// Other tasks had to make progress first.
    Task,
    /// A person was asked.
    You,
    /// A limit left nothing for it, or other tasks held the rest.
    Limit,
}

impl WaitKind {
    /// All kinds, in the order of a legend.
    pub const ALL: [Self; 4] = [Self::Task, Self::Slot, Self::You, Self::Limit];

    /// In words that follow "waits for".
    pub fn words(self) -> &'static str {
        match self {
            Self::Slot => "a slot",
            Self::Task => "other tasks",
            Self::You => "you",
            Self::Limit => "a limit",
        }
    }

    fn of(why: &Why) -> Option<Self> {
        Some(match why {
            Why::Slot { .. } => Self::Slot,
            Why::Gate { .. } | Why::Question { .. } | Why::SheetErrors => Self::You,
            Why::Limit { .. } | Why::Budget { .. } => Self::Limit,
            Why::WaitsForTask { .. }
            | Why::WaitsForSection { .. }
            | Why::WaitsForWriters { .. }
            | Why::Writer { .. }
            | Why::List { .. }
            | Why::ExclusiveTool { .. }
            | Why::Held { .. }
            | Why::RollBack { .. } => Self::Task,
            Why::Ended { .. } | Why::Running { .. } | Why::Owed { .. } | Why::Concluded { .. } | Why::Unknown => {
                return None;
            }
        })
    }
}

/// At how many moments tasks are asked why they wait. In a longer log, only some moments are examined: the picture has
/// no room for more.
const MOMENTS: usize = 500;
/// How many tasks are asked at one moment.
const ASKED: usize = 200;

/// What each task waited for, in the order in which the waits began. Consecutive waits for things of one kind are one
/// wait.
pub fn waits(facts: &[LogEntry]) -> Vec<Wait> {
    let mut run = Run::new();
    let zero = facts.first().map_or(0, |fact| fact.at);
    let stride = facts.len().div_ceil(MOMENTS).max(1);
    let mut waits = Waits::default();
    let mut looked = 0;
    for (index, fact) in facts.iter().enumerate() {
        // An event that cannot be folded is still drawn.
        let _folded = run.apply(fact);
        let next = facts.get(index + 1);
        // A state without duration was not a wait.
        let lasted = next.is_none_or(|next| next.at > fact.at);
        if lasted && (index >= looked + stride || stride == 1 || next.is_none()) {
            looked = index;
            waits.look(&run, fact.at.saturating_sub(zero));
        }
    }
    waits.all
}

#[derive(Default)]
struct Waits {
    all: Vec<Wait>,
    /// Waits that have not ended, by task.
    open: BTreeMap<Slug, usize>,
}

impl Waits {
    fn look(&mut self, run: &Run, at: u64) {
        let explainer = run.explainer();
        let former = std::mem::take(&mut self.open);
        for slug in run.not_done().into_iter().take(ASKED) {
            let why = explainer.why(slug);
            let Some(kind) = WaitKind::of(&why) else { continue };
            let goes_on = |at: &&usize| self.all.get(**at).is_some_and(|wait| wait.kind == kind);
            let index = former.get(slug).filter(goes_on).copied().unwrap_or(self.all.len());
            if index == self.all.len() {
                self.all.push(Wait { task: slug.clone(), kind, what: String::new(), from: at, to: None });
            }
            if let Some(wait) = self.all.get_mut(index) {
                wait.what = match kind {
                    // The holders of the slots change with each call.
                    WaitKind::Slot => "waits for a slot".to_owned(),
                    _ => why_of_names(run, &why),
                };
            }
            self.open.insert(slug.clone(), index);
        }
        for (slug, index) in former {
            if self.open.get(&slug) != Some(&index)
                && let Some(wait) = self.all.get_mut(index)
            {
                wait.to = Some(at);
            }
        }
    }
}
