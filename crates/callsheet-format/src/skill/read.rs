//! Reads a skill file of either form into a `Skill` (spec 7.1-7.4).

use callsheet_core::nouns::{SKILL_TOKENS, Skill, SkillForm, SkillMode, SkillSource, tokens};

use super::header::{self, Header};
use super::issue::{At, Report, SkillIssue};
use super::mend::mended;
use super::parts::{FilePiece, cut_at_rule, cut_front_matter, section};
use super::policy::{self, SkillContext, derive};
use super::suggest::fold;
use crate::yaml::{self, Node};

/// The largest skill file in bytes.
pub const MAX_SKILL_BYTES: usize = 262_144;

/// The deepest nesting of front matter.
pub(super) const MAX_DEPTH: usize = 16;

pub(super) const MAX_NAME: usize = 64;
pub(super) const MAX_DESCRIPTION: usize = 1_024;

/// A skill file as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Its form.
    pub form: SkillForm,
    /// The name of the folder, or of the file without `.md`.
    pub stem: String,
    /// Layer and path.
    pub source: SkillSource,
    /// The whole text.
    pub text: String,
}

/// Reads one skill file. The skill is `None` exactly if there is an issue with severity error.
pub fn read_skill(file: &SkillFile, context: SkillContext<'_>) -> (Option<Skill>, Vec<SkillIssue>) {
    let mut report = Report::new(&file.source.path);
    let skill = read(file, context, &mut report).filter(|_| !report.has_error());
    (skill, report.listed())
}

fn read(file: &SkillFile, context: SkillContext<'_>, report: &mut Report<'_>) -> Option<Skill> {
    if file.text.len() > MAX_SKILL_BYTES {
        report.error((1, 1), format!("the file is larger than {MAX_SKILL_BYTES} bytes"), "shorten it");
        return None;
    }
    let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
    let cut = cut_front_matter(text);
    if file.form == SkillForm::Folder && !cut.opened {
        report.error((1, 1), "the file does not start with front matter", "start it with a line `---`");
        return None;
    }
    let Some(body) = cut.body else {
        let advice = "close the front matter with a line `---` and write the instructions below it";
        report.error((cut.front.line, 1), "the file has no instructions", advice);
        return None;
    };
    let root = front_matter(cut.front, report)?;
    let header = header::read(&root, file.form, context, report);
    let (refinement, execution) = stages(file.form, body, report);
    let name = name(file, &header, (cut.front.line, 1), report);
    let description = description(&header, (cut.front.line, 1), report);
    let input_requirements = [refinement, execution]
        .into_iter()
        .find_map(|part| section(part, "input-requirements"))
        .unwrap_or_default()
        .to_owned();
    check(&header, file, context, report);
    Some(Skill {
        name,
        description,
        examples: header.examples.clone(),
        form: file.form,
        source: file.source.clone(),
        refinement: refinement.to_owned(),
        execution: execution.to_owned(),
        input_requirements,
        policy: derive(&header, file.form, &file.text, context),
        text: file.text.clone(),
    })
}

/// The front matter as YAML, repaired if only quotes or tabs are wrong (spec 7.12).
fn front_matter(front: FilePiece<'_>, report: &mut Report<'_>) -> Option<Node> {
    let fault = match yaml::parse(front.text, front.line, MAX_DEPTH) {
        Ok(root) => return Some(root),
        Err(fault) => fault,
    };
    let (text, quoted) = mended(front.text);
    let message = format!("the front matter is not valid YAML: {}", fault.message);
    let Ok(root) = yaml::parse(&text, front.line, MAX_DEPTH) else {
        report.error(fault.at, message, "correct it");
        return None;
    };
    let as_if = match quoted.as_slice() {
        [] => "as if its tabs were blanks".to_owned(),
        keys => format!("as if {} had quotes", keys.join(", ")),
    };
    report.warn(fault.at, format!("{message}; read {as_if}"), "write it like that");
    Some(root)
}

/// Refinement and execution instructions: the whole body twice, or the two parts of the single-file form.
fn stages<'a>(form: SkillForm, body: FilePiece<'a>, report: &mut Report<'_>) -> (&'a str, &'a str) {
    let (first, second) = match form {
        SkillForm::Folder => (body, None),
        SkillForm::SingleFile => cut_at_rule(body, true),
    };
    let execution = second.unwrap_or(first);
    if execution.text.trim().is_empty() {
        report.error((execution.line, 1), "the execution part is empty", "write the instructions for doing the task");
    }
    for part in [Some(first), second].into_iter().flatten() {
        let tokens = tokens(part.text.trim());
        if tokens > SKILL_TOKENS {
            let message = format!("the instructions have {tokens} tokens, but a prompt shows only {SKILL_TOKENS}");
            report.warn((part.line, 1), message, "shorten them, or put a part into a file that tasks refer to");
        }
    }
    let refinement = match (form, second) {
        (SkillForm::Folder, _) => first.text,
        (SkillForm::SingleFile, Some(_)) => first.text,
        (SkillForm::SingleFile, None) => "",
    };
    (refinement.trim(), execution.text.trim())
}

fn name(file: &SkillFile, header: &Header, top: At, report: &mut Report<'_>) -> String {
    let given = header.name.as_ref().filter(|(name, _)| !name.is_empty());
    let (name, at) = given.cloned().unwrap_or_else(|| (file.stem.clone(), top));
    let holder = if file.form == SkillForm::Folder { "folder" } else { "file" };
    if !is_name(&name) {
        let shown: String = name.chars().take(80).collect();
        let message = format!("\"{shown}\" is not a valid name");
        let advice =
            format!("use 1 to {MAX_NAME} characters: words of a-z, A-Z, 0-9, `-` and `_`, with one space between them");
        let repaired = Some(named_after(&name)).filter(|name| file.form == SkillForm::Folder && is_name(name));
        let Some(repaired) = repaired else {
            report.error(at, message, advice);
            return name;
        };
        report.warn(at, format!("{message}; \"{repaired}\" is used"), advice);
        return repaired;
    }
    if given.is_none() && file.form == SkillForm::Folder {
        report.warn(at, "the key \"name\" is missing; the folder's name is used", format!("write `name: {name}`"));
    } else if fold(&name) != fold(&file.stem) {
        report.warn(
            at,
            format!("the skill is named \"{name}\" and its {holder} \"{}\"; the skill's name is used", file.stem),
            format!("rename the {holder} or the skill"),
        );
    }
    name
}

fn is_name(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    name.len() <= MAX_NAME && name.split(' ').all(is_word)
}

/// A name with `-` in place of what a name may not contain.
fn named_after(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").chars().take(MAX_NAME).collect()
}

fn description(header: &Header, top: At, report: &mut Report<'_>) -> String {
    let Some((text, at)) = header.description.as_ref().filter(|(text, _)| !text.is_empty()) else {
        if !report.has_error() || header.description.is_some() {
            let at = header.description.as_ref().map_or(top, |(_, at)| *at);
            report.error(at, "the key \"description\" is missing or empty", "say when to use the skill");
        }
        return String::new();
    };
    if text.chars().count() > MAX_DESCRIPTION {
        let message = format!("the description is longer than {MAX_DESCRIPTION} characters");
        report.warn(*at, message, "say in one or two sentences when to use the skill");
    }
    let texts = std::iter::once(text).chain(&header.when_to_use);
    texts.flat_map(|text| text.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// Reports settings that have no effect together.
fn check(header: &Header, file: &SkillFile, context: SkillContext<'_>, report: &mut Report<'_>) {
    let (tools, _) = policy::tools(header, file.form, context);
    let looped = policy::mode(header, file.form, &tools) == SkillMode::Loop;
    let at = |key: &str| header.places.get(key).copied().unwrap_or((1, 1));
    if looped && tools.is_empty() {
        report.warn(at("mode"), "`mode: loop` without tools", "list the tools of the conversation, or remove the mode");
    }
    if looped && header.execution.is_some() {
        report.warn(at("execution"), "`execution` has no effect with `mode: loop`", "remove one of the two");
    }
    if !looped && header.limits.task.max_turns.is_some() {
        report.warn(at("turns"), "a limit of turns has no effect without `mode: loop`", "remove it");
    }
}
