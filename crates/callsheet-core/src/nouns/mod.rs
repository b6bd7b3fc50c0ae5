//! The nouns: tasks, references, tools, skills, settings. Plain, serialisable data. The only behaviour keeps values
//! valid.

mod call;
mod ids;
mod limits;
mod picture;
mod reference;
mod settings;
mod skill;
mod task;
mod tokens;
mod tool;

pub use call::{Phase, Refinement};
pub use ids::{BlobHasher, BlobId, ExecutionId, RunId, Slug};
pub use limits::{LIMIT_ROWS, LimitRange, LimitRow, TaskLimits};
pub use picture::{PICTURE_BYTES, PICTURE_SIDE, PICTURES, Picture, PictureFormat};
pub use reference::{Fragment, PlanPart, Reference, Target};
pub use settings::{ApprovalMode, Budget, Headless, Limits, MergePolicy, Policy, SectionOrder, Settings};
pub use skill::{
    ExecutionMode, Skill, SkillCommand, SkillForm, SkillLayer, SkillLimits, SkillMode, SkillPolicy, SkillSource,
};
pub use task::{ForEach, Goals, Step, Task, TaskList, Wording};
pub use tokens::{NEED_TOKENS, SKILL_TOKENS, TokenCount, tokens};
pub use tool::{RepeatClass, ToolCall, ToolEffect, ToolSpec, canonical_tools};
