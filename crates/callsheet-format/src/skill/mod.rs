//! Skills: reading both file forms (spec 7.1, 7.2), what the machine must know of them (`SkillPolicy`), and the
//! catalog that a planner reads (spec 7.5-7.7). Reading never fails: `(skill, issues)`.

mod catalog;
mod header;
mod issue;
mod keys;
mod parts;
mod policy;
mod read;
mod schema;
mod suggest;
mod table;

pub use catalog::Catalog;
pub use issue::{SkillIssue, SkillSeverity};
pub use parts::{heading_key, section};
pub use policy::{SkillContext, powers, writer_reason};
pub use read::{MAX_SKILL_BYTES, SkillFile, read_skill};
pub use schema::front_matter_schema;
pub use suggest::suggest;

use callsheet_core::spec::Skill;

/// What a task of this skill must bring (spec 7.4): its `input-requirements` section, else its refinement part, else
/// empty.
pub fn skill_input_requirements(skill: &Skill) -> &str {
    if skill.input_requirements.is_empty() { &skill.refinement } else { &skill.input_requirements }
}
