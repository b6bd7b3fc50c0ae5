//! Detects sentences of the host's own prompt in a reply (spec 4.6): a small model recites what it was told.

use callsheet_core::issue::{Issue, IssueCode, Span};
use callsheet_core::nouns::Phase;

use crate::reading::Diagnostics;

/// A shorter sentence, in words, may occur in any text.
const WORDS: usize = 6;

/// The first sentence of a reply that is one of the host's. `own` is what the host says in each such prompt; `prompt`
/// is this whole prompt. A sentence that occurs in it again belongs to the request or the material, and is allowed.
pub fn recited(text: &str, own: &str, prompt: &str, phase: Phase) -> Option<Issue> {
    let is_own = |sentence: &&str| {
        let count = own.matches(*sentence).count();
        count > 0 && prompt.matches(*sentence).count() <= count
    };
    let found = text.lines().flat_map(sentences).find(is_own)?;
    let notes = Diagnostics::new(phase, false);
    Some(notes.issue(IssueCode::PromptRecited, "", Span::line(1), &[("text", found)]))
}

/// The sentences of a line that are long enough, without list or heading marks.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let bare = line.trim().trim_start_matches(['-', '*', '#', '>', ' ']);
    let all = bare.split(". ").map(|sentence| sentence.trim().trim_end_matches(['.', ':', '!']));
    all.filter(|sentence| sentence.split_whitespace().count() >= WORDS)
}

#[cfg(test)]
mod tests {
    use super::recited;
    use callsheet_core::nouns::Phase;

    const OWN: &str = "You do one task.\n- Use only what stands below, and say what is missing.\n{precursor}";

    fn is_recited(text: &str, material: &str) -> bool {
        let prompt = OWN.replace("{precursor}", material);
        recited(text, OWN, &prompt, Phase::Execute).is_some()
    }

    /// covers: 4.6, prompt-recited
    #[test]
    fn a_sentence_of_the_host_is_caught_unless_the_material_has_it() {
        assert!(is_recited("## Result summary\n* Use only what stands below, and say what is missing.", ""));
        assert!(is_recited("Four. Use only what stands below, and say what is missing. Five.", ""));
        assert!(!is_recited("You do one task.", ""), "too short to tell");
        assert!(!is_recited(
            "Use only what stands below, and say what is missing.",
            "Use only what stands below, and say what is missing."
        ));
        assert!(!is_recited("What stands below says what is missing of the tools.", ""));
    }
}
