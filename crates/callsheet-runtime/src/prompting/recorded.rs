//! Recorded replies, and the part of a recorded prompt that says how to read its reply.

use callsheet_core::nouns::BlobId;
use callsheet_core::run::Run;
use callsheet_format::grammar::Form;
use callsheet_format::reply::json_form::read_json_form;
use serde::Deserialize;

use crate::fault::DriveFault;
use crate::ports::ModelReply;
use crate::services::Services;

/// A recorded reply.
pub(crate) fn reply(services: &Services, blob: &BlobId) -> Result<ModelReply, DriveFault> {
    serde_json::from_slice(&services.store.blob(blob)?).map_err(DriveFault::defect)
}

/// A rejected reply as the next prompt shows it: as Markdown, even if it arrived in its JSON form.
pub(crate) fn proposal(services: &Services, run: &Run, refused: &BlobId) -> Result<String, DriveFault> {
    let text = reply(services, refused)?.text;
    let Some(call) = run.calls().iter().rev().find(|call| call.reply == *refused) else { return Ok(text) };
    let asked: AskedForm = serde_json::from_slice(&services.store.blob(&call.prompt)?).map_err(DriveFault::defect)?;
    let twin = asked.form().and_then(|form| read_json_form(&text, form, call.key.phase));
    Ok(twin.map(|twin| twin.text).filter(|text| !text.is_empty()).unwrap_or(text))
}

/// The part of a recorded prompt that says whether the JSON form was requested.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct AskedForm {
    #[serde(default)]
    request: AskedRequest,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct AskedRequest {
    #[serde(default)]
    constraint: Option<AskedConstraint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct AskedConstraint {
    #[serde(default)]
    form: Option<Form>,
}

impl AskedForm {
    /// The form whose JSON was requested.
    pub fn form(&self) -> Option<&Form> {
        self.request.constraint.as_ref()?.form.as_ref()
    }
}
