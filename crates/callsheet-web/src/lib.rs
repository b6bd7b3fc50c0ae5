//! What `callsheet serve` serves: the interface for programs, and the live page, which shows the runs of a project in a browser on this machine and accepts commands. It reads the
//! record and gives commands to a [`callsheet_app::RunControl`]. Pages work without scripts. A script only shows
//! changes as they happen.

mod actions;
mod api;
mod app;
mod connections;
mod drawn;
mod guard;
mod live;
mod page;
mod piece;
mod record;
mod server;

pub use api::{PREFIX, RUNS, api, openapi};
pub use callsheet_app::{Client, ClientRight, Clients, KnownClient};
pub use guard::Guard;
pub use server::{Listeners, listen, router, serve};
