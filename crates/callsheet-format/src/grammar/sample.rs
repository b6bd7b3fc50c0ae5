//! Random texts of a grammar, chosen by a seed: what a model that understands nothing would write. For tests and
//! simulations.

use std::collections::{BTreeMap, BTreeSet};

use super::Grammar;
use super::pattern::{Class, Node, Pattern, lower_all};

/// Characters to try for negated classes.
const POOL: &[char] = &[
    'a', 'e', 'i', 'n', 'o', 'r', 's', 't', 'Q', 'Z', ' ', ' ', ' ', '0', '7', '.', ',', ':', ';', '!', '?', '(', ')',
    '\'', '"', '/', '|', '&', '%', '{', '}', '$', '@', '\\', '=', '+', '-', '_', '#', '`', '~', '>', 'é', 'ß', '日',
    '🦀',
];

/// Texts that would be structure in the wrong place. A walk writes them wherever its grammar allows it, so that a
/// grammar that allows too much is found.
const HOSTILE: &[&str] = &[
    "## Tasks",
    "Goal: a thing",
    "Goal/: a thing",
    "What is needed: a thing",
    "# Original prompt",
    "Original prompt",
    "Goals / summary",
    "Tasks:",
    "Task section 2",
    "task section 1:",
    "Completed tasks",
    "General information for all tasks",
    "Issues with the tasks",
    "No longer relevant",
    "Plan complete",
    "plan complete.",
    "PLAN  CONTINUES",
    "- plan continues",
    "1. Plan complete!",
    "[x] plan complete",
    "More work needed",
    "more work needed.",
    "- More work needed!",
    "[ ] more work needed",
    "2) no changes needed",
    "3. No changes needed",
    "\u{2022} no changes needed",
    "**no changes needed**",
    "Result summary",
    "**Result summary**",
    "__Details__",
    "## Details (2)",
    "Details:",
    "- **Filename** x.md",
    "Filename: x.md",
    "Skill: review",
    "- Name: Other",
    "**Skill** review",
    "What is needed other things",
    "<think>",
    "a <think> b",
    "</think>",
    "<Reasoning> why",
    "<tool_call>{}</tool_call>",
    "<function=x>",
    "< 3 and > 2",
    "\u{2013} a thing that is needed",
    "\u{2014} a thing that is needed",
    "\u{2022} a thing that is needed",
    "a thing<|im_end|>",
    "<|eot_id|>",
    "a thing <end_of_turn>",
    "<start_of_turn>user",
    "a thing</s>",
    "<eos>",
    "===",
    "= =",
    "---",
    "- - -",
    "```",
    "   ```",
    "\t````text",
    "``` text",
    "~~~",
    "`a`",
    "> quoted",
    "| a | b |",
    "|---|---|",
    "    code",
    "{\"name\": \"now\", \"arguments\": {}}",
    "[a](missing.md)",
    "[a]: missing.md",
    "\u{201c}x\u{201d} y",
    "none",
    "output_mode next_section",
    "- output_mode next_section",
    "!--",
    "&lt;think&gt;",
    "\\",
];

struct Walk<'a> {
    rules: &'a BTreeMap<&'a str, Node>,
    state: u64,
    out: String,
    entered: BTreeSet<String>,
    /// How many more rules may be entered. A grammar that never ends is cut here.
    fuel: u32,
}

impl Grammar {
    /// A text of this grammar. The same seed gives the same text.
    pub fn sample(&self, seed: u64) -> String {
        self.walk(seed).0
    }

    /// Like [`Grammar::sample`], with the names of the rules that were entered.
    pub fn walk(&self, seed: u64) -> (String, BTreeSet<String>) {
        let first = self.rules.first().map_or("", |(name, _)| name.as_str());
        let rules: BTreeMap<&str, Node> = lower_all(self).into_iter().collect();
        let entered = BTreeSet::from([first.to_owned()]);
        let mut walk = Walk { rules: &rules, state: seed, out: String::new(), entered, fuel: 10_000 };
        if let Some(node) = rules.get(first) {
            walk.node(node);
        }
        (walk.out, walk.entered)
    }
}

impl Pattern {
    /// Whether the whole of `text` matches this pattern.
    fn matches(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        self.ends(&chars, &BTreeSet::from([0])).contains(&chars.len())
    }

    /// Where a text of this pattern may end if it begins at one of `starts`.
    fn ends(&self, chars: &[char], starts: &BTreeSet<usize>) -> BTreeSet<usize> {
        match self {
            Self::Text(text) => {
                let text: Vec<char> = text.chars().collect();
                let fits = |at: &&usize| chars.get(**at..).is_some_and(|rest| rest.starts_with(&text));
                starts.iter().filter(fits).map(|at| at + text.len()).collect()
            }
            Self::Class(class) => {
                let fits = |at: &&usize| chars.get(**at).is_some_and(|c| class.contains(*c));
                starts.iter().filter(fits).map(|at| at + 1).collect()
            }
            Self::Seq(parts) => parts.iter().fold(starts.clone(), |starts, part| part.ends(chars, &starts)),
            Self::Choice(parts) => parts.iter().flat_map(|part| part.ends(chars, starts)).collect(),
            Self::Repeat(inner, min, max) => {
                let mut all = BTreeSet::new();
                let mut at = starts.clone();
                for round in 0..=*max {
                    if round >= *min {
                        all.extend(&at);
                    }
                    at = inner.ends(chars, &at);
                    if at.is_empty() {
                        break;
                    }
                }
                all
            }
        }
    }
}

impl Walk<'_> {
    /// The next random number below `bound` (splitmix64).
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let z = usize::try_from((z ^ (z >> 31)) >> 33).unwrap_or(0);
        z.checked_rem(bound).unwrap_or(0)
    }

    /// A number of repetitions. Short and long ones are both likely, and so are the limits.
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
            Node::Pattern(pattern) => self.lexeme(pattern),
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
                if let Some(node) = self.rules.get(name.as_str()).filter(|_| self.fuel > 0) {
                    self.entered.insert(name.clone());
                    self.node(node);
                }
            }
        }
    }

    /// A pattern as a whole lexeme. Sometimes one of [`HOSTILE`], if it matches.
    fn lexeme(&mut self, pattern: &Pattern) {
        if self.below(2) == 0 {
            let pick = self.below(HOSTILE.len());
            let hostile = HOSTILE.get(pick).copied().unwrap_or_default();
            let text = match self.below(4) {
                0 => format!("{hostile} and more of it"),
                1 => format!("About {hostile}"),
                _ => hostile.to_owned(),
            };
            if pattern.matches(&text) {
                return self.out.push_str(&text);
            }
        }
        self.pattern(pattern);
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
