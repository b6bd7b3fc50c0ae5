//! One model call: builds the prompt, takes a slot, sends the request with the retries of spec 12.1, and records the
//! reply before anything acts on it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use callsheet_core::events::{self, Event};
use callsheet_core::nouns::{BlobId, SkillMode, SkillPolicy};
use callsheet_core::record::{CallFault, CallKey, CallSizes, StopReason, Tree, Usage};
use callsheet_core::run::{ModelCall, Run};

use crate::ports::{Clock, Model, ModelFault, ModelInfo, ModelReply, Observer, Signal};
use crate::transport_policy::{Line, Permit, RetryPolicy, Told, jitter, send};

use super::work::{EffectFuture, EffectResult, Work, ready};
use crate::fault::DriveFault;
use crate::prompting::fault::PromptFault;
use crate::prompting::review::Prepared;
use crate::prompting::{PromptRecord, constraint};
use crate::replay::replay;
use crate::services::Services;

/// How much silence is reported.
const SILENCE: Duration = Duration::from_secs(30);

pub(crate) fn ask(work: Work, run: &Run, asked: ModelCall) -> EffectFuture {
    let wish = wish(run, &asked);
    let models = match models_of(&work.services, run, &asked) {
        Ok(models) => models,
        Err(fault) => return ready(Ok(vec![failed(asked.key, &fault, 0).into()])),
    };
    let models = match priced(&work.services, run, models) {
        Ok(models) => models,
        Err(fault) => return ready(Ok(vec![failed(asked.key, &fault, 0).into()])),
    };
    let is_handler = wish.is_some_and(|skill| skill.mode == SkillMode::Handler);
    if is_handler {
        models.iter().for_each(|model| work.services.warn_unknown_window(model.info()));
    }
    // The content of a prompt depends on the window and the abilities of the model that reads it.
    let prepared = models.into_iter().map(|model| Ok((Prepared::of(&work.services, run, &asked, &*model)?, model)));
    let prepared: VecDeque<(Prepared, Arc<dyn Model>)> = match prepared.collect::<Result<_, DriveFault>>() {
        Ok(prepared) => prepared,
        Err(fault) => return ready(Err(fault)),
    };
    if asked.reuses {
        work.services.earlier_calls.note(run);
    }
    let policy = RetryPolicy { sends: run.settings().comm_tries.max(1), ..RetryPolicy::default() };
    let own_bytes = wish.and_then(|skill| skill.limits.task.max_output_bytes);
    let max_bytes = own_bytes.unwrap_or(run.settings().limits.max_output_bytes);
    let accepts = Accepts { bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX), empty: is_handler };
    Box::pin(async move {
        let end = first_that_answers(&work, &asked, prepared, &policy, accepts).await?;
        Ok(EffectResult::Events(vec![end.into()]))
    })
}

/// The skill of the task that asks.
fn wish<'a>(run: &'a Run, asked: &ModelCall) -> Option<&'a SkillPolicy> {
    asked.key.task.as_ref().and_then(|slug| run.task(slug)).and_then(|task| task.skill.as_ref())
}

/// The models that a call may ask, in their order.
pub(crate) fn models_of(services: &Services, run: &Run, asked: &ModelCall) -> Result<Vec<Arc<dyn Model>>, ModelFault> {
    let wish = wish(run, asked);
    let wishes: Vec<&str> =
        wish.iter().flat_map(|skill| skill.model.iter().chain(&skill.fallbacks)).map(String::as_str).collect();
    services.models.models(asked.key.phase, &wishes)
}

/// Whether the run or a task of its tree has a limit of cost.
fn has_price_limit(run: &Run) -> bool {
    let of_tasks = |tree: &Arc<Tree>| {
        let mut nodes = tree.templates.values().flat_map(|template| template.body.walk());
        nodes.any(|node| node.limits.max_cost_usd.is_some())
    };
    run.settings().limits.cost_usd().is_some() || run.operators().trees().any(of_tasks)
}

/// Under a cost limit, only models with a known price, because the limit cannot hold others. If a person allowed it,
/// all models and a warning.
fn priced(services: &Services, run: &Run, models: Vec<Arc<dyn Model>>) -> Result<Vec<Arc<dyn Model>>, ModelFault> {
    let Some(unpriced) = models.iter().find(|model| model.info().unpriced).filter(|_| has_price_limit(run)) else {
        return Ok(models);
    };
    let words = unpriced_words(unpriced.info());
    if run.settings().limits.allow_unpriced {
        if services.unpriced.add(&unpriced.info().id) {
            services.notice(&words);
        }
        return Ok(models);
    }
    let priced: Vec<Arc<dyn Model>> = models.into_iter().filter(|model| !model.info().unpriced).collect();
    let message = || format!("{words}, or allow it with --set limits.allow_unpriced=true");
    if priced.is_empty() { Err(ModelFault::Configuration { message: message() }) } else { Ok(priced) }
}

/// Says that a cost limit cannot hold for this model, and what to do.
pub fn unpriced_words(model: &ModelInfo) -> String {
    let (id, provider) = (&model.id, &model.provider);
    format!(
        "can't enforce the cost limit, because the price of {id} is unknown; set providers.{provider}.price_input and price_output \
         (0 if it is free)"
    )
}

/// What a reply may contain.
#[derive(Clone, Copy)]
struct Accepts {
    /// Longer text is cut.
    bytes: usize,
    /// Whether an empty text counts as a reply, which its reader reports (spec "Templates" 6). Otherwise it is a broken
    /// stream (spec 12.3).
    empty: bool,
}

/// How a call ended.
enum CallEnd {
    Replied(events::ReplyReceived),
    Failed(events::CallFailed),
}

impl From<CallEnd> for Event {
    fn from(end: CallEnd) -> Self {
        match end {
            CallEnd::Replied(event) => event.into(),
            CallEnd::Failed(event) => event.into(),
        }
    }
}

/// Asks the models in their order until one can be used and reached. If none can, the failure of the last one is that
/// of the call.
async fn first_that_answers(
    work: &Work,
    asked: &ModelCall,
    mut prepared: VecDeque<(Prepared, Arc<dyn Model>)>,
    policy: &RetryPolicy,
    accepts: Accepts,
) -> Result<CallEnd, DriveFault> {
    let (mut sends_before, deadline_ms, begun) = (0_u32, asked.deadline_ms, work.services.clock.now_ms());
    let mut end = CallEnd::Failed(failed(asked.key.clone(), &ModelFault::Cancelled, 0));
    while let Some((parts, model)) = prepared.pop_front() {
        let left_ms = || deadline_ms.saturating_sub(work.services.clock.now_ms().saturating_sub(begun));
        let refused = |fault, message, sizes| {
            CallEnd::Failed(events::CallFailed { key: asked.key.clone(), fault, sends: sends_before, message, sizes })
        };
        let failed = |fault: &ModelFault| failed(asked.key.clone(), fault, sends_before);
        let prompt = parts.render(&work.services, &work.cancel).await;
        if let Ok(prompt) = &prompt
            && let Some(end) = reused(&work.services, asked, prompt, &*model, accepts)?
        {
            return Ok(end);
        }
        end = match prompt.and_then(|prompt| affordable(asked, prompt, &*model)) {
            Ok(prompt) => match slot(work, &model.info().provider, left_ms()).await {
                Ok(_slot) => {
                    let policy = RetryPolicy { has_other: !prepared.is_empty(), ..*policy };
                    let asked = ModelCall { deadline_ms: left_ms(), ..asked.clone() };
                    call(work, &asked, &prompt, &model, (&policy, sends_before), accepts).await?
                }
                Err(fault) => CallEnd::Failed(failed(&fault)),
            },
            Err(PromptFault::Model(fault)) => CallEnd::Failed(failed(&fault)),
            Err(PromptFault::TooLarge(used, max)) => {
                let fault = ModelFault::ContextOverflow { message: format!("about {used} tokens; the limit is {max}") };
                let sizes = Some(sizes(Some((used, max)), None, accepts));
                CallEnd::Failed(events::CallFailed { sizes, ..failed(&fault) })
            }
            Err(PromptFault::OverBudget(used, left)) => {
                let message = format!("the prompt has about {used} tokens, but its token budget has only {left} left");
                refused(CallFault::Budget, message, Some(CallSizes { prompt: used, ..CallSizes::default() }))
            }
            Err(PromptFault::OverCost(cost, left)) => {
                let message =
                    format!("the prompt alone would cost about ${cost:.4}, but the cost limit leaves only ${left:.4}");
                refused(CallFault::Cost, message, None)
            }
            Err(PromptFault::Reference(message)) => refused(CallFault::Reference, message, None),
        };
        match (&end, prepared.front()) {
            (CallEnd::Failed(failed), Some((_, next))) if is_of_the_model(&failed.fault) => {
                let (model, next, why) = (&model.info().id, &next.info().id, &failed.message);
                work.services.notice(&format!("{model}: {why}; asking {next}"));
                sends_before = failed.sends;
            }
            _ => break,
        }
    }
    Ok(end)
}

/// The reply of an earlier, equal call, if the call may reuse it.
fn reused(
    services: &Services,
    asked: &ModelCall,
    prompt: &PromptRecord,
    model: &dyn Model,
    accepts: Accepts,
) -> Result<Option<CallEnd>, DriveFault> {
    if !asked.reuses {
        return Ok(None);
    }
    let found = services.earlier_calls.find(
        &*services.store,
        &|id| Ok(replay(&services.store, id)?.0),
        &model.info().id,
        &prompt.request,
    )?;
    let Some((earlier, mut reply)) = found else { return Ok(None) };
    reply.usage = Usage { cost_usd: Some(0.0), ..Usage::default() };
    let sizes = sizes(prompt.size, Some(&reply), accepts);
    let mut received = received(services, asked, (prompt, &reply), services.clock.now_ms(), 0, sizes)?;
    if let CallEnd::Replied(event) = &mut received {
        event.reused = Some(earlier);
    }
    Ok(Some(received))
}

/// Limits the reply to what the cost limits leave beside the prompt. Refuses a prompt that leaves nothing.
fn affordable(asked: &ModelCall, mut prompt: PromptRecord, model: &dyn Model) -> Result<PromptRecord, PromptFault> {
    let info = model.info();
    let (Some(left), Some(input), Some(output)) = (asked.max_cost_usd, info.price_input, info.price_output) else {
        return Ok(prompt);
    };
    let tokens = u32::try_from(prompt.request.estimated_tokens()).unwrap_or(u32::MAX);
    let cost = f64::from(tokens) * input / MILLION;
    let most = prompt.request.max_output_tokens;
    let paid = paid_output(left - cost, output, most).ok_or(PromptFault::OverCost(cost, left))?;
    prompt.request.max_output_tokens = paid;
    prompt.shortened |= paid < most;
    Ok(prompt)
}

/// Prices are for so many tokens.
const MILLION: f64 = 1_000_000.0;

/// How many of at most `most` output tokens `left` US dollars pay, if they pay any.
fn paid_output(left: f64, price: f64, most: u32) -> Option<u32> {
    if left <= 0.0 && price > 0.0 || left < 0.0 {
        return None;
    }
    // A number that is out of range becomes the nearest one of the type.
    let paid = if price > 0.0 { (left * MILLION / price) as u32 } else { most };
    (paid > 0).then_some(paid.min(most))
}

/// Waits for a slot of the provider, as long as the call has time.
async fn slot(work: &Work, provider: &str, left_ms: u64) -> Result<Permit, ModelFault> {
    tokio::select! {
        biased;
        slot = work.services.slots.acquire(provider, work.turn, &work.cancel) => slot.ok_or(ModelFault::Cancelled),
        () = work.services.clock.sleep(Duration::from_millis(left_ms)) => Err(ModelFault::Deadline),
    }
}

/// Whether another model may be asked after this fault.
fn is_of_the_model(fault: &CallFault) -> bool {
    matches!(fault, CallFault::Communication | CallFault::Configuration)
}

/// Sends with retries. The call's time covers all sends.
async fn call(
    work: &Work,
    asked: &ModelCall,
    prompt: &PromptRecord,
    model: &Arc<dyn Model>,
    (policy, sends_before): (&RetryPolicy, u32),
    accepts: Accepts,
) -> Result<CallEnd, DriveFault> {
    let services = &work.services;
    let begun = services.clock.now_ms();
    let line = Line {
        provider: &model.info().provider,
        pauses: services.slots.pauses(),
        clock: &*services.clock,
        until_ms: begun.saturating_add(asked.deadline_ms),
    };
    let mut tell = |told: Told<'_>| {
        let (send, wait, message) = match told {
            Told::Again(send, wait, message) => (send, wait, message),
            Told::Held(wait) => (0, wait, ""),
        };
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        services.observer.see(&Signal::Retry { key: &asked.key, send, wait_ms, message });
    };
    let sent = send(policy, &line, &mut jitter, &work.cancel, &mut tell, |_| {
        let spent = services.clock.now_ms().saturating_sub(begun);
        once(work, &asked.key, prompt, model, asked.deadline_ms.saturating_sub(spent), accepts)
    })
    .await;
    let fault = match sent.result {
        Ok(mut reply) => {
            std::mem::take(&mut reply.notices).iter().for_each(|words| services.notice(words));
            let sizes = sizes(prompt.size, Some(&reply), accepts);
            let sends = sends_before.saturating_add(sent.sends);
            return received(services, asked, (prompt, &reply), begun, sends, sizes);
        }
        Err(fault) => fault,
    };
    // If a provider refuses a constraint that it was said to support, it gets the request once more without it.
    if let Some(freed) = prompt.freed().filter(|_| constraint::may_blame(&fault)) {
        let left = asked.deadline_ms.saturating_sub(services.clock.now_ms().saturating_sub(begun));
        if let Ok(reply) = once(work, &asked.key, &freed, model, left, accepts).await {
            // A schema that an author declared says nothing about our own forms.
            let own = prompt.request.constraint.as_ref().is_some_and(|one| one.grammar.is_some() || one.form.is_some());
            if !own {
                services.notice(&format!("{} does not accept the declared schema: {fault}", model.info().id));
            } else if services.refused_constraints.add(&model.info().id) {
                services.notice(&format!("{} accepts no constraint on replies: {fault}", model.info().id));
            }
            let sizes = sizes(prompt.size, Some(&reply), accepts);
            let sends = sends_before.saturating_add(sent.sends).saturating_add(1);
            return received(services, asked, (&freed, &reply), begun, sends, sizes);
        }
    }
    let sizes = Some(sizes(prompt.size, None, accepts));
    let failed = failed(asked.key.clone(), &fault, sends_before.saturating_add(sent.sends));
    Ok(CallEnd::Failed(events::CallFailed { sizes, ..failed }))
}

/// The size of a call. Calls in a reply count like its text as what the model wrote.
fn sizes(prompt: Option<(u32, u32)>, reply: Option<&ModelReply>, accepts: Accepts) -> CallSizes {
    let (tokens, limit) = prompt.unwrap_or_default();
    let bytes = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let said = reply.map_or(0, |reply| {
        let arguments: usize = reply.calls.iter().map(|call| call.arguments.to_string().len()).sum();
        reply.text.len().saturating_add(arguments)
    });
    CallSizes {
        prompt: u64::from(tokens),
        prompt_limit: u64::from(limit),
        reply: bytes(said),
        reply_limit: bytes(accepts.bytes),
    }
}

/// Reports once that a call is silent, since it was sent or since its last sign of life.
async fn report_silence(clock: &dyn Clock, observer: &dyn Observer, key: &CallKey, heard: &AtomicBool) -> Infallible {
    loop {
        clock.sleep(SILENCE).await;
        if !heard.swap(false, Ordering::Relaxed) {
            break;
        }
    }
    observer.see(&Signal::Silent { key, seconds: SILENCE.as_secs() });
    std::future::pending().await
}

async fn once(
    work: &Work,
    key: &CallKey,
    prompt: &PromptRecord,
    model: &Arc<dyn Model>,
    left_ms: u64,
    accepts: Accepts,
) -> Result<ModelReply, ModelFault> {
    let observer = &work.services.observer;
    let heard = AtomicBool::new(false);
    let deltas = |text: &str| {
        heard.store(true, Ordering::Relaxed);
        observer.see(&Signal::Delta { key, text });
    };
    let mut request = prompt.request.clone();
    request.deadline = Duration::from_millis(left_ms);
    let mut reply = tokio::select! {
        biased;
        reply = model.ask(&request, &deltas, &work.cancel) => reply?,
        never = report_silence(&*work.services.clock, &**observer, key, &heard) => match never {},
    };
    if prompt.shortened && reply.stop == StopReason::Length {
        reply.stop = StopReason::Budget;
    }
    if reply.text.len() > accepts.bytes {
        let end = (0..=accepts.bytes).rev().find(|end| reply.text.is_char_boundary(*end)).unwrap_or(0);
        reply.text.truncate(end);
        reply.stop = StopReason::Length;
    }
    if !accepts.empty && reply.text.trim().is_empty() && reply.calls.is_empty() && reply.thinking.is_none() {
        let message = "the reply was empty".to_owned();
        return Err(ModelFault::Communication { message });
    }
    Ok(reply)
}

fn received(
    services: &Services,
    asked: &ModelCall,
    (prompt, reply): (&PromptRecord, &ModelReply),
    begun: u64,
    sends: u32,
    sizes: CallSizes,
) -> Result<CallEnd, DriveFault> {
    let store = &services.store;
    let mut pictures: Vec<BlobId> = Vec::new();
    for picture in prompt.request.pictures() {
        if !pictures.contains(&picture.about.blob) {
            pictures.push(store.stage_blob(picture.content.to_vec()));
        }
    }
    let prompt = serde_json::to_vec(prompt).map_err(DriveFault::defect)?;
    // Stores only the text: the same words are the same blob. The rest is in the event.
    let said =
        ModelReply { usage: Usage::default(), stop: StopReason::default(), model: String::new(), ..reply.clone() };
    let text = serde_json::to_vec(&said).map_err(DriveFault::defect)?;
    Ok(CallEnd::Replied(events::ReplyReceived {
        key: asked.key.clone(),
        prompt: store.stage_blob(prompt),
        reply: store.stage_blob(text),
        model: reply.model.clone(),
        usage: reply.usage,
        ms: services.clock.now_ms().saturating_sub(begun),
        sends,
        stop: reply.stop,
        reused: None,
        pictures,
        sizes: Some(sizes),
    }))
}

fn failed(key: CallKey, fault: &ModelFault, sends: u32) -> events::CallFailed {
    let kind = match fault {
        ModelFault::Communication { .. } | ModelFault::Busy { .. } => CallFault::Communication,
        ModelFault::Configuration { .. } | ModelFault::Exhausted { .. } => CallFault::Configuration,
        ModelFault::ContextOverflow { .. } => CallFault::ContextOverflow,
        ModelFault::Deadline => CallFault::Timeout,
        ModelFault::Cancelled => CallFault::Cancelled,
    };
    events::CallFailed { key, fault: kind, sends, message: fault.to_string(), sizes: None }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use callsheet_core::nouns::Phase;

    use super::*;

    /// Does not wait, but remembers how long it was asked to.
    #[derive(Default)]
    struct Waits(Mutex<Vec<u64>>);

    #[async_trait]
    impl Clock for Waits {
        fn now_ms(&self) -> u64 {
            0
        }

        async fn sleep(&self, duration: Duration) {
            self.0.lock().unwrap().push(duration.as_secs());
        }
    }

    #[derive(Default)]
    struct Seen(Mutex<Vec<String>>);

    impl Observer for Seen {
        fn see(&self, signal: &Signal<'_>) {
            self.0.lock().unwrap().push(format!("{signal:?}"));
        }
    }

    /// covers: 12.1
    #[tokio::test]
    async fn silence_is_told_once_a_send() {
        let (clock, seen, heard) = (Waits::default(), Seen::default(), AtomicBool::new(true));
        let key = CallKey { phase: Phase::Plan, task: None, run: None, n: 1 };
        let reporting = report_silence(&clock, &seen, &key, &heard);
        assert!(tokio::time::timeout(Duration::from_millis(20), reporting).await.is_err(), "it never ends the call");
        assert_eq!(*clock.0.lock().unwrap(), [30, 30], "what was heard begins the time anew");
        let seen = seen.0.into_inner().unwrap();
        assert!(matches!(seen.as_slice(), [one] if one.contains("Silent") && one.contains("seconds: 30")), "{seen:?}");
    }

    #[test]
    fn a_reply_gets_what_the_dollars_that_are_left_pay() {
        let check = |left, price, expect| assert_eq!(paid_output(left, price, 8_192), expect, "{left} at {price}");
        check(0.02, 100.0, Some(200));
        check(9.0, 100.0, Some(8_192));
        check(0.000_05, 100.0, None);
        check(0.0, 100.0, None);
        check(-1.0, 0.0, None);
        check(0.0, 0.0, Some(8_192));
        check(f64::MAX, 0.1, Some(8_192));
    }
}
