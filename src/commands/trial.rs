//! Tests what a model is good for: it does a few jobs in a small project, each as an ordinary run, and code judges
//! the results.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use callsheet_app::RunView;
use callsheet_core::issue::Severity;
use callsheet_core::nouns::{ApprovalMode, Headless, Policy, RunId, Settings};
use callsheet_core::record::Outcome;
use callsheet_runtime::driver::{EntrySpec, begin, drive};
use callsheet_runtime::ports::{Observer, Signal};
use callsheet_store::MemoryStore;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::cli::{Failure, OpenArgs};
use crate::config::Folders;
use crate::models::{Choice, Models};
use crate::setup::Setup;
use crate::term::one_line;
use crate::wiring::{Parts, services};

use super::drive::drive_failure;

/// The files of the project with their texts.
const FILES: [(&str, &str); 2] =
    [("minutes.md", include_str!("trial/minutes.md")), (GREETING, include_str!("trial/greeting.py"))];

const GREETING: &str = "greeting.py";

/// The required content of `greeting.py` after the change.
const CHANGED: &str = include_str!("trial/greeting_changed.py");

/// Words in the right answer about the minutes.
const ANSWER: [&str; 2] = ["noor", "thursday"];

/// How many characters of a wrong answer are shown.
const SHOWN: usize = 160;

/// Skills with requests that need them, one pair per line.
const ROUTES: &str = include_str!("trial/route.tsv");

/// A test job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Job {
    /// Choose the skills for some requests.
    Route,
    /// Plan a list of two tasks.
    Plan,
    /// Change a small file.
    Write,
    /// Answer a question about a text.
    Read,
}

impl Job {
    /// All jobs in their order.
    pub const ALL: [Self; 4] = [Self::Route, Self::Plan, Self::Write, Self::Read];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Plan => "plan",
            Self::Write => "write",
            Self::Read => "read",
        }
    }

    /// What a model is good for if it does the job right.
    pub fn good_for(self) -> &'static str {
        match self {
            Self::Route => "choosing skills",
            Self::Plan => "planning",
            Self::Write => "small changes",
            Self::Read => "questions over files",
        }
    }

    /// The setting that gives the job to another model.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Route | Self::Plan => "models.plan",
            Self::Write | Self::Read => "models.execute",
        }
    }

    /// The entries of its runs, each with the expected skill if the choice of a skill is tested.
    fn runs(self) -> Vec<(EntrySpec, Option<&'static str>)> {
        let request = |text: &str| EntrySpec::Prompt(text.to_owned());
        let skill = |name: &str, prompt: &str| EntrySpec::Skill { name: name.to_owned(), prompt: prompt.to_owned() };
        match self {
            Self::Route => {
                let routes = ROUTES.lines().filter_map(|line| line.split_once('\t'));
                routes.map(|(skill, text)| (request(text), Some(skill))).collect()
            }
            Self::Plan => vec![(request(include_str!("trial/plan.md")), None)],
            Self::Write => vec![(skill("edit_code", include_str!("trial/write.md")), None)],
            Self::Read => vec![(skill("read_files", include_str!("trial/read.md")), None)],
        }
    }

    /// The settings for one attempt without gates, because the first reply must be right.
    fn settings(self) -> Settings {
        let mut settings = Settings {
            attempts: 1,
            iterate: Policy::Never,
            approval: ApprovalMode::Never,
            headless: Headless::Approve,
            plan_only: matches!(self, Self::Route | Self::Plan),
            plan: if self == Self::Route { Policy::Auto } else { Policy::Always },
            ..Settings::default()
        };
        if self == Self::Route {
            // A request that the model splits into several tasks would otherwise be planned.
            settings.limits.max_calls = 1;
        }
        settings
    }

    /// What is wrong with the ended run.
    fn wrong(self, run: &RunView, outcome: Outcome, project: &Path, skill: Option<&str>) -> Option<String> {
        if let Some(needed) = skill {
            let chosen = run.tasks().next().and_then(|task| task.task.skill.as_deref()).unwrap_or("no skill");
            return (chosen != needed).then(|| format!("{chosen}, not {needed}: {}", run.about().prompt));
        }
        if !matches!(outcome, Outcome::Complete | Outcome::Planned) {
            let problem = || run.all_problems().next().map(|problem| run.problem_line(&problem));
            let words = refused(run).or_else(problem).or_else(|| run.about().message.map(str::to_owned));
            return Some(words.unwrap_or_default());
        }
        match self {
            Self::Route => None,
            Self::Plan => (run.tasks().count() < 2).then(|| "the list has one task, not two".to_owned()),
            Self::Write => {
                let text = std::fs::read_to_string(project.join(GREETING)).unwrap_or_default();
                (text.trim_end() != CHANGED.trim_end()).then(|| format!("{GREETING} is not as the request says"))
            }
            Self::Read => {
                let answer = run.answer();
                let low = answer.to_lowercase();
                (!ANSWER.iter().all(|word| low.contains(word))).then(|| format!("the answer was: {answer}"))
            }
        }
    }
}

/// What was wrong with the reply.
fn refused(run: &RunView) -> Option<String> {
    let mut issues = run.calls().iter().flat_map(|call| call.issues.iter().chain(&call.rejected));
    let error = issues.rfind(|issue| issue.severity == Severity::Error)?;
    Some(error.what.clone())
}

/// The outcome of a job.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Tried {
    /// The job.
    #[serde(rename = "test")]
    pub job: Job,
    /// Whether the result is right, as judged by code.
    pub right: bool,
    /// The time of its calls in seconds.
    pub seconds: f64,
    /// The number of tokens written per second of that time.
    pub tokens_per_second: f64,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// The models to test.
pub(super) struct Trial<'a> {
    /// The folders and the configuration of the models.
    pub setup: &'a Setup,
    /// The models.
    pub models: Arc<Models>,
    /// The model that was chosen.
    pub choice: &'a Choice,
    /// Stops the test.
    pub stop: CancellationToken,
}

impl Trial<'_> {
    /// Does one job. It is right if all its runs are right.
    pub async fn of(&self, job: Job) -> Result<Tried, Failure> {
        let (mut ms, mut written, mut wrong) = (0, 0, None);
        for (entry, skill) in job.runs() {
            let (run, not_right) = self.run(job, entry, skill).await?;
            ms += run.calls().iter().map(|call| call.ms).sum::<u64>();
            written += run.summary(true).output_tokens;
            wrong = wrong.or(not_right);
            if self.stop.is_cancelled() {
                break;
            }
        }
        let seconds = ms as f64 / 1_000.0;
        let tokens_per_second = if ms > 0 { written as f64 / seconds } else { 0.0 };
        Ok(Tried { job, right: wrong.is_none(), seconds, tokens_per_second, wrong })
    }

    /// Runs one entry in a project of its own. Also returns what is wrong with it.
    async fn run(&self, job: Job, entry: EntrySpec, skill: Option<&str>) -> Result<(RunView, Option<String>), Failure> {
        let own = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().permissions(own).tempdir().map_err(unwritten)?;
        let setup = self.project(folder.path()).map_err(unwritten)?;
        let id = RunId::new(format!("test-{}", job.name()));
        let settings = job.settings();
        let parts = Parts {
            store: Arc::new(MemoryStore::new()),
            attendance: Arc::new(callsheet_runtime::ports::Unattended),
            observer: Arc::new(Quiet),
            slots: self.models.slots(self.choice),
            models: Arc::<Models>::clone(&self.models),
            open: OpenArgs::default(),
        };
        let services = Arc::new(services(&setup, &id, &settings, parts)?);
        let session = begin(&services, &id, entry, settings).map_err(|fault| drive_failure(&fault, &id))?;
        let ended = drive(services, session, self.stop.clone()).await;
        let (outcome, run) = ended.map_err(|fault| drive_failure(&fault, &id))?;
        let run = RunView::from(run);
        let wrong = job.wrong(&run, outcome, &setup.project, skill).map(|words| one_line(&words, SHOWN));
        Ok((run, wrong))
    }

    /// Creates the project in a folder. The user's folders are beside it, so that no skill, template or prompt of the
    /// user is used.
    fn project(&self, folder: &Path) -> std::io::Result<Setup> {
        let project = folder.canonicalize()?.join("project");
        std::fs::create_dir(&project)?;
        for (name, text) in FILES {
            std::fs::write(project.join(name), text)?;
        }
        let home: PathBuf = project.with_file_name("home");
        Ok(Setup { project, folders: Folders::below(&home), templates: OnceLock::new(), ..self.setup.clone() })
    }
}

fn unwritten(error: std::io::Error) -> Failure {
    let what = format!("can't make a temporary project: {error}");
    Failure::internal(what, "check the free space and the permissions of the folder for temporary files")
}

/// Ignores signals, because only the result counts.
struct Quiet;

impl Observer for Quiet {
    fn see(&self, _: &Signal<'_>) {}
}

/// What the model is good for, in one line.
pub(super) fn verdict(tried: &[Tried]) -> String {
    let of = |right: bool| tried.iter().rev().filter(move |one| one.right == right).map(|one| one.job);
    let good = joined(of(true).map(Job::good_for));
    let mut settings: Vec<&str> = of(false).map(Job::setting).collect();
    settings.dedup();
    match (good.is_empty(), settings.is_empty()) {
        (_, true) => format!("Good for {good}."),
        (true, false) => "Not good enough for any of this; choose a larger model with --model.".to_owned(),
        (false, false) => {
            let (jobs, settings) = (joined(of(false).map(Job::name)), joined(settings.into_iter()));
            format!("Good for {good}; let a larger model {jobs}: name it as {settings} in your configuration.")
        }
    }
}

/// `a, b and c`.
fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn words(right: [bool; 4]) -> String {
        let tried = Job::ALL.into_iter().zip(right).map(|(job, right)| Tried {
            job,
            right,
            seconds: 1.0,
            tokens_per_second: 1.0,
            wrong: None,
        });
        verdict(&tried.collect::<Vec<_>>())
    }

    #[test]
    fn one_line_says_what_a_model_is_good_for() {
        assert_eq!(words([true; 4]), "Good for questions over files, small changes, planning and choosing skills.");
        assert_eq!(
            words([false, false, true, true]),
            "Good for questions over files and small changes; let a larger model plan and route: name it as models.plan in \
             your configuration."
        );
        assert_eq!(
            words([true, false, false, true]),
            "Good for questions over files and choosing skills; let a larger model write and plan: name it as \
             models.execute and models.plan in your configuration."
        );
        assert!(words([false; 4]).starts_with("Not good enough"));
    }
}
