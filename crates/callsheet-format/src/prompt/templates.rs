//! The texts of all templates and their sources. A template is parsed when it is used, so a broken file that a run
//! never needs does not stop the run (spec 8.1).

use std::collections::BTreeMap;

use callsheet_core::nouns::BlobId;
use callsheet_core::prompt::{PromptError, Value, Values};

use super::PromptKey;
use super::key::FORM_SLOT;
use super::template::{Rendered, Template};

/// The line before a user part (spec 8.2).
pub const USER_PART: &str = "<!-- callsheet:user -->";
/// The line before the reply of an example turn (spec 8.2).
pub const ASSISTANT_PART: &str = "<!-- callsheet:assistant -->";

/// Where a template came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSource {
    /// Path as shown to a person. `bundled` for a bundled template.
    pub path: String,
    /// The text, or why it could not be read.
    pub text: Result<String, String>,
}

/// One text per key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates {
    sources: BTreeMap<PromptKey, TemplateSource>,
    /// Whether to omit the block that shows the form of a reply.
    held: bool,
}

impl Default for Templates {
    fn default() -> Self {
        Self::bundled()
    }
}

impl Templates {
    /// The shipped templates.
    pub fn bundled() -> Self {
        let sources = PromptKey::ALL.iter().map(|key| {
            let text = Ok(Self::bundled_text(*key).to_owned());
            (*key, TemplateSource { path: "bundled".to_owned(), text })
        });
        Self { sources: sources.collect(), held: false }
    }

    /// The bundled text of a template, for ejecting it.
    pub fn bundled_text(key: PromptKey) -> &'static str {
        match key {
            PromptKey::Plan => include_str!("../../prompts/task_creation_initial.md"),
            PromptKey::Refinement => include_str!("../../prompts/task_refinement.md"),
            PromptKey::Direct => include_str!("../../prompts/task_direct.md"),
            PromptKey::DirectWrite => include_str!("../../prompts/task_direct_write.md"),
            PromptKey::Document => include_str!("../../prompts/task_document.md"),
            PromptKey::Route => include_str!("../../prompts/task_route.md"),
            PromptKey::Execution => include_str!("../../prompts/task_execution.md"),
            PromptKey::ExecutionWrite => include_str!("../../prompts/task_execution_write.md"),
            PromptKey::Handler => include_str!("../../prompts/task_handler.md"),
            PromptKey::Join => include_str!("../../prompts/task_join.md"),
            PromptKey::ExecutionLoop => include_str!("../../prompts/task_execution_loop.md"),
            PromptKey::Merge => include_str!("../../prompts/task_post_exec.md"),
            PromptKey::Iteration => include_str!("../../prompts/task_list_iteration.md"),
            PromptKey::Continuation => include_str!("../../prompts/task_list_continue.md"),
        }
    }

    /// Replaces the text of a template.
    pub fn replace(&mut self, key: PromptKey, source: TemplateSource) {
        self.sources.insert(key, source);
    }

    /// Where the template of a key came from.
    pub fn source(&self, key: PromptKey) -> Option<&TemplateSource> {
        self.sources.get(&key)
    }

    /// The template of a key, parsed and checked.
    ///
    /// # Errors
    /// As `Template::parse`, and if the file could not be read.
    pub fn get(&self, key: PromptKey) -> Result<Template, PromptError> {
        let source = self.sources.get(&key).ok_or_else(|| PromptError::UnknownKey {
            key: key.to_string(),
            known: self.sources.keys().map(|key| key.as_str()).collect::<Vec<_>>().join(", "),
        })?;
        match &source.text {
            Ok(text) => Template::parse(key, &source.path, text),
            Err(reason) => Err(PromptError::Unreadable {
                template: key.to_string(),
                source_path: source.path.clone(),
                reason: reason.clone(),
            }),
        }
    }

    /// The template for a key that is given as text (spec 8.6).
    ///
    /// # Errors
    /// If there is no such key, and as `get`.
    pub fn named(&self, key: &str) -> Result<Template, PromptError> {
        self.get(key.parse()?)
    }

    /// Fills the template of a key.
    ///
    /// # Errors
    /// As `get` and `Template::render`.
    pub fn render(&self, key: PromptKey, mut values: Values) -> Result<Rendered, PromptError> {
        values.insert(FORM_SLOT, if self.held { Value::Text(String::new()) } else { Value::Default });
        self.get(key)?.render(&values)
    }

    /// The templates for a call whose reply has an enforced form. The prompt then need not show the form, whose blanks
    /// a model would copy.
    pub fn held(&self) -> Self {
        Self { held: true, ..self.clone() }
    }

    /// Hash of a template's text, to record when it is used (spec 8.1).
    pub fn hash(&self, key: PromptKey) -> Option<BlobId> {
        let text = self.sources.get(&key)?.text.as_ref().ok()?;
        Some(BlobId::of(text.as_bytes()))
    }

    /// Every broken template. Empty if all can be used.
    pub fn check(&self) -> Vec<PromptError> {
        PromptKey::ALL.iter().filter_map(|key| self.get(*key).err()).collect()
    }
}
