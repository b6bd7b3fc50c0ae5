//! The words of a task and of its request, and whether a sentence tells more.

use std::collections::BTreeSet;

use crate::reply::ReadContext;

/// The words of a task and of the request.
pub(super) struct Asked {
    words: BTreeSet<String>,
}

impl Asked {
    pub(super) fn of(context: &ReadContext) -> Self {
        let mut words = BTreeSet::new();
        let mut take = |text: &str| words.extend(plain_words(text));
        if let Some(task) = &context.current {
            [&task.name, &task.need, &task.expected].into_iter().for_each(|text| take(text));
            for link in &task.references {
                take(&link.title);
                take(&link.target.to_string());
            }
        }
        context.prompts.iter().for_each(|prompt| take(prompt));
        Self { words }
    }

    /// Whether most words of these texts are the task's, endings left aside.
    pub(super) fn has_most_words_of(&self, texts: &[&str]) -> bool {
        const BEGINNING: usize = 4;
        const LEAST: usize = 4;
        let begin = |word: &str| word.chars().take(BEGINNING).collect::<String>();
        let known: BTreeSet<String> = self.words.iter().map(|word| begin(word)).collect();
        let said = texts.iter().flat_map(|text| plain_words(text)).filter(|word| word.chars().nth(2).is_some());
        let (own, all) =
            said.fold((0, 0), |(own, all), word| (own + usize::from(known.contains(&begin(&word))), all + 1));
        all >= LEAST && 2 * own >= all
    }

    /// Whether a sentence brings a fact that was not given: a figure, a name, a code span or a link with another word.
    pub(super) fn is_told_more_by(&self, said: &str) -> bool {
        self.is_told_more(said, |_| false)
    }

    /// The same where names of files tell nothing.
    pub(super) fn is_told_more_beyond_files_by(&self, said: &str) -> bool {
        self.is_told_more(said, is_file_name)
    }

    fn is_told_more(&self, said: &str, tells_nothing: fn(&str) -> bool) -> bool {
        let mut in_code = false;
        let mut begins = true;
        for word in said.split_whitespace() {
            let is_code = in_code || word.contains('`');
            in_code ^= word.matches('`').count() % 2 == 1;
            let is_link = word.contains("](") || word.contains("://");
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let is_name = !begins
                && bare.starts_with(char::is_uppercase)
                && !matches!(plain_words(bare).next().as_deref(), Some("i"));
            let is_figure = bare.contains(|c: char| c.is_ascii_digit());
            begins = bare.is_empty() && begins || word.ends_with([':', '?', '!']);
            if tells_nothing(bare) {
                continue;
            }
            if (is_code || is_link || is_name || is_figure) && !plain_words(word).all(|word| self.words.contains(&word))
            {
                return true;
            }
        }
        false
    }
}

/// A word with an ending such as `.rs`, which is no figure.
fn is_file_name(word: &str) -> bool {
    let plain = !word.contains(['(', ')', ':', '#', '=', '"', '\'']);
    let ending = word.rsplit_once('.').filter(|(name, _)| !name.is_empty()).map(|(_, ending)| ending);
    let short = |ending: &str| (1..=5).contains(&ending.len()) && ending.bytes().all(|c| c.is_ascii_alphanumeric());
    plain && ending.is_some_and(|ending| short(ending) && ending.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Words in lower case.
fn plain_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
