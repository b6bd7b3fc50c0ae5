//! `model test`: tests how fast a model is and what it is good for, and prints each result at once.

use std::sync::Arc;

use callsheet_app::Advice;
use callsheet_core::nouns::Phase;
use callsheet_models::config::ProcessEnvironment;
use callsheet_models::measure::{SPEED_TOKENS, Speed, speed};
use callsheet_runtime::ports::{Model, ModelInfo, ModelSource};
use tokio_util::sync::CancellationToken;

use crate::cli::{Exit, Failure, ModelTestArgs};
use crate::config::{Config, Origin, Value};
use crate::models::{Choice, Fetch, Models, Tape, choose};
use crate::setup::Setup;
use crate::term::{harmless, picture_words, thousands, window_words};

use super::trial::{Job, Trial, Tried, verdict};

pub(super) async fn test(setup: &Setup, arguments: &ModelTestArgs) -> Result<Exit, Failure> {
    let mut config = setup.config.clone();
    if let Some(name) = &arguments.model {
        let origin = Origin::Flag("model test".to_owned());
        config.values.insert("model".to_owned(), Value { value: serde_json::json!(name), origin });
    }
    let choice = choose(&config, &setup.folders, &ProcessEnvironment, Fetch::Never).await?;
    tell!("testing {} ({})", choice.model, choice.reason);
    let (models, model) = alone(config, &choice).await?;
    let stop = until_interrupted();
    if !setup.json {
        super::print(&known(model.info(), choice.slots))?;
    }
    let speed = match speed(&model, SPEED_TOKENS, &stop).await {
        Ok(speed) => speed,
        Err(_) if stop.is_cancelled() => return Ok(Exit::Cancelled),
        Err(fault) => return Err(Failure::new(Exit::Unreachable, format!("no answer: {fault}"), "")),
    };
    if !setup.json {
        super::print(&speed_line(&speed))?;
    }
    let trial = Trial { setup, models, choice: &choice, stop: stop.clone() };
    let mut tried = Vec::new();
    for job in Job::ALL {
        let one = trial.of(job).await?;
        if stop.is_cancelled() {
            return Ok(Exit::Cancelled);
        }
        if setup.json {
            super::print_json(&one)?
        } else {
            super::print(&harmless(&line(&one)))?
        }
        tried.push(one);
    }
    let verdict = verdict(&tried);
    if setup.json {
        super::print_json(&serde_json::json!({
            "model": model.info(), "slots": choice.slots, "speed": speed, "verdict": verdict,
        }))?;
    } else {
        super::print(&format!("{verdict}\n"))?;
    }
    Ok(Exit::Complete)
}

/// The chosen model, which does every job even if the configuration names others for phases.
pub(super) async fn alone(mut config: Config, choice: &Choice) -> Result<(Arc<Models>, Arc<dyn Model>), Failure> {
    config.values.retain(|key, _| key != "model" && !key.starts_with("models."));
    let models = Arc::new(Models::new(&config, choice, Tape::None, Box::new(|text| tell!("note: {text}")))?);
    models.connect().await;
    let model = models
        .model(Phase::Execute, None)
        .map_err(|fault| Failure::internal(fault.to_string(), Advice::command("see the configuration", ["doctor"])))?;
    Ok((models, model))
}

/// A token that Ctrl-C cancels.
pub(super) fn until_interrupted() -> CancellationToken {
    let stop = CancellationToken::new();
    let interrupted = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            interrupted.cancel();
        }
    });
    stop
}

/// What is known of the model before it is asked.
fn known(info: &ModelInfo, slots: Option<u32>) -> String {
    let slots = slots.map_or_else(|| "unknown".to_owned(), |slots| thousands(u64::from(slots)));
    let (window, pictures) = (window_words(info), picture_words(info));
    harmless(&format!("model    {}\nwindow   {window}\nslots    {slots}\npictures {pictures}\n", info.id))
}

fn speed_line(speed: &Speed) -> String {
    let (first, rate) = (speed.first_text_ms, speed.tokens_per_second);
    format!("speed    first text after {first} ms, {rate:.1} tokens a second\n")
}

fn line(tried: &Tried) -> String {
    let (name, seconds, rate) = (tried.job.name(), tried.seconds, tried.tokens_per_second);
    let how = if tried.right { "right" } else { "wrong" };
    let why = tried.wrong.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{name:<8} {how}, {seconds:.1} s, {rate:.1} tokens a second{why}\n")
}
