//! Messages about values that do not fit their places: what is wrong, and what to write (spec 3, 4).

use std::collections::BTreeMap;

use callsheet_core::template::names::{Found, Place};
use callsheet_core::template::shape::{Constant, Kinds, Miss, Shape, Source};
use callsheet_core::template::{Code, Comparison, Path, Related, Spot, Step, Template, ValueType};

use crate::template::report::Draft;

/// The issue for a path that leads nowhere.
pub(super) fn astray(path: &Path, miss: &Miss, at: Spot) -> Draft {
    let before = path.steps.get(..miss.walked).unwrap_or_default().to_vec();
    let before = Path { name: path.name.clone(), steps: before };
    let is = miss.from.in_words();
    let (message, otherwise) = match &miss.step {
        Step::Name(name) if miss.from.kinds == Kinds::MAP => {
            (format!("`{before}` has no field `{name}`"), "name a field that it has, or declare this one".to_owned())
        }
        Step::Name(name) => {
            let advice = match miss.from.kinds.meets(Kinds::LIST) {
                true => format!("name an element, such as `{before}[0]`, or run a task for each element"),
                false => format!("write `{before}`, or declare a map with this field"),
            };
            (format!("`{before}` is {is}, which has no field `{name}`"), advice)
        }
        Step::Index(index) => {
            let advice = format!("remove `[{index}]`, or declare a list");
            (format!("`{before}` is {is}, which has no elements"), advice)
        }
        Step::Record => {
            let message = format!("`{before}` is {is} and no result, so there is no record of a call");
            (message, "name a task, or a result, in record(…)".to_owned())
        }
    };
    let record = path.in_record().filter(|_| miss.from.source != Source::Plain && miss.walked + 1 == path.steps.len());
    let advice = match (miss.near.is_empty(), record) {
        (false, _) => format!("did you mean `{}`?", miss.near.join("`, `")),
        (true, Some(record)) => format!("for the record of the call write `{record}`"),
        (true, None) => otherwise,
    };
    let whole = path.to_string();
    let found = if let Step::Name(name) = &miss.step { name } else { &whole };
    let draft = Draft::new(Code::T059, at.span, message).found(found);
    draft.expected(miss.known.iter().map(String::as_str)).advice(advice)
}

/// The issue for a value that does not fit its place.
pub(super) fn misfit(
    template: &Template,
    what: &Place,
    wanted: &Shape,
    given: &Shape,
    written: Option<String>,
    at: Spot,
) -> Draft {
    let (is, takes) = (given.in_words(), wanted.in_words());
    let value = written.as_ref().map_or_else(|| "this".to_owned(), |path| format!("`{path}`"));
    let (message, advice) = match what {
        Place::Items => (format!("{value} is {is}, not a list"), list_meant(given, written.as_deref())),
        Place::Argument { name, template } => {
            let advice = format!("pass {takes}, or change what `{template}` declares for `{name}`");
            (format!("`{name}` of `{template}` is {takes}, but {value} is {is}"), advice)
        }
        Place::Output => (
            format!("this task declares that it gives {takes}, but its parts give {is}"),
            "change this declaration, or the declarations of its parts".to_owned(),
        ),
        Place::Returns => (
            format!("`{}` returns {takes}, but its task gives {is}", template.name),
            "change what it returns, or what its task declares".to_owned(),
        ),
    };
    let draft = Draft::new(Code::T060, at.span, message).expected([takes.as_str()]).advice(advice);
    match written {
        Some(path) => draft.found(&path),
        None => draft,
    }
}

/// What to write where a list is required.
fn list_meant(given: &Shape, written: Option<&str>) -> String {
    let fields = given.fields.iter().flat_map(|fields| &fields.named);
    let lists = fields.filter(|(_, shape)| shape.kinds.meets(Kinds::LIST)).map(|(name, _)| name.as_str());
    match (lists.collect::<Vec<_>>().as_slice(), written) {
        ([], _) => "name a list, or declare that this is one".to_owned(),
        (names, Some(path)) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{path}.{name}`")).collect();
            format!("name a list in it: {}", names.join(", "))
        }
        (names, None) => format!("name a list in it: `{}`", names.join("`, `")),
    }
}

/// The issue for a part of a condition with a constant outcome.
pub(super) fn constant(constant: &Constant, at: Spot) -> Draft {
    let (message, advice) = match constant {
        Constant::True { term, shape } => {
            let message = format!("`{term}` is {}, which is always true", shape.in_words());
            let advice = match shape.kinds.meets(Kinds::TEXT) {
                true => format!("compare it: `{term} == \"…\"`"),
                false if shape.kinds == Kinds::LIST => {
                    format!("an empty list is true, too; write `len({term}) > 0`")
                }
                false => "compare a field of it".to_owned(),
            };
            (message, advice)
        }
        Constant::Length { term, shape } => {
            let message = format!("`{term}` is {}, which has no length", shape.in_words());
            (message, "lists, maps and texts have one; compare the value itself".to_owned())
        }
        Constant::Compared { sides, how, near } => {
            let [(left, is), (right, other)] = &**sides;
            let nulls =
                [(left, is, other), (right, other, is)].into_iter().find(|(.., other)| other.kinds == Kinds::NULL);
            if let Some((value, is, _)) = nulls.filter(|_| *how == Comparison::Equal) {
                let message = format!("`{value}` is {}, never null, so this is always false", is.in_words());
                let advice = "remove it, or declare that the value may be null";
                return Draft::new(Code::T061, at.span, message).advice(advice);
            }
            let sides = format!("`{left}` is {} and `{right}` is {}", is.in_words(), other.in_words());
            let message = match how {
                Comparison::Equal => format!("{sides}, which are never equal, so this is always false"),
                Comparison::Unequal => format!("{sides}, which are never equal, so this is always true"),
                Comparison::In => format!("{sides}, so this is always false"),
                _ => format!("{sides}, which have no order, so this is always false"),
            };
            let advice = match how {
                Comparison::In if near.is_empty() => {
                    "a list holds its elements, and a text its parts; name one of these".to_owned()
                }
                _ => meant([(left, is), (right, other)], near),
            };
            (message, advice)
        }
    };
    Draft::new(Code::T061, at.span, message).advice(advice)
}

/// What to compare instead.
fn meant(sides: [(&String, &Shape); 2], near: &[String]) -> String {
    if !near.is_empty() {
        return format!("did you mean `{}`?", near.join("`, `"));
    }
    let [(left, is), (right, other)] = sides;
    for ((_, shape), (literal, word)) in [((left, is), (right, other)), ((right, other), (left, is))] {
        let bare = literal.trim_matches('"');
        let plain = word.words.as_deref().is_some_and(|words| words.len() == 1) && literal.starts_with('"');
        let fits = |kind| shape.kinds.meets(kind) && serde_json::from_str::<serde_json::Value>(bare).is_ok();
        if plain && (fits(Kinds::NUMBER) || fits(Kinds::BOOLEAN)) {
            return format!("write {bare} without quotes");
        }
        let is_literal = serde_json::from_str::<serde_json::Value>(literal).is_ok();
        if shape.kinds == Kinds::TEXT && is_literal && word.kinds.is_within(Kinds::NUMBER.or(Kinds::BOOLEAN)) {
            return format!("write \"{bare}\" in quotes, or compare another value");
        }
    }
    let list = [(left, is), (right, other)].into_iter().find(|(_, shape)| shape.kinds == Kinds::LIST);
    match list {
        Some((list, _)) => format!("compare an element, such as `{list}[0]`"),
        None => "compare values of one kind".to_owned(),
    }
}

/// The issue for a declared field that may be missing where it is used.
pub(super) fn lacking(path: &Path, at: Spot) -> Draft {
    let message = format!("`{path}` may be missing, and this task fails then");
    let advice = format!("run the task only if `{path} != null`, or declare that the field is always there");
    Draft::new(Code::T527, at.span, message).found(&path.to_string()).advice(advice)
}

/// The issue for an exit code that can only be 0.
pub(super) fn always_zero(path: &Path, at: Spot) -> Draft {
    let message = format!("`{path}` is always 0, because the task fails if its command ends with another exit code");
    let advice = "set `on_nonzero` of the command to `continue`; later tasks then see its exit code";
    Draft::new(Code::T530, at.span, message).found(&path.to_string()).advice(advice)
}

/// The issue for a fold that starts with another kind of value than it goes on with.
pub(super) fn start(start: &Shape, joined: &Shape, at: Spot) -> Draft {
    let (start, joined) = (start.in_words(), joined.in_words());
    let message = format!("this gives {joined}, but the fold starts with {start}");
    Draft::new(Code::T528, at.span, message).advice(format!("start with {joined}, or change what this gives"))
}

/// The issue for a loop whose evaluator cannot report success.
pub(super) fn never_good(at: Spot) -> Draft {
    let message = "the result that is declared here can't report success, so the loop never ends well";
    let advice = "declare a field `success: boolean`, or give the loop a condition that ends it";
    Draft::new(Code::T062, at.span, message).advice(advice)
}

/// The issue for a name that stands for the outcome of a test in a loop without one.
pub(super) fn untested(path: &Path, at: Spot) -> Draft {
    let message = format!("`{path}` is the outcome of a test, and this loop has none");
    let advice = "add a <script_execution> to the loop, or remove the name";
    Draft::new(Code::T063, at.span, message).found(&path.to_string()).advice(advice)
}

/// The issue for a reply that is not declared, although its template returns no text.
pub(super) fn undeclared(template: &Template, kind: ValueType, at: Spot) -> Draft {
    let message = format!(
        "`{}` returns {}, but nothing asks this task for one, so its reply may be any text",
        template.name,
        Shape::of_type(kind).in_words()
    );
    Draft::new(Code::T529, at.span, message).advice(format!("add <output_format> to it, such as `{}`", kind.as_str()))
}

/// The issue for a list that is the output of a process, which nothing declares as a list.
pub(super) fn printed(path: &Path, at: Spot) -> Draft {
    let message = format!("`{path}` is what a command prints, which is no list unless it is JSON");
    let advice = format!("add <output_format> to `{path}`: `string[]` gives its lines");
    Draft::new(Code::T529, at.span, message).found(&path.to_string()).advice(advice)
}

/// The issue for an argument that comes from a result and that the called template inserts into a command.
pub(super) fn reached(name: &str, template: &str, way: &str, at: Spot) -> Draft {
    let message = format!("a result reaches a command, which no run accepts: {way}");
    let advice =
        format!("let `{template}` pass `{name}` with <stdin> or an <input_file>, or pass a value of the caller");
    Draft::new(Code::T053, at.span, message).found(name).advice(advice)
}

/// The place where the parameter of a misfitting argument is declared.
pub(super) fn declared_at(found: &Found, templates: &BTreeMap<&str, &Template>) -> Option<Related> {
    let Found::Misfit { what: Place::Argument { name, template }, .. } = found else { return None };
    let template = templates.get(template.as_str())?;
    let param = template.params.iter().flatten().find(|param| param.name == *name)?;
    Some(Related {
        line: param.at.place.line,
        column: param.at.place.column,
        message: format!("`{name}` is declared here"),
        file: Some(template.origin.file.clone()),
    })
}
