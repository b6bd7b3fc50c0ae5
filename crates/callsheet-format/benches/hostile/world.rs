//! The world in which hostile replies and fuzzed texts are read: a few skills, tools, tasks and files.

use std::collections::BTreeSet;
use std::sync::Arc;

use callsheet_core::nouns::{
    RepeatClass, Skill, SkillForm, SkillLayer, SkillPolicy, SkillSource, Slug, Task, ToolEffect, ToolSpec,
};
use callsheet_format::reading::{Answer, Candidates, FileFacts, KnownTask, Lookup, ReadContext};
use callsheet_format::reply::task::{
    TurnInput, read_execution, read_loop_turn, read_merge, read_refinement, read_write_execution,
};
use callsheet_format::reply::{ReplyKind, lookups, read_continuation, read_iteration, read_plan, read_sheet};
use serde_json::json;

fn skill(name: &str, tools: &[&str], writer: bool) -> Skill {
    let policy = SkillPolicy {
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
        needs_arguments: !tools.is_empty(),
        writer: writer.then(|| "the skill writes".to_owned()),
        ..SkillPolicy::default()
    };
    Skill {
        name: name.to_owned(),
        description: name.to_owned(),
        form: SkillForm::SingleFile,
        source: SkillSource { layer: SkillLayer::Bundled, path: String::new() },
        refinement: String::new(),
        execution: "Do it.".to_owned(),
        examples: Vec::new(),
        input_requirements: String::new(),
        policy,
        text: String::new(),
    }
}

fn task(name: &str, need: &str) -> Task {
    Task {
        name: name.to_owned(),
        slug: Slug::new(name.to_lowercase().replace(' ', "-")),
        aliases: Vec::new(),
        need: need.to_owned(),
        skill: Some("find_code".to_owned()),
        for_each: None,
        references: Vec::new(),
        expected: "Something.".to_owned(),
        approval: false,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    }
}

fn known(task: Task, done: bool) -> Arc<KnownTask> {
    Arc::new(KnownTask {
        task,
        step: (!done).then_some(1),
        done,
        denied: false,
        headings: vec!["result-summary".to_owned()],
        details: Vec::new(),
        tokens: 10,
        writer: false,
    })
}

/// A world with a few skills, tools, tasks and files.
pub fn world() -> ReadContext {
    let search = json!({"type": "object", "required": ["pattern"], "additionalProperties": false, "properties": {
        "pattern": {"type": "string"}, "limit": {"type": "integer"}, "globs": {"type": "array", "items": {"type": "string"}}}});
    let read = json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}});
    let tool = |name: &str, parameters| {
        Arc::new(ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters,
            effect: ToolEffect::Read,
            repeat: RepeatClass::Read,
            exclusive: false,
            named_only: false,
            aliases: Vec::new(),
            granted_as: None,
        })
    };
    let mut tasks = vec![known(task("Find Code 1", "Old need."), true)];
    tasks.extend((2..10).map(|n| known(task(&format!("Find Code {n}"), &format!("Open need {n}.")), false)));
    ReadContext {
        catalog: vec![
            skill("find_code", &["search_text", "read_file"], false),
            skill("read_docs", &[], false),
            skill("review", &[], false),
            skill("write_code", &["write_file"], true),
        ],
        tools: vec![tool("read_file", read), tool("search_text", search)],
        current: tasks.get(2).map(|known| known.task.clone()),
        taken: tasks.iter().map(|known| known.task.slug.clone()).collect(),
        tasks: tasks.into(),
        prompts: vec![(0..200).map(|n| format!("## Heading {n}\nText.\n")).collect()],
        prompt_budget: 24_000,
        reference_budget: 8_000,
        ..ReadContext::default()
    }
}

/// The answers of a world in which every path exists, apart from `missing…`, `new…` and absolute ones.
pub fn answer(lookup: &Lookup) -> Answer {
    match lookup {
        Lookup::Symbols(_) => Answer::NoSymbols,
        Lookup::Call { .. } => Answer::Startable,
        Lookup::Resource { .. } => Answer::Missing(Candidates::default()),
        Lookup::Path { path, .. } if path.starts_with("missing") || path.starts_with("new") => {
            Answer::Missing(Candidates { without_slash: None, respelled: None, near: vec!["src/a.rs".to_owned()] })
        }
        Lookup::Path { path, .. } if path.starts_with('/') => Answer::Outside(Candidates::default()),
        Lookup::Path { path, .. } => Answer::File(FileFacts {
            path: path.trim_end_matches('/').to_owned(),
            lines: 2_000,
            ..FileFacts::default()
        }),
        Lookup::Glob(_) => Answer::Matches(vec!["a.md".to_owned()]),
        Lookup::Content(path) if path.ends_with(".md") => {
            Answer::Content((0..400).map(|n| format!("# Part {n}\n\nText.\n\n")).collect())
        }
        Lookup::Content(_) => Answer::Content((0..2_000).map(|n| format!("line {n}\n")).collect()),
    }
}

/// Answers all lookups of a text, as the shell does.
pub fn settle(kind: ReplyKind, text: &str, context: &mut ReadContext) {
    for _ in 0..4 {
        let wanted = lookups(kind, text, context);
        if wanted.is_empty() {
            return;
        }
        for lookup in wanted {
            let answer = answer(&lookup);
            context.answers.insert(lookup, answer);
        }
    }
}

/// Reads a text as a kind; gives the number of repairs and of issues. A function of its own for profilers.
#[inline(never)]
pub fn read(kind: ReplyKind, text: &str, context: &ReadContext) -> (usize, usize) {
    fn count<T>(reading: callsheet_format::reading::Reading<T>) -> (usize, usize) {
        (reading.repairs.len(), reading.issues.len())
    }
    match kind {
        ReplyKind::Plan => count(read_plan(text, context)),
        ReplyKind::Sheet => count(read_sheet(text, context)),
        ReplyKind::Iteration => count(read_iteration(text, context)),
        ReplyKind::Continuation => count(read_continuation(text, context)),
        ReplyKind::Refinement => count(read_refinement(text, context)),
        ReplyKind::Execution => count(read_execution(text, context)),
        ReplyKind::WriteExecution => count(read_write_execution(text, context)),
        ReplyKind::Merge => count(read_merge(text, context)),
        ReplyKind::ToolCalls => {
            let taken = BTreeSet::new();
            count(read_loop_turn(text, TurnInput { native: &[], taken_ids: &taken, tools_offered: true }, context))
        }
    }
}
