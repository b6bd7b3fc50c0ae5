//! Durable and in-memory stores behind the `Store` port.
//!
//! [`SqliteStore`] keeps a project's runs in `callsheet.db` in a separate folder: SQLite in WAL mode, one transaction
//! for each batch of facts, any number of reading processes, and one writing process per run. [`MemoryStore`] behaves
//! the same and forgets everything; tests and simulations use it. [`SqliteIndex`] and [`MemoryIndex`] keep the metadata
//! of the memory system. Both stores run the conformance suite of `callsheet-runtime`. [`LiveWriter`] and
//! [`LiveReader`] pass the text that models are streaming to other processes; they are not part of any store.

mod blobs;
mod check;
mod checkpoint;
mod collect;
mod fault;
mod held;
mod index;
mod live;
mod memory;
mod opening;
mod owner;
mod pack;
mod rows;
mod schema;
mod sqlite;
mod staged;
mod summary;

pub use check::{Damage, StoreCheck};
pub use collect::Collected;
pub use index::{MemoryIndex, SqliteIndex};
pub use live::{LiveReader, LiveWriter, is_looked_at};
pub use memory::MemoryStore;
pub use opening::database;
pub use sqlite::SqliteStore;
