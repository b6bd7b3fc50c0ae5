//! Chooses a template. A given name takes precedence, and scores only count without a name (spec 10, 12).

use super::matching::{Match, Query, match_templates};
use super::result::{SubtaskRequest, SubtaskType};
use super::tree::{InputSource, Template, ValueType};

/// The smallest score at which a subtask without a template name gets a template (`select_min`).
const SELECT_MIN: f64 = 0.35;
/// The smallest score at which a request runs a template instead of being planned.
const AUTOMATIC: f64 = 0.60;
/// How far the best score must be ahead of the second.
const LEAD: f64 = 0.10;

/// The template of a subtask.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// The request named it, or a hint is its name.
    Named(String),
    /// It has the best score.
    Matched(Match),
    /// No template is good enough, so the built-in `default_atomic` is used.
    Default,
    /// No template has the given name, or the given type without a name (`template_not_found`). Up to five
    /// candidates.
    NotFound(Vec<Match>),
}

/// Chooses the template of a subtask: by its name, by a hint that equals a name, or by the best score of at least
/// 0.35. Operators other than atomic are only found by name or hint.
pub fn choose_for_subtask(templates: &[&Template], request: &SubtaskRequest) -> Choice {
    let exact = |name: &str| {
        let bare = name.strip_prefix("template:").unwrap_or(name);
        templates.iter().find(|template| template.name == bare).map(|template| Choice::Named(template.name.clone()))
    };
    let ranked = || match_templates(templates.iter().copied(), &Query::of_request(request));
    match &request.name {
        Some(name) => return exact(name).unwrap_or_else(|| Choice::NotFound(ranked())),
        None => {
            if let Some(named) = request.template_hints.iter().find_map(|hint| exact(hint)) {
                return named;
            }
        }
    }
    let rows = ranked();
    if request.kind != SubtaskType::ATOMIC {
        return Choice::NotFound(rows);
    }
    match rows.into_iter().next() {
        Some(best) if best.score >= SELECT_MIN => Choice::Matched(best),
        _ => Choice::Default,
    }
}

/// A template that a request runs instead of planning.
#[derive(Clone, Debug, PartialEq)]
pub struct Automatic {
    /// The template, with the parts of its score.
    pub best: Match,
    /// The only required input, which gets the request.
    pub takes_request: Option<String>,
}

/// The template that a request runs instead of being planned, if all four conditions are true (spec 10).
///
/// # Errors
/// Otherwise the candidates, at most five, which the planner gets as suggestions.
pub fn choose_automatically(templates: &[&Template], request: &str) -> Result<Automatic, Vec<Match>> {
    let rows = match_templates(templates.iter().copied(), &Query::of_text(request));
    let Some(best) = rows.first().cloned() else { return Err(rows) };
    let second = rows.get(1).map_or(0.0, |row| row.score);
    // Scores have six decimals. Half of the last decimal keeps 0.7 - 0.6 from being less than 0.1.
    let ahead = best.score - second >= LEAD - 0.000_000_5;
    let template = templates.iter().find(|template| template.name == best.template);
    let Some(template) = template.filter(|template| template.auto_select && best.score >= AUTOMATIC && ahead) else {
        return Err(rows);
    };
    match best.missing_inputs.as_slice() {
        [] => Ok(Automatic { best, takes_request: None }),
        [sole] if takes_text(template, sole) => {
            let takes_request = Some(sole.clone());
            Ok(Automatic { best, takes_request })
        }
        _ => Err(rows),
    }
}

/// Whether an input or parameter can be a text.
fn takes_text(template: &Template, name: &str) -> bool {
    match &template.params {
        Some(params) => {
            params.iter().any(|param| param.name == name && matches!(param.kind, ValueType::Any | ValueType::String))
        }
        None => {
            template.body.inputs.iter().any(|input| input.name == name && matches!(input.source, InputSource::Caller))
        }
    }
}
