//! A small world for reading tests, described by header lines of a fixture.

// Each test binary uses its own part of this; a mistake in a fixture fails its test at once.
#![allow(dead_code, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callsheet_core::issue::{Issue, Repair, Severity, Span};
use callsheet_core::links::{link, parse_target};
use callsheet_core::names::slug_of;
use callsheet_core::nouns::{
    Fragment, Reference, RepeatClass, Skill, SkillForm, SkillLayer, SkillPolicy, SkillSource, Task, ToolEffect,
    ToolSpec, Wording,
};
use callsheet_core::symbols::is_symbol_suffix;
use callsheet_format::reading::{Answer, Candidates, FileFacts, KnownTask, Lookup, ReadContext, Reading};
use callsheet_format::reply::{
    ListReply, ReplyKind, lookups, read_continuation, read_iteration, read_plan, read_sheet,
};

/// The world that the real replies were asked in.
pub const REPLIES: &str = "\
skill: write_document writer
skill: read_files
skill: run_command writer
skill: search_web
skill: edit_code writer
skill: review
file: README.md lines=40
file: notes.md lines=12
";

/// Header lines of a fixture, each `key: value`, and what they describe.
pub struct World {
    pub kind: ReplyKind,
    pub context: ReadContext,
    paths: BTreeMap<String, Answer>,
    globs: BTreeMap<String, Vec<String>>,
    /// The contents of text files.
    contents: BTreeMap<String, String>,
}

impl World {
    /// Reads header lines; unknown keys are a mistake in the fixture.
    pub fn new(header: &str) -> Self {
        let mut world = Self {
            kind: ReplyKind::Plan,
            context: ReadContext { prompt_budget: 24_000, reference_budget: 8_000, ..ReadContext::default() },
            paths: BTreeMap::new(),
            globs: BTreeMap::new(),
            contents: BTreeMap::new(),
        };
        for line in header.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//")) {
            let (key, value) = line.split_once(':').unwrap_or_else(|| panic!("header line {line:?}"));
            world.take(key.trim(), value.trim());
        }
        if world.context.catalog.is_empty() {
            for skill in ["find_code", "read_docs", "review", "write_code writer", "write_docs writer"] {
                world.take("skill", skill);
            }
        }
        world.context.catalog.sort_by(|a, b| a.name.cmp(&b.name));
        world
    }

    /// `PATH TEXT`, with `\n` between lines.
    fn take_content(&mut self, value: &str) {
        let (path, text) = value.split_once(' ').expect("content: PATH TEXT");
        self.contents.insert(path.to_owned(), text.replace("\\n", "\n"));
    }

    fn take(&mut self, key: &str, value: &str) {
        let context = &mut self.context;
        match key {
            "covers" | "judged" => {}
            "kind" => {
                self.kind = match value {
                    "plan" => ReplyKind::Plan,
                    "sheet" => ReplyKind::Sheet,
                    "iteration" => ReplyKind::Iteration,
                    "continuation" => ReplyKind::Continuation,
                    other => panic!("kind {other}"),
                }
            }
            "skill" => context.catalog.push(skill(value)),
            "broken" => {
                let (name, why) = value.split_once(' ').unwrap_or((value, ""));
                context.broken.insert(name.to_owned(), why.to_owned());
            }
            "tool" => context.tools.push(tool(value).into()),
            "file" => {
                let (path, facts) = file(value);
                self.paths.insert(path, Answer::File(facts));
            }
            "content" => self.take_content(value),
            "near" | "slash" | "outside" => {
                let (path, answer) = nowhere(key, value);
                self.paths.insert(path, answer);
            }
            "unreadable" => {
                self.paths.insert(value.to_owned(), Answer::Unreadable("permission denied".to_owned()));
            }
            "glob" => {
                let (pattern, found) = value.split_once(" -> ").expect("glob: PATTERN -> FILES");
                self.globs.insert(pattern.to_owned(), found.split(", ").map(str::to_owned).collect());
            }
            "done" | "open" | "denied" => {
                let known = known(key, value);
                context.taken.insert(known.task.slug.clone());
                context.tasks.push(known.into());
                context.steps = 1;
            }
            "dropped" => {
                let task = known(key, value).task;
                context.taken.insert(task.slug.clone());
                context.past.dropped.push(task);
            }
            // `NAME | SKILL | NEED` of a done task.
            "was" => {
                let task = known(key, value).task;
                let wording = Wording { skill: task.skill, need: task.need };
                context.past.wordings.entry(task.slug).or_default().push(wording);
            }
            "restricted" => drop(context.restricted.insert(value.to_owned())),
            "taken" => drop(context.taken.insert(slug_of(value))),
            "prompt" => context.prompts.push(value.replace("\\n", "\n")),
            "flag" => match value {
                "http" => context.allow_http = true,
                "length-stop" => context.length_stop = true,
                "strict" => context.strict = true,
                "current-file" => {
                    context.current_file = Some("open.rs".to_owned());
                    self.add_file("open.rs");
                }
                "never-refine" => context.refine = callsheet_core::nouns::Policy::Never,
                other => panic!("flag {other}"),
            },
            other => panic!("header key {other}"),
        }
    }

    /// Adds a text file whose path header lines cannot write.
    pub fn add_file(&mut self, path: &str) {
        let facts = FileFacts { path: path.to_owned(), lines: 100, ..FileFacts::default() };
        self.paths.insert(path.to_owned(), Answer::File(facts));
    }

    /// Answers lookups until none is left, as the shell does.
    pub fn answer(&mut self, text: &str) {
        for _ in 0..4 {
            let wanted = lookups(self.kind, text, &self.context);
            if wanted.is_empty() {
                return;
            }
            for lookup in wanted {
                let answer = self.find(&lookup);
                self.context.answers.insert(lookup, answer);
            }
        }
    }

    fn find(&self, lookup: &Lookup) -> Answer {
        match lookup {
            Lookup::Path { path, fragment } => match self.paths.get(path) {
                Some(Answer::File(facts)) => {
                    let mut facts = facts.clone();
                    if let Some(Fragment::Anchor(text)) = fragment {
                        facts.fragment_exists = Some(facts.anchors.contains(text));
                        // As the shell finds symbols whose paths are equal: they are numbered.
                        let numbered = |full: &&String| {
                            full.rsplit_once('-').is_some_and(|(path, number)| {
                                number.parse::<u32>().is_ok() && is_symbol_suffix(text, path)
                            })
                        };
                        facts.fragment_ambiguous = facts.anchors.iter().filter(numbered).count() > 1;
                    }
                    Answer::File(facts)
                }
                Some(other) => other.clone(),
                None if self.is_candidate(path) => {
                    Answer::File(FileFacts { path: path.clone(), lines: 100, ..FileFacts::default() })
                }
                None => Answer::Missing(Candidates::default()),
            },
            Lookup::Glob(pattern) => Answer::Matches(self.globs.get(pattern).cloned().unwrap_or_default()),
            Lookup::Content(path) if self.contents.contains_key(path) => Answer::Content(self.contents[path].clone()),
            Lookup::Content(_) | Lookup::Symbols(_) => Answer::Missing(Candidates::default()),
            Lookup::Call { .. } => Answer::Startable,
            Lookup::Resource { server, uri } => {
                let known = self.paths.get(&format!("mcp:{server}/{uri}")).cloned();
                known.unwrap_or_else(|| Answer::Missing(Candidates::default()))
            }
        }
    }

    /// Candidates of missing paths exist.
    fn is_candidate(&self, path: &str) -> bool {
        self.paths.values().any(|answer| match answer {
            Answer::Missing(others) => others.near.iter().chain(&others.without_slash).any(|other| other == path),
            _ => false,
        })
    }

    /// Reads the text as the fixture's kind.
    pub fn read(&self, text: &str) -> Reading<ListReply> {
        match self.kind {
            ReplyKind::Plan => read_plan(text, &self.context),
            ReplyKind::Sheet => read_sheet(text, &self.context),
            ReplyKind::Iteration => read_iteration(text, &self.context),
            ReplyKind::Continuation => read_continuation(text, &self.context),
            other => panic!("kind {other:?}"),
        }
    }
}

/// `PATH -> CANDIDATES` of a path that is not there or lies outside.
fn nowhere(key: &str, value: &str) -> (String, Answer) {
    let (path, other) = value.split_once(" -> ").unwrap_or((value, ""));
    let others: Vec<String> = other.split(", ").filter(|o| !o.is_empty()).map(str::to_owned).collect();
    let slashed = || Candidates { without_slash: others.first().cloned(), ..Candidates::default() };
    let answer = match key {
        "near" => Answer::Missing(Candidates { near: others.clone(), ..Candidates::default() }),
        "slash" => Answer::Missing(slashed()),
        _ => Answer::Outside(slashed()),
    };
    (path.to_owned(), answer)
}

/// `NAME [writer] [arguments] [refine=always] [tools=a,b] [needs-input] [writes-files]`.
fn skill(value: &str) -> Skill {
    let mut words = value.split(' ');
    let name = words.next().unwrap_or_default().to_owned();
    let mut policy = SkillPolicy::default();
    let mut description = name.clone();
    let mut input_requirements = String::new();
    for word in words {
        match word.split_once('=') {
            Some(("tools", tools)) => policy.tools = tools.split(',').map(str::to_owned).collect(),
            Some(("refine", "always")) => policy.refine = Some(callsheet_core::nouns::Policy::Always),
            Some(("description", words)) => description = words.replace('_', " "),
            _ if word == "arguments" => policy.needs_arguments = true,
            _ if word == "needs-input" => input_requirements.push_str("At least one reference."),
            _ if word == "writes-files" => policy.writes_files = true,
            _ if word == "writer" => policy.writer = Some("the skill writes".to_owned()),
            _ => panic!("skill word {word}"),
        }
    }
    Skill {
        description,
        form: SkillForm::SingleFile,
        source: SkillSource { layer: SkillLayer::Project, path: format!("{name}.md") },
        refinement: String::new(),
        execution: "Do it.".to_owned(),
        examples: Vec::new(),
        input_requirements,
        policy,
        text: String::new(),
        name,
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: serde_json::json!({"type": "object", "required": ["pattern"]}),
        effect: ToolEffect::Read,
        repeat: RepeatClass::Read,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    }
}

/// `PATH [lines=N] [tokens=N] [anchors=a,b] [binary] [unsupported]`; a trailing `/` makes a directory.
fn file(value: &str) -> (String, FileFacts) {
    let mut words = value.split(' ');
    let path = words.next().unwrap_or_default().replace("%20", " ");
    let mut facts = FileFacts { path: path.trim_end_matches('/').to_owned(), lines: 100, ..FileFacts::default() };
    facts.directory = path.ends_with('/');
    for word in words {
        match word.split_once('=') {
            Some(("lines", n)) => facts.lines = n.parse().expect("lines"),
            Some(("tokens", n)) => facts.tokens = n.parse().expect("tokens"),
            Some(("anchors", names)) => facts.anchors = names.split(',').map(str::to_owned).collect(),
            _ if word == "binary" => facts.binary = true,
            _ if word == "unsupported" => facts.symbols_unsupported = true,
            _ => panic!("file word {word}"),
        }
    }
    (facts.path.clone(), facts)
}

/// `NAME | SKILL | NEED [| REFERENCE] [| headings=a,b] [| details=a,b]`.
fn known(key: &str, value: &str) -> KnownTask {
    let parts: Vec<&str> = value.split(" | ").collect();
    let mut task = Task {
        name: parts[0].to_owned(),
        slug: slug_of(parts[0]),
        aliases: Vec::new(),
        need: parts[2].to_owned(),
        skill: Some(parts[1].to_owned()),
        for_each: None,
        references: Vec::new(),
        expected: "Something.".to_owned(),
        approval: false,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    };
    let (mut headings, mut details) = (Vec::new(), Vec::new());
    for part in &parts[3..] {
        let list = |text: &str| text.split(',').map(str::to_owned).collect();
        match part.split_once('=') {
            Some(("headings", names)) => headings = list(names),
            Some(("details", names)) => details = list(names),
            _ => task.references.push(Reference { title: String::new(), target: parse_target(part).expect("target") }),
        }
    }
    KnownTask {
        task,
        step: (key == "open").then_some(0),
        done: key == "done",
        denied: key == "denied",
        headings,
        details,
        tokens: 10,
        writer: false,
    }
}

/// A reading in words, for expectations.
pub fn describe(reading: &Reading<ListReply>) -> String {
    let mut out = String::new();
    let reply = &reading.value;
    let goals = &reply.list.goals;
    out.push_str(if reading.is_accepted() { "accepted\n" } else { "refused\n" });
    line(&mut out, "goals", &goals.text);
    if goals.plan_complete {
        out.push_str("plan complete\n");
    }
    if goals.plan_continues {
        out.push_str("plan continues\n");
    }
    line(&mut out, "prompt", reply.prompt.as_deref().unwrap_or(""));
    for removal in &reply.beside.removed {
        line(&mut out, "removed", &format!("{}: {}", removal.task, removal.reason));
    }
    for slug in &reply.ended {
        line(&mut out, "as it ended", slug.as_str());
    }
    line(&mut out, "remarks", &reply.beside.remarks);
    line(&mut out, "no longer relevant", &reply.beside.no_longer_relevant.join(" "));
    for (number, step) in reply.list.steps.iter().enumerate().filter(|(_, step)| !step.tasks.is_empty()) {
        writeln!(out, "step {}", number + 1).expect("write");
        for task in &step.tasks {
            describe_task(&mut out, task);
        }
    }
    for repair in &reading.repairs {
        describe_repair(&mut out, repair);
    }
    for issue in &reading.issues {
        describe_issue(&mut out, issue);
    }
    out
}

fn describe_task(out: &mut String, task: &Task) {
    let skill = task.skill.as_deref().unwrap_or("-");
    let approval = if task.approval { ", approval" } else { "" };
    writeln!(out, "  {} ({}), {skill}{approval}", task.name, task.slug).expect("write");
    for alias in &task.aliases {
        writeln!(out, "    alias: {alias}").expect("write");
    }
    line(out, "    need", &task.need);
    if let (Some(for_each), Some(source)) = (&task.for_each, task.source()) {
        let failures = if for_each.allow_failures { ", allow failures" } else { "" };
        writeln!(out, "    for each: {} in {}{failures}", for_each.name, link(source)).expect("write");
    }
    for reference in task.own_references() {
        writeln!(out, "    reference: {}", link(reference)).expect("write");
    }
    line(out, "    expected", &task.expected);
    line(out, "    extra", &task.extra);
    for call in &task.calls {
        writeln!(out, "    call: {} {} {}", call.name, call.id, call.arguments).expect("write");
    }
}

fn describe_repair(out: &mut String, repair: &Repair) {
    let task = repair.task.as_ref().map(|task| format!(" ({task})")).unwrap_or_default();
    let flat = |text: &str| text.replace('\n', "|");
    let Span { first, last } = repair.span;
    writeln!(out, "repair {} {first}-{last}{task}: {} => {}", repair.code, flat(&repair.before), flat(&repair.after))
        .expect("write");
}

fn describe_issue(out: &mut String, issue: &Issue) {
    let severity = if issue.severity == Severity::Error { "error" } else { "warning" };
    writeln!(out, "{severity} {}: {}", issue.code, issue.to_string().replace('\n', "|")).expect("write");
}

fn line(out: &mut String, key: &str, value: &str) {
    if !value.is_empty() {
        writeln!(out, "{key}: {}", value.replace('\n', "|")).expect("write");
    }
}
