//! Which model answers which phase: the choice when nothing is configured, the strength of wishes (spec 7.9), and the
//! models themselves, built when they are first asked for.

mod choose;
mod embedded;
mod free;
mod offers;
mod source;
mod tape;

pub use choose::{Choice, Fetch, choose, choose_recorded};
pub use embedded::{PullReport, bytes_words, hub_cache, models_folder, pull_row, size};
pub use offers::{Offer, Offered, offers};
pub use source::{Models, NoModels, configured, is_forced, provider_settings, secrets};
pub use tape::{Tape, recorded_environment};
