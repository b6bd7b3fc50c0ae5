//! Values that are written in templates and do not fit where they are given (T525): a run would find them before its
//! first model call (spec 4).

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::spec::Limits;
use callsheet_core::template::{Code, Fault, Judge, Related, Template, Wrong};

use crate::template::report::Draft;

/// A value that does not fit, and the template in which it is given.
pub(super) struct Unfit<'a> {
    pub(super) template: &'a str,
    pub(super) draft: Draft,
    pub(super) related: Option<Related>,
}

/// What is known to be wrong with values, whoever calls a template.
pub(super) fn faults<'a>(templates: &BTreeMap<&'a str, &'a Template>) -> Vec<Unfit<'a>> {
    let find = |name: &str| templates.get(name.strip_prefix("template:").unwrap_or(name)).copied();
    let mut judge = Judge::new(&find, Limits::of_templates().max_items);
    let mut found: Vec<(&str, Fault<'a>)> = Vec::new();
    for (name, template) in templates {
        found.extend(judge.of_template(template).into_iter().map(|fault| (*name, fault)));
    }
    // What a template does wrong by itself is told of it, and not of those that call it.
    let own = |fault: &Fault<'a>| (fault.file, fault.at.span, fault.name.clone());
    let own_faults: BTreeSet<_> =
        found.iter().filter(|(_, fault)| fault.outermost().is_none()).map(|(_, fault)| own(fault)).collect();
    // Names that nothing binds are told by T052 and T508.
    found.retain(|(_, fault)| {
        fault.wrong != Wrong::Unbound && (fault.outermost().is_none() || !own_faults.contains(&own(fault)))
    });
    found.into_iter().map(|(template, fault)| unfit(template, &fault)).collect()
}

fn unfit<'a>(template: &'a str, fault: &Fault<'a>) -> Unfit<'a> {
    let name = &fault.name;
    let what = match &fault.wrong {
        Wrong::Type(expected, actual) => format!("`{name}` must be {expected}, but it is {actual}"),
        Wrong::Unbound | Wrong::Gone => format!("the given value has no `{name}`"),
    };
    let draft = |span, message: String| {
        Draft::new(Code::T525, span, message).found(name).advice("fix the value, or the parameter")
    };
    match fault.outermost() {
        None => Unfit { template, draft: draft(fault.at.span, what), related: None },
        Some(call) => {
            let message = format!("with the values of this call, `{}` fails: {what}", fault.task);
            let place = fault.at.place;
            let (line, column) = (place.line, place.column);
            let file = Some(fault.file.to_owned());
            let related = Related { line, column, message: "here".to_owned(), file };
            Unfit { template, draft: draft(call.spot.span, message), related: Some(related) }
        }
    }
}
