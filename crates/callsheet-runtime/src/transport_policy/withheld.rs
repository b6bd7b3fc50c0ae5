//! Variables that contain keys of providers. No started process sees them.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Withholds these variables from every process that is started from now on. Names are only added.
pub fn withhold(names: impl IntoIterator<Item = String>) {
    known().extend(names);
}

/// The variables that are withheld.
pub fn withheld() -> BTreeSet<String> {
    known().clone()
}

fn known() -> MutexGuard<'static, BTreeSet<String>> {
    static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
