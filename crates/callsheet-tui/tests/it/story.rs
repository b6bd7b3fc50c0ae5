//! A run as its log would have it: the machine says what is outstanding, and the story says what comes of it.

use std::collections::BTreeMap;

use callsheet_core::events::{self, Event, ListOrigin, LogEntry};
use callsheet_core::nouns::{
    BlobId, Goals, Phase, Policy, Reference, RunId, Settings, SkillPolicy, Slug, Target, Task,
};
use callsheet_core::record::{
    AdoptedList, Answer, ChangeSet, Entry, FileChange, PlannedTask, ResultParts, StopReason, Usage,
};
use callsheet_core::run::{Effect, Run};
use callsheet_runtime::ports::{Message, ModelReply, ModelRequest, Store};
use callsheet_store::MemoryStore;

const REQUEST: &str =
    "Which trouble with watering has nobody who takes care of it? Put each into the plan, with a name.";
const GOALS: &str = "Find which trouble with watering nobody takes care of, and write it into the plan.";

/// Name, skill, need, what it reads, what it gives.
type Told = (&'static str, Option<&'static str>, &'static str, &'static [&'static str], &'static str);

const SECTIONS: &[&[Told]] = &[
    &[
        (
            "Read Water",
            None,
            "The troubles that the notes name.",
            &["water.md"],
            "Two troubles: the hose leaks, and nobody empties the barrels.",
        ),
        ("Read Plan", None, "The jobs of the year.", &["plan.md"], "Twelve jobs; none names the hose."),
        (
            "Read Minutes",
            None,
            "Who promised what.",
            &["minutes.md"],
            "Ana promised the seeds, Cem has a free weekend.",
        ),
    ],
    &[
        (
            "Compare Troubles With Jobs",
            None,
            "The troubles that no job takes care of.",
            &["#read-water", "#read-plan"],
            "The hose is nobody's job.",
        ),
        (
            "Name The Helpers",
            None,
            "Who could take each trouble.",
            &["#read-minutes"],
            "Cem for the hose, Ana for the barrels.",
        ),
    ],
    &[
        (
            "Write Plan",
            Some("write_document"),
            "Put the open troubles into plan.md, each with a name.",
            &["#compare-troubles-with-jobs"],
            "The plan names both troubles with a helper each.",
        ),
        ("Check Plan", None, "Whether each trouble has a name now.", &["#write-plan"], "Both have one."),
    ],
];

const BEFORE: &str = "# Plan for the year\n\n## Before spring\n- Order seeds.\n- Check the rain barrels for cracks after the frost.\n\n## Spring\n- Sow beans.\n- Plant out tomatoes.\n\n## Summer\n- Open the gate.\n\n## Autumn\n- Cover the beds and empty the barrels before the first frost.\n";

/// Name of the run.
pub const RUN: &str = "20261103-101500-which-trouble";

/// The log of the whole run, its texts in the store.
pub fn entries(store: &MemoryStore) -> Vec<LogEntry> {
    let settings =
        Settings { plan: Policy::Always, iterate: Policy::Never, join: Policy::Never, ..Settings::default() };
    let entry = Entry::Prompt { prompt: REQUEST.to_owned() };
    let started = events::RunStarted { run: RunId::new(RUN), entry, settings, tools: BTreeMap::new() }.into();
    let mut story = Story { run: Run::new(), entries: Vec::new(), at: 1_793_700_900_000, store };
    story.record(started);
    while let Some(event) = story.next() {
        story.record(event);
    }
    story.entries
}

struct Story<'a> {
    run: Run,
    entries: Vec<LogEntry>,
    at: u64,
    store: &'a MemoryStore,
}

impl Story<'_> {
    fn record(&mut self, event: Event) {
        self.at += if matches!(event, Event::ReplyReceived(_)) { 1_700 } else { 20 };
        let n = u64::try_from(self.entries.len()).unwrap() + 1;
        let entry = LogEntry::new(n, self.at, event);
        self.run.apply(&entry).unwrap();
        self.entries.push(entry);
    }

    fn blob(&self, text: &str) -> BlobId {
        self.store.put_blob(text.as_bytes()).unwrap()
    }

    /// Everything is started first; a person is asked when nothing else is left.
    fn next(&self) -> Option<Event> {
        let outstanding = self.run.outstanding();
        let pure = |effect: &Effect| matches!(effect, Effect::ReadReply(_) | Effect::CheckReferences { .. });
        let fresh = outstanding.iter().find(|effect| !pure(effect) && !self.run.is_in_flight(&effect.key()));
        if let Some(fresh) = fresh {
            return Some(fresh.started());
        }
        let asks = |effect: &&Effect| matches!(effect, Effect::AskApproval(_));
        let quick = outstanding.iter().find(|effect| pure(effect));
        let effect =
            quick.or_else(|| outstanding.iter().find(|effect| !asks(effect))).or_else(|| outstanding.first())?;
        Some(self.comes_of(effect))
    }

    fn comes_of(&self, effect: &Effect) -> Event {
        match effect {
            Effect::AskModel(call) => self.reply(call.key.phase, effect),
            Effect::ReadReply(call) => {
                let (key, repairs, issues) = (call.key.clone(), Vec::new(), Vec::new());
                match (call.key.phase, &call.key.task) {
                    (Phase::Plan, _) => Event::ListAdopted(events::ListAdopted {
                        origin: ListOrigin::Reply(key),
                        list: list(),
                        repairs,
                        issues,
                    }),
                    (Phase::Refine, _) => {
                        events::TaskRefined { key, refinement: Default::default(), repairs, issues }.into()
                    }
                    (_, Some(task)) => Event::ExecutionFinished(events::ExecutionFinished {
                        key,
                        result: self.result(task),
                        repairs,
                        issues,
                    }),
                    (phase, None) => panic!("{phase:?}"),
                }
            }
            Effect::CheckReferences { task, n, stage } => Event::ReferencesChecked(events::ReferencesChecked {
                task: task.clone(),
                n: *n,
                stage: *stage,
                issues: Vec::new(),
                contents: BTreeMap::new(),
                apart: None,
            }),
            Effect::AskApproval(gate) => {
                events::GateAnswered { gate: gate.clone(), answer: Answer::Listed, by: None }.into()
            }
            Effect::ApplyChanges { task, run, set, changes } => Event::ChangesApplied(events::ChangesApplied {
                task: task.clone(),
                run: run.clone(),
                set: *set,
                changes: changes.clone(),
            }),
            Effect::Conclude(outcome) => {
                events::RunConcluded { outcome: *outcome, report: self.blob("# Report\n") }.into()
            }
            other => panic!("{other:?}"),
        }
    }

    fn reply(&self, phase: Phase, effect: &Effect) -> Event {
        let Effect::AskModel(call) = effect else { panic!("no call") };
        let about = call.key.task.as_ref().map(|task| told(task));
        let text = match about {
            Some((.., gives)) => format!("## Result summary\n{gives}\n"),
            None => format!("## Goals / summary\n{GOALS}\n\n## Tasks\n…\n"),
        };
        let request = serde_json::json!({ "request": ModelRequest {
            label: format!("{phase:?}"),
            system: "You are one step of a plan.\nAnswer in the form that is asked for.".to_owned(),
            messages: vec![Message::user(about.map_or(REQUEST, |(_, _, need, ..)| need).to_owned())],
            tools: Vec::new(),
            native_tools: Vec::new(),
            constraint: None,
            max_output_tokens: 2_000,
            temperature: None,
            seed: None,
            deadline: std::time::Duration::from_secs(60),
        }});
        let usage = Usage { input: 612, output: 64, cached: 410, cost_usd: None };
        let model = "ollama/qwen2.5:7b".to_owned();
        let reply = ModelReply { text, usage, model: model.clone(), ..ModelReply::default() };
        events::ReplyReceived {
            key: call.key.clone(),
            prompt: self.blob(&request.to_string()),
            reply: self.blob(&serde_json::to_string(&reply).unwrap()),
            model,
            usage,
            ms: 1_700,
            sends: 1,
            reused: None,
            pictures: Vec::new(),
            stop: StopReason::End,
            sizes: None,
        }
        .into()
    }

    fn result(&self, task: &Slug) -> ResultParts {
        let (.., gives) = told(task);
        let changes = (task.as_str() == "write-plan").then(|| self.changes());
        ResultParts { summary: gives.to_owned(), document: Some(self.blob(gives)), changes, ..ResultParts::default() }
    }

    fn changes(&self) -> ChangeSet {
        let after = BEFORE
            .replace("after the frost.\n", "after the frost.\n- Mend the hose at bed 4: Cem.\n")
            .replace("before the first frost.", "before the first frost: Ana.");
        let diff = callsheet_format::edit::unified("plan.md", Some(BEFORE), Some(&after));
        let (before, after) = (self.blob(BEFORE), self.blob(&after));
        let file = FileChange { path: "plan.md".to_owned(), before: Some(before), after: Some(after), mode: None };
        ChangeSet { files: vec![file], diff: Some(self.blob(&diff)) }
    }
}

fn slug(name: &str) -> Slug {
    Slug::new(name.to_lowercase().replace(' ', "-"))
}

fn told(task: &Slug) -> Told {
    SECTIONS.iter().copied().flatten().copied().find(|(name, ..)| slug(name) == *task).unwrap()
}

fn list() -> AdoptedList {
    let writer =
        SkillPolicy { writer: Some("it changes files".to_owned()), writes_files: true, ..SkillPolicy::default() };
    let steps = SECTIONS.iter().map(|section| section.iter().map(planned).collect()).collect();
    let goals = Goals { text: GOALS.to_owned(), plan_complete: true, plan_continues: false };
    let skills = BTreeMap::from([("write_document".to_owned(), writer)]);
    AdoptedList { goals, steps, skills, ..AdoptedList::default() }
}

fn planned((name, skill, need, reads, _): &Told) -> PlannedTask {
    let reference = |read: &&str| {
        let target = match read.strip_prefix('#') {
            Some(task) => Target::TaskOutput { slug: Slug::new(task), heading: None },
            None => Target::File { path: (*read).to_owned(), fragment: None },
        };
        Reference { title: String::new(), target }
    };
    let task = Task {
        name: (*name).to_owned(),
        slug: slug(name),
        aliases: Vec::new(),
        need: (*need).to_owned(),
        skill: skill.map(str::to_owned),
        for_each: None,
        references: reads.iter().map(reference).collect(),
        expected: "A few lines.".to_owned(),
        approval: false,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    };
    PlannedTask { task, unchanged: false, writer: skill.map(|_| "it changes files".to_owned()), direct: false }
}
