//! The page by its answers to requests, on a record that a small driver made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod access;
mod api;
mod pages;
mod support;
