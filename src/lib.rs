//! Callsheet as a library: the same parts the binary is made of, for programs that want to plan and run inside
//! themselves. The binary adds nothing but `main`.

pub mod cli;
pub mod commands;
pub mod config;
mod download;
mod library;
pub mod models;
pub mod setup;
pub mod term;
pub mod wiring;
