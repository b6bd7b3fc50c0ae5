//! The skills that a run offers (spec 7.5-7.7).

use std::collections::BTreeMap;

use callsheet_core::nouns::{Skill, SkillLayer, SkillMode, SkillSource};

use super::issue::{SkillIssue, SkillSeverity};
use super::suggest::{fold, suggest};

const LINE_CHARACTERS: usize = 300;
const SUGGESTIONS: usize = 5;

/// Skills by name. For each name, the first one found in the layers of spec 7.5.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    /// By name. `String` order is byte order.
    skills: BTreeMap<String, Skill>,
    /// Sources of equal names in lower layers.
    replaced: BTreeMap<String, Vec<SkillSource>>,
}

impl Catalog {
    /// Combines the layers. For each name, the highest layer wins, with a notice that names both files. Two skills with
    /// one name in the same directory are an error, and neither is used.
    pub fn layer(skills: Vec<Skill>) -> (Self, Vec<SkillIssue>) {
        let mut by_name: BTreeMap<String, Vec<Skill>> = BTreeMap::new();
        for skill in skills {
            by_name.entry(skill.name.clone()).or_default().push(skill);
        }
        let mut catalog = Self::default();
        let mut issues = Vec::new();
        for (name, mut found) in by_name {
            found.sort_by(|a, b| (a.source.layer, &a.source.path).cmp(&(b.source.layer, &b.source.path)));
            let (twice, single): (Vec<_>, Vec<_>) = {
                let layers: Vec<_> = found.iter().map(|skill| skill.source.layer).collect();
                found.into_iter().partition(|skill| layers.iter().filter(|l| **l == skill.source.layer).count() > 1)
            };
            for skill in &twice {
                let others: Vec<&str> = twice
                    .iter()
                    .filter(|other| other.source.layer == skill.source.layer && other.source.path != skill.source.path)
                    .map(|other| other.source.path.as_str())
                    .collect();
                issues.push(issue(
                    SkillSeverity::Error,
                    &skill.source,
                    format!("the skill \"{name}\" is also in {}; neither is loaded", others.join(", ")),
                    "rename or remove one of them",
                ));
            }
            let mut single = single.into_iter();
            let Some(first) = single.next() else { continue };
            for weaker in single {
                issues.push(issue(
                    SkillSeverity::Notice,
                    &first.source,
                    format!("the skill \"{name}\" replaces the one in {}", weaker.source.path),
                    "rename it if you do not want that",
                ));
                catalog.replaced.entry(name.clone()).or_default().push(weaker.source);
            }
            catalog.skills.insert(name, first);
        }
        catalog.look_alikes(&mut issues);
        (catalog, issues)
    }

    /// Adds templates to the skills. If names are equal, the template is used, and this is reported (T519). A built-in
    /// template does not replace a skill of the project or of the user.
    pub fn with_templates(mut self, templates: Vec<Skill>) -> (Self, Vec<SkillIssue>) {
        let mut issues = Vec::new();
        for mut template in templates {
            if let Some(skill) = self.skills.get(&template.name) {
                let stays = template.source.layer == SkillLayer::Bundled && skill.source.layer != SkillLayer::Bundled;
                let (name, path) = (&template.name, &skill.source.path);
                let words = match stays {
                    true => format!("T519: the skill in {path} is used, not the built-in template \"{name}\""),
                    false => format!("T519: the template \"{name}\" replaces the skill in {path}"),
                };
                issues.push(issue(
                    SkillSeverity::Notice,
                    &template.source,
                    words,
                    "`skill:NAME` and `template:NAME` select one of them",
                ));
                if stays {
                    template.name = format!("template:{name}");
                    self.skills.insert(template.name.clone(), template);
                    continue;
                }
                let source = skill.source.clone();
                let own = Skill { name: format!("skill:{}", skill.name), ..skill.clone() };
                self.replaced.entry(template.name.clone()).or_default().push(source);
                self.skills.insert(own.name.clone(), own);
            }
            self.skills.insert(template.name.clone(), template);
        }
        (self, issues)
    }

    /// Warns about names that a reader of replies cannot distinguish (repair `skill-near`).
    fn look_alikes(&self, issues: &mut Vec<SkillIssue>) {
        let mut folded: BTreeMap<String, &Skill> = BTreeMap::new();
        for skill in self.skills.values() {
            if let Some(other) = folded.insert(fold(&skill.name), skill) {
                issues.push(issue(
                    SkillSeverity::Warning,
                    &skill.source,
                    format!(
                        "the names \"{}\" and \"{}\" differ only by case, spaces, `-` and `_`",
                        other.name, skill.name
                    ),
                    "rename one of the two: with the same name one replaces the other, with a different name both stay",
                ));
            }
        }
    }

    /// Only these skills, and an issue for each unknown name. An empty list means all skills.
    pub fn restrict(mut self, names: &[String]) -> (Self, Vec<SkillIssue>) {
        if names.is_empty() {
            return (self, Vec::new());
        }
        let issues = names
            .iter()
            .filter(|name| !self.skills.contains_key(*name))
            .map(|name| SkillIssue {
                severity: SkillSeverity::Error,
                file: "skills".to_owned(),
                line: 1,
                column: 1,
                message: format!("there is no skill \"{name}\""),
                advice: match self.suggestions(name).as_slice() {
                    [] => "there are no skills".to_owned(),
                    nearest => format!("nearest: {}", nearest.join(", ")),
                },
                misspelt: None,
            })
            .collect();
        self.skills.retain(|name, _| names.contains(name));
        self.replaced.retain(|name, _| names.contains(name));
        (self, issues)
    }

    /// The skill with exactly this name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.get(name)
    }

    /// All skills, sorted by name bytes.
    pub fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.skills.values()
    }

    /// Whether there is no skill.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Files of lower layers that the skill with this name replaces. A gate shows them (spec 7.5).
    pub fn replaced(&self, name: &str) -> &[SkillSource] {
        self.replaced.get(name).map_or(&[], Vec::as_slice)
    }

    /// The five names most similar to an unknown one (spec 7.7).
    pub fn suggestions(&self, asked: &str) -> Vec<String> {
        let known = self.skills.values().map(|skill| (skill.name.as_str(), skill.description.as_str()));
        suggest(asked, known, SUGGESTIONS)
    }

    /// Skills that a model may choose by itself, sorted by name bytes. Those that say that no model may are left out,
    /// and bundled templates, because their purpose is too similar to that of the skills; a person can name them.
    pub fn offered(&self) -> impl Iterator<Item = &Skill> {
        let bundled = |skill: &Skill| is_template(skill) && skill.source.layer == SkillLayer::Bundled;
        self.skills.values().filter(move |skill| !skill.policy.named_only && !bundled(skill))
    }

    /// Skills that the reply of a model may name, if this is what a person wrote: all but those that no model may
    /// choose, unless the person named them.
    pub fn nameable(&self, words: &str) -> impl Iterator<Item = &Skill> {
        let words = spaced(words);
        let named = move |skill: &Skill| words.contains(&spaced(&skill.name));
        self.skills.values().filter(move |skill| !skill.policy.named_only || named(skill))
    }

    /// The text for the planner (spec 7.6). Equal skills give equal bytes.
    pub fn render(&self) -> String {
        let lines: Vec<String> = self.offered().map(line).collect();
        lines.join("\n")
    }
}

/// The words of a text, each between blanks.
fn spaced(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" ").to_lowercase())
}

fn is_template(skill: &Skill) -> bool {
    skill.policy.mode == SkillMode::Template
}

fn line(skill: &Skill) -> String {
    let words: Vec<&str> = skill.description.split_whitespace().collect();
    let cut: String = words.join(" ").chars().take(LINE_CHARACTERS).collect();
    let mut text = format!("- **{}** {}", skill.name, cut.trim_end());
    if skill.policy.writer.is_some() {
        text.push_str(" (writes)");
    }
    if is_template(skill) {
        text.push_str(" (template)");
    }
    text
}

fn issue(severity: SkillSeverity, source: &SkillSource, message: String, advice: &str) -> SkillIssue {
    let (file, advice) = (source.path.clone(), advice.to_owned());
    SkillIssue { severity, file, line: 1, column: 1, message, advice, misspelt: None }
}
