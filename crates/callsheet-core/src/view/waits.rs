//! What tasks waited for, and how long, from the facts: the gaps between the bars of the timeline.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::events::LogEntry;
use crate::run::{Run, Why};
use crate::spec::Slug;

use super::why::why_of_names;

/// A task that waited, milliseconds from the first fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The task.
    pub task: Slug,
    /// For what kind of thing.
    pub kind: WaitKind,
    /// What it waited for last, in words: `waits for Find Code`.
    pub what: String,
    /// Start.
    pub from: u64,
    /// End; `None`: it waits still.
    pub to: Option<u64>,
}

/// What a task may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// All slots were taken.
    Slot,
    /// Others had to get further first.
    Task,
    /// A person was asked.
    You,
    /// A limit left it nothing, or others held what was left.
    Limit,
}

impl WaitKind {
    /// All, in the order of a legend.
    pub const ALL: [Self; 4] = [Self::Task, Self::Slot, Self::You, Self::Limit];

    /// In words: a task waits for it.
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

/// Moments at which tasks are asked why they wait. A longer log is looked at now and then: its picture has no more room.
const MOMENTS: usize = 500;
/// Tasks that are asked at one moment.
const ASKED: usize = 200;

/// What each task waited for, in the order in which the waits began. Waits for things of one kind that follow each other
/// are one.
pub fn waits(facts: &[LogEntry]) -> Vec<Wait> {
    let mut run = Run::new();
    let zero = facts.first().map_or(0, |fact| fact.at);
    let stride = facts.len().div_ceil(MOMENTS).max(1);
    let mut waits = Waits::default();
    let mut looked = 0;
    for (index, fact) in facts.iter().enumerate() {
        // What cannot be folded is drawn all the same.
        let _folded = run.apply(fact);
        let next = facts.get(index + 1);
        // What stood for no time was no wait.
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
    /// Those that have not ended, by task.
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
                    // Who holds the slots changes with each call.
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
