//! What a template could do, so that a person must trust it first (spec 12.7).

use callsheet_core::template::{Effects, FileSource, Inherit, Node, Template};

/// What a template and the templates that it calls could do beyond asking the models of the run, reading, and staging
/// changes, in words for a person. `find` returns templates by name. `executes` contains the tools and skills that
/// run commands.
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
    if let Some(script) = node.kind.operator().script() {
        let words: Vec<String> = script.command.words.iter().map(ToString::to_string).collect();
        let reads = node.approval.effects == Some(Effects::Read) && node.approval.required != Some(true);
        let unasked = if reads { ", without approval where the system can make it read-only" } else { "" };
        powers.push(format!("run the command `{}`{unasked}", words.join(" ")));
        if script.inherit == Inherit::All {
            powers.push("give a command every variable of the environment, secrets included".to_owned());
        }
    }
    if let Some(refs) = node.refs.as_ref().filter(|refs| refs.source == FileSource::Command) {
        let words: Vec<String> = refs.command.words.iter().map(ToString::to_string).collect();
        powers.push(format!("find files with the command `{}`, without approval", words.join(" ")));
    }
    for tool in node.tools.iter().flatten().filter(|tool| executes(tool)) {
        powers.push(format!("let a model run commands with the tool {tool}"));
    }
    if let Some(called) = node.template.as_deref().filter(|called| executes(called)) {
        powers.push(format!("call {called}, which runs commands"));
    }
    if !node.models.is_empty() {
        powers.push(format!("choose the model {}", node.models.join(", ")));
    }
    if !node.providers.is_empty() {
        powers.push(format!("choose the provider {}", node.providers.join(", ")));
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::read_text;

    const LIBRARY: &str = "<templates>\
        <task type=\"atomic\" name=\"plain\"><description>A</description>\
          <allowed_tools><tool>read_file</tool><tool>write_file</tool></allowed_tools></task>\
        <task type=\"script\" name=\"looks\" effects=\"read\"><description>A</description><command>sh look.sh</command></task>\
        <task type=\"atomic\" name=\"commands\"><description>A</description>\
          <allowed_tools><tool>run_command</tool></allowed_tools></task>\
        <task type=\"atomic\" name=\"chooses\"><description>A</description><model>other/dear</model></task>\
        <task type=\"sequential\" name=\"calls\"><description>A</description><steps>\
          <task id=\"s\" type=\"atomic\"><description>B</description></task>\
          <call id=\"c\" template=\"looks\"/></steps></task></templates>";

    /// covers: 12.7
    #[test]
    fn what_runs_or_chooses_is_a_power_of_its_own_or_of_what_it_calls() {
        let templates = read_text("all.xml", LIBRARY).templates;
        let find = |name: &str| templates.iter().find(|template| template.name == name);
        let of = |name: &str| powers(find(name).unwrap(), &find, &|tool| tool == "run_command");
        assert_eq!(of("plain"), Vec::<String>::new());
        assert!(of("looks").iter().any(|power| power.contains("`sh look.sh`, without approval")), "{:?}", of("looks"));
        assert_eq!(of("commands"), ["let a model run commands with the tool run_command"]);
        assert_eq!(of("chooses"), ["choose the model other/dear"]);
        assert_eq!(of("calls"), of("looks"));
    }
}
