//! What the application layer needs of the program that contains Callsheet.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_app::{Host, Refusal, Started};
use callsheet_core::nouns::{RunId, Settings, Slug};
use callsheet_core::symbols::Coloured;
use callsheet_runtime::grants::GrantedThing;
use callsheet_runtime::ports::{LiveText, Store};
use callsheet_runtime::services::Services;

use crate::parts::Parts;

/// A program with Callsheet inside. Runs are tasks of this process, so it starts no others.
pub(crate) struct Embedder(pub(crate) Arc<Parts>);

impl Host for Embedder {
    fn project(&self) -> &Path {
        &self.0.project
    }

    fn store_folder(&self) -> PathBuf {
        self.0.folder().to_owned()
    }

    fn seen_from_here(&self, path: &str) -> String {
        path.to_owned()
    }

    fn store(&self) -> Result<Option<Arc<dyn Store>>, Refusal> {
        Ok(Some(Arc::clone(&self.0.store)))
    }

    fn no_runs(&self) -> Refusal {
        Refusal::usage(format!("there are no runs in {}", self.0.project.display()), "")
    }

    fn reading(&self, _store: Arc<dyn Store>, id: &RunId, settings: &Settings) -> Result<Services, Refusal> {
        self.0
            .services(id, settings, Arc::clone(&self.0.observer))
            .map_err(|error| Refusal::usage(error.to_string(), ""))
    }

    fn executing_model(&self, _settings: &Settings, _wish: Option<&str>) -> Option<String> {
        Some(self.0.model.info().id.clone())
    }

    fn writing(&self, _run: &RunId, _owner: &str) -> Vec<LiveText> {
        Vec::new()
    }

    fn colours(&self, _path: &str, _text: &str) -> Vec<Coloured> {
        Vec::new()
    }

    fn grant(&self, _what: GrantedThing, _only: Option<(RunId, Slug)>) -> Result<String, Refusal> {
        let advice = "decide each call in an approver";
        Err(Refusal::usage("a program that contains Callsheet keeps no grants", advice))
    }

    fn unset_keys(&self, _: &BTreeSet<String>) -> Vec<(String, String)> {
        Vec::new()
    }

    fn start(&self, _run: &RunId) -> Result<String, Refusal> {
        let advice = "call `Callsheet::resume`";
        Err(Refusal::usage("a program that contains Callsheet resumes its runs itself", advice))
    }

    fn started(&self, _run: &RunId) -> Option<Started> {
        None
    }
}
