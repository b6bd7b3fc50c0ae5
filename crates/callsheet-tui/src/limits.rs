//! Raises a limit of the run: asks the person for the new bound and sends it.

use callsheet_app::LimitUse;
use callsheet_app::RunCommand;
use callsheet_core::view::{amount, limit_unit, limit_words};

use crate::app::{App, Purpose};
use crate::input::Input;
use crate::keys::told;
use crate::viewer::Viewer;

/// Asks for a new bound and suggests twice the current one.
pub fn ask(app: &mut App) {
    match app.run.most_used_limit() {
        Some(one) => {
            let twice = amount(one.max * 2.0);
            app.input = Some((Purpose::Raise(one), Input::with(&twice)));
        }
        None => app.say("this run has no limit to raise"),
    }
}

/// The question while the bound is typed.
pub fn question(one: &LimitUse) -> String {
    let unit = limit_unit(one.limit.name());
    format!(" Raise the {}. To how many {unit}? ", limit_words(None, one.name, one.used, one.max))
}

/// Sends the new bound to the run.
pub fn raise(app: &mut App, viewer: &Viewer, one: &LimitUse, typed: &str) {
    let name = one.limit.name();
    let max = typed.trim().trim_start_matches('$').replace(',', "").parse::<f64>().ok();
    let Some(max) = max.filter(|max| max.is_finite() && *max > one.max) else {
        return app.say(&format!("{name} stays at {}: type a number above that", amount(one.max)));
    };
    let said = viewer.order(RunCommand::Raise { limits: vec![(name.to_owned(), max)] });
    told(app, said, &format!("{name} is raised to {}", amount(max)));
}
