//! Malicious files, and files that are only damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use callsheet_core::nouns::{BlobId, RunId};
use callsheet_share::{PackageKind, Packed, ShareFault, SigningKey, pack, unpack};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

fn packed(signer: Option<&SigningKey>) -> Vec<u8> {
    let run = RunId::new("20260301-101112-note");
    let blobs: BTreeMap<BlobId, Vec<u8>> = [(BlobId::of(b"text"), b"text".to_vec())].into();
    let (events, report) = (b"{}\n".to_vec(), b"<html>".to_vec());
    pack(Packed { run: &run, kind: PackageKind::Whole, events, blobs, report }, signer).unwrap()
}

/// The parts of a file, in order.
fn parts(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = ZipArchive::new(Cursor::new(file)).unwrap();
    let count = zip.len();
    let part = |at| {
        let mut part = zip.by_index(at).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut part, &mut bytes).unwrap();
        (part.name().unwrap().to_string(), bytes)
    };
    (0..count).map(part).collect()
}

fn zipped(parts: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The file with another manifest.
fn with_manifest(file: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut parts = parts(file);
    let mut manifest: Value = serde_json::from_slice(&parts[0].1).unwrap();
    change(&mut manifest);
    parts[0].1 = manifest.to_string().into_bytes();
    zipped(&parts)
}

fn refused(file: &[u8]) -> String {
    unpack(file).expect_err("it is refused").to_string()
}

#[test]
fn what_was_packed_comes_out() {
    let key = SigningKey::read(&SigningKey::generate().unwrap().secret()).unwrap();
    let unpacked = unpack(&packed(Some(&key))).unwrap();
    assert_eq!((unpacked.run.as_str(), unpacked.kind), ("20260301-101112-note", PackageKind::Whole));
    assert_eq!(unpacked.events, b"{}\n");
    assert_eq!(unpacked.blobs[&BlobId::of(b"text")], b"text");
    assert_eq!(unpacked.signer, Some(key.public()));
    assert_eq!(unpack(&packed(None)).unwrap().signer, None);
}

#[test]
fn each_part_is_what_the_list_says() {
    let file = packed(None);
    for at in 1..parts(&file).len() {
        let mut changed = parts(&file);
        changed[at].1.push(b'!');
        assert!(refused(&zipped(&changed)).contains("too large"), "{at}");
        let mut changed = parts(&file);
        changed[at].1[0] ^= 1;
        assert!(refused(&zipped(&changed)).contains("does not match the manifest"), "{at}");
        let mut changed = parts(&file);
        changed.remove(at);
        assert!(refused(&zipped(&changed)).contains("exactly the parts"), "{at}");
    }
    let mut more = parts(&file);
    more.push(("extra.txt".to_owned(), Vec::new()));
    assert!(refused(&zipped(&more)).contains("exactly the parts"));
    let hash = BlobId::of(b"other").to_string();
    let mut renamed = parts(&with_manifest(&file, |manifest| {
        let parts = manifest["parts"].as_array_mut().unwrap();
        parts.last_mut().unwrap()["name"] = json!(format!("blobs/{hash}"));
    }));
    renamed.last_mut().unwrap().0 = format!("blobs/{hash}");
    assert!(refused(&zipped(&renamed)).contains("does not match its name"));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let file = packed(None);
    for name in ["../../etc/passwd", "/etc/passwd", "blobs/../../x", "blobs/..", "views/../x", "", "C:\\x", "blobs/AB"]
    {
        let other = with_manifest(&file, |manifest| manifest["parts"][1]["name"] = json!(name));
        assert!(refused(&other).contains("an unknown name"), "{name}");
    }
    for run in ["../x", "a/b", "", ".", "a b", "x\u{0}"] {
        let other = with_manifest(&file, |manifest| manifest["run"] = json!(run));
        assert!(refused(&other).contains("the name of the run is invalid"), "{run:?}");
    }
}

#[test]
fn what_grows_when_it_is_unpacked_is_refused_before_it_does() {
    let file = packed(None);
    let much = with_manifest(&file, |manifest| manifest["parts"][0]["size"] = json!(1_u64 << 40));
    assert!(matches!(unpack(&much), Err(ShareFault::TooLarge(_))));
    // A small manifest, and a part that unpacks to many zeros.
    let mut bomb = parts(&file);
    bomb[1].1 = vec![0; 64 * 1024 * 1024];
    let bomb = zipped(&bomb);
    assert!(bomb.len() < 1024 * 1024);
    assert!(matches!(unpack(&bomb), Err(ShareFault::TooLarge(_))));
}

#[test]
fn a_signature_is_of_its_key_and_its_file() {
    let (one, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let file = packed(Some(&one));
    let mut forged = parts(&file);
    let signature = String::from_utf8(forged[1].1.clone()).unwrap();
    forged[1].1 = signature.replace(one.public().as_str(), other.public().as_str()).into_bytes();
    assert!(matches!(unpack(&zipped(&forged)), Err(ShareFault::Signature)));
    let changed = with_manifest(&file, |manifest| manifest["kind"] = json!("masked"));
    assert!(matches!(unpack(&changed), Err(ShareFault::Signature)));
}

#[test]
fn other_files_and_newer_ones_are_told_apart() {
    assert!(matches!(unpack(b""), Err(ShareFault::Foreign(_))));
    assert!(matches!(unpack(&zipped(&[("a.txt".to_owned(), Vec::new())])), Err(ShareFault::Foreign(_))));
    let newer = with_manifest(&packed(None), |manifest| manifest["version"] = json!(2));
    assert!(matches!(unpack(&newer), Err(ShareFault::TooNew { found: 2, known: 1 })));
    let file = packed(None);
    for end in [1, file.len() / 2, file.len() - 1] {
        assert!(unpack(&file[..end]).is_err(), "{end}");
    }
}
