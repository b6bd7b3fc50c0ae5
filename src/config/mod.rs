//! Configuration in layers, strongest first: flags, environment, project file, user file, built-in values. Every
//! value keeps its origin, so that `doctor` can show it.

#[cfg(feature = "mcp")]
mod confirmed;
mod folders;
mod grants;
mod keys;
mod layers;
mod schema;
mod setting;
#[cfg(feature = "page")]
mod tokens;
mod trust;

#[cfg(feature = "mcp")]
pub use confirmed::{Confirmed, ConfirmedTools};
pub use folders::Folders;
pub use grants::GrantList;
pub use keys::{KEYS, Key, Kind, key};
pub use layers::{Config, ConfigFault, Notice, Origin, Sources, Value};
pub use schema::config_schema;
pub use setting::Setting;
#[cfg(feature = "page")]
pub use tokens::{ClientToken, TokenList};
pub use trust::{HookFile, Trust};

#[cfg(test)]
mod tests;
