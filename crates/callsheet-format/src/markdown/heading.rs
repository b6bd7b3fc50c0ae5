//! Recognised headings (spec 3.1, 3.3), and how far a written title may differ from one (`heading-name`).

use callsheet_core::fuzzy::within;
use callsheet_core::names::heading_key;

use super::text::straighten;

/// Sections of the formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heading {
    /// `Original prompt`.
    OriginalPrompt,
    /// `Goals / summary`.
    Goals,
    /// `Tasks`.
    Tasks,
    /// `Task section N`.
    TaskSection,
    /// `Issues with the tasks`.
    Issues,
    /// `No longer relevant`.
    NoLongerRelevant,
    /// `Completed tasks`, from older sheets and from models that copy a prompt. Nothing below it is read.
    CompletedTasks,
    /// `Removed tasks` of an iteration or continuation.
    RemovedTasks,
    /// `General information for all tasks`, which is ignored.
    GeneralInformation,
    /// `Task` of a refinement.
    Task,
    /// `Tool Calls`.
    ToolCalls,
    /// `Result summary`.
    ResultSummary,
    /// `Details`.
    Details,
    /// `Change details`.
    ChangeDetails,
}

/// One heading of a format.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The heading.
    pub heading: Heading,
    /// Canonical title, without number.
    pub title: &'static str,
    /// Canonical level.
    pub level: u8,
    /// Used only if the canonical title does not occur (spec 3.3).
    pub synonyms: &'static [&'static str],
    /// Whether a number follows the title. Required for synonyms of `Task section`, ignored for others.
    pub numbered: bool,
}

/// A format: its headings and marker lines.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Headings.
    pub rules: &'static [Rule],
    /// Markers that count alone on a line without bold (spec 2.13, 3.11).
    pub markers: &'static [&'static str],
    /// Whether a canonical title alone in a one-line paragraph counts as a heading.
    pub plain_titles: bool,
}

/// How closely a written title matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It has the canonical heading key.
    Canonical,
    /// A synonym.
    Synonym,
    /// At most two edits from either.
    Near,
}

/// A title and its matching rule.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    /// Which rule.
    pub rule: &'static Rule,
    /// How near.
    pub fit: Fit,
    /// Number after the title.
    pub number: Option<u32>,
}

/// Result of matching a title.
#[derive(Clone, Copy, Debug)]
pub enum Matched {
    /// Exactly one rule matches best.
    One(Match),
    /// Two rules match equally well.
    Two,
    /// No rule matches.
    None,
}

impl Format {
    /// Matches a written title.
    pub fn find(&self, title: &str) -> Matched {
        // A key is shorter than its title, and no title of a format is nearly this long.
        if title.len() > 1_000 {
            return Matched::None;
        }
        let key = heading_key(&straighten(title));
        if key.is_empty() || key.len() > 100 {
            return Matched::None;
        }
        let key = Key::of(&key);
        // Near titles are searched only if no title is equal, because that costs far more.
        match self.best(|rule| equal(rule, &key)) {
            Matched::None if key.letters >= SHORTEST => self.best(|rule| near(rule, &key)),
            found => found,
        }
    }

    /// The rule with exactly this title, ignoring case and punctuation.
    pub fn titled(&self, title: &str) -> Option<Match> {
        let first = title.bytes().next()?;
        let begins = |rule: &&Rule| rule.title.bytes().next().is_some_and(|byte| byte.eq_ignore_ascii_case(&first));
        let mut rules = self.rules.iter().filter(begins).peekable();
        rules.peek()?;
        let key = heading_key(title);
        let key = Key::of(&key);
        rules.filter_map(|rule| equal(rule, &key)).find(|found| found.fit == Fit::Canonical)
    }

    /// The rule that matches best.
    fn best(&self, fit: impl Fn(&'static Rule) -> Option<Match>) -> Matched {
        let mut best: Option<Match> = None;
        let mut tie = false;
        for rule in self.rules {
            let Some(found) = fit(rule) else { continue };
            match &best {
                Some(other) if other.fit < found.fit => {}
                Some(other) if other.fit == found.fit => tie |= other.rule.heading != found.rule.heading,
                _ => {
                    best = Some(found);
                    tie = false;
                }
            }
        }
        match best {
            Some(_) if tie => Matched::Two,
            Some(found) => Matched::One(found),
            None => Matched::None,
        }
    }

    /// Whether a title equals one of its headings, or nearly does.
    pub fn knows(&self, title: &str) -> bool {
        !matches!(self.find(clean(title)), Matched::None)
    }

    /// Whether a single line is a recognised heading: with number signs, or bold alone on the line.
    pub fn is_title_line(&self, line: &str) -> bool {
        // A cheap first check: nearly all lines are text.
        if !line.trim_start().starts_with(|c: char| matches!(c, '#' | '*' | '_') || !c.is_ascii()) {
            return false;
        }
        let line = straighten(line);
        let trimmed = line.trim();
        let title = trimmed.trim_start_matches('#');
        let marked = title.len() < trimmed.len() || bold_only(trimmed).is_some();
        marked && matches!(self.find(clean(title)), Matched::One(_))
    }
}

/// Shortest title, in letters, that may nearly match another.
const SHORTEST: usize = 6;

/// A written key, also in the form before its first number. Words after the number are ignored.
struct Key<'a> {
    whole: &'a str,
    base: &'a str,
    number: Option<u32>,
    /// Number of letters of the whole key.
    letters: usize,
}

impl<'a> Key<'a> {
    fn of(whole: &'a str) -> Self {
        let (base, number) = split_number(whole);
        Self { whole, base, number, letters: letters(whole) }
    }

    /// The key without the number that a rule allows, and that number.
    fn of_rule(&self, rule: &Rule) -> (&'a str, Option<u32>) {
        if rule.numbered { (self.base, self.number) } else { (self.whole, None) }
    }
}

fn letters(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_alphabetic).count()
}

/// Matches a rule whose title or synonym has this key.
fn equal(rule: &'static Rule, key: &Key<'_>) -> Option<Match> {
    let (base, number) = key.of_rule(rule);
    if has_key(rule.title, base) {
        return Some(Match { rule, fit: Fit::Canonical, number });
    }
    let synonym = usable(rule, number) && rule.synonyms.iter().any(|title| has_key(title, base));
    synonym.then_some(Match { rule, fit: Fit::Synonym, number })
}

/// Matches a rule whose title or synonym is at most two edits away. Both need 6 or more letters.
fn near(rule: &'static Rule, key: &Key<'_>) -> Option<Match> {
    let (base, number) = key.of_rule(rule);
    let own = letters(base);
    let near = |title: &str| {
        // A key is as long as its title, except for the two characters that `/` and a space add to one.
        if base.len() > title.len() + 2 || title.len() > base.len() + 2 + 2 {
            return false;
        }
        let other = letters(title);
        other >= SHORTEST && own.abs_diff(other) <= 2 && within(base, &heading_key(title), 2)
    };
    let found =
        own >= SHORTEST && (near(rule.title) || usable(rule, number) && rule.synonyms.iter().any(|title| near(title)));
    found.then_some(Match { rule, fit: Fit::Near, number })
}

/// A synonym of `Task section` counts only with a number.
fn usable(rule: &Rule, number: Option<u32>) -> bool {
    rule.heading != Heading::TaskSection || number.is_some()
}

/// Whether `key` is the heading key of an ASCII title, without building that key.
fn has_key(title: &str, key: &str) -> bool {
    let mut wanted = key.bytes();
    let (mut gap, mut begun) = (false, false);
    for letter in title.bytes() {
        if !letter.is_ascii_alphanumeric() {
            gap = begun;
            continue;
        }
        if gap && wanted.next() != Some(b'-') || wanted.next() != Some(letter.to_ascii_lowercase()) {
            return false;
        }
        (gap, begun) = (false, true);
    }
    wanted.next().is_none()
}

/// A key before its first number, and the number. Words after the number are ignored.
fn split_number(key: &str) -> (&str, Option<u32>) {
    let mut at = 0;
    for word in key.split('-') {
        if at > 0
            && word.starts_with(|c: char| c.is_ascii_digit())
            && let Ok(number) = word.parse()
        {
            return (key.get(..at - 1).unwrap_or(key), Some(number));
        }
        at += word.len() + 1;
    }
    (key, None)
}

/// The text of a line that consists only of bold text.
pub fn bold_only(line: &str) -> Option<&str> {
    let line = line.trim().trim_end_matches(':');
    let inner = ["**", "__"].iter().find_map(|mark| line.strip_prefix(mark)?.strip_suffix(mark))?;
    (!inner.trim().is_empty() && !inner.contains("**") && !inner.contains("__")).then_some(inner)
}

/// A title without markup at its edges and without a trailing colon or number signs.
pub fn clean(title: &str) -> &str {
    title.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | '_' | '`' | ':'))
}
