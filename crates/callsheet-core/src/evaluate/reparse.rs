//! Reparse (spec 11): a model is asked once to split an atomic task that ran out of turns, window or reply, or that
//! returned nothing. The answer is checked like a template file, may do no more than the failed task could, and
//! replaces it.

use globset::GlobBuilder;
use serde_json::Value;

use crate::nouns::{ToolSpec, tokens};
use crate::prompt::Note;
use crate::record::{Step, ToolPolicy};
use crate::run::{ChildSlot, NodeInstance};
use crate::template::{
    Bound, Command, Details, Effects, ErrorKind, FilePaths, FileSource, Filled, Node, OutputType, Piece, Reason,
    Resource, ReturnStatus, SchemaChoice, TaskError, TaskResult, Template, Trust, cut,
};

use super::graft::DEFAULT_TEMPLATE;
use super::{Evaluator, HandlerTask, details, failure};

/// How deep splits may nest.
const DEEP: usize = 2;
/// How many calls must be left: one for the split and two for its parts.
const CALLS: u32 = 3;
/// The maximum number of bytes of partial content that are shown.
const CONTENT: usize = 32_768;

/// A text about a failed task is not shortened below this many bytes.
const SHORT: usize = 80;

/// What happened to a split that was not run, or failed.
struct Try {
    error: Box<TaskError>,
}

impl Evaluator<'_> {
    /// Whether a model should split the failed task of a handler.
    pub(super) fn reparses(&self, op: &NodeInstance, node: &Node, error: &TaskError) -> bool {
        let fits = match &error.kind {
            ErrorKind::ResourceExhaustion { resource, .. } => {
                matches!(resource, Resource::Turns | Resource::Context | Resource::Output)
            }
            ErrorKind::InvalidOutput { .. } => true,
            _ => false,
        };
        let kept = |node: &Node| node.manual_xml || node.disable_reparsing;
        let switched_off = kept(node) || self.operators_above(op).any(kept) || !node.recovery.reparse;
        // The parts of a change would have no tool for writing.
        let whole = node.subtype == "associative_matching" || self.proposes_changes(op, node);
        let above = self.run.operators().ancestry(op).filter(|above| above.place == ChildSlot::Regrown).count();
        fits && !switched_off && !whole && above < DEEP && !self.run.is_spent(op) && self.calls_left(op) >= CALLS
    }

    /// Model calls that the task may still make by its own limit and those above it. A limit of the run does not end a
    /// task; the run just stops.
    fn calls_left(&self, op: &NodeInstance) -> u32 {
        let above = self.run.operators().ancestry(op).filter_map(|above| {
            let most = self.node(above)?.limits.max_calls?;
            Some(most.saturating_sub(self.run.spent(above).counted_calls()))
        });
        above.min().unwrap_or(u32::MAX)
    }

    pub(super) fn ask_for_split(&self, op: &NodeInstance, node: &Node, result: &TaskResult) -> Step {
        let Some(mut ask) = self.formats.split_request() else {
            return self.closed(op, result.clone());
        };
        ask.body.models.clone_from(&node.models);
        ask.body.providers.clone_from(&node.providers);
        Step::Reparse { result: self.keep(result), ask: Box::new(ask) }
    }

    /// The input for the handler of the split: the task, its error and its partial content.
    pub(super) fn failed_task(&self, op: &NodeInstance) -> [(String, Bound); 1] {
        [("failed_task".to_owned(), Bound::json(self.failed_words(op), Trust::Model))]
    }

    fn failed_words(&self, op: &NodeInstance) -> String {
        let told = self.told(op).unwrap_or_default();
        let first = self.first_result(op);
        let mut rows: Vec<(&str, String)> = Vec::new();
        let mut line = |name: &'static str, text: &str| {
            if !text.trim().is_empty() {
                rows.push((name, text.trim().to_owned()));
            }
        };
        line("description", &told.description);
        if told.instructions != told.description {
            line("instructions", &told.instructions);
        }
        line("expected_output", &told.expected_output);
        line("output_format", &form_words(&told));
        line("system", &told.system);
        for path in told.files.paths.iter().chain(&told.files.printed) {
            line("file", path);
        }
        for (name, value) in &told.inputs {
            line("input", &format!("{name} = {value}"));
        }
        if let Some(error) = &first.error {
            line("error", &error.message);
        }
        line("content", cut(&first.content, CONTENT).0);
        line("tools", &self.tools_of(op).join(", "));
        for template in self.callable(op) {
            let params = template.params.iter().flatten().map(|param| param.name.as_str());
            let inputs = template.body.inputs.iter().map(|input| input.name.as_str());
            let names: Vec<&str> = params.chain(inputs).collect();
            let description = super::open::one_line(&template.body.intent.description.to_string(), 200);
            line("template", &format!("{} ({}): {description}", template.name, names.join(", ")));
        }
        fit(&mut rows, self.room(op, &first));
        let rows: String = rows.iter().map(|(name, text)| row(name, text)).collect();
        format!("<failed_task>\n{rows}</failed_task>")
    }

    /// Tokens for the text about a failed task: half of what its prompt may have had, so that the question fits too. If
    /// a prompt did not fit although it was allowed, half of that again, because the limit was a guess.
    fn room(&self, op: &NodeInstance, first: &TaskResult) -> u64 {
        let Some(sizes) = self.leaf(op).map(|leaf| leaf.sizes) else { return u64::MAX };
        let is_overflow = first.error.as_deref().is_some_and(|error| {
            matches!(&error.kind, ErrorKind::ResourceExhaustion { resource: Resource::Context, .. })
        });
        let refused = Some(sizes.prompt).filter(|tokens| is_overflow && *tokens > 0);
        let known = [Some(sizes.prompt_limit).filter(|tokens| *tokens > 0), refused];
        known.into_iter().flatten().min().map_or(u64::MAX, |tokens| tokens / 2)
    }

    /// Templates that a split may call: none with more rights than the failed task, and not that task itself.
    fn callable(&self, op: &NodeInstance) -> Vec<&Template> {
        let (tools, writes) = (self.tools_of(op), self.may_write(op));
        let fits = |template: &&Template| {
            let mut refused = Vec::new();
            for called in self.reached(template).into_iter().chain([*template]) {
                self.check_narrow(&called.body, &tools, writes, false, &mut refused);
            }
            refused.is_empty()
        };
        let hidden = |template: &Template| {
            let own = template.name == op.template || template.name == DEFAULT_TEMPLATE;
            own || template.name.starts_with("skill:") || template.body.subtype == "associative_matching"
        };
        self.tree.templates.values().filter(|template| !hidden(template)).filter(fits).collect()
    }

    fn may_write(&self, op: &NodeInstance) -> bool {
        self.node(op).map(|node| node.effects(&|tool| self.writes(tool))) == Some(Effects::Write)
    }

    fn tools_of(&self, op: &NodeInstance) -> Vec<String> {
        let policy = self.leaf(op).and_then(|leaf| leaf.skill.as_ref());
        policy.map(|policy| policy.tools.clone()).unwrap_or_default()
    }

    fn first_result(&self, op: &NodeInstance) -> TaskResult {
        let first = op.reparse.as_ref().and_then(|reparse| self.value::<TaskResult>(&reparse.first));
        first.unwrap_or_default()
    }

    /// Reads the answer to the split: the split runs, or the task returns with its first error.
    pub(super) fn judge_split(&self, op: &NodeInstance) -> Step {
        let split =
            self.run.operators().child(op, ChildSlot::Split).map(|split| self.result(split)).unwrap_or_default();
        if let Some(error) = split.failed() {
            return self.first_error(op, &Try { error });
        }
        match self.checked_split(op, &split.content) {
            Ok(template) => Step::Regrown { called: Box::new(template) },
            Err(violations) => {
                let message = violations.first().cloned().unwrap_or_default();
                let details = Details { violations: Some(violations), ..Details::default() };
                let error = Box::new(failure::failure(Reason::XmlValidationFailure, message, details));
                self.first_error(op, &Try { error })
            }
        }
    }

    /// The result of the replacement, checked against the failed task's declaration (spec 7.6).
    pub(super) fn close_regrown(&self, op: &NodeInstance) -> Step {
        let grown = self.run.operators().child(op, ChildSlot::Regrown).map(|grown| self.result(grown));
        let mut result = grown.map(|grown| (*grown).clone()).unwrap_or_default();
        match result.failed() {
            Some(error) => self.first_error(op, &Try { error }),
            None => {
                result.notes.other.insert("reparsed".to_owned(), Value::Bool(true));
                let Some(node) = self.node(op) else { return self.closed(op, result) };
                let mut held = self.held(node, result).located(&node.origin, op.id.as_str());
                if let Some(details) = held.error.as_deref_mut().and_then(details::of) {
                    let first = serde_json::to_value(self.first_result(op).error).unwrap_or_default();
                    details.get_or_insert_default().recovery_attempts.get_or_insert_default().push(first);
                }
                self.closed(op, held)
            }
        }
    }

    fn first_error(&self, op: &NodeInstance, tried: &Try) -> Step {
        let mut first = self.first_result(op);
        if let Some(error) = &mut first.error {
            let tried = serde_json::json!({ "reparse": tried.error });
            if let ErrorKind::ResourceExhaustion { details, .. }
            | ErrorKind::InvalidOutput { details, .. }
            | ErrorKind::TaskFailure { details, .. } = &mut error.kind
            {
                details.get_or_insert_default().recovery_attempts.get_or_insert_default().push(tried);
            }
        }
        first.status = ReturnStatus::Failed;
        self.closed(op, first)
    }

    /// The tree of an answer, checked in full (spec 3, 11).
    fn checked_split(&self, op: &NodeInstance, reply: &str) -> Result<Template, Vec<String>> {
        let tools = self.run.tools().map(|(name, policy)| known_tool(name, policy)).collect();
        let read = self.formats.split(reply, &self.free_name(), self.tree, tools);
        let read = read.ok_or_else(|| vec![Note::ReparseNoXml.text().to_owned()])?;
        let mut refused = read.faults;
        let is_read = refused.is_empty();
        refused.extend(read.beside.iter().map(|name| Note::ReparseSecond.fill(&[("name", name)])));
        let Some(mut template) = read.template else { return Err(refused) };
        let (tools, writes) = (self.tools_of(op), self.may_write(op));
        let told = self.told(op).unwrap_or_default();
        let files = self.node(op).and_then(|node| node.refs.as_ref()).map(|refs| filled(refs, &told));
        narrow(&mut template.body, &tools, &told.system, files.as_ref());
        self.check_narrow(&template.body, &tools, writes, true, &mut refused);
        refused.extend(wider_reading(&template.body, &tools, &told, &self.shown_files(op)));
        for called in self.reached(&template) {
            self.check_narrow(&called.body, &tools, writes, false, &mut refused);
        }
        let scope = self.own_scope(op);
        let missing = self.missing_before_run(&template, &scope);
        // Parameters without an argument are already reported (T031).
        let missing = missing.iter().filter(|missing| is_read || missing.field != "params");
        refused.extend(missing.map(|missing| Note::ReparseUnknown.fill(&[("name", &missing.name)])));
        if refused.is_empty() { Ok(template) } else { Err(refused) }
    }

    fn free_name(&self) -> String {
        let numbered = (1_u32..).map(|number| format!("regrown-{number}"));
        numbered.into_iter().find(|name| !self.tree.templates.contains_key(name)).unwrap_or_default()
    }

    /// Templates that a tree calls, directly or indirectly.
    pub(super) fn reached(&self, template: &Template) -> Vec<&Template> {
        let mut found: Vec<&Template> = Vec::new();
        let called = |node: &Node| node.template.clone();
        let mut open: Vec<String> = template.body.walk().into_iter().filter_map(called).collect();
        while let Some(name) = open.pop() {
            let Some(next) = self.template(&name) else { continue };
            if found.iter().all(|known| known.name != next.name) {
                open.extend(next.body.walk().into_iter().filter_map(called));
                found.push(next);
            }
        }
        found
    }

    /// Reports operators, effects and tools with more rights than the failed task. `own` means the answer itself, not
    /// what it calls.
    fn check_narrow(&self, body: &Node, tools: &[String], writes: bool, own: bool, refused: &mut Vec<String>) {
        for node in body.walk() {
            let word = node.kind.word();
            let runs = node.kind.operator().script().is_some();
            if (own && !node.kind.facts().splits) || runs {
                refused.push(Note::ReparseOperator.fill(&[("operator", word)]));
            }
            if !writes && node.effects(&|tool| self.writes(tool)) == Effects::Write {
                refused.push(Note::ReparseWrites.fill(&[("operator", word)]));
            }
            if node.kind.is_atomic() {
                let wanted = node.tools.clone().unwrap_or_else(|| self.default_tools(node));
                let wider = wanted.into_iter().filter(|tool| !tools.contains(tool));
                refused.extend(wider.map(|tool| Note::ReparseTool.fill(&[("tool", &tool)])));
            }
        }
    }
}

/// A tool as the log knows it.
fn known_tool(name: &str, policy: ToolPolicy) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: Value::Null,
        effect: policy.effect,
        repeat: policy.repeat,
        exclusive: policy.exclusive,
        named_only: policy.named_only,
        aliases: Vec::new(),
        granted_as: None,
    }
}

/// The tool with which a task reads any files.
pub const READ_FILE: &str = "read_file";

/// What a split would make the host read that the failed task could not read. A task can read files if it has the tool
/// for it, lists them or was shown them. Counts results of a command or a lookup, and sources of a skill.
fn wider_reading(body: &Node, tools: &[String], told: &HandlerTask, shown: &[String]) -> Vec<String> {
    if tools.iter().any(|tool| tool == READ_FILE) {
        return Vec::new();
    }
    let has = |path: &Filled| {
        // What a placeholder will name is not known yet.
        let path = match path.pieces() {
            [Piece::Literal(path)] => path.clone(),
            _ => return false,
        };
        let was_shown = || plain(&path).is_some_and(|path| shown.contains(&path));
        told.files.paths.iter().any(|own| covers(own, &path)) || was_shown()
    };
    let mut wider = Vec::new();
    for node in body.walk() {
        if let Some(refs) = &node.refs
            && (refs.source != FileSource::Literal || !refs.paths.iter().all(has))
            && *refs != filled(refs, told)
        {
            wider.push("file_paths".to_owned());
        }
        wider.extend(node.template.clone().filter(|name| name.starts_with("skill:")));
    }
    wider.into_iter().map(|tool| Note::ReparseTool.fill(&[("tool", &tool)])).collect()
}

/// Characters that make a path of `file_paths` a pattern. Without them, it is the name of a file.
const PATTERN: [char; 2] = ['*', '?'];

/// Whether a path or glob of the failed task includes `path`, because a part may read some of its files.
fn covers(own: &str, path: &str) -> bool {
    let Some(plain_path) = plain(path) else { return own == path };
    if !own.contains(PATTERN) {
        return own == path || plain(own) == Some(plain_path);
    }
    let glob = own.trim_start_matches("./").trim_start_matches('/');
    let glob = GlobBuilder::new(glob).literal_separator(true).build();
    glob.is_ok_and(|glob| glob.compile_matcher().is_match(plain_path))
}

/// The normal form of a file name: `./d//a` is `d/a`. `None` for a pattern, a directory, or a path that may lead out.
fn plain(path: &str) -> Option<String> {
    let is_file = !path.contains(PATTERN) && !path.starts_with('/') && !path.ends_with('/');
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (is_file && !parts.is_empty() && !parts.contains(&"..")).then(|| parts.join("/"))
}

/// Fills in tools, system text and files of the failed task where the split names none. Files that an operator names
/// apply to everything below it.
fn narrow(node: &mut Node, tools: &[String], system: &str, files: Option<&FilePaths>) {
    let files = files.filter(|_| node.refs.is_none());
    if node.kind.is_atomic() {
        node.tools.get_or_insert_with(|| tools.to_vec());
        if node.system.is_empty() {
            node.system = Filled::literal(system);
        }
        if let Some(files) = files {
            node.refs = Some(files.clone());
        }
    }
    for child in node.children_mut() {
        narrow(child, tools, system, files);
    }
}

/// The `file_paths` of the failed task with its values filled in, because what a split binds may hide its names.
fn filled(refs: &FilePaths, told: &HandlerTask) -> FilePaths {
    let literal = |texts: &[String]| texts.iter().map(|text| Filled::literal(text)).collect::<Vec<_>>();
    let (paths, words) = (literal(&told.files.paths), literal(&told.files.command));
    let query = Filled::literal(&told.files.query);
    FilePaths { paths, command: Command { words }, query, ..refs.clone() }
}

/// The declared form of an output, as an author would write it.
fn form_words(told: &HandlerTask) -> String {
    let Some(output) = told.output.as_ref().filter(|output| output.form == OutputType::Json) else {
        return String::new();
    };
    let schema = match (&told.schema, &output.schema) {
        (Some(schema), _) => schema.to_string(),
        (None, Some(SchemaChoice::Type(kind))) => kind.as_str().to_owned(),
        _ => String::new(),
    };
    format!("json {schema}")
}

/// One line about a failed task.
fn row(name: &str, text: &str) -> String {
    format!("<{name}>{}</{name}>\n", escaped(text))
}

/// Shortens the longest texts until all have at most `room` tokens together; then leaves out short ones from the end.
fn fit(rows: &mut Vec<(&str, String)>, room: u64) {
    loop {
        let used: u64 = rows.iter().map(|(name, text)| u64::from(tokens(&row(name, text)))).sum();
        let over = usize::try_from(used.saturating_sub(room)).unwrap_or(usize::MAX);
        let longest = rows.iter_mut().max_by_key(|(_, text)| text.len());
        let Some((_, text)) = longest.filter(|_| over > 0) else { return };
        if text.len() <= SHORT {
            rows.pop();
            continue;
        }
        // A token has four bytes or fewer.
        let most = text.len().saturating_sub(over.saturating_mul(4)).max(text.len() / 2);
        *text = cut(text, most).0.to_owned();
    }
}

/// Escapes text for use between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
