//! covers: 11.14

use serde_json::{Value, json};

use super::*;

fn call(arguments: Value) -> CommandCall {
    CommandCall::of(&ToolCall { id: "c1".to_owned(), name: RUN_COMMAND.to_owned(), arguments }).unwrap()
}

fn grant(value: Value) -> CommandGrant {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_grant_covers_commands_that_begin_with_its_words_in_its_folder_and_no_other() {
    let test = json!({"command": ["cargo", "test"]});
    let in_a = json!({"command": ["make"], "cwd": "a"});
    let line = json!({"command": "cargo test && ls"});
    for (granted, called, covers) in [
        (&test, json!({"command": ["cargo", "test"]}), true),
        (&test, json!({"command": ["cargo", "test", "-p", "x"], "timeout_seconds": 5}), true),
        (&test, json!({"command": ["cargo", "test"], "cwd": "."}), true),
        (&test, json!({"command": ["cargo", "test"], "cwd": "./"}), true),
        (&test, json!({"command": ["cargo", "test"], "cwd": "a"}), false),
        (&test, json!({"command": ["cargo"]}), false),
        (&test, json!({"command": ["cargo", "tests"]}), false),
        (&test, json!({"command": ["cargo", "test;rm"]}), false),
        (&test, json!({"command": ["cargo test"]}), false),
        (&test, json!({"command": ["./cargo", "test"]}), false),
        (&test, json!({"command": ["env", "cargo", "test"]}), false),
        (&test, json!({"command": "cargo test"}), true),
        (&test, json!({"command": " cargo  test -p x --lib=a,b"}), true),
        (&test, json!({"command": "cargo testing"}), false),
        (&test, json!({"command": "X=1 cargo test"}), false),
        (&test, json!({"command": "cargo test; rm -rf ."}), false),
        (&test, json!({"command": "cargo test\nls"}), false),
        (&test, json!({"command": "cargo test $(ls)"}), false),
        (&test, json!({"command": "cargo test *"}), false),
        (&test, json!({"command": "cargo test > x"}), false),
        (&test, json!({"command": "cargo test ~"}), false),
        (&in_a, json!({"command": ["make"], "cwd": "a"}), true),
        (&in_a, json!({"command": ["make"], "cwd": "./a/"}), true),
        (&in_a, json!({"command": ["make"], "cwd": "a/b"}), false),
        (&in_a, json!({"command": ["make"], "cwd": "b/../a"}), false),
        (&in_a, json!({"command": ["make"]}), false),
        (&line, json!({"command": "cargo test && ls"}), true),
        (&line, json!({"command": "cargo test && ls -a"}), false),
        (&line, json!({"command": "cargo test && ls\n"}), false),
        (&line, json!({"command": ["cargo test && ls"]}), false),
        (&json!({"command": []}), json!({"command": ["ls"]}), false),
    ] {
        assert_eq!(grant(granted.clone()).covers(&call(called.clone())), covers, "{granted} {called}");
    }
}

#[test]
fn what_a_call_is_granted_covers_the_call_and_says_what_it_is() {
    for (called, words, shown) in [
        (json!({"command": ["cargo", "test", "-p", "x"]}), 2, "cargo test …"),
        (json!({"command": ["sh", "-c", "a b"], "cwd": "./sub/"}), 3, "sh -c 'a b' … in sub"),
        (json!({"command": "ls | wc"}), 1, "the line `ls | wc`"),
        (json!({"command": ["a\u{202e}b", "it's"]}), 2, r"'a<U+202E>b' 'it'\''s' …"),
    ] {
        let call = call(called);
        let grant = call.grant(words);
        assert!(grant.covers(&call));
        assert_eq!(grant.shown(), shown);
    }
    let other = ToolCall { id: "c1".to_owned(), name: "other".to_owned(), arguments: json!({"command": ["ls"]}) };
    assert_eq!(CommandCall::of(&other), None);
}

#[test]
fn a_grant_counts_where_it_was_given_until_it_ends() {
    let (project, run) = (Path::new("/home/me/a"), RunId::new("kind-otter"));
    let of = |project: Option<&str>, run: Option<&str>, task: Option<&str>, until| Grant {
        n: 1,
        what: GrantedThing::Host("crates.io".to_owned()),
        scope: Scope { project: project.map(PathBuf::from), run: run.map(RunId::new), task: task.map(Slug::new) },
        until,
        since: 0,
    };
    let here = Some("/home/me/a");
    let its = Some("kind-otter");
    let no_task: &[&str] = &[];
    for (grant, tasks, counts) in [
        (of(None, None, None, None), no_task, true),
        (of(here, None, None, Some(11)), no_task, true),
        (of(here, None, None, Some(10)), no_task, false),
        (of(Some("/home/me"), None, None, None), no_task, false),
        (of(Some("/home/me/a/b"), None, None, None), no_task, false),
        (of(here, its, None, None), &["b"], true),
        (of(here, Some("kind"), None, None), &["b"], false),
        (of(here, its, Some("b"), None), &["b"], true),
        (of(here, its, Some("b"), None), &["b/write", "b"], true),
        (of(here, its, Some("b"), None), &["bc"], false),
        (of(here, its, Some("b/write"), None), &["b"], false),
        (of(here, its, Some("b"), None), no_task, false),
    ] {
        let caller = Caller { run: Some(run.clone()), tasks: tasks.iter().copied().map(Slug::new).collect() };
        assert_eq!(grant.counts(project, &caller, 10), counts, "{grant:?} {tasks:?}");
    }
    assert!(!of(here, its, None, None).counts(project, &Caller::default(), 10));
    let written = serde_json::to_value(of(here, its, None, None)).unwrap();
    assert_eq!(written["run"], "kind-otter");
    assert_eq!(serde_json::from_value::<Grant>(written).unwrap(), of(here, its, None, None));
}

#[test]
fn grants_of_changes_cover_files_that_match_and_never_what_decides_what_runs() {
    let grant = |n, pattern: &str| Grant {
        n,
        what: GrantedThing::Changes(pattern.to_owned()),
        scope: Scope::default(),
        until: None,
        since: 0,
    };
    let every = [grant(1, "**")];
    let docs = [grant(1, "docs/*.md"), grant(2, "src/**")];
    for (grants, files, expected) in [
        (&every[..], &["a.md", "x/y/z.rs"][..], Some(vec![1])),
        (&every, &[".github/ci.yml"], None),
        (&every, &["a.md", "AGENTS.md"], None),
        (&every, &[".vscode/tasks.json"], None),
        (&every, &[], None),
        (&docs, &["docs/a.md"], Some(vec![1])),
        (&docs, &["docs/a.md", "src/x/y.rs"], Some(vec![1, 2])),
        (&docs, &["docs/sub/a.md"], None),
        (&docs, &["docs/a.md", "README.md"], None),
    ] {
        let covering =
            covering_changes(grants, Path::new("/nowhere"), files).map(|grants| grants.into_iter().collect::<Vec<_>>());
        assert_eq!(covering, expected, "{files:?}");
    }
}

#[test]
fn a_grant_of_commands_covers_plain_scripts_of_templates() {
    let script =
        |arguments: Value| CommandCall::of(&ToolCall { id: "c1".to_owned(), name: SCRIPT.to_owned(), arguments });
    let plain = json!({"argv": ["python3", "\0candidate\0"], "inherit": "safe",
        "files": [{"name": "candidate", "suffix": ".py", "content": "1"}]});
    let run = grant(json!({"command": ["python3", "{{files.candidate}}"]}));
    assert!(script(plain).is_some_and(|call| run.covers(&call)));
    assert_eq!(script(json!({"argv": ["ls"], "inherit": "all"})), None);
    assert_eq!(script(json!({"argv": ["ls"], "inherit": "safe", "variables": [["LD_PRELOAD", "x.so"]]})), None);
}
