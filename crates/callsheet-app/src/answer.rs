//! The answer of a run. Its links lead to files from the person's current folder.

use callsheet_core::links::{link_target, parse_name};
use callsheet_core::nouns::{Fragment, RunId, Target};
use callsheet_core::run::{Joined, TaskRun};
use callsheet_core::view::{answer, listed, results, unsupported_of_answer};
use callsheet_format::reply::task::relinked;
use serde_json::{Value, json};

use crate::host::Host;
use crate::view::RunView;

/// The answer of a finished run. Empty for any other run.
pub fn answer_text(host: &dyn Host, run: &RunView) -> String {
    answer(run.run(), &|tasks, text| relinked(text, &|target| place(host, run, (tasks, target))))
}

/// The results behind the answer of a finished run, if a model joined them. They form the same list as an answer
/// without a model.
pub fn joined_results(host: &dyn Host, run: &RunView) -> String {
    match run.joined() {
        Some(Joined::Answer { .. }) => listed(&relinked_results(host, run)),
        Some(Joined::Failed(_)) | None => String::new(),
    }
}

/// The results that answer the request.
pub fn results_json(host: &dyn Host, run: &RunView) -> Value {
    let results = relinked_results(host, run).into_iter().map(|(task, text)| {
        let unsupported = task.result().map(|result| result.unsupported.as_slice()).unwrap_or_default();
        json!({ "task": task.task.slug, "name": task.task.name, "text": text, "unsupported": unsupported })
    });
    results.collect()
}

/// Whether a model joined the results (`joined`), and why it did not (`failed`).
pub fn join_json(run: &RunView) -> Value {
    let failed = match run.joined() {
        Some(Joined::Failed(why)) => Some(why),
        _ => None,
    };
    let joined = matches!(run.joined(), Some(Joined::Answer { .. }));
    json!({ "joined": joined, "failed": failed, "unsupported": unsupported_of_answer(run.run()) })
}

fn relinked_results<'a>(host: &dyn Host, run: &'a RunView) -> Vec<(&'a TaskRun, String)> {
    results(run.run(), &|tasks, text| relinked(text, &|target| place(host, run, (tasks, target))))
}

/// The file behind a link in the results of these tasks, as a link from the person's current folder. `None` if there
/// is no such file.
fn place(host: &dyn Host, run: &RunView, (tasks, target): (&[&TaskRun], &str)) -> Option<String> {
    let folder = run_folder(run.about().id?);
    let detail = |slug: &str, file: &str| format!("{folder}details/{slug}/{file}");
    let (path, fragment) = match parse_name(target).ok()? {
        Target::Http(_) | Target::Resource { .. } => return Some(target.to_owned()),
        Target::TaskDetail { slug, file } => (detail(slug.as_str(), &file), None),
        Target::TaskOutput { slug, heading } => {
            let slug = run.task(&slug).map_or_else(|| slug.clone(), |task| task.task.slug.clone());
            (format!("{folder}tasks/{slug}.md"), heading.map(Fragment::Anchor))
        }
        Target::Directory(path) => (path, None),
        // A link may name a details file by its file name alone.
        Target::File { path, fragment } => {
            let exists = |path: &String| host.project().join(path).exists();
            let own = || tasks.iter().map(|task| detail(task.task.slug.as_str(), &path)).find(exists);
            let path = if exists(&path) { path } else { own()? };
            (path, fragment)
        }
        _ => return None,
    };
    let there = host.project().join(&path).exists();
    there.then(|| link_target(&Target::File { path: host.seen_from_here(&path), fragment }))
}

/// The folder of a run's files, relative to the project folder.
pub fn run_folder(id: &RunId) -> String {
    format!(".callsheet/runs/{id}/")
}
