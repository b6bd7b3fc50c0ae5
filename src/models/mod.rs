//! Decides which model answers which phase: the choice if nothing is configured, the precedence of wishes (spec 7.9),
//! and the models themselves, which are built at their first use.

mod choose;
mod embedded;
mod free;
mod offers;
mod source;
mod tape;

pub use choose::{Choice, Fetch, choose, choose_recorded, list_models};
pub use embedded::{PullReport, RUNS_EMBEDDED, bytes_words, hub_cache, models_folder, pull_row, size};
pub use offers::{Offer, Offered, offers};
pub use source::{Models, NoModels, configured, is_forced, provider_settings, provider_slots, secrets, unset_keys};
pub use tape::{Tape, recorded_environment};
