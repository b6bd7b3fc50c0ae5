//! Every test of the whole program and of the source tree, as one binary: each binary is linked for itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

mod architecture;
mod docs;
mod e2e_answers;
mod e2e_checks;
mod e2e_clone;
mod e2e_commands;
mod e2e_context;
mod e2e_edits;
mod e2e_exits;
mod e2e_first;
mod e2e_gates;
mod e2e_hunks;
mod e2e_inputs;
mod e2e_interrupted;
mod e2e_joins;
mod e2e_loops;
mod e2e_model_test;
mod e2e_page;
mod e2e_prompts;
mod e2e_reviews;
mod e2e_rules;
mod e2e_runs;
mod e2e_safety;
mod e2e_sheets;
mod e2e_skills;
mod e2e_steering;
mod e2e_story;
mod e2e_symbols;
mod e2e_template_acceptance;
mod e2e_template_beside;
mod e2e_template_bundled;
mod e2e_template_inside;
mod e2e_template_limits;
mod e2e_template_run;
mod e2e_template_skills;
mod e2e_template_told;
mod e2e_template_writers;
mod e2e_templates;
mod e2e_told;
mod e2e_twins;
mod jobs;
mod schema;
mod tidy;
