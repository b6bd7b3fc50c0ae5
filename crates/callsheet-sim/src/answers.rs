//! The answers of people at gates.

use std::collections::BTreeMap;

use callsheet_core::record::{Answer, ChangeSet, FileChange, Gate, GateKind, RefusedPart, Verdict};

use crate::world::{World, blob};

impl World {
    pub(crate) fn answer(&mut self, gate: &Gate) -> Answer {
        let words = "not now".to_owned();
        if self.misbehaves(1) {
            return Answer::Stop;
        }
        match &gate.kind {
            GateKind::BeforeRun(slugs) if !self.tame => match self.random.below(6) {
                0 => Answer::All,
                1 => Answer::Deny { words },
                2 | 3 => {
                    let mut verdicts = BTreeMap::new();
                    for slug in slugs {
                        match self.random.below(3) {
                            0 => verdicts.insert(slug.clone(), Verdict::Deny),
                            1 => verdicts.insert(slug.clone(), Verdict::Approve),
                            _ => None,
                        };
                    }
                    Answer::Each { verdicts, words }
                }
                _ => Answer::Listed,
            },
            GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } if !self.tame => {
                match self.random.below(10) {
                    0 => Answer::Deny { words },
                    1 => Answer::Each { verdicts: [(task.clone(), Verdict::Approve)].into(), words },
                    2 => Answer::All,
                    3 | 4 => self.part(),
                    _ => Answer::Listed,
                }
            }
            _ => Answer::Listed,
        }
    }

    /// Keeps a part of a change set. At a gate without a change set, or with nothing kept, this is not a valid
    /// answer.
    fn part(&mut self) -> Answer {
        self.names += 1;
        let kept =
            FileChange { path: format!("kept-{}", self.names), before: None, after: Some(blob("kept")), mode: None };
        let files = if self.random.chance(90) { vec![kept] } else { Vec::new() };
        let (diff, told) = (blob("refused"), format!("part {} was refused", self.names));
        let refused = RefusedPart { diff, told, words: String::new() };
        Answer::Part { kept: ChangeSet { files, diff: None }, refused }
    }
}
