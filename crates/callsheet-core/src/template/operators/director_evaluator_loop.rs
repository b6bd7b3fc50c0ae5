//! `director_evaluator_loop`: in each iteration, a director, an optional script and an evaluator run, followed by a
//! check (spec 8).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::bind::{Bound, Datum, Environment, Trust, resolve_text};
use crate::template::form::{Attribute, Child, Content, Element, PROCESS, ValueKind};
use crate::template::names::{Seen, Walk};
use crate::template::result::{
    Details, Halt, Iteration, ReturnStatus, TaskError, TaskResult, Verdict, details, failure, judged, timeless,
};
use crate::template::shape::{Kinds, Shape, Source};
use crate::template::tree::{Condition, InheritContext, Node, Role, Script};
use crate::template::value::{Expression, cut};

use super::{
    ChildSlot, EvalPhase, Facts, Given, Judged, Kind, Known, Move, Names, Opening, Opens, Operator, Part, Parts, Plan,
    Rows, Slot, Work, Written, lost,
};

/// Repeats a director, a script and an evaluator until the result is good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectorEvaluatorLoop {
    /// Makes the output.
    pub director: Box<Node>,
    /// Judges the output.
    pub evaluator: Box<Node>,
    /// Runs between director and evaluator.
    pub script: Option<Script>,
    /// The largest number of iterations.
    pub max_iterations: u32,
    /// Ends the loop if it is true.
    pub condition: Option<Condition>,
    /// Whether the last output counts when all iterations are used.
    pub on_exhausted_accept: bool,
}

const ON_EXHAUSTED: Attribute = Attribute::new("on_exhausted", ValueKind::OneOf(&["fail", "accept"])).or("fail");
static DIRECTOR_ROW: Element = Element::slot("director");
static EVALUATOR_ROW: Element = Element::slot("evaluator");
pub(super) static MAX_ITERATIONS: Element = Element::value("max_iterations", ValueKind::Int(1, 100));
static SCRIPT_EXECUTION: Element = Element::new("script_execution", &[], PROCESS, Content::Children);
static TERMINATION_CONDITION: Element =
    Element::new("termination_condition", &[], &[Child::new(&CONDITION).required()], Content::Children);
static CONDITION: Element = Element::value("condition", ValueKind::Expression);
const DIRECTOR_SLOT: Slot = Slot { name: "director", subtype: "director" };
const EVALUATOR_SLOT: Slot = Slot { name: "evaluator", subtype: "evaluator" };

/// The part of a loop that makes the output. Names of parts have the words of the short form.
pub const MAKE: &str = "make";
const TEST: &str = "test";
const JUDGE: &str = "judge";

/// The largest number of iterations if the template does not say.
const MOST: u32 = 5;
/// The largest size of an output in the history, in bytes.
const OUTPUT: usize = 32_768;
/// The number of equal iterations after which a loop ends.
const EQUAL: usize = 3;

/// The names by which a director and an evaluator know what another iteration has that the one before had not.
const OF_DIRECTOR: [&str; 6] =
    ["evaluation_feedback", "next_input", "previous_results", "last_evaluation", "iteration", "current_iteration"];
const OF_EVALUATOR: [&str; 8] = [
    "director_result",
    "script_input",
    "script_output",
    "script_stdout",
    "script_errors",
    "script_stderr",
    "script_exit_code",
    "script_timed_out",
];

const ROLE: Role = Role::new("director_evaluator_loop", InheritContext::None, true, true);
const PART_ROLE: Role = Role::new("director, evaluator", InheritContext::Full, false, false);

pub(super) static FACTS: Facts = Facts {
    word: "director_evaluator_loop",
    rows: Rows::Task {
        about: "Make, run and judge until the result is good",
        example: include_str!("examples/director_evaluator_loop.yaml"),
        attributes: &[ON_EXHAUSTED],
        children: &[
            Child::new(&DIRECTOR_ROW).required(),
            Child::new(&EVALUATOR_ROW).required(),
            Child::new(&MAX_ITERATIONS),
            Child::new(&SCRIPT_EXECUTION),
            Child::new(&TERMINATION_CONDITION),
        ],
    },
    read: |given| Some(Kind::DirectorEvaluatorLoop(read(given)?)),
    leaf: None,
    role: ROLE,
    part_role: PART_ROLE,
    spawned: ROLE,
    binds: &[
        "original_prompt",
        "user_query",
        "iteration",
        "current_iteration",
        "evaluation_feedback",
        "next_input",
        "previous_results",
        "last_evaluation",
        "director_result",
        "script_input",
        "script_output",
        "script_stdout",
        "script_errors",
        "script_stderr",
        "script_exit_code",
        "script_timed_out",
        "evaluation",
    ],
    shows_inputs: false,
    looks_up: true,
    splits: false,
    spawns: true,
    transparent: false,
    guards: false,
    lends_ids: false,
    in_order: false,
    gives_its_last: false,
};

fn read(given: &mut dyn Given) -> Option<DirectorEvaluatorLoop> {
    Some(DirectorEvaluatorLoop {
        director: given.node(&DIRECTOR_SLOT)?,
        evaluator: given.node(&EVALUATOR_SLOT)?,
        script: given.script(Some("script_execution")),
        max_iterations: given.count("max_iterations").unwrap_or(MOST),
        condition: given.condition("termination_condition", "condition"),
        on_exhausted_accept: given.word("on_exhausted").as_deref() == Some("accept"),
    })
}

fn director(iteration: u32) -> ChildSlot {
    ChildSlot::Turn { word: MAKE, iteration }
}

fn script(iteration: u32) -> ChildSlot {
    ChildSlot::Turn { word: TEST, iteration }
}

fn evaluator(iteration: u32) -> ChildSlot {
    ChildSlot::Turn { word: JUDGE, iteration }
}

impl Operator for DirectorEvaluatorLoop {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn nodes(&self) -> Vec<&Node> {
        vec![&self.director, &self.evaluator]
    }

    fn nodes_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.director, &mut self.evaluator]
    }

    fn givers(&self) -> Vec<&Node> {
        vec![&self.director]
    }

    fn limit(&self, name: &str) -> Option<u32> {
        (name == MAX_ITERATIONS.name).then_some(self.max_iterations)
    }

    fn set_limit(&mut self, name: &str, max: u32) {
        if name == MAX_ITERATIONS.name {
            self.max_iterations = max;
        }
    }

    fn script(&self) -> Option<&Script> {
        self.script.as_ref()
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("on_exhausted", if self.on_exhausted_accept { "accept" } else { "fail" }.to_owned())]
    }

    fn write(&self, to: &mut dyn Written) {
        to.text("max_iterations", &self.max_iterations.to_string());
        to.node(&DIRECTOR_SLOT, &self.director);
        if let Some(script) = &self.script {
            to.script(Some("script_execution"), script);
        }
        to.node(&EVALUATOR_SLOT, &self.evaluator);
        if let Some(condition) = &self.condition {
            to.condition("termination_condition", "condition", condition);
        }
    }

    fn walk(&self, names: &mut Walk<'_>, _: Option<Seen>) -> Shape {
        let (text, number) = (Shape::text, Shape::number);
        bind(names, &["original_prompt", "user_query"], &Seen::own(text()));
        bind(names, &["iteration", "current_iteration"], &Seen::own(number()));
        let mark = names.mark();
        bind(names, &["evaluation_feedback", "next_input"], &Seen::result(text()));
        bind(names, &["previous_results"], &Seen::result(Shape::list(Shape::any())));
        let last = names.declared(&self.evaluator).or_null().from(Source::Evaluation);
        bind(names, &["last_evaluation"], &Seen::result(last));
        let made = names.child(&self.director, "director");
        let is_blind = names.is_blind(&self.director, &OF_DIRECTOR);
        if self.condition.is_none() {
            names.reset(mark);
        }
        bind(names, &["director_result", "script_input"], &Seen::result(text()));
        if let Some(script) = &self.script {
            names.script(script);
        }
        let of_test = |shape| Seen { untested: self.script.is_none(), ..Seen::result(shape) };
        let streams = ["script_output", "script_stdout", "script_errors", "script_stderr"];
        bind(names, &streams, &of_test(text()));
        // The exit code is an empty text if a signal ended the process.
        bind(names, &["script_exit_code"], &of_test(number().or(&Shape::one_of([""]))));
        bind(names, &["script_timed_out"], &of_test(Shape::boolean()));
        names.forget_uses(&OF_EVALUATOR);
        let judged = names.child(&self.evaluator, "evaluator");
        if names.is_blind(&self.evaluator, &OF_EVALUATOR) {
            names.blind(&self.evaluator, "director_result");
        }
        if is_blind && !may_add_files(&judged) {
            names.blind(&self.director, "evaluation_feedback");
        }
        if self.condition.is_none() && !self.on_exhausted_accept && !may_say_success(&judged) {
            names.never_good(self.evaluator.origin.spot);
        }
        bind(names, &["evaluation"], &Seen::result(judged.from(Source::Evaluation)));
        if let Some(condition) = &self.condition {
            names.condition(condition);
        }
        made.from(Source::Task)
    }

    fn below(&self, place: ChildSlot) -> Option<Work<'_>> {
        match place {
            ChildSlot::Turn { word: MAKE, .. } => Some(Work::Node(&self.director)),
            ChildSlot::Turn { word: TEST, .. } => self.script.as_ref().map(Work::Script),
            ChildSlot::Turn { word: JUDGE, .. } => Some(Work::Node(&self.evaluator)),
            _ => None,
        }
    }

    fn next(&self, at: &dyn Parts) -> Move {
        let iteration = at.iteration().max(1);
        let tries = self.script.as_ref().map(|_| script(iteration));
        for place in [Some(director(iteration)), tries, Some(evaluator(iteration))].into_iter().flatten() {
            match at.after(place) {
                Ok(part) if part.failed => return Move::Owe(EvalPhase::Close),
                Ok(_) => {}
                Err(what) => return what,
            }
        }
        Move::Owe(EvalPhase::Judge)
    }

    fn open(&self, _: &dyn Opening, _: &mut Names) -> Result<Opens, Box<TaskError>> {
        Ok(Opens::Plan(Plan::Children))
    }

    /// The names of the table in spec 8 for a part of the loop.
    fn binds(&self, at: &dyn Known, place: ChildSlot) -> Vec<(String, Bound)> {
        let ChildSlot::Turn { word, iteration } = place else { return Vec::new() };
        let mut names = for_all(at, iteration);
        if word == MAKE {
            names.extend(for_director(at, iteration));
            return names;
        }
        names.extend(directors_names(at, iteration));
        if word == JUDGE {
            names.extend(scripts_names(at, iteration));
        }
        names
    }

    fn tells(&self, _: ChildSlot, to: ChildSlot) -> bool {
        matches!(to, ChildSlot::Turn { word: MAKE | JUDGE, .. })
    }

    fn judged(&self, by: ChildSlot) -> Option<ChildSlot> {
        match by {
            ChildSlot::Turn { word: JUDGE, iteration } => Some(director(iteration)),
            _ => None,
        }
    }

    /// The files that the previous evaluation asks for.
    fn wanted_files(&self, at: &dyn Known, place: ChildSlot) -> Vec<String> {
        let ChildSlot::Turn { word: MAKE, iteration } = place else { return Vec::new() };
        let evaluation = part(at, evaluator(iteration.saturating_sub(1))).map(|part| at.result(&part));
        match evaluation.as_deref().map(judged) {
            Some((_, Some(Verdict::Revise { add_files: Some(files), .. }), _)) => files,
            _ => Vec::new(),
        }
    }

    /// The check after an iteration, in the order of spec 8.
    fn judge(&self, at: &dyn Known) -> Judged {
        let iteration = at.iteration();
        let evaluation = part(at, evaluator(iteration)).map(|part| at.result(&part)).unwrap_or_default();
        let (success, verdict, _) = judged(&evaluation);
        if let Some(Verdict::Abort { reason }) = &verdict {
            let error = |details| failure::halted(Halt::Aborted, format!("the evaluator gave up: {reason}"), details);
            return Judged::Ends(Box::new(self.fails(at, "aborted", error)));
        }
        if success {
            return Judged::Ends(Box::new(self.gives(at, "success", true)));
        }
        if let Some(condition) = &self.condition
            && holds(at, &condition.test, iteration, &evaluation).0
        {
            return Judged::Ends(Box::new(self.gives(at, "condition", false)));
        }
        let (why, halt, words) = match iteration >= self.max_iterations {
            true => {
                let words = format!("no success within {iteration} iterations");
                ("max_iterations", Halt::IterationsExhausted, words)
            }
            false if stands_still(at) => {
                let words = "three iterations had the same result, and none was a success".to_owned();
                ("no_progress", Halt::NoProgress, words)
            }
            false => return Judged::GoesOn,
        };
        if self.on_exhausted_accept {
            let mut accepted = self.gives(at, why, false);
            accepted.notes.warn("accepted", format!("{words}; the last result counts, because of on_exhausted"));
            return Judged::Ends(Box::new(accepted));
        }
        let error = |details| failure::halted(halt, words.as_str(), details);
        Judged::Ends(Box::new(self.fails(at, why, error)))
    }

    /// Ends the loop because a part failed. The history includes that part.
    fn close(&self, at: &dyn Known) -> TaskResult {
        let iteration = at.iteration();
        let places = [(MAKE, director(iteration)), (TEST, script(iteration)), (JUDGE, evaluator(iteration))];
        let found = places.into_iter().find_map(|(word, place)| {
            let part = part(at, place).filter(|part| part.failed)?;
            Some((word, at.result(&part)))
        });
        let Some((word, result)) = found else { return lost() };
        let cause = result.failed();
        self.fails(at, "error", |known| {
            let known = Details { failed_part: Some(word.to_owned()), ..known };
            let mut error = cause.as_deref().cloned().unwrap_or_else(failure::lost);
            details::add(&mut error, known);
            error
        })
    }
}

/// Whether a result of this shape may report success (spec 8): by a truth value named `success`, or by a `verdict`.
fn may_say_success(judged: &Shape) -> bool {
    let Some(fields) = judged.fields.as_ref().filter(|fields| judged.kinds == Kinds::MAP && !fields.open) else {
        return true;
    };
    let may = |name: &str, kind| fields.named.get(name).is_some_and(|shape| shape.kinds.meets(kind));
    may("success", Kinds::BOOLEAN) || may("verdict", Kinds::TEXT)
}

/// Whether a result of this shape may give the director further files, by a `verdict`.
fn may_add_files(judged: &Shape) -> bool {
    let fields = judged.fields.as_ref().filter(|fields| judged.kinds == Kinds::MAP && !fields.open);
    fields.is_none_or(|fields| fields.named.contains_key("verdict"))
}

impl DirectorEvaluatorLoop {
    /// The warnings about the evaluations so far, without duplicates.
    fn warnings(&self, at: &dyn Known) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for iteration in 1..=at.iteration() {
            let Some(evaluator) = part(at, evaluator(iteration)) else { continue };
            let evaluation = at.result(&evaluator);
            let (success, verdict, warning) = judged(&evaluation);
            all.extend(warning.map(str::to_owned));
            let ends = success || matches!(verdict, Some(Verdict::Abort { .. }));
            for condition in self.condition.iter().filter(|_| !ends) {
                let (_, unknown) = holds(at, &condition.test, iteration, &evaluation);
                all.extend(unknown.iter().map(|name| format!("the condition uses a name without a value: {name}")));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|warning| seen.insert(warning.clone()));
        all
    }

    fn gives(&self, at: &dyn Known, why: &str, success: bool) -> TaskResult {
        let history = history(at);
        let last = history.last().map(|one| one.iteration).unwrap_or(0);
        let output = part(at, director(last)).map(|part| at.result(&part)).unwrap_or_default();
        let mut result = TaskResult {
            content: output.content.clone(),
            parsed_content: output.parsed_content.clone(),
            ..TaskResult::default()
        };
        let other = &mut result.notes.other;
        other.insert("success".to_owned(), Value::Bool(success));
        let last_evaluation = part(at, evaluator(last)).map(|part| judged_json(&at.result(&part)));
        other.insert("final_evaluation".to_owned(), last_evaluation.unwrap_or_default());
        other.insert("iterations_completed".to_owned(), Value::from(evaluated(&history)));
        other.insert("termination_reason".to_owned(), Value::from(why));
        other.insert("iteration_history".to_owned(), serde_json::to_value(&history).unwrap_or_default());
        for warning in self.warnings(at) {
            result.notes.warn("evaluation", warning.as_str());
        }
        result
    }

    fn fails(&self, at: &dyn Known, why: &str, error: impl Fn(Details) -> TaskError) -> TaskResult {
        let mut result = self.gives(at, why, false);
        let history = history(at);
        let details = Details {
            iterations_completed: u32::try_from(evaluated(&history)).ok(),
            termination_reason: Some(why.to_owned()),
            iteration_history: Some(history),
            ..Details::default()
        };
        let error = failure::located(error(details), &at.node().origin, at.id());
        result.error = Some(Box::new(failure::with_content(error, &result.content)));
        result.status = ReturnStatus::Failed;
        result
    }
}

fn bind(names: &mut Walk<'_>, all: &[&str], seen: &Seen) {
    all.iter().for_each(|name| names.bind(name, seen.clone()));
}

/// The part of an iteration, if it has returned.
fn part(at: &dyn Known, place: ChildSlot) -> Option<Part> {
    at.part(place).filter(|part| part.closed)
}

fn evaluated(history: &[Iteration]) -> usize {
    history.iter().filter(|one| !one.evaluation.is_null()).count()
}

fn history(at: &dyn Known) -> Vec<Iteration> {
    (1..=at.iteration()).filter_map(|iteration| turn(at, iteration)).collect()
}

/// Whether the last iterations gave the same output and the same verdict.
fn stands_still(at: &dyn Known) -> bool {
    let history = history(at);
    let mut last = history.iter().rev().take(EQUAL).map(|one| (&one.output, &one.evaluation));
    history.len() >= EQUAL && last.next().is_some_and(|first| last.all(|other| other == first))
}

/// Whether the condition of a loop is true after an iteration, and the unknown names in it.
fn holds(at: &dyn Known, test: &Expression, iteration: u32, evaluation: &TaskResult) -> (bool, Vec<String>) {
    let mut names = for_all(at, iteration);
    names.extend(for_director(at, iteration));
    names.extend(directors_names(at, iteration));
    names.extend(scripts_names(at, iteration));
    let evaluation = Bound { datum: Datum::Evaluation(judged_json(evaluation)), trust: Trust::Model };
    names.push(("evaluation".to_owned(), evaluation));
    let inner: Environment = at.scope().inner(names);
    let outcome = test.evaluate(&mut |path| inner.value(path));
    (outcome.holds, outcome.unknown.iter().map(|path| path.unknown(&|path| inner.value(path))).collect())
}

fn for_all(at: &dyn Known, iteration: u32) -> Vec<(String, Bound)> {
    let node = at.node();
    let text = resolve_text(&node.intent.description, &at.scope(), "description", &node.origin, "", &mut Vec::new());
    let number = || Bound::json(iteration, Trust::Author);
    vec![
        ("original_prompt".to_owned(), Bound::json(text.as_str(), text.trust())),
        ("user_query".to_owned(), Bound::json(at.request(), Trust::Caller)),
        ("iteration".to_owned(), number()),
        ("current_iteration".to_owned(), number()),
    ]
}

fn for_director(at: &dyn Known, iteration: u32) -> Vec<(String, Bound)> {
    let last = iteration.checked_sub(1).filter(|last| *last > 0);
    let evaluator = last.and_then(|iteration| part(at, evaluator(iteration)));
    let trust = evaluator.map_or(Trust::Author, |part| at.trust(&part));
    let evaluation = evaluator.map(|part| at.result(&part));
    let (feedback, next_input) = evaluation.as_deref().map(advice).unwrap_or_default();
    let history: Vec<Value> =
        (1..iteration).filter_map(|iteration| serde_json::to_value(turn(at, iteration)?).ok()).collect();
    let last = Bound { datum: Datum::Evaluation(evaluation.as_deref().map(judged_json).unwrap_or_default()), trust };
    vec![
        ("evaluation_feedback".to_owned(), Bound::json(feedback, trust)),
        ("next_input".to_owned(), Bound::json(next_input, trust)),
        ("previous_results".to_owned(), Bound::json(history, trust)),
        ("last_evaluation".to_owned(), last),
    ]
}

fn directors_names(at: &dyn Known, iteration: u32) -> Vec<(String, Bound)> {
    let Some(director) = part(at, director(iteration)) else { return Vec::new() };
    let content = || Bound::json(at.result(&director).content.as_str(), at.trust(&director));
    vec![("director_result".to_owned(), content()), ("script_input".to_owned(), content())]
}

fn scripts_names(at: &dyn Known, iteration: u32) -> Vec<(String, Bound)> {
    let result = part(at, script(iteration)).map(|part| at.result(&part)).unwrap_or_default();
    let text = |text: &Option<String>| Bound::json(text.clone().unwrap_or_default(), Trust::Tool);
    let code = result.exit_code.map_or_else(|| Value::from(""), Value::from);
    vec![
        ("script_output".to_owned(), text(&result.stdout)),
        ("script_stdout".to_owned(), text(&result.stdout)),
        ("script_errors".to_owned(), text(&result.stderr)),
        ("script_stderr".to_owned(), text(&result.stderr)),
        ("script_exit_code".to_owned(), Bound::json(code, Trust::Tool)),
        ("script_timed_out".to_owned(), Bound::json(result.timed_out.unwrap_or(false), Trust::Tool)),
    ]
}

/// One iteration of the loop as far as it got.
fn turn(at: &dyn Known, iteration: u32) -> Option<Iteration> {
    let director = part(at, director(iteration))?;
    let output = at.result(&director);
    let script = part(at, script(iteration)).map(|part| {
        let result = at.result(&part);
        serde_json::json!({ "stdout": result.stdout, "stderr": result.stderr, "exit_code": result.exit_code })
    });
    let evaluation = part(at, evaluator(iteration)).map(|part| at.result(&part));
    let evaluation = evaluation.map(|result| {
        let (success, _, _) = judged(&result);
        let (feedback, _) = advice(&result);
        serde_json::json!({ "success": success, "feedback": feedback })
    });
    Some(Iteration {
        iteration,
        output: cut(&output.content, OUTPUT).0.to_owned(),
        evaluation: evaluation.unwrap_or_default(),
        script,
    })
}

/// An evaluation as JSON, with its success and feedback in its notes (spec 6).
fn judged_json(evaluation: &TaskResult) -> Value {
    let mut evaluation = evaluation.clone();
    let (success, _, _) = judged(&evaluation);
    let (feedback, _) = advice(&evaluation);
    let noted = &mut evaluation.notes.other;
    noted.insert("success".to_owned(), Value::Bool(success));
    noted.insert("feedback".to_owned(), Value::from(feedback));
    timeless(&evaluation)
}

/// The feedback and the next input of an evaluation, from its notes, its value or its verdict.
pub(crate) fn advice(result: &TaskResult) -> (String, String) {
    let (_, verdict, _) = judged(result);
    let parsed = result.parsed_content.as_ref();
    let found = |name: &str| {
        let noted = result.notes.other.get(name).and_then(Value::as_str);
        noted.or_else(|| parsed?.get(name)?.as_str()).map(str::to_owned)
    };
    let (of_verdict, next) = match verdict {
        Some(Verdict::Revise { feedback, next_input, .. }) => (Some(feedback), next_input),
        _ => (None, None),
    };
    let feedback = found("feedback").or(of_verdict).unwrap_or_else(|| result.content.clone());
    (feedback, found("next_input").or(next).unwrap_or_default())
}
