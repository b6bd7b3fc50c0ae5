//! A random world of skills, links, tools and files, the form of each reply in it, and what its reader says.

// Each test binary uses its own part of this; a mistake here fails its test at once.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use callsheet_core::issue::{Issue, Repair};
use callsheet_core::names::slug_of;
use callsheet_core::nouns::{
    BlobId, RepeatClass, Skill, SkillForm, SkillLayer, SkillPolicy, SkillSource, Task, ToolEffect, ToolSpec,
};
use callsheet_format::grammar;
use callsheet_format::grammar::{EditableFile, Form, ListShape, WriteOffer};
use callsheet_format::reading::{Answer, Candidates, FileFacts, KnownTask, Lookup, ReadContext, Reading};
use callsheet_format::reply::task::{
    TurnInput, read_execution, read_loop_turn, read_merge, read_refinement, read_write_execution,
};
use callsheet_format::reply::{LoopTurn, ReplyKind, lookups, read_continuation, read_iteration, read_plan};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The replies that have a form.
pub const KINDS: [&str; 11] = [
    "plan",
    "iteration",
    "continuation",
    "refinement",
    "execution",
    "merge",
    "calls or result",
    "last turn",
    "write execution",
    "write a known file",
    "write a new file",
];

/// What a reply may name.
#[derive(Clone, Debug)]
pub struct World {
    pub skills: Vec<String>,
    pub references: Vec<String>,
    pub tools: Vec<ToolSpec>,
    pub open: Vec<String>,
    pub files: Vec<EditableFile>,
    pub sections: u32,
    pub tasks: u32,
    pub needs_call: bool,
}

/// What reading gave.
pub struct Read {
    pub value: String,
    pub repairs: Vec<Repair>,
    pub issues: Vec<Issue>,
}

const LINKS: &[&str] = &[
    "[Net](src/net.rs#L10-L60)",
    "[The manual](docs/manual.md)",
    "[](README.md)",
    "[A b](docs/a%20b.md)",
    "[Project description](project_description)",
    "[Find it](#find-it-results)",
    "[Sources](src/)",
];
const PATHS: &[&str] = &["src/net.rs", "docs/a long name.md", "README.md", "src/net", "a/b/c/d.e.f", "Makefile"];

fn parameters() -> Vec<Value> {
    vec![
        json!({}),
        json!({"type": "object", "properties": {"path": {"type": "string"}, "deep": {"type": "boolean"}}}),
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1, "maxLength": 60},
                "limit": {"type": "integer", "minimum": 1, "maximum": 5},
                "kinds": {"type": "array", "items": {"enum": ["code", "text"]}, "minItems": 1, "maxItems": 2},
                "range": {"type": "object", "properties": {"first": {"type": "integer", "minimum": 0}}, "required": ["first"]},
                "note": {"type": ["string", "null"]},
                "weight": {"type": "number"},
            },
            "required": ["pattern", "limit"],
        }),
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}),
    ]
}

fn some(pool: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<String>> {
    proptest::sample::subsequence(pool, 0..=most.min(pool.len()))
        .prop_map(|picked| picked.into_iter().map(str::to_owned).collect())
}

/// Any world.
pub fn worlds() -> impl Strategy<Value = World> {
    let skills = proptest::collection::btree_set("[a-z][a-z0-9]{1,8}[_-][a-z]{1,8}", 0..5);
    let tools = proptest::sample::subsequence(parameters(), 0..=4);
    let kept = 0..6usize;
    let files = (some(PATHS, 6), proptest::collection::vec(any::<bool>(), 6));
    let sizes = (1..4u32, 1..4u32, any::<bool>());
    (skills, some(LINKS, 7), tools, kept, files, sizes).prop_map(
        |(skills, references, tools, kept, (paths, full), (sections, tasks, needs_call))| {
            let open = (1..=kept).map(|number| format!("Old {number}")).collect();
            let tool = |(index, parameters): (usize, Value)| ToolSpec {
                name: format!("tool_{index}"),
                description: String::new(),
                parameters,
                effect: ToolEffect::Read,
                repeat: RepeatClass::Read,
                exclusive: false,
                named_only: false,
                aliases: Vec::new(),
                granted_as: None,
            };
            let file = |(path, shown_in_full): (String, bool)| EditableFile { path, shown_in_full };
            World {
                skills: skills.into_iter().collect(),
                references,
                tools: tools.into_iter().enumerate().map(tool).collect(),
                open,
                files: paths.into_iter().zip(full).map(file).collect(),
                sections,
                tasks,
                needs_call,
            }
        },
    )
}

/// A small world that lacks nothing.
pub fn full_world() -> World {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let tool = |(index, parameters): (usize, Value)| ToolSpec {
        name: format!("tool_{index}"),
        description: String::new(),
        parameters,
        effect: ToolEffect::Read,
        repeat: RepeatClass::Read,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    };
    World {
        skills: texts(&["find_code", "write_docs"]),
        references: texts(&LINKS[..3]),
        tools: parameters().into_iter().enumerate().map(tool).collect(),
        open: texts(&["Old 1", "Old 2", "Old 3"]),
        files: PATHS
            .iter()
            .enumerate()
            .map(|(index, path)| EditableFile { path: (*path).into(), shown_in_full: index < 3 })
            .collect(),
        sections: 2,
        tasks: 2,
        needs_call: false,
    }
}

impl World {
    /// The form of a reply of this kind.
    pub fn form(&self, kind: &str) -> Form {
        let shape = ListShape {
            references: &self.references,
            max_sections: self.sections,
            max_tasks: self.tasks,
            first_number: 1,
        };
        match kind {
            "plan" => grammar::plan(&shape),
            "iteration" => grammar::iteration(&shape, &self.open),
            "continuation" => grammar::continuation(&shape, &self.open),
            "refinement" => grammar::refinement(&self.references, &self.tools, self.needs_call),
            "execution" => grammar::execution(),
            "merge" => grammar::merge(),
            "calls or result" => grammar::loop_turn(&self.tools),
            "last turn" => grammar::loop_turn(&[]),
            "write execution" => grammar::write_execution(&WriteOffer::of(&self.files, None)),
            "write a known file" => {
                grammar::write_execution(&WriteOffer::of(&self.files, self.files.last().map(|file| file.path.as_str())))
            }
            "write a new file" => grammar::write_execution(&WriteOffer::of(&self.files, Some("notes/new.md"))),
            other => panic!("kind {other}"),
        }
    }

    /// What the reader of this kind makes of a text.
    pub fn read(&self, kind: &str, text: &str) -> Read {
        let mut context = self.context();
        let reply = match kind {
            "plan" => ReplyKind::Plan,
            "iteration" => ReplyKind::Iteration,
            "continuation" => ReplyKind::Continuation,
            "refinement" => ReplyKind::Refinement,
            "merge" => ReplyKind::Merge,
            kind if kind.starts_with("write ") => ReplyKind::WriteExecution,
            _ => ReplyKind::Execution,
        };
        for _ in 0..4 {
            for lookup in lookups(reply, text, &context) {
                let answer = self.answer(&lookup);
                context.answers.insert(lookup, answer);
            }
        }
        match kind {
            "plan" => read(read_plan(text, &context)),
            "iteration" => read(read_iteration(text, &context)),
            "continuation" => read(read_continuation(text, &context)),
            "refinement" => read(read_refinement(text, &context)),
            "execution" => read(read_execution(text, &context)),
            "merge" => read(read_merge(text, &context)),
            kind if kind.starts_with("write ") => read(read_write_execution(text, &context)),
            _ => {
                let taken = BTreeSet::new();
                let input = TurnInput { native: &[], taken_ids: &taken, tools_offered: kind == "calls or result" };
                let reading = read_loop_turn(text, input, &context);
                if let LoopTurn::Calls(calls) = &reading.value {
                    assert!(!calls.is_empty() || !reading.is_accepted(), "no calls in {text}");
                }
                read(reading)
            }
        }
    }

    fn context(&self) -> ReadContext {
        let mut catalog: Vec<Skill> = self.skills.iter().map(|name| self.skill(name)).collect();
        let current = Task { skill: Some("current".into()), ..task("Current 1") };
        catalog.push(self.skill("current"));
        catalog.sort_by(|a, b| a.name.cmp(&b.name));
        let known = |name: &str, done: bool| {
            Arc::new(KnownTask {
                task: task(name),
                step: (!done).then_some(0),
                done,
                denied: false,
                headings: Vec::new(),
                details: Vec::new(),
                tokens: 10,
                writer: false,
            })
        };
        let mut tasks = vec![known("Find it", true)];
        tasks.extend(self.open.iter().map(|name| known(name, false)));
        let shown = |full: bool| {
            let files = self.files.iter().filter(move |file| file.shown_in_full == full);
            files.map(|file| (file.path.clone(), BlobId::of(content(&file.path).as_bytes()))).collect()
        };
        ReadContext {
            catalog,
            tools: self.tools.iter().cloned().map(Arc::new).collect(),
            taken: tasks.iter().filter(|task| task.done).map(|task| task.task.slug.clone()).collect(),
            tasks: tasks.into(),
            current: Some(current),
            prompt_budget: 24_000,
            reference_budget: 8_000,
            shown_in_full: shown(true),
            shown_in_part: shown(false),
            ..ReadContext::default()
        }
    }

    fn skill(&self, name: &str) -> Skill {
        Skill {
            name: name.into(),
            description: String::new(),
            form: SkillForm::SingleFile,
            source: SkillSource { layer: SkillLayer::Bundled, path: String::new() },
            refinement: String::new(),
            execution: "Do it.".into(),
            examples: Vec::new(),
            input_requirements: String::new(),
            policy: SkillPolicy {
                tools: self.tools.iter().map(|tool| tool.name.clone()).collect(),
                ..SkillPolicy::default()
            },
            text: String::new(),
        }
    }

    fn answer(&self, lookup: &Lookup) -> Answer {
        let file = |path: &str| {
            let path = path.trim_end_matches('/').to_owned();
            let directory = LINKS.iter().any(|link| link.contains(&format!("({path}/)")));
            Answer::File(FileFacts { directory, path, lines: 100, ..FileFacts::default() })
        };
        match lookup {
            Lookup::Path { path, .. } if self.files.iter().any(|known| known.path == *path) => file(path),
            Lookup::Path { path, .. }
                if LINKS.iter().any(|link| link.replace("%20", " ").contains(&format!("({path}"))) =>
            {
                file(path)
            }
            Lookup::Content(path) if self.files.iter().any(|known| known.path == *path) => {
                Answer::Content(content(path))
            }
            Lookup::Glob(_) => Answer::Matches(Vec::new()),
            _ => Answer::Missing(Candidates::default()),
        }
    }
}

fn content(path: &str) -> String {
    (1..=100).map(|line| format!("line {line} of {path}\n")).collect()
}

fn task(name: &str) -> Task {
    Task {
        name: name.into(),
        slug: slug_of(name),
        aliases: Vec::new(),
        need: "Something.".into(),
        skill: None,
        for_each: None,
        references: Vec::new(),
        expected: "A note.".into(),
        approval: false,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    }
}

fn read<T: Debug>(reading: Reading<T>) -> Read {
    Read { value: format!("{:?}", reading.value), repairs: reading.repairs, issues: reading.issues }
}

/// Codes that say that the content is wrong, not the form: no grammar can know them.
pub const CONTENT: &[&str] = &[
    "excerpt-not-found",
    "excerpt-ambiguous",
    "lines-out-of-range",
    "symbol-not-found",
    "symbol-ambiguous",
    "symbol-unsupported",
    "file-exists",
    "whole-file-on-partial",
    "change-overlap",
    "stale-lines",
    "link-broken",
    "self-link",
    "call-path-missing",
    "reference-restricted",
    "output-unread",
    "unchanged-unquoted",
];
