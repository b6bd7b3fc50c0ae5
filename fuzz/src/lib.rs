//! What the fuzz targets check. `checks` is shared with a test of `callsheet-format` that replays the corpus.

pub mod checks;
#[path = "../../crates/callsheet-format/benches/hostile/world.rs"]
pub mod world;
