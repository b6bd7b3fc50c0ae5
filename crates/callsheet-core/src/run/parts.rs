//! What the executions of one task deliver together: details files under unique names, and texts that link to these
//! files (spec 3.8, 3.12, 10.6).

use std::collections::BTreeMap;

use crate::links::{link_target, parse_target};
use crate::nouns::{BlobId, Slug, Target};
use crate::record::{DetailBlob, ResultParts};

use super::Run;
use super::execution::Execution;
use super::state::State;
use super::task::TaskRun;

/// The result of one of a task's executions.
#[derive(Clone, Debug)]
pub struct RunPart<'a> {
    /// The execution.
    pub exec: &'a Execution,
    /// The result as it was read.
    pub result: &'a ResultParts,
    /// Its details files, each with its name among all details files of the task.
    pub details: Vec<(DetailBlob, String)>,
}

impl RunPart<'_> {
    /// The title for people and models: the title of the execution, or the name of the task if this is its only
    /// execution.
    pub fn title<'t>(&'t self, task: &'t TaskRun) -> &'t str {
        if self.exec.title.is_empty() { &task.task.name } else { &self.exec.title }
    }

    /// A text of the execution with the names that its details files have in the task.
    pub fn text(&self, run: &Run, task: &TaskRun, text: &str) -> String {
        let renamed: BTreeMap<&str, &str> = self
            .details
            .iter()
            .filter(|(detail, name)| detail.filename != *name)
            .map(|(detail, name)| (detail.filename.as_str(), name.as_str()))
            .collect();
        if renamed.is_empty() {
            return text.to_owned();
        }
        let own = |slug: &Slug| run.task(slug).is_some_and(|known| known.task.slug == task.task.slug);
        rename_links(text, |slug, file| renamed.get(file).copied().filter(|_| own(slug)))
    }
}

impl TaskRun {
    /// The executions with results, in order. If several files have the same name and different contents, the first
    /// keeps the name. The names of the others get the title of their execution appended.
    pub fn parts(&self) -> Vec<RunPart<'_>> {
        let mut taken: BTreeMap<String, &BlobId> = BTreeMap::new();
        let mut parts = Vec::new();
        for exec in &self.runs {
            let Some(result) = exec.result() else { continue };
            let mut details = Vec::new();
            for detail in &result.details {
                let name = free_name(&detail.filename, &exec.slug, |name| {
                    taken.get(name).is_none_or(|blob| **blob == detail.blob)
                });
                taken.insert(name.clone(), &detail.blob);
                details.push((detail.clone(), name));
            }
            parts.push(RunPart { exec, result, details });
        }
        parts
    }

    /// The finished parts of a failed task. They are kept and reported (spec 10.5).
    pub fn finished_parts(&self) -> Vec<RunPart<'_>> {
        let failed = self.state() == State::Failed;
        self.parts().into_iter().filter(|part| failed && part.exec.is_finished()).collect()
    }

    /// The details files of the finished parts of a failed task.
    pub fn kept_details(&self) -> Vec<DetailBlob> {
        let details = self.finished_parts().into_iter().flat_map(|part| part.details);
        details.map(|(detail, filename)| DetailBlob { filename, ..detail }).collect()
    }

    /// The details files of all executions under their names in the task, without duplicates.
    pub fn details(&self) -> Vec<DetailBlob> {
        let mut all: Vec<DetailBlob> = Vec::new();
        for (detail, filename) in self.parts().into_iter().flat_map(|part| part.details) {
            let detail = DetailBlob { filename, ..detail };
            if !all.contains(&detail) {
                all.push(detail);
            }
        }
        all
    }
}

fn free_name(filename: &str, run: &Slug, is_free: impl Fn(&str) -> bool) -> String {
    let (stem, ending) = match filename.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
        _ => (filename, String::new()),
    };
    let numbered = (2..).map(|n| format!("{stem}-{run}-{n}{ending}"));
    let mut names = [filename.to_owned(), format!("{stem}-{run}{ending}")].into_iter().chain(numbered);
    names.find(|name| is_free(name)).unwrap_or_default()
}

/// Renames the details files in the links of a text. If the title of a link is the file name, it changes, too.
fn rename_links<'a>(text: &str, renamed: impl Fn(&Slug, &str) -> Option<&'a str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("](task://") {
        let inside = start + 2;
        let Some(length) = rest.get(inside..).and_then(|after| after.find(')')) else { break };
        let written = rest.get(inside..inside + length).unwrap_or_default();
        let before = rest.get(..start).unwrap_or_default();
        let (written, title) = written.split_at(written.find(' ').unwrap_or(written.len()));
        match parse_target(written) {
            Ok(Target::TaskDetail { slug, file }) if renamed(&slug, &file).is_some() => {
                let name = renamed(&slug, &file).unwrap_or_default();
                match before.strip_suffix(file.as_str()).filter(|head| head.ends_with('[')) {
                    Some(head) => out.push_str(&format!("{head}{name}")),
                    None => out.push_str(before),
                }
                let target = Target::TaskDetail { slug, file: name.to_owned() };
                out.push_str(&format!("]({}{title}", link_target(&target)));
            }
            _ => out.push_str(rest.get(..inside + length).unwrap_or_default()),
        }
        rest = rest.get(inside + length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{free_name, rename_links};
    use crate::nouns::Slug;

    #[test]
    fn a_taken_name_gets_the_run_before_its_ending() {
        let name =
            |file: &str, taken: &[&str]| free_name(file, &Slug::new("known-trouble"), |name| !taken.contains(&name));
        assert_eq!(name("list.csv", &[]), "list.csv");
        assert_eq!(name("list.csv", &["list.csv"]), "list-known-trouble.csv");
        assert_eq!(name("list.csv", &["list.csv", "list-known-trouble.csv"]), "list-known-trouble-2.csv");
        assert_eq!(name("Makefile", &["Makefile"]), "Makefile-known-trouble");
        assert_eq!(name(".env", &[".env"]), ".env-known-trouble");
    }

    #[test]
    fn links_of_the_task_alone_change_with_their_titles() {
        let text = "- [list.csv](task://a/list.csv) and [all](task://a/list.csv), [list.csv](task://b/list.csv) ([x](task://a/list.csv";
        let renamed =
            rename_links(text, |slug, file| (slug.as_str() == "a" && file == "list.csv").then_some("list-plan.csv"));
        assert_eq!(
            renamed,
            "- [list-plan.csv](task://a/list-plan.csv) and [all](task://a/list-plan.csv), [list.csv](task://b/list.csv) \
             ([x](task://a/list.csv"
        );
    }
}
