//! What a template could do that a person must trust first (spec 12.7).

use super::tree::{Effects, FileSource, Inherit, Kind, Node, Script, Template};

/// What a template and those it calls could do beyond asking the models of the run, reading, and staging changes; in words
/// for a person. `find` knows templates by their names, `executes` the tools that run commands.
pub fn powers<'a>(
    template: &'a Template,
    find: &dyn Fn(&str) -> Option<&'a Template>,
    executes: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let mut seen: Vec<&str> = vec![&template.name];
    let mut open: Vec<&'a Template> = vec![template];
    let mut powers: Vec<String> = Vec::new();
    while let Some(template) = open.pop() {
        for node in template.body.walk() {
            let found = of_node(node, executes);
            powers.extend(found.into_iter().filter(|power| !powers.contains(power)).collect::<Vec<_>>());
            let called = node.template.as_deref().map(|name| name.strip_prefix("template:").unwrap_or(name));
            let called = called.and_then(find).filter(|called| !seen.contains(&called.name.as_str()));
            if let Some(called) = called {
                seen.push(&called.name);
                open.push(called);
            }
        }
    }
    powers
}

fn of_node(node: &Node, executes: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut powers = Vec::new();
    let script: Option<&Script> = match &node.kind {
        Kind::Script { script, .. } => Some(script),
        Kind::DirectorEvaluatorLoop { script, .. } => script.as_ref(),
        _ => None,
    };
    if let Some(script) = script {
        let words: Vec<String> = script.command.words.iter().map(ToString::to_string).collect();
        let reads = node.approval.effects == Some(Effects::Read) && node.approval.required != Some(true);
        let unasked = if reads { ", unasked where the system can keep it to reading" } else { "" };
        powers.push(format!("run the command `{}`{unasked}", words.join(" ")));
        if script.inherit == Inherit::All {
            powers.push("give a command every variable of the environment, secrets included".to_owned());
        }
    }
    if let Some(refs) = node.refs.as_ref().filter(|refs| refs.source == FileSource::Command) {
        let words: Vec<String> = refs.command.words.iter().map(ToString::to_string).collect();
        powers.push(format!("find files by the command `{}`, unasked", words.join(" ")));
    }
    for tool in node.tools.iter().flatten().filter(|tool| executes(tool)) {
        powers.push(format!("let a model run commands by the tool {tool}"));
    }
    if !node.models.is_empty() {
        powers.push(format!("choose the model {}", node.models.join(", ")));
    }
    if !node.providers.is_empty() {
        powers.push(format!("choose the provider {}", node.providers.join(", ")));
    }
    powers
}
