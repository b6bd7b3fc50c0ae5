//! Tests model references, vendor rows, and the effect of settings.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use callsheet_core::record::Usage;
use callsheet_models::config::{
    BuildError, Dialect, ModelRef, Prices, Provider, ProviderSettings, SettingsError, build, vendors,
};
use callsheet_models::probe::keys_present;
use callsheet_runtime::ports::WindowFrom;

fn configured(text: &str) -> BTreeMap<String, ProviderSettings> {
    toml::from_str(text).unwrap()
}

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// covers: 7.9
#[test]
fn references() {
    let provided =
        |provider: &str, model: &str| ModelRef::Provided { provider: provider.to_owned(), model: model.to_owned() };
    for (text, expect) in [
        ("ollama/qwen3:8b", Some(provided("ollama", "qwen3:8b"))),
        ("openrouter/meta/llama-4", Some(provided("openrouter", "meta/llama-4"))),
        ("lmstudio//odd", Some(provided("lmstudio", "/odd"))),
        ("embedded:/models/a.gguf", Some(ModelRef::Embedded("/models/a.gguf".into()))),
        ("scripted:replies.toml", Some(ModelRef::Scripted("replies.toml".into()))),
        ("embedded:", None),
        ("qwen3:8b", None),
        ("other:a/b", None),
        ("ollama/", None),
        ("/model", None),
        ("gpt", None),
        ("", None),
    ] {
        assert_eq!(text.parse::<ModelRef>().ok(), expect, "{text}");
        if let Some(reference) = expect {
            assert_eq!(reference.to_string(), text);
        }
    }
}

#[test]
fn vendor_rows_are_sound() {
    assert!(vendors().len() > 10);
    let mut names: Vec<&str> = vendors().iter().map(|vendor| vendor.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), vendors().len());
    let keys = environment(
        &vendors().iter().filter_map(|v| v.api_key_env.as_deref()).map(|name| (name, "k")).collect::<Vec<_>>(),
    );
    for vendor in vendors() {
        assert!(vendor.base_url.starts_with(if vendor.local { "http://127.0.0.1:" } else { "https://" }));
        assert_eq!(vendor.local, vendor.api_key_env.is_none(), "{}", vendor.name);
        let provider = Provider::resolve(&vendor.name, &BTreeMap::new()).unwrap();
        let model = build(&provider, "m", &keys).unwrap_or_else(|error| panic!("{}: {error}", vendor.name));
        assert_eq!(model.info().id, format!("{}/m", vendor.name));
    }
}

#[test]
fn settings_lie_over_the_vendor_row() {
    let all = configured(
        r#"
        [mistral]
        slots = 2
        [deepseek]
        base_url = "http://127.0.0.1:9000/v1"
        [work]
        dialect = "anthropic"
        api_key_env = "WORK_KEY"
        window = 100000
        [second]
        dialect = "anthropic"
        [groq]
        dialect = "ollama"
        "#,
    );
    let mistral = Provider::resolve("mistral", &all).unwrap();
    assert_eq!((mistral.slots_or_default(), mistral.api_key_env.as_deref()), (2, Some("MISTRAL_API_KEY")));
    assert_eq!(mistral.adaptation.names.get("seed").map(String::as_str), Some("random_seed"));

    // The vendor's key never goes to another address.
    let proxied = Provider::resolve("deepseek", &all).unwrap();
    assert_eq!((proxied.api_key_env, proxied.local), (None, true));

    let work = Provider::resolve("work", &all).unwrap();
    assert_eq!(work.base_url, Provider::resolve("anthropic", &all).unwrap().base_url);
    assert_eq!((work.api_key_env.as_deref(), work.window), (Some("WORK_KEY"), Some(100_000)));

    let second = Provider::resolve("second", &all).unwrap();
    assert_eq!(second.api_key_env.as_deref(), Some("ANTHROPIC_API_KEY"));

    let other_wire = Provider::resolve("groq", &all).unwrap();
    assert_eq!((other_wire.dialect, other_wire.base_url.as_str()), (Dialect::Ollama, "http://127.0.0.1:11434"));
    assert_eq!(other_wire.api_key_env, None);
}

/// The window comes from the settings, or else from the vendor's row. The model says which.
#[test]
fn windows_and_silence_come_from_settings_and_rows() {
    let all = configured("[anthropic]\nidle_seconds = 7\n[work]\ndialect = \"anthropic\"\nwindow = 9000\n");
    let environment = environment(&[("ANTHROPIC_API_KEY", "k")]);
    let window = |provider: &str, model: &str| {
        let provider = Provider::resolve(provider, &all).unwrap();
        let model = build(&provider, model, &environment).unwrap();
        (model.info().window, model.info().window_from)
    };
    assert_eq!(window("anthropic", "claude-sonnet-4-5"), (Some(200_000), Some(WindowFrom::Vendor)));
    assert_eq!(window("work", "claude-sonnet-4-5"), (Some(9_000), Some(WindowFrom::Setting)));
    assert_eq!(window("anthropic", "brook"), (None, None));
    let row = vendors().iter().find(|vendor| vendor.name == "xai").unwrap();
    assert!(row.window("grok-4-fast-reasoning") > row.window("grok-4"), "the longest beginning counts");

    let silence = Provider::resolve("anthropic", &all).unwrap().silence;
    assert_eq!((silence.first_byte.as_secs(), silence.idle.as_secs()), (120, 7));
}

/// Parameters that a hosted model refuses are not sent: a row says which models accept a temperature, and whether a
/// wire has a seed.
#[test]
fn temperature_and_seed_are_sent_where_a_row_does_not_say_otherwise() {
    let all =
        configured("[work]\ndialect = \"anthropic\"\n[box]\ndialect = \"openai\"\nbase_url = \"http://box:9000\"\n");
    let environment = environment(&[("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k"), ("MISTRAL_API_KEY", "k")]);
    let takes = |provider: &str, model: &str| {
        let provider = Provider::resolve(provider, &all).unwrap();
        let can = build(&provider, model, &environment).unwrap().info().capabilities;
        (can.temperature, can.seed)
    };
    for local in ["llamacpp", "ollama", "lmstudio", "box"] {
        assert_eq!(takes(local, "brook"), (true, true), "{local}");
    }
    assert_eq!(takes("openai", "gpt-4.1-mini"), (true, false));
    assert_eq!(takes("openai", "gpt-5-mini"), (false, false));
    assert_eq!(takes("work", "claude-sonnet-4-5"), (true, false));
    assert_eq!(takes("anthropic", "claude-opus-4-7"), (false, false));
    assert_eq!(takes("mistral", "mistral-small-latest"), (true, true));
}

#[test]
fn an_address_is_right_with_and_without_its_version() {
    let address = |dialect: &str, written: &str| {
        let all = configured(&format!("[mine]\ndialect = \"{dialect}\"\nbase_url = \"{written}\"\n"));
        Provider::resolve("mine", &all).unwrap().base_url
    };
    for (dialect, version) in [
        ("openai", "/v1"),
        ("openai-responses", "/v1"),
        ("anthropic", "/v1"),
        ("gemini", "/v1beta"),
        ("ollama", ""),
        ("llamacpp", ""),
    ] {
        let expect = format!("http://box:9000{version}");
        let with = if version.is_empty() { "/v1" } else { version };
        for written in ["http://box:9000".to_owned(), "http://box:9000/".to_owned(), format!("http://box:9000{with}/")]
        {
            assert_eq!(address(dialect, &written), expect, "{dialect} {written}");
        }
    }
    assert_eq!(address("openai", "http://box/api/paas/v4"), "http://box/api/paas/v4");
    assert_eq!(address("llamacpp", "http://box/pump/v1"), "http://box/pump");
}

/// The names `scripted:FILE` and `embedded:PATH` imply their dialect, so their tables need none.
#[test]
fn models_without_a_server_are_configured_under_their_own_names() {
    let all = configured("[scripted]\nslots = 4\nprice_input = 1000.0\nprice_output = 2000.0\n[embedded]\nslots = 2\n");
    let scripted = Provider::resolve("scripted", &all).unwrap();
    assert_eq!((scripted.dialect, scripted.slots_or_default(), scripted.local), (Dialect::Scripted, 4, true));
    assert_eq!(scripted.prices_of("any").cost_usd(&Usage { input: 1_000, output: 500, ..Usage::default() }), Some(2.0));
    let embedded = Provider::resolve("embedded", &all).unwrap();
    assert_eq!((embedded.dialect, embedded.slots_or_default()), (Dialect::Embedded, 2));
}

#[test]
fn wrong_settings_are_told() {
    let all = configured("[mine]\nwindow = 5\n[half]\ndialect = \"openai\"\n");
    let fault = |name: &str| Provider::resolve(name, &all).unwrap_err();
    assert!(matches!(fault("mine"), SettingsError::NoDialect { .. }));
    assert!(matches!(fault("half"), SettingsError::NoBaseUrl { .. }));
    let unknown = fault("nobody").to_string();
    assert!(unknown.contains("[providers.nobody]") && unknown.contains("mine") && unknown.contains("ollama"));
    assert!(toml::from_str::<ProviderSettings>("api_key = \"sk\"").is_err(), "a key in the file is refused");
}

#[test]
fn a_missing_key_names_its_variable() {
    let provider = Provider::resolve("groq", &BTreeMap::new()).unwrap();
    for environment in [environment(&[]), environment(&[("GROQ_API_KEY", "  ")])] {
        let Err(BuildError::MissingKey { variable, .. }) = build(&provider, "m", &environment) else {
            panic!("built without a key")
        };
        assert_eq!(variable, "GROQ_API_KEY");
    }
}

#[test]
fn keys_in_the_environment_are_found_by_name() {
    let present =
        keys_present(&environment(&[("GROQ_API_KEY", "a"), ("OPENAI_API_KEY", ""), ("ANTHROPIC_API_KEY", "b")]));
    let names: Vec<&str> = present.iter().map(|key| key.provider.as_str()).collect();
    assert_eq!(names, ["anthropic", "groq"]);
    assert!(!format!("{present:?}").contains("\"a\""));
}

#[test]
fn cost_needs_both_prices() {
    let usage = Usage { input: 1_000_000, output: 200_000, cached: 500_000, cost_usd: None };
    let prices = Prices { input: Some(3.0), cached_input: None, cache_write: None, output: Some(15.0) };
    assert_eq!(prices.cost_usd(&usage), Some(6.0), "cached input counts in full");
    assert_eq!(Prices { cached_input: Some(0.5), ..prices }.cost_usd(&usage), Some(4.75));
    let writes = Prices { cached_input: Some(0.5), cache_write: Some(3.75), ..prices };
    assert_eq!(writes.cost_with_writes_usd(&usage, 400_000), Some(5.05), "what goes into a cache costs more");
    assert_eq!(Prices { output: None, ..prices }.cost_usd(&usage), None);
}

/// Configured prices override the table, the table applies only to the vendor's own address, and what runs on this
/// machine is free.
#[test]
fn prices_come_from_the_settings_or_the_table() {
    let all = configured(
        "[openai]\nprice_input = 9.0\nprice_output = 9.0\n[anthropic]\nbase_url = \"http://127.0.0.1:9\"\n\
         [mine]\ndialect = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\n[claude]\ndialect = \"anthropic\"\n\
         [embedded]\nslots = 1\n[scripted]\nslots = 1\n",
    );
    let prices = |name: &str, model: &str| Provider::resolve(name, &all).unwrap().prices_of(model);
    assert_eq!(prices("openai", "gpt-5-mini").input, Some(9.0));
    assert!(prices("groq", "llama-3.3-70b-versatile").are_known());
    assert!(!prices("groq", "llama-3.3-70b-versatile-9").are_known(), "a whole name is no beginning");
    assert!(prices("claude", "claude-sonnet-4-5-20250929").are_known(), "a beginning fits");
    assert!(!prices("anthropic", "claude-sonnet-4-5").are_known(), "a proxy asks what it likes");
    assert!(!prices("mine", "gpt-5-mini").are_known());
    for name in ["ollama", "llamacpp", "lmstudio", "vllm", "embedded", "scripted"] {
        assert_eq!(prices(name, "any"), Prices::FREE, "{name}");
    }
}

/// covers: 12.1
#[test]
fn a_key_with_stray_characters_is_said_and_not_shown() {
    let provider = Provider::resolve("mistral", &BTreeMap::new()).unwrap();
    for (key, what) in [
        ("\"sk-abc\"", "a quotation mark (character 1)"),
        ("sk-\nabc", "a line break (character 4)"),
        ("Bearer sk-abc", "the word Bearer at the start (character 7)"),
        ("sk-abc def", "a blank (character 7)"),
        ("sk-\u{200b}abc", "the character U+200B (character 4)"),
    ] {
        let Err(fault) = build(&provider, "m", &environment(&[("MISTRAL_API_KEY", key)])) else { panic!("{key}") };
        let words = fault.to_string();
        assert_eq!(words, format!("the value of MISTRAL_API_KEY cannot be a key: it contains {what}"));
    }
    // Blanks around a key come from files and are ignored.
    assert!(build(&provider, "m", &environment(&[("MISTRAL_API_KEY", " sk-abc\n")])).is_ok());
}
