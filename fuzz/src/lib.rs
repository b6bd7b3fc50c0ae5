//! What the fuzz targets check. `checks` is shared with a test of core that replays the corpus.

pub mod checks;
#[path = "../../crates/callsheet-core/benches/hostile/world.rs"]
pub mod world;
