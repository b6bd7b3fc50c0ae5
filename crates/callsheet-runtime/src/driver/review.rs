//! Reviews (spec 10.9): the prompt of an execution as it was sent, its reply, and the question whether that is complete.
//! What was sent before is what the model has in its cache, so nothing of it is put together anew.

use callsheet_core::prompt::Note;
use callsheet_core::record::Event;
use callsheet_core::run::{Asked, Run};
use callsheet_core::spec::Phase;
use callsheet_core::view::call_words;
use callsheet_format::grammar::{self, Form};
use callsheet_format::reply::json_form::read_json_form;
use callsheet_format::reply::read_review;

use crate::ports::{Message, Model};

use super::assemble::{self, Parts, PromptRecord, Unprepared};
use super::constraint::{Notation, twin_note};
use super::size::{check_window, hold_to_budget, output_tokens, share};
use super::work::Work;
use super::{DriveFault, World, known};

/// A call whose prompt is not made yet.
pub(super) enum Prepared {
    /// References are read when it is made.
    Parts(Box<Parts>),
    /// It is there but for its limits.
    Review(Box<Question>),
}

/// The prompt of a review and what holds it.
pub(super) struct Question {
    prompt: PromptRecord,
    max_prompt: Option<u32>,
    max_tokens: Option<u64>,
    may_wait: bool,
}

impl Prepared {
    /// Takes from the run what the call needs.
    pub fn of(world: &World, run: &Run, asked: &Asked, model: &dyn Model) -> Result<Self, DriveFault> {
        if asked.key.phase == Phase::Review {
            return Ok(Self::Review(Box::new(question(world, run, asked, model)?)));
        }
        Ok(Self::Parts(Box::new(assemble::gather(world, run, asked, model)?)))
    }

    /// The prompt.
    ///
    /// # Errors
    /// As [`Parts::render`].
    pub async fn render(self, work: &Work) -> Result<PromptRecord, Unprepared> {
        match self {
            Self::Parts(parts) => parts.render(work).await,
            Self::Review(question) => question.held(),
        }
    }
}

impl Question {
    fn held(mut self) -> Result<PromptRecord, Unprepared> {
        let request = &mut self.prompt.request;
        self.prompt.size = check_window(request, self.max_prompt)?;
        self.prompt.shortened = hold_to_budget(request, self.max_tokens, self.may_wait)?;
        Ok(self.prompt)
    }
}

fn question(world: &World, run: &Run, asked: &Asked, model: &dyn Model) -> Result<Question, DriveFault> {
    let task = asked.key.task.as_ref().and_then(|slug| run.task(slug));
    let exec = asked.key.run.as_ref().and_then(|id| task?.run(id));
    let reviewed = exec.and_then(|exec| run.call_record(&exec.review.as_ref()?.of));
    let reviewed = reviewed.ok_or_else(|| DriveFault::defect("a review of an unknown result"))?;
    let mut prompt: PromptRecord =
        serde_json::from_slice(&world.store.blob(&reviewed.prompt)?).map_err(DriveFault::defect)?;
    let request = &mut prompt.request;
    let text = known::reply(world, &reviewed.reply)?.text;
    request.messages.push(Message::Assistant { text, calls: Vec::new() });
    // Nothing is to be called any more.
    request.tools.clear();
    request.native_tools.clear();
    request.constraint = Notation::of(model.info(), &world.refused_constraints).constraint(grammar::review());
    let twin = request.constraint.as_ref().and_then(|constraint| constraint.form.as_ref());
    let text = format!("{}{}", Note::Review.text(), twin.map(twin_note).unwrap_or_default());
    request.messages.push(Message::User { text });
    request.label = call_words(&asked.key, run.part(&asked.key));
    let window = model.info().window;
    request.max_output_tokens = output_tokens(Phase::Review, task, window);
    let max_prompt = window.map(|window| share(window, run.settings().limits.max_context_fraction));
    Ok(Question { prompt, max_prompt, max_tokens: asked.max_tokens, may_wait: asked.may_wait })
}

/// Reads the reply of a review, which may be the twin of `form`.
pub(super) fn read(asked: &Asked, text: &str, form: Option<&Form>) -> Event {
    let twin = form.and_then(|form| read_json_form(text, form, Phase::Review)).filter(|twin| twin.issues.is_empty());
    let (text, mut repairs) = match twin {
        Some(twin) => (twin.text, twin.repairs),
        None => (text.to_owned(), Vec::new()),
    };
    let reading = read_review(&text);
    repairs.extend(reading.repairs);
    Event::Reviewed { key: asked.key.clone(), missing: reading.value, repairs, issues: reading.issues }
}
