//! Looks up the context of a task (spec "Templates" 5, 13): with a command that prints paths, and in memory. This code,
//! on the handler's side, checks what was found: memory never opens a file, and its entries are not trusted about the
//! content of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use callsheet_core::evaluate::ProcessReport;
use callsheet_core::events;
use callsheet_core::file_index::{ContextQuery, FileMatch, Found, RelevantContext, SeekRequest};
use callsheet_core::nouns::{BlobId, Slug};
use callsheet_core::record::Retrieval;
use serde_json::json;

use crate::file_index::is_current;
use crate::paths::EntryKind;
use crate::ports::{IndexFault, MemoryFault, ToolContext, ToolOutcome};

use super::work::{EffectFuture, EffectResult, Work, ready};
use crate::fault::DriveFault;
use crate::grants::Caller;
use crate::services::Services;

/// Time limit and output limit of a command that lists files (spec 14).
const COMMAND_TIME: Duration = Duration::from_secs(5);
const COMMAND_BYTES: usize = 10_240;

/// A lookup that takes longer has failed.
const LOOKUP_TIME: Duration = Duration::from_secs(60);

/// Looks up what a task of the tree needs before the task is opened.
pub(crate) fn retrieve(work: Work, task: Slug, n: u32, request: &BlobId) -> EffectFuture {
    let bytes = work.services.store.blob(request).map_err(DriveFault::from);
    let request = bytes.and_then(|bytes| serde_json::from_slice::<SeekRequest>(&bytes).map_err(DriveFault::defect));
    let request = match request {
        Ok(request) => request,
        Err(fault) => return ready(Err(fault)),
    };
    Box::pin(async move {
        let cancel = work.cancel.clone();
        let seeking = seek(&work, request);
        let result = tokio::select! {
            result = seeking => result?,
            () = cancel.cancelled() => return Ok(EffectResult::Events(Vec::new())),
        };
        let stage = |found: &Found| -> Result<BlobId, DriveFault> {
            Ok(work.services.store.stage_blob(serde_json::to_vec(found).map_err(DriveFault::defect)?))
        };
        let found = stage(&result.found)?;
        let retrieval = match result.fault {
            None => Retrieval::Found(found),
            Some(MemoryFault(message)) => Retrieval::Failed { message, partial: found },
        };
        let empty_index = result.empty_index;
        Ok(EffectResult::Events(vec![events::ContextRetrieved { task, n, retrieval, empty_index }.into()]))
    })
}

#[derive(Default)]
struct LookupResult {
    found: Found,
    fault: Option<MemoryFault>,
    empty_index: bool,
}

async fn seek(work: &Work, request: SeekRequest) -> Result<LookupResult, DriveFault> {
    let mut result = LookupResult::default();
    let mut about: BTreeMap<String, String> = BTreeMap::new();
    if !request.command.is_empty() {
        match printed(work, &request.command).await? {
            Ok((paths, warnings)) => {
                result.found.command = paths;
                result.found.warnings.extend(warnings);
            }
            Err(why) => result.found.command_error = Some(why),
        }
    }
    if let Some(query) = request.described {
        match look_up(work, query).await {
            Ok(answer) => {
                result.empty_index |= answer.empty_index;
                let files = known_files(work, answer, &mut result.found.warnings).await?;
                result.found.described = files.kept;
                about.extend(files.about);
            }
            Err(fault) => result.fault = Some(fault),
        }
    }
    if let Some(query) = request.related.filter(|_| result.fault.is_none()) {
        match look_up(work, query).await {
            Ok(answer) => {
                result.empty_index |= answer.empty_index;
                result.found.items = answer.items.clone();
                let files = known_files(work, answer, &mut result.found.warnings).await?;
                (result.found.related, result.found.context) = (files.kept, files.context);
                about.extend(files.about);
            }
            Err(fault) => result.fault = Some(fault),
        }
    }
    if request.about {
        result.found.about = about.into_iter().collect();
    }
    Ok(result)
}

async fn look_up(work: &Work, query: ContextQuery) -> Result<RelevantContext, MemoryFault> {
    let lookup = work.services.memory.get_relevant_context_for(query);
    match tokio::time::timeout(LOOKUP_TIME, lookup).await {
        Ok(answer) => answer,
        Err(_) => Err(MemoryFault(format!("the lookup took more than {} s", LOOKUP_TIME.as_secs()))),
    }
}

/// Matches that hold.
#[derive(Default)]
struct Files {
    kept: Vec<FileMatch>,
    /// Metadata by path.
    about: Vec<(String, String)>,
    context: String,
}

/// The matches as paths of the project. A match that is not in the index is dropped: a base name never stands for
/// another file. A match whose file is missing or outside is dropped, one whose file changed is kept. Each case is
/// reported.
async fn known_files(work: &Work, answer: RelevantContext, warnings: &mut Vec<String>) -> Result<Files, DriveFault> {
    let services = Arc::clone(&work.services);
    let looked = tokio::task::spawn_blocking(move || {
        let mut found = answer.warnings;
        let mut files = Files { context: answer.context, ..Files::default() };
        for FileMatch(path, why) in answer.matches {
            match look_at(&services, &path) {
                Ok((shown, about, warning)) => {
                    found.extend(warning);
                    files.about.push((shown.clone(), about));
                    files.kept.push(FileMatch(shown, why));
                }
                Err(warning) => found.push(warning),
            }
        }
        (files, found)
    });
    let (files, found) = looked.await.map_err(DriveFault::defect)?;
    warnings.extend(found);
    Ok(files)
}

/// The project path of an indexed file, its metadata, and a warning about it; or why it is dropped.
fn look_at(services: &Services, path: &str) -> Result<(String, String, Option<String>), String> {
    let entry = match services.index.entry(path) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Err(format!("skipped {path}, because it is not in the index")),
        Err(fault @ IndexFault::Store(_)) => return Err(format!("skipped {path}: {fault}")),
        Err(fault) => return Err(fault.to_string()),
    };
    let located = services.workspace.locate(path).map_err(|fault| format!("the index is out of date: {fault}"))?;
    let shown = located.path().to_owned();
    match is_current(&services.workspace, &entry) {
        Some(true) => Ok((shown, entry.text, None)),
        Some(false) => {
            let warning = format!("{shown} changed since it was indexed; `callsheet index` updates the index");
            Ok((shown, entry.text, Some(warning)))
        }
        None => Err(format!("the index is out of date: can't read {shown}")),
    }
}

type Paths = (Vec<String>, Vec<String>);

/// The existing files that a command printed, one per line, with warnings; or why there are none.
async fn printed(work: &Work, argv: &[String]) -> Result<Result<Paths, String>, DriveFault> {
    let Some(tool) = &work.services.path_command else {
        return Ok(Err("commands that list files are disabled".to_owned()));
    };
    let context = ToolContext {
        workspace: work.services.workspace_for(&Caller::default(), None),
        skill_dir: None,
        fetch: None,
        documents: Arc::clone(&work.services.documents),
        // Half of a kept stream is from its end, and only the beginning is needed.
        max_output_bytes: COMMAND_BYTES.saturating_mul(2),
        timeout: COMMAND_TIME,
        cancel: work.cancel.clone(),
    };
    let outcome = tool.run(&json!({ "argv": argv }), &context).await;
    let text = match outcome.map_err(DriveFault::defect)? {
        ToolOutcome::Output(text) => text,
        ToolOutcome::Failed(why) => return Ok(Err(why)),
        ToolOutcome::Pictures(..) | ToolOutcome::Changes(_) | ToolOutcome::Question(_) | ToolOutcome::Midway(_) => {
            return Err(DriveFault::defect("a command that lists files returned something other than files"));
        }
    };
    let report: ProcessReport = serde_json::from_str(&text).map_err(DriveFault::defect)?;
    if report.timed_out {
        return Ok(Err(format!("the command took more than {} s", COMMAND_TIME.as_secs())));
    }
    let (mut paths, mut warnings) = lines(&work.services, &report);
    match report.exit_code {
        Some(0) => {}
        // `rg` and `git grep` exit with 1 if nothing matches. What they printed is used anyway.
        Some(1) if report.stderr.trim().is_empty() => {}
        code => {
            let how = code.map_or_else(|| "a signal".to_owned(), |code| format!("exit {code}"));
            let said = report.stderr.lines().next().unwrap_or_default();
            let why = format!("the command that lists files ended with {how}: {said}");
            if paths.is_empty() {
                return Ok(Err(why));
            }
            warnings.push(why);
        }
    }
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    Ok(Ok((paths, warnings)))
}

fn lines(services: &Services, report: &ProcessReport) -> Paths {
    let mut warnings = Vec::new();
    let mut text = report.stdout.as_str();
    if text.len() > COMMAND_BYTES {
        warnings.push(format!("the command printed more than {COMMAND_BYTES} bytes; the rest was ignored"));
        // The last line may be cut.
        let end = (0..=COMMAND_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text = text.get(..end).and_then(|kept| kept.rsplit_once('\n')).map_or("", |(whole, _)| whole);
    }
    let existing = |line: &str| {
        let located = services.workspace.locate(line).ok()?;
        let file = matches!(services.workspace.kind(&located), Ok(EntryKind::File(_)));
        file.then(|| located.path().to_owned())
    };
    let paths = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).filter_map(existing);
    (paths.collect(), warnings)
}
