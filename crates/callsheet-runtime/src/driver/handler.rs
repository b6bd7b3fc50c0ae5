//! Handlers of templates (spec "Templates" 1): what one is told becomes a prompt, its files are read when the call is
//! made, and a turn is read as calls or as its result.

use std::collections::BTreeSet;

use callsheet_core::evaluate::{Entry, FILE_TOKENS, FILES_TOKENS, HandlerTask, Item};
use callsheet_core::fence::fence;
use callsheet_core::issue::Severity;
use callsheet_core::memory::FileMatch;
use callsheet_core::prompt::Note;
use callsheet_core::record::{Event, Plan, RepeatPolicy, ResultParts};
use callsheet_core::run::{Asked, Run, SPAWN_SUBTASK, TaskOp, TaskRun};
use callsheet_core::spec::{Reference, Target, ToolSpec};
use callsheet_core::template::{DataSource, DataSourceKind, OutputType, SchemaChoice, Template};
use callsheet_format::prompt::HandlerPrompt;
use callsheet_format::reading::{Answer, Lookup, ReadContext};
use callsheet_format::reply::LoopTurn;
use callsheet_format::reply::task::{TurnInput, read_loop_turn};
use callsheet_format::template::{Said, read_turn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::paths::printable;
use crate::ports::ModelReply;
use crate::references::{Allowance, Resolved, Wanted, answer};
use crate::skills::reader_skill;

use super::{DriveFault, World, known};

/// Window of a model that does not tell (spec 9).
pub(super) const UNKNOWN_WINDOW: u32 = 8_192;
/// Where files come from, the strongest first (spec 5).
const STRENGTH: [&str; 4] = ["explicit_request", "template_literal", "template_command", "automatic_lookup"];
/// Characters that make a path a pattern.
pub(super) const PATTERN: [char; 2] = ['*', '?'];

/// A handler's call, as far as it is known before its files are read.
pub(super) struct Told {
    pub prompt: HandlerPrompt,
    pub wanted: Vec<Wanted>,
    pub fraction: Option<f64>,
    pub sources: Sources,
    /// JSON Schema of the declared output.
    pub declared: Option<Value>,
}

/// Where the files of a prompt come from, for the notes of the result.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    /// Words of spec 5 with the paths that stand for each, the strongest first.
    given: Vec<(&'static str, BTreeSet<String>)>,
    /// The command that names files failed.
    command_failed: bool,
    /// What gave the first file.
    pub word: &'static str,
    pub warnings: Vec<String>,
}

/// The task of the tree that a leaf belongs to, with what its handler is told.
fn op_of<'a>(run: &'a Run, task: &TaskRun) -> Result<&'a TaskOp, DriveFault> {
    let op = run.operators().of_leaf(&task.task.slug);
    op.ok_or_else(|| DriveFault::defect("a handler without a task of the tree"))
}

/// What a handler is told, as recorded.
fn handler_task(world: &World, run: &Run, task: &TaskRun) -> Result<HandlerTask, DriveFault> {
    let Some(Plan::Handler(plan)) = op_of(run, task)?.opened.as_ref().map(|opened| &opened.plan) else {
        return Err(DriveFault::defect("a handler that was never opened"));
    };
    serde_json::from_slice(&world.store.blob(&plan.task)?).map_err(DriveFault::defect)
}

pub(super) fn told(world: &World, run: &Run, task: &TaskRun, text_tools: &[ToolSpec]) -> Result<Told, DriveFault> {
    let op = op_of(run, task)?;
    let told = handler_task(world, run, task)?;
    let issues = match &op.issues {
        Some(blob) => world.text(blob)?,
        None => String::new(),
    };
    let (wanted, sources) = files(world, &told);
    let tools = if text_tools.is_empty() {
        String::new()
    } else {
        let instructions = callsheet_format::prompt::tool_instructions(text_tools);
        Note::LoopTextTools.fill(&[("tools", &instructions)])
    };
    let declared = declared(&told);
    // Not recorded with what it is told: it may have been changed since.
    let node = run.operators().node(op);
    let fraction = node.and_then(|node| node.limits.max_context_fraction);
    Ok(Told { prompt: prompt(&told, tools, issues), wanted, fraction, sources, declared })
}

/// Templates that a request for a subtask is told of, and characters of the description of each.
const LISTED: usize = 40;
const LINE: usize = 200;

/// The tools that a handler is offered. The one that asks for subtasks lists the templates that may be named (spec
/// "Templates" 12).
pub(super) fn offered(world: &World, run: &Run, task: &TaskRun) -> Vec<ToolSpec> {
    let tools = task.skill.as_ref().map(|skill| skill.tools.as_slice()).unwrap_or_default();
    let mut offered = world.offered_tools(tools);
    let Some(spec) = offered.iter_mut().find(|tool| tool.name == SPAWN_SUBTASK) else { return offered };
    let named = |template: &&Template| {
        let of_others = matches!(template.body.subtype.as_str(), "director" | "evaluator" | "associative_matching");
        !of_others && !template.name.contains(':') && template.name != "default_atomic"
    };
    let tree = run.operators().of_leaf(&task.task.slug).and_then(|op| run.operators().tree_of(op));
    let templates = tree.into_iter().flat_map(|tree| tree.templates.values()).filter(named);
    let lines: Vec<String> = templates.take(LISTED).map(template_line).collect();
    if !lines.is_empty() {
        let listed = Note::SubtaskTemplates.fill(&[("templates", &lines.join("\n"))]);
        spec.description = format!("{}\n\n{}", spec.description.trim_end(), listed.trim_end());
    }
    offered
}

/// A template as a model may name it; no open placeholder reaches it.
fn template_line(template: &Template) -> String {
    let taken = template.takes();
    let takes = taken.iter().map(|input| format!("{}{}", input.name, if input.required { "" } else { "?" }));
    let takes = takes.collect::<Vec<_>>().join(", ");
    let words = template.body.intent.description.to_string().replace("{{", "<").replace("}}", ">");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("- {}({takes}): {}", template.name, words.chars().take(LINE).collect::<String>())
}

fn prompt(told: &HandlerTask, tools: String, issues: String) -> HandlerPrompt {
    let inherited = told.inherited.iter().filter_map(|item| match item {
        Item::Text { title, text } => Some((title.clone(), text.clone())),
        Item::File(_) | Item::Looked { .. } => None,
    });
    let earlier = told.earlier.iter().flat_map(Entry::parts).map(|(label, text)| part(&label, &text));
    let mut expected = told.expected_output.clone();
    if !told.criteria.is_empty() {
        expected = [expected.trim(), told.criteria.trim()].join("\n\n").trim().to_owned();
    }
    let task = if told.instructions == told.description {
        told.description.clone()
    } else {
        format!("{}\n\n{}", told.description.trim(), told.instructions.trim())
    };
    HandlerPrompt {
        system: told.system.clone(),
        tools,
        files: String::new(),
        inherited: inherited.collect(),
        earlier: earlier.collect::<String>().trim().to_owned(),
        related: related(told),
        inputs: told.inputs.clone(),
        task,
        expected,
        output_format: output_format(told),
        issues,
    }
}

/// A part of an earlier output: a line, or a fence of its own where it has several.
fn part(label: &str, text: &str) -> String {
    if text.contains(['\n', '\r']) {
        format!("\n### {label}\n\n{}\n\n", fence("text", text).trim_end())
    } else {
        format!("{label}: {text}\n")
    }
}

/// What was looked up: the fresh files with the reason of each, and what memory had to say. All of it is material.
fn related(told: &HandlerTask) -> String {
    let mut lines: Vec<String> = Vec::new();
    for FileMatch(path, why) in told.files.related.iter().chain(&told.files.described) {
        let path = printable(path);
        lines.push(match why {
            Some(why) => format!("{path}: {}", printable(why)),
            None => path,
        });
    }
    let said = [lines.join("\n"), told.related.trim().to_owned()];
    said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The declared contract (spec 7.5), or the form of changes.
fn output_format(told: &HandlerTask) -> String {
    if told.writes {
        return Note::OutputChanges.text().to_owned();
    }
    if told.output.as_ref().is_none_or(|output| output.form != OutputType::Json) {
        return String::new();
    }
    let schema = declared(told).map(|schema| fence("json", &schema.to_string())).unwrap_or_default();
    Note::OutputJson.fill(&[("schema", schema.trim_end())]).trim_end().to_owned()
}

/// The declared contract as a JSON Schema, for providers that hold a reply to one (spec 7.5). `None`: any text or any JSON
/// will do.
fn declared(told: &HandlerTask) -> Option<Value> {
    let output = told.output.as_ref().filter(|output| output.form == OutputType::Json)?;
    match (&told.schema, &output.schema) {
        (Some(schema), _) => Some(schema.clone()),
        (None, Some(SchemaChoice::Type(kind))) => match kind.as_str() {
            "object" => Some(json!({ "type": "object" })),
            "array" | "[]" => Some(json!({ "type": "array" })),
            "string[]" => Some(json!({ "type": "array", "items": { "type": "string" } })),
            "number" => Some(json!({ "type": "number" })),
            "boolean" => Some(json!({ "type": "boolean" })),
            "string" => Some(json!({ "type": "string" })),
            _ => None,
        },
        _ => None,
    }
}

/// References of the files a handler wants, patterns expanded. What is not there is a warning (spec 5).
fn files(world: &World, told: &HandlerTask) -> (Vec<Wanted>, Sources) {
    let wish = &told.files;
    let mut sources = Sources { command_failed: wish.command_error.is_some(), ..Sources::default() };
    let found = |matches: &[FileMatch]| matches.iter().map(|found| found.0.clone()).collect::<Vec<String>>();
    let own = expanded(world, &wish.paths, &mut sources.warnings);
    let asked = if wish.explicit { "explicit_request" } else { "template_literal" };
    let given = [
        (asked, own),
        ("template_command", wish.printed.clone()),
        ("explicit_request", wish.inherited.clone()),
        ("automatic_lookup", found(&wish.related)),
        ("deferred_lookup", found(&wish.described)),
    ];
    sources.warnings.extend(wish.command_error.clone());
    let mut seen = BTreeSet::new();
    let mut wanted = Vec::new();
    for (word, paths) in given {
        let mut targets = BTreeSet::new();
        for path in paths {
            let real = world.workspace.locate(&path).map_or_else(|_| path.clone(), |located| located.path().to_owned());
            let target = Target::File { path: path.clone(), fragment: None };
            targets.extend([target.to_string(), Target::File { path: real.clone(), fragment: None }.to_string()]);
            if seen.insert(real) {
                wanted.push(Wanted { reference: Reference { title: String::new(), target }, carried: false });
            }
        }
        sources.given.push((word, targets));
    }
    let strength = |word: &str| STRENGTH.iter().position(|known| *known == word).unwrap_or(STRENGTH.len());
    sources.given.sort_by_key(|(word, _)| strength(word));
    (wanted, sources)
}

fn expanded(world: &World, wished: &[String], warnings: &mut Vec<String>) -> Vec<String> {
    let mut paths = Vec::new();
    for path in wished {
        if !path.contains(PATTERN) {
            paths.push(path.clone());
            continue;
        }
        let found = answer(&[Lookup::Glob(path.clone())], world.disk());
        let before = paths.len();
        for (_, answer) in found {
            if let Answer::Matches(matched) = answer {
                paths.extend(matched);
            }
        }
        if paths.len() == before {
            warnings.push(format!("no file matches {path}"));
        }
    }
    paths
}

/// The budget of a handler's files.
pub(super) fn allowance(window: u32, scale: f64) -> Allowance {
    let budget = callsheet_core::spec::Budget { reference: FILE_TOKENS, prompt: FILES_TOKENS, preview: 0 };
    Allowance::new(&budget, None, Some(window), scale)
}

/// What the files of a prompt were, and what is to be told of those that are not there.
pub(super) fn shown(resolved: &Resolved, sources: &mut Sources) -> Vec<DataSource> {
    for issue in &resolved.issues {
        sources.warnings.push(issue.what.clone());
    }
    let gave = |targets: &BTreeSet<String>| resolved.blocks.iter().any(|block| targets.contains(&block.target));
    let strongest = sources.given.iter().find(|(_, targets)| gave(targets)).map(|(word, _)| *word);
    let wished = sources.given.iter().any(|(_, targets)| !targets.is_empty()) || !sources.warnings.is_empty();
    sources.word = match strongest {
        Some(word) => word,
        None if sources.command_failed => "template_command_error",
        None if wished => "resolution_failed",
        None => "none",
    };
    let is_looked_up = |target: &String| {
        let of = sources.given.iter().find(|(_, targets)| targets.contains(target));
        of.is_some_and(|(word, _)| matches!(*word, "automatic_lookup" | "deferred_lookup"))
    };
    let source = |block: &crate::references::Block| DataSource {
        kind: if is_looked_up(&block.target) { DataSourceKind::Fresh } else { DataSourceKind::File },
        name: block.target.clone(),
        bytes: u64::try_from(block.text.len()).unwrap_or(u64::MAX),
        truncated: !block.whole,
    };
    resolved.blocks.iter().map(source).collect()
}

/// What of the recorded prompt tells whether tools were offered by the provider's own way.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AskedWith {
    request: Offered,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Offered {
    tools: Vec<serde_json::Value>,
}

/// Reads a turn: calls, or the final reply, which is kept as it came.
pub(super) fn read(
    world: &World,
    run: &Run,
    asked: &Asked,
    task: &TaskRun,
    reply: &ModelReply,
    prompt: &[u8],
    mut context: ReadContext,
) -> Result<Event, DriveFault> {
    let key = asked.key.clone();
    let policy = task.skill.clone().unwrap_or_default();
    let mut skill = reader_skill();
    skill.policy = policy;
    let has_tools = !skill.policy.tools.is_empty();
    // A request for a subtask is checked as a whole when it is opened, where its faults cost no call.
    for tool in &mut context.tools {
        if run.operators().is_subtask_tool(&tool.name) {
            let parameters = serde_json::json!({ "type": "object" });
            *tool = std::sync::Arc::new(ToolSpec { parameters, ..(**tool).clone() });
        }
    }
    context.catalog = vec![skill.clone()];
    if let Some(current) = &mut context.current {
        current.skill = Some(skill.name.clone());
    }
    let taken: BTreeSet<String> =
        task.runs.iter().flat_map(|exec| &exec.calls).map(|call| call.call.id.clone()).collect();
    let native_tools = serde_json::from_slice::<AskedWith>(prompt).unwrap_or_default().request.tools;
    // Of a reply that was cut nobody knows what its calls would have been: it is the end, and none.
    let cut = run.call_record(&key).is_some_and(|call| call.stop.is_cut());
    let reads_calls = !cut && (!reply.calls.is_empty() || (has_tools && native_tools.is_empty()));
    // What nobody offered is not dropped unseen if there is nothing else.
    let calls_only = !reply.calls.is_empty() && reply.text.trim().is_empty();
    let mut calls = Vec::new();
    let (mut repairs, mut issues) = (Vec::new(), Vec::new());
    if reads_calls {
        let input = TurnInput { native: &reply.calls, taken_ids: &taken, tools_offered: has_tools || calls_only };
        let reading =
            known::read_with(world, &reply.text, &mut context, |text, context| read_loop_turn(text, input, context));
        if let LoopTurn::Calls(found) = reading.value {
            if reading.issues.iter().any(|issue| issue.severity == Severity::Error) {
                let (issues, repairs) = (reading.issues, reading.repairs);
                return Ok(Event::ReplyRefused { key, issues, repairs, valid: None });
            }
            calls = found;
            (repairs, issues) = (reading.repairs, reading.issues);
        }
    }
    let manual = cut || handler_task(world, run, task)?.manual_xml;
    Ok(match read_turn(&reply.text, &calls, &taken, manual) {
        Said::Calls(calls, said) => {
            Event::CallsAsked { key, calls, said: Some(said), again: RepeatPolicy::Answer, repairs, issues }
        }
        Said::Final => {
            let document = world.store.stage_blob(reply.text.clone().into_bytes());
            let result = ResultParts { document: Some(document), ..ResultParts::default() };
            Event::RunFinished { key, result, repairs, issues }
        }
    })
}
