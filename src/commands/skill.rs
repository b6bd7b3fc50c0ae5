//! `skill list`, `skill show`, `skill check`.

use std::path::{Path, PathBuf};

use callsheet_app::Advice;
use callsheet_core::fuzzy;
use callsheet_format::skill::{SkillContext, SkillIssue, SkillSeverity};
use callsheet_runtime::skills::{SkillDirs, check_paths, load_skills};
use callsheet_runtime::trust::Trusted;

use crate::cli::{Exit, Failure, SkillCheckArgs, SkillCommand, SkillShowArgs};
use crate::left_out::{left_out_words, why_left_out};
use crate::setup::Setup;
use crate::term::{harmless, one_line};
use crate::wiring::skill_dirs;

pub(super) use crate::wiring::tool_specs;

pub(super) fn skill(setup: &Setup, command: &SkillCommand) -> Result<Exit, Failure> {
    match command {
        SkillCommand::List => list(setup),
        SkillCommand::Show(arguments) => show(setup, arguments),
        SkillCommand::Check(arguments) => check(setup, arguments),
        SkillCommand::New(arguments) => super::skill_new::new(setup, arguments),
    }
}

fn list(setup: &Setup) -> Result<Exit, Failure> {
    let tools = tool_specs(setup);
    let loaded = load_skills(&skill_dirs(setup), SkillContext { tools: &tools, read_only_sandbox: false });
    for skill in loaded.catalog.skills() {
        if setup.json {
            super::print_json(&serde_json::json!({
                "name": skill.name, "description": skill.description, "tools": skill.policy.tools,
                "writes": skill.policy.writer, "named_only": skill.policy.named_only, "source": skill.source,
            }))?;
            continue;
        }
        let tools = if skill.policy.tools.is_empty() { "no tools".to_owned() } else { skill.policy.tools.join(", ") };
        let writes = if skill.policy.writer.is_some() { ", writes" } else { "" };
        // No model chooses such a skill.
        let named = if skill.policy.named_only { ", only if you name it" } else { "" };
        let replaced: Vec<&str> =
            loaded.catalog.replaced(&skill.name).iter().map(|source| source.path.as_str()).collect();
        let replaces = if replaced.is_empty() { String::new() } else { format!("; replaces {}", replaced.join(", ")) };
        super::print(&format!(
            "{} ({tools}{writes}{named})\n  {}\n  {}{replaces}\n",
            skill.name,
            one_line(&skill.description, 300),
            harmless(&skill.source.path)
        ))?;
    }
    if let Some(words) = left_out_words(setup, &loaded.left_out) {
        tell!("{words}");
    }
    let errors = report(setup, &loaded.issues)?;
    Ok(if errors { Exit::Usage } else { Exit::Complete })
}

/// Prints the file to stdout. Prints to stderr where it comes from, what it replaces, and why its tasks wait for a
/// person.
fn show(setup: &Setup, arguments: &SkillShowArgs) -> Result<Exit, Failure> {
    let tools = tool_specs(setup);
    let loaded = load_skills(&skill_dirs(setup), SkillContext { tools: &tools, read_only_sandbox: false });
    let Some(skill) = loaded.catalog.get(&arguments.name) else {
        if let Some(failure) = why_left_out(setup, &loaded.left_out, "skill", &arguments.name) {
            return Err(failure);
        }
        let near = fuzzy::did_you_mean(&arguments.name, loaded.catalog.skills().map(|skill| skill.name.as_str()));
        let all = || Advice::command("list all skills", ["skill", "list"]);
        let near = if near.is_empty() { all() } else { near.into() };
        let broken = loaded.issues.iter().any(|issue| issue.severity == SkillSeverity::Error);
        let advice = if broken { near.or("some files have errors", ["skill", "check"]) } else { near };
        let what = format!("there is no skill \"{}\"", arguments.name);
        return Err(Failure::usage(what, advice));
    };
    let replaced = loaded.catalog.replaced(&skill.name);
    if setup.json {
        super::print_json(&serde_json::json!({
            "name": skill.name, "description": skill.description, "form": skill.form, "source": skill.source,
            "replaces": replaced, "policy": skill.policy, "text": skill.text,
        }))?;
        return Ok(Exit::Complete);
    }
    tell!("from {}", skill.source.path);
    for weaker in replaced {
        tell!("replaces {}", weaker.path);
    }
    if let Some(reason) = &skill.policy.writer {
        tell!("its tasks need approval: {reason}");
    }
    let end = if skill.text.ends_with('\n') { "" } else { "\n" };
    super::print(&format!("{}{end}", harmless(&skill.text)))?;
    Ok(Exit::Complete)
}

fn check(setup: &Setup, arguments: &SkillCheckArgs) -> Result<Exit, Failure> {
    let tools = tool_specs(setup);
    let context = SkillContext { tools: &tools, read_only_sandbox: false };
    let missing: Vec<&PathBuf> = arguments.paths.iter().filter(|path| !path.exists()).collect();
    if let Some(path) = missing.first() {
        return Err(Failure::usage(format!("{} does not exist", path.display()), ""));
    }
    let issues = if arguments.paths.is_empty() {
        // Checking a file does not use it, so trust is not required.
        load_skills(&SkillDirs { trusted: Trusted::everything(), ..skill_dirs(setup) }, context).issues
    } else {
        let paths: Vec<&Path> = arguments.paths.iter().map(PathBuf::as_path).collect();
        check_paths(&paths, context)
    };
    let errors = report(setup, &issues)?;
    if issues.is_empty() && !setup.json {
        tell!("no issues");
    }
    Ok(if errors { Exit::Usage } else { Exit::Complete })
}

/// Prints issues. Returns whether there is an error.
pub(super) fn report(setup: &Setup, issues: &[SkillIssue]) -> Result<bool, Failure> {
    for issue in issues {
        if setup.json {
            super::print_json(issue)?;
        } else {
            let advice = if issue.advice.is_empty() { String::new() } else { format!(". {}", issue.advice) };
            let line = format!(
                "{}:{}:{}: {}: {}{advice}\n",
                issue.file,
                issue.line,
                issue.column,
                issue.severity.as_str(),
                issue.message
            );
            super::print(&line)?;
        }
    }
    Ok(issues.iter().any(|issue| issue.severity == SkillSeverity::Error))
}
