//! What a person allowed for longer than one answer.

use crate::grants::{Caller, Grant};
use crate::paths::Granted;

/// The person's grants. Each call reads their current state, so a grant that was just revoked does not count.
pub trait Grants: Send + Sync {
    /// The grants that a caller may use now.
    fn counting(&self, caller: &Caller) -> Vec<Grant>;

    /// Adds what else commands of a caller may do.
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
