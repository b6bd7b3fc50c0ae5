//! Lists the models that can be used on this machine without further settings, best first. `init` offers them.

use callsheet_local::weights::{self, WeightsRow};
use callsheet_models::config::{Environment, ModelRef, vendors};
use callsheet_models::probe;

use crate::config::Folders;

use super::embedded;

/// A model that can be used.
#[derive(Clone, Debug)]
pub enum Offered {
    /// It can be used now.
    Ready(ModelRef),
    /// An embedded model whose weights must be downloaded first.
    Download(&'static WeightsRow),
}

/// A model and what a person should know before they choose it.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The model.
    pub what: Offered,
    /// Where it runs and what it costs.
    pub why: String,
}

impl Offer {
    fn ready(model: ModelRef, why: impl Into<String>) -> Self {
        Self { what: Offered::Ready(model), why: why.into() }
    }

    /// Its name for people.
    pub fn name(&self) -> String {
        match &self.what {
            Offered::Ready(model) => model.to_string(),
            Offered::Download(row) => row.name.clone(),
        }
    }
}

/// The models of vendors whose keys are set, of local servers, and the embedded ones. A run would choose the first.
pub async fn offers(folders: &Folders, environment: &(dyn Environment + Sync)) -> Vec<Offer> {
    let mut offers = Vec::new();
    for key in probe::keys_present(environment) {
        let vendor = vendors().iter().find(|vendor| vendor.name == key.provider);
        let Some(model) = vendor.and_then(|vendor| vendor.default_model.clone()) else { continue };
        let reference = ModelRef::Provided { provider: key.provider, model };
        offers.push(Offer::ready(reference, format!("{} is set; the vendor charges for calls", key.variable)));
    }
    for server in probe::running(environment).await {
        for model in server.writers() {
            let reference = ModelRef::Provided { provider: server.provider.clone(), model: model.name.clone() };
            let loaded = if model.loaded { ", loaded" } else { "" };
            let bytes = model.bytes.map(|bytes| format!(", {}", embedded::bytes_words(bytes))).unwrap_or_default();
            offers.push(Offer::ready(reference, format!("your server at {}{bytes}{loaded}", server.base_url)));
        }
    }
    if embedded::RUNS_EMBEDDED {
        offers.extend(weights::unasked().map(|row| match embedded::on_disk(row, folders) {
            Some(path) => Offer::ready(ModelRef::Embedded(path), "embedded, on this machine"),
            None => {
                let why = format!("embedded, {} parameters, downloads {} once", row.parameters, embedded::size(row));
                Offer { what: Offered::Download(row), why }
            }
        }));
    }
    offers
}
