//! The full-screen terminal, which shows a run as it works and the keys that control it. It draws the board of
//! `callsheet_core::view::board`. It sends a person's commands as messages to the run, as other processes do. It
//! therefore works in the same way whether this process or another one drives the run.

mod app;
mod diff;
mod draw;
mod foot;
mod hangup;
mod home;
mod input;
mod keys;
mod limits;
mod mouse;
mod news;
mod pane;
mod review;
mod screen;
mod text;
mod theme;
mod tree;
mod viewer;

pub use app::{App, Leave, Page, Pick, Tab};
pub use draw::Painter;
pub use home::{Home, Wish, home};
pub use keys::{Next, paste, press};
pub use mouse::moved;
pub use news::{News, Wire};
pub use screen::{is_open, restore, watch};
pub use viewer::{Outside, Viewer};
