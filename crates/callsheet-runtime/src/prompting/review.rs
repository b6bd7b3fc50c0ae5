//! Reviews (spec 10.9): the prompt of an execution as it was sent, its reply, and the question whether that is
//! complete. The model has the earlier prompt in its cache, so the prompt is not built again.

use callsheet_core::nouns::Phase;
use callsheet_core::prompt::Note;
use callsheet_core::run::{ModelCall, Run};
use callsheet_core::view::call_words;
use callsheet_format::grammar;

use tokio_util::sync::CancellationToken;

use crate::pictures;
use crate::ports::{Message, Model};

use crate::fault::DriveFault;
use crate::prompting::assemble::{self, PromptDraft};
use crate::prompting::constraint::{Notation, twin_note};
use crate::prompting::fault::PromptFault;
use crate::prompting::recorded;
use crate::prompting::render::PromptRecord;
use crate::prompting::sampling::Sampling;
use crate::prompting::size::{check_window, hold_to_budget, output_tokens, share};
use crate::services::Services;

/// A call whose prompt does not exist yet.
pub(crate) enum Prepared {
    /// References are read when the prompt is rendered.
    Draft(Box<PromptDraft>),
    /// The prompt is complete. Only its limits are still to be checked.
    Review(Box<Question>),
}

/// The prompt of a review and its constraint.
pub(crate) struct Question {
    prompt: PromptRecord,
    max_prompt: Option<u32>,
    max_tokens: Option<u64>,
    may_wait: bool,
}

impl Prepared {
    /// Takes from the run what the call needs.
    pub fn of(services: &Services, run: &Run, asked: &ModelCall, model: &dyn Model) -> Result<Self, DriveFault> {
        if asked.key.phase == Phase::Review {
            return Ok(Self::Review(Box::new(question(services, run, asked, model)?)));
        }
        Ok(Self::Draft(Box::new(assemble::gather(services, run, asked, model)?)))
    }

    /// The prompt.
    ///
    /// # Errors
    /// As [`PromptDraft::render`].
    pub async fn render(self, services: &Services, cancel: &CancellationToken) -> Result<PromptRecord, PromptFault> {
        match self {
            Self::Draft(draft) => draft.render(services, cancel).await,
            Self::Review(question) => question.held(),
        }
    }
}

impl Question {
    fn held(mut self) -> Result<PromptRecord, PromptFault> {
        let request = &mut self.prompt.request;
        self.prompt.size = check_window(request, self.max_prompt)?;
        self.prompt.shortened = hold_to_budget(request, self.max_tokens, self.may_wait)?;
        Ok(self.prompt)
    }
}

fn question(services: &Services, run: &Run, asked: &ModelCall, model: &dyn Model) -> Result<Question, DriveFault> {
    let task = asked.key.task.as_ref().and_then(|slug| run.task(slug));
    let exec = asked.key.run.as_ref().and_then(|id| task?.run(id));
    let review = exec.and_then(|exec| exec.review.as_ref());
    let result = review.map(|review| &review.result);
    let reviewed = review.and_then(|review| run.call_record(&review.of));
    let reviewed = reviewed.ok_or_else(|| DriveFault::defect("a review of an unknown result"))?;
    let mut prompt: PromptRecord =
        serde_json::from_slice(&services.store.blob(&reviewed.prompt)?).map_err(DriveFault::defect)?;
    let request = &mut prompt.request;
    pictures::load_all(services, &mut request.messages, model.info())?;
    let text = recorded::reply(services, &reviewed.reply)?.text;
    request.messages.push(Message::Assistant { text, calls: Vec::new() });
    // The model should call no more tools.
    request.tools.clear();
    request.native_tools.clear();
    request.constraint = Notation::of(model.info(), &services.refused_constraints).constraint(grammar::review());
    let twin = request.constraint.as_ref().and_then(|constraint| constraint.form.as_ref());
    let marks = result.map(|result| result.unsupported.join("\n- ")).filter(|marks| !marks.is_empty());
    let not_found = marks.map(|marks| format!("\n\n{}", Note::ReviewUnsupported.fill(&[("marks", &marks)])));
    let text = [Some(Note::Review.text().to_owned()), not_found, twin.map(twin_note)];
    let text = text.into_iter().flatten().collect::<String>();
    request.messages.push(Message::user(text));
    request.label = call_words(&asked.key, run.part(&asked.key));
    Sampling::of(run, asked).write(request, model.info().capabilities);
    let window = model.info().window;
    request.max_output_tokens = output_tokens(Phase::Review, task, window, 1);
    let max_prompt = window.map(|window| share(window, run.settings().limits.max_context_fraction));
    Ok(Question { prompt, max_prompt, max_tokens: asked.max_tokens, may_wait: asked.may_wait })
}
