//! Texts of a grammar, chosen by a seed: what a model without any sense would write. For tests and simulations.

use super::Grammar;
use super::pattern::{Class, Node, Pattern, lower_all};

/// Characters tried for classes that are given by what they leave out.
const POOL: &[char] = &[
    'a', 'e', 'i', 'n', 'o', 'r', 's', 't', 'Q', 'Z', ' ', ' ', ' ', '0', '7', '.', ',', ':', ';', '!', '?', '(', ')',
    '\'', '"', '/', '|', '&', '%', '{', '}', '$', '@', '\\', '=', '+', '-', '_', '#', '`', '~', '>', 'é', 'ß', '日',
    '🦀',
];

struct Walk<'a> {
    rules: Vec<(&'a str, Node)>,
    state: u64,
    out: String,
    /// Rules that may still be entered; a grammar that never ends is cut here.
    fuel: u32,
}

impl Grammar {
    /// A text of this grammar. The same seed gives the same text.
    pub fn sample(&self, seed: u64) -> String {
        let rules = lower_all(self);
        let first = rules.first().map(|(_, node)| node.clone());
        let mut walk = Walk { rules, state: seed, out: String::new(), fuel: 10_000 };
        if let Some(node) = first {
            walk.node(&node);
        }
        walk.out
    }
}

impl Walk<'_> {
    /// The next number below `bound` (splitmix64).
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let z = usize::try_from((z ^ (z >> 31)) >> 33).unwrap_or(0);
        z.checked_rem(bound).unwrap_or(0)
    }

    /// A number of repetitions: short and long ones are both likely, the ends are too.
    fn count(&mut self, min: u32, max: u32) -> u32 {
        let span = usize::try_from(max.saturating_sub(min)).unwrap_or(0);
        let extra = match self.below(4) {
            0 => 0,
            1 => self.below(span.saturating_add(1).min(4)),
            2 => self.below(span.saturating_add(1)),
            _ => self.below(span.saturating_add(1).min(40)),
        };
        min.saturating_add(u32::try_from(extra).unwrap_or(0))
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Text(text) => self.out.push_str(text),
            Node::Pattern(pattern) => self.pattern(pattern),
            Node::Seq(parts) => parts.iter().for_each(|part| self.node(part)),
            Node::Choice(parts) => {
                let pick = self.below(parts.len());
                if let Some(part) = parts.get(pick) {
                    self.node(part);
                }
            }
            Node::Repeat(inner, min, max) => (0..self.count(*min, *max)).for_each(|_| self.node(inner)),
            Node::Rule(name) => {
                self.fuel = self.fuel.saturating_sub(1);
                let found = self.rules.iter().find(|(known, _)| known == name).map(|(_, node)| node.clone());
                if let Some(node) = found.filter(|_| self.fuel > 0) {
                    self.node(&node);
                }
            }
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Text(text) => self.out.push_str(text),
            Pattern::Class(class) => self.character(class),
            Pattern::Seq(parts) => parts.iter().for_each(|part| self.pattern(part)),
            Pattern::Choice(parts) => {
                let pick = self.below(parts.len());
                if let Some(part) = parts.get(pick) {
                    self.pattern(part);
                }
            }
            Pattern::Repeat(inner, min, max) => (0..self.count(*min, *max)).for_each(|_| self.pattern(inner)),
        }
    }

    fn character(&mut self, class: &Class) {
        let pool: Vec<char> = if class.negated {
            POOL.iter().copied().filter(|c| class.contains(*c)).collect()
        } else {
            class.ranges.iter().flat_map(|(low, high)| *low..=*high).collect()
        };
        let pick = self.below(pool.len());
        self.out.extend(pool.get(pick));
    }
}
