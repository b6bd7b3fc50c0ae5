//! Expressions whose outcome is decided by the kinds of their values (spec 8). Defines the shape of each form of an
//! expression and what each form requires of its parts.

use serde_json::Value;

use crate::fuzzy::meant;
use crate::template::value::{Comparison, Path, Term};

use super::{Kinds, Shape};

/// A part of a condition that has the same outcome for all possible values.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// A value that is always true.
    True {
        /// The term as written.
        term: String,
        /// Its shape.
        shape: Shape,
    },
    /// A comparison of values that are never equal or have no order.
    Compared {
        /// Both sides as written, with their shapes.
        sides: Box<[(String, Shape); 2]>,
        /// The comparison.
        how: Comparison,
        /// Similar words.
        near: Vec<String>,
    },
    /// The length of a value that has no length.
    Length {
        /// The term as written.
        term: String,
        /// Its shape.
        shape: Shape,
    },
}

/// All constant parts of a condition. `shape` returns the shape of a path.
pub fn constants(condition: &Term, shape: &mut dyn FnMut(&Path) -> Shape) -> Vec<Constant> {
    let mut check = Check { shape, found: Vec::new() };
    check.holds(condition);
    check.found
}

struct Check<'a> {
    shape: &'a mut dyn FnMut(&Path) -> Shape,
    found: Vec<Constant>,
}

impl Check<'_> {
    /// Checks a term whose truth is asked for.
    fn holds(&mut self, term: &Term) {
        let shape = self.shape_of(term);
        if let Term::Path(path) = term
            && shape.is_always_true()
        {
            self.found.push(Constant::True { term: path.to_string(), shape });
        }
    }

    fn shape_of(&mut self, term: &Term) -> Shape {
        match term {
            Term::Literal(Value::String(text)) => Shape::one_of([text.as_str()]),
            Term::Literal(value) => Shape::of_value(value),
            Term::Path(path) => (self.shape)(path),
            Term::Not(inner) => {
                self.holds(inner);
                Shape::boolean()
            }
            Term::All(parts) | Term::Any(parts) => {
                parts.iter().for_each(|part| self.holds(part));
                Shape::boolean()
            }
            Term::Compare(left, how, right) => {
                let sides = [(written(left), self.shape_of(left)), (written(right), self.shape_of(right))];
                let literals = matches!((&**left, &**right), (Term::Literal(_), Term::Literal(_)));
                if !literals && is_constant(&sides[0].1, *how, &sides[1].1) {
                    let near = near_words(&sides[0].1, &sides[1].1);
                    self.found.push(Constant::Compared { sides: Box::new(sides), how: *how, near });
                }
                Shape::boolean()
            }
            Term::Length(inner) => {
                let shape = self.shape_of(inner);
                if !shape.is_never() && !shape.kinds.meets(Kinds::LIST.or(Kinds::MAP).or(Kinds::TEXT)) {
                    self.found.push(Constant::Length { term: written(inner), shape });
                }
                Shape::number().missing(true)
            }
        }
    }
}

fn is_constant(left: &Shape, how: Comparison, right: &Shape) -> bool {
    match how {
        Comparison::Equal => !left.may_be(right),
        // A missing value is neither equal to a value nor different from it. `x != null` tests whether it exists.
        Comparison::Unequal => {
            let null = left.kinds == Kinds::NULL || right.kinds == Kinds::NULL;
            !null && !left.may_be(right)
        }
        Comparison::Less | Comparison::AtMost | Comparison::Greater | Comparison::AtLeast => {
            !left.has_order_with(right)
        }
        Comparison::In => {
            let element = right.kinds.meets(Kinds::LIST).then_some(right.element.as_deref());
            let of_list = element.is_some_and(|element| element.is_none_or(|element| element.may_be(left)));
            let of_text = right.kinds.meets(Kinds::TEXT) && left.kinds.meets(Kinds::TEXT);
            !left.is_never() && !right.is_never() && !of_list && !of_text
        }
    }
}

/// The words of one side that are similar to the only word of the other.
fn near_words(left: &Shape, right: &Shape) -> Vec<String> {
    let right = right.element.as_deref().unwrap_or(right);
    let (Some(words), Some(others)) = (&left.words, &right.words) else { return Vec::new() };
    match (&**words, &**others) {
        (several, [one]) | ([one], several) => {
            meant(one, several.iter().map(String::as_str).filter(|word| !word.is_empty()))
        }
        _ => Vec::new(),
    }
}

/// The term as its author wrote it.
fn written(term: &Term) -> String {
    match term {
        Term::Literal(value) => value.to_string(),
        Term::Path(path) => path.to_string(),
        Term::Length(inner) => format!("len({})", written(inner)),
        _ => "(…)".to_owned(),
    }
}
