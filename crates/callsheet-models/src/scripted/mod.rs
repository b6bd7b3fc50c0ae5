//! A model whose replies come from a TOML file, for tests, examples and documentation: `scripted:FILE`.
//!
//! ```toml
//! # Replies are chosen by the first rule that fits and has a reply left. All conditions of a rule must hold.
//! [[rule]]
//! phase = "plan"                 # first word of the request's label
//! text = '''
//! ## Tasks
//! '''
//!
//! [[rule]]
//! label = '^refine (find-\w+)$'  # regular expression, searched in the label
//! prompt = "src/main.rs"         # the system text or a message contains this
//! expand = true                  # $1, $name in texts are groups of `label`
//! then = "next"                  # after the last reply: "repeat" it (default), "loop" from the first, or try the
//!                                # "next" rule
//!
//! [[rule.reply]]                 # replies in order, one a request
//! fault = { kind = "communication", message = "busy", retry_after_ms = 10 }   # also configuration, overflow, deadline
//!
//! [[rule.reply]]
//! delay_ms = 20                  # before the first delta
//! until = "go-on"                # nothing comes before this file is there; relative to the script
//! until_after = 40               # but these characters do
//! text_file = "refined.md"       # relative to the script; instead of `text`
//! thinking = "hm"
//! calls = [{ name = "read", arguments = { path = "a.txt" } }]                 # `id` is optional
//! cut = 40                       # only the first 40 characters arrive, stop reason `length`
//! stop = "end"                   # end, length, tools, filtered; by default what the reply looks like
//! chunk = 8                      # characters a delta (default 24)
//! usage = { input = 100, output = 20, cached = 50 }                           # default: estimated
//!
//! [default]                      # when no rule fits; without it that is a configuration fault
//! text = "ok"
//!
//! [model]                        # what the model says of itself
//! window = 8192
//! tools = true                   # native tool calling (default true); also json_schema, grammar, twins, vision
//!                                # (default false)
//! ```
//!
//! Prices, slots and a window may stand under `[providers.scripted]` of the configuration; a cost in `usage` is taken as said.
//! A rule with one reply may hold its keys itself, as the first one above. Counting starts anew with each process.

mod script;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::record::{StopReason, Usage};
use callsheet_runtime::ports::{
    Capabilities, DeltaSink, Model, ModelFault, ModelInfo, ModelReply, ModelRequest, WindowFrom,
};
use regex::{Captures, Regex};
use tokio_util::sync::CancellationToken;

pub use script::ScriptError;
use script::{FaultKind, Reply, Rule, Script, Then};

use crate::config::{Prices, Provider};
use crate::tokens;
use crate::transport::guarded;
use crate::wire::{RawCall, with_ids};

/// Characters of one delta, unless the reply sets another number.
const CHUNK: usize = 24;

/// How often to look for the file that a reply waits for.
const LOOK: Duration = Duration::from_millis(10);

/// A model that follows a script.
#[derive(Debug)]
pub struct Scripted {
    info: ModelInfo,
    rules: Vec<Compiled>,
    fallback: Option<Reply>,
    name: String,
    prices: Prices,
    /// How many replies each rule has given.
    given: Mutex<Vec<usize>>,
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    label: Option<Regex>,
}

impl Scripted {
    /// Reads a script and the files that it names.
    pub fn open(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScriptError::Unreadable { path: path.to_owned(), message: error.to_string() })?;
        Self::parse(&text, &path.display().to_string(), path.parent())
    }

    /// Reads a script from its text. `folder` is where its `text_file` names are looked up.
    pub fn parse(text: &str, name: &str, folder: Option<&Path>) -> Result<Self, ScriptError> {
        let script = Script::parse(text, name, folder)?;
        let capabilities = Capabilities {
            tools: script.model.tools,
            json_schema: script.model.json_schema,
            grammar: script.model.grammar,
            twins: script.model.twins,
            counts_tokens: true,
            temperature: true,
            seed: true,
            vision: script.model.vision,
        };
        let info = ModelInfo {
            id: format!("scripted:{name}"),
            provider: "scripted".to_owned(),
            window: script.model.window,
            window_from: script.model.window.map(|_| WindowFrom::Script),
            unpriced: false,
            price_input: None,
            price_output: None,
            capabilities,
        };
        let mut rules = Vec::with_capacity(script.rule.len());
        for rule in script.rule {
            let label =
                rule.label.as_deref().map(Regex::new).transpose().map_err(|error| ScriptError::Invalid {
                    name: name.to_owned(),
                    message: format!("label: {error}"),
                })?;
            rules.push(Compiled { rule, label });
        }
        let given = Mutex::new(vec![0; rules.len()]);
        Ok(Self { info, rules, fallback: script.default, name: name.to_owned(), prices: Prices::FREE, given })
    }

    /// The model of a configured provider, with its prices, window and name.
    pub(crate) fn of(mut self, provider: &Provider) -> Self {
        if provider.name != self.info.provider {
            self.info.id = format!("{}/{}", provider.name, self.name);
            self.info.provider.clone_from(&provider.name);
        }
        if provider.window.is_some() {
            self.info.window = provider.window;
            self.info.window_from = Some(WindowFrom::Setting);
        }
        self.info.capabilities.vision = provider.vision.unwrap_or(self.info.capabilities.vision);
        self.prices = provider.prices_of(&self.name);
        self.info.unpriced = !self.prices.are_known();
        self.info.price_input = self.prices.known_input();
        self.info.price_output = self.prices.known_output();
        self
    }

    /// The reply for a request, with its texts expanded. Counts it as given.
    fn choose(&self, request: &ModelRequest) -> Result<Reply, ModelFault> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        for (compiled, count) in self.rules.iter().zip(given.iter_mut()) {
            let Some(groups) = compiled.groups(request) else { continue };
            let Some(reply) = compiled.rule.reply_at(*count) else { continue };
            *count = count.saturating_add(1);
            return Ok(match groups {
                Some(groups) if compiled.rule.expand => expanded(reply, &groups),
                _ => reply.clone(),
            });
        }
        self.fallback.clone().ok_or_else(|| ModelFault::Configuration {
            message: format!(
                "the script {} has no reply for `{}`: none of its {} rules matches and it has no [default]",
                self.name,
                request.label,
                self.rules.len()
            ),
        })
    }

    async fn send(&self, request: &ModelRequest, deltas: DeltaSink<'_>) -> Result<ModelReply, ModelFault> {
        let reply = self.choose(request)?;
        if reply.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(reply.delay_ms)).await;
        }
        if reply.until_after.is_none() {
            reply.wait().await;
        }
        if let Some(fault) = &reply.fault {
            return Err(match fault.kind {
                FaultKind::Communication if fault.retry_after_ms.is_some() => ModelFault::Busy {
                    message: fault.message.clone(),
                    wait: fault.retry_after_ms.map(Duration::from_millis),
                },
                FaultKind::Communication => ModelFault::Communication { message: fault.message.clone() },
                FaultKind::Configuration => ModelFault::Configuration { message: fault.message.clone() },
                FaultKind::Overflow => ModelFault::ContextOverflow { message: fault.message.clone() },
                FaultKind::Deadline => ModelFault::Deadline,
            });
        }
        let whole: Vec<char> = reply.text.chars().collect();
        let cut = reply.cut.or_else(|| most(&reply.text, whole.len(), request.max_output_tokens));
        let kept = whole.get(..cut.unwrap_or(usize::MAX).min(whole.len())).unwrap_or_default();
        let (before, after) = kept.split_at(reply.until_after.unwrap_or(0).min(kept.len()));
        for part in [before, after] {
            for chunk in part.chunks(reply.chunk.unwrap_or(CHUNK).max(1)) {
                deltas(&chunk.iter().collect::<String>());
                tokio::task::yield_now().await;
            }
            reply.wait().await;
        }
        Ok(self.finished(request, reply, kept.iter().collect(), cut.is_some()))
    }

    fn finished(&self, request: &ModelRequest, reply: Reply, text: String, cut: bool) -> ModelReply {
        let calls = reply.calls.into_iter().map(|call| RawCall {
            id: call.id.unwrap_or_default(),
            name: call.name,
            arguments: call.arguments,
            thought: None,
        });
        let calls = if cut { Vec::new() } else { with_ids(calls.collect(), request) };
        let natural = match (cut, calls.is_empty()) {
            (true, _) => StopReason::Length,
            (false, false) => StopReason::Tools,
            (false, true) => StopReason::End,
        };
        let mut usage = reply.usage.unwrap_or_else(|| Usage {
            input: request.estimated_tokens(),
            output: tokens::estimate(&text),
            ..Usage::default()
        });
        // A cost in the script counts as the cost.
        usage.cost_usd = usage.cost_usd.or_else(|| self.prices.cost_usd(&usage));
        ModelReply {
            text,
            thinking: reply.thinking,
            calls,
            usage,
            stop: reply.stop.unwrap_or(natural),
            model: self.info.id.clone(),
            notices: Vec::new(),
        }
    }
}

impl Reply {
    /// Waits until the file exists that the reply depends on.
    async fn wait(&self) {
        while self.until.as_ref().is_some_and(|file| !file.exists()) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Compiled {
    /// `None` if the rule does not match, `Some(groups)` if it does.
    fn groups<'a>(&self, request: &'a ModelRequest) -> Option<Option<Captures<'a>>> {
        let phase = request.label.split_whitespace().next().unwrap_or_default();
        if self.rule.phase.as_deref().is_some_and(|wanted| wanted != phase) {
            return None;
        }
        if self.rule.prompt.as_deref().is_some_and(|part| !contains(request, part)) {
            return None;
        }
        match &self.label {
            None => Some(None),
            Some(label) => label.captures(&request.label).map(Some),
        }
    }
}

impl Rule {
    /// The reply after `given` earlier ones. `None` means to try the next rule.
    fn reply_at(&self, given: usize) -> Option<&Reply> {
        let count = self.reply.len();
        match self.then {
            Then::Repeat => self.reply.get(given.min(count.checked_sub(1)?)),
            Then::Loop => self.reply.get(given.checked_rem(count)?),
            Then::Next => self.reply.get(given),
        }
    }
}

/// How many characters of a text fit into `tokens` tokens. `None` if all of them fit.
fn most(text: &str, characters: usize, tokens: u32) -> Option<usize> {
    let fits = |count: usize| {
        let kept: String = text.chars().take(count).collect();
        tokens::estimate(&kept) <= u64::from(tokens)
    };
    if fits(characters) {
        return None;
    }
    // Binary search works because more characters never have fewer tokens.
    let (mut fit, mut over) = (0, characters);
    while over - fit > 1 {
        let middle = usize::midpoint(fit, over);
        if fits(middle) { fit = middle } else { over = middle }
    }
    Some(fit)
}

fn contains(request: &ModelRequest, part: &str) -> bool {
    request.system.contains(part) || request.messages.iter().any(|message| message.text().contains(part))
}

fn expanded(reply: &Reply, groups: &Captures<'_>) -> Reply {
    let mut expanded = reply.clone();
    expanded.text = String::new();
    groups.expand(&reply.text, &mut expanded.text);
    expanded
}

#[async_trait]
impl Model for Scripted {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFault> {
        guarded(request.deadline, cancel, self.send(request, deltas)).await
    }

    fn count_tokens(&self, text: &str) -> Option<u32> {
        Some(u32::try_from(tokens::estimate(text)).unwrap_or(u32::MAX))
    }
}
