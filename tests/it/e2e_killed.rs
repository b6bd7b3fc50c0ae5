//! The process of a run is killed with `kill -9` at many moments of all kinds of runs. `just kills` does it more often.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::crashes::{end_of, survives};
use crate::support::killed::CASES;
use crate::support::processes::Processes;

/// Kills of each kind of run: few here, as many as `CALLSHEET_KILLS` says in `just kills`.
fn kills() -> usize {
    std::env::var("CALLSHEET_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3)
}

macro_rules! survive_kills {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let case = CASES.iter().find(|case| stringify!($name) == format!("{}_survives_kills", case.name)).unwrap();
                let mut place = Processes::of(case);
                let wanted = end_of(case, &mut place);
                survives(case, &mut place, &wanted, kills());
            }
        )*

        #[test]
        fn every_kind_of_run_has_a_test() {
            let tests = [$(stringify!($name)),*];
            assert_eq!(CASES.map(|case| format!("{}_survives_kills", case.name)), tests);
        }
    };
}

survive_kills! {
    a_planned_request_survives_kills
    a_sheet_with_writers_and_approvals_survives_kills
    a_template_with_a_map_a_loop_and_a_script_survives_kills
    a_list_of_items_survives_kills
    a_sheet_that_calls_a_template_survives_kills
    a_follow_up_survives_kills
    an_undo_survives_kills
    an_edit_between_approvals_survives_kills
    an_edit_while_tasks_are_at_work_survives_kills
}
