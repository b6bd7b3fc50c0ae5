//! What changes task trees, and what asks about them. The files beside this one say how.

use crate::run::Run;

/// Changes task trees and their leaves.
pub(in crate::run) struct Trees<'a>(pub &'a mut Run);

/// Asks about task trees and their leaves.
#[derive(Clone, Copy)]
pub(in crate::run) struct TreeQuery<'a>(pub &'a Run);
