//! The commands that can begin a prompt: `/resume`, and one for each template.

use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate, UnstructuredCommandInput,
};

use crate::limits::COMMANDS;
use crate::words::line;

/// The command that resumes a run.
pub(crate) const RESUME: &str = "resume";

/// What a prompt asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A request, a follow-up or an answer.
    Text(String),
    /// Resume the run.
    Resume,
    /// Run a template.
    Template {
        /// The name of the template.
        name: String,
        /// Input values as `NAME=VALUE`.
        values: Vec<String>,
        /// The remaining text.
        text: String,
    },
}

/// The commands that the editor offers for a project with these templates.
pub(crate) fn offered(templates: &[(String, String)]) -> SessionUpdate {
    let resume = AvailableCommand::new(RESUME, "Continue a run that was stopped");
    let template = |(name, about): &(String, String)| {
        let hint = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new("input=value …, or a text"));
        AvailableCommand::new(name.clone(), line(about)).input(hint)
    };
    let commands = std::iter::once(resume).chain(templates.iter().take(COMMANDS).map(template));
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands.collect()))
}

/// Reads a prompt. A leading `/` that names no known command, such as a path, is part of the text.
///
/// # Errors
/// A value cannot be used. The error says why.
pub(crate) fn read(text: &str, templates: &[(String, String)]) -> Result<Asked, String> {
    let as_text = || Ok(Asked::Text(text.to_owned()));
    let Some(command) = text.trim_start().strip_prefix('/') else { return as_text() };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    if name == RESUME && rest.trim().is_empty() {
        return Ok(Asked::Resume);
    }
    if !templates.iter().any(|(known, _)| known == name) {
        return as_text();
    }
    let (values, text) = values(rest.trim())?;
    Ok(Asked::Template { name: name.to_owned(), values, text })
}

/// Splits the rest of a command into named values and other text. Without named values, the text is returned unchanged.
fn values(rest: &str) -> Result<(Vec<String>, String), String> {
    let is_named = |word: &&String| {
        let name = word.split_once('=').map(|(name, _)| name.strip_suffix(':').unwrap_or(name));
        name.is_some_and(|name| {
            name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
    };
    let words = shlex::split(rest).unwrap_or_default();
    let (named, others): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| is_named(word));
    if named.is_empty() {
        return Ok((Vec::new(), rest.to_owned()));
    }
    // In a terminal, `@` reads a file. An editor attaches files itself, so a value must not read one.
    if let Some(word) = named.iter().find(|word| word.split_once('=').is_some_and(|(_, value)| value.starts_with('@')))
    {
        return Err(format!("{word} can't be used in an editor: write the text of the file, or attach the file"));
    }
    let text: Vec<&str> = others.into_iter().map(String::as_str).collect();
    Ok((named.into_iter().cloned().collect(), text.join(" ")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{Asked, read};

    fn templates() -> Vec<(String, String)> {
        vec![("extract_data".to_owned(), String::new())]
    }

    #[test]
    fn only_known_commands_are_commands() {
        let templates = templates();
        for text in ["/usr/share is full", "/extract", "/resume later", "What?"] {
            assert_eq!(read(text, &templates), Ok(Asked::Text(text.to_owned())));
        }
        assert_eq!(read(" /resume\n", &templates), Ok(Asked::Resume));
    }

    #[test]
    fn values_are_read_as_in_a_shell() {
        let asked = read("/extract_data document='two words' fields=names the rest", &templates());
        let values = vec!["document=two words".to_owned(), "fields=names".to_owned()];
        assert_eq!(asked, Ok(Asked::Template { name: "extract_data".to_owned(), values, text: "the rest".to_owned() }));
        let asked = read("/extract_data don't say \"a\"", &templates());
        let text = "don't say \"a\"".to_owned();
        assert_eq!(asked, Ok(Asked::Template { name: "extract_data".to_owned(), values: Vec::new(), text }));
    }

    #[test]
    fn a_value_reads_no_file() {
        assert!(read("/extract_data document=@/etc/hostname", &templates()).unwrap_err().contains("attach"));
        assert!(read("/extract_data rows:=@/etc/hostname", &templates()).unwrap_err().contains("attach"));
    }
}
