//! The answer of a run, with links that lead to files from where the person stands.

use callsheet_core::links::{link_target, parse_name};
use callsheet_core::nouns::{Fragment, RunId, Target};
use callsheet_core::run::{Joined, TaskRun};
use callsheet_core::view::{answer, listed, results, unsupported_of_answer};
use callsheet_format::reply::task::relinked;
use serde_json::{Value, json};

use crate::host::Host;
use crate::view::RunView;

/// The answer of a run that is finished; empty for another.
pub fn answer_text(host: &dyn Host, run: &RunView) -> String {
    answer(run.run(), &|tasks, text| relinked(text, &|target| place(host, run, (tasks, target))))
}

/// The results behind the answer of a run that is finished, if a model joined them: a list, as the answer would be without.
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

/// Whether a model joined the results: `joined`, and `failed`, why it did not.
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

/// The file that a link of these tasks means, as a link from where the person stands; `None`: there is none.
fn place(host: &dyn Host, run: &RunView, (tasks, target): (&[&TaskRun], &str)) -> Option<String> {
    let folder = run_folder(run.about().id?);
    let detail = |slug: &str, file: &str| format!("{folder}details/{slug}/{file}");
    let (path, fragment) = match parse_name(target).ok()? {
        Target::Http(_) => return Some(target.to_owned()),
        Target::TaskDetail { slug, file } => (detail(slug.as_str(), &file), None),
        Target::TaskOutput { slug, heading } => {
            let slug = run.task(&slug).map_or_else(|| slug.clone(), |task| task.task.slug.clone());
            (format!("{folder}tasks/{slug}.md"), heading.map(Fragment::Anchor))
        }
        Target::Directory(path) => (path, None),
        // A details file may be named by its plain name.
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

/// Where the files of a run are, from the project folder.
pub fn run_folder(id: &RunId) -> String {
    format!(".callsheet/runs/{id}/")
}
