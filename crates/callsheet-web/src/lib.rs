//! The live page: what a browser on this machine sees of the runs of a project, and what it can have done. It reads the
//! record and gives commands to a [`callsheet_app::RunControl`]; pages work without script, which only brings changes as they happen.

mod actions;
mod app;
mod drawn;
mod guard;
mod live;
mod page;
mod piece;
mod record;
mod server;

pub use guard::Guard;
pub use server::{Listeners, listen, router, serve};
