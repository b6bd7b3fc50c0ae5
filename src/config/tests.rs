use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::*;

fn load(
    user: Option<&str>,
    project: Option<&str>,
    environment: &[(&str, &str)],
    trusted: bool,
) -> Result<Config, ConfigFault> {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::below(&folder.path().join("home"));
    let write = |name: &str, text: Option<&str>| {
        text.map(|text| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
    };
    let project = write("project.toml", project);
    if let (true, Some(path)) = (trusted, &project) {
        Trust::load(&folders).grant(path, &std::fs::read(path).unwrap()).unwrap();
    }
    let environment: BTreeMap<String, String> =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let sources = Sources { user: write("user.toml", user), project, environment, flags: Vec::new() };
    Config::load(&sources, Some(&folders))
}

#[test]
fn stronger_layers_win_and_say_where_they_came_from() {
    let config =
        load(Some("jobs = 2\nmax_rounds = 3\n"), Some("jobs = 6\n"), &[("CALLSHEET_MAX_ROUNDS", "9")], false).unwrap();
    let settings = config.settings().unwrap();
    assert_eq!((settings.jobs, settings.max_rounds), (6, 9));
    assert!(matches!(&config.values["jobs"].origin, Origin::File(path, 1) if path.ends_with("project.toml")));
    assert_eq!(config.values["max_rounds"].origin, Origin::Environment("CALLSHEET_MAX_ROUNDS".into()));
}

#[test]
fn an_untrusted_project_cannot_set_what_could_harm() {
    let file = "allow_http = true\nread_roots = ['/']\nmodel = 'embedded:/tmp/x.gguf'\njobs = 3\n[approval]\nmode = 'never'\n[providers.p]\nbase_url = 'http://evil'\n";
    let config = load(None, Some(file), &[], false).unwrap();
    assert_eq!(config.values.keys().collect::<Vec<_>>(), ["jobs"]);
    let notice = &config.notices[0].0;
    for key in ["allow_http", "read_roots", "model", "approval.mode", "providers.p.base_url", "callsheet trust"] {
        assert!(notice.contains(key), "{notice}");
    }
    let trusted = load(None, Some(file), &[], true).unwrap();
    assert!(trusted.settings().unwrap().allow_http);
    assert!(trusted.notices.is_empty());
}

#[test]
fn trust_is_bound_to_the_content() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::below(folder.path());
    let file = Path::new("some/config.toml");
    Trust::load(&folders).grant(file, b"a").unwrap();
    assert!(Trust::load(&folders).holds(file, b"a"));
    assert!(!Trust::load(&folders).holds(file, b"b"));
    assert!(Trust::load(&folders).revoke(file).unwrap());
    assert!(!Trust::load(&folders).holds(file, b"a"));
}

#[test]
fn faults_name_file_line_and_column() {
    let check = |text: &str, expect: &str| {
        let fault = load(Some(text), None, &[], false).unwrap_err().to_string();
        let fault = fault.rsplit('/').next().unwrap();
        assert!(fault.contains(expect), "{fault}");
    };
    check("jobs = \n", "user.toml:1:");
    check("a = 1\njobs = 'many'\n", "user.toml:2:8: `jobs` must be a whole number, 1 or more");
    check(
        "[limits]\nmax_turn = 1\n",
        "user.toml:2:12: the key `limits.max_turn` is unknown. Did you mean limits.max_turns?",
    );
    check(
        "[hooks.pre-wriet]\nguard = ['false']\n",
        "is unknown. Hooks are: pre-plan, pre-tool, pre-write, post-task, run-end",
    );
    check("refine = 'sometimes'\n", "`refine` must be one of auto, always, never");
    check("[providers.x]\ndialect = 'morse'\n", "user.toml:2:11: `providers.x.dialect` must be one of openai");
}

#[test]
fn unknown_keys_are_told_and_ignored() {
    let config = load(Some("colour = 2\n[limits]\nshoes = 1\n"), None, &[("CALLSHEET_JBOS", "1")], false).unwrap();
    let notices: Vec<&str> = config.notices.iter().map(|notice| notice.0.as_str()).collect();
    assert!(notices[0].contains("unknown key `colour`"), "{notices:?}");
    assert!(notices[1].contains("unknown key `limits.shoes`"), "{notices:?}");
    assert!(notices[2].contains("CALLSHEET_JBOS"), "{notices:?}");
}

#[test]
fn values_out_of_range_are_refused_with_their_origin() {
    let fault = load(None, None, &[("CALLSHEET_JOBS", "0")], false).unwrap_err();
    assert_eq!(fault.to_string(), "environment CALLSHEET_JOBS: `jobs` must be a whole number, 1 or more");
}

/// covers: 12.9
#[test]
fn a_setting_of_one_command_is_checked_and_reaches_the_settings() {
    for (text, wrong) in [
        ("refin=never", "Did you mean refine?"),
        ("refine=sometimes", "must be one of auto, always, never"),
        ("refine", "write a key and its value"),
    ] {
        let told = Setting::parse(text).unwrap_err();
        assert!(told.contains(wrong), "{text}: {told}");
    }
    let with = |texts: &[&str]| {
        let flags = texts.iter().map(|text| Setting::parse(text).unwrap()).collect();
        Config::load(&Sources { flags, ..Sources::default() }, None)
    };
    let twice = with(&["jobs=1", "jobs=2"]).unwrap_err();
    assert!(twice.to_string().contains("`jobs` is set twice"), "{twice}");
    let given = with(&["strict_subtask_context=true", "sections=strict", "limits.max_calls=9"]).unwrap().given();
    let settings = given.over(&callsheet_core::nouns::Settings::default()).unwrap();
    assert!(settings.strict_subtask_context);
    assert_eq!(settings.sections, callsheet_core::nouns::SectionOrder::Strict);
    assert_eq!(settings.limits.max_calls, 9);
}

#[test]
fn headless_takes_a_word_or_slugs() {
    use callsheet_core::nouns::{Headless, Slug};
    let settings = |text: &str| load(Some(text), None, &[], false).unwrap().settings();
    assert_eq!(settings("approval.headless = 'deny'").unwrap().headless, Headless::Deny);
    let standing = settings("approval.headless = 'approve'").unwrap_err();
    assert!(standing.what.contains("--headless"), "{standing}");
    let flags = vec![Setting::of("approval.headless", "a-1,b-2", "--headless").unwrap()];
    let config = Config::load(&Sources { flags, ..Sources::default() }, None).unwrap();
    assert_eq!(config.settings().unwrap().headless, Headless::Slugs(vec![Slug::new("a-1"), Slug::new("b-2")]));
}

#[test]
fn every_settings_key_reaches_the_settings() {
    // What is off is not written, so that old records read as they were written.
    let checks = [("*".to_owned(), vec!["true".to_owned()])].into();
    let limits = callsheet_core::nouns::Limits { max_items: 9, ..Default::default() };
    let settings =
        callsheet_core::nouns::Settings { strict_subtask_context: true, checks, limits, ..Default::default() };
    let defaults = serde_json::to_value(settings).unwrap();
    for known in KEYS {
        let elsewhere = [
            "model",
            "models.",
            "notify",
            "pace",
            "providers.",
            "approval.",
            "tools.",
            "subtask_tools.",
            "memory.",
            "mcp.",
            "limits.day_cost_usd",
            "hooks.",
            "log.",
        ];
        if elsewhere.iter().any(|start| known.name.starts_with(start)) {
            continue;
        }
        let slot = known.name.split('.').try_fold(&defaults, |tree, part| tree.get(part));
        assert!(slot.is_some(), "{} names no field of Settings", known.name);
    }
    assert_eq!(defaults["jobs"], json!(4));
}

#[test]
fn a_check_is_a_program_and_its_arguments() {
    let settings = |text: &str| load(Some(text), None, &[], false).map(|config| config.settings().unwrap().checks);
    let checks = settings("[checks]\ntest = 'cargo  test --quiet'\nlint = ['cargo', 'clippy', '-- -D']\n").unwrap();
    assert_eq!(checks["test"], ["cargo", "test", "--quiet"]);
    assert_eq!(checks["lint"], ["cargo", "clippy", "-- -D"]);
    let quoted = settings("checks.test = \"sh -c 'make test && make lint'\"").unwrap();
    assert_eq!(quoted["test"], ["sh", "-c", "make test && make lint"]);
    assert!(settings("checks.test = \"sh -c 'make\"").is_err(), "a quote that is not closed");
    assert!(settings("checks.test = ' '").is_err() && settings("checks.test = []").is_err());
    let project = load(None, Some("checks.test = 'true'"), &[], false).unwrap();
    assert!(project.settings().unwrap().checks.is_empty() && !project.notices.is_empty());
}
