//! Actions from a page. Each form leads back to its page, which shows the outcome.

use std::collections::BTreeMap;

use axum::Form;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use callsheet_core::nouns::{BlobId, ExecutionId, RunId, Slug};
use callsheet_core::record::AnsweredBy;
use callsheet_runtime::ports::AskingCall;
use maud::html;

use crate::app::{Said, Visit, blocking};
use crate::drawn::Drawn;
use crate::page::asks::Typed;
use crate::page::layout::Frame;
use crate::page::run::{RunPage, View};
use crate::page::sheet;
use crate::server::refused;
use callsheet_app::{Cursor, Kind, Order, Refusal, RunCommand, SheetCheck, WordCount, settled};

/// The fields of a form, in order. A name may occur several times.
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }

    fn one(&self, name: &str) -> String {
        let found = self.0.iter().find(|(key, _)| key == name);
        // Browsers send line ends as HTTP forms require.
        found.map(|(_, value)| value.replace("\r\n", "\n")).unwrap_or_default()
    }

    /// The chosen hunks.
    fn hunks(&self) -> Vec<u32> {
        self.all("hunk").iter().filter_map(|number| number.parse().ok()).collect()
    }

    /// The texts of hunks, by number.
    fn edits(&self) -> BTreeMap<u32, String> {
        let number = |name: &str| name.strip_prefix("edit-")?.parse::<u32>().ok();
        let edit = |(name, text): &(String, String)| Some((number(name)?, text.replace("\r\n", "\n")));
        self.0.iter().filter_map(edit).collect()
    }

    /// The order of the form. A browser that sends the form again sends the same order.
    fn order(&self, visit: &Visit, command: RunCommand) -> Order {
        let path = visit.here().split('?').next().unwrap_or_default();
        let form = serde_json::json!([visit.page(), path, self.0]).to_string();
        let key = BlobId::of(form.as_bytes()).as_str().to_owned();
        Order { by: AnsweredBy::Page, key, revision: self.one("n").parse().ok().map(Cursor), command }
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }
}

/// The page that contains a form.
type From = Query<BTreeMap<String, String>>;

type Given = Form<Vec<(String, String)>>;

/// Carries out an action for a whole run.
pub(crate) async fn act(
    visit: Visit,
    Path((run, what)): Path<(String, String)>,
    Query(from): From,
    Form(fields): Given,
) -> Response {
    let id = RunId::new(run);
    let fields = Fields(fields);
    if what == "sheet" {
        return save_sheet(&visit, id, fields).await;
    }
    let done = move |app: &Visit, id: &RunId| match what.as_str() {
        "cancel" => order(app, id, &fields, RunCommand::Stop),
        "resume" => app.runs.resume(id).map(|receipt| receipt.words()),
        "retry" => {
            let (tasks, because) = (fields.all("task"), fields.one("because").trim().to_owned());
            and_go_on(app, id, &fields, RunCommand::Retry { tasks, keep_changes: false, because })
        }
        "undo" => undo(app, id, &fields),
        "raise" => match fields.one("max").trim().parse::<f64>() {
            Ok(max) => {
                let limits = vec![(fields.one("limit"), max)];
                and_go_on(app, id, &fields, RunCommand::Raise { limits })
            }
            Err(_) => Err(Refusal::usage("the new limit is not a number", "")),
        },
        "answer" => {
            let to = AskingCall {
                task: Slug::new(fields.one("task")),
                run: ExecutionId::new(fields.one("execution")),
                call: fields.one("call"),
            };
            let said = order(app, id, &fields, RunCommand::Reply { to, text: fields.one("text") });
            and_resume(app, id, &fields, said)
        }
        _ => Err(Refusal::usage(format!("this page cannot do “{what}”"), "reload it")),
    };
    finished(&visit, id, &from, done).await
}

/// Carries out a verdict at a gate.
pub(crate) async fn decide(
    visit: Visit,
    Path((run, gate)): Path<(String, u32)>,
    Query(from): From,
    Form(fields): Given,
) -> Response {
    let id = RunId::new(run);
    let fields = Fields(fields);
    let to = came_from(&visit, &from, &id);
    let decided = blocking(&visit, move |app| {
        app.record.summary(&id)?;
        match verdict(&fields, gate).and_then(|command| order(app, &id, &fields, command)) {
            Err(refusal) if !fields.edits().is_empty() => typed_again(app, &id, gate, &fields, refusal).map(Some),
            said => {
                let said = and_resume(app, &id, &fields, said);
                app.say(&id, said);
                Ok(None)
            }
        }
    });
    match decided.await {
        Ok(None) => Redirect::to(&to).into_response(),
        Ok(Some(page)) => (StatusCode::UNPROCESSABLE_ENTITY, page).into_response(),
        Err(refusal) => refused(&visit, &refusal),
    }
}

/// The page with the gate's form as the person filled it in, and why it was refused.
fn typed_again(app: &Visit, id: &RunId, gate: u32, fields: &Fields, refusal: Refusal) -> Result<Drawn, Refusal> {
    let (hunks, edits, because) = (fields.hunks(), fields.edits(), fields.one("because"));
    let typed = Typed { gate, hunks, edits, because, refusal };
    app.with_run(id, |page| {
        let page = RunPage { typed: Some(&typed), ..page.clone() };
        // If the gate no longer waits, there is no form that could show this.
        let waits = page.gates.iter().any(|view| view.gate.n == gate);
        let said = (!waits).then(|| Err(typed.refusal.clone()));
        page.page(&View::Changes, said.as_ref()).map(Drawn::page)
    })
}

/// The command in a form of a gate.
fn verdict(fields: &Fields, gate: u32) -> Result<RunCommand, Refusal> {
    let because = fields.one("because").trim().to_owned();
    let hunks = fields.hunks();
    let tasks = fields.all("task");
    let also = fields.all("also").into_iter().filter_map(|number| number.parse().ok());
    let gates: Vec<u32> = std::iter::once(gate).chain(also).collect();
    let choose =
        |what: &str| Refusal::usage(format!("no {what} was chosen"), format!("choose at least one {what}, or deny"));
    let approve = |always| RunCommand::Approve { gates: gates.clone(), tasks: tasks.clone(), later: false, always };
    match fields.one("verdict").as_str() {
        "approve" if fields.has("hunks") && hunks.is_empty() => Err(choose("hunk")),
        "approve" if fields.has("hunks") => {
            let edits = fields.edits().into_iter().filter(|(number, _)| hunks.contains(number)).collect();
            let hunks = Some(hunks.into_iter().map(|number| (number, number)).collect());
            Ok(RunCommand::Keep { gates, tasks: Vec::new(), hunks, edits, because })
        }
        "approve" if fields.has("tasks") && tasks.is_empty() => Err(choose("task")),
        "approve" => Ok(approve(None)),
        "always" => Ok(approve(Some(WordCount::All))),
        "deny" => Ok(RunCommand::Deny { gates, tasks, because }),
        _ => Err(Refusal::usage("the form says neither yes nor no", "use one of its buttons")),
    }
}

/// Gives a command, and waits until an answer is recorded. Returns the outcome in words.
fn order(app: &Visit, id: &RunId, fields: &Fields, command: RunCommand) -> Said {
    let order = fields.order(app, command);
    let receipt = settled(&*app.runs, &order, app.runs.order(id, &order)?)?;
    let notes: String = receipt.notes.steps().iter().map(|note| format!(". {}", note.for_shell("callsheet"))).collect();
    Ok(receipt.words() + &notes)
}

/// Gives a command and resumes a resting run.
fn and_go_on(app: &Visit, id: &RunId, fields: &Fields, command: RunCommand) -> Said {
    let receipt = app.runs.order(id, &fields.order(app, command))?;
    if receipt.is_sent() { Ok(receipt.words()) } else { app.runs.resume(id).map(|receipt| receipt.words()) }
}

/// Reverts the changes of a run. It is a refusal if some changes could not be reverted.
fn undo(app: &Visit, id: &RunId, fields: &Fields) -> Said {
    let receipt = app.runs.order(id, &fields.order(app, RunCommand::Undo { tasks: Vec::new() }))?;
    match receipt.undone.as_ref().is_none_or(|undone| undone.refused.is_empty()) {
        true => Ok(receipt.words()),
        false => {
            let advice = "fix these files by hand; the diffs below contain the originals";
            Err(Refusal { kind: Kind::Incomplete, ..Refusal::usage(receipt.words(), advice) })
        }
    }
}

/// Resumes a resting run, if the form asks for this.
fn and_resume(app: &Visit, id: &RunId, fields: &Fields, said: Said) -> Said {
    let words = said?;
    if fields.one("resume") != "1" {
        return Ok(words);
    }
    app.runs.resume(id).map(|resumed| format!("{words}. {}", resumed.words()))
}

async fn finished(
    visit: &Visit,
    id: RunId,
    from: &BTreeMap<String, String>,
    done: impl FnOnce(&Visit, &RunId) -> Said + Send + 'static,
) -> Response {
    let to = came_from(visit, from, &id);
    let noted = blocking(visit, move |app| {
        app.record.summary(&id)?;
        let said = done(app, &id);
        app.say(&id, said);
        Ok(())
    });
    match noted.await {
        Ok(()) => Redirect::to(&to).into_response(),
        Err(refusal) => refused(visit, &refusal),
    }
}

/// The address of the page of this run that contains the form, relative to the address of the form's request.
fn came_from(visit: &Visit, from: &BTreeMap<String, String>, id: &RunId) -> String {
    let byte = |byte: u8| match byte {
        b'!'..=b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let from: String = from.get("from").into_iter().flat_map(|from| from.bytes().map(byte)).collect();
    let own = format!("{}runs/{id}", visit.root());
    if from.is_empty() { own } else { format!("{own}/{from}") }
}

/// Saves the sheet. If that fails, the text stays in the editor.
async fn save_sheet(visit: &Visit, id: RunId, fields: Fields) -> Response {
    let run = id.clone();
    let shown = blocking(visit, move |app| {
        let (seen, text) = (fields.one("seen"), fields.one("text"));
        let saved = order(app, &id, &fields, RunCommand::Edit { seen: seen.clone(), text: text.clone() });
        if saved.is_ok() {
            app.say(&id, saved);
            return Ok(None);
        }
        editor(app, &id, &fields, Some(&saved)).map(Some)
    });
    match shown.await {
        Ok(None) => Redirect::to(&format!("{}runs/{run}/sheet", visit.root())).into_response(),
        Ok(Some(page)) => (StatusCode::UNPROCESSABLE_ENTITY, page).into_response(),
        Err(refusal) => refused(visit, &refusal),
    }
}

fn editor(app: &Visit, id: &RunId, fields: &Fields, said: Option<&Said>) -> Result<Drawn, Refusal> {
    let (seen, text, n) = (fields.one("seen"), fields.one("text"), fields.one("n"));
    app.with_run(id, |page| {
        let check = app.runs.check_sheet(page.run, &text).unwrap_or_default();
        let body = html! {
            p.crumbs { a href="./" { "Runs" } " / " a.mono href=(page.address("")) { (id) } }
            h1 { "Sheet" }
            @if let Some(said) = said { (crate::page::run::told(said)) }
            (sheet::editor(page, &[], (&seen, &n, &text), &check))
        };
        let project = app.runs.project();
        let frame = Frame { visit: app, title: "Sheet", project: &project, query: "", live: None };
        Ok(Drawn::page(frame.page(&body)))
    })
}

/// The issues of a sheet while it is typed. A browser without scripts gets a whole page.
pub(crate) async fn check_sheet(visit: Visit, Path(run): Path<String>, Form(fields): Given) -> Response {
    let id = RunId::new(run);
    let fields = Fields(fields);
    let shown = blocking(&visit, move |app| {
        if !fields.has("part") {
            return editor(app, &id, &fields, None);
        }
        let text = fields.one("text");
        app.with_run(&id, |page| {
            let check: SheetCheck = app.runs.check_sheet(page.run, &text)?;
            Ok(Drawn::page(sheet::checked(&check)))
        })
    });
    match shown.await {
        Ok(page) => page.into_response(),
        Err(refusal) => refused(&visit, &refusal),
    }
}
