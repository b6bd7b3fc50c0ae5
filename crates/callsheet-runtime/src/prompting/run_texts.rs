//! The run's own texts for references, owned, so that the run may continue while a prompt is built.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::nouns::{PlanPart, Slug, Target};
use callsheet_core::run::Run;
use callsheet_format::sheet;
use callsheet_format::sheet::TaskForm;

use crate::ports::Store;
use crate::prompting::reverted;
use crate::references::{Output, RunTexts, Sources, TaskOutput, Wanted};
use crate::services::Services;

/// The run's own texts for references, owned. Holds only the texts that a request asks for.
pub(crate) struct Texts {
    prompts: Vec<String>,
    goals: String,
    sections: Vec<String>,
    outputs: BTreeMap<Slug, OutputTexts>,
    done: Vec<Slug>,
    store: Arc<dyn Store>,
}

struct OutputTexts {
    slug: Slug,
    /// What a person skipped or undid, for the end of the document.
    rejected: String,
    summary: String,
    result: Option<callsheet_core::record::ResultParts>,
}

impl Texts {
    /// A snapshot of what `wanted` may read.
    pub fn of(services: &Services, run: &Run, wanted: &[Wanted]) -> Self {
        let section = |step: &Vec<Slug>| {
            let tasks = step.iter().filter_map(|slug| run.task(slug));
            tasks.map(|task| sheet::render_task(&task.task, TaskForm::Coarse, None)).collect::<Vec<_>>().join("\n\n")
        };
        let mut outputs = BTreeMap::new();
        for slug in wanted.iter().filter_map(|wanted| wanted.reference.target.producer()) {
            if let Some(task) = run.task(slug) {
                let result = task.result().cloned();
                let (rejected, summary) =
                    (reverted::rejected_and_reverted(task), reverted::current_summary(task).unwrap_or_default());
                outputs.insert(slug.clone(), OutputTexts { slug: task.task.slug.clone(), result, rejected, summary });
            }
        }
        // They are listed if a requested one is missing.
        let mut asked = wanted.iter().filter_map(|wanted| wanted.reference.target.producer());
        let lacks = asked.any(|slug| !outputs.contains_key(slug));
        let done = run.done().filter(|_| lacks).map(|task| task.task.slug.clone()).collect();
        let shows_sections =
            wanted.iter().any(|wanted| matches!(wanted.reference.target, Target::Plan(PlanPart::Section(_))));
        let sections = if shows_sections { run.steps().iter().map(section).collect() } else { Vec::new() };
        Self {
            prompts: run.prompts().into_iter().map(str::to_owned).collect(),
            goals: run.goals().text.clone(),
            sections,
            outputs,
            done,
            store: Arc::clone(&services.store),
        }
    }

    /// Where the contents of references come from.
    pub fn sources<'a>(&'a self, services: &'a Services, allow_http: bool) -> Sources<'a> {
        Sources {
            disk: services.disk(),
            texts: self,
            pages: &services.pages,
            current_file: services.current_file.as_deref(),
            allow_http,
        }
    }
}

impl RunTexts for Texts {
    fn prompts(&self) -> Vec<String> {
        self.prompts.clone()
    }

    fn plan(&self, part: &PlanPart) -> Option<String> {
        match part {
            PlanPart::OriginalPrompt => self.prompts.first().cloned(),
            PlanPart::Goals => Some(self.goals.clone()),
            PlanPart::Section(number) => self.sections.get(usize::try_from(*number).ok()?.checked_sub(1)?).cloned(),
        }
    }

    fn outputs(&self) -> Vec<Slug> {
        self.done.clone()
    }

    fn output(&self, slug: &Slug) -> Output {
        let Some(known) = self.outputs.get(slug) else { return Output::Unknown };
        let Some(result) = &known.result else { return Output::NotYet };
        let document = result.document.as_ref().and_then(|blob| self.store.blob(blob).ok()).unwrap_or_default();
        Output::Done(TaskOutput {
            slug: Some(known.slug.clone()),
            summary: known.summary.clone(),
            document: format!("{}{}", String::from_utf8_lossy(&document), known.rejected),
            rejected: known.rejected.clone(),
            details: result.details.iter().map(|detail| detail.filename.clone()).collect(),
        })
    }

    fn detail(&self, slug: &Slug, file: &str) -> Option<Vec<u8>> {
        let result = self.outputs.get(slug)?.result.as_ref()?;
        let detail = result.details.iter().find(|detail| detail.filename == file)?;
        self.store.blob(&detail.blob).ok()
    }
}
