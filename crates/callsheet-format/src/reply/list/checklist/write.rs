//! Writes a list as a checklist (spec 3.15). The result is read back, so everything that a checklist cannot contain
//! appears as a difference.

use callsheet_core::links::{link, parse_target};
use callsheet_core::nouns::{Goals, Phase, Policy, Reference, Target, Task, TaskList};

use crate::reading::Diagnostics;
use crate::reply::references::written_links;
use crate::sheet::write_for_each;

use super::super::format::{COMPLETE, CONTINUES, label};
use super::super::task::EXPECTED;
use super::items::{AFTER, Item, REVIEW, parse};
use super::order::{Place, places};
use super::{goals, references};

/// A list as a checklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checklist {
    /// The file.
    pub text: String,
    /// What it does not contain of the list.
    pub lost: Vec<Lost>,
}

/// A part of a list that a checklist cannot contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The exact words of the goals.
    Goals,
    /// The number of tasks. Nothing else can then be compared.
    Tasks,
    /// A value of a task, with the task's name and the key.
    Key(String, &'static str),
    /// The section in which a task runs.
    Section(String),
}

/// Writes a list as a checklist.
pub fn write_checklist(list: &TaskList) -> Checklist {
    let mut text = String::new();
    for (set, marker) in [(list.goals.plan_complete, COMPLETE), (list.goals.plan_continues, CONTINUES)] {
        if set {
            text.push_str(&format!("**{marker}**\n"));
        }
    }
    text.push_str(&format!("{}\n\n", list.goals.text));
    let tasks: Vec<&Task> = list.tasks().collect();
    for (at, task) in tasks.iter().enumerate() {
        item(&mut text, at, task, &tasks);
    }
    let text = text.trim_start_matches('\n').to_owned();
    let lost = lost(&text, list);
    Checklist { text, lost }
}

/// A task as an item with its keys below it.
fn item(out: &mut String, at: usize, task: &Task, tasks: &[&Task]) {
    let first = task.need.lines().next().unwrap_or_default();
    let named = super::order::first_words(first) == task.name && !first.starts_with("**");
    let lead = if named { String::new() } else { format!("**{}** ", task.name) };
    let mut lines = task.need.lines();
    out.push_str(&format!("- [ ] {lead}{}\n", lines.next().unwrap_or_default()));
    for line in lines {
        out.push_str(&below(line));
    }
    let mut key = |name: &str, value: &str| {
        let mut lines = value.lines();
        out.push_str(&format!("  {}: {}\n", name.to_lowercase(), lines.next().unwrap_or_default()));
        lines.for_each(|line| out.push_str(&format!("    {line}\n")));
    };
    if let Some(skill) = &task.skill {
        key(label::SKILL, skill);
    }
    if let (Some(for_each), Some(source)) = (&task.for_each, task.source()) {
        key(label::FOR_EACH, &write_for_each(for_each, source));
    }
    let is_before = |reference: &Reference| {
        let Target::TaskOutput { slug, heading: None } = &reference.target else { return None };
        tasks.iter().take(at).position(|other| other.slug == *slug && other.name == reference.title)
    };
    // Results of other items come last, so that their order is kept.
    let own = task.own_references();
    let split = own.iter().rposition(|reference| is_before(reference).is_none()).map_or(0, |last| last + 1);
    let (other, results) = own.split_at(split.min(own.len()));
    if !is_implied(other, &task.need) {
        let links: Vec<String> = other.iter().map(link).collect();
        let links = if links.is_empty() { "none".to_owned() } else { links.join("\n") };
        key(label::REFERENCES, &links);
    }
    let before: Vec<usize> = results.iter().filter_map(is_before).collect();
    let above = at.checked_sub(1).map(|above| vec![above]).unwrap_or_default();
    if before != above {
        let names: Vec<String> = before.iter().map(|at| called(*at, tasks)).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        key(AFTER, &names);
    }
    if task.expected != EXPECTED.trim() {
        key(label::EXPECTED, &task.expected);
    }
    if task.approval {
        key(label::APPROVAL, "yes");
    }
    if let Some(review) = task.review {
        key(REVIEW, review.as_str());
    }
}

fn below(line: &str) -> String {
    if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }
}

/// How `after:` names an item: by its name, or by its number if the name would be read as several names or as a number.
fn called(at: usize, tasks: &[&Task]) -> String {
    let name = tasks.get(at).map_or("", |task| task.name.as_str());
    let is_plain = !name.contains(',') && name.parse::<usize>().is_err();
    if is_plain { name.to_owned() } else { (at + 1).to_string() }
}

/// Whether the text of an item implies its references: it contains exactly these paths.
fn is_implied(other: &[Reference], need: &str) -> bool {
    let Some(mut written) = parse(&format!("- [ ] {}", need.replace('\n', "\n  "))) else { return false };
    let Some(item) = written.items.first_mut() else { return false };
    item.keys.clear();
    let mut unknown = false;
    let found = references(item, |word, _| {
        let target = parse_target(word).ok()?;
        let known = other.iter().any(|reference| reference.target == target);
        unknown |= !known;
        known.then_some(target)
    });
    !unknown && found.iter().map(|(_, link)| link.clone()).eq(other.iter().map(link))
}

/// What reads back differently.
fn lost(text: &str, list: &TaskList) -> Vec<Lost> {
    let tasks: Vec<&Task> = list.tasks().collect();
    let mut notes = Diagnostics::new(Phase::Plan, false).by_hand(true);
    let Some(written) = parse(text) else { return vec![Lost::Tasks] };
    let places = places(&written.items, &mut notes);
    let whole = written.items.len() == tasks.len() && written.plain.is_empty() && written.between.is_empty();
    if !whole || places.iter().any(|place| place.done) {
        return vec![Lost::Tasks];
    }
    let Goals { text, plan_complete, plan_continues } = goals(&written, &places).1;
    let same = (plan_complete, plan_continues) == (list.goals.plan_complete, list.goals.plan_continues);
    let mut lost = Vec::new();
    if !same || text != list.goals.text {
        lost.push(Lost::Goals);
    }
    let steps = list.steps.iter().filter(|step| !step.tasks.is_empty()).enumerate();
    let steps: Vec<usize> = steps.flat_map(|(at, step)| step.tasks.iter().map(move |_| at)).collect();
    for (((task, item), place), step) in tasks.iter().zip(&written.items).zip(&places).zip(steps) {
        lost.extend(keys_lost(task, item, place, &places).into_iter().map(|key| Lost::Key(task.name.clone(), key)));
        if place.level != step {
            lost.push(Lost::Section(task.name.clone()));
        }
    }
    lost
}

/// The keys of a task to which its item gives another value.
fn keys_lost(task: &Task, item: &Item, place: &Place, places: &[Place]) -> Vec<&'static str> {
    let said = |name: &'static str| item.keys.iter().find(|key| key.name == name).map(|key| key.value.as_str());
    let paths = |word: &str, _| {
        let target = parse_target(word).ok()?;
        task.references.iter().any(|reference| reference.target == target).then_some(target)
    };
    let mut read: Vec<(String, Option<Target>)> = Vec::new();
    for (_, value) in references(item, paths) {
        read.extend(written_links(&value).iter().map(|link| (link.title.to_string(), parse_target(&link.target).ok())));
    }
    for to in place.reads.iter().filter_map(|to| places.get(*to)) {
        let target = to.slug.clone().map(|slug| Target::TaskOutput { slug, heading: None });
        read.push((to.name.clone(), target));
    }
    let for_each = task.for_each.as_ref().zip(task.source()).map(|(each, source)| write_for_each(each, source));
    let own = task.own_references().iter().map(|reference| (reference.title.clone(), Some(reference.target.clone())));
    let expected = said(label::EXPECTED).unwrap_or(EXPECTED.trim());
    let review = said(REVIEW).and_then(|word| {
        [Policy::Auto, Policy::Always, Policy::Never].into_iter().find(|policy| policy.as_str() == word)
    });
    let differs = [
        (label::NAME, place.name != task.name || place.slug.as_ref() != Some(&task.slug)),
        (label::NEED, place.need != task.need),
        (label::SKILL, said(label::SKILL) != task.skill.as_deref()),
        (label::FOR_EACH, said(label::FOR_EACH) != for_each.as_deref()),
        (label::REFERENCES, !read.into_iter().eq(own)),
        (label::EXPECTED, expected != task.expected),
        (label::APPROVAL, said(label::APPROVAL).is_some() != task.approval),
        (REVIEW, review != task.review),
        ("Tool Calls", !task.calls.is_empty()),
        ("unknown keys", !task.extra.is_empty()),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}
