//! Paths into values: fields of maps, elements of lists, and the additional names of results (spec 4).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fuzzy::meant;
use crate::template::value::Step;

use super::{Kinds, Shape, Source};

/// The fields of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// The declared fields.
    pub named: BTreeMap<String, Arc<Shape>>,
    /// Whether it may have other fields.
    pub open: bool,
}

impl Fields {
    /// The fields of a map that is one or the other.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let mut named = BTreeMap::new();
        for name in self.named.keys().chain(other.named.keys()) {
            let shape = match (self.named.get(name), other.named.get(name)) {
                (Some(own), Some(other)) => own.or(other),
                (Some(one), None) if !other.open => one.as_ref().clone().missing(true),
                (None, Some(one)) if !self.open => one.as_ref().clone().missing(true),
                _ => Shape::any().missing(true),
            };
            named.insert(name.clone(), Arc::new(shape));
        }
        Self { named, open: self.open || other.open }
    }
}

/// A step that fails for every possible value.
#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    /// The number of steps before it.
    pub walked: usize,
    /// The step.
    pub step: Step,
    /// The shape in which it fails.
    pub from: Shape,
    /// Similar fields.
    pub near: Vec<String>,
    /// The existing fields.
    pub known: Vec<String>,
}

/// The names that every result has if its value has no such field: its text and its value.
const OF_RESULTS: [&str; 3] = ["content", "parsed_content", "parsedContent"];

/// Alternative names, which are never suggested.
const OTHER_NAMES: [&str; 2] = ["parsedContent", "exitCode"];

/// The names for the outputs of a process.
const OF_PROCESSES: [&str; 5] = ["stdout", "stderr", "exit_code", "exitCode", "timed_out"];

/// The names for the judgement of an evaluation.
const OF_EVALUATIONS: [&str; 2] = ["success", "feedback"];

impl Shape {
    /// The shape that the steps lead to.
    ///
    /// # Errors
    /// The steps lead nowhere for every possible value.
    pub fn path(&self, steps: &[Step]) -> Result<Self, Box<Miss>> {
        let mut here = self.clone();
        for (walked, step) in steps.iter().enumerate() {
            let next = match step {
                Step::Name(name) => here.field(name),
                Step::Index(_) => here.at_index(),
                Step::Record => here.record(),
            };
            match next {
                Some(next) => here = next.missing(here.absent),
                None => return Err(Box::new(here.miss(walked, step))),
            }
        }
        Ok(here)
    }

    /// The number of steps up to the first declared field that a value of this shape may lack. `None` if there is no such
    /// field, or nothing is known of it.
    pub fn lacks(&self, steps: &[Step]) -> Option<usize> {
        let mut here = self.clone();
        for (walked, step) in steps.iter().enumerate() {
            if let (Step::Name(name), Some(fields)) = (step, &here.fields)
                && let Some(field) = fields.named.get(name)
                && here.source != Source::Evaluation
                && (field.absent || here.kinds != Kinds::MAP)
            {
                return Some(walked + 1);
            }
            here = here.path(std::slice::from_ref(step)).ok()?;
        }
        None
    }

    fn miss(self, walked: usize, step: &Step) -> Miss {
        let fields = self.fields.iter().flat_map(|fields| fields.named.keys());
        let mut known: Vec<String> = fields.filter(|_| self.kinds.meets(Kinds::MAP)).cloned().collect();
        let own = known.clone();
        known.extend(self.beside().into_iter().filter(|name| !own.iter().any(|own| own == name)).map(str::to_owned));
        let near = match step {
            Step::Name(name) => meant(name, known.iter().map(String::as_str)),
            Step::Index(_) | Step::Record => Vec::new(),
        };
        Miss { walked, step: step.clone(), from: self, near, known: own }
    }

    /// The names that are found beside its fields.
    fn beside(&self) -> Vec<&'static str> {
        let groups: &[&[&str]] = match self.source {
            Source::Plain | Source::Perhaps => &[],
            Source::Task => &[&OF_RESULTS],
            Source::Process => &[&OF_RESULTS, &OF_PROCESSES],
            Source::Evaluation => &[&OF_RESULTS, &OF_EVALUATIONS],
        };
        groups.iter().flat_map(|group| group.iter().copied()).filter(|name| !OTHER_NAMES.contains(name)).collect()
    }

    fn field(&self, name: &str) -> Option<Self> {
        if self.is_never() {
            return Some(Self::any());
        }
        let maps = self.kinds.meets(Kinds::MAP);
        let declared = self.fields.as_ref().filter(|_| maps).and_then(|fields| fields.named.get(name));
        let open = maps && self.fields.as_ref().is_none_or(|fields| fields.open);
        let others = self.kinds != Kinds::MAP;
        let declared = declared.map(|shape| shape.as_ref().clone().missing(others));
        let found = match (declared, self.part(name)) {
            (Some(field), Some(part)) if field.absent => Some(field.or(&part)),
            (Some(field), _) => Some(field),
            // An output of a process can be used, unless the output is declared to have another field of this name.
            (None, Some(part)) if open && !OF_PROCESSES.contains(&name) => Some(part.or(&Self::any())),
            (None, Some(part)) => Some(part),
            (None, None) => open.then(|| Self::any().missing(true)),
        };
        // Before the first evaluation, every path into it is null.
        let before = self.source == Source::Evaluation && self.kinds.meets(Kinds::NULL);
        found.map(|shape| if before { shape.or_null() } else { shape })
    }

    /// The shape of what a result has beside the fields of its value.
    fn part(&self, name: &str) -> Option<Self> {
        let process = OF_PROCESSES.contains(&name);
        match self.source {
            Source::Plain => None,
            Source::Perhaps => (process || OF_RESULTS.contains(&name)).then(Self::any),
            // An evaluator may be a process.
            Source::Evaluation if process => Some(Self::any().missing(true)),
            _ => match name {
                "content" => Some(Self::text()),
                "parsed_content" | "parsedContent" => {
                    let value = self.clone().value();
                    Some(if self.kinds.meets(Kinds::TEXT) { value.or_null() } else { value })
                }
                "success" if self.source == Source::Evaluation => Some(Self::boolean()),
                "feedback" if self.source == Source::Evaluation => Some(Self::text()),
                "stdout" | "stderr" if self.source == Source::Process => Some(Self::text()),
                "exit_code" | "exitCode" if self.source == Source::Process => Some(Self::number().missing(true)),
                "timed_out" if self.source == Source::Process => Some(Self::boolean()),
                _ => None,
            },
        }
    }

    fn at_index(&self) -> Option<Self> {
        if self.is_never() {
            return Some(Self::any());
        }
        let element = self.element.as_deref().cloned().unwrap_or_else(Self::any);
        let lists = self.kinds.meets(Kinds::LIST).then(|| element.missing(true));
        let before = self.source == Source::Evaluation && self.kinds.meets(Kinds::NULL);
        lists.map(|shape| if before { shape.or_null() } else { shape })
    }

    /// The shape of the record of a call (spec 6).
    fn record(&self) -> Option<Self> {
        if self.source == Source::Plain {
            return None;
        }
        let of_process = |shape: Self| Arc::new(shape.missing(true));
        let open = || Arc::new(Self::of(Kinds::MAP));
        let named = [
            ("status", Arc::new(Self::one_of(["COMPLETE", "CONTINUATION", "WAITING", "FAILED"]))),
            ("content", Arc::new(Self::text())),
            ("parsed_content", Arc::new(self.clone().value().or_null())),
            ("criteria", Arc::new(Self::any())),
            ("error", Arc::new(Self::of(Kinds::MAP).or_null())),
            ("notes", open()),
            ("stdout", of_process(Self::text())),
            ("stderr", of_process(Self::text())),
            ("exit_code", of_process(Self::number())),
            ("timed_out", of_process(Self::boolean())),
        ];
        let named = named.into_iter().map(|(name, shape)| (name.to_owned(), shape)).collect();
        let record = Self::map(Fields { named, open: false });
        let before = self.source == Source::Evaluation && self.kinds.meets(Kinds::NULL);
        Some(if before { record.or_null() } else { record })
    }
}
