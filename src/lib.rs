//! Callsheet as a library: the same parts the binary is made of, for programs that want to plan and run inside
//! themselves. The binary adds nothing but `main`.

#![deny(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "they panic when nobody reads; `tell!` and `print` do not"
)]

/// A line for the person on stderr. Foreign text in it goes through the door of the terminal.
#[macro_export]
macro_rules! tell {
    () => { $crate::term::Words::of("\n").tell() };
    ($($words:tt)*) => { $crate::term::Words::of(&(format!($($words)*) + "\n")).tell() };
}

/// The same without the end of the line.
#[macro_export]
macro_rules! tell_part {
    ($($words:tt)*) => { $crate::term::Words::of(&format!($($words)*)).tell() };
}

pub mod cli;
pub mod commands;
pub mod config;
mod download;
mod driver;
mod host;
mod left_out;
mod library;
pub mod models;
mod notify;
mod place;
pub mod relay;
#[cfg(feature = "mcp")]
mod servers;
pub mod setup;
pub mod term;
pub mod wiring;

/// First thing in the `main` of a program that runs commands: the end of a process that was started to supervise one.
/// Where it is not called, processes that leave the group of their command outlive it.
pub use callsheet_tools::supervise;
