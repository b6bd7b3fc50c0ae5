//! What a server asks a person during a call, as a question in plain words, and the answer as the server wants it.

use callsheet_core::visible::{visible, visible_line};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use crate::limits::{FIELDS, TOLD};

/// The answer that gives the server nothing.
const DECLINE: &str = "decline";

/// A question of a server.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    message: String,
    schema: Value,
    fields: Vec<Field>,
}

/// A value that the server wants.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    kind: Kind,
    about: String,
    is_required: bool,
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
        };
        let fields = properties.into_iter().map(field).collect();
        Some(Self { message: cut(&message), schema, fields })
    }

    /// The question for a person. `wrong` says why the last answer did not do.
    pub(crate) fn question(&self, server: &str, wrong: Option<&str>) -> String {
        let mut lines: Vec<String> =
            wrong.map(|why| format!("This answer can't be used: {why}.")).into_iter().collect();
        lines.push(format!("The server {} asks: {}", visible_line(server), visible(&self.message)));
        lines.extend(self.fields.iter().map(Field::line));
        lines.push(match self.fields.as_slice() {
            [] => format!("Answer `yes` to agree, or `{DECLINE}`."),
            [_] => format!("Answer with the value, or `{DECLINE}` to give nothing."),
            _ => format!("Answer with a line `name: value` for each, or `{DECLINE}` to give nothing."),
        });
        lines.push("The answer goes to the server and is recorded: give no password and no key.".to_owned());
        lines.join("\n")
    }

    /// What the server gets for an answer. `None` means that nobody is there.
    ///
    /// # Errors
    /// What is wrong with the answer.
    pub(crate) fn result(&self, answer: Option<&str>) -> Result<ElicitResult, String> {
        let answer = answer.map(str::trim).filter(|answer| !answer.eq_ignore_ascii_case(DECLINE));
        let Some(answer) = answer else { return Ok(ElicitResult::new(ElicitationAction::Decline)) };
        let mut values = Map::new();
        for (field, text) in self.parts(answer)? {
            values.insert(field.name.clone(), field.value(text)?);
        }
        if let Some(missing) = self.fields.iter().find(|field| field.is_required && !values.contains_key(&field.name)) {
            return Err(format!("it gives no {}", visible_line(&missing.name)));
        }
        let values = Value::Object(values);
        let validator = jsonschema::validator_for(&self.schema).map_err(|error| visible_line(&error.to_string()))?;
        validator.validate(&values).map_err(|error| visible_line(&error.to_string()))?;
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(values))
    }

    /// The parts of an answer, each with its field.
    fn parts<'a>(&self, answer: &'a str) -> Result<Vec<(&Field, &'a str)>, String> {
        if let [field] = self.fields.as_slice() {
            let named = answer.split_once(':').filter(|(name, _)| name.trim().eq_ignore_ascii_case(&field.name));
            return Ok(vec![(field, named.map_or(answer, |(_, value)| value.trim()))]);
        }
        let part = |line: &'a str| {
            let (name, value) = line.split_once(':').ok_or_else(|| format!("`{line}` is no line `name: value`"))?;
            let is_it = |field: &&Field| field.name.eq_ignore_ascii_case(name.trim());
            let field = self.fields.iter().find(is_it).ok_or_else(|| format!("nothing is called `{}`", name.trim()))?;
            Ok((field, value.trim()))
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

    fn value(&self, text: &str) -> Result<Value, String> {
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
        let given = form.result(Some(answer));
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
        check(&form, "wet: yes", Err("gives no bed"));
        check(&form, "bed: east", Err("none of the values"));
        check(&form, "roof: red", Err("nothing is called `roof`"));
        assert!(
            form.question("shed", Some("it gives no bed")).starts_with("This answer can't be used: it gives no bed.")
        );
    }

    #[test]
    fn nothing_is_given_without_a_person_or_against_their_will() {
        let form = form(json!({"bed": {"type": "string"}}), &[]);
        for answer in [None, Some("Decline")] {
            let given = form.result(answer).unwrap();
            assert_eq!((given.action, given.content), (ElicitationAction::Decline, None));
        }
    }
}
