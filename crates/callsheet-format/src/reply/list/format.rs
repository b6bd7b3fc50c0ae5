//! Headings and labels of task lists (spec 3.3).

use crate::markdown::{Format, Heading, LabelRule, Rule};

const fn rule(heading: Heading, title: &'static str, level: u8, synonyms: &'static [&'static str]) -> Rule {
    Rule { heading, title, level, synonyms, numbered: false }
}

const PROMPT: Rule =
    rule(Heading::OriginalPrompt, "Original prompt", 2, &["User prompt", "User request", "Request", "Prompt"]);
const GOALS: Rule = rule(
    Heading::Goals,
    "Goals / summary",
    2,
    &["Goals", "Goal", "Objectives", "Goals and summary", "Goals & summary", "Summary"],
);
const TASKS: Rule = rule(Heading::Tasks, "Tasks", 2, &["Task", "Task list", "Outstanding tasks", "Plan", "Steps"]);
const SECTION: Rule = Rule {
    heading: Heading::TaskSection,
    title: "Task section",
    level: 3,
    synonyms: &["Section", "Step", "Phase", "Stage", "Group"],
    numbered: true,
};
const ISSUES: Rule = rule(
    Heading::Issues,
    "Issues with the tasks",
    2,
    &["Issues with the tasks (rectified)", "Issues", "What I changed"],
);
const RELEVANT: Rule = rule(Heading::NoLongerRelevant, "No longer relevant", 2, &["Irrelevant"]);
const REMOVED: Rule = rule(Heading::RemovedTasks, "Removed tasks", 2, &["Dropped tasks", "Tasks to remove"]);
const COMPLETED: Rule = rule(Heading::CompletedTasks, "Completed tasks", 2, &["Finished tasks"]);
const GENERAL: Rule = rule(Heading::GeneralInformation, "General information for all tasks", 2, &[]);

const MARKERS: &[&str] = &[COMPLETE, CONTINUES];

/// Marker of a list that needs no iteration (spec 2.13).
pub const COMPLETE: &str = "plan complete";
/// Marker of a sheet that needs an iteration (spec 2.2).
pub const CONTINUES: &str = "plan continues";

/// A sheet file (spec 3.4): a plan in which the person may also mark what is no longer relevant (spec 5.10).
pub const SHEET: Format = Format {
    rules: &[PROMPT, GOALS, TASKS, SECTION, ISSUES, RELEVANT, COMPLETED, GENERAL],
    markers: MARKERS,
    plain_titles: true,
};

/// A plan (spec 3.4). A retried plan may contain `Issues with the tasks`.
pub const PLAN: Format = Format {
    rules: &[PROMPT, GOALS, TASKS, SECTION, ISSUES, COMPLETED, GENERAL],
    markers: MARKERS,
    plain_titles: true,
};

/// An iteration or continuation (spec 3.5, 3.6).
pub const ITERATION: Format = Format {
    rules: &[PROMPT, GOALS, TASKS, SECTION, ISSUES, REMOVED, RELEVANT, COMPLETED, GENERAL],
    markers: MARKERS,
    plain_titles: true,
};

/// Canonical labels of a task.
pub mod label {
    /// Name.
    pub const NAME: &str = "Name";
    /// What is needed.
    pub const NEED: &str = "What is needed";
    /// Skill.
    pub const SKILL: &str = "Skill";
    /// For each.
    pub const FOR_EACH: &str = "For each";
    /// References.
    pub const REFERENCES: &str = "References";
    /// Expected output.
    pub const EXPECTED: &str = "Expected output";
    /// Requires user approval.
    pub const APPROVAL: &str = "Requires user approval";
    /// Output, host-rendered.
    pub const OUTPUT: &str = "Output";
    /// State of an ended task, which the host writes into a run's own sheet.
    pub const STATE: &str = "State";
    /// Skill call of older formats.
    pub const SKILL_CALL: &str = "Skill call";
}

/// Labels of a task in canonical order, with other names that count as the same (spec 3.3, 4.4 `label-name`).
pub const TASK_LABELS: &[LabelRule] = &[
    LabelRule { name: label::NAME, synonyms: &["Title", "Task name"] },
    LabelRule {
        name: label::NEED,
        synonyms: &["Description", "Goal", "Need", "Needs", "What is required", "What's needed", "Task description"],
    },
    LabelRule { name: label::SKILL, synonyms: &["Skill name"] },
    LabelRule { name: label::FOR_EACH, synonyms: &["For every", "Foreach"] },
    LabelRule {
        name: label::REFERENCES,
        synonyms: &["Reference", "Links", "Context", "Shared references", "Examination references"],
    },
    LabelRule { name: label::EXPECTED, synonyms: &["Deliverable", "Expected outputs", "Expected result"] },
    LabelRule {
        name: label::APPROVAL,
        synonyms: &["Requires approval", "is_writer", "Requires user's approval", "User approval"],
    },
    LabelRule { name: label::OUTPUT, synonyms: &[] },
    LabelRule { name: label::STATE, synonyms: &[] },
    LabelRule { name: label::SKILL_CALL, synonyms: &[] },
];
