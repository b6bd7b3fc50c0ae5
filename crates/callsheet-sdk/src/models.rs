//! Models that come with Callsheet: vendors, local servers, and scripts. A model of one's own implements
//! [`Model`].

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use callsheet_models::config::{
    Environment, ModelRef, ModelRefError, ProcessEnvironment, Provider, ProviderSettings, build_ref, connect,
};
use callsheet_models::scripted::Scripted;
use callsheet_runtime::ports::Model;
use callsheet_runtime::shown::keep_secret;
use callsheet_runtime::transport_policy::withhold;

use crate::error::Error;

/// Opens a model by its name, such as `ollama/qwen2.5:7b`, `openai/gpt-5-mini` or `llamacpp/default`. Vendors and their
/// servers are those that the command line knows. The key of a vendor is read from the environment variable that the
/// vendor names, such as `OPENAI_API_KEY`. Commands of runs do not get that variable, and its value is masked wherever
/// it would be shown.
///
/// A server that can describe its model is asked once, for at most half a second. Nothing else is sent.
///
/// # Errors
/// The name is invalid, the vendor is unknown, or its key is not set.
///
/// ```no_run
/// # async fn open() -> Result<(), callsheet_sdk::Error> {
/// let model = callsheet_sdk::models::open("ollama/qwen2.5:7b").await?;
/// # Ok(())
/// # }
/// ```
pub async fn open(name: &str) -> Result<Arc<dyn Model>, Error> {
    open_at(name, None).await
}

/// Like [`open`], but asks the server at this address.
///
/// # Errors
/// As [`open`].
pub async fn open_at(name: &str, base_url: Option<&str>) -> Result<Arc<dyn Model>, Error> {
    let reference: ModelRef = name.parse().map_err(|fault: ModelRefError| Error::input(&fault))?;
    let ModelRef::Provided { provider, model } = &reference else {
        return build_ref(&reference, &BTreeMap::new(), &ProcessEnvironment).map_err(|fault| Error::input(&fault));
    };
    let settings = ProviderSettings { base_url: base_url.map(str::to_owned), ..ProviderSettings::default() };
    let configured = BTreeMap::from([(provider.clone(), settings)]);
    let provider = Provider::resolve(provider, &configured).map_err(|fault| Error::input(&fault))?;
    if let Some(name) = &provider.api_key_env {
        withhold([name.clone()]);
        keep_secret(ProcessEnvironment.variable(name).map(|value| (name.clone(), value)));
    }
    connect(&provider, model, &ProcessEnvironment).await.map_err(|fault| Error::input(&fault))
}

/// A model that follows a script, for tests: rules in TOML choose the reply to each request.
///
/// # Errors
/// The script has errors.
///
/// ```
/// let model = callsheet_sdk::models::scripted(
///     r#"
///     [[rule]]
///     phase = "route"
///     text = "read_files"
///
///     [default]
///     text = "The gate opens on Sunday."
///     "#,
/// )?;
/// assert_eq!(model.info().provider, "scripted");
/// # Ok::<(), callsheet_sdk::Error>(())
/// ```
pub fn scripted(script: &str) -> Result<Arc<dyn Model>, Error> {
    let model = Scripted::parse(script, "script", None).map_err(|fault| Error::input(&fault))?;
    Ok(Arc::new(model))
}

/// Like [`scripted`], from a file. Paths in the script are relative to its folder.
///
/// # Errors
/// The file cannot be read, or the script has errors.
pub fn scripted_file(path: &Path) -> Result<Arc<dyn Model>, Error> {
    Ok(Arc::new(Scripted::open(path).map_err(|fault| Error::input(&fault))?))
}
