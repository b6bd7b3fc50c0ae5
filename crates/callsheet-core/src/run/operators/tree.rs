//! Types for changes to task trees and queries about them. Neighbouring files contain their methods.

use crate::run::Run;

/// Changes task trees and their leaves.
pub(in crate::run) struct Trees<'a>(pub &'a mut Run);

/// Answers queries about task trees and their leaves.
#[derive(Clone, Copy)]
pub(in crate::run) struct TreeQuery<'a>(pub &'a Run);
