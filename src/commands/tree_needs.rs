//! What the tree of a template run needs: whether it needs a model, and whether its tasks see the given values.

use callsheet_core::record::Tree;
use callsheet_core::template::{InheritContext, Node, names_its_provider};

/// The model that a tree needs in addition to those that its tasks name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ModelWish {
    /// No task asks a model.
    Nothing,
    /// Every task names its own model. This is the first.
    Named(String),
    /// The default model.
    Default,
}

/// The nodes that a run can reach, each with whether it gets the frame of the caller.
fn reached(tree: &Tree) -> Vec<(&Node, bool)> {
    let mut out: Vec<(&Node, bool)> = Vec::new();
    let mut seen: Vec<(&String, bool)> = Vec::new();
    let mut open: Vec<(&Node, bool)> = Vec::new();
    let mut called = vec![(&tree.entry, true)];
    called.extend(tree.matcher.iter().map(|matcher| (matcher, false)));
    loop {
        for (name, offered) in called.drain(..).filter(|one| !seen.contains(one)).collect::<Vec<_>>() {
            seen.push((name, offered));
            open.extend(tree.templates.get(name).map(|template| (&template.body, offered)));
        }
        let Some((node, offered)) = open.pop() else { return out };
        let transparent = node.kind.facts().transparent;
        let takes = offered && (transparent || node.context.settings.inherit_context != InheritContext::None);
        out.push((node, takes));
        open.extend(node.children().into_iter().map(|child| (child, takes)));
        called.extend(node.template.as_ref().map(|name| (name, takes)));
    }
}

/// The model that a tree needs.
pub(super) fn model_wish(tree: &Tree) -> ModelWish {
    let nodes = reached(tree);
    let asks = |node: &&Node| node.kind.is_atomic();
    let mut first = None;
    for node in nodes.iter().map(|(node, _)| *node).filter(asks) {
        match own_model(node) {
            Some(model) => first = first.or(Some(model)),
            None => return ModelWish::Default,
        }
    }
    first.map_or(ModelWish::Nothing, ModelWish::Named)
}

/// The full name of the model that a task names.
fn own_model(node: &Node) -> Option<String> {
    let model = node.models.first()?;
    if names_its_provider(model) {
        return Some(model.clone());
    }
    node.providers.first().map(|provider| format!("{provider}/{model}"))
}

/// The given values that no task will see, in words.
pub(super) fn unseen(tree: &Tree) -> Vec<String> {
    let nodes = reached(tree);
    let asks = || nodes.iter().filter(|(node, _)| node.kind.is_atomic());
    let mut words = Vec::new();
    let why = "its tasks do not inherit context";
    if !tree.files.is_empty() && !asks().any(|(node, takes)| *takes || node.refs.is_some()) {
        words.push(format!("no task of {} reads the files from --file: {why} and name no files", tree.entry));
    }
    if !tree.text.trim().is_empty() && !asks().any(|(_, takes)| *takes) {
        words.push(format!("no task of {} reads the text: {why}; pass it as a value, k=text", tree.entry));
    }
    words
}
