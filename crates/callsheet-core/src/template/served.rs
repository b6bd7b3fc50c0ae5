//! What the name of a model says about where it is served.

/// Beginnings of names of models that no provider serves: a file of weights, a script.
const LOCAL: [&str; 2] = ["embedded:", "scripted:"];

/// Whether no provider serves the model of this name.
pub fn is_local_model(model: &str) -> bool {
    LOCAL.iter().any(|local| model.starts_with(local))
}

/// Whether the name of a model says where it is served; another is looked for with each provider.
pub fn names_its_provider(model: &str) -> bool {
    model.contains('/') || is_local_model(model)
}
