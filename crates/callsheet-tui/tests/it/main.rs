//! Screens as text: a run, stopped at its moments, at three sizes. `UPDATE_EXPECT=1` writes them anew.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures")]

mod keys;
mod screens;
mod stage;
mod story;
