//! Forms that an editor shows: for the answer to a task's question, and for the hunks of a change.

use agent_client_protocol::v1::schema::{
    CreateElicitationResponse, ElicitationAction, ElicitationContentValue, ElicitationSchema, EnumOption,
    MultiSelectPropertySchema,
};
use callsheet_app::{Question, RunCommand};
use callsheet_runtime::ports::GateView;
use callsheet_runtime::shown::Shown;

use crate::words::line;

/// The name of the only value in a form.
const VALUE: &str = "answer";

/// A form: the words above it, and its value.
pub(crate) struct Form {
    pub words: String,
    pub schema: ElicitationSchema,
}

/// The form for the answer to a question.
pub(crate) fn question(question: &Question) -> Form {
    let words = Shown::markdown(&format!("**{} asks:** {}", question.task, question.text)).into_string();
    Form { words, schema: ElicitationSchema::new().string(VALUE, true) }
}

/// The answer in a form. `None` if the person gave none.
pub(crate) fn answer(response: &CreateElicitationResponse) -> Option<String> {
    match value(response)? {
        ElicitationContentValue::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        _ => None,
    }
}

/// The form for the hunks of a change that a person keeps.
pub(crate) fn hunks(view: &GateView) -> Form {
    let options = view.hunks.iter().map(|hunk| {
        let name = line(&format!("{}. {}", hunk.number, hunk.path));
        let text = Shown::exact(&hunk.text).into_string();
        EnumOption::new(hunk.number.to_string(), name).description(text)
    });
    let choice = MultiSelectPropertySchema::titled(options.collect()).min_items(1);
    let words = "Choose the parts of the change to make. The task reads which parts were left out.".to_owned();
    Form { words, schema: ElicitationSchema::new().property(VALUE, choice, true) }
}

/// The command that keeps the hunks that the person chose. `None` if they chose none, or one that was not offered.
pub(crate) fn kept(view: &GateView, response: &CreateElicitationResponse) -> Option<RunCommand> {
    let ElicitationContentValue::StringArray(chosen) = value(response)? else { return None };
    let number = |text: &String| view.hunks.iter().map(|hunk| hunk.number).find(|known| known.to_string() == *text);
    let numbers: Vec<u32> = chosen.iter().map(number).collect::<Option<_>>()?;
    let hunks = Some(numbers.iter().map(|number| (*number, *number)).collect());
    let (tasks, edits, because) = (Vec::new(), std::collections::BTreeMap::new(), String::new());
    (!numbers.is_empty()).then(|| RunCommand::Keep { gates: vec![view.gate.n], tasks, hunks, edits, because })
}

fn value(response: &CreateElicitationResponse) -> Option<&ElicitationContentValue> {
    let ElicitationAction::Accept(accepted) = &response.action else { return None };
    accepted.content.as_ref()?.get(VALUE)
}
