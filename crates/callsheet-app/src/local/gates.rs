//! Answers the gates of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use callsheet_core::evaluate::SCRIPT;
use callsheet_core::fuzzy;
use callsheet_core::nouns::{RunId, Slug};
use callsheet_core::record::{Answer, AnsweredBy, Gate, GateKind, Verdict};
use callsheet_core::run::Run;
use callsheet_runtime::effects::{gate_view, open_gates};
use callsheet_runtime::grants::{CommandCall, CommandGrant, GrantedThing, command_text};
use callsheet_runtime::ports::{GateView, InboxMessage, RunSummary, Store};

use super::{LocalRuns, Ordered, parts, recorded};
use crate::advice::Advice;
use crate::command::{AnswerTo, Receipt, RunCommand, WordCount};
use crate::refusal::{Refusal, inspect};
use crate::view::Cursor;

/// The open gates of a run, except those that opened after the person decided.
pub(super) struct Asked {
    pub store: Arc<dyn Store>,
    pub found: RunSummary,
    pub run: Run,
    /// The gates in the order in which they were opened. Never empty.
    open: Vec<Gate>,
}

/// The pattern that matches all files of the project.
const EVERY_FILE: &str = "**";

/// The gates to answer, each with those of its tasks that the person named.
type Chosen<'a> = Vec<(&'a Gate, Vec<Slug>)>;

/// The tasks that a gate asks about.
pub fn asked_about(gate: &Gate) -> impl Iterator<Item = &Slug> {
    let tasks = match &gate.kind {
        GateKind::BeforeRun(tasks) => tasks.as_slice(),
        GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => std::slice::from_ref(task),
    };
    tasks.iter()
}

/// What a person can allow from now on, so that similar gates do not ask again.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Commands like this one, in the project.
    Command(CommandCall),
    /// The script of this template node, in this run.
    Script,
    /// All changes of the task, with its parts and items, in this run.
    Changes,
}

impl Standing {
    /// The label of the button that allows this.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Command(_) => "Always allow this command in this project",
            Self::Script => "Always allow this script in this run, whatever its arguments",
            Self::Changes => "Approve this and all later changes of this task",
        }
    }
}

/// What a person can allow from now on at a gate. No grant covers an interrupted call, or a call that this machine
/// cannot confine.
pub fn standing(view: &GateView) -> Option<Standing> {
    match (&view.gate.kind, &view.call) {
        (GateKind::BeforeApply { .. }, _) => Some(Standing::Changes),
        (_, Some(_)) if view.again || view.unheld => None,
        (_, Some(call)) if call.name == SCRIPT => Some(Standing::Script),
        (_, Some(call)) => CommandCall::of(call).map(Standing::Command),
        _ => None,
    }
}

/// Carries out an order that approves, keeps hunks or denies.
pub(super) fn answer(runs: &Ordered<'_>, run: &RunId) -> Result<Receipt, Refusal> {
    let asked = Asked::of(runs, run)?;
    let order = runs.order;
    let mut notes = Advice::default();
    let messages = match &order.command {
        RunCommand::Approve { gates, tasks, later, always } => {
            let chosen = asked.chosen(gates, tasks)?;
            if *later && chosen.iter().all(|(gate, _)| is_change(gate)) {
                return Err(Refusal::usage(
                    format!("run {run} has only pending changes, and --all does not approve changes"),
                    Advice::command("inspect them", ["show", run.as_str()]).or("then", ["approve", run.as_str()]),
                ));
            }
            let chosen =
                if gates.is_empty() { asked.without_interrupted(chosen, *later, tasks, &mut notes)? } else { chosen };
            if let Some(words) = always {
                asked.grant(runs, &chosen, tasks, *words)?.into_iter().for_each(|line| notes.add(line));
            }
            let chosen = chosen.into_iter().filter(|(gate, _)| !later || !is_change(gate));
            let approve = |(gate, named): (&Gate, Vec<Slug>)| {
                let is_named = asked.is_named(gates, gate, &named);
                let answer = match gate.kind {
                    GateKind::BeforeRun(_) if *later => Answer::All,
                    _ => verdict(gate, named, "", Verdict::Approve),
                };
                message(gate, answer, is_named, &order.by)
            };
            chosen.map(approve).collect::<Vec<_>>()
        }
        RunCommand::Deny { gates, tasks, because } => {
            let chosen = asked.chosen(gates, tasks)?.into_iter();
            let deny = |(gate, named): (&Gate, Vec<Slug>)| {
                let is_named = asked.is_named(gates, gate, &named);
                message(gate, verdict(gate, named, because, Verdict::Deny), is_named, &order.by)
            };
            chosen.map(deny).collect()
        }
        RunCommand::Keep { gates, tasks, hunks, edits, because } => {
            let chosen = asked.chosen(gates, tasks)?;
            let gate = asked.change(&chosen)?;
            vec![parts::message(runs, &asked, gate, (hunks.as_ref(), edits, because), &order.by)?]
        }
        _ => Vec::new(),
    };
    let is_saved = asked.found.owner.is_none() && asked.store.has_messages(run)?;
    if is_saved {
        notes.add("an answer was saved before; where both answer the same question, the later one counts");
    }
    runs.post(&asked.store, &asked.found, &messages)?;
    let what = match messages.len() {
        1 => "the answer".to_owned(),
        several => format!("{several} answers"),
    };
    let gates = messages.iter().filter_map(InboxMessage::gate).map(|gate| gate.n).collect();
    let answers = Some(AnswerTo { seen: Cursor(asked.run.last_fact()), gates, question: None });
    Ok(Receipt { notes, answers, ..Receipt::new(run, what, asked.found.owner.as_ref()) })
}

fn message(gate: &Gate, answer: Answer, named: bool, by: &AnsweredBy) -> InboxMessage {
    InboxMessage::Answer { gate: Some(gate.clone()), answer, named, by: Some(by.clone()) }
}

impl Asked {
    fn of(runs: &Ordered<'_>, id: &RunId) -> Result<Self, Refusal> {
        let (store, mut found) = runs.found(id)?;
        let mut folded = recorded(&store, &found)?;
        let edited = runs.take_in(&found, &folded.run)?;
        if edited {
            (_, found) = runs.found(id)?;
            folded = recorded(&store, &found)?;
        }
        let then = runs.order.revision.map(|seen| folded.gates_at(seen));
        let run = folded.run.into_run();
        let mut open: Vec<Gate> = open_gates(&run).collect();
        if open.is_empty() && edited {
            return Err(Refusal::usage(
                format!("after the edit of its sheet, run {id} no longer waits for approval"),
                Advice::command("resume it to apply the edit", ["resume", id.as_str()]),
            ));
        }
        if open.is_empty() {
            let advice = match run.outcome().is_none() && found.owner.is_none() {
                true => Advice::command("it has work to do first", ["resume", id.as_str()]),
                false => inspect(id),
            };
            return Err(Refusal::usage(format!("run {id} is not waiting for approval"), advice));
        }
        if let Some(then) = then {
            open.retain(|gate| then.contains(gate));
        }
        if open.is_empty() {
            return Err(Refusal::usage(
                format!("run {id} now asks about something that you have not seen"),
                "look at what is asked now",
            ));
        }
        Ok(Self { store, found, run, open })
    }

    /// The gates that ask about the named tasks, each with those of the tasks that it asks about.
    fn chosen(&self, gates: &[u32], tasks: &[String]) -> Result<Chosen<'_>, Refusal> {
        let seen = || self.open.iter().filter(|gate| gates.is_empty() || gates.contains(&gate.n));
        if seen().next().is_none() {
            return Err(Refusal::usage(
                "this question was answered or withdrawn in the meantime",
                "look at what is asked now",
            ));
        }
        let means = |name: &String, around: &[Slug]| around.iter().any(|task| task.as_str() == name);
        let named = |gate: &Gate, tasks: &[String]| {
            let is_named = |task: &&Slug| {
                let around = self.run.names_around(task);
                tasks.iter().any(|name| means(name, &around))
            };
            let asked = asked_about(gate).filter(is_named);
            asked.cloned().collect::<Vec<_>>()
        };
        let waits = |name: &String| seen().any(|gate| !named(gate, std::slice::from_ref(name)).is_empty());
        if let Some(name) = tasks.iter().find(|name| !waits(name)) {
            let offered: Vec<&str> = seen().flat_map(asked_about).map(Slug::as_str).collect();
            let near = fuzzy::did_you_mean(name, offered.iter().copied());
            let advice = format!("{near} pending: {}", offered.join(", "));
            return Err(Refusal::usage(format!("{name} is not waiting for approval"), advice.trim_start().to_owned()));
        }
        let chosen = seen().map(|gate| (gate, named(gate, tasks)));
        Ok(chosen.filter(|(_, named)| tasks.is_empty() || !named.is_empty()).collect())
    }

    /// The only change among the gates. Refuses several changes, because each one numbers its own hunks.
    fn change<'a>(&self, chosen: &Chosen<'a>) -> Result<&'a Gate, Refusal> {
        let id = &self.found.run;
        let changes: Vec<&Gate> = chosen.iter().map(|(gate, _)| *gate).filter(|gate| is_change(gate)).collect();
        if changes.len() > 1 {
            let tasks: Vec<&str> = changes.iter().flat_map(|gate| asked_about(gate)).map(Slug::as_str).collect();
            return Err(Refusal::usage(
                format!("run {id} has {} pending changes: {}", tasks.len(), tasks.join(", ")),
                Advice::command("name the task whose hunks you mean", ["approve", id.as_str(), "SLUG", "--hunks", "…"]),
            ));
        }
        let gate = changes.first().copied().or_else(|| chosen.first().map(|(gate, _)| *gate));
        gate.ok_or_else(|| Refusal::internal(format!("run {id} has no gate to answer"), ""))
    }

    /// Leaves out interrupted calls. An approval repeats such a call only if it names the task, or if nothing else
    /// waits.
    fn without_interrupted<'a>(
        &self,
        mut chosen: Chosen<'a>,
        later: bool,
        tasks: &[String],
        notes: &mut Advice,
    ) -> Result<Chosen<'a>, Refusal> {
        let alone = self.open.len() == 1 && !later;
        let named = |gate: &Gate| asked_about(gate).all(|task| tasks.iter().any(|name| name == task.as_str()));
        let is_left_out = |gate: &Gate| self.run.needs_own_answer(gate) && !alone && !named(gate);
        let names = |again: bool| {
            let of = chosen.iter().map(|(gate, _)| *gate).filter(|gate| is_left_out(gate));
            let of = of.filter(|gate| self.run.asks_again(gate) == again);
            of.flat_map(asked_about).map(Slug::as_str).collect::<BTreeSet<&str>>()
        };
        let (interrupted, unconfined) = (names(true), names(false));
        let kinds = [("started and never finished", &interrupted), ("this machine cannot confine", &unconfined)];
        let named = kinds.into_iter().filter(|(_, names)| !names.is_empty());
        let what: Vec<String> = named
            .map(|(why, names)| format!("{why}: {}", names.iter().copied().collect::<Vec<_>>().join(" ")))
            .collect();
        if what.is_empty() {
            return Ok(chosen);
        }
        let what = what.join("; ");
        let advice = Advice::command(
            "to run them, name each",
            ["approve", self.found.run.as_str()].into_iter().chain(interrupted.union(&unconfined).copied()),
        );
        chosen.retain(|(gate, _)| !is_left_out(gate));
        if chosen.is_empty() {
            return Err(Refusal::usage(what, advice));
        }
        notes.add(Advice::from(what).and(advice));
        Ok(chosen)
    }

    /// Whether an answer is meant for this gate alone, and not for everything that waits. This is so if the person
    /// chose the gate or named all its tasks, or if nothing else waits.
    fn is_named(&self, gates: &[u32], gate: &Gate, named: &[Slug]) -> bool {
        let all = asked_about(gate).count();
        let waiting = self.open.iter().map(|gate| asked_about(gate).count()).sum::<usize>();
        waiting == 1 || named.len() == all || named.is_empty() && !gates.is_empty()
    }

    /// Grants commands, scripts and changes like those that these gates ask about. If one of the gates asks about
    /// something else, grants nothing.
    fn grant(
        &self,
        runs: &LocalRuns,
        chosen: &Chosen<'_>,
        tasks: &[String],
        words: WordCount,
    ) -> Result<Vec<String>, Refusal> {
        let wanted = |(gate, _): &(&Gate, Vec<Slug>)| self.wanted(runs, gate, tasks, words);
        let wanted = chosen.iter().map(wanted).collect::<Result<Vec<_>, Refusal>>()?;
        let mut told = Vec::new();
        for (what, task) in wanted {
            let of_task = task.map(|task| (self.found.run.clone(), task));
            let line = runs.grant(what, of_task)?;
            if !told.contains(&line) {
                told.push(line);
            }
        }
        Ok(told)
    }

    /// The task for which changes are allowed. This is the task that the person named, or else the outermost task
    /// around the one that waits.
    fn named_around(&self, task: &Slug, tasks: &[String]) -> Slug {
        let mut names = self.run.names_around(task);
        let named = names.iter().position(|name| tasks.iter().any(|wanted| wanted == name.as_str()));
        names.swap_remove(named.unwrap_or(names.len().saturating_sub(1)))
    }

    /// What a grant for a gate allows, and the task to which it is restricted.
    fn wanted(
        &self,
        runs: &LocalRuns,
        gate: &Gate,
        tasks: &[String],
        words: WordCount,
    ) -> Result<(GrantedThing, Option<Slug>), Refusal> {
        let view = gate_view(&*self.store, runs.host.project(), &self.run, gate)?;
        let call = view.call.as_ref().and_then(CommandCall::of);
        match (standing(&view), &view.task, words, call) {
            (Some(Standing::Changes), Some(task), WordCount::All, _) => {
                Ok((GrantedThing::Changes(EVERY_FILE.to_owned()), Some(self.named_around(task, tasks))))
            }
            (Some(Standing::Script), Some(task), WordCount::All, _) => {
                Ok((GrantedThing::Script, Some(self.run.first_of_node(task).unwrap_or(task).clone())))
            }
            (Some(Standing::Command(call)), _, words, _) | (Some(Standing::Script), _, words, Some(call)) => {
                granted_words(&call, words).map(|command| (GrantedThing::Command(command), None))
            }
            _ => {
                let tasks: Vec<&str> = asked_about(gate).map(Slug::as_str).collect();
                let tasks = tasks.join(", ");
                Err(Refusal::usage(
                    format!(
                        "a grant can't answer for {tasks}: it waits to start, has no such words, was interrupted, or cannot be restricted"
                    ),
                    Advice::command(
                        "approve it without --always, or name another task",
                        ["show", self.found.run.as_str()],
                    ),
                ))
            }
        }
    }
}

/// Makes a grant for commands that begin with the first words of this call.
fn granted_words(call: &CommandCall, words: WordCount) -> Result<CommandGrant, Refusal> {
    let all = call.words().len();
    let count = match words {
        WordCount::All => all,
        WordCount::First(words) => usize::try_from(words).unwrap_or(usize::MAX),
    };
    if (1..=all).contains(&count) {
        return Ok(call.grant(count));
    }
    let what = format!("the command has {all} words: {}", command_text(call.words()));
    Err(Refusal::usage(what, format!("give a number from 1 to {all}")))
}

fn is_change(gate: &Gate) -> bool {
    matches!(gate.kind, GateKind::BeforeApply { .. })
}

/// The answer for the named tasks of a gate. If none or all of its tasks are named, it answers the whole gate.
fn verdict(gate: &Gate, named: Vec<Slug>, words: &str, verdict: Verdict) -> Answer {
    if named.is_empty() || named.len() == asked_about(gate).count() {
        return match verdict {
            Verdict::Approve => Answer::Listed,
            Verdict::Deny => Answer::Deny { words: words.to_owned() },
        };
    }
    Answer::Each { verdicts: named.into_iter().map(|slug| (slug, verdict)).collect(), words: words.to_owned() }
}
