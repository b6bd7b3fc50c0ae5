//! The words of a task and of its request, and whether a sentence tells more.

use std::collections::BTreeSet;

use crate::reply::ReadContext;

/// Forms of files and languages, which are no names.
const FORMS: &[&str] = &[
    "CSV",
    "HTML",
    "JSON",
    "JavaScript",
    "Markdown",
    "Python",
    "Rust",
    "SQL",
    "TOML",
    "TSV",
    "TypeScript",
    "XML",
    "YAML",
];

/// Behind a name it is one of a part of a source.
const PARTS: &[&str] = &[
    "column", "columns", "constant", "csv", "document", "field", "file", "files", "folder", "function", "json",
    "method", "property", "row", "rows", "section", "table", "values",
];

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

    /// Whether the task or the request has one of these words.
    pub(super) fn has_any_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.words.contains(*word))
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

    /// Whether at least half of these words, as [`crate::reply::near::folded`] gives them, are the task's, endings left aside. Short words and some
    /// that stand for the task do not count.
    pub(super) fn has_most_of<'w>(&self, said: impl Iterator<Item = &'w str>) -> bool {
        const BEGINNING: usize = 4;
        const FOR_THE_TASK: &[&str] = &["answer", "following", "information", "out", "question", "result", "task"];
        let begin = |word: &str| word.chars().take(BEGINNING).collect::<String>();
        let known: BTreeSet<String> = self.words.iter().map(|word| begin(word)).collect();
        let said = said.filter(|word| word.chars().nth(3).is_some() && !FOR_THE_TASK.contains(word));
        let (own, all) =
            said.fold((0, 0), |(own, all), word| (own + usize::from(known.contains(&begin(word))), all + 1));
        2 * own >= all
    }

    /// Whether a sentence that plans brings a fact that was not given: a figure, a name, words in brackets, or a link to a place
    /// in a file. Code, and names of files, columns and forms, say with what the work is done.
    pub(super) fn is_told_a_fact_by(&self, said: &str) -> bool {
        let mut in_code = false;
        let mut begins = true;
        let mut words = said.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let is_code = in_code || word.contains('`');
            in_code ^= word.matches('`').count() % 2 == 1;
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let of_item = begins && bare.bytes().all(|c| c.is_ascii_digit()) && word.ends_with(['.', ')']);
            let next = words.peek().map(|next| plain_words(next).next().unwrap_or_default()).unwrap_or_default();
            let is_name = !begins
                && !is_code
                && bare.starts_with(char::is_uppercase)
                && bare != "I"
                && !FORMS.contains(&bare)
                && !PARTS.contains(&next.as_str());
            let is_figure = !of_item && bare.contains(|c: char| c.is_ascii_digit()) && !is_file_name(bare);
            let is_place = word.contains("](") && word.contains('#') || word.contains("://");
            let is_aside = word.starts_with('(') && !word.contains("](") && !is_file_name(bare);
            begins = (bare.is_empty() || of_item) && begins || word.ends_with([':', '?', '!']);
            if (is_name || is_figure || is_place || is_aside)
                && !plain_words(word).all(|word| self.words.contains(&word))
            {
                return true;
            }
        }
        false
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
pub(super) fn is_file_name(word: &str) -> bool {
    let plain = !word.contains(['(', ')', ':', '#', '=', '"', '\'']);
    let ending = word.rsplit_once('.').filter(|(name, _)| !name.is_empty()).map(|(_, ending)| ending);
    let short = |ending: &str| (1..=5).contains(&ending.len()) && ending.bytes().all(|c| c.is_ascii_alphanumeric());
    plain && ending.is_some_and(|ending| short(ending) && ending.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Words in lower case.
pub(super) fn plain_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
