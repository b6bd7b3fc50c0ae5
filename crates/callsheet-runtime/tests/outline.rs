//! Runs the outline without any parser against the suite of its port.

use std::sync::Arc;

use callsheet_runtime::conformance::outline::OutlineTrial;
use callsheet_runtime::ports::NoOutline;

fn trial() -> OutlineTrial {
    OutlineTrial { outline: Arc::new(NoOutline), texts: Vec::new() }
}

callsheet_runtime::outline_conformance!(trial);
