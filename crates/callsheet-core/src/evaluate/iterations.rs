//! The director-evaluator loop: what its parts see, the check after each iteration, and its result (spec 8).

use serde_json::Value;

use crate::record::Step;
use crate::run::{Place, TaskOp};
use crate::template::{
    Bound, Datum, Details, Halt, Iteration, Kind, Node, ReturnStatus, TaskResult, Trust, Verdict, judged,
};

use super::entries::cut;
use super::{Evaluator, failure};

/// Most bytes of an output in the history.
const OUTPUT: usize = 32_768;
/// Equal iterations after which a loop ends.
const EQUAL: usize = 3;

impl Evaluator<'_> {
    /// The part of an iteration, once it has come back.
    fn part<'r>(&'r self, above: &TaskOp, place: &Place) -> Option<&'r TaskOp> {
        let children = above.children.iter().filter_map(|number| self.run.operators().at(*number));
        children.into_iter().find(|child| child.place == *place && child.closed.is_some())
    }

    /// Names of the table of spec 8 for a part of the loop.
    pub(super) fn for_part(&self, above: &TaskOp, place: &Place) -> Vec<(String, Bound)> {
        let (iteration, part) = match place {
            Place::Director { iteration } => (*iteration, LoopPart::Director),
            Place::Script { iteration } => (*iteration, LoopPart::Script),
            Place::Evaluator { iteration } => (*iteration, LoopPart::Evaluator),
            _ => return Vec::new(),
        };
        let mut names = self.for_all(above, iteration);
        if part == LoopPart::Director {
            names.extend(self.for_director(above, iteration));
            return names;
        }
        names.extend(self.directors_names(above, iteration));
        if part == LoopPart::Evaluator {
            names.extend(self.scripts_names(above, iteration));
        }
        names
    }

    fn for_all(&self, above: &TaskOp, iteration: u32) -> Vec<(String, Bound)> {
        let own = std::sync::Arc::new(self.own_scope(above));
        let description = self.node(above).map(|node| {
            let mut missing = Vec::new();
            crate::template::resolve_text(&node.intent.description, &own, "description", &node.origin, "", &mut missing)
        });
        let (text, trust) = description.map_or_else(Default::default, |text| (text.as_str().to_owned(), text.trust()));
        let number = || Bound::json(iteration, Trust::Author);
        vec![
            ("original_prompt".to_owned(), Bound::json(text, trust)),
            ("user_query".to_owned(), Bound::json(self.request(above), Trust::Caller)),
            ("iteration".to_owned(), number()),
            ("current_iteration".to_owned(), number()),
        ]
    }

    fn for_director(&self, above: &TaskOp, iteration: u32) -> Vec<(String, Bound)> {
        let last = iteration.checked_sub(1).filter(|last| *last > 0);
        let evaluator = last.and_then(|iteration| self.part(above, &Place::Evaluator { iteration }));
        let trust = evaluator.map_or(Trust::Author, |op| self.trust(op));
        let evaluation = evaluator.map(|op| self.result(op));
        let (feedback, next_input) = evaluation.as_deref().map(advice).unwrap_or_default();
        let history: Vec<Value> = (1..iteration)
            .filter_map(|iteration| serde_json::to_value(self.iteration(above, iteration)?).ok())
            .collect();
        let last =
            Bound { datum: Datum::Evaluation(evaluation.as_deref().map(judged_json).unwrap_or_default()), trust };
        vec![
            ("evaluation_feedback".to_owned(), Bound::json(feedback, trust)),
            ("next_input".to_owned(), Bound::json(next_input, trust)),
            ("previous_results".to_owned(), Bound::json(history, trust)),
            ("last_evaluation".to_owned(), last),
        ]
    }

    /// Files that the evaluation before an iteration asks for.
    pub(super) fn wanted_files(&self, above: &TaskOp, iteration: u32) -> Vec<String> {
        let last = Place::Evaluator { iteration: iteration.saturating_sub(1) };
        let evaluation = self.part(above, &last).map(|op| self.result(op));
        match evaluation.as_deref().map(judged) {
            Some((_, Some(Verdict::Revise { add_files: Some(files), .. }), _)) => files,
            _ => Vec::new(),
        }
    }

    fn directors_names(&self, above: &TaskOp, iteration: u32) -> Vec<(String, Bound)> {
        let Some(director) = self.part(above, &Place::Director { iteration }) else { return Vec::new() };
        let content = || Bound::json(self.result(director).content.as_str(), self.trust(director));
        vec![("director_result".to_owned(), content()), ("script_input".to_owned(), content())]
    }

    fn scripts_names(&self, above: &TaskOp, iteration: u32) -> Vec<(String, Bound)> {
        let result = self.part(above, &Place::Script { iteration }).map(|op| self.result(op)).unwrap_or_default();
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

    /// One turn of the loop as far as it came.
    fn iteration(&self, above: &TaskOp, iteration: u32) -> Option<Iteration> {
        let director = self.part(above, &Place::Director { iteration })?;
        let output = self.result(director);
        let script = self.part(above, &Place::Script { iteration }).map(|op| {
            let result = self.result(op);
            serde_json::json!({ "stdout": result.stdout, "stderr": result.stderr, "exit_code": result.exit_code })
        });
        let evaluation = self.part(above, &Place::Evaluator { iteration }).map(|op| self.result(op));
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

    fn history(&self, above: &TaskOp) -> Vec<Iteration> {
        (1..=above.iteration).filter_map(|iteration| self.iteration(above, iteration)).collect()
    }

    /// The check after an iteration, in the order of spec 8.
    pub(super) fn judge(&self, op: &TaskOp) -> Step {
        let Some(node) = self.node(op) else { return self.failed(op, lost()) };
        let Kind::DirectorEvaluatorLoop { max_iterations, condition, on_exhausted_accept, .. } = &node.kind else {
            return self.failed(op, lost());
        };
        let iteration = op.iteration;
        let evaluator = self.part(op, &Place::Evaluator { iteration });
        let evaluation = evaluator.map(|op| self.result(op)).unwrap_or_default();
        let (success, verdict, _) = judged(&evaluation);
        let warnings = self.warnings(op, condition.as_ref());
        if let Some(Verdict::Abort { reason }) = &verdict {
            let error = |details| failure::halted(Halt::Aborted, format!("the evaluator gave up: {reason}"), details);
            return self.loop_failed(op, node, "aborted", &warnings, error);
        }
        if success {
            return self.loop_complete(op, node, "success", true, &warnings);
        }
        if let Some(condition) = condition
            && self.condition(op, &condition.test, iteration, &evaluation).0
        {
            return self.loop_complete(op, node, "condition", false, &warnings);
        }
        if iteration >= *max_iterations {
            if *on_exhausted_accept {
                return self.loop_complete(op, node, "max_iterations", false, &warnings);
            }
            let words = format!("no success within {iteration} iterations");
            let error = |details| failure::halted(Halt::IterationsExhausted, words.as_str(), details);
            return self.loop_failed(op, node, "max_iterations", &warnings, error);
        }
        if self.stands_still(op) {
            let error = |details| failure::halted(Halt::NoProgress, "three iterations had the same result", details);
            return self.loop_failed(op, node, "no_progress", &warnings, error);
        }
        Step::GoesOn
    }

    /// What is to be told of the evaluations so far, each once.
    fn warnings(&self, op: &TaskOp, condition: Option<&crate::template::Condition>) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for iteration in 1..=op.iteration {
            let Some(evaluator) = self.part(op, &Place::Evaluator { iteration }) else { continue };
            let evaluation = self.result(evaluator);
            let (success, verdict, warning) = judged(&evaluation);
            all.extend(warning.map(str::to_owned));
            let ends = success || matches!(verdict, Some(Verdict::Abort { .. }));
            for test in condition.into_iter().filter(|_| !ends) {
                let (_, unknown) = self.condition(op, &test.test, iteration, &evaluation);
                all.extend(unknown.iter().map(|name| format!("the condition uses the unknown name {name}")));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|warning| seen.insert(warning.clone()));
        all
    }

    fn condition(
        &self,
        op: &TaskOp,
        test: &crate::template::Expression,
        iteration: u32,
        evaluation: &TaskResult,
    ) -> (bool, Vec<String>) {
        let mut names = self.for_all(op, iteration);
        names.extend(self.for_director(op, iteration));
        names.extend(self.directors_names(op, iteration));
        names.extend(self.scripts_names(op, iteration));
        let evaluation = Bound { datum: Datum::Evaluation(judged_json(evaluation)), trust: Trust::Model };
        names.push(("evaluation".to_owned(), evaluation));
        let own = std::sync::Arc::new(self.own_scope(op));
        let inner = own.inner(names);
        let outcome = test.evaluate(&mut |path| inner.value(path));
        (outcome.holds, outcome.unknown.iter().map(ToString::to_string).collect())
    }

    /// The last iterations gave the same output and the same verdict.
    fn stands_still(&self, op: &TaskOp) -> bool {
        let history = self.history(op);
        let mut last = history.iter().rev().take(EQUAL).map(|one| (&one.output, &one.evaluation));
        history.len() >= EQUAL && last.next().is_some_and(|first| last.all(|other| other == first))
    }

    fn loop_result(&self, op: &TaskOp, why: &str, success: bool, warnings: &[String]) -> TaskResult {
        let history = self.history(op);
        let last = history.last().map(|one| one.iteration).unwrap_or(0);
        let director = self.part(op, &Place::Director { iteration: last });
        let output = director.map(|op| self.result(op)).unwrap_or_default();
        let evaluator = self.part(op, &Place::Evaluator { iteration: last });
        let mut result = TaskResult {
            content: output.content.clone(),
            parsed_content: output.parsed_content.clone(),
            ..TaskResult::default()
        };
        let evaluated = history.iter().filter(|one| !one.evaluation.is_null()).count();
        let other = &mut result.notes.other;
        other.insert("success".to_owned(), Value::Bool(success));
        let last_evaluation = evaluator.map(|op| judged_json(&self.result(op))).unwrap_or_default();
        other.insert("final_evaluation".to_owned(), last_evaluation);
        other.insert("iterations_completed".to_owned(), Value::from(evaluated));
        other.insert("termination_reason".to_owned(), Value::from(why));
        other.insert("iteration_history".to_owned(), serde_json::to_value(&history).unwrap_or_default());
        for warning in warnings {
            result.notes.warn("evaluation", warning.as_str());
        }
        result
    }

    fn loop_complete(&self, op: &TaskOp, node: &Node, why: &str, success: bool, warnings: &[String]) -> Step {
        let result = self.held(node, self.loop_result(op, why, success, warnings));
        self.closed(op, self.located(op, node, result))
    }

    fn loop_failed(
        &self,
        op: &TaskOp,
        node: &Node,
        why: &str,
        warnings: &[String],
        error: impl Fn(Details) -> crate::template::TaskError,
    ) -> Step {
        let mut result = self.loop_result(op, why, false, warnings);
        let history = self.history(op);
        let details = Details {
            iterations_completed: u32::try_from(history.iter().filter(|one| !one.evaluation.is_null()).count()).ok(),
            termination_reason: Some(why.to_owned()),
            iteration_history: Some(history),
            ..Details::default()
        };
        let error = failure::located(error(details), &node.origin, op.id.as_str());
        result.error = Some(Box::new(failure::with_content(error, &result.content)));
        result.status = ReturnStatus::Failed;
        self.closed(op, result)
    }

    /// A part failed: the loop ends with the history up to and including it.
    pub(super) fn loop_part_failed(&self, op: &TaskOp, node: &Node) -> Step {
        let iteration = op.iteration;
        let places = [
            ("director", Place::Director { iteration }),
            ("script", Place::Script { iteration }),
            ("evaluator", Place::Evaluator { iteration }),
        ];
        let found = places.iter().find_map(|(word, place)| {
            let part = self.part(op, place).filter(|part| part.failed())?;
            Some((*word, self.result(part)))
        });
        let Some((word, result)) = found else { return self.failed(op, lost()) };
        let cause = super::open::failed(&result);
        let condition = match &node.kind {
            Kind::DirectorEvaluatorLoop { condition, .. } => condition.as_ref(),
            _ => None,
        };
        let warnings = self.warnings(op, condition);
        self.loop_failed(op, node, "error", &warnings, |details| {
            let details = Details { failed_part: Some(word.to_owned()), ..details };
            let mut error = cause.as_deref().cloned().unwrap_or_else(lost);
            super::details::add(&mut error, details);
            error
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopPart {
    Director,
    Script,
    Evaluator,
}

/// An evaluation as JSON, with its success and feedback in its notes (spec 6).
fn judged_json(evaluation: &TaskResult) -> Value {
    let mut evaluation = evaluation.clone();
    let (success, _, _) = judged(&evaluation);
    let (feedback, _) = advice(&evaluation);
    let noted = &mut evaluation.notes.other;
    noted.insert("success".to_owned(), Value::Bool(success));
    noted.insert("feedback".to_owned(), Value::from(feedback));
    Evaluator::json(&evaluation)
}

/// Feedback and next input of an evaluation, from its notes, its value or its verdict.
pub(super) fn advice(result: &TaskResult) -> (String, String) {
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

fn lost() -> crate::template::TaskError {
    failure::failure(crate::template::Reason::UnexpectedError, "the loop is not what was recorded", Details::default())
}
