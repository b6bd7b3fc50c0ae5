//! Front matter of both forms (spec 7.1-7.3).

use std::collections::BTreeMap;

use callsheet_core::fuzzy::{near_or, within};
use callsheet_core::nouns::{
    ExecutionMode, MergePolicy, Policy, SkillCommand, SkillForm, SkillLimits, SkillMode, canonical_tools,
};

use super::issue::{At, Report};
use super::keys::{Entry, NEAR, entries, meant, normal};
use super::patterns::{commands, split_pattern};
use super::policy::SkillContext;
use super::table::{FOLDER_KEYS, KEYS, KeyKind, LIMITS, aliases, limit_aliases, spellings};
use crate::yaml::{Node, Value};

/// The content of the front matter.
#[derive(Default)]
pub(super) struct Header {
    pub(super) name: Option<(String, At)>,
    pub(super) description: Option<(String, At)>,
    /// What follows the description.
    pub(super) when_to_use: Vec<String>,
    pub(super) examples: Vec<String>,
    pub(super) tools: Vec<String>,
    /// Whether tools are listed and none of them can be used.
    pub(super) tools_unknown: bool,
    /// Commands that the list of tools allows.
    pub(super) commands: Vec<SkillCommand>,
    /// Whether no model may choose it.
    pub(super) named_only: bool,
    pub(super) model: Option<String>,
    pub(super) execution: Option<ExecutionMode>,
    pub(super) writes: bool,
    pub(super) mode: Option<SkillMode>,
    pub(super) refine: Option<Policy>,
    pub(super) merge: Option<MergePolicy>,
    pub(super) review: Option<Policy>,
    pub(super) check: Option<String>,
    /// Whether its tasks may create only files that they name.
    pub(super) new_files_named: bool,
    pub(super) limits: SkillLimits,
    /// The positions of Callsheet's keys, for remarks about several of them.
    pub(super) places: BTreeMap<&'static str, At>,
}

/// Limits that exist for runs and templates but cannot be set for the tasks of one skill.
const FOREIGN_LIMITS: &[&str] =
    &["maxcontextfraction", "maxcostusd", "maxdepth", "maxitems", "noprogressrepeats", "warningthreshold"];

const PREFIX: &str = "callsheet";

/// Reads the front matter of `form`. A document that is not a map gives an error and an empty header.
pub(super) fn read(root: &Node, form: SkillForm, context: SkillContext<'_>, report: &mut Report<'_>) -> Header {
    let mut header = Header::default();
    let map = match &root.value {
        Value::Map(map) => map.as_slice(),
        Value::Null => &[],
        other => {
            report.error(root.at, format!("the front matter is {}", other.kind()), "write `key: value` lines");
            return header;
        }
    };
    let keys = if form == SkillForm::Folder { FOLDER_KEYS } else { KEYS };
    for entry in entries(map, &aliases(keys, ""), report) {
        match entry.name {
            Some("license" | "compatibility") => drop(entry.text(report)),
            Some(name) if FOLDER_KEYS.iter().any(|key| key.id == name && key.kind == KeyKind::Other) => {}
            Some("metadata") => metadata(&entry, context, &mut header, report),
            Some(name) => key(name, &entry, (form, false), context, &mut header, report),
            None => unknown(&entry, form, report),
        }
    }
    header
}

fn unknown(entry: &Entry<'_>, form: SkillForm, report: &mut Report<'_>) {
    let folded = normal(entry.written);
    let of_form = |key: &str| (format!("in this form the key is `{key}`"), vec![key.to_owned()]);
    let (advice, near) = match (form, folded.as_str()) {
        (SkillForm::SingleFile, "allowedtools") => of_form("tools"),
        (SkillForm::Folder, "tools") => of_form("allowed-tools"),
        (SkillForm::Folder, key) if aliases(KEYS, "").iter().any(|(known, _)| known == key) => {
            (format!("in this form write `callsheet-{}` under `metadata`", entry.written), Vec::new())
        }
        // A published skill has keys of other programs. Only a misspelled key of ours is worth a word.
        (SkillForm::Folder, key) if !is_near(key) => return,
        (SkillForm::Folder, _) => misspelt_key(entry.written, spellings(FOLDER_KEYS)),
        (SkillForm::SingleFile, _) => misspelt_key(entry.written, spellings(KEYS)),
    };
    report.warn(entry.at, format!("ignored the unknown key \"{}\"", entry.written), advice);
    report.misspelt(entry.written, near);
}

/// What to do about an unknown key, and the keys that may be meant.
fn misspelt_key<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> (String, Vec<String>) {
    let near = meant(written, known);
    (near_or(&near, "remove it or correct its spelling"), near)
}

/// Whether a key of the folder form may be a misspelled one of the format.
fn is_near(folded: &str) -> bool {
    aliases(FOLDER_KEYS, "").iter().any(|(known, _)| within(folded, known, NEAR))
}

/// Reads Callsheet's keys in the metadata of the folder form. Keys of other programs are ignored.
fn metadata(holder: &Entry<'_>, context: SkillContext<'_>, header: &mut Header, report: &mut Report<'_>) {
    let Some(map) = holder.map(report) else { return };
    for entry in entries(map, &aliases(KEYS, PREFIX), report) {
        match entry.name {
            Some("name" | "description") => {
                report.warn(entry.at, format!("ignored \"{}\"", entry.written), "write it outside `metadata`");
            }
            Some(name) => key(name, &entry, (SkillForm::Folder, true), context, header, report),
            None if normal(entry.written).starts_with(PREFIX) => {
                let known: Vec<String> = spellings(KEYS).map(|key| format!("{PREFIX}-{key}")).collect();
                let (advice, near) = misspelt_key(entry.written, known.iter().map(String::as_str));
                report.warn(entry.at, format!("ignored the unknown key \"{}\"", entry.written), advice);
                report.misspelt(entry.written, near);
            }
            None => {}
        }
    }
}

fn key(
    name: &'static str,
    entry: &Entry<'_>,
    (form, quoted): (SkillForm, bool),
    context: SkillContext<'_>,
    header: &mut Header,
    report: &mut Report<'_>,
) {
    let policies = [("auto", Policy::Auto), ("always", Policy::Always), ("never", Policy::Never)];
    let executions = [
        ("per-call", ExecutionMode::PerCall),
        ("together", ExecutionMode::Together),
        ("per-reference", ExecutionMode::PerReference),
    ];
    // A list of tools that was left empty is as if it were not there. No tools are `[]`.
    if name == "tools" && matches!(entry.value.value, Value::Null) {
        return;
    }
    if let Some(first) = header.places.insert(name, entry.at)
        && name == "tools"
    {
        report.error(
            entry.at,
            format!("the tools are listed twice, first on line {}", first.0),
            "keep `allowed-tools` only",
        );
    }
    match name {
        "name" => header.name = entry.text(report).map(|text| (text, entry.value.at)),
        "description" => header.description = entry.text(report).map(|text| (text, entry.value.at)),
        "when_to_use" => header.when_to_use = entry.lines(report).unwrap_or_default(),
        "examples" => header.examples = entry.lines(report).unwrap_or_default(),
        "tools" => tools(entry, form, context, header, report),
        "named_only" => header.named_only = entry.flag(quoted, report).unwrap_or(true),
        "model" => header.model = model(entry, report),
        "execution" => header.execution = entry.word(&executions, report),
        "writes" => header.writes = entry.flag(quoted, report).unwrap_or(true),
        "mode" => {
            header.mode = entry.word(&[("interpret", SkillMode::Interpret), ("loop", SkillMode::Loop)], report);
        }
        "refine" => header.refine = entry.word(&policies, report),
        "merge" => {
            header.merge = entry.word(&[("code", MergePolicy::Code), ("model", MergePolicy::Model)], report);
        }
        "review" => header.review = entry.word(&policies, report),
        "check" => header.check = entry.text(report),
        "new_files" => header.new_files_named = entry.word(&[("any", false), ("named", true)], report).unwrap_or(false),
        _ => limits(entry, quoted, header, report),
    }
}

/// Reads the allowed tools by canonical name, without duplicates, and the commands that patterns name (spec 7.11).
fn tools(entry: &Entry<'_>, form: SkillForm, context: SkillContext<'_>, header: &mut Header, report: &mut Report<'_>) {
    let names = entry.names(report).unwrap_or_default();
    for (written, at) in &names {
        let (name, pattern) = split_pattern(written);
        let canonical = canonical_tools(name, context.tools.iter());
        let runs = canonical.iter().all(|tool| context.executes(tool));
        if name.contains(['(', ')', '*', '?', '[', ']', '{', '}']) || (pattern.is_some() && !runs) {
            report.warn(
                *at,
                format!("the tool pattern \"{written}\" is rejected; the skill does not get this tool"),
                "name the tool without a pattern",
            );
            continue;
        }
        match pattern.map(commands) {
            Some(Some(command)) => header.commands.push(command),
            Some(None) => report.warn(
                *at,
                format!("\"{written}\" grants nothing; each command waits for an answer"),
                "name the first words of the commands (`Bash(git diff:*)`), or a whole command",
            ),
            None => {}
        }
        for tool in canonical {
            if context.effect(&tool).is_none() {
                let goes = form == SkillForm::Folder && !context.tools.is_empty();
                unknown_tool(&tool, *at, goes, context, report);
                if goes {
                    continue;
                }
            }
            if !header.tools.contains(&tool) {
                header.tools.push(tool);
            }
        }
    }
    header.tools_unknown = !names.is_empty() && header.tools.is_empty();
}

/// Reports a tool that nobody offers. `goes` says whether the skill works without it.
fn unknown_tool(tool: &str, at: At, goes: bool, context: SkillContext<'_>, report: &mut Report<'_>) {
    let (message, advice) = if goes {
        let message = format!("Callsheet has no tool \"{tool}\"; the skill works without it");
        (message, "remove it, or set up the server that offers it")
    } else {
        let message = format!("there is no tool \"{tool}\"; Callsheet assumes that the skill may change anything");
        (message, "correct the name, or set up the server that offers it")
    };
    let names = context.tools.iter().flat_map(|tool| std::iter::once(&tool.name).chain(&tool.aliases));
    let near = meant(tool, names.map(String::as_str));
    report.warn(at, message, near_or(&near, advice));
    report.misspelt(tool, near);
}

fn model(entry: &Entry<'_>, report: &mut Report<'_>) -> Option<String> {
    let text = entry.text(report)?;
    let colon = text.starts_with("embedded:") || text.starts_with("scripted:");
    let named = text.split_once('/').is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty());
    if colon || named {
        return Some(text);
    }
    report.warn(entry.value.at, format!("ignored the model \"{text}\""), "write PROVIDER/MODEL");
    None
}

fn limits(holder: &Entry<'_>, quoted: bool, header: &mut Header, report: &mut Report<'_>) {
    let Some(map) = holder.map(report) else { return };
    for entry in entries(map, &limit_aliases(), report) {
        let Some(name) = entry.name else {
            let message = if FOREIGN_LIMITS.contains(&normal(entry.written).as_str()) {
                format!("ignored the limit \"{}\", which a skill cannot set", entry.written)
            } else {
                format!("ignored the unknown limit \"{}\"", entry.written)
            };
            let known: Vec<&str> = LIMITS.iter().map(|limit| limit.id).collect();
            let near = meant(entry.written, known.iter().copied());
            let all = format!("limits of a skill are {}", known.join(", "));
            report.warn(entry.at, message, near_or(&near, &all));
            report.misspelt(entry.written, near);
            continue;
        };
        let most = LIMITS.iter().find(|limit| limit.id == name).map_or(0, |limit| limit.most);
        let number = entry.number(quoted, most, report);
        let small = number.and_then(|number| u32::try_from(number).ok());
        let limits = &mut header.limits;
        match name {
            "max_turns" => {
                limits.task.max_turns = small;
                header.places.insert("turns", entry.at);
            }
            "timeout_seconds" => limits.task.timeout_seconds = small,
            "max_output_bytes" => limits.task.max_output_bytes = number,
            "max_calls" => limits.task.max_calls = small,
            "max_tokens" => limits.task.max_tokens = number,
            "parallel" => limits.parallel = small,
            "tool_output_tokens" => limits.tool_output_tokens = small,
            _ => limits.reference_tokens = small,
        }
    }
}
