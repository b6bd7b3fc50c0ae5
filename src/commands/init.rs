//! `init`: finds the models that can be used here, asks which one to use, writes it to the user's configuration file,
//! and tests it with one short call. It never writes API keys, which stay in the environment.

use std::io::BufRead;
use std::path::Path;

use callsheet_app::Advice;
use callsheet_models::config::{ModelRef, ModelRefError, ProcessEnvironment};
use callsheet_models::measure::speed;
use callsheet_runtime::paths::{create_private_folder, write_private};
use toml_edit::DocumentMut;

use crate::cli::{Cli, Exit, Failure, InitArgs};
use crate::models::{Choice, Offer, Offered, list_models, offers, pull_row, size};
use crate::setup::Setup;
use crate::term::{duration, harmless, is_interactive};

use super::model_test::{alone, until_interrupted};
use super::say;

/// The token limit of the test call.
const TEST_TOKENS: u32 = 16;

/// The largest number of listed offers.
const SHOWN: usize = 12;

/// The first lines of a new configuration file.
const HEAD: &str = "\
# Your settings for all projects. `callsheet doctor` prints each value and where it is set.
# API keys stay in the environment; never write them here.
";

pub(super) fn init(cli: &Cli, setup: &Setup, arguments: &InitArgs) -> Result<Exit, Failure> {
    let file = setup.folders.config_file();
    let asks = is_interactive() && !arguments.yes && !setup.json;
    if !asks && !arguments.yes && arguments.model.is_none() {
        return Err(Failure::usage(
            "`init` asks questions, and nobody can answer them without a terminal",
            "name a model with --model, or take the first one found with --yes",
        ));
    }
    if file.exists() && !arguments.force && !may_change(&file, asks)? {
        say(setup, "nothing was changed")?;
        return Ok(Exit::Complete);
    }
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let Some(model) = wanted(setup, arguments, asks).await? else {
            say(setup, "nothing was changed")?;
            return Ok(Exit::Cancelled);
        };
        write(&file, &model)?;
        say(setup, &format!("wrote {}: model = \"{model}\"", file.display()))?;
        let changed = Setup::new(cli, Vec::new())?;
        if let Some(value) = changed.config.values.get("model").filter(|value| value.value != model.to_string()) {
            say(setup, &format!("note: {} sets another model here: {}", value.origin, value.value))?;
        }
        test(&changed, model).await
    })
}

/// Whether an existing file may be changed.
fn may_change(file: &Path, asks: bool) -> Result<bool, Failure> {
    if !asks {
        return Err(Failure::usage(
            format!("{} exists already", file.display()),
            "add --force to change its model; the rest of the file stays",
        ));
    }
    let answer = ask(&format!("{} exists. Change its model? The rest of the file stays. [y/N] ", file.display()));
    Ok(answer.is_some_and(|answer| ["y", "yes"].contains(&answer.to_ascii_lowercase().as_str())))
}

/// The model to write. `None` if the person stopped.
async fn wanted(setup: &Setup, arguments: &InitArgs, asks: bool) -> Result<Option<ModelRef>, Failure> {
    if let Some(name) = &arguments.model {
        return name.parse().map(Some).map_err(|fault: ModelRefError| bad_name(&fault));
    }
    let offers = offers(&setup.folders, &ProcessEnvironment).await;
    if !asks {
        // --yes alone does not permit a download.
        let first = offers
            .iter()
            .find(|offer| matches!(offer.what, Offered::Ready(_)))
            .ok_or_else(|| nothing_found(&offers))?;
        return had(setup, first).await;
    }
    if offers.is_empty() {
        let Failure { what, advice, .. } = nothing_found(&offers);
        tell!("{what}");
        tell!("What you can do: {}.", advice.for_shell(&setup.command));
    } else {
        tell!("Models that you can use:");
    }
    for (number, offer) in (1..).zip(offers.iter().take(SHOWN)) {
        tell!("{number:>3}  {}  ({})", harmless(&offer.name()), harmless(&offer.why));
    }
    let question = match offers.is_empty() {
        true => "Or name a model that you will have (PROVIDER/MODEL, Enter: stop) ",
        false => "Which one? (its number, or PROVIDER/MODEL, Enter: 1) ",
    };
    loop {
        let answer = ask(question).filter(|answer| !offers.is_empty() || !answer.is_empty());
        let Some(answer) = answer else { return Ok(None) };
        let number = if answer.is_empty() { Some(1) } else { answer.parse::<usize>().ok() };
        let chosen = number.and_then(|number| offers.get(number.checked_sub(1)?));
        match (chosen, answer.parse::<ModelRef>()) {
            (Some(offer), _) => return had(setup, offer).await,
            (None, Ok(model)) => return Ok(Some(model)),
            (None, Err(_)) if offers.is_empty() => tell!("A model is named PROVIDER/MODEL, such as ollama/qwen2.5:7b."),
            (None, Err(_)) => tell!("There is no such model in the list; another one is named PROVIDER/MODEL."),
        }
    }
}

/// The model of an offer, downloaded if necessary. `None` if the person stopped the download.
async fn had(setup: &Setup, offer: &Offer) -> Result<Option<ModelRef>, Failure> {
    let row = match &offer.what {
        Offered::Ready(model) => return Ok(Some(model.clone())),
        Offered::Download(row) => row,
    };
    let stop = until_interrupted();
    match pull_row(row, &setup.folders, &stop).await {
        Ok(pulled) => Ok(Some(ModelRef::Embedded(pulled.path))),
        Err(_) if stop.is_cancelled() => Ok(None),
        Err(fault) => Err(Failure::new(
            Exit::Unreachable,
            fault.to_string(),
            Advice::command("nothing was changed; once more", ["init"]),
        )),
    }
}

fn bad_name(fault: &ModelRefError) -> Failure {
    Failure::usage(fault.to_string(), list_models())
}

fn nothing_found(offers: &[Offer]) -> Failure {
    let download = offers.iter().find_map(|offer| match offer.what {
        Offered::Download(row) => {
            Some(Advice::command(format!("download {} ({})", row.name, size(row)), ["model", "pull"]))
        }
        Offered::Ready(_) => None,
    });
    let download = download.unwrap_or_default();
    Failure::new(
        Exit::Unreachable,
        "found no model: no API key is set, and no Ollama or llama.cpp server here has one",
        download
            .and("with Ollama, `ollama pull qwen2.5:7b`; or start a llama.cpp server; or set an API key, such as ANTHROPIC_API_KEY")
            .or("then", ["init"])
            .or("see what was checked", ["doctor"])
            .or("without a model", ["demo"]),
    )
}

/// Sets the model in the file and keeps everything else.
fn write(file: &Path, model: &ModelRef) -> Result<(), Failure> {
    let fault = |what: String| Failure::internal(format!("can't write {}: {what}", file.display()), "");
    // The file may be a link to the place where the person keeps their settings.
    let target = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let old = if target.exists() { std::fs::read_to_string(&target) } else { Ok(HEAD.to_owned()) };
    let old = old.map_err(|error| fault(error.to_string()))?;
    let mut document: DocumentMut = old.parse().map_err(|error: toml_edit::TomlError| fault(error.to_string()))?;
    let value = toml_edit::value(model.to_string());
    match document.get_mut("model") {
        // The comments above its key stay.
        Some(item) => *item = value,
        None => drop(document.insert("model", value)),
    }
    // In a file without keys, leading comments are stored as its end.
    let fresh = document.len() == 1 && old.lines().all(|line| line.is_empty() || line.starts_with('#'));
    let text =
        if fresh { format!("{old}model = {}\n", toml_edit::value(model.to_string())) } else { document.to_string() };
    if let Some(folder) = target.parent() {
        create_private_folder(folder).map_err(|error| fault(error.to_string()))?;
    }
    let part = target.with_extension(format!("toml.{}.new", std::process::id()));
    let written = write_private(&part, text.as_bytes()).and_then(|()| std::fs::rename(&part, &target));
    written.map_err(|error| fault(error.to_string()))
}

/// Tests the model with one short call.
async fn test(setup: &Setup, model: ModelRef) -> Result<Exit, Failure> {
    let choice = Choice { model, reason: "as you asked".to_owned(), slots: None };
    let failed = |why: String| {
        Failure::new(
            Exit::Unreachable,
            format!("the configuration is written, but {} did not answer: {why}", choice.model),
            Advice::command("fix that, then test it", ["model", "test"]).or("or choose another model", ["init"]),
        )
    };
    tell!("testing {} with one short call", choice.model);
    let (_, asked) = alone(setup.config.clone(), &choice).await.map_err(|failure| failed(failure.what))?;
    let stop = until_interrupted();
    let speed = match speed(&asked, TEST_TOKENS, &stop).await {
        Ok(speed) => speed,
        Err(_) if stop.is_cancelled() => return Ok(Exit::Cancelled),
        Err(fault) => return Err(failed(fault.to_string())),
    };
    if setup.json {
        let file = setup.folders.config_file();
        super::print_json(&serde_json::json!({ "model": choice.model.to_string(), "file": file, "speed": speed }))?;
        return Ok(Exit::Complete);
    }
    tell!("It answers, after {}. Next:", duration(speed.first_text_ms));
    tell!("  callsheet run \"What is this project about, and what in it is unfinished?\"");
    tell!("  callsheet model test       # what the model is good for, in a few minutes");
    Ok(Exit::Complete)
}

/// Asks a question. `None` if nobody is there to answer any more.
fn ask(question: &str) -> Option<String> {
    tell_part!("{}", harmless(question));
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(1..) => Some(line.trim().to_owned()),
        _ => None,
    }
}
