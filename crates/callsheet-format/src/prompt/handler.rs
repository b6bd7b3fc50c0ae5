//! The prompt of an atomic task of a template (spec "Templates" 5, messages).

use callsheet_core::prompt::{Note, PromptError};

use super::fragment::Fill;
use super::prompts::rendered;
use super::{PromptKey, Rendered, Templates};

/// Separates the parts of the system text.
const JOINT: &str = "===";

/// Everything that a handler is told, resolved. Empty parts are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandlerPrompt {
    /// The template's text for the system part.
    pub system: String,
    /// How to call tools, if the provider has no tool calling.
    pub tools: String,
    /// Blocks of files.
    pub files: String,
    /// Texts of the parent's frame, with their titles.
    pub inherited: Vec<(String, String)>,
    /// Outputs of earlier tasks, one per line or block.
    pub earlier: String,
    /// Material that was looked up. It is in a fence.
    pub related: String,
    /// Inputs with their values.
    pub inputs: Vec<(String, String)>,
    /// The task.
    pub task: String,
    /// What a good result looks like.
    pub expected: String,
    /// The declared form of the output.
    pub output_format: String,
    /// The error of the previous attempt.
    pub issues: String,
}

impl HandlerPrompt {
    /// System and user text.
    ///
    /// # Errors
    /// If the template is broken.
    pub fn render(&self, templates: &Templates) -> Result<Rendered, PromptError> {
        let mut fill = Fill::new(PromptKey::Handler);
        let system: Vec<&str> = [self.system.trim(), self.tools.trim()].into_iter().filter(|t| !t.is_empty()).collect();
        fill.plain("system", &joined(&system.join("\n\n")));
        fill.plain("files", &joined(self.files.trim_end()));
        let quoted = |pairs: &[(String, String)]| {
            let blocks = pairs
                .iter()
                .map(|(name, text)| format!("### {name}\n\n{}", callsheet_core::fence::fence("text", text)));
            blocks.map(|block| block.trim_end().to_owned()).collect::<Vec<_>>().join("\n\n")
        };
        fill.titled("inherited_context", "Inherited context", &quoted(&self.inherited));
        fill.titled("previous_outputs", "Previous outputs", &self.earlier);
        let related =
            if self.related.is_empty() { String::new() } else { callsheet_core::fence::fence("text", &self.related) };
        fill.titled("related_material", "Related material", related.trim_end());
        fill.titled("inputs", "Inputs", &quoted(&self.inputs));
        fill.titled("task", "Task", &self.task);
        fill.titled("expected_output", "Expected output", &self.expected);
        fill.titled("output_format", "Output format", &self.output_format);
        fill.issues("issues", Note::IssuesReply, &self.issues);
        rendered(templates, PromptKey::Handler, fill)
    }
}

fn joined(part: &str) -> String {
    if part.is_empty() { String::new() } else { format!("{JOINT}\n\n{part}") }
}
