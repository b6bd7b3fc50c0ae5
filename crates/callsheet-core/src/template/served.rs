//! What the name of a model says about where the model is served.

/// The prefixes of names of models that no provider serves: files of weights and scripts.
const LOCAL: [&str; 2] = ["embedded:", "scripted:"];

/// Whether a model with this name is not served by a provider.
pub fn is_local_model(model: &str) -> bool {
    LOCAL.iter().any(|local| model.starts_with(local))
}

/// Whether the name of a model says where it is served. For any other name, each provider is asked.
pub fn names_its_provider(model: &str) -> bool {
    model.contains('/') || is_local_model(model)
}
