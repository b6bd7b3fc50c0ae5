//! Skills: reads both file forms (spec 7.1, 7.2), derives what the machine must know about them (`SkillPolicy`), and
//! builds the catalog for the planner (spec 7.5-7.7). Reading never fails: `(skill, issues)`.

mod catalog;
mod header;
mod issue;
mod keys;
mod mend;
mod parts;
mod patterns;
mod policy;
mod read;
mod schema;
mod suggest;
mod table;

pub use catalog::Catalog;
pub use issue::{Misspelt, SkillIssue, SkillSeverity};
pub use parts::{heading_key, section};
pub use policy::{SkillContext, powers, writer_reason};
pub use read::{MAX_SKILL_BYTES, SkillFile, read_skill};
pub use schema::front_matter_schema;
pub use suggest::suggest;

use callsheet_core::nouns::Skill;

/// What a task of this skill must provide (spec 7.4): the `input-requirements` section, else the refinement part, else
/// empty.
pub fn skill_input_requirements(skill: &Skill) -> &str {
    if skill.input_requirements.is_empty() { &skill.refinement } else { &skill.input_requirements }
}
