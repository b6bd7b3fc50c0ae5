//! Which servers there are and how they are reached, as a person or a project's file says.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::limits::START;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Its name as it was written.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Tools that, as the person says, only read.
    pub reads: Vec<String>,
    /// How long it may take to start.
    pub start: Duration,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A program that speaks over its stdin and stdout.
    Program(ServerProgram),
    /// An address that speaks streamable HTTP.
    Address(ServerAddress),
}

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerProgram {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that it sees besides the usual ones.
    pub variables: BTreeMap<String, String>,
    /// The folder that it starts in. `None` means the project.
    pub folder: Option<PathBuf>,
}

/// An address to call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerAddress {
    /// The address.
    pub url: String,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
}

impl ServerSettings {
    /// A server with the usual limits, of which no tool counts as reading.
    pub fn new(name: &str, reach: Reach) -> Self {
        Self { name: name.to_owned(), reach, reads: Vec::new(), start: START }
    }
}

impl Reach {
    /// The same with the values of variables in place of `${NAME}` and `${NAME:-otherwise}`.
    ///
    /// # Errors
    /// The name of a variable that is not set.
    pub fn filled(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let one = |text: &String| filled(text, variable);
        let all = |texts: &BTreeMap<String, String>| {
            texts.iter().map(|(name, text)| Ok((name.clone(), one(text)?))).collect::<Result<_, String>>()
        };
        Ok(match self {
            Self::Program(program) => Self::Program(ServerProgram {
                command: one(&program.command)?,
                args: program.args.iter().map(one).collect::<Result<_, _>>()?,
                variables: all(&program.variables)?,
                folder: program.folder.clone(),
            }),
            Self::Address(address) => {
                Self::Address(ServerAddress { url: one(&address.url)?, headers: all(&address.headers)? })
            }
        })
    }

    /// Names of the variables that it takes values of.
    pub fn named_variables(&self) -> Vec<String> {
        let names = std::cell::RefCell::new(Vec::new());
        let note = |name: &str| {
            names.borrow_mut().push(name.to_owned());
            Some(String::new())
        };
        let _filled = self.filled(&note);
        names.into_inner()
    }
}

fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise.to_owned())),
            None => (inside, None),
        };
        let value = variable(name).filter(|value| otherwise.is_none() || !value.is_empty());
        out.push_str(&value.or(otherwise).ok_or_else(|| name.to_owned())?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_once() {
        let known = |name: &str| match name {
            "TOKEN" => Some("a ${B}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let fill = |text: &str| filled(text, &known);
        assert_eq!(fill("Bearer ${TOKEN}!").unwrap(), "Bearer a ${B}!");
        assert_eq!(fill("${NONE:-x}${EMPTY:-y}${EMPTY}").unwrap(), "xy");
        assert_eq!(fill("${NONE}").unwrap_err(), "NONE");
        assert_eq!(fill("$HOME ${open").unwrap(), "$HOME ${open");
    }
}
