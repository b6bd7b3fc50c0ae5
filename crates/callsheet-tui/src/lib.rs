//! The full-screen terminal: a run as it goes, and the keys that steer it. It draws the board of
//! `callsheet_core::view::board` and sends what a person says the way other processes do, as messages for the run; so it
//! is the same whether this process drives the run or another one does.

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
