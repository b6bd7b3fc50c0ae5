//! What a task is told about its surroundings (spec 5): the frame of its parent by its own settings, accumulated
//! outputs, inputs; and all of it combined as the payload of a handler.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file_index::FileMatch;
use crate::nouns::TokenCount;
use crate::record::Plan;
use crate::run::{ChildSlot, NodeInstance};
use crate::template::{
    Environment, FileSource, InheritContext, Missing, Node, OutputFormat, SchemaChoice, Trust, resolve_task,
    resolve_text,
};

use super::known_files::listed;
use super::{Entry, Evaluator, FileRequest};

/// A part of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// A text with its title.
    Text {
        /// Title.
        title: String,
        /// Content.
        text: String,
    },
    /// A file by its path.
    File(String),
    /// What an operator above looked up for everything below it.
    Looked {
        /// The text that memory returned.
        context: String,
        /// Files.
        matches: Vec<FileMatch>,
    },
}

/// An atomic task without open placeholders: everything that its handler is told. Recorded before the first call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandlerTask {
    /// Statement.
    pub description: String,
    /// What to do.
    pub instructions: String,
    /// Added to the base prompt.
    pub system: String,
    /// What a good result looks like.
    pub expected_output: String,
    /// How the result is judged. Given to evaluators.
    pub criteria: String,
    /// Declared form of the output.
    pub output: Option<OutputFormat>,
    /// The JSON Schema of that form, if it is one.
    pub schema: Option<Value>,
    /// Texts of the parent's frame.
    pub inherited: Vec<Item>,
    /// Outputs of earlier children.
    pub earlier: Vec<Entry>,
    /// Number of entries that were left out because of their size.
    pub dropped_entries: usize,
    /// Inputs with their values as text.
    pub inputs: Vec<(String, String)>,
    /// Files.
    pub files: FileRequest,
    /// The text that memory returned, besides the fresh files.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub related: String,
    /// Warnings of the lookups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether its reply is kept unchanged.
    pub manual_xml: bool,
    /// Whether its reply contains changes of files, in the form of a task of a sheet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub writes: bool,
}

impl HandlerTask {
    /// The maximum number of tokens of a call without its reply: its texts by estimate, and its files at their
    /// largest.
    pub fn most_tokens(&self) -> u64 {
        self.tokens().saturating_add(self.files.most_tokens())
    }

    /// Estimated tokens of its texts, without files.
    pub fn tokens(&self) -> u64 {
        let mut count = TokenCount::default();
        for text in [&self.description, &self.instructions, &self.system, &self.expected_output, &self.criteria] {
            count.add(text);
        }
        for (name, value) in &self.inputs {
            count.add(name);
            count.add(value);
        }
        for item in &self.inherited {
            if let Item::Text { text, .. } = item {
                count.add(text);
            }
        }
        for entry in &self.earlier {
            count.add(entry.content.as_deref().unwrap_or_default());
        }
        u64::from(count.tokens())
    }
}

impl Evaluator<'_> {
    pub(super) fn handler_task(
        &self,
        op: &NodeInstance,
        node: &Node,
        own: &Environment,
    ) -> Result<HandlerTask, Vec<Missing>> {
        let resolved = resolve_task(node, own, op.id.as_str())?;
        let text = |filled: &crate::template::Resolved| filled.as_str().to_owned();
        let found = self.found(op);
        let mut frame = self.inherited(op, node);
        frame.related.extend(found.related);
        let related = frame.context.into_iter().chain([found.context]).filter(|text| !text.is_empty());
        let (earlier, dropped_entries) = self.told_entries(op);
        let inputs = node.inputs.iter().filter_map(|input| {
            let bound = own.name(&input.name)?;
            (!bound.value().is_null()).then(|| (input.name.clone(), bound.text()))
        });
        let split = |path: &crate::template::Resolved| listed(path.as_str(), self.formats);
        let mut paths: Vec<String> = resolved.paths.iter().flat_map(split).collect();
        let known = resolved.paths.iter().filter(|path| path.trust() <= Trust::Caller);
        let required = known.flat_map(split).filter(|_| !self.writes_files()).collect();
        let asked = self.asked_files(op);
        let explicit = asked.is_some() || (!self.is_spawned(op) && !self.tree.files.is_empty() && node.refs.is_some());
        if explicit && asked.is_none() {
            paths.clone_from(&self.tree.files);
        }
        let given = |path: &String| self.tree.files.contains(path) || self.tree.named.contains(path);
        let (given, of_operators): (Vec<String>, Vec<String>) = frame.files.into_iter().partition(given);
        let added = self.added_files(op);
        // A path that only an evaluation asks for does not belong to the template.
        let explicit = explicit || (paths.is_empty() && of_operators.is_empty() && !added.is_empty());
        paths.extend(of_operators);
        paths.extend(added);
        let source = node.refs.as_ref().map(|refs| refs.source);
        let command = node.refs.as_ref().filter(|_| source == Some(FileSource::Command));
        let described = matches!(source, Some(FileSource::Description | FileSource::ContextDescription));
        let output = node.output.clone();
        let judged = matches!(node.subtype.as_str(), "evaluator") || self.is_evaluator(op);
        Ok(HandlerTask {
            schema: output.as_ref().and_then(|output| self.declared_schema(output)),
            output,
            description: text(&resolved.description),
            instructions: text(&resolved.instructions),
            system: text(&resolved.system),
            expected_output: text(&resolved.expected_output),
            criteria: if judged { self.criteria(op, text(&resolved.criteria)) } else { String::new() },
            inherited: frame.texts,
            earlier,
            dropped_entries,
            inputs: inputs.collect(),
            files: FileRequest {
                paths,
                required,
                explicit,
                command: command.map(|refs| self.words(&refs.command, own)).unwrap_or_default(),
                query: if described { text(&resolved.query) } else { String::new() },
                inherited: given,
                printed: found.command,
                command_error: found.command_error,
                described: found.described,
                related: frame.related,
            },
            related: related.collect::<Vec<_>>().join("\n\n"),
            warnings: self.lookup_warnings(op, node),
            manual_xml: node.manual_xml,
            writes: self.proposes_changes(op, node),
        })
    }

    /// Whether the task is a called skill whose only tool writes files. Its replies then contain the changes, as in a
    /// sheet (spec 16). If only reading is allowed, it makes no changes.
    pub(super) fn proposes_changes(&self, op: &NodeInstance, node: &Node) -> bool {
        let writes = |tools: &Vec<String>| matches!(tools.as_slice(), [only] if self.run.policy(only).stages_changes());
        op.template.starts_with("skill:") && node.tools.as_ref().is_some_and(writes) && !self.only_reads(op)
    }

    /// Whether it is the evaluator of a loop, or runs in a call that replaces the evaluator.
    fn is_evaluator(&self, op: &NodeInstance) -> bool {
        let around = || self.parent(op).is_some_and(|above| self.is_evaluator(above));
        self.judged(op).is_some() || matches!(op.place, ChildSlot::Body | ChildSlot::Branch { .. }) && around()
    }

    /// The loop that contains it, and the part of the loop that it judges.
    fn judged<'o>(&'o self, op: &NodeInstance) -> Option<(&'o NodeInstance, ChildSlot)> {
        let above = self.parent(op)?;
        Some((above, self.node(above)?.kind.operator().judged(op.place)?))
    }

    /// Files that the last evaluation of a loop adds for its director (spec 8).
    fn added_files(&self, op: &NodeInstance) -> Vec<String> {
        let Some(above) = self.parent(op) else { return Vec::new() };
        let Some(known) = self.known(above) else { return Vec::new() };
        match op.place {
            ChildSlot::Body | ChildSlot::Branch { .. } if known.node.kind.facts().transparent => {
                self.added_files(above)
            }
            place => known.node.kind.operator().wanted_files(&known, place),
        }
    }

    /// The `file_paths` of an operator with children. They are in the frame of the children (spec 5).
    fn own_files(&self, op: &NodeInstance, node: &Node) -> Vec<String> {
        let Some(refs) = node.refs.as_ref().filter(|_| !node.kind.is_atomic()) else { return Vec::new() };
        if !self.is_spawned(op) && !self.tree.files.is_empty() {
            return self.tree.files.clone();
        }
        let own = self.own_scope(op);
        let mut files = Vec::new();
        for path in &refs.paths {
            let mut missing = Vec::new();
            let path = resolve_text(path, &own, "file_paths", &node.origin, op.id.as_str(), &mut missing);
            if missing.is_empty() {
                files.extend(listed(path.as_str(), self.formats));
            }
        }
        let found = self.found(op);
        files.extend(found.command);
        files.extend(found.described.into_iter().map(|one| one.0));
        files
    }

    /// How a result is judged: by the evaluator's own criteria, those of the loop and those of its director (spec 2.3).
    fn criteria(&self, op: &NodeInstance, own: String) -> String {
        let mut all = vec![own];
        let mut above = self.run.operators().ancestry(op);
        if let Some((whole, judged)) = above.find_map(|part| self.judged(part)) {
            let judged = self.run.operators().child(whole, judged);
            all.extend([Some(whole), judged].into_iter().flatten().map(|op| self.own_criteria(op)));
        }
        let mut seen = Vec::new();
        all.retain(|text| {
            let text = text.trim().to_owned();
            let new = !text.is_empty() && !seen.contains(&text);
            seen.push(text);
            new
        });
        all.join("\n\n")
    }

    /// The criteria of a task, or of what runs in a call in its place.
    fn own_criteria(&self, op: &NodeInstance) -> String {
        let Some(node) = self.node(op) else { return String::new() };
        if node.kind.facts().transparent {
            let inner = self.children(op).into_iter().find(|child| !child.place.is_nested());
            return inner.map(|inner| self.own_criteria(inner)).unwrap_or_default();
        }
        let own = self.own_scope(op);
        resolve_text(&node.intent.criteria, &own, "criteria", &node.origin, op.id.as_str(), &mut Vec::new())
            .as_str()
            .to_owned()
    }

    /// Paths that the request for a subtask gives to its body. They count as a separate explicit request.
    fn asked_files(&self, op: &NodeInstance) -> Option<()> {
        let above = self.parent(op).filter(|above| above.place.is_subtask() && op.place == ChildSlot::Body)?;
        let (read, _) = self.request_of(above)?;
        read.request?.file_paths.filter(|paths| !paths.is_empty()).map(drop)
    }

    /// Whether it belongs to a subtask, for which the paths given with the run are not meant.
    pub(super) fn is_spawned(&self, op: &NodeInstance) -> bool {
        op.depth > 0
    }

    fn words(&self, command: &crate::template::Command, own: &Environment) -> Vec<String> {
        let origin = crate::template::Origin::default();
        let resolved = crate::template::resolve_command(command, own, &origin, "").unwrap_or_default();
        resolved.iter().map(|word| word.as_str().to_owned()).collect()
    }

    pub(super) fn declared_schema(&self, output: &OutputFormat) -> Option<Value> {
        match output.schema.as_ref()? {
            SchemaChoice::Inline(schema) => Some(schema.clone()),
            SchemaChoice::Named(name) => serde_json::from_str(&self.schema(name)?).ok(),
            SchemaChoice::Type(_) => None,
        }
    }

    /// What a task takes from its parent's frame.
    fn inherited(&self, op: &NodeInstance, node: &Node) -> Frame {
        let mut frame = Frame::default();
        for item in self.taken(op, node) {
            match item {
                Item::File(path) => frame.files.push(path),
                Item::Looked { context, matches } => {
                    frame.context.push(context);
                    frame.related.extend(matches);
                }
                text @ Item::Text { .. } => frame.texts.push(text),
            }
        }
        frame
    }

    fn taken(&self, op: &NodeInstance, node: &Node) -> Vec<Item> {
        match node.context.settings.inherit_context {
            InheritContext::None => Vec::new(),
            InheritContext::Full => self.offered(op),
            // If there are `file_paths`, they are the subset (spec 5).
            InheritContext::Subset if node.refs.is_some() => Vec::new(),
            InheritContext::Subset => {
                let chosen = self.found(op).items;
                let offered = self.offered(op).into_iter().enumerate();
                offered.filter(|(index, _)| chosen.contains(index)).map(|(_, item)| item).collect()
            }
        }
    }

    /// The frame that surrounds a task. `call` and `cond` are transparent.
    pub(super) fn offered(&self, op: &NodeInstance) -> Vec<Item> {
        let Some(above) = self.parent(op) else {
            let text = Some(&self.tree.text).filter(|text| !text.is_empty());
            let text = text.map(|text| Item::Text { title: "input".to_owned(), text: text.clone() });
            let files = self.tree.files.iter().chain(&self.tree.named);
            return text.into_iter().chain(files.cloned().map(Item::File)).collect();
        };
        match self.node(above) {
            Some(node) if !node.kind.facts().transparent => {
                let mut frame = self.taken(above, node);
                frame.extend(self.own_files(above, node).into_iter().map(Item::File));
                frame.extend(self.added_files(above).into_iter().map(Item::File));
                let found = self.found(above);
                if !(found.related.is_empty() && found.context.is_empty()) {
                    frame.push(Item::Looked { context: found.context, matches: found.related });
                }
                frame
            }
            _ => self.offered(above),
        }
    }

    /// What a handler was told, as recorded.
    pub(super) fn told(&self, op: &NodeInstance) -> Option<HandlerTask> {
        match &op.opened.as_ref()?.plan {
            Plan::Handler(plan) => self.value(&plan.task),
            _ => None,
        }
    }
}

/// The parts of a frame by kind.
#[derive(Default)]
struct Frame {
    texts: Vec<Item>,
    files: Vec<String>,
    context: Vec<String>,
    related: Vec<FileMatch>,
}
