//! Processes: how they write, how they end, and how the next one resumes a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{BlobId, SkillPolicy, TaskLimits};
use callsheet_core::record::Outcome;
use callsheet_core::record::Tree;
use callsheet_core::run::{Effect, Run, Stage};
use callsheet_core::template::Node;
use callsheet_runtime::driver::RunWriter;
use callsheet_runtime::fault::DriveFault;
use callsheet_runtime::ports::{Store, StoreFault};

use crate::books::Books;
use crate::logs;
use crate::marks::Blow;
use crate::random::Random;
use crate::shell::{Shell, Stop, Turn, id};
use crate::store::{ProcessStore, WriteError};

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// By itself, with everything written.
    Ended,
    /// By `kill -9`, or by a power failure.
    Killed,
    /// By an error of the store.
    Failed(WriteError),
    /// It does not end. Somebody took over its lock, and it has not noticed.
    Overtaken,
}

/// A driver that lost its lock.
pub(crate) struct Overtaken {
    writer: RunWriter,
    effects: Vec<Effect>,
}

impl Shell {
    /// Writes the folded events to disk. If the disk refuses, the process ends.
    pub fn write(&mut self) -> Turn {
        if self.writer.noted() == 0 {
            return Ok(());
        }
        let mut error = None;
        if !self.world.tame && self.resumes < 6 && self.world.random.below(200) == 0 {
            error = self.world.random.pick(&WriteError::ALL).copied();
            error.into_iter().for_each(|error| self.store.fail_next_write(error));
        }
        match (self.writer.flush(), error) {
            (Ok(_), None) => {
                self.log.append(&mut self.unwritten);
                Ok(())
            }
            (Err(_), Some(error)) => {
                // A driver whose drive ends with a fault also does this, because the noted events did happen.
                if self.writer.flush().is_ok() {
                    self.log.append(&mut self.unwritten);
                }
                Err(Stop::Died(Death::Failed(error)))
            }
            (Ok(_), Some(_)) => Err(Stop::Broken("an error of the store is heard: it was not".to_owned())),
            (Err(fault), None) => Err(Stop::Broken(format!("the store takes what a driver records: {fault}"))),
        }
    }

    /// Resumes the run in the next process.
    pub fn revive(&mut self, death: Death) -> Turn {
        self.resumes += 1;
        self.note_death(death);
        self.the_log_is_what_was_recorded(death == Death::Failed(WriteError::Unheard))?;
        let mut forgotten = !self.unwritten.is_empty();
        self.unwritten.clear();
        forgotten |= death == Death::Killed && self.lose_tail()?;
        let live = if forgotten { None } else { Some(self.writer.run().clone()) };
        self.change_driver(death)?;
        match live {
            // The new process has just folded the log.
            Some(live) => logs::a_resume_loses_nothing(&live, self.writer.run())?,
            None => self.keep_books_anew()?,
        }
        self.now += 3_600_000;
        self.take_back()?;
        self.take_up()?;
        // Changes by a person while no process ran.
        let wild = !self.world.tame && !self.world.calm;
        if wild && self.world.random.chance(40) {
            self.steer()?;
        }
        Ok(())
    }

    fn note_death(&mut self, death: Death) {
        let blow = match death {
            Death::Ended => return,
            Death::Killed if self.unwritten.is_empty() => Blow::Killed,
            Death::Killed => Blow::KilledUnwritten,
            Death::Failed(WriteError::Full) => Blow::DiskFull,
            Death::Failed(WriteError::Refused) => Blow::WriteRefused,
            Death::Failed(WriteError::Unheard) => Blow::WriteUnheard,
            Death::Overtaken => Blow::TakenOver,
        };
        self.marks.blow(blow);
        if death == Death::Killed {
            self.store.kill();
        }
    }

    /// The log contains a batch completely or not at all, and what it contains stays. `unheard` means that a write
    /// reported an error although it wrote everything.
    pub fn the_log_is_what_was_recorded(&mut self, unheard: bool) -> Result<(), String> {
        let held = self.held()?;
        if unheard && held.len() > self.log.len() {
            self.log.append(&mut self.unwritten);
        }
        // A faulty machine folds other events than the books saw.
        let same = held.len() == self.log.len() && (self.fault.is_some() || held == self.log);
        match same {
            true => Ok(()),
            false => Err(format!(
                "the log is what was recorded: it has {} facts, and {} were recorded",
                held.len(),
                self.log.len()
            )),
        }
    }

    /// The contents of the store, independent of what a process sees of it.
    fn held(&self) -> Result<Vec<LogEntry>, String> {
        self.memory.read(&id(), 1).map_err(|fault| format!("the log is what was recorded: {fault}"))
    }

    /// Simulates a power failure. The last events may be lost, but never events in the middle. Returns whether some
    /// were lost.
    fn lose_tail(&mut self) -> Result<bool, String> {
        let first = self.log.iter().take_while(|fact| !matches!(fact.event, Event::Started(_))).count().min(2);
        let most = self.log.len().saturating_sub(first);
        if most == 0 || self.world.tame || !self.world.random.chance(30) {
            return Ok(false);
        }
        let most = if self.world.random.chance(70) { most.min(8) } else { most };
        let kept = self.log.len() - 1 - self.world.random.below(most);
        self.log.truncate(kept);
        self.marks.blow(Blow::TornTail);
        self.memory.lose_facts_after(&id(), kept).map_err(|fault| fault.to_string())?;
        Ok(true)
    }

    fn change_driver(&mut self, death: Death) -> Result<(), String> {
        let effects: Vec<Effect> = self.performing.drain(..).map(|(_, effect)| effect).collect();
        self.cancelled.clear();
        self.resting.clear();
        match death {
            Death::Overtaken => self.memory.break_lock(&id()),
            _ => self.writer.close(),
        }
        let known = self.known()?;
        let store = ProcessStore::new(&self.memory, self.fault);
        let opened = RunWriter::open(Arc::clone(&store) as Arc<_>, &id(), known);
        let writer = opened.map_err(|fault| format!("a run is taken up: {fault}"))?;
        let former = std::mem::replace(&mut self.writer, writer);
        self.store = store;
        if death == Death::Overtaken {
            self.overtaken = Some(Overtaken { writer: former, effects });
        }
        Ok(())
    }

    /// The beginning of the log, as somebody knows it who looked at the run before.
    fn known(&mut self) -> Result<Run, String> {
        let mut run = Run::new();
        if self.world.random.chance(30) {
            let known = self.world.random.below(self.log.len() + 1);
            for fact in self.held()?.iter().take(known) {
                run.apply(fact)
                    .map_err(|reject| format!("replay equals live: fact {} is refused: {reject}", fact.n))?;
            }
        }
        Ok(run)
    }

    pub fn replay_equals_live(&self) -> Result<(), String> {
        logs::replay_equals_live(&self.held()?, self.writer.run())
    }

    /// Makes the books forget what is not in the log.
    fn keep_books_anew(&mut self) -> Result<(), String> {
        self.books = Books::default();
        let mut run = Run::new();
        for (fact, held) in self.log.iter().zip(self.held()?) {
            self.books.before(&run, fact)?;
            run.apply(&held).map_err(|reject| format!("replay equals live: fact {} is refused: {reject}", fact.n))?;
            self.books.after(&run, fact)?;
        }
        logs::a_resume_loses_nothing(&run, self.writer.run())
    }

    /// What a person reverts in a run that no process drives: changes on disk, or a follow-up without a list.
    fn take_back(&mut self) -> Turn {
        if self.world.tame || self.world.calm {
            return Ok(());
        }
        if let Some(outcome) = self.writer.run().without_follow_up()
            && self.world.random.chance(30)
        {
            let _ = self.append(events::FollowUpWithdrawn { outcome }.into())?;
        }
        let run = self.writer.run();
        let applied = run.all_tasks().flat_map(|task| task.applied.iter().map(move |set| (task, set)));
        let reverted = applied.filter(|(_, set)| !set.reverted).map(|(task, set)| {
            events::ChangesReverted { task: task.task.slug.clone(), run: set.run.clone(), set: set.set }.into()
        });
        let reverted: Vec<Event> = reverted.collect();
        if self.world.random.chance(10)
            && let Some(event) = self.world.random.pick(&reverted).cloned()
        {
            let _ = self.append(event)?;
        }
        self.write()
    }

    /// Resumes the run in the next process, or follows up on it for a person.
    fn take_up(&mut self) -> Turn {
        let outcome = self.writer.run().outcome();
        if outcome == Some(Outcome::LimitReached) {
            let limits = &mut self.world.settings.limits;
            limits.max_calls = 1_000;
            limits.max_tokens = None;
            limits.max_cost_usd = None;
            limits.run_timeout_seconds = None;
        }
        // Raised limits stay, as in a real resume.
        let raised = self.books.settings().limits.max_calls;
        let limits = &mut self.world.settings.limits;
        limits.max_calls = limits.max_calls.max(raised);
        let settings = self.world.settings.clone();
        let ended = matches!(self.writer.run().stage(), Stage::Concluded(_));
        let event = if ended && self.world.trees.is_none() && self.world.random.chance(40) {
            events::RunContinued { text: "And now?".to_owned(), settings }.into()
        } else {
            events::RunResumed { settings }.into()
        };
        self.append(event)?.map_err(|reject| format!("a resume is refused: {reject}"))?;
        self.edit_skills()?;
        self.edit_templates()
    }

    /// Edits the skill of a task that has not begun for a person while no process runs.
    fn edit_skills(&mut self) -> Turn {
        let wild = !self.world.tame && !self.world.calm;
        if !wild || !self.world.random.chance(10) {
            return Ok(());
        }
        let used = self.writer.run().tasks().filter(|task| task.is_to_begin());
        let used = used.filter_map(|task| Some((task.task.skill.clone()?, task.skill.clone()?)));
        let used: BTreeMap<String, SkillPolicy> = used.collect();
        if used.is_empty() {
            return Ok(());
        }
        let edited = self.world.random.below(used.len());
        let skills = used.into_iter().skip(edited).take(1);
        let edited = |policy| SkillPolicy { hash: Some(BlobId::of(b"edited")), ..policy };
        let skills = skills.map(|(name, policy)| (name, edited(policy))).collect();
        let _ = self.append(events::SkillsEdited { skills }.into())?;
        Ok(())
    }

    /// Edits a template for a person while no process runs: removes its limits, and maybe words or a step of a task.
    fn edit_templates(&mut self) -> Turn {
        let wild = !self.world.tame && !self.world.calm;
        if !wild || !self.world.random.chance(20) {
            return Ok(());
        }
        let trees: Vec<Tree> = self.writer.run().operators().trees().map(|tree| (**tree).clone()).collect();
        if trees.is_empty() {
            return Ok(());
        }
        let random = &mut self.world.random;
        let tree_number = random.below(trees.len());
        let Some(mut tree) = trees.into_iter().nth(tree_number) else { return Ok(()) };
        let edited = random.below(tree.templates.len().max(1));
        let Some(template) = tree.templates.values_mut().nth(edited) else { return Ok(()) };
        edit(&mut template.body, random);
        let _ = self.append(events::TreeEdited { tree_number, tree: Box::new(tree) }.into())?;
        Ok(())
    }

    /// A second driver of a driven run is refused.
    pub fn start_second_driver(&mut self) -> Result<(), String> {
        self.marks.blow(Blow::SecondDriver);
        let store: Arc<dyn Store> = ProcessStore::new(&self.memory, self.fault);
        match RunWriter::open(store, &id(), Run::new()) {
            Err(DriveFault::Store(StoreFault::Locked { .. })) => Ok(()),
            Err(fault) => Err(format!("one driver a run: the second one hears {fault}")),
            Ok(_) => Err("one driver a run: there are two".to_owned()),
        }
    }

    /// A driver that lost its lock records nothing more.
    pub fn overtaken_driver_acts(&mut self) -> Result<(), String> {
        let Some(Overtaken { mut writer, mut effects }) = self.overtaken.take() else { return Ok(()) };
        while let Some(effect) = effects.pop() {
            let Some(event) = self.world.perform(writer.run(), &effect) else { continue };
            if writer.note(self.now, event).is_err() {
                continue;
            }
            self.marks.blow(Blow::Overtaken);
            return match writer.flush() {
                Err(StoreFault::LockLost { .. }) => Ok(()),
                Err(fault) => Err(format!("one driver a run: the one without a lock hears {fault}")),
                Ok(_) => Err("one driver a run: one without a lock writes".to_owned()),
            };
        }
        Ok(())
    }
}

/// Removes the limits of a node and of all nodes below it. Some of them are written otherwise, or lose or repeat a step.
fn edit(node: &mut Node, random: &mut Random) {
    node.limits = TaskLimits::default();
    node.disable_reparsing ^= random.chance(15);
    let (loses, repeats) = (random.chance(10), random.chance(10));
    if let Some(steps) = node.kind.steps_mut() {
        if loses && steps.len() > 1 {
            steps.pop();
        }
        if let Some(last) = steps.last().filter(|_| repeats).cloned() {
            steps.push(Node { id: Some("another".to_owned()), ..last });
        }
    }
    node.children_mut().into_iter().for_each(|child| edit(child, random));
}
