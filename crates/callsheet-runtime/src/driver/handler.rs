//! Handlers of templates (spec "Templates" 1): what one is told becomes a prompt, its files are read when the call is
//! made, and a turn is read as calls or as its result.

use std::collections::BTreeSet;

use callsheet_core::evaluate::{HandlerTask, Item, Said, read_turn};
use callsheet_core::prompt::{HandlerPrompt, Note};
use callsheet_core::record::{Event, Plan, ResultParts};
use callsheet_core::reply::task::{TurnInput, read_loop_turn};
use callsheet_core::reply::{Answer, Lookup, LoopTurn, ReadContext, Severity};
use callsheet_core::run::{Asked, Run, TaskOp, TaskRun};
use callsheet_core::spec::{Reference, Target, ToolSpec};
use callsheet_core::template::{DataSource, DataSourceKind, OutputType};
use serde::Deserialize;

use crate::ports::ModelReply;
use crate::references::{Allowance, Resolved, Wanted, answer};
use crate::skills::reader_skill;

use super::{DriveFault, World, known};

/// Tokens of one file and of all files, by about four bytes a token (spec 5: 102,400 and 262,144 bytes).
const FILE_TOKENS: u32 = 25_600;
const FILES_TOKENS: u32 = 65_536;
/// Window of a model that does not tell (spec 9).
pub(super) const UNKNOWN_WINDOW: u32 = 8_192;
/// Characters that make a path a pattern.
const PATTERN: [char; 2] = ['*', '?'];

/// A handler's call, as far as it is known before its files are read.
pub(super) struct Told {
    pub prompt: HandlerPrompt,
    pub wanted: Vec<Wanted>,
    pub fraction: Option<f64>,
    pub sources: Sources,
}

/// Where the files of a prompt come from, for the notes of the result.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    pub word: &'static str,
    pub warnings: Vec<String>,
}

/// The task of the tree that a leaf belongs to, with what its handler is told.
fn op_of<'a>(run: &'a Run, task: &TaskRun) -> Result<&'a TaskOp, DriveFault> {
    let op = run.operators().of_leaf(&task.task.slug);
    op.ok_or_else(|| DriveFault::defect("a handler without a task of the tree"))
}

pub(super) fn told(world: &World, run: &Run, task: &TaskRun, text_tools: &[ToolSpec]) -> Result<Told, DriveFault> {
    let op = op_of(run, task)?;
    let Some(Plan::Handler(plan)) = op.opened.as_ref().map(|opened| &opened.plan) else {
        return Err(DriveFault::defect("a handler that was never opened"));
    };
    let told: HandlerTask = serde_json::from_slice(&world.store.blob(&plan.task)?).map_err(DriveFault::defect)?;
    let issues = match &op.issues {
        Some(blob) => world.text(blob)?,
        None => String::new(),
    };
    let (wanted, sources) = files(world, &told);
    let tools = if text_tools.is_empty() {
        String::new()
    } else {
        let instructions = callsheet_core::prompt::tool_instructions(text_tools);
        Note::LoopTextTools.fill(&[("tools", &instructions)])
    };
    Ok(Told { prompt: prompt(&told, tools, issues), wanted, fraction: told.max_context_fraction, sources })
}

fn prompt(told: &HandlerTask, tools: String, issues: String) -> HandlerPrompt {
    let inherited = told.inherited.iter().filter_map(|item| match item {
        Item::Text { title, text } => Some((title.clone(), text.clone())),
        Item::File(_) => None,
    });
    let earlier = told.earlier.iter().map(|entry| serde_json::to_string(entry).unwrap_or_default());
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
        earlier: earlier.collect::<Vec<_>>().join("\n"),
        related: String::new(),
        inputs: told.inputs.clone(),
        task,
        expected,
        output_format: output_format(told),
        issues,
    }
}

/// The declared contract (spec 7.5).
fn output_format(told: &HandlerTask) -> String {
    let Some(output) = told.output.as_ref().filter(|output| output.form == OutputType::Json) else {
        return String::new();
    };
    let schema = match (&told.schema, &output.schema) {
        (Some(schema), _) => format!("```json\n{schema}\n```"),
        (None, Some(callsheet_core::template::SchemaChoice::Type(kind))) => kind.as_str().to_owned(),
        _ => String::new(),
    };
    Note::OutputJson.fill(&[("schema", &schema)])
}

/// References of the files a handler wants, patterns expanded. What is not there is a warning (spec 5).
fn files(world: &World, told: &HandlerTask) -> (Vec<Wanted>, Sources) {
    let wish = &told.files;
    let mut sources = Sources::default();
    let mut paths: Vec<String> = Vec::new();
    for path in &wish.paths {
        if !path.contains(PATTERN) {
            paths.push(path.clone());
            continue;
        }
        let found = answer(&[Lookup::Glob(path.clone())], &world.workspace, &*world.outline);
        let before = paths.len();
        for (_, answer) in found {
            if let Answer::Matches(matched) = answer {
                paths.extend(matched);
            }
        }
        if paths.len() == before {
            sources.warnings.push(format!("no file matches {path}"));
        }
    }
    let own = paths.len();
    paths.extend(wish.inherited.iter().cloned());
    if !wish.command.is_empty() {
        sources.warnings.push("a command that names files is not run by this version".to_owned());
    }
    sources.word = match (own > 0 || !wish.paths.is_empty(), wish.explicit, !wish.command.is_empty()) {
        (true, true, _) => "explicit_request",
        (true, false, _) => "template_literal",
        (false, _, true) => "template_command_error",
        (false, _, false) if !wish.inherited.is_empty() => "explicit_request",
        _ => "none",
    };
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    let wanted = paths.into_iter().map(|path| Wanted {
        reference: Reference { title: String::new(), target: Target::File { path, fragment: None } },
        carried: false,
    });
    (wanted.collect(), sources)
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
    if resolved.blocks.is_empty() && !matches!(sources.word, "none" | "template_command_error") {
        sources.word = "resolution_failed";
    }
    let source = |block: &crate::references::Block| DataSource {
        kind: DataSourceKind::File,
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
    context.catalog = vec![skill.clone()];
    if let Some(current) = &mut context.current {
        current.skill = Some(skill.name.clone());
    }
    let taken: BTreeSet<String> =
        task.runs.iter().flat_map(|exec| &exec.calls).map(|call| call.call.id.clone()).collect();
    let native_tools = serde_json::from_slice::<AskedWith>(prompt).unwrap_or_default().request.tools;
    let reads_calls = !reply.calls.is_empty() || (has_tools && native_tools.is_empty());
    let mut calls = Vec::new();
    let (mut repairs, mut issues) = (Vec::new(), Vec::new());
    if reads_calls {
        let input = TurnInput { native: &reply.calls, taken_ids: &taken, tools_offered: has_tools };
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
    Ok(match read_turn(&reply.text, &calls, &taken, false) {
        Said::Calls(calls, said) => Event::CallsAsked { key, calls, said: Some(said), repairs, issues },
        Said::Final => {
            let document = world.store.stage_blob(reply.text.clone().into_bytes());
            let result = ResultParts { document: Some(document), ..ResultParts::default() };
            Event::RunFinished { key, result, repairs, issues }
        }
    })
}
