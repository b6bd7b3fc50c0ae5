//! Divides the tokens of one prompt among its references (spec 5.8). Pure.

use callsheet_core::nouns::Budget;

/// Tokens that one prompt may spend on references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Limit for one reference at execution.
    pub reference: u32,
    /// Limit for all references of the prompt.
    pub prompt: u32,
    /// Limit for one reference at refinement.
    pub preview: u32,
}

impl Allowance {
    /// The allowance of one prompt. The skill's own limit for a reference overrides the run's, references take at most
    /// half the model's window, and everything is scaled down after context overflows (spec 12.3).
    pub fn new(budget: &Budget, skill_reference: Option<u32>, window: Option<u32>, scale: f64) -> Self {
        let prompt = window.map_or(budget.prompt, |window| budget.prompt.min(window / 2));
        Self {
            reference: scaled(skill_reference.unwrap_or(budget.reference), scale),
            prompt: scaled(prompt, scale),
            preview: scaled(budget.preview, scale),
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, which is wanted")]
fn scaled(tokens: u32, scale: f64) -> u32 {
    (f64::from(tokens) * scale.clamp(0.0, 1.0)).round() as u32
}

/// What one reference needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Tokens of its whole content.
    pub tokens: u32,
    /// Whether wiring added it. Such a reference is cut before any that the task names (spec 2.12).
    pub carried: bool,
}

/// The share of each reference. The shares grow equally, in the order of the references. No reference gets more than it
/// needs or than one reference may have. The others get what small references leave. Carried references share the rest.
pub fn shares(demands: &[Demand], allowance: &Allowance) -> Vec<u32> {
    let mut shares = vec![0; demands.len()];
    let mut left = allowance.prompt;
    for carried in [false, true] {
        let wanted: Vec<(usize, u32)> = demands
            .iter()
            .enumerate()
            .filter(|(_, demand)| demand.carried == carried)
            .map(|(at, demand)| (at, demand.tokens.min(allowance.reference)))
            .collect();
        fill_equally(&wanted, &mut left, &mut shares);
    }
    shares
}

fn fill_equally(wanted: &[(usize, u32)], left: &mut u32, shares: &mut [u32]) {
    let mut open: Vec<(usize, u32)> = wanted.to_vec();
    while !open.is_empty() && *left > 0 {
        let count = u32::try_from(open.len()).unwrap_or(u32::MAX);
        let (level, odd) = (*left / count, *left % count);
        let small: Vec<(usize, u32)> = open.iter().copied().filter(|(_, need)| *need <= level).collect();
        if small.is_empty() {
            for (place, (at, _)) in open.iter().enumerate() {
                if let Some(share) = shares.get_mut(*at) {
                    // The first ones in reference order get the remainder of the division.
                    *share = level + u32::from(u32::try_from(place).is_ok_and(|place| place < odd));
                }
            }
            *left = 0;
            return;
        }
        for (at, need) in small {
            if let Some(share) = shares.get_mut(at) {
                *share = need;
            }
            *left = left.saturating_sub(need);
        }
        open.retain(|(_, need)| *need > level);
    }
}

#[cfg(test)]
mod tests {
    use callsheet_core::nouns::Budget;
    use proptest::prelude::*;

    use super::{Allowance, Demand, shares};

    fn allowance(reference: u32, prompt: u32) -> Allowance {
        Allowance { reference, prompt, preview: 600 }
    }

    fn demands(tokens: &[u32], carried: &[u32]) -> Vec<Demand> {
        let of = |carried| move |tokens: &u32| Demand { tokens: *tokens, carried };
        tokens.iter().map(of(false)).chain(carried.iter().map(of(true))).collect()
    }

    #[test]
    fn small_references_leave_their_rest_to_large_ones() {
        assert_eq!(shares(&demands(&[100, 9_000, 9_000], &[]), &allowance(8_000, 10_101)), [100, 5_001, 5_000]);
    }

    #[test]
    fn carried_references_are_cut_first() {
        assert_eq!(shares(&demands(&[700], &[700, 700]), &allowance(8_000, 1_000)), [700, 150, 150]);
        assert_eq!(shares(&demands(&[7_000], &[700]), &allowance(8_000, 1_000)), [1_000, 0]);
    }

    #[test]
    fn the_allowance_is_half_the_window_at_most_and_scaled() {
        let made = Allowance::new(&Budget::default(), Some(4_000), Some(10_000), 0.7);
        assert_eq!(made, Allowance { reference: 2_800, prompt: 3_500, preview: 420 });
        assert_eq!(Allowance::new(&Budget::default(), None, None, f64::NAN).prompt, 0);
    }

    proptest! {
        #[test]
        fn nothing_is_wasted_and_nothing_is_passed(
            tokens in prop::collection::vec(0_u32..20_000, 0..9),
            carried in prop::collection::vec(0_u32..20_000, 0..9),
            prompt in 0_u32..60_000,
        ) {
            let demands = demands(&tokens, &carried);
            let given = shares(&demands, &allowance(8_000, prompt));
            let wanted: u32 = demands.iter().map(|demand| demand.tokens.min(8_000)).sum();
            prop_assert_eq!(given.iter().sum::<u32>(), wanted.min(prompt));
            for (share, demand) in given.iter().zip(&demands) {
                prop_assert!(*share <= demand.tokens.min(8_000));
            }
        }
    }
}
