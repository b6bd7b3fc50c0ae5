//! Random settings and skills.

use std::collections::BTreeMap;

use callsheet_core::nouns::{
    ApprovalMode, ExecutionMode, MergePolicy, Policy, SectionOrder, Settings, SkillMode, SkillPolicy,
};

use crate::random::Random;
use crate::world::{TEMPLATE, blob};

/// How often results are reviewed.
pub(crate) const REVIEWS: [Policy; 4] = [Policy::Auto, Policy::Never, Policy::Never, Policy::Always];

pub fn settings(random: &mut Random) -> Settings {
    let mut settings = Settings::default();
    let policies = [Policy::Auto, Policy::Auto, Policy::Always, Policy::Never];
    let modes = [ApprovalMode::Both, ApprovalMode::BeforeRun, ApprovalMode::BeforeApply, ApprovalMode::Never];
    settings.jobs = u32::try_from(random.below(5)).unwrap_or(1);
    settings.attempts = u32::try_from(1 + random.below(4)).unwrap_or(1);
    settings.max_rounds = u32::try_from(1 + random.below(4)).unwrap_or(1);
    settings.refine = random.pick(&policies).copied().unwrap_or_default();
    settings.iterate = random.pick(&policies).copied().unwrap_or_default();
    settings.approval = random.pick(&modes).copied().unwrap_or_default();
    if random.chance(30) {
        settings.merge = MergePolicy::Model;
    }
    if random.chance(30) {
        settings.sections = SectionOrder::Strict;
    }
    settings.checks.insert("test".to_owned(), vec!["true".to_owned()]);
    settings.review = random.pick(&REVIEWS).copied().unwrap_or_default();
    settings.join = random.pick(&policies).copied().unwrap_or_default();
    let limits = &mut settings.limits;
    limits.max_turns = u32::try_from(1 + random.below(4)).unwrap_or(1);
    limits.timeout_seconds = u32::try_from(5 + random.below(60)).unwrap_or(5);
    if random.chance(15) {
        limits.max_calls = u32::try_from(random.below(30)).unwrap_or(0);
    }
    if random.chance(10) {
        limits.max_tokens = Some(u64::try_from(random.below(3_000)).unwrap_or(0));
    }
    if random.chance(10) {
        limits.max_cost_usd = Some(0.1);
    }
    if random.chance(10) {
        limits.run_timeout_seconds = Some(20);
    }
    settings
}

pub fn skills(random: &mut Random) -> BTreeMap<String, SkillPolicy> {
    let mut skills = BTreeMap::new();
    for name in ["one", "two", "three", "four", "five"] {
        let mut skill = SkillPolicy { hash: Some(blob(name)), ..SkillPolicy::default() };
        skill.needs_arguments = random.chance(40);
        let executions = [ExecutionMode::PerCall, ExecutionMode::Together, ExecutionMode::PerReference];
        skill.execution = random.pick(&executions).copied().unwrap_or_default();
        if random.chance(40) {
            skill.writer = Some("it writes".to_owned());
        }
        if skill.writer.is_some() && random.chance(50) {
            skill.check = Some("test".to_owned());
        }
        if random.chance(30) {
            skill.mode = SkillMode::Loop;
            skill.needs_arguments = false;
        }
        if name == "five" && random.chance(60) {
            skill.mode = SkillMode::Template;
            skill.tools = vec![TEMPLATE.to_owned()];
        }
        if random.chance(20) {
            skill.merge = Some(MergePolicy::Model);
        }
        if random.chance(15) {
            skill.refine = Some(Policy::Always);
        }
        if random.chance(15) {
            skill.limits.task.max_calls = Some(u32::try_from(random.below(4)).unwrap_or(1));
        }
        if random.chance(10) {
            skill.limits.task.max_tokens = Some(200);
        }
        if random.chance(20) {
            skill.limits.parallel = Some(1);
        }
        skills.insert(name.to_owned(), skill);
    }
    skills
}
