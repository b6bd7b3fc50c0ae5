//! Prompts: the template engine, the bundled templates, the snapshots of every prompt (spec 8).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use crate::sections::{Fixture, check_all, fixtures};
use callsheet_core::fence::fence;
use callsheet_core::nouns::{
    BlobId, RepeatClass, Skill, SkillForm, SkillLayer, SkillSource, ToolEffect, ToolSpec, tokens,
};
use callsheet_core::prompt::{Note, PromptError, Value, Values};
use callsheet_format::prompt::{
    Candidate, ContinuationPrompt, CurrentFile, Environment, Example, ExecutionKind, ExecutionPrompt, HandlerPrompt,
    IterationPrompt, JoinPrompt, MergePrompt, PlanPrompt, PromptKey, RefinementPrompt, Rendered, Retry, RoutePrompt,
    Template, TemplateSource, Templates, cut_lines, cut_tokens, header,
};
use callsheet_format::skill::{SkillContext, SkillFile, read_skill};
use proptest::prelude::*;

#[test]
fn templates_parse_and_fill_as_expected() {
    check_all("template", |fixture| {
        let (title, text) = fixture.inputs().find(|(title, _)| title.starts_with("template ")).expect("template KEY");
        let values = fixture.inputs().find(|(title, _)| *title == "values").map_or("{}", |(_, body)| body);
        let given: BTreeMap<String, Option<String>> = serde_json::from_str(values).expect("values as JSON");
        let filled = title.trim_start_matches("template ").parse::<PromptKey>().and_then(|key| {
            let mut values = Values::new();
            for slot in key.slots() {
                match given.get(slot.name) {
                    Some(Some(text)) => values.insert(slot.name, Value::Text(text.clone())),
                    Some(None) => values.insert(slot.name, Value::Default),
                    None => None,
                };
            }
            Template::parse(key, "own.md", text)?.render(&values)
        });
        match filled {
            Ok(Rendered { system, examples, user }) => {
                let turn = |turn: &Example| format!("user:\n{}\nassistant:\n{}\n", turn.user, turn.assistant);
                let examples: String = examples.iter().map(turn).collect();
                format!("system:\n{system}\n{examples}user:\n{user}")
            }
            Err(fault) => format!("error: {fault}"),
        }
    });
}

#[test]
fn prompts_render_as_expected() {
    check_all("prompt", |fixture| {
        let rendered = sample(fixture).render().expect("bundled templates are sound");
        let turn = |turn: &Example| format!("#### user\n{}\n#### assistant\n{}\n", turn.user, turn.assistant);
        let examples: String = rendered.examples.iter().map(turn).collect();
        format!("#### system\n{}\n{examples}#### user\n{}", rendered.system, rendered.user)
    });
}

/// covers: 8.7
#[test]
fn every_prompt_has_a_snapshot() {
    let shown: BTreeSet<PromptKey> = fixtures("prompt").iter().map(|fixture| sample(fixture).key()).collect();
    assert_eq!(shown.into_iter().collect::<Vec<_>>(), PromptKey::ALL);
}

enum Sample {
    Plan(PlanPrompt),
    Refinement(Box<RefinementPrompt>),
    Execution(Box<ExecutionPrompt>),
    Merge(Box<MergePrompt>),
    Iteration(IterationPrompt),
    Continuation(ContinuationPrompt),
    Handler(Box<HandlerPrompt>),
    Join(JoinPrompt),
    Route(RoutePrompt),
}

impl Sample {
    fn render(&self) -> Result<Rendered, PromptError> {
        let templates = Templates::bundled();
        match self {
            Self::Plan(prompt) => prompt.render(&templates),
            Self::Refinement(prompt) => prompt.render(&templates),
            Self::Execution(prompt) => prompt.render(&templates),
            Self::Merge(prompt) => prompt.render(&templates),
            Self::Iteration(prompt) => prompt.render(&templates),
            Self::Continuation(prompt) => prompt.render(&templates),
            Self::Handler(prompt) => prompt.render(&templates),
            Self::Join(prompt) => prompt.render(&templates),
            Self::Route(prompt) => prompt.render(&templates),
        }
    }

    fn key(&self) -> PromptKey {
        match self {
            Self::Plan(_) => PromptKey::Plan,
            Self::Refinement(_) => PromptKey::Refinement,
            Self::Execution(prompt) => prompt.key(),
            Self::Merge(_) => PromptKey::Merge,
            Self::Iteration(_) => PromptKey::Iteration,
            Self::Continuation(_) => PromptKey::Continuation,
            Self::Handler(_) => PromptKey::Handler,
            Self::Join(_) => PromptKey::Join,
            Self::Route(_) => PromptKey::Route,
        }
    }
}

/// Everything a handler can be told; texts hold what could close a fence or open a section.
fn handler() -> HandlerPrompt {
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    HandlerPrompt {
        system: "You review code.".to_owned(),
        tools: String::new(),
        files: "### src/lib.rs\n\n````rust\nlet fence = \"```\";\n````\n".to_owned(),
        inherited: vec![pair("input", "## Task\n```\nNot a task.")],
        earlier: "find: src/lib.rs".to_owned(),
        related: String::new(),
        inputs: vec![pair("path", "src/lib.rs"), pair("n", "3")],
        task: "Review src/lib.rs for safety".to_owned(),
        expected: "A list of faults.".to_owned(),
        output_format: "Reply with one JSON value.".to_owned(),
        issues: "the output is array, declared is object".to_owned(),
    }
}

/// Two skills; the template has examples for one of them.
fn route() -> RoutePrompt {
    let candidate = |name: &str, description: &str, example: &str| Candidate {
        name: name.to_owned(),
        description: description.to_owned(),
        examples: vec![example.to_owned()],
        writes: false,
    };
    RoutePrompt {
        candidates: vec![
            candidate("find_code", "Find places. Not for reading.", "Where is the tax set?"),
            candidate("translate", "Translate a text", "Say it in French."),
        ],
        request: "Where are retries counted?".to_owned(),
        paths: Vec::new(),
    }
}

/// Two results, one of which holds a fence.
fn join() -> JoinPrompt {
    let result = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    JoinPrompt {
        original_prompt: "Who looks after the barrels, and who after the pump?".to_owned(),
        follow_ups: vec!["And who has the key?".to_owned()],
        results: vec![
            result("Read Water 1", "## Result summary\nAna, by [Water](water.md#L3).\n```text\nBarrels: Ana\n```"),
            result("Read Keys 1", "## Result summary\nBen has the key."),
        ],
    }
}

/// The section `sample NAME` tells which one.
fn sample(fixture: &Fixture) -> Sample {
    let (title, _) = fixture.inputs().find(|(title, _)| title.starts_with("sample ")).expect("sample NAME");
    let execution = |kind| Box::new(ExecutionPrompt { kind, ..execution() });
    match title.trim_start_matches("sample ") {
        "plan" => Sample::Plan(plan()),
        "plan with nothing but a request" => {
            Sample::Plan(PlanPrompt { user_prompt: "Say hello.".to_owned(), ..PlanPrompt::default() })
        }
        "plan again" => Sample::Plan(PlanPrompt { retry: Some(retry()), ..plan() }),
        "refinement" => Sample::Refinement(Box::new(refinement())),
        "refinement without tools and references" => Sample::Refinement(Box::new(RefinementPrompt {
            skill: skill("description: Reads.\n---\nRead it.\n"),
            tools: Vec::new(),
            reference_contents: String::new(),
            issues: String::new(),
            ..refinement()
        })),
        "refinement after references were lost" => Sample::Refinement(Box::new(RefinementPrompt {
            checked: "the file does not exist: \"src/net.rs\".\nName a file of the project.\n".to_owned(),
            issues: String::new(),
            ..refinement()
        })),
        "execution" => Sample::Execution(execution(ExecutionKind::Plain)),
        "write" => Sample::Execution(execution(ExecutionKind::Write)),
        "direct" => Sample::Execution(execution(ExecutionKind::Direct)),
        "document" => {
            let path = "docs/retries.md".to_owned();
            Sample::Execution(execution(ExecutionKind::Document { path }))
        }
        "direct write" => Sample::Execution(execution(ExecutionKind::DirectWrite)),
        "route" => Sample::Route(route()),
        "handler" => Sample::Handler(Box::new(handler())),
        "join" => Sample::Join(join()),
        "handler with a task only" => {
            Sample::Handler(Box::new(HandlerPrompt { task: "Say hello.".to_owned(), ..HandlerPrompt::default() }))
        }
        "loop" => Sample::Execution(execution(ExecutionKind::Loop { text_tools: Vec::new() })),
        "loop by text" => Sample::Execution(execution(ExecutionKind::Loop { text_tools: vec![tool()] })),
        "merge" => Sample::Merge(Box::new(merge())),
        "iteration" => Sample::Iteration(iteration()),
        "iteration again" => Sample::Iteration(IterationPrompt { retry: Some(retry()), ..iteration() }),
        "continuation" => {
            Sample::Continuation(ContinuationPrompt { state: iteration(), follow_up: "Now in German, too.".to_owned() })
        }
        other => panic!("no sample {other}"),
    }
}

fn environment() -> Environment {
    Environment {
        date: "2025-03-01".to_owned(),
        system: "linux x86_64".to_owned(),
        shell: "bash".to_owned(),
        project_root: "/home/user/project".to_owned(),
    }
}

fn plan() -> PlanPrompt {
    PlanPrompt {
        skill_catalog: "- **find_code** Find places. (tools: search_text)\n- **write_document** Write. (writes)"
            .to_owned(),
        environment: environment(),
        project_description: "A program that counts retries.".to_owned(),
        project_files: vec!["src/net.rs".to_owned(), "[3 more names omitted]".to_owned()],
        current_file: Some(CurrentFile {
            path: "src/net.rs".to_owned(),
            text: "fn send() {}\n".to_owned(),
            language: "rust".to_owned(),
        }),
        open_files: vec!["src/net.rs".to_owned(), "docs/manual.md".to_owned()],
        user_prompt: "Explain how retries are counted.\n## Tasks\n```\nnot a heading of ours\n```\n{issues}".to_owned(),
        retry: None,
    }
}

fn retry() -> Retry {
    Retry {
        proposal: "## Tasks\n- **Skill** fnd\n".to_owned(),
        issues: "Task section 1, task \"Task 1\", Skill (lines 2-2): there is no such skill. Use one of the catalog."
            .to_owned(),
    }
}

fn skill(text: &str) -> Skill {
    let file = SkillFile {
        form: SkillForm::SingleFile,
        stem: "find_code".to_owned(),
        source: SkillSource { layer: SkillLayer::Bundled, path: "find_code.md".to_owned() },
        text: text.to_owned(),
    };
    read_skill(&file, SkillContext { tools: &crate::sections::tools(), read_only_sandbox: false })
        .0
        .expect("a sound skill")
}

fn finder() -> Skill {
    skill(
        "description: Find places.\ntools: search_text\n---\nChoose patterns.\n---\nReport the places.\n### Input requirements\nA name to look for.\n",
    )
}

fn tool() -> ToolSpec {
    ToolSpec {
        name: "search_text".to_owned(),
        description: "Finds lines of files.".to_owned(),
        parameters: serde_json::json!({"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]}),
        effect: ToolEffect::Read,
        repeat: RepeatClass::Read,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    }
}

fn refinement() -> RefinementPrompt {
    RefinementPrompt {
        skill: finder(),
        tools: vec![tool()],
        environment: environment(),
        project_description: "A program that counts retries.".to_owned(),
        original_prompt: "Explain how retries are counted.".to_owned(),
        reference_contents: "### Net - src/net.rs#L10-L12\n\n```rust\nfn send() {}\n```".to_owned(),
        task_data:
            "- **Name** Find Code 1\n- **What is needed** Every place that counts retries.\n- **Skill** find_code"
                .to_owned(),
        checked: String::new(),
        issues: "Tool Calls (lines 4-6): there is no tool \"find_bread\". Use a tool listed. Allowed: search_text."
            .to_owned(),
    }
}

fn execution() -> ExecutionPrompt {
    ExecutionPrompt {
        kind: ExecutionKind::Plain,
        skill: finder(),
        environment: environment(),
        project_description: String::new(),
        original_prompt: "Explain how retries are counted.".to_owned(),
        precursor: "### Net - src/net.rs#L10-L12\n\n```rust\nfn send() {}\n```".to_owned(),
        need: "Every place that counts retries,\nwith its condition.".to_owned(),
        expected: "File and line of each.".to_owned(),
        issues: String::new(),
    }
}

fn merge() -> MergePrompt {
    MergePrompt {
        skill: finder(),
        original_prompt: "Explain how retries are counted.".to_owned(),
        need: "Every place that counts retries.".to_owned(),
        expected: "File and line of each.".to_owned(),
        run_documents: vec![
            ("search_text send".to_owned(), "## Result summary\nOne in send.\n".to_owned()),
            ("search_text poll".to_owned(), "## Result summary\nOne in poll.\n```rust\nfn poll() {}\n```\n".to_owned()),
        ],
        issues: String::new(),
    }
}

fn iteration() -> IterationPrompt {
    IterationPrompt {
        skill_catalog: "- **find_code** Find places.".to_owned(),
        environment: environment(),
        project_description: String::new(),
        project_files: vec!["src/net.rs".to_owned()],
        original_prompt: "Explain how retries are counted.".to_owned(),
        follow_ups: vec!["Also polls.".to_owned()],
        goals_summary: "Retries are explained.".to_owned(),
        completed_outputs: "### Completed task output 1\n- **Name** Find Code 1\n- **Output** Two places.".to_owned(),
        current_task_list: "### Task section 1\n- **Name** Write Docs 1".to_owned(),
        task_problems: "Write Docs 1 failed.".to_owned(),
        retry: None,
    }
}

/// covers: 8.7
#[test]
fn static_text_is_short() {
    for key in PromptKey::ALL {
        let size = tokens(&Templates::bundled().get(*key).unwrap().static_text());
        let list = key.slots().iter().any(|slot| slot.name == "skill_catalog");
        assert!(size <= if list { 500 } else { 360 }, "{key} has {size} tokens; small models need short prompts");
    }
}

/// covers: 8.7
#[test]
fn bundled_templates_hold_every_placeholder_in_order_and_in_its_part() {
    for key in PromptKey::ALL {
        let template = Templates::bundled().get(*key).unwrap();
        let names: Vec<&str> = template.names().collect();
        let declared: Vec<&str> = key.slots().iter().map(|slot| slot.name).collect();
        assert_eq!(names, declared, "{key}");
        let (system, _) = Templates::bundled_text(*key).split_once("<!-- callsheet:user -->").unwrap();
        assert_eq!(system.contains("{skill_catalog}"), declared.contains(&"skill_catalog"), "{key}");
    }
}

/// Headings of a text outside fences.
fn headings(text: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let run = line.trim_end_matches(|c: char| c != '`' && c != '~');
        match fence {
            Some(open) if line.trim_end() == open => fence = None,
            Some(_) => {}
            None if run.starts_with("```") || run.starts_with("~~~~") => fence = Some(run),
            None if line.starts_with('#') => found.push(line),
            None => {}
        }
    }
    found
}

/// covers: 8.5
#[test]
fn no_prompt_has_a_heading_twice_or_over_nothing() {
    for fixture in fixtures("prompt") {
        let rendered = sample(&fixture).render().unwrap();
        for part in [&rendered.system, &rendered.user] {
            let headings = headings(part);
            let unique: BTreeSet<&str> = headings.iter().copied().collect();
            assert_eq!(headings.len(), unique.len(), "{}: {headings:?}", fixture.name());
            let lines: Vec<&str> = part.lines().filter(|line| !line.trim().is_empty()).collect();
            for pair in lines.windows(2) {
                let empty = pair[0].starts_with("## ") && pair[1].starts_with("## ");
                assert!(!empty || pair[0] == "## Tasks", "{}: {pair:?}", fixture.name());
            }
            assert!(!part.contains("\n\n\n"), "{} has a gap", fixture.name());
        }
    }
}

/// covers: 8.7
#[test]
fn a_retry_shares_all_of_the_first_try() {
    let templates = Templates::bundled();
    let first = plan().render(&templates).unwrap();
    let again = PlanPrompt { retry: Some(retry()), ..plan() }.render(&templates).unwrap();
    assert_eq!(first.system, again.system);
    assert!(again.user.starts_with(&first.user));
    let clean = RefinementPrompt { issues: String::new(), ..refinement() }.render(&templates).unwrap();
    assert!(refinement().render(&templates).unwrap().user.starts_with(&clean.user));
}

/// Lists of tasks are asked for with the same beginning, so that a server reads the catalog once.
/// covers: 8.7
#[test]
fn prompts_for_lists_begin_alike() {
    let text = |key| Templates::bundled_text(key).split_once("## Your reply").unwrap().0;
    assert!(text(PromptKey::Plan).contains("{skill_catalog}\n\n## Rules for tasks\n"));
    assert_eq!(text(PromptKey::Plan), text(PromptKey::Iteration));
    assert_eq!(text(PromptKey::Plan), text(PromptKey::Continuation));
}

/// Where something holds a reply to its form, the prompt shows no blanks that a model could copy.
/// covers: 8.7
#[test]
fn a_held_reply_needs_no_form_in_its_prompt() {
    let held = Templates::bundled().held();
    for (free, held) in [
        (plan().render(&Templates::bundled()), plan().render(&held)),
        (refinement().render(&Templates::bundled()), refinement().render(&held)),
        (merge().render(&Templates::bundled()), merge().render(&held)),
    ] {
        let (free, held) = (free.unwrap(), held.unwrap());
        assert!(free.system.contains("in place of each `<...>`"));
        assert!(!held.system.contains('<') && !held.system.contains("\n\n\n"), "{}", held.system);
        assert_eq!(free.user, held.user);
    }
}

/// A handler has no form of its own: its template declares one, or none. Answers are prose, a route is a name.
fn no_form(key: PromptKey) -> bool {
    matches!(key, PromptKey::Handler | PromptKey::Join | PromptKey::Direct | PromptKey::Document | PromptKey::Route)
}

/// The form of each reply holds no content that could be copied: whatever a model must write itself is in `<...>`.
/// covers: 3.4, 3.5, 3.6, 3.7, 3.8, 3.9
#[test]
fn forms_hold_no_content_to_copy() {
    for key in PromptKey::ALL.iter().filter(|key| !no_form(**key)) {
        let text = Templates::bundled_text(*key);
        assert!(text.contains("our own text in place of each `<...>`"), "{key}");
        let form = text.split("~~~~markdown\n").last().and_then(|rest| rest.split("\n~~~~").next()).unwrap();
        for line in form.lines().filter(|line| !line.is_empty()) {
            let fixed = ["#", "```", "**plan complete**"].iter().any(|start| line.starts_with(start));
            let label = line.split("** ").last().unwrap_or(line);
            let blank = label.starts_with(['<', '[', '{']) && label.contains('<');
            assert!(fixed || blank, "{key}: {line}");
        }
    }
}

/// covers: 8.6
#[test]
fn an_unknown_key_names_the_known_ones() {
    let fault = Templates::bundled().named("task_plan").unwrap_err();
    assert_eq!(
        fault.to_string(),
        "No prompt template \"task_plan\". Known: task_creation_initial, task_direct, task_direct_write, task_document, \
         task_execution, task_execution_loop, task_execution_write, task_handler, task_join, task_list_continue, task_list_iteration, task_post_exec, \
         task_refinement, task_route"
    );
    assert_eq!("task_post_completion".parse::<PromptKey>(), Ok(PromptKey::Iteration));
}

/// covers: 8.1
#[test]
fn a_replaced_template_is_used_hashed_and_checked_on_use() {
    let mut templates = Templates::bundled();
    let own = Templates::bundled_text(PromptKey::Plan).replace("You are a planner", "You plan");
    let source = TemplateSource { path: "own.md".to_owned(), text: Ok(own.clone()) };
    templates.replace(PromptKey::Plan, source);
    assert!(plan().render(&templates).unwrap().system.starts_with("You plan."));
    assert_eq!(templates.hash(PromptKey::Plan), Some(BlobId::of(own.as_bytes())));
    let broken = TemplateSource { path: "own.md".to_owned(), text: Err("no such luck".to_owned()) };
    templates.replace(PromptKey::Merge, broken);
    assert!(plan().render(&templates).is_ok(), "a file that is not used does no harm");
    assert!(merge().render(&templates).unwrap_err().to_string().contains("no such luck"));
    assert_eq!(templates.check().len(), 1);
}

#[test]
fn notes_fill_their_placeholders() {
    for note in Note::ALL {
        let values: Vec<(&'static str, &str)> = note.slots().iter().map(|slot| (*slot, "VALUE")).collect();
        let filled = note.fill(&values);
        assert!(filled.matches("VALUE").count() >= note.slots().len(), "{}", note.name());
        assert!(note.slots().iter().all(|slot| !filled.contains(&format!("{{{slot}}}"))), "{}", note.name());
        assert!(!filled.is_empty() && !filled.contains("{issues}") && !filled.contains("{id}"), "{}", note.name());
    }
}

/// covers: 5.8
#[test]
fn tokens_are_a_quarter_of_ascii_and_one_for_each_other() {
    assert_eq!([tokens(""), tokens("abcde"), tokens("äö")], [0, 2, 2]);
}

/// covers: 8.5
#[test]
fn a_header_over_blank_text_is_nothing() {
    assert_eq!((header("Task", " \n"), header("Task", "x")), (String::new(), "## Task\n\nx".to_owned()));
}

/// covers: 5.9
#[test]
fn a_fence_is_longer_than_its_content() {
    assert_eq!(fence("text", "a"), "```text\na\n```");
    assert_eq!(fence("text", "   ```\n~~~~~ x"), "~~~~~~text\n   ```\n~~~~~ x\n~~~~~~");
    assert_eq!(fence("text", ""), "```text\n```");
}

/// covers: 8.8
#[test]
fn fragments_are_cut_to_their_caps() {
    let long = (1..=300).map(|n| format!("line {n}\n")).collect::<String>();
    assert!(cut_lines(&long, 200).ends_with("line 200\n[lines 201-300 of 300 omitted, about 225 tokens]"));
    let cut = cut_tokens(&long, 100);
    assert!(tokens(&cut) < 120 && cut.starts_with("line 1\n") && cut.ends_with("line 300"), "{cut}");
    let file = CurrentFile { path: "a".to_owned(), text: long, language: String::new() };
    let prompt = PlanPrompt { current_file: Some(file), ..plan() }.render(&Templates::bundled()).unwrap();
    assert!(prompt.user.contains("## Current File - a\n\n```text\nline 1\n"));
    assert!(prompt.user.contains("line 200\n[lines 201-300"));
    assert!(cut_tokens(&"x".repeat(1_000), 60).contains("[the middle of lines 1-1 of 1 omitted, about "));
}

proptest! {
    #[test]
    fn inserted_text_comes_through_untouched(text in "\\PC{1,80}") {
        let prompt = PlanPrompt { user_prompt: format!("[{text}]"), ..plan() };
        let rendered = prompt.render(&Templates::bundled()).unwrap();
        let quoted = fence("text", &format!("[{text}]"));
        prop_assert!(rendered.user.contains(&quoted));
    }

    #[test]
    fn any_template_parses_without_panic(text in "(\\{{1,3}(issues|query|x)?(/start|/end)?\\}{0,3}|<!-- callsheet:user -->|<!-- callsheet:assistant -->|\n|é){0,12}") {
        let _ = Template::parse(PromptKey::Merge, "own.md", &text);
    }

    #[test]
    fn a_cut_fits_and_a_fitting_text_stays(text in "([a-zé ]{0,30}\n){0,60}", most in 5_u32..200) {
        let cut = cut_tokens(&text, most);
        prop_assert!(tokens(&cut) <= most + 25);
        if tokens(&text) <= most { prop_assert_eq!(cut.as_ref(), text.as_str()); }
    }
}

/// covers: 8.2, 8.3
#[test]
fn the_example_of_the_guide_is_a_template() {
    let guide = include_str!("../../../../docs/guide/prompts.md");
    let mut examples = 0;
    for example in guide.split("<!-- prompt: ").skip(1) {
        let (name, rest) = example.split_once(".md -->").expect("a file name");
        let text = rest.split("~~~~markdown\n").nth(1).and_then(|rest| rest.split("~~~~").next()).expect("a fence");
        Template::parse(name.parse().expect("a key"), name, text).expect("a sound template");
        let prompt = merge();
        let mut templates = Templates::bundled();
        let source = TemplateSource { path: name.to_owned(), text: Ok(text.to_owned()) };
        templates.replace(name.parse().expect("a key"), source);
        let rendered = prompt.render(&templates).expect("all placeholders are supplied");
        assert!(rendered.user.contains("## Runs") && rendered.system.starts_with("You merge"), "{}", rendered.user);
        examples += 1;
    }
    assert_eq!(examples, 1);
}
