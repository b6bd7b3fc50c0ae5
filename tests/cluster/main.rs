//! Runs on a real engine: what comes out is what a local run gives, whatever is killed. Without the engine the tests are
//! skipped by name, and the first line says how to install it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cluster;
mod commands;
mod control;
mod faces;
mod far;
mod live;
mod nodes;
mod rights;
mod same;
mod store;
#[path = "../it/support/mod.rs"]
#[allow(unused, reason = "each test binary uses its part")]
mod support;
mod survives;
mod workers;

use std::path::{Path, PathBuf};

use callsheet::config::Folders;
use callsheet_cluster::{Installed, installed};
use libtest_mimic::{Arguments, Trial};

use crate::support::control::CHECKS;
use crate::support::killed::CASES;

/// A test and its name.
///
/// covers: 15.1, 15.2, 15.3, 15.4, 15.5, 15.8, 15.9, 15.10, 15.11, 15.12, 15.13, 15.14, 15.15, 15.16, 15.17, 15.18, 15.19, 15.20, 15.21, 15.22, 15.23, 15.24, 15.25
type Test = (&'static str, fn(&Path));

const TESTS: [Test; 37] = [
    ("an_approved_sheet_ends_as_it_does_locally", same::an_approved_sheet),
    ("a_template_ends_as_it_does_locally", same::a_template),
    ("a_late_result_of_an_earlier_attempt_is_refused", same::a_late_result),
    ("a_cancelled_run_ends_and_its_calls_with_it", same::a_cancelled_run),
    ("work_goes_to_a_worker_that_can_do_it", workers::that_can_do_it),
    ("the_work_of_a_lost_worker_goes_to_another_once", workers::a_lost_worker),
    ("a_command_of_a_lost_worker_is_not_run_again", workers::a_lost_command),
    ("a_worker_that_comes_takes_its_share", workers::an_added_worker),
    ("the_slots_of_a_provider_hold_over_workers", workers::common_slots),
    ("a_worker_of_another_version_gets_no_work", workers::an_old_worker),
    ("a_worker_elsewhere_gets_texts_from_the_dispatcher", far::without_the_folder),
    ("a_worker_in_an_empty_folder_works_in_a_checkout", far::without_files),
    ("what_has_effects_waits_for_a_worker_where_the_project_is", far::what_has_effects),
    ("what_a_command_elsewhere_writes_is_in_the_project", commands::elsewhere),
    ("a_command_elsewhere_keeps_nothing_if_a_file_has_changed", commands::a_changed_file),
    ("a_command_of_a_lost_worker_elsewhere_is_not_run_again", commands::a_lost_worker),
    ("commands_elsewhere_need_their_token_and_change_nothing_protected", commands::rights),
    ("texts_and_files_are_in_an_object_store", store::texts_and_files),
    ("a_worker_with_another_object_store_is_refused", store::another_store),
    ("runs_go_on_while_a_node_of_the_engine_is_gone", nodes::one_is_gone),
    ("a_worker_sees_only_runs_that_it_works_for", far::only_its_runs),
    ("whoever_has_not_the_token_is_refused", workers::an_unknown_token),
    ("nobody_is_talked_to_who_has_another_certificate", workers::another_certificate),
    ("an_edit_of_the_file_is_given_with_an_answer", control::an_edited_file),
    ("a_follow_up_goes_on_and_is_withdrawn", control::a_follow_up),
    ("commands_change_a_run_and_others_are_refused", control::the_verbs),
    ("a_run_is_exported_from_a_cluster", control::an_export),
    ("a_cluster_makes_a_plan", control::a_plan),
    ("grants_are_revoked_there_and_unnamed_texts_removed", control::grants_and_texts),
    ("two_people_have_rights_of_their_own", rights::two_people),
    ("streamed_text_reaches_who_watches", live::streamed_text),
    ("an_edit_is_given_while_a_command_shows_the_run", live::an_edit_while_shown),
    ("an_edit_with_errors_holds_what_it_changes", live::an_edit_with_errors_holds),
    ("hooks_are_told_of_tasks_and_the_end", live::hooks),
    ("programs_use_runs_over_http", faces::the_interface_for_programs),
    ("programs_use_runs_over_mcp", faces::the_mcp_server),
    ("texts_are_kept_as_every_store_keeps_them", control::texts),
];

fn main() {
    let arguments = Arguments::from_args();
    let found = engine();
    let found = match found {
        Installed::Found(program) => Some(program),
        Installed::Missing { command } => {
            if !arguments.list {
                eprintln!(
                    "skipped: the engine of clusters is not installed. Install it: {command}, or name its program in \
                     CALLSHEET_ENGINE"
                );
            }
            None
        }
    };
    let trial = |name: &str, test: Box<dyn Fn(&Path) + Send>| {
        let engine = found.clone();
        let run = move || {
            engine.iter().for_each(|engine| test(engine));
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(found.is_none())
    };
    let own = TESTS.into_iter().map(|(name, test)| trial(name, Box::new(test)));
    let common = CHECKS.into_iter().map(|check| trial(check.0, Box::new(move |engine| control::check(engine, check))));
    let killed = CASES.iter().enumerate().map(|(number, case)| {
        let name = format!("{}_survives_kills", case.name);
        trial(&name, Box::new(move |engine| survives::case(engine, number)))
    });
    libtest_mimic::run(&arguments, own.chain(common).chain(killed).collect()).exit();
}

/// The program of the engine, where the command `cluster up` looks for it.
fn engine() -> Installed {
    let named = std::env::var_os("CALLSHEET_ENGINE").map(PathBuf::from);
    let folder = Folders::from_environment().map(|folders| folders.engine()).unwrap_or_default();
    installed(named.as_deref(), &folder, std::env::var_os("PATH").as_deref())
}
