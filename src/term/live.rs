//! The live view: the tree of steps and tasks on stderr, redrawn in place. One thread draws; facts and deltas only
//! change what is drawn, so concurrent output can never interleave.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use callsheet_core::record::{CallKey, EffectKey, Event, LogEntry};
use callsheet_core::run::{Explainer, Run, State, TaskRun};
use callsheet_core::spec::Slug;
use callsheet_core::view::{call_words, why_words};
use callsheet_runtime::ports::{Observer, Signal};
use console::{Style, Term, measure_text_width, truncate_str};

use super::lines::{event_line, own_failure_line, refused_line, retry_line, silent_line};
use super::{dollars, duration, one_line, outcome_words, sentence, state_mark, thousands};

const FRAME: Duration = Duration::from_millis(100);

/// A view that redraws itself until it is closed.
pub struct LiveView {
    scene: Arc<Mutex<Scene>>,
}

struct Scene {
    run: Run,
    term: Term,
    colour: bool,
    /// When the last fact came.
    heard: Instant,
    /// Lines on screen now, to be cleared before the next frame.
    drawn: usize,
    dirty: bool,
    paused: bool,
    closed: bool,
    /// Calls under way, in words, and since when.
    flights: BTreeMap<CallKey, (String, Instant)>,
    written: BTreeMap<CallKey, u64>,
    news: String,
}

impl LiveView {
    /// Starts drawing on stderr.
    pub fn start(colour: bool) -> Self {
        let scene = Arc::new(Mutex::new(Scene {
            run: Run::new(),
            term: Term::buffered_stderr(),
            colour,
            heard: Instant::now(),
            drawn: 0,
            dirty: true,
            paused: false,
            closed: false,
            flights: BTreeMap::new(),
            written: BTreeMap::new(),
            news: String::new(),
        }));
        let drawn = Arc::clone(&scene);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(FRAME);
                let mut scene = lock(&drawn);
                if scene.closed {
                    return;
                }
                scene.frame();
            }
        });
        Self { scene }
    }

    /// Starts from a run whose earlier facts nobody watches again.
    pub fn begin_with(&self, run: Run) {
        let mut scene = lock(&self.scene);
        scene.run = run;
        scene.dirty = true;
    }

    /// Takes the view off the screen while `work` talks to the person.
    pub fn pause(&self) {
        let mut scene = lock(&self.scene);
        scene.clear();
        scene.paused = true;
    }

    /// Puts the view back.
    pub fn go_on(&self) {
        let mut scene = lock(&self.scene);
        scene.paused = false;
        scene.dirty = true;
    }

    /// Draws the last frame and leaves it on screen.
    pub fn close(&self) {
        let mut scene = lock(&self.scene);
        if !scene.closed {
            scene.paused = false;
            scene.dirty = true;
            scene.frame();
            scene.closed = true;
        }
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.close();
    }
}

impl Observer for LiveView {
    fn see(&self, signal: &Signal<'_>) {
        let mut scene = lock(&self.scene);
        match signal {
            Signal::LogEntry { fact, .. } => scene.fact(fact),
            Signal::Delta { key, text } => {
                *scene.written.entry((*key).clone()).or_default() += text.len() as u64;
            }
            Signal::Retry { key, send, wait_ms, message } => {
                scene.news = retry_line(key, scene.run.part(key), *send, *wait_ms, message);
            }
            Signal::Silent { key, seconds } => {
                let line = silent_line(key, scene.run.part(key), *seconds);
                scene.say(&line);
            }
            Signal::Notice(text) => scene.say(&one_line(text, 400)),
        }
        scene.dirty = true;
    }
}

fn lock(scene: &Mutex<Scene>) -> MutexGuard<'_, Scene> {
    scene.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scene {
    fn fact(&mut self, fact: &LogEntry) {
        if self.run.apply(fact).is_err() {
            return;
        }
        self.heard = Instant::now();
        match &fact.event {
            Event::Started { effect: EffectKey::Ask(key) } => {
                let words = call_words(key, self.run.part(key));
                self.flights.insert(key.clone(), (words, Instant::now()));
                self.written.remove(key);
            }
            Event::ReplyReceived { key, .. } | Event::CallFailed { key, .. } => {
                self.flights.remove(key);
            }
            Event::ReplyRefused { key, issues, .. } => self.news = refused_line(key, issues, &self.run),
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::LimitNear { .. }
            | Event::ReferencesChecked { .. }
            | Event::Reviewed { .. }
            | Event::RunFinished { .. } => {
                if let Some(line) = event_line(&fact.event, &self.run) {
                    self.say(&line);
                }
            }
            event => {
                if let Some(line) = own_failure_line(event, &self.run) {
                    self.say(&line);
                }
            }
        }
    }

    /// A line that stays above the tree.
    fn say(&mut self, line: &str) {
        self.clear();
        let _closed = self.term.write_line(line).and_then(|()| self.term.flush());
    }

    fn clear(&mut self) {
        if self.drawn > 0 {
            let _closed = self.term.clear_last_lines(self.drawn).and_then(|()| self.term.flush());
            self.drawn = 0;
        }
    }

    fn frame(&mut self) {
        if self.paused || (!self.dirty && self.flights.is_empty()) {
            return;
        }
        self.dirty = false;
        let (height, width) = self.term.size();
        let lines = self.lines(usize::from(height).saturating_sub(2).max(3));
        self.clear();
        for line in &lines {
            let line = truncate_str(line, usize::from(width).max(20).saturating_sub(1), "…");
            debug_assert!(measure_text_width(&line) < usize::from(width).max(20));
            let _closed = self.term.write_line(&line);
        }
        self.drawn = lines.len();
        let _closed = self.term.flush();
    }

    /// The tree, at most `room` lines: finished steps fold first, then steps that have not begun.
    fn lines(&self, room: usize) -> Vec<String> {
        let mut tree: Vec<(u8, String)> = Vec::new();
        let explainer = self.run.explainer();
        for (index, step) in self.run.steps().iter().enumerate() {
            let tasks: Vec<&TaskRun> = step.iter().filter_map(|slug| self.run.task(slug)).collect();
            let ended = tasks.iter().filter(|task| task.state().is_ended()).count();
            let begun = tasks.iter().any(|task| !matches!(task.state(), State::Planned | State::Waiting));
            let title = format!("Step {}  {ended}/{}", index + 1, tasks.len());
            let weight = if ended == tasks.len() {
                2
            } else if begun {
                0
            } else {
                1
            };
            tree.push((weight.min(1), self.style(title, |style| style.bold())));
            // What stands in later steps waits for this one.
            let explainer = Some(&explainer).filter(|_| self.run.step() == Some(index));
            for task in tasks {
                tree.push((weight, self.task_line(task, explainer)));
                let below = self.run.tasks_below(&task.task.slug).filter(|below| !below.state().is_ended());
                tree.extend(below.map(|below| (weight, format!("  {}", self.task_line(below, explainer)))));
            }
        }
        let fixed = 2 + usize::from(!self.news.is_empty());
        for fold in [2, 1] {
            if tree.len() + fixed > room {
                tree.retain(|(weight, line)| *weight != fold || line.contains("Step "));
            }
        }
        let hidden = (tree.len() + fixed).saturating_sub(room);
        let mut lines: Vec<String> = tree.into_iter().map(|(_, line)| line).collect();
        if hidden > 0 {
            lines.truncate(lines.len().saturating_sub(hidden + 1));
            lines.push(format!("  … {} more lines", hidden + 1));
        }
        if !self.news.is_empty() {
            lines.push(self.style(self.news.clone(), |style| style.yellow()));
        }
        lines.push(self.flight_line());
        lines.push(self.total_line());
        lines
    }

    fn style(&self, text: String, with: impl Fn(Style) -> Style) -> String {
        if self.colour { with(Style::new()).force_styling(true).apply_to(text).to_string() } else { text }
    }

    fn task_line(&self, task: &TaskRun, explainer: Option<&Explainer<'_>>) -> String {
        let standing = self.run.standing(task);
        let (mark, word) = state_mark(standing);
        let name = one_line(&task.task.name, 40);
        let writer = if task.writer.is_some() { " (writes)" } else { "" };
        let cost = self.cost_words(&task.task.slug);
        let waits = matches!(standing, State::Planned | State::Waiting | State::Ready);
        let why = explainer.filter(|_| waits).map(|explainer| explainer.why(&task.task.slug));
        let why = why.map(|why| format!("  {}", one_line(&why_words(&self.run, &why), 80))).unwrap_or_default();
        let line = format!("  {mark} {name}{writer}  {word}{cost}{why}");
        match standing {
            State::Done => self.style(line, |style| style.green()),
            State::Failed | State::Denied | State::Blocked => self.style(line, |style| style.red()),
            State::Running | State::Refining => self.style(line, |style| style.cyan()),
            _ => line,
        }
    }

    fn cost_words(&self, slug: &Slug) -> String {
        let calls: Vec<_> = self.run.calls_of(slug).collect();
        if calls.is_empty() {
            return String::new();
        }
        let tokens: u64 = calls.iter().map(|call| call.usage.input + call.usage.output).sum();
        let ms: u64 = calls.iter().map(|call| call.ms).sum();
        let repairs: usize = calls.iter().map(|call| call.repairs.len()).sum();
        let refused = calls.iter().filter(|call| call.accepted == Some(false)).count();
        let mut words = format!("  {} tokens, {}", thousands(tokens), duration(ms));
        if refused > 0 {
            words.push_str(&format!(", {refused} retried"));
        }
        if repairs > 0 {
            words.push_str(&format!(", {repairs} repairs"));
        }
        words
    }

    fn flight_line(&self) -> String {
        let flights: Vec<String> = self
            .flights
            .iter()
            .map(|(key, (words, since))| {
                let written = self.written.get(key).copied().unwrap_or_default();
                let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                if written > 0 {
                    format!("{words} {} ({} characters)", duration(ms), thousands(written))
                } else {
                    format!("{words} {}", duration(ms))
                }
            })
            .collect();
        if flights.is_empty() { String::new() } else { format!("Running: {}", flights.join(" · ")) }
    }

    fn total_line(&self) -> String {
        let totals = self.run.totals();
        // The clock of the run, which stands while no process runs.
        let since = u64::try_from(self.heard.elapsed().as_millis()).unwrap_or(u64::MAX);
        let ms = self.run.times_at(self.run.now_ms().saturating_add(since)).total_ms();
        let state = self
            .run
            .outcome()
            .map_or_else(|| format!("Round {}", self.run.round().max(1)), |outcome| sentence(outcome_words(outcome)));
        let money = if totals.cost_usd > 0.0 { format!(" · {}", dollars(totals.cost_usd)) } else { String::new() };
        format!("{state} · {} calls · {} tokens{money} · {}", totals.calls, thousands(totals.tokens()), duration(ms))
    }
}
