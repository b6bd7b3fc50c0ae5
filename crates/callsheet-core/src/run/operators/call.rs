//! `call`: the body of the called template, whose result is its own.

use crate::record::Plan;
use crate::template::{ArgumentValue, Kind};

use super::rules::{Rules, only};
use super::{Move, Place, View, Work};

pub(super) static RULES: Rules = Rules { next, below, gives_its_last: true, ..Rules::LEAF };

fn next(view: View<'_>, _: &Kind, _: &Plan) -> Move {
    only(view, Place::Body)
}

/// An operator in an argument. The body stands in another template.
fn below<'t>(kind: &'t Kind, place: &Place) -> Option<Work<'t>> {
    let (Kind::Call { arguments }, Place::Argument { index }) = (kind, place) else { return None };
    match &arguments.get(super::index_of(*index)?)?.value {
        ArgumentValue::Operator(node) => Some(Work::Node(node)),
        _ => None,
    }
}
