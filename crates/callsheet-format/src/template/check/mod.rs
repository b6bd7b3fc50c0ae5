//! A library of templates: layers, names, and all checks across files (spec 2.1, 3).

mod broken;
mod calls;
mod drafts;
mod kinds;
mod walks;

use std::collections::{BTreeMap, BTreeSet};

use broken::Placed;
use calls::Callable;
use callsheet_core::nouns::LIMIT_ROWS;
use callsheet_core::template::names::Found;
use callsheet_core::template::{Code, Issue, Lines, Node, Related, Template};
use drafts::draft_of;

use crate::template::report::{Draft, MOST, Report};

use super::known::Known;
use super::read::{FileReading, read_file_with};

/// The layer in which a template file was found. A template replaces one of the same name in a weaker layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Templates that come with Callsheet.
    BuiltIn,
    /// Templates of the user.
    User,
    /// Templates of the project.
    Project,
}

impl Layer {
    /// The word for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A template file as found.
#[derive(Clone, Debug)]
pub struct TemplateFile {
    /// Its layer.
    pub layer: Layer,
    /// Its name, as shown to a person.
    pub file: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A template that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The template.
    pub template: Template,
    /// Its layer.
    pub layer: Layer,
}

/// The templates in force, and all issues of the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    templates: BTreeMap<String, Loaded>,
    unavailable: BTreeSet<String>,
    causes: BTreeMap<String, String>,
    issues: Vec<Issue>,
}

impl Library {
    /// The templates in force, by name.
    pub fn templates(&self) -> impl Iterator<Item = &Loaded> {
        self.templates.values()
    }

    /// A template that can be used.
    pub fn get(&self, name: &str) -> Option<&Loaded> {
        self.templates.get(name.strip_prefix("template:").unwrap_or(name))
    }

    /// The names of templates that have errors.
    pub fn unavailable(&self) -> &BTreeSet<String> {
        &self.unavailable
    }

    /// The first error of each template that has errors, as `FILE:LINE CODE`, by the name of the template.
    pub fn causes(&self) -> impl Iterator<Item = (&str, &str)> {
        let known = |name: &String| self.causes.get(name).map_or("", String::as_str);
        self.unavailable.iter().map(move |name| (name.as_str(), known(name)))
    }

    /// All issues: the files in the given order, and the issues of each in the order of the file.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Reads and checks all files. If `strict`, warnings make a template unavailable, too.
    pub fn load(files: &[TemplateFile], known: &Known<'_>, strict: bool) -> Self {
        let readings: Vec<FileReading> =
            files.iter().map(|file| read_file_with(&file.file, &file.bytes, known)).collect();
        let mut loading = Loading { files, readings: &readings, more: files.iter().map(|_| Vec::new()).collect() };
        let chosen = loading.choose();
        let causes = loading.check(&chosen, known, strict);
        Self { causes, ..loading.finish(&chosen, strict) }
    }
}

/// The templates in force by name: the number of the file and the number within the file.
type Chosen = BTreeMap<String, (usize, usize)>;

/// An issue found across files, with a place in another file.
type More = (Draft, String, Option<Related>);

struct Loading<'a> {
    files: &'a [TemplateFile],
    readings: &'a [FileReading],
    more: Vec<Vec<More>>,
}

impl<'a> Loading<'a> {
    fn template(&self, (file, number): (usize, usize)) -> Option<&'a Template> {
        self.readings.get(file)?.templates.get(number)
    }

    fn add(&mut self, file: usize, draft: Draft, path: &str, other: Option<Related>) {
        if let Some(more) = self.more.get_mut(file) {
            more.push((draft, path.to_owned(), other));
        }
    }

    /// Chooses the template for each name: the first one in the strongest layer.
    fn choose(&mut self) -> Chosen {
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.sort_by_key(|file| std::cmp::Reverse(self.files.get(*file).map(|file| file.layer)));
        let mut chosen = Chosen::new();
        for file in order {
            let count = self.readings.get(file).map_or(0, |reading| reading.templates.len());
            for number in 0..count {
                let Some(template) = self.template((file, number)) else { continue };
                match chosen.get(&template.name).copied() {
                    None => drop(chosen.insert(template.name.clone(), (file, number))),
                    Some(first) => self.twice(first, (file, number)),
                }
            }
        }
        chosen
    }

    /// Reports two templates with one name: an error within a layer (T020), a note across layers (T519).
    fn twice(&mut self, first: (usize, usize), second: (usize, usize)) {
        let (Some(winner), Some(loser)) = (self.template(first), self.template(second)) else { return };
        let layer = |place: (usize, usize)| self.files.get(place.0).map(|file| file.layer);
        let name = &loser.name;
        let place = winner.origin.spot.place;
        let related = Related {
            line: place.line,
            column: place.column,
            message: "the template in force".to_owned(),
            file: Some(winner.origin.file.clone()),
        };
        let span = loser.origin.spot.span;
        let draft = if layer(first) == layer(second) {
            Draft::new(Code::T020, span, format!("there are two templates `{name}`")).advice("rename one of the two")
        } else {
            let stronger = layer(first).map_or("", Layer::as_str);
            Draft::new(Code::T519, span, format!("the {stronger} template `{name}` replaces this one"))
        };
        self.add(second.0, draft.found(name), name, Some(related));
    }

    fn check(&mut self, chosen: &Chosen, known: &Known<'_>, strict: bool) -> BTreeMap<String, String> {
        let templates: BTreeMap<&str, &Template> = chosen
            .values()
            .filter_map(|place| self.template(*place))
            .map(|known| (known.name.as_str(), known))
            .collect();
        let outermost = self.readings.iter().flat_map(|reading| &reading.outermost);
        let broken = outermost.filter_map(|found| found.name.as_deref()).collect();
        let callable = Callable { templates, broken, skills: known.skills.as_ref(), asked: Default::default() };
        let mut all: Vec<Placed<'_>> = Vec::new();
        let readings = self.readings.iter().enumerate();
        let every = readings.flat_map(|(file, reading)| reading.templates.iter().map(move |template| (file, template)));
        let every: Vec<(usize, &Template)> = every.collect();
        let walked = walks::walk_all(self, &every, &callable.templates, known);
        for ((file, template), (faulty, walked)) in every.into_iter().zip(walked) {
            for found in walked {
                let path = found.path(&template.name);
                // In a template with errors, it is not known what is used.
                if matches!(found, Found::Unused { .. } | Found::Unread { .. }) && faulty {
                    continue;
                }
                let declared = kinds::declared_at(&found, &callable.templates);
                if let Some(draft) = draft_of(template, found) {
                    self.add(file, draft, &path, declared);
                }
            }
            limits(template, &mut |draft| self.add(file, draft, &template.name, None));
            let in_force =
                callable.templates.get(template.name.as_str()).is_some_and(|own| std::ptr::eq(*own, template));
            for call in calls::calls_of(template) {
                // The search for similar names takes time, and a file with this many issues reports no more.
                let told = self.more.get(file).map_or(0, Vec::len);
                for draft in if told > MOST { Vec::new() } else { calls::check(&call, &callable) } {
                    self.add(file, draft, &template.name, None);
                }
                all.push(Placed { file, call, in_force });
            }
        }
        let in_force = all.iter().filter(|placed| placed.in_force).map(|placed| &placed.call);
        for (name, draft) in calls::cycles(&in_force.collect::<Vec<_>>()) {
            if let Some((file, _)) = chosen.get(name) {
                self.add(*file, draft, name, None);
            }
        }
        broken::tell(self, chosen, &all, strict)
    }

    fn finish(self, chosen: &Chosen, strict: bool) -> Library {
        let mut library = Library::default();
        let mut read = Vec::new();
        for ((file, reading), more) in self.files.iter().zip(self.readings).zip(self.more) {
            let text = std::str::from_utf8(&file.bytes).unwrap_or_default();
            let lines = Lines::new(text);
            let mut report = Report::continued(&file.file, &lines, reading.issues.clone());
            for (draft, path, other) in more {
                report.add_with(draft, &path, other);
            }
            let reading = FileReading { issues: report.into_issues(), ..reading.clone() };
            library.issues.extend(reading.issues.iter().map(|(_, issue)| issue.clone()));
            read.push(reading);
        }
        for reading in &read {
            for found in &reading.outermost {
                let lowered = reading.templates.iter().any(|known| known.origin.spot.span == found.span);
                library.unavailable.extend(found.name.clone().filter(|_| !lowered));
            }
        }
        for (name, (file, number)) in chosen {
            let Some(reading) = read.get(*file) else { continue };
            let Some(template) = reading.templates.get(*number) else { continue };
            if reading.is_faulty(template, strict) {
                library.unavailable.insert(name.clone());
                continue;
            }
            let layer = self.files.get(*file).map_or(Layer::Project, |file| file.layer);
            library.unavailable.remove(name);
            library.templates.insert(name.clone(), Loaded { template: template.clone(), layer });
        }
        library
    }
}

/// Reports limits of a child that exceed those of its parents (T522).
fn limits(template: &Template, add: &mut dyn FnMut(Draft)) {
    let mut open: Vec<(&Node, BTreeMap<&str, f64>)> = vec![(&template.body, BTreeMap::new())];
    while let Some((node, outer)) = open.pop() {
        let mut inner = outer.clone();
        for (name, value) in node.limits.entries() {
            let inherited = LIMIT_ROWS.iter().any(|row| row.name == name && row.inherited);
            if !inherited {
                continue;
            }
            match outer.get(name) {
                Some(above) if value > *above => {
                    let message = format!("{name} is {value}, but its parent's is {above}");
                    let draft = Draft::new(Code::T522, node.origin.spot.span, message).found(&value.to_string());
                    add(draft.advice(format!("the smaller one applies; write {above} or less")));
                }
                _ => drop(inner.insert(name, value)),
            }
        }
        open.extend(node.children().into_iter().map(|child| (child, inner.clone())));
    }
}
