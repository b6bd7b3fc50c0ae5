//! The answer of a run, with links that lead to files from where the person stands.

use callsheet_core::links::{link_target, parse_name};
use callsheet_core::run::{Run, TaskRun};
use callsheet_core::spec::{Fragment, RunId, Target};
use callsheet_core::view::answer;
use callsheet_format::reply::task::relinked;

use crate::setup::Setup;

use super::drive::run_folder;

/// The answer of a run that is finished; empty for another.
pub(super) fn answer_text(setup: &Setup, run: &Run, id: &RunId) -> String {
    answer(run, &|task, summary| relinked(summary, &|target| place(setup, run, id, (task, target))))
}

/// The file that a link of a task means, as a link from where the person stands; `None`: there is none.
fn place(setup: &Setup, run: &Run, id: &RunId, (task, target): (&TaskRun, &str)) -> Option<String> {
    let folder = run_folder(id);
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
            let own = detail(task.task.slug.as_str(), &path);
            let path = if setup.project.join(&path).exists() { path } else { own };
            (path, fragment)
        }
        _ => return None,
    };
    let there = setup.project.join(&path).exists();
    there.then(|| link_target(&Target::File { path: setup.seen_from_here(&path), fragment }))
}
