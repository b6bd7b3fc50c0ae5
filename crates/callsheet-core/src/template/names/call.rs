//! Checks calls: whether arguments fit the parameters of the called template, and where they are used (spec 4, 8).

use crate::template::place::Spot;
use crate::template::shape::{Kinds, Shape, Source};
use crate::template::tree::{Argument, ArgumentValue, Node, Param, Template, ValueType};
use crate::template::value::{Filled, Path, is_ident};

use super::seen::Seen;
use super::walk::Walk;
use super::{Found, Place};

/// An argument of a call.
struct Passed {
    /// The parameter. `None` if the argument is positional.
    name: Option<String>,
    seen: Seen,
    /// Whether it is written as a text, which a typed parameter converts.
    literal: bool,
    /// The argument as written, if it is a name.
    written: Option<String>,
    at: Spot,
}

impl Walk<'_> {
    /// Checks a call of a template or a skill. Returns the shape of its result.
    pub(super) fn call(&mut self, node: &Node, name: &str, inputs: &[Seen]) -> Shape {
        let mut passed: Vec<Passed> = Vec::new();
        for (input, seen) in node.inputs.iter().zip(inputs) {
            let (name, at) = (Some(input.name.clone()), input.origin.spot);
            passed.push(Passed { name, seen: seen.clone(), literal: false, written: None, at });
        }
        for argument in node.kind.operator().arguments() {
            passed.push(self.argument(argument));
        }
        let called = (self.around.called)(name);
        self.opens |= called.is_none_or(|(template, _)| !template.is_function());
        let Some((template, summary)) = called else { return Shape::unknown() };
        let mut position = 0;
        for one in passed {
            let param = match (&one.name, &template.params) {
                (Some(name), Some(params)) => params.iter().find(|param| param.name == *name),
                (None, Some(params)) => {
                    position += 1;
                    params.get(position - 1)
                }
                (_, None) => None,
            };
            if let Some(param) = param {
                self.takes(param, &one, template);
            }
            let Some(name) = param.map(|param| param.name.clone()).or(one.name) else { continue };
            if let Some(place) = summary.and_then(|summary| summary.reaches.get(&name)) {
                self.passes_on(&name, template, place, one.seen, one.at);
            }
        }
        let returns = template.returns.map_or_else(Shape::unknown, Shape::of_type);
        summary.map_or(returns.from(Source::Perhaps), |summary| summary.gives.clone())
    }

    /// Checks an argument against its parameter.
    fn takes(&mut self, param: &Param, given: &Passed, template: &Template) {
        let shape = &given.seen.shape;
        let optional = param.default.is_some() || !param.required;
        let wanted = Shape::of_type(param.kind);
        let fits = match param.kind {
            ValueType::Any => true,
            // A result is passed as its text.
            ValueType::String if shape.source != Source::Plain => true,
            _ if optional && shape.kinds.meets(Kinds::NULL) => true,
            kind if given.literal => {
                let words = shape.words.as_deref().filter(|words| words.len() == 1).and_then(|words| words.first());
                words.is_none_or(|text| kind.convert(text).is_some())
            }
            _ => shape.fits(&wanted),
        };
        if !fits {
            let what = Place::Argument { name: param.name.clone(), template: template.name.clone() };
            self.misfit(what, wanted, shape, given.written.clone(), given.at);
        }
    }

    /// Follows a value into a command of the called template. A value from a result is reported. A value of the
    /// caller is noted for the templates that call this one.
    fn passes_on(&mut self, name: &str, template: &Template, place: &str, seen: Seen, at: Spot) {
        let behind = format!("`{name}` of `{}` → {place}", template.name);
        if seen.result {
            let before = seen.way.as_deref().unwrap_or("the nested task");
            let way = format!("{before} → {behind}");
            let (name, template, task) = (name.to_owned(), template.name.clone(), self.task());
            self.tell(Found::Reached { name, template, way, at, task });
        } else if let Some(own) = seen.of_caller {
            self.reaches.entry(own.to_string()).or_insert(behind);
        }
    }

    fn argument(&mut self, argument: &Argument) -> Passed {
        let (seen, literal, written) = match &argument.value {
            ArgumentValue::Value(text) => self.text_passed(text),
            ArgumentValue::From(from) => (self.path(from, "arg"), false, Some(from.path.to_string())),
            ArgumentValue::Operator(node) => (Seen::result(self.child(node, "arg").value()), false, None),
            ArgumentValue::Unread => (Seen::own(Shape::unknown()), false, None),
            ArgumentValue::Bare(text) => match self.variable(text, argument) {
                Some((seen, name)) => (seen, false, Some(name)),
                None => self.text_passed(text),
            },
        };
        Passed { name: argument.name.clone(), seen, literal, written, at: argument.origin.spot }
    }

    /// Checks a filled text. A single placeholder stands for its value.
    fn text_passed(&mut self, text: &Filled) -> (Seen, bool, Option<String>) {
        let single = text.single().map(Path::to_string);
        (self.text(text, "arg"), single.is_none(), single)
    }

    /// The variable that a bare text names. Reports a text that looks like a name and is taken as a text.
    fn variable(&mut self, text: &Filled, argument: &Argument) -> Option<(Seen, String)> {
        let literal = text.as_literal()?;
        // Only a single name is looked up as a variable. A bound path was probably meant as one, too, and is
        // reported.
        let taken = match Path::parse(literal) {
            _ if is_ident(literal) => match self.look_up(&Path::variable(literal)) {
                Some((seen, _)) => return Some((seen, literal.to_owned())),
                None => true,
            },
            Some(path) => self.is_bound(&path),
            None => false,
        };
        if taken {
            let at = argument.origin.spot;
            let task = self.task();
            self.tell(Found::Literal { text: literal.to_owned(), at, task });
        }
        None
    }
}
