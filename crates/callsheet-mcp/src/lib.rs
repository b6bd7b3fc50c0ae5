//! Model Context Protocol (spec 13): tools of servers that a person configured, and Callsheet as a server. This crate
//! treats everything a server sends as data: a server gains nothing that the person did not confirm. The types of the
//! protocol library stay inside this crate.

mod call;
mod connection;
mod declared;
mod expansion;
mod flow;
mod form;
mod ground;
mod http;
mod limits;
mod login;
mod mcp_json;
mod process;
mod resources;
mod results;
mod serve;
mod server;
mod settings;
mod tool;
mod trouble;
mod words;

pub use declared::{DeclaredTool, canonical_name};
pub use ground::{Files, Ground};
pub use limits::RUNS;
pub use login::{Login, LoginFault, Logins, Logout, SECRET};
pub use mcp_json::{McpJson, read_mcp_json};
pub use process::is_shared;
pub use resources::ServerResources;
pub use serve::RunServer;
pub use server::Server;
pub use settings::{Reach, ServerAddress, ServerClient, ServerProgram, ServerSettings, is_secret_header};
pub use tool::server_tools;
pub use trouble::Trouble;
