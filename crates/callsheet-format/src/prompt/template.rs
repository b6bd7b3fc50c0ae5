//! A prompt template (spec 8.2): a system part, example turns and a user part, checked against the placeholders of its
//! key.

use callsheet_core::prompt::{Piece, PromptError, Values, parse_part, render_pieces};

use super::key::PromptKey;
use super::templates::{ASSISTANT_PART, USER_PART};

/// The texts of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// System text.
    pub system: String,
    /// Invented turns before the request itself, which show a good reply.
    pub examples: Vec<Example>,
    /// User message.
    pub user: String,
}

/// A request with the reply that it should get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// What the user would say.
    pub user: String,
    /// What the model should reply.
    pub assistant: String,
}

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    key: PromptKey,
    system: Vec<Piece>,
    examples: Vec<(Vec<Piece>, Vec<Piece>)>,
    user: Vec<Piece>,
}

/// The parts of a file, each with its first line: the system part, then user and assistant parts in turn, with a user
/// part last. A fault contains its line and the line that should be there.
fn parts(text: &str) -> Result<Vec<(u32, String)>, (u32, &'static str)> {
    let mut parts: Vec<(u32, Vec<&str>)> = vec![(1, Vec::new())];
    let mut last = 1;
    for (number, line) in (1_u32..).zip(text.split('\n')) {
        last = number;
        let expected = if parts.len() % 2 == 1 { USER_PART } else { ASSISTANT_PART };
        match line {
            _ if line == expected => parts.push((number.saturating_add(1), Vec::new())),
            USER_PART | ASSISTANT_PART => return Err((number, expected)),
            _ => parts.last_mut().into_iter().for_each(|(_, lines)| lines.push(line)),
        }
    }
    if parts.len() % 2 == 1 {
        return Err((last, USER_PART));
    }
    Ok(parts.into_iter().map(|(first, lines)| (first, lines.join("\n"))).collect())
}

impl Template {
    /// Parses and checks the text of a template. `source_path` is for errors.
    ///
    /// # Errors
    /// If its parts are in a wrong order, it contains a placeholder that `key` does not declare, lacks a required one,
    /// or has a broken block.
    pub fn parse(key: PromptKey, source_path: &str, text: &str) -> Result<Self, PromptError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let parts = parts(&text).map_err(|(line, expected)| PromptError::Parts {
            template: key.to_string(),
            source_path: source_path.to_owned(),
            line,
            expected: expected.to_owned(),
        })?;
        let names: Vec<&'static str> = key.slots().iter().map(|slot| slot.name).collect();
        let mut parsed = Vec::new();
        for (first_line, part) in &parts {
            parsed.push(parse_part(key.as_str(), &names, part, *first_line)?);
        }
        let user = parsed.pop().unwrap_or_default();
        let mut turns = parsed.into_iter();
        let system = turns.next().unwrap_or_default();
        let mut examples = Vec::new();
        while let (Some(user), Some(assistant)) = (turns.next(), turns.next()) {
            examples.push((user, assistant));
        }
        let template = Self { key, system, examples, user };
        for slot in key.slots().iter().filter(|slot| slot.required) {
            if !template.names().any(|name| name == slot.name) {
                return Err(PromptError::Missing {
                    template: key.to_string(),
                    placeholder: slot.name.to_owned(),
                    declared: names.join(", "),
                });
            }
        }
        Ok(template)
    }

    /// The texts with every placeholder filled in. An example with an empty side is left out.
    ///
    /// # Errors
    /// If a placeholder of the template has no value.
    pub fn render(&self, values: &Values) -> Result<Rendered, PromptError> {
        let names: Vec<&str> = self.key.slots().iter().map(|slot| slot.name).collect();
        let declared = names.join(", ");
        let filled = |pieces: &[Piece]| {
            let text = render_pieces(self.key.as_str(), &declared, pieces, values)?;
            Ok(text.trim_matches('\n').to_owned())
        };
        let mut examples = Vec::new();
        for (user, assistant) in &self.examples {
            let example = Example { user: filled(user)?, assistant: filled(assistant)? };
            if !example.user.trim().is_empty() && !example.assistant.trim().is_empty() {
                examples.push(example);
            }
        }
        Ok(Rendered { system: filled(&self.system)?, examples, user: filled(&self.user)? })
    }

    /// The text of the file itself without placeholders, system part first.
    pub fn static_text(&self) -> String {
        let examples = self.examples.iter().flat_map(|(user, assistant)| user.iter().chain(assistant));
        let mut text = String::new();
        for piece in self.system.iter().chain(examples).chain(&self.user) {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Slot { .. } => {}
                Piece::Block { inner, .. } => {
                    for piece in inner {
                        if let Piece::Text(part) = piece {
                            text.push_str(part);
                        }
                    }
                }
            }
        }
        text
    }

    /// Placeholders and blocks in order of appearance, without those inside a block or an example.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.system.iter().chain(&self.user).filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Slot { name, .. } | Piece::Block { name, .. } => Some(name.as_str()),
        })
    }
}
