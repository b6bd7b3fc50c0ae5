//! What a server asks a person during a call, as a question in plain words, and the answer as the server wants it.

use callsheet_core::visible::{visible, visible_line};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use crate::limits::{FIELDS, QUESTIONS, TOLD};

/// The answer that gives the server nothing.
const DECLINE: &str = "decline";

/// A question of a server. Values that were given are kept, so that a person can give them one by one.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    message: String,
    fields: Vec<Field>,
    given: Map<String, Value>,
    /// How many answers could not be used.
    refused: usize,
}

/// A value that the server wants.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    kind: Kind,
    about: String,
    is_required: bool,
    /// Its schema.
    declared: Value,
}

/// The type of a value.
#[derive(Clone, Debug)]
enum Kind {
    Text,
    Number,
    YesOrNo,
    /// One of these values, each with its title.
    One(Vec<(Value, String)>),
    /// Some of them.
    Some(Vec<(Value, String)>),
}

impl Form {
    /// Reads a question. `None` if it is of a form that Callsheet does not offer.
    pub(crate) fn of(asked: ElicitRequestParams) -> Option<Self> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = asked else { return None };
        let schema = serde_json::to_value(requested_schema).ok()?;
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        if properties.len() > FIELDS {
            return None;
        }
        let field = |(name, declared): (String, Value)| Field {
            kind: kind(&declared),
            about: cut(text(&declared, "description").or(text(&declared, "title")).unwrap_or_default()),
            is_required: required.iter().any(|one| *one == name),
            name,
            declared,
        };
        let fields = properties.into_iter().map(field).collect();
        Some(Self { message: cut(&message), fields, given: Map::new(), refused: 0 })
    }

    /// The question for a person. `wrong` says why the last answer did not do, as a sentence.
    pub(crate) fn question(&self, server: &str, wrong: Option<&str>) -> String {
        let mut lines: Vec<String> = wrong.map(str::to_owned).into_iter().collect();
        lines.push(format!("The server {} asks: {}", visible_line(server), visible(&self.message)));
        lines.extend(self.fields.iter().map(|field| {
            let given = if self.given.contains_key(&field.name) { " (given)" } else { "" };
            format!("{}{given}", field.line())
        }));
        lines.push(match (self.fields.as_slice(), self.only_open()) {
            ([], _) => format!("Answer `yes` to agree, or `{DECLINE}`."),
            ([_], _) => format!("Answer with the value, or `{DECLINE}` to give nothing."),
            (_, Some(field)) => {
                format!("Answer with the value of {}, or `{DECLINE}` to give nothing.", visible_line(&field.name))
            }
            _ => format!("Answer with a line `name: value` for each, or `{DECLINE}` to give nothing."),
        });
        lines.push("The answer goes to the server and is recorded: give no password and no key.".to_owned());
        lines.join("\n")
    }

    /// The values that are required and not given.
    fn open(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.is_required && !self.given.contains_key(&field.name))
    }

    /// The last value that is open after others were given. An answer without a name gives it.
    fn only_open(&self) -> Option<&Field> {
        let mut open = self.open().filter(|_| !self.given.is_empty());
        open.next().filter(|_| open.next().is_none())
    }

    /// What the server gets for an answer. `None` means that nobody is there.
    ///
    /// # Errors
    /// What is wrong with the answer, or what is missing, as a sentence.
    pub(crate) fn result(&mut self, answer: Option<&str>) -> Result<ElicitResult, String> {
        let answer = answer.map(str::trim).filter(|answer| !answer.eq_ignore_ascii_case(DECLINE));
        let Some(answer) = answer else { return Ok(ElicitResult::new(ElicitationAction::Decline)) };
        match self.values(answer) {
            Ok(values) => self.given.extend(values),
            // A program may give the same answer again and again.
            Err(_) if self.refused >= QUESTIONS => return Ok(ElicitResult::new(ElicitationAction::Decline)),
            Err(why) => {
                self.refused += 1;
                return Err(format!("This answer can't be used: {why}."));
            }
        }
        let missing: Vec<String> = self.open().map(|field| visible_line(&field.name)).collect();
        if !missing.is_empty() {
            return Err(format!("The server still needs {}.", missing.join(", ")));
        }
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(self.given.clone())))
    }

    fn values(&self, answer: &str) -> Result<Vec<(String, Value)>, String> {
        let parts = self.parts(answer)?.into_iter();
        parts.map(|(field, text)| Ok((field.name.clone(), field.value(text)?))).collect()
    }

    /// The parts of an answer, each with its field.
    fn parts<'a>(&self, answer: &'a str) -> Result<Vec<(&Field, &'a str)>, String> {
        let named = |line: &'a str| {
            let (name, value) = line.split_once(':')?;
            let is_it = |field: &&Field| field.name.eq_ignore_ascii_case(name.trim());
            Some((self.fields.iter().find(is_it)?, value.trim()))
        };
        if let [field] = self.fields.as_slice() {
            return Ok(vec![(field, named(answer).map_or(answer, |(_, value)| value))]);
        }
        if let Some(field) = self.only_open().filter(|_| answer.lines().all(|line| named(line).is_none())) {
            return Ok(vec![(field, answer)]);
        }
        let part = |line: &'a str| {
            let unnamed = || match line.split_once(':') {
                Some((name, _)) => format!("nothing is called `{}`", name.trim()),
                None => format!("`{line}` is no line `name: value`"),
            };
            named(line).ok_or_else(unnamed)
        };
        let lines = answer.lines().filter(|line| !line.trim().is_empty() && !self.fields.is_empty());
        lines.map(part).collect()
    }
}

impl Field {
    fn line(&self) -> String {
        let names = |all: &[(Value, String)]| all.iter().map(|(_, title)| visible_line(title)).collect::<Vec<_>>();
        let kind = match &self.kind {
            Kind::Text => "text".to_owned(),
            Kind::Number => "number".to_owned(),
            Kind::YesOrNo => "yes or no".to_owned(),
            Kind::One(all) => format!("one of {}", names(all).join(", ")),
            Kind::Some(all) => format!("some of {}, separated by commas", names(all).join(", ")),
        };
        let optional = if self.is_required { "" } else { ", optional" };
        let about = if self.about.is_empty() { String::new() } else { format!(": {}", visible_line(&self.about)) };
        format!("- {} ({kind}{optional}){about}", visible_line(&self.name))
    }

    /// The value that a text gives.
    ///
    /// # Errors
    /// Why the text gives none, as a clause.
    fn value(&self, text: &str) -> Result<Value, String> {
        let value = self.read(text)?;
        let validator = jsonschema::validator_for(&self.declared).map_err(|error| visible_line(&error.to_string()))?;
        validator.validate(&value).map_err(|error| visible_line(&error.to_string()))?;
        Ok(value)
    }

    fn read(&self, text: &str) -> Result<Value, String> {
        let name = visible_line(&self.name);
        let no = |what: &str| format!("`{text}` is {what}, which {name} must be");
        match &self.kind {
            Kind::Text => Ok(Value::from(text)),
            Kind::Number => {
                let whole = text.parse::<i64>().map(Value::from).ok();
                let number = whole.or_else(|| text.parse::<f64>().ok().map(Value::from)).filter(Value::is_number);
                number.ok_or_else(|| no("no number"))
            }
            Kind::YesOrNo => match text.to_ascii_lowercase().as_str() {
                "yes" | "y" | "true" => Ok(Value::Bool(true)),
                "no" | "n" | "false" => Ok(Value::Bool(false)),
                _ => Err(no("neither yes nor no")),
            },
            Kind::One(all) => chosen(all, text).ok_or_else(|| no("none of the values")),
            Kind::Some(all) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                let parts: Option<Vec<Value>> = parts.map(|part| chosen(all, part)).collect();
                parts.map(Value::Array).ok_or_else(|| no("no list of the values"))
            }
        }
    }
}

fn chosen(all: &[(Value, String)], text: &str) -> Option<Value> {
    let is_it = |(value, title): &&(Value, String)| {
        title.eq_ignore_ascii_case(text) || value.as_str().is_some_and(|value| value.eq_ignore_ascii_case(text))
    };
    all.iter().find(is_it).map(|(value, _)| value.clone())
}

fn kind(declared: &Value) -> Kind {
    let choices = choices(declared);
    match declared.get("type").and_then(Value::as_str) {
        Some("array") => Kind::Some(declared.get("items").map(self::choices).unwrap_or_default()),
        _ if !choices.is_empty() => Kind::One(choices),
        Some("number" | "integer") => Kind::Number,
        Some("boolean") => Kind::YesOrNo,
        _ => Kind::Text,
    }
}

/// The values of a choice, each with its title.
fn choices(declared: &Value) -> Vec<(Value, String)> {
    let list = |key: &str| declared.get(key).and_then(Value::as_array);
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(values) = list("enum") {
        let titles = list("enumNames").cloned().unwrap_or_default();
        let title = |at: usize, value: &Value| titles.get(at).map_or_else(|| shown(value), shown);
        return values.iter().enumerate().map(|(at, value)| (value.clone(), title(at, value))).collect();
    }
    let titled = |one: &Value| {
        let value = one.get("const")?.clone();
        let title = text(one, "title").map_or_else(|| shown(&value), str::to_owned);
        Some((value, title))
    };
    list("oneOf").or_else(|| list("anyOf")).into_iter().flatten().filter_map(titled).collect()
}

fn text<'a>(declared: &'a Value, key: &str) -> Option<&'a str> {
    declared.get(key).and_then(Value::as_str)
}

fn cut(text: &str) -> String {
    text.chars().take(TOLD).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(properties: Value, required: &[&str]) -> Form {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let asked = json!({"mode": "form", "message": "Where?", "requestedSchema": schema});
        Form::of(serde_json::from_value(asked).unwrap()).unwrap()
    }

    fn check(form: &Form, answer: &str, expected: Result<Value, &str>) {
        let given = form.clone().result(Some(answer));
        match expected {
            Ok(content) => assert_eq!(given.unwrap().content, Some(content), "{answer}"),
            Err(why) => assert!(given.as_ref().is_err_and(|error| error.contains(why)), "{answer}: {given:?}"),
        }
    }

    #[test]
    fn one_value_is_given_bare_or_with_its_name() {
        let form = form(json!({"litres": {"type": "integer", "minimum": 1, "description": "How many"}}), &["litres"]);
        let question = form.question("shed", None);
        assert!(question.contains("The server shed asks: Where?\n- litres (number): How many\n"), "{question}");
        check(&form, " 40 ", Ok(json!({"litres": 40})));
        check(&form, "litres: 40", Ok(json!({"litres": 40})));
        check(&form, "many", Err("no number"));
        check(&form, "0", Err("less than the minimum"));
    }

    #[test]
    fn several_values_are_lines() {
        let bed =
            json!({"type": "string", "oneOf": [{"const": "n", "title": "North"}, {"const": "s", "title": "South"}]});
        let form = form(json!({"bed": bed, "wet": {"type": "boolean"}, "note": {"type": "string"}}), &["bed"]);
        check(&form, "Bed: north\n\nwet: no", Ok(json!({"bed": "n", "wet": false})));
        check(&form, "wet: yes", Err("The server still needs bed."));
        check(&form, "bed: east", Err("none of the values"));
        check(&form, "roof: red", Err("nothing is called `roof`"));
    }

    #[test]
    fn values_are_given_one_by_one() {
        let mut form = form(json!({"a": {"type": "string"}, "b": {"type": "integer", "minimum": 1}}), &["a", "b"]);
        assert!(form.question("shed", None).contains("Answer with a line `name: value` for each"));
        assert_eq!(form.result(Some("a: x: y")).unwrap_err(), "The server still needs b.");
        let asked = form.question("shed", Some("The server still needs b."));
        assert!(asked.starts_with("The server still needs b.\nThe server shed asks: Where?\n- a (text) (given)\n"));
        assert!(asked.contains("Answer with the value of b"), "{asked}");
        let wrong = form.result(Some("0")).unwrap_err();
        assert!(wrong.starts_with("This answer can't be used: 0 is less than the minimum"), "{wrong}");
        check(&form, "b: 4\na: z", Ok(json!({"a": "z", "b": 4})));
        check(&form, "decline: it", Err("no number"));
        assert_eq!(form.result(Some("4")).unwrap().content, Some(json!({"a": "x: y", "b": 4})));
    }

    #[test]
    fn nothing_is_given_without_a_person_or_against_their_will() {
        let mut form = form(json!({"bed": {"type": "string"}}), &[]);
        for answer in [None, Some("Decline")] {
            let given = form.result(answer).unwrap();
            assert_eq!((given.action, given.content), (ElicitationAction::Decline, None));
        }
    }
}
