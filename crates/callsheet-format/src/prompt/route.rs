//! The prompt that chooses a skill (spec 2.3). Its own text is short, and everything before the request is the same for
//! every request, so that a model has it in its cache.

use callsheet_core::prompt::PromptError;

use super::fragment::Fill;
use super::prompts::rendered;
use super::{Example, PromptKey, Rendered, Templates};

/// The maximum number of characters in the line of one skill.
const LINE: usize = 160;

/// A skill that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its purpose. Only the first sentence is used.
    pub name: String,
    /// What it is for; the first sentence counts.
    pub description: String,
    /// Requests for which it is right.
    pub examples: Vec<String>,
    /// It writes files.
    pub writes: bool,
}

/// Chooses the skill of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePrompt {
    /// In the order of the catalog.
    pub candidates: Vec<Candidate>,
    /// The request, or the need of a task.
    pub request: String,
    /// Files that the request names.
    pub paths: Vec<String>,
}

impl RoutePrompt {
    /// The texts of the call. Examples of the template whose skill is not offered are left out. A skill without
    /// examples in the template provides its own.
    ///
    /// # Errors
    /// If the template is broken.
    pub fn render(&self, templates: &Templates) -> Result<Rendered, PromptError> {
        let mut fill = Fill::new(PromptKey::Route);
        let lines: Vec<String> = self.candidates.iter().map(line).collect();
        fill.plain("skill_names", &lines.join("\n"));
        fill.plain("request", &self.request);
        let mut rendered = rendered(templates, PromptKey::Route, fill)?;
        rendered.examples.retain(|example| self.candidates.iter().any(|one| one.name == skill_of(&example.assistant)));
        let shown: Vec<String> =
            rendered.examples.iter().map(|example| skill_of(&example.assistant).to_owned()).collect();
        for candidate in self.candidates.iter().filter(|candidate| !shown.contains(&candidate.name)) {
            let own = candidate
                .examples
                .iter()
                .map(|request| Example { user: request.clone(), assistant: candidate.name.clone() });
            rendered.examples.extend(own);
        }
        Ok(rendered)
    }
}

/// The skill of a reply, without the files.
fn skill_of(reply: &str) -> &str {
    reply.split_once(':').map_or(reply, |(skill, _)| skill)
}

fn line(candidate: &Candidate) -> String {
    let words: Vec<&str> = candidate.description.split_whitespace().collect();
    let words = words.join(" ");
    let sentence = words.split_once(". ").map_or(words.as_str(), |(first, _)| first);
    let cut: String = sentence.chars().take(LINE).collect();
    format!("- {}: {}", candidate.name, cut.trim_end_matches('.'))
}
