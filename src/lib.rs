//! Callsheet as a library: the same parts the binary is made of, for programs that want to plan and run inside
//! themselves. The binary adds nothing but `main`.

#![deny(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "they panic when nobody reads; `tell!` and `print` do not"
)]

/// A line for the person on stderr. Nobody may listen any more, which is no failure of the command.
#[macro_export]
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _closed = writeln!(std::io::stderr().lock(), $($words)*);
    }};
}

/// The same without the end of the line.
#[macro_export]
macro_rules! tell_part {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _closed = write!(std::io::stderr().lock(), $($words)*);
    }};
}

pub mod cli;
pub mod commands;
pub mod config;
mod download;
mod left_out;
mod library;
pub mod models;
mod place;
pub mod setup;
pub mod term;
pub mod wiring;

/// First thing in the `main` of a program that runs commands: the end of a process that was started to supervise one.
/// Where it is not called, processes that leave the group of their command outlive it.
pub use callsheet_tools::supervise;
