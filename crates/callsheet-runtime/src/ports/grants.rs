//! The person's standing grants.

use callsheet_core::nouns::RunId;

use crate::grants::{Caller, Grant, GrantedThing};
use crate::paths::Granted;

/// The person's grants. Each call reads the current list, so a grant that was just revoked no longer counts.
pub trait Grants: Send + Sync {
    /// The grants that a caller may use now.
    fn counting(&self, caller: &Caller) -> Vec<Grant>;

    /// Whether what this key signed counts for a run.
    fn has_approver(&self, key: &str, run: &RunId) -> bool {
        let counting = self.counting(&Caller { run: Some(run.clone()), tasks: Vec::new() });
        counting.iter().any(|grant| matches!(&grant.what, GrantedThing::Approver(approver) if approver == key))
    }

    /// Adds what the grants allow a caller's commands to do.
    fn add_to(&self, granted: &mut Granted, caller: &Caller) {
        self.counting(caller).iter().for_each(|grant| grant.add_to(granted));
    }
}

/// No grants: everything that needs approval is asked about.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGrants;

impl Grants for NoGrants {
    fn counting(&self, _caller: &Caller) -> Vec<Grant> {
        Vec::new()
    }
}
