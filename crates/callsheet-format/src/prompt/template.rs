//! A prompt template (spec 8.2): a system and a user part, checked against what its key declares.

use callsheet_core::prompt::{Piece, PromptError, Values, parse_part, render_pieces};

use super::key::PromptKey;
use super::templates::USER_PART;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    key: PromptKey,
    system: Vec<Piece>,
    user: Vec<Piece>,
}

impl Template {
    /// Parses and checks the text of a template. `source_path` is for errors.
    ///
    /// # Errors
    /// If it has not exactly one separator line, holds a placeholder that is not declared for `key`, lacks a required
    /// one, or has a broken block.
    pub fn parse(key: PromptKey, source_path: &str, text: &str) -> Result<Self, PromptError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let lines: Vec<&str> = text.split('\n').collect();
        let separators: Vec<usize> =
            lines.iter().enumerate().filter(|(_, line)| **line == USER_PART).map(|(at, _)| at).collect();
        let &[at] = separators.as_slice() else {
            return Err(PromptError::Separator {
                template: key.to_string(),
                source_path: source_path.to_owned(),
                found: separators.len(),
                line: USER_PART.to_owned(),
            });
        };
        let names: Vec<&'static str> = key.slots().iter().map(|slot| slot.name).collect();
        let system = lines.get(..at).unwrap_or_default().join("\n");
        let user = lines.get(at + 1..).unwrap_or_default().join("\n");
        let first_user_line = u32::try_from(at).unwrap_or(u32::MAX).saturating_add(2);
        let template = Self {
            key,
            system: parse_part(key.as_str(), &names, &system, 1)?,
            user: parse_part(key.as_str(), &names, &user, first_user_line)?,
        };
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

    /// System and user text with every placeholder filled.
    ///
    /// # Errors
    /// If a placeholder of the template has no value.
    pub fn render(&self, values: &Values) -> Result<(String, String), PromptError> {
        let names: Vec<&str> = self.key.slots().iter().map(|slot| slot.name).collect();
        let declared = names.join(", ");
        let system = render_pieces(self.key.as_str(), &declared, &self.system, values)?;
        let user = render_pieces(self.key.as_str(), &declared, &self.user, values)?;
        Ok((system.trim_matches('\n').to_owned(), user.trim_matches('\n').to_owned()))
    }

    /// The text that stands in the file itself, system part first, without placeholders.
    pub fn static_text(&self) -> String {
        let mut text = String::new();
        for piece in self.system.iter().chain(&self.user) {
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

    /// Placeholders and blocks in order of appearance; what stands inside a block does not count.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.system.iter().chain(&self.user).filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Slot { name, .. } | Piece::Block { name, .. } => Some(name.as_str()),
        })
    }
}
