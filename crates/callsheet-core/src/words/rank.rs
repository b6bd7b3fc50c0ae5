//! BM25: a term counts more if it is rare among the texts and if it occurs often in a text. Each further occurrence
//! adds less, and so does an occurrence in a long text.

use std::collections::BTreeSet;

use super::terms::Words;

/// How soon further occurrences of a term add nothing.
const SATURATION: f64 = 1.2;
/// How much the length of a text counts.
const LENGTH: f64 = 0.75;

/// The search terms: the terms of a text, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question(Vec<String>);

/// How often each term of a question occurs in a text, in order, and the text's length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// One count per term.
    pub times: Vec<u32>,
    /// Number of words in the text.
    pub length: u32,
}

impl Question {
    /// The terms of a text.
    pub fn of(text: &str) -> Self {
        let terms: BTreeSet<String> = Words::of(text).terms().map(|(term, _)| term.to_owned()).collect();
        Self(terms.into_iter().collect())
    }

    /// Its terms in order.
    pub fn terms(&self) -> &[String] {
        &self.0
    }

    /// How often its terms occur in a text.
    pub fn count(&self, words: &Words) -> Counts {
        Counts { times: self.0.iter().map(|term| words.times(term)).collect(), length: words.length() }
    }
}

/// The score of each text for a question among these texts. 0 for a text with none of its terms.
pub fn scores(texts: &[Counts]) -> Vec<f64> {
    let total = number(texts.len());
    let mean = texts.iter().map(|text| f64::from(text.length)).sum::<f64>() / total.max(1.0);
    let terms = texts.iter().map(|text| text.times.len()).max().unwrap_or(0);
    let weight = |term: usize| {
        let found = texts.iter().filter(|text| text.times.get(term).is_some_and(|times| *times > 0)).count();
        let found = number(found);
        libm::log(1.0 + (total - found + 0.5) / (found + 0.5))
    };
    let weights: Vec<f64> = (0..terms).map(weight).collect();
    let score = |text: &Counts| {
        let length = 1.0 - LENGTH + LENGTH * f64::from(text.length) / mean.max(1.0);
        let of_term = |(times, weight): (&u32, &f64)| {
            let times = f64::from(*times);
            weight * times * (SATURATION + 1.0) / (times + SATURATION * length)
        };
        let sum = text.times.iter().zip(&weights).filter(|(times, _)| **times > 0).map(of_term).sum::<f64>();
        (sum * 1_000_000.0).round() / 1_000_000.0
    };
    texts.iter().map(score).collect()
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Question, Words, scores};

    fn best(question: &str, texts: &[&str]) -> Vec<usize> {
        let question = Question::of(question);
        let counts: Vec<_> = texts.iter().map(|text| question.count(&Words::of(text))).collect();
        let scores = scores(&counts);
        let mut order: Vec<usize> = (0..texts.len()).filter(|at| scores[*at] > 0.0).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order
    }

    #[test]
    fn rare_words_count_more_than_common_ones() {
        let texts = ["the boat and the quay", "the ferry at the quay", "the quay of the town", "the the the the"];
        assert_eq!(best("when does the ferry go?", &texts).first(), Some(&1));
        assert_eq!(best("ferries", &texts), [1]);
        assert_eq!(best("submarine", &texts), Vec::<usize>::new());
    }

    #[test]
    fn more_is_better_and_short_is_better() {
        let long = format!("ferry {}", "word ".repeat(200));
        assert_eq!(best("ferry", &[&long, "ferry ferry word", "ferry word"]), [1, 2, 0]);
    }

    proptest! {
        #[test]
        fn scores_are_finite_and_never_negative(
            question in "\\PC{0,40}",
            texts in prop::collection::vec("\\PC{0,60}", 0..8),
        ) {
            let question = Question::of(&question);
            let counts: Vec<_> = texts.iter().map(|text| question.count(&Words::of(text))).collect();
            let found = scores(&counts);
            prop_assert_eq!(found.len(), texts.len());
            prop_assert!(found.iter().all(|score| score.is_finite() && *score >= 0.0));
            prop_assert_eq!(found, scores(&counts));
        }
    }
}
