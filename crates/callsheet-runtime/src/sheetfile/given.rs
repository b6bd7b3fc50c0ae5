//! A sheet file with which a run begins (spec 2.2).

use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::issue::{IssueCode, Severity};
use callsheet_core::nouns::{Settings, TaskList};
use callsheet_core::record::Beside;
use callsheet_core::run::Run;
use callsheet_format::reading::{KnownTasks, Reading};
use callsheet_format::reply;
use callsheet_format::reply::ListReply;

use crate::fault::DriveFault;
use crate::reading;
use crate::reading::list::reconcile;
use crate::services::Services;

/// A sheet file after reading.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetReading {
    /// Its list, with all repairs and issues in line order.
    pub list: Reading<TaskList>,
    /// Its own `Original prompt`.
    pub prompt: Option<String>,
    /// What the person marked as no longer relevant (spec 5.10).
    pub no_longer_relevant: Vec<String>,
}

/// Reads a sheet file, together with the request that was given with it.
pub(crate) fn read_sheet(services: &Services, text: &str, prompt: Option<&str>, settings: &Settings) -> SheetReading {
    let loaded = services.skills(settings);
    let catalog = loaded.catalog.skills().cloned().collect();
    let mut context = reading::list_context(services, &Run::new(), KnownTasks::default(), settings, catalog);
    // References may name headings of the request (spec 5.1): of the given one, else of the sheet's own.
    context.prompts.extend(prompt.map(str::to_owned));
    let mut reading = reading::read_with(services, text, &mut context, reply::read_sheet);
    if let Some(prompt) = reading.value.prompt.clone().filter(|_| context.prompts.is_empty()) {
        context.prompts.push(prompt);
        reading = reading::read_with(services, text, &mut context, reply::read_sheet);
    }
    let Reading { value, repairs, issues, wanted } = reading;
    let list = Reading { value: value.list, repairs, issues, wanted };
    SheetReading { list, prompt: value.prompt, no_longer_relevant: value.beside.no_longer_relevant }
}

/// The fact for a list that the host read or created.
pub(crate) fn adopt_host_list(
    services: &Services,
    run: &Run,
    settings: &Settings,
    sheet: SheetReading,
) -> Result<Event, DriveFault> {
    let reading = sheet.list;
    let mut list = reading.value;
    // A sheet or one skill counts as complete unless it says that it continues (spec 2.2).
    list.goals.plan_complete = !list.goals.plan_continues;
    let beside = Beside { no_longer_relevant: sheet.no_longer_relevant, ..Beside::default() };
    let reply = ListReply { list, beside, ..ListReply::default() };
    let loaded = services.skills(settings);
    let list = reconcile(services, run, reply, &loaded, false)?;
    Ok(events::ListAdopted { origin: ListOrigin::Host, list, repairs: reading.repairs, issues: reading.issues }.into())
}

/// Reads a sheet file without starting anything. If no request is given with it, the sheet must say what it is for
/// (spec 2.2).
pub fn check_sheet(services: &Services, text: &str, prompt: Option<&str>, settings: &Settings) -> SheetReading {
    let given = prompt.filter(|prompt| !prompt.trim().is_empty());
    let mut sheet = read_sheet(services, text, given, settings);
    let prompted = given.is_some() || sheet.prompt.as_ref().is_some_and(|prompt| !prompt.trim().is_empty());
    for issue in sheet.list.issues.iter_mut().filter(|issue| !prompted && issue.code == IssueCode::GoalsMissing) {
        issue.severity = Severity::Error;
    }
    sheet
}
