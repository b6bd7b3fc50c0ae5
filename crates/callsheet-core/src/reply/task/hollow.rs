//! A summary of which no sentence has a word of its own (spec 3.8 `summary-missing`): the task said again in other words, the
//! claim that it is done, a pointer to the source, an apology, a question back. What a sentence says is told by its words alone:
//! those of the task, and those that speak of results and of work (`hollow.words`). One other word, figure, name or link that
//! leads somewhere, and it may be the answer.

use std::collections::BTreeSet;

use crate::reply::markdown::{Document, Heading, Section};
use crate::reply::near::folded;
use crate::reply::{Notes, ReadContext};
use crate::sheet::parse_name;
use crate::spec::{Target, Task};

use super::asked::{is_file_name, plain_words};
use super::formats::MORE_WORK;
use super::links::{Found, links_of};
use super::planned::names_source;
use super::skill_policy;
use super::vocabulary::{Class, is};

/// Longest text that is looked at, bytes: a longer one says something.
const LONGEST: usize = 8_000;

/// Words of the shortest copy of an expected output.
const SHORTEST: usize = 3;

/// Own words of a summary that says what the task is and that more work is needed, at most.
const MOST_UNFINISHED: usize = 5;

/// Own words below a summary without one that says that more work is needed: the numbers of two paragraphs are no result.
const MOST_BELOW: usize = 2;

/// What a sentence does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Says {
    /// It has something of its own.
    More,
    /// It asks, claims that something was done, or points elsewhere.
    Idle,
    /// It asserts something in words of the task.
    Known,
    /// Words of the task in which nothing is asserted.
    Fragment(Vec<String>),
}

/// Whether no sentence of a summary, and nothing else of the reply, says anything of its own, and one at least asks, claims or
/// points, or all of them together are the task. What a writer says of its changes is not looked at, nor what a conversation
/// says of what its tools have done.
pub(super) fn is_hollow(summary: &str, document: &Document<'_>, context: &ReadContext, notes: &mut Notes) -> bool {
    let Some(task) = &context.current else { return false };
    let writes = skill_policy(context).is_some_and(|policy| policy.writes_files || policy.writer.is_some());
    let changes = document.all(Heading::ChangeDetails).next().is_some();
    if writes || changes || !document.fences.is_empty() || summary.len() > LONGEST {
        return false;
    }
    let mut known = Known::of(task, context);
    let unfinished = !document.markers(MORE_WORK, 0..document.len()).is_empty();
    let most = if unfinished { MOST_UNFINISHED } else { 1 };
    if said_of_task(summary).is_some_and(|said| known.own_words(&said) <= most) {
        // What stands below it is called by no result.
        return true;
    }
    if unfinished && known.own_words(summary) == 0 && known.own_words(&document.text(0..document.len())) <= MOST_BELOW {
        return true;
    }
    let Some(rest) = rest_of(document, &known, context, notes) else { return false };
    known.over_dead_links = rest.has_dead_links;
    let said = folded(summary);
    if said == folded(&task.expected) && said.split(' ').nth(SHORTEST - 1).is_some() {
        return true;
    }
    let idle = idle_parts(summary, false, &known, context, notes);
    let many = plain_words(summary).nth(SHORTEST - 1).is_some();
    let breaks_off = || many && (is_left_out(summary) || ends_in_head_of_table(summary));
    idle.is_some_and(|idle| idle.begins || breaks_off() || known.is_covered_by(&idle.fragments))
}

/// What a summary says of the task itself, where it begins so in place of telling what came of it.
fn said_of_task(summary: &str) -> Option<String> {
    const OPENINGS: &[&str] = &[
        "the task is to ",
        "the task was to ",
        "the task asks ",
        "the task requires ",
        "this task is to ",
        "this task requires ",
        "the goal is to ",
        "die aufgabe ist es",
        "die aufgabe besteht darin",
        "la tâche est de ",
        "la tâche consiste à ",
        "la tarea es ",
        "la tarea consiste en ",
        "il compito è ",
        "de taak is ",
    ];
    let said = folded(summary);
    OPENINGS.iter().find_map(|opening| said.strip_prefix(opening)).map(str::to_owned)
}

/// What sentences that say nothing of their own hold.
#[derive(Default)]
struct Idle {
    /// One of them asks, claims or points.
    begins: bool,
    /// Links that lead nowhere stand in them.
    has_dead_links: bool,
    fragments: Stems,
}

/// What the sentences of a text hold; none if one of them says more.
fn idle_parts(text: &str, below: bool, known: &Known, context: &ReadContext, notes: &mut Notes) -> Option<Idle> {
    if text.len() > LONGEST {
        return None;
    }
    let mut idle = Idle::default();
    let text = without_links(text, below, &mut idle, known, context, notes)?;
    for said in text.lines().flat_map(sentences) {
        match known.says(said) {
            Says::More => return None,
            Says::Idle => idle.begins = true,
            Says::Known => {}
            Says::Fragment(words) => words.iter().for_each(|word| idle.fragments.add(word)),
        }
    }
    Some(idle)
}

/// The same of what stands before the summary and in other sections, all of it together.
fn rest_of(document: &Document<'_>, known: &Known, context: &ReadContext, notes: &mut Notes) -> Option<Idle> {
    let aside = |section: &&Section| {
        section.heading != Some(Heading::ResultSummary) && folded(&section.title) != "more work needed"
    };
    let sections = document.sections.iter().filter(aside).map(|section| section.body.clone());
    let headed = document.all(Heading::ResultSummary).next().is_some();
    let mut said = String::new();
    for lines in sections.chain(headed.then(|| document.preamble.clone())) {
        let text = document.text(lines);
        let is_said = |line: &&str| !line.trim_start().starts_with('#') && (line.contains("](") || !names_source(line));
        for line in text.lines().filter(is_said) {
            said.push_str(line);
            said.push('\n');
        }
        if said.len() > LONGEST {
            return None;
        }
    }
    idle_parts(&said, true, known, context, notes)
}

/// A text in which links that lead nowhere are gone; none if one leads somewhere else than to a source of the task. Of a dead
/// link the title stays, unless it is a name of its target or the link stands below the summary.
fn without_links(
    text: &str,
    below: bool,
    idle: &mut Idle,
    known: &Known,
    context: &ReadContext,
    notes: &mut Notes,
) -> Option<String> {
    let mut rest = text.to_owned();
    for Found { title, target, raw, dead } in links_of(text, context, notes)? {
        let address = target.contains("://");
        let gone = if address { is_nobodys(&target) } else { dead };
        idle.has_dead_links |= gone;
        let put = if gone {
            let words: BTreeSet<String> = plain_words(&target).collect();
            let is_name = below || title.contains("://") || plain_words(&title).all(|word| words.contains(&word));
            if is_name { String::new() } else { title }
        } else if known.has_text(&target) {
            String::new()
        } else if known.sources.contains(&target) && !known.places {
            // Where files are asked for, the name of one is an answer.
            String::new()
        } else if target.starts_with('#') && !matches!(parse_name(&target), Ok(Target::TaskOutput { .. })) {
            title
        } else {
            return None;
        };
        rest = rest.replacen(&raw, &put, 1);
    }
    Some(rest)
}

/// Whether a web address is one of examples, with a blank in the place of a name.
fn is_nobodys(address: &str) -> bool {
    const HOSTS: &[&str] = &["example.com", "example.org", "example.net", "www.example.com", "www.example.org"];
    const BLANKS: &[&str] = &["username", "user name", "your", "yourname", "yourusername", "yourrepo", "yourproject"];
    const PATHS: &[&str] = &["/path/to/", "/owner/repo", "/user/repo", "/org/repo", "..."];
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '#', '?', ':']).next().unwrap_or_default();
    let is_blank = |part: &str| {
        let part = folded(part);
        BLANKS.iter().any(|blank| part == *blank || *blank == "your" && part.starts_with("your "))
    };
    HOSTS.contains(&host)
        || address.contains(['<', '{'])
        || PATHS.iter().any(|path| rest.contains(path))
        || rest.split(['/', '.', '#', '?']).any(is_blank)
}

/// Whether a text ends in a colon, or has dots in the place of something.
fn is_left_out(text: &str) -> bool {
    text.trim_end().ends_with(':') || text.contains("...") || text.contains('…')
}

/// Whether a text ends in the head of a table, with no row below it.
fn ends_in_head_of_table(text: &str) -> bool {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    last.contains("--") && last.starts_with('|') && last.bytes().all(|c| matches!(c, b'|' | b'-' | b':' | b' '))
}

/// The sentences of a line, each with its sign.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '-' | '*' | '>' | '|' | '+'));
    let mut rest = line;
    std::iter::from_fn(move || {
        let end = rest.match_indices(['.', '!', '?', ':', ';']).map(|(at, sign)| at + sign.len());
        let end = end.into_iter().find(|at| rest.get(*at..).is_none_or(|tail| tail.starts_with(char::is_whitespace)));
        let (said, tail) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        rest = tail.trim_start();
        (!said.is_empty()).then_some(said)
    })
}

/// Words, found again with other endings.
#[derive(Default)]
struct Stems(BTreeSet<String>);

impl Stems {
    /// A word in lower case, as it is and with up to three letters less, four at least.
    fn of(word: &str) -> impl Iterator<Item = String> {
        const LEAST: usize = 4;
        const ENDING: usize = 3;
        let word =
            word.strip_suffix('y').filter(|stem| stem.len() > 2).map_or(word.to_owned(), |stem| format!("{stem}i"));
        let count = word.chars().count();
        let least = count.saturating_sub(ENDING).max(LEAST).min(count);
        (least..=count).map(move |length| word.chars().take(length).collect())
    }

    fn add(&mut self, word: &str) {
        self.0.extend(Self::of(word));
    }

    fn has(&self, word: &str) -> bool {
        Self::of(word).any(|stem| self.0.contains(&stem))
    }
}

/// What is known before: words of the task and of the request.
struct Known {
    /// Need, expected output and request as written.
    texts: Vec<String>,
    /// Their words.
    words: BTreeSet<String>,
    stems: Stems,
    /// Words of the references of the task.
    named: BTreeSet<String>,
    /// Targets of the references that are a source as a whole.
    sources: BTreeSet<String>,
    /// Words of the need, and of the expected output, that carry its matter.
    matter: [BTreeSet<String>; 2],
    need: Stems,
    /// The task asks whether, or which of several.
    chooses: bool,
    /// It asks whether.
    whether: bool,
    /// It asks for files or places.
    places: bool,
    /// It asks what something does.
    behaves: bool,
    /// It is done in the world.
    world: bool,
    /// What stands below the summary is links that lead nowhere.
    over_dead_links: bool,
}

impl Known {
    fn of(task: &Task, context: &ReadContext) -> Self {
        let asked = [&task.need, &task.expected];
        let texts: Vec<String> = asked.into_iter().chain(&context.prompts).cloned().collect();
        let words: BTreeSet<String> = texts.iter().flat_map(|text| plain_words(text)).collect();
        let any = |class: Class| asked.iter().any(|text| plain_words(text).any(|word| is(&word, class)));
        let matter = asked
            .map(|text| plain_words(text).filter(|word| !is(word, Class::Plain) && !is(word, Class::Denial)).collect());
        let mut stems = Stems::default();
        words.iter().for_each(|word| stems.add(word));
        let mut need = Stems::default();
        plain_words(&task.need).for_each(|word| need.add(&word));
        let of_several = [" of ", " von ", " de ", " di "].iter().any(|of| task.need.contains(&format!("hich{of}")));
        let chooses = any(Class::Chooses);
        let whole = |target: &Target| !matches!(target, Target::File { fragment: Some(_), .. });
        let sources = task.references.iter().map(|link| &link.target).filter(|target| whole(target));
        let references = task.references.iter().map(|link| format!("{} {}", link.title, link.target));
        Self {
            named: references.flat_map(|text| plain_words(&text).collect::<Vec<_>>()).collect(),
            sources: sources.map(ToString::to_string).collect(),
            chooses: chooses || of_several,
            whether: chooses,
            places: any(Class::Places),
            behaves: any(Class::Behaves),
            world: any(Class::World),
            texts,
            words,
            stems,
            matter,
            need,
            over_dead_links: false,
        }
    }

    /// How many different words of a text are not those of the task, of its sources or of speech.
    fn own_words(&self, text: &str) -> usize {
        let of_speech = |word: &str| [Class::Plain, Class::Talk, Class::Denial].iter().any(|class| is(word, *class));
        let of_task = |word: &str| self.stems.has(word) || self.named.contains(word);
        let own: BTreeSet<String> = plain_words(text).filter(|word| !of_speech(word) && !of_task(word)).collect();
        own.len()
    }

    fn has_text(&self, text: &str) -> bool {
        self.texts.iter().any(|known| known.contains(text))
    }

    /// Whether words are two thirds of the need, or all of the expected output.
    fn is_covered_by(&self, said: &Stems) -> bool {
        let [need, expected] = &self.matter;
        let covered = |words: &BTreeSet<String>| words.iter().filter(|word| said.has(word)).count();
        let (of_need, of_expected) = (covered(need), covered(expected));
        of_need > SHORTEST && 3 * of_need >= 2 * need.len() || of_expected >= SHORTEST && of_expected == expected.len()
    }

    /// What a sentence says.
    fn says(&self, said: &str) -> Says {
        if asks_reader(said) {
            return Says::Idle;
        }
        let Some(sentence) = Sentence::of(said, self) else { return Says::More };
        sentence.says(self)
    }
}

/// Whether a sentence is a question to the reader, whatever its words.
fn asks_reader(said: &str) -> bool {
    const OFFERS: &[&str] = &["do i", "shall i", "should i", "soll ich", "dois je"];
    let plain = folded(said);
    let to_reader = || plain.split(' ').any(|word| is(word, Class::Reader));
    said.ends_with('?') && (to_reader() || OFFERS.iter().any(|words| plain.starts_with(words)))
}

/// What is found in a sentence that has only words that are known.
#[derive(Default)]
struct Sentence {
    matter: Vec<String>,
    /// Words so far.
    words: usize,
    /// Something is said to have been done.
    works: bool,
    /// It points elsewhere, or has words of courtesy.
    points: bool,
    /// Something is said to show something.
    shows: bool,
    /// It has a question of the task.
    asks: bool,
    denies: bool,
    affirms: bool,
    asserts: bool,
    speaks: bool,
    to_reader: bool,
    /// It begins with what a result is called.
    of_result: bool,
    /// It begins with `it` or `this`.
    of_it: bool,
    /// Questions of the task since the last word of its own.
    questions: usize,
    /// Other words.
    own: usize,
    /// It says that something went well.
    success: bool,
    /// It speaks of the task as one.
    job: bool,
    /// It speaks of help.
    helps: bool,
    /// It has `that` or `whether`.
    clause: bool,
    /// It has words behind which nothing is asserted.
    below: bool,
    is_question: bool,
}

impl Sentence {
    /// None if a word is of its own.
    fn of(said: &str, known: &Known) -> Option<Self> {
        let in_brackets = said.starts_with(['[', '<']) && said.ends_with([']', '>']);
        let mut found = Self { is_question: said.ends_with('?'), ..Self::default() };
        let mut in_code = false;
        for (at, token) in said.split_whitespace().enumerate() {
            let is_code = in_code || token.contains('`');
            in_code ^= token.matches('`').count() % 2 == 1;
            let bare = token.trim_matches(|c: char| !c.is_alphanumeric());
            let counts = bare.bytes().all(|c| c.is_ascii_digit()) && token.ends_with(['.', ')']);
            let numbers = at == 0 && (counts || token.eq_ignore_ascii_case("first,"));
            if numbers || token.contains("://") && (is_nobodys(token) || known.has_text(bare)) {
                continue;
            }
            if token.contains("://") || !found.takes(bare, is_code, known) {
                return None;
            }
        }
        // Over invented links, one other word before two questions that stay unanswered is no answer.
        found.points |= in_brackets && found.words > 1;
        let is_idle = found.own == 0 || known.over_dead_links && found.own == 1 && found.questions > 1;
        is_idle.then_some(found)
    }

    fn takes(&mut self, token: &str, is_code: bool, known: &Known) -> bool {
        if is_code || is_file_name(token) {
            let given = plain_words(token).all(|word| known.words.contains(&word));
            if given {
                self.matter.extend(plain_words(token));
            }
            // Where files are asked for, the name of one is an answer.
            return given || !known.places && plain_words(token).all(|word| known.named.contains(&word));
        }
        plain_words(token).all(|word| self.takes_word(word, known))
    }

    fn takes_word(&mut self, word: String, known: &Known) -> bool {
        let of = |class: Class| is(&word, class);
        let exact = known.words.contains(&word);
        self.look_at(&word, exact);
        if of(Class::Denial) {
            self.denies |= !exact;
            return true;
        }
        let asked = known.chooses && known.need.has(&word);
        let points = of(Class::Points);
        let shows = of(Class::Shows) && !exact;
        let works = of(Class::Doing) || of(Class::Effect) && !known.world;
        if (points || shows || works) && !asked {
            self.points |= points;
            self.shows |= shows && !points;
            self.works |= works && !points;
            return true;
        }
        if word.bytes().any(|c| c.is_ascii_digit()) {
            return exact;
        }
        if of(Class::Plain) || of(Class::Affirms) {
            return true;
        }
        let is_known = known.stems.has(&word);
        let is_talk = of(Class::Talk) || of(Class::Success);
        let is_plain = self.matter.len() > 1 && word.chars().all(char::is_lowercase);
        if is_known {
            self.matter.push(word);
        } else if !is_talk {
            self.own += 1;
            self.questions = 0;
        }
        is_known || is_talk || is_plain && known.over_dead_links
    }

    /// Notes what a word makes of the sentence.
    fn look_at(&mut self, word: &str, exact: bool) {
        const BELOW: &[&str] = &["how", "if", "that", "what", "when", "where", "which", "who", "whom", "whose", "die"];
        let of = |class: Class| is(word, class);
        let begins = self.words < 3;
        self.words += 1;
        self.asks |= exact && of(Class::Asks);
        self.questions += usize::from(exact && of(Class::Asks));
        self.asserts |= of(Class::Asserts) && !self.asks && !self.below && !self.clause;
        self.speaks |= of(Class::Speaker);
        self.to_reader |= of(Class::Reader);
        self.of_result |= begins && of(Class::Result);
        self.of_it |= begins && matches!(word, "it" | "this" | "es" | "ce" | "cela");
        self.affirms |= of(Class::Affirms);
        self.job |= of(Class::Job);
        self.success |= of(Class::Success);
        self.helps |= of(Class::Unable);
        self.clause |= matches!(word, "that" | "dass" | "que" | "qui" | "whether");
        self.below |= BELOW.contains(&word);
    }

    fn says(self, known: &Known) -> Says {
        // An offer, or that nothing can be done.
        if self.speaks && self.helps || self.is_question && !self.denies && self.words > 1 {
            return Says::Idle;
        }
        let well = self.success && !self.job && !self.speaks;
        let of_reply = self.of_result || self.of_it || self.points || self.speaks || self.to_reader;
        let of_another = self.shows && !of_reply;
        if self.denies || self.affirms || well || of_another {
            return Says::More;
        }
        let of_work = self.speaks || self.to_reader || self.job || self.of_result;
        let works =
            self.points || self.works && (!known.behaves || of_work) || self.shows && self.of_result || self.to_reader;
        if known.chooses {
            let asks = self.asks && (!known.whether || self.clause);
            let found_that = self.speaks && self.clause;
            return if asks || works && !found_that { Says::Idle } else { Says::More };
        }
        if works || self.asks || self.of_result && self.asserts {
            Says::Idle
        } else if self.asserts || self.works || self.shows {
            Says::Known
        } else {
            Says::Fragment(self.matter)
        }
    }
}
