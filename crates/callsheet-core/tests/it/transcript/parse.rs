//! Words to facts.

use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::issue::{Issue, IssueCode, Location, Severity, Span};
use callsheet_core::links::link_target;
use callsheet_core::nouns::{
    BlobId, ExecutionMode, Goals, Phase, Reference, Refinement, RepeatClass, SkillMode, SkillPolicy, Slug, Target,
    Task, ToolCall, ToolEffect,
};
use callsheet_core::placement::place;
use callsheet_core::record::{
    AdoptedList, Answer, Apart, CallFault, CallKey, ChangeSet, CheckEnd, CheckReport, Entry, FileChange, GateKind,
    Outcome, PlannedTask, ReferenceStage, RefusedPart, Removal, ResultParts, StopReason, ToolPolicy, ToolRecord, Usage,
    Verdict,
};
use callsheet_core::run::{CallRecord, Effect, State};
use callsheet_format::reading::Reading;
use callsheet_format::reply::read_review;
use serde_json::Value;

use super::{Player, blob};

type Happened = Result<(), String>;
const TOO_LARGE: &str = "too large together";

impl Player {
    /// One line and its block.
    pub fn happen(&mut self, line: &str, block: &[&str]) -> Happened {
        let (head, tail) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
        let words: Vec<&str> = head.split_whitespace().collect();
        match words.as_slice() {
            ["settings", ..] => self.set(&line["settings ".len()..]),
            ["tool", name, effect, repeat, rest @ ..] if ["read", "write", "execute"].contains(effect) => {
                self.tool(name, effect, repeat, rest)
            }
            ["skill", name, rest @ ..] => self.skill(name, rest),
            ["prompt"] => self.start(Entry::Prompt { prompt: tail.to_owned() }),
            ["sheet"] => self.start(Entry::Sheet { prompt: tail.to_owned() }),
            ["direct"] => self.start(Entry::Skill { prompt: tail.to_owned() }),
            ["host", "gave"] => self.adopt(self.list(block), ListOrigin::Host),
            ["wait", seconds, "s"] => {
                self.pass_time(seconds.parse::<u64>().unwrap() * 1_000);
                Ok(())
            }
            ["model", unit @ .., verb] => self.model(&unit.join(" "), verb, tail, block),
            ["references", "of", task, verb] => self.references(task, verb, tail),
            ["tool", task, call, "gave", kind] => self.tool_gave(task, call, kind, tail),
            ["merged", task] => self.merged(task),
            ["changes", "of", task, verb, "the", "check"] => self.checked(task, verb),
            ["changes", "of", task, verb] => self.changes(task, verb, tail),
            ["person", rest @ ..] if !matches!(rest, ["retries" | "continues" | "drops" | "edits" | "raises", ..]) => {
                self.person(rest, tail)
            }
            ["nobody", "can", "be", "asked"] => self.nobody_asked(),
            ["task", task, "fails"] => {
                self.fact(events::TaskFailed { task: Slug::new(*task), reason: tail.to_owned() })
            }
            ["broken", "edit", "touches", tasks @ ..] => self.held(Some(tasks)),
            ["broken", "edit", "is", "fixed"] => self.held(None),
            ["cancel"] => self.fact(events::CancelRequested {}),
            ["templates"] => self.templates(&block.join("\n")),
            ["crash"] => self.dies(),
            ["resumed"] => {
                let settings = self.settings.clone();
                self.fact(events::RunResumed { settings })?;
                // A process that takes a run up records what a person changed meanwhile before it starts anything.
                match block.split_first() {
                    Some((line, block)) => self.happen(line, block),
                    None => Ok(()),
                }
            }
            ["follow-up", rest @ ..] => self.follow_up(rest, tail),
            ["sheet", "rendered"] => self.fact(events::SheetRendered { hash: blob(tail) }),
            ["person", "retries", task] => self.fact(retried(task)),
            ["person", "continues", task] => self.fact(events::TaskContinued { task: Slug::new(*task) }),
            ["person", "raises", limit, "to", max] => {
                self.fact(events::LimitRaised { limit: (*limit).to_owned(), max: max.parse().unwrap() })
            }
            ["person", "drops", task] => self.fact(events::TaskDropped { task: Slug::new(*task) }),
            ["person", "edits"] => self.adopt(self.edited(block), ListOrigin::Edit(blob("sheet"))),
            ["concluded"] => match self.find(|effect| matches!(effect, Effect::Conclude(_)))? {
                Effect::Conclude(outcome) => self.fact(events::RunConcluded { outcome, report: blob("report") }),
                _ => Ok(()),
            },
            ["again"] => {
                let last = self.log.iter().rev().find(|fact| !matches!(fact.event, Event::Started(_)));
                let event = last.unwrap().event.clone();
                self.fact(event)
            }
            _ => panic!("not understood: {line}"),
        }
    }

    fn adopt(&mut self, list: AdoptedList, origin: ListOrigin) -> Happened {
        self.fact(events::ListAdopted { origin, list, repairs: vec![], issues: vec![] })
    }

    fn follow_up(&mut self, rest: &[&str], tail: &str) -> Happened {
        let settings = self.settings.clone();
        self.fact::<Event>(match rest {
            ["withdrawn"] => {
                let outcome = self.run.without_follow_up().unwrap_or(Outcome::Complete);
                events::FollowUpWithdrawn { outcome }.into()
            }
            _ => events::RunContinued { text: tail.to_owned(), settings }.into(),
        })
    }

    fn dies(&mut self) -> Happened {
        self.crash();
        Ok(())
    }

    /// Templates that tasks may call.
    fn templates(&mut self, text: &str) -> Happened {
        let reading = callsheet_format::template::read_text("t.xml", text);
        let named = reading.templates.into_iter().map(|template| (template.name.clone(), template));
        self.tree.templates.extend(named);
        Ok(())
    }

    fn set(&mut self, text: &str) -> Happened {
        let mut value = serde_json::to_value(&self.settings).unwrap();
        for pair in text.split_whitespace() {
            let (key, set) = pair.split_once('=').unwrap();
            let set = serde_json::from_str(set).unwrap_or(Value::String(set.to_owned()));
            // It is left out of the record while it is false.
            let unwritten = key == "plan_only";
            let own = unwritten || value.get(key).is_some();
            let target = if own { &mut value } else { value.get_mut("limits").unwrap() };
            assert!(unwritten || target.get(key).is_some(), "no setting {key}");
            target[key] = set;
        }
        self.settings = serde_json::from_value(value).unwrap();
        Ok(())
    }

    fn nobody_asked(&mut self) -> Happened {
        let outcome = self.waiting_outcome();
        self.fact(events::RunWaiting { outcome })
    }

    fn held(&mut self, tasks: Option<&[&str]>) -> Happened {
        let tasks = tasks.map(|tasks| tasks.iter().map(|task| Slug::new(*task)).collect());
        self.fact(events::EditHeld { tasks })
    }

    fn tool(&mut self, name: &str, effect: &str, repeat: &str, rest: &[&str]) -> Happened {
        let effect: ToolEffect = serde_json::from_value(Value::String(effect.to_owned())).unwrap();
        let repeat: RepeatClass = serde_json::from_value(Value::String(repeat.to_owned())).unwrap();
        let [exclusive, unheld] = ["exclusive", "unheld"].map(|word| rest.contains(&word));
        self.tools.insert(name.to_owned(), ToolPolicy { effect, repeat, exclusive, unheld, named_only: false });
        Ok(())
    }

    fn skill(&mut self, name: &str, rest: &[&str]) -> Happened {
        let mut skill = SkillPolicy { hash: Some(blob(name)), ..SkillPolicy::default() };
        for word in rest {
            match word.split_once('=').unwrap_or((word, "")) {
                ("needs-arguments", _) => skill.needs_arguments = true,
                ("writer", _) => skill.writer = Some("it writes".to_owned()),
                ("loop", _) => skill.mode = SkillMode::Loop,
                ("template", _) => {
                    skill.mode = SkillMode::Template;
                    skill.tools = vec![name.to_owned()];
                }
                ("together", _) => skill.execution = ExecutionMode::Together,
                ("per-reference", _) => skill.execution = ExecutionMode::PerReference,
                ("refine", policy) => skill.refine = serde_json::from_value(policy.into()).unwrap(),
                ("review", policy) => skill.review = serde_json::from_value(policy.into()).unwrap(),
                ("check", name) => {
                    skill.check = Some(name.to_owned());
                    self.settings.checks.insert(name.to_owned(), vec!["true".to_owned()]);
                }
                ("merge", policy) => skill.merge = serde_json::from_value(policy.into()).unwrap(),
                (limit, number) => {
                    let mut limits = serde_json::to_value(&skill.limits).unwrap();
                    limits[limit] = serde_json::from_str(number).unwrap();
                    skill.limits = serde_json::from_value(limits).unwrap();
                }
            }
        }
        self.skills.insert(name.to_owned(), skill);
        Ok(())
    }

    fn list(&self, block: &[&str]) -> AdoptedList {
        let mut list = AdoptedList::default();
        for line in block {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("goals", text) => list.goals.text = text.to_owned(),
                ("plan", "complete") => list.goals.plan_complete = true,
                ("plan", "continues") => list.goals = Goals { plan_continues: true, ..list.goals },
                ("step", _) => list.steps.push(Vec::new()),
                ("removes", rest) => {
                    let (task, reason) = rest.split_once(" because ").unwrap();
                    list.beside.removed.push(Removal { task: Slug::new(task), reason: reason.to_owned() });
                }
                _ => list.steps.last_mut().expect("a step comes first").push(self.planned(line)),
            }
        }
        for task in list.steps.iter().flatten() {
            if let Some((name, policy)) =
                task.task.skill.as_ref().and_then(|skill| Some((skill, self.skills.get(skill)?)))
            {
                list.skills.insert(name.clone(), policy.clone());
            }
        }
        list
    }

    /// A reply, its tasks in the steps of the plan that they get.
    fn placed(&self, block: &[&str]) -> AdoptedList {
        let mut list = self.list(block);
        let known = |planned: &PlannedTask| self.run.step_of(&planned.task.slug);
        let sections: Vec<_> = list.steps.iter().map(|step| step.iter().map(known).collect()).collect();
        let places = place(&sections, self.run.steps().len());
        let tasks: Vec<PlannedTask> = std::mem::take(&mut list.steps).into_iter().flatten().collect();
        for (task, at) in tasks.into_iter().zip(places.into_iter().flatten()) {
            list.steps.resize(list.steps.len().max(at + 1), Vec::new());
            list.steps[at].push(task);
        }
        list
    }

    /// An edit: its steps are those of the plan with something that is not done, and further ones behind them.
    fn edited(&self, block: &[&str]) -> AdoptedList {
        let mut list = self.list(block);
        let is_open = |slug: &Slug| self.run.task(slug).is_some_and(|task| task.state() != State::Done);
        let plan = self.run.steps();
        let open = plan.iter().enumerate().filter(|(_, step)| step.iter().any(is_open)).map(|(at, _)| at);
        for (at, step) in open.chain(plan.len()..).zip(std::mem::take(&mut list.steps)) {
            list.steps.resize(list.steps.len().max(at + 1), Vec::new());
            list.steps[at] = step;
        }
        list
    }

    /// `find-code-1 by find_code reads a.rs #read-docs-1-results calls search_text(x) needs approval unchanged`.
    fn planned(&self, line: &str) -> PlannedTask {
        let mut words = line.split_whitespace();
        let slug = words.next().unwrap();
        let mut task = Task {
            name: slug.to_owned(),
            slug: Slug::new(slug),
            aliases: Vec::new(),
            need: format!("what {slug} finds"),
            skill: None,
            for_each: None,
            references: Vec::new(),
            expected: "a summary".to_owned(),
            approval: false,
            review: None,
            calls: Vec::new(),
            extra: String::new(),
        };
        let (mut unchanged, mut direct) = (false, false);
        let mut mode = "";
        for word in words {
            match (mode, word) {
                (_, "by" | "reads" | "calls" | "needs" | "wants" | "review") => mode = word,
                (_, "unchanged") => unchanged = true,
                (_, "direct") => direct = true,
                ("by", skill) => task.skill = Some(skill.to_owned()),
                ("reads", target) => task.references.push(reference(target)),
                ("calls", call) => task.calls.push(tool_call(call, task.calls.len())),
                ("needs", "approval") => task.approval = true,
                ("review", policy) => task.review = serde_json::from_value(policy.into()).unwrap(),
                ("wants", need) => task.need = need.to_owned(),
                _ => panic!("not understood: {word} in {line}"),
            }
        }
        let of_skill =
            task.skill.as_ref().and_then(|skill| self.skills.get(skill)).and_then(|skill| skill.writer.clone());
        let writer = of_skill.or(task.approval.then(|| "the task asks for approval".to_owned()));
        PlannedTask { task, unchanged, writer, direct }
    }

    fn model(&mut self, unit: &str, verb: &str, tail: &str, block: &[&str]) -> Happened {
        let key = self.call(unit)?;
        if verb == "unaffordable" {
            let message = "the prompt alone costs too much".to_owned();
            return self.fact(events::CallFailed { key, fault: CallFault::Cost, sends: 0, message, sizes: None });
        }
        if verb == "failed" {
            let fault = match tail {
                "communication" => CallFault::Communication,
                "configuration" => CallFault::Configuration,
                "overflow" => CallFault::ContextOverflow,
                "timeout" => CallFault::Timeout,
                _ => panic!("no fault {tail}"),
            };
            self.pass_time(1_000);
            return self.fact(events::CallFailed {
                key,
                fault,
                sends: 3,
                message: format!("{tail} failure"),
                sizes: None,
            });
        }
        if self.find(|effect| matches!(effect, Effect::AskModel(asked) if asked.key == key)).is_ok() {
            self.pass_time(1_000);
            self.fact(events::ReplyReceived {
                key: key.clone(),
                prompt: blob("prompt"),
                reply: self.reply(&key, verb),
                model: "test/model".to_owned(),
                usage: Usage { input: 100, output: 10, cached: 0, cost_usd: Some(0.5) },
                ms: 1_000,
                sends: 1,
                reused: None,
                pictures: Vec::new(),
                stop: StopReason::End,
                sizes: None,
            })?;
        }
        let event = match verb {
            "arrived" => return Ok(()),
            "refused" | "repeats" => {
                events::ReplyRefused { key, issues: vec![issue(tail)], repairs: vec![], valid: None }.into()
            }
            "asks" => {
                let run = key.task.as_ref().and_then(|task| self.run.task(task)?.run(key.run.as_ref()?));
                let made = run.map_or(0, |run| run.calls.len());
                let calls = tail.split_whitespace().enumerate().map(|(index, call)| tool_call(call, made + index));
                let calls: Vec<_> = calls.collect();
                let task = key.task.as_ref().and_then(|slug| self.run.task(slug));
                let repeats = task.zip(run).map(|(task, run)| self.run.repeats(task, run, &calls));
                let (repeats, stuck) = (repeats.unwrap_or_default(), Default::default());
                events::CallsAsked { key, calls, said: None, repeats, stuck, repairs: vec![], issues: vec![] }.into()
            }
            "replied" => self.accepted(key, tail, block),
            "says" => {
                let Reading { value: missing, repairs, issues, .. } = read_review(tail);
                events::Reviewed { key, missing, repairs, issues }.into()
            }
            _ => panic!("no verb {verb}"),
        };
        self.fact(event)
    }

    /// Replies differ, but one that repeats the one before.
    fn reply(&self, key: &CallKey, verb: &str) -> BlobId {
        let same =
            |call: &&CallRecord| (call.key.phase, &call.key.task, &call.key.run) == (key.phase, &key.task, &key.run);
        let former = self.run.calls().iter().rfind(same).filter(|_| verb == "repeats");
        former.map_or_else(|| blob(&format!("{key:?}")), |call| call.reply.clone())
    }

    fn accepted(&self, key: CallKey, tail: &str, block: &[&str]) -> Event {
        let (repairs, issues) = (vec![], vec![]);
        match key.phase {
            Phase::Route if tail.starts_with("names") => {
                let skill = tail.split_whitespace().nth(1).filter(|skill| *skill != "none").map(str::to_owned);
                let writes = tail.split_once(" writes ").map_or("", |(_, files)| files);
                let writes = writes.split_whitespace().map(str::to_owned).collect();
                events::Routed { key, skill, writes, issues }.into()
            }
            Phase::Plan | Phase::Iterate | Phase::Continue if tail == "without skills" => {
                let list = self.placed(block);
                events::ListDrafted { key, list: list.list(), beside: list.beside, repairs, issues }.into()
            }
            Phase::Route | Phase::Plan | Phase::Iterate | Phase::Continue => {
                events::ListAdopted { origin: ListOrigin::Reply(key), list: self.placed(block), repairs, issues }.into()
            }
            Phase::Refine => {
                let mut refinement = Refinement::default();
                let mut mode = "";
                for word in tail.split_whitespace() {
                    match (mode, word) {
                        (_, "reads" | "calls" | "needs") => mode = word,
                        ("reads", target) => refinement.references.get_or_insert_default().push(reference(target)),
                        ("calls", call) => refinement.calls.push(tool_call(call, refinement.calls.len())),
                        _ => refinement.approval = true,
                    }
                }
                events::TaskRefined { key, refinement, repairs, issues }.into()
            }
            Phase::Join => events::Joined { key, answer: tail.to_owned(), unsupported: vec![], repairs, issues }.into(),
            Phase::Execute | Phase::Review | Phase::Merge => {
                let file = tail.strip_prefix("changes ");
                let result = ResultParts {
                    summary: "a summary".to_owned(),
                    document: Some(blob(tail)),
                    more_work: tail == "more work",
                    changes: file.map(changes),
                    ..ResultParts::default()
                };
                events::ExecutionFinished { key, result, repairs, issues }.into()
            }
        }
    }

    fn references(&mut self, task: &str, verb: &str, tail: &str) -> Happened {
        let outstanding =
            self.find(|effect| matches!(effect, Effect::CheckReferences { task: of, .. } if of.as_str() == task))?;
        let Effect::CheckReferences { task, n, stage } = outstanding else { return Ok(()) };
        let issues = if verb == "fail" { vec![issue(tail)] } else { Vec::new() };
        let _: ReferenceStage = stage;
        // `hold` as before; `hold: A changed` after somebody has written A; `hold: too large together`, behind that or alone.
        let apart = tail.ends_with(TOO_LARGE).then_some(Apart { tokens: 30_000, most: 24_000 });
        let changed = tail.trim_end_matches(TOO_LARGE).trim_end_matches(", ").strip_suffix(" changed");
        let links = self.run.task(&task).into_iter().flat_map(|task| &task.task.references);
        let links = links.map(|reference| link_target(&reference.target));
        let contents = links.map(|link| (link.clone(), blob(&format!("{link} {}", changed == Some(&link)))));
        let contents = contents.collect();
        self.fact(events::ReferencesChecked { task, n, stage, issues, contents, apart })
    }

    fn tool_gave(&mut self, task: &str, id: &str, kind: &str, tail: &str) -> Happened {
        let wanted = |effect: &Effect| match effect {
            Effect::RunTool { task: of, call, .. } => of.as_str() == task && (call.id == id || call.name == id),
            _ => false,
        };
        let Effect::RunTool { task, run, call, .. } = self.find(wanted)? else { return Ok(()) };
        let record = match kind {
            "output" => ToolRecord::text(blob(tail), None),
            "error" => ToolRecord::text(blob(tail), Some(tail.to_owned())),
            "timed_out" => ToolRecord::text_until_timeout(blob(tail), Some(tail.to_owned())),
            "changes" => ToolRecord::Changes(changes(tail)),
            "question" => ToolRecord::Question(tail.to_owned()),
            "midway" => ToolRecord::Midway(tail.to_owned()),
            _ => serde_json::from_value(kind.into()).unwrap(),
        };
        self.pass_time(500);
        self.fact(events::ToolFinished { task, run, call: call.id, record, ms: 500 })
    }

    fn merged(&mut self, task: &str) -> Happened {
        let outstanding =
            self.find(|effect| matches!(effect, Effect::MergeByCode { task: of, .. } if of.as_str() == task))?;
        let Effect::MergeByCode { task, n } = outstanding else { return Ok(()) };
        let result = ResultParts { summary: "merged".to_owned(), ..ResultParts::default() };
        self.fact(events::ExecutionsMerged { task, n, result })
    }

    /// `changes of a pass the check`, `changes of a fail the check`, `changes of a miss the check`.
    fn checked(&mut self, slug: &str, verb: &str) -> Happened {
        let wanted = |effect: &Effect| matches!(effect, Effect::TryChanges { task, .. } if task.as_str() == slug);
        let Effect::TryChanges { task, run, set, check: name, .. } = self.find(wanted)? else { return Ok(()) };
        let (end, issues) = match verb {
            "pass" => (CheckEnd::Passed, Vec::new()),
            "fail" => (CheckEnd::Failed, vec![issue("check-failed")]),
            "miss" => (CheckEnd::NotRun, Vec::new()),
            _ => panic!("changes cannot {verb} a check"),
        };
        self.pass_time(2_000);
        let check = CheckReport { name, end, output: blob(verb), ms: 2_000 };
        self.fact(events::ChangesChecked { task, run, set, check, issues })
    }

    fn changes(&mut self, slug: &str, verb: &str, tail: &str) -> Happened {
        let wanted = |effect: &Effect| match effect {
            Effect::ApplyChanges { task, .. } => task.as_str() == slug && verb != "rolled-back",
            Effect::RollBack { task, .. } => task.as_str() == slug && verb == "rolled-back",
            _ => false,
        };
        let event: Event = match self.find(wanted)? {
            Effect::ApplyChanges { task, run, set, changes } if verb == "applied" => {
                events::ChangesApplied { task, run, set, changes }.into()
            }
            Effect::ApplyChanges { task, run, set, .. } if verb.starts_with("rebased") => {
                let changes = changes(tail);
                events::ChangesRebased { task, run, set, changes, as_shown: verb == "rebased-as-shown" }.into()
            }
            Effect::ApplyChanges { task, run, set, .. } => {
                events::ChangesRejected { task, run, set, issues: vec![issue(tail)] }.into()
            }
            Effect::RollBack { task, run, set, .. } => events::ChangesRolledBack { task, run, set }.into(),
            _ => return Ok(()),
        };
        self.fact(event)
    }

    /// `person keeps part of changes of a: b.rs, not c.rs`, `person approves all`, `person approves a b`, `person denies a: words`, `person approves changes of a`,
    /// `person denies call of a: words`, `person stops`, `person answers a: text`, `person declines a`.
    fn person(&mut self, rest: &[&str], tail: &str) -> Happened {
        let words = tail.to_owned();
        let before_run = |kind: &GateKind| matches!(kind, GateKind::BeforeRun(_));
        match rest {
            [verb @ ("answers" | "declines"), slug] => {
                let asks = |effect: &Effect| matches!(effect, Effect::AskPerson { task, .. } if task.as_str() == *slug);
                let Effect::AskPerson { task, run, call, .. } = self.find(asks)? else { return Ok(()) };
                match *verb {
                    "answers" => self.fact(events::QuestionAnswered { task, run, call, output: blob(tail) }),
                    _ => self.fact(events::QuestionDeclined { task, run, call }),
                }
            }
            ["keeps", "part", "of", "changes", "of", slug] => {
                let wanted =
                    |kind: &GateKind| matches!(kind, GateKind::BeforeApply { task, .. } if task.as_str() == *slug);
                let gate = self.gate(wanted)?;
                self.fact(events::GateAnswered { gate, answer: part(tail), by: None })
            }
            ["keeps", "part", "of", "call", "of", slug] => {
                let wanted =
                    |kind: &GateKind| matches!(kind, GateKind::BeforeCall { task, .. } if task.as_str() == *slug);
                let gate = self.gate(wanted)?;
                self.fact(events::GateAnswered { gate, answer: part(tail), by: None })
            }
            ["keeps", "part", "of", "listed"] => {
                let gate = self.gate(before_run)?;
                self.fact(events::GateAnswered { gate, answer: part(tail), by: None })
            }
            [verb, "changes", "of", slug] => {
                let wanted =
                    |kind: &GateKind| matches!(kind, GateKind::BeforeApply { task, .. } if task.as_str() == *slug);
                let gate = self.gate(wanted)?;
                let answer = answer(verb, words);
                self.fact(events::GateAnswered { gate, answer, by: None })
            }
            [verb, "call", "of", slug] => {
                let wanted =
                    |kind: &GateKind| matches!(kind, GateKind::BeforeCall { task, .. } if task.as_str() == *slug);
                let gate = self.gate(wanted)?;
                let answer = answer(verb, words);
                self.fact(events::GateAnswered { gate, answer, by: None })
            }
            [verb] | [verb, "all" | "listed"] => {
                let gate = self.gate(before_run)?;
                let answer = if rest.get(1) == Some(&"all") { Answer::All } else { answer(verb, words) };
                self.fact(events::GateAnswered { gate, answer, by: None })
            }
            [verb, slugs @ ..] => {
                let gate = self.gate(before_run)?;
                let mut verdict = if *verb == "approves" { Verdict::Approve } else { Verdict::Deny };
                let mut verdicts = std::collections::BTreeMap::new();
                for word in slugs {
                    match *word {
                        "approves" => verdict = Verdict::Approve,
                        "denies" => verdict = Verdict::Deny,
                        slug => {
                            verdicts.insert(Slug::new(slug), verdict);
                        }
                    }
                }
                self.fact(events::GateAnswered { gate, answer: Answer::Each { verdicts, words }, by: None })
            }
            [] => panic!("the person does something"),
        }
    }
}

fn answer(verb: &str, words: String) -> Answer {
    match verb {
        "approves" => Answer::Listed,
        "denies" => Answer::Deny { words },
        "stops" => Answer::Stop,
        _ => panic!("the person cannot {verb}"),
    }
}

/// `a.rs, not b.rs`; nothing before the comma: nothing is kept.
fn part(text: &str) -> Answer {
    let (file, refused) = text.split_once(", not ").unwrap();
    let kept = if file.is_empty() { ChangeSet::default() } else { changes(file) };
    let told = format!("{refused} was refused");
    Answer::Part { kept, refused: RefusedPart { diff: blob(refused), told, words: String::new() } }
}

/// `name(argument)`, the id being `<name>-<n>`.
fn tool_call(text: &str, index: usize) -> ToolCall {
    let (name, argument) = text.trim_end_matches(')').split_once('(').unwrap_or((text, ""));
    let arguments = serde_json::json!({ "argument": argument });
    ToolCall { name: name.to_owned(), id: format!("{name}-{}", index + 1), arguments }
}

fn reference(text: &str) -> Reference {
    let target = match text.strip_prefix('#').and_then(|text| text.strip_suffix("-results")) {
        Some(slug) => Target::TaskOutput { slug: Slug::new(slug), heading: None },
        None if text == "project_description" => Target::ProjectDescription,
        None => Target::File { path: text.to_owned(), fragment: None },
    };
    Reference { title: String::new(), target }
}

fn changes(file: &str) -> ChangeSet {
    let change = FileChange { path: file.to_owned(), before: None, after: Some(blob(file)), mode: None };
    ChangeSet { files: vec![change], diff: Some(blob("diff")) }
}

fn issue(code: &str) -> Issue {
    let code = IssueCode::ALL.iter().copied().find(|known| known.as_str() == code).expect(code);
    let place =
        Location { phase: Phase::Plan, section: None, task: None, item: None, key: None, span: Span::default() };
    Issue {
        code,
        severity: Severity::Error,
        place,
        what: "it is wrong".to_owned(),
        todo: "mend it".to_owned(),
        allowed: Vec::new(),
        raw: None,
    }
}

fn retried(task: &str) -> Event {
    events::TaskRetried { task: Slug::new(task), skills: [].into(), because: String::new() }.into()
}
