//! `model list`, `model pull`.

use std::collections::BTreeMap;

use callsheet_app::Advice;
use callsheet_local::weights;
use callsheet_models::config::{ProcessEnvironment, vendors};
use callsheet_models::probe;
use callsheet_runtime::ports::WindowFrom;
use tokio_util::sync::CancellationToken;

use crate::cli::{Exit, Failure, ModelCommand, ModelPullArgs};
use crate::models::{RUNS_EMBEDDED, bytes_words, hub_cache, models_folder, pull_row};
use crate::setup::Setup;
use crate::term::thousands;

pub(super) fn model(setup: &Setup, command: &ModelCommand) -> Result<Exit, Failure> {
    let runtime = super::runtime()?;
    runtime.block_on(async {
        match command {
            ModelCommand::List => list(setup).await,
            ModelCommand::Pull(arguments) => pull(setup, arguments).await,
            ModelCommand::Test(arguments) => super::model_test::test(setup, arguments).await,
        }
    })
}

/// The models that are available.
struct Inventory {
    servers: Vec<probe::Running>,
    keys: Vec<probe::KeyPresent>,
    embedded: Vec<serde_json::Value>,
}

impl Inventory {
    async fn take(setup: &Setup) -> Self {
        let folder = models_folder(&setup.folders);
        let row = |row: &weights::WeightsRow| {
            let found = weights::installed(row, &folder).or_else(|| hub_cache().and_then(|cache| cache.find(row)));
            serde_json::json!({
                "name": row.name, "parameters": row.parameters, "licence": row.licence, "bytes": row.about_bytes,
                "path": found, "note": row.note,
            })
        };
        Self {
            servers: probe::running(&ProcessEnvironment).await,
            keys: probe::keys_present(&ProcessEnvironment),
            embedded: weights::catalogue().iter().filter(|_| RUNS_EMBEDDED).map(row).collect(),
        }
    }

    fn print_json(&self) -> Result<(), Failure> {
        for server in &self.servers {
            let models: Vec<&str> = server.models.iter().map(|model| model.name.as_str()).collect();
            let windows = server.models.iter().filter_map(|model| Some((model.name.clone(), model.window?)));
            let windows: BTreeMap<String, u32> = windows.collect();
            super::print_json(&serde_json::json!({
                "server": server.provider, "at": server.base_url, "models": models, "windows": windows,
                "slots": server.slots,
            }))?;
        }
        for key in &self.keys {
            super::print_json(&serde_json::json!({ "provider": key.provider, "key": key.variable }))?;
        }
        self.embedded.iter().try_for_each(|row| super::print_json(&serde_json::json!({ "embedded": row })))
    }

    fn text(&self, setup: &Setup) -> String {
        let mut text = String::from("local servers\n");
        let none = |text: &mut String, empty: bool, words: &str| {
            if empty {
                text.push_str(&format!("  {words}\n"));
            }
        };
        none(&mut text, self.servers.is_empty(), "none responds on its default port");
        for (server, model) in
            self.servers.iter().flat_map(|server| server.models.iter().map(move |model| (server, model)))
        {
            let window = match model.window {
                Some(window) => format!("{} tokens, {}", thousands(u64::from(window)), WindowFrom::Server.words()),
                None => "window unknown".to_owned(),
            };
            let name = crate::term::harmless(&model.name);
            text.push_str(&format!("  {}/{name}, {window}\n", server.provider));
        }
        text.push_str("configured providers\n");
        let configured = setup.config.providers();
        none(&mut text, configured.is_empty(), "none");
        for name in &configured {
            let at = setup.config.provider(name, "base_url").and_then(|value| value.as_str());
            let window = setup.config.provider(name, "window").and_then(serde_json::Value::as_u64);
            let window =
                window.map(|window| format!(", {} tokens, {}", thousands(window), WindowFrom::Setting.words()));
            let at = at.unwrap_or("its vendor's address");
            text.push_str(&format!("  {name}/MODEL at {at}{}\n", window.unwrap_or_default()));
        }
        text.push_str("vendor keys in the environment\n");
        let variables: Vec<&str> = vendors().iter().filter_map(|vendor| vendor.api_key_env.as_deref()).collect();
        none(&mut text, self.keys.is_empty(), &format!("none of {}", variables.join(", ")));
        for key in &self.keys {
            text.push_str(&format!("  {}/MODEL ({} is set)\n", key.provider, key.variable));
            for (beginning, tokens) in
                vendors().iter().filter(|row| row.name == key.provider).flat_map(|row| &row.windows)
            {
                let tokens = thousands(u64::from(*tokens));
                text.push_str(&format!("    {beginning}…: {tokens} tokens, {}\n", WindowFrom::Vendor.words()));
            }
        }
        text.push_str("embedded models\n");
        none(&mut text, !RUNS_EMBEDDED, "none, because this build cannot run them; build with `--features embedded`");
        self.embedded.iter().for_each(|row| text.push_str(&embedded_text(row)));
        text
    }
}

fn embedded_text(row: &serde_json::Value) -> String {
    let there = match row["path"].as_str() {
        Some(path) => format!("embedded:{path}"),
        None => format!("not downloaded; callsheet model pull {}", row["name"].as_str().unwrap_or_default()),
    };
    let field = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let size = bytes_words(row["bytes"].as_u64().unwrap_or_default());
    let (name, parameters, licence, note) = (field("name"), field("parameters"), field("licence"), field("note"));
    format!("  {name} ({parameters}, {licence}, {size}): {there}\n    {note}\n")
}

async fn list(setup: &Setup) -> Result<Exit, Failure> {
    let inventory = Inventory::take(setup).await;
    if setup.json {
        inventory.print_json()?
    } else {
        super::print(&inventory.text(setup))?
    }
    Ok(Exit::Complete)
}

async fn pull(setup: &Setup, arguments: &ModelPullArgs) -> Result<Exit, Failure> {
    if !RUNS_EMBEDDED {
        return Err(Failure::usage(
            "this build cannot run embedded models, so nothing was downloaded",
            Advice::from("build with `--features embedded`, or start a server")
                .or("see what is there", ["model", "list"]),
        ));
    }
    let rows: Vec<_> = match &arguments.name {
        Some(name) => {
            let names: Vec<&str> = weights::catalogue().iter().map(|row| row.name.as_str()).collect();
            let row = weights::row(name).ok_or_else(|| {
                Failure::usage(format!("there is no embedded model {name}"), format!("there are: {}", names.join(", ")))
            })?;
            vec![row]
        }
        None => weights::unasked().collect(),
    };
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
    let mut reasons = Vec::new();
    for row in rows {
        match pull_row(row, &setup.folders, &cancel).await {
            Ok(pulled) => {
                let what = if pulled.fetched { "downloaded and verified" } else { "already downloaded" };
                tell!("{what}: {}", pulled.path.display());
                return super::print(&format!("embedded:{}\n", pulled.path.display())).map(|()| Exit::Complete);
            }
            Err(_) if cancel.is_cancelled() => {
                tell!("stopped; run the same command to resume the download");
                return Ok(Exit::Cancelled);
            }
            Err(fault) => reasons.push(format!("{}: {fault}", row.name)),
        }
    }
    Err(Failure::new(Exit::Unreachable, reasons.join("\n"), "nothing was changed"))
}
