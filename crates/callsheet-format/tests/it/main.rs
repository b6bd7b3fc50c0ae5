//! Tests of the formats, as one binary: each binary is linked for itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]

mod answers;
mod book;
#[allow(dead_code, reason = "each test uses its part")]
#[path = "../../../../fuzz/src/checks.rs"]
mod checks;
#[allow(dead_code, reason = "each test uses its part")]
#[path = "../../benches/hostile/families.rs"]
mod families;
mod formats;
#[allow(dead_code, reason = "each test uses its part")]
#[path = "../../../callsheet-core/tests/it/sections/mod.rs"]
mod sections;
mod support;
#[allow(dead_code, reason = "each test uses its part")]
#[path = "../../benches/hostile/world.rs"]
mod world;

mod checklists;
mod corpus;
mod grammar;
mod grammar_reading;
mod grammar_twins;
mod hostile;
mod hunks;
mod laws;
mod lists;
mod markdown;
mod prompt;
mod replies;
mod reviews;
mod sheets;
mod skill;
mod task_properties;
mod tasks;
mod template_acceptance;
mod template_acceptance_values;
mod template_kinds;
mod template_library;
mod template_short;
mod template_values;
mod templates;
