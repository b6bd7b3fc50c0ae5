//! The sheet file: what a person writes into it, and who else must not.

pub(crate) mod edit;
pub(crate) mod watch;
