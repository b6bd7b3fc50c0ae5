//! Callsheet as a library, for programs that plan and run by themselves. The binary consists of the same parts and
//! adds only `main`.

#![deny(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "they panic when nobody reads; `tell!` and `print` do not"
)]

/// Prints a line for the person to stderr. Foreign text in it must pass the door of the terminal.
#[macro_export]
macro_rules! tell {
    () => { $crate::term::Words::of("\n").tell() };
    ($($words:tt)*) => { $crate::term::Words::of(&(format!($($words)*) + "\n")).tell() };
}

/// Prints a part of a line for the person to stderr.
#[macro_export]
macro_rules! tell_part {
    ($($words:tt)*) => { $crate::term::Words::of(&format!($($words)*)).tell() };
}

pub mod cli;
#[cfg(feature = "cluster")]
mod cluster_door;
pub mod commands;
pub mod config;
mod download;
mod driver;
mod host;
mod left_out;
mod library;
mod log;
pub mod models;
mod notify;
mod place;
pub mod relay;
#[cfg(feature = "mcp")]
mod servers;
pub mod setup;
#[cfg(any(feature = "mcp", feature = "page"))]
mod starter;
pub mod term;
pub mod wiring;

/// The first call in the `main` of a program that runs commands. In a process that was started to supervise a
/// command, it supervises and never returns. Without this call, processes that leave the group of their command
/// outlive it.
pub use callsheet_tools::supervise;
