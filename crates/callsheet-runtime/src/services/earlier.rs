//! Earlier calls of this run, and of one whose replies a person lets it use, by what they asked. What may use them asks a model
//! only what was not asked before, byte for byte (spec 2.18).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use callsheet_core::nouns::{BlobId, RunId};
use callsheet_core::record::{CallNo, ReusedCall, StopReason};
use callsheet_core::run::{CallRecord, Run};
use serde::Deserialize;

use crate::fault::DriveFault;
use crate::ports::{ModelReply, ModelRequest, Store};

/// A call whose reply was accepted.
#[derive(Clone, Debug)]
struct EarlierCall {
    place: CallPlace,
    earlier: ReusedCall,
    model: String,
    prompt: BlobId,
    reply: BlobId,
    stop: StopReason,
}

/// What of a recorded prompt tells equal calls.
#[derive(Deserialize)]
struct Prompt {
    request: ModelRequest,
}

/// The accepted calls that others may have the replies of. They are read only once one is looked for.
#[derive(Debug, Default)]
pub struct EarlierCalls(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Records of the run that were looked at.
    seen: usize,
    /// Of these, places of those that nobody had read then.
    unread: Vec<usize>,
    /// Accepted calls whose prompts were not read yet.
    unindexed: Vec<EarlierCall>,
    /// The other run whose calls count, as long as its record was not read.
    unread_run: Option<RunId>,
    /// The other run.
    other: Option<RunId>,
    /// By model and request, oldest first, those of the other run before those of this one.
    by_request: BTreeMap<(String, BlobId), Vec<EarlierCall>>,
    /// Calls whose replies others have since something was done again last. Each has one reader: equal calls may have had
    /// different replies.
    used: BTreeSet<CallPlace>,
}

/// A call of the other run (false) or of this one, by its number.
type CallPlace = (bool, CallNo);

impl EarlierCalls {
    /// Takes note of the calls that were accepted since the last time.
    pub fn note(&self, run: &Run) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.other.as_ref() != run.reuses_run() {
            known.other = run.reuses_run().cloned();
            known.unread_run = known.other.clone();
        }
        let records = run.calls_offered();
        if records.len() > known.seen {
            known.used.clear();
        }
        let mut open = std::mem::take(&mut known.unread);
        open.extend(known.seen..records.len());
        known.seen = records.len();
        for place in open {
            match records.get(place).map(|record| (record.accepted, record)) {
                Some((None, _)) => known.unread.push(place),
                Some((Some(true), record)) if record.reused.is_none() => {
                    known.unindexed.push(EarlierCall::of(record, None))
                }
                _ => {}
            }
        }
    }

    /// The latest accepted call that asked the same of this model and whose reply no other call has, with that reply.
    ///
    /// `other` reads the record of the other run.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn find(
        &self,
        store: &dyn Store,
        other: &dyn Fn(&RunId) -> Result<Run, DriveFault>,
        model: &str,
        request: &ModelRequest,
    ) -> Result<Option<(ReusedCall, ModelReply)>, DriveFault> {
        let found = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(id) = known.unread_run.take() {
                let other = other(&id)?;
                let accepted = other.calls().iter().filter(|call| call.accepted == Some(true));
                // Those of this run are newer.
                let first = accepted.map(|record| EarlierCall::of(record, Some(&id))).collect();
                let own = std::mem::replace(&mut known.unindexed, first);
                known.unindexed.extend(own);
            }
            for call in std::mem::take(&mut known.unindexed) {
                let prompt = store.blob(&call.prompt)?;
                // A prompt that this build cannot read equals none that it writes.
                let Ok(prompt) = serde_json::from_slice::<Prompt>(&prompt) else { continue };
                if let Some(asked) = digest(&prompt.request) {
                    known.by_request.entry((call.model.clone(), asked)).or_default().push(call);
                }
            }
            let Known { by_request, used, .. } = &mut *known;
            let equal = digest(request).and_then(|asked| by_request.get(&(model.to_owned(), asked)));
            let latest = equal.into_iter().flatten().rev().find(|call| !used.contains(&call.place)).cloned();
            used.extend(latest.as_ref().map(|call| call.place));
            latest
        };
        let Some(call) = found else { return Ok(None) };
        let reply = store.blob(&call.reply)?;
        let said: Option<ModelReply> = serde_json::from_slice(&reply).ok();
        Ok(said.map(|said| (call.earlier, ModelReply { stop: call.stop, model: call.model, ..said })))
    }
}

impl EarlierCall {
    fn of(record: &CallRecord, run: Option<&RunId>) -> Self {
        // What had the reply of a call itself names that call.
        let own = || ReusedCall { run: run.cloned(), call: record.number };
        Self {
            place: (run.is_none(), record.number),
            earlier: record.reused.clone().unwrap_or_else(own),
            model: record.model.clone(),
            prompt: record.prompt.clone(),
            reply: record.reply.clone(),
            stop: record.stop,
        }
    }
}

/// Hash of a request without its label, which no model reads.
fn digest(request: &ModelRequest) -> Option<BlobId> {
    let request = ModelRequest { label: String::new(), ..request.clone() };
    serde_json::to_vec(&request).ok().map(|bytes| BlobId::of(&bytes))
}
