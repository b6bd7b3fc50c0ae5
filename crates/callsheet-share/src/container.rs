//! A run as a zip file: a manifest that lists the parts with their hashes, and the parts. Parts are read into memory,
//! never unpacked to a path.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};

use callsheet_core::nouns::{BlobId, RunId};
use serde::{Deserialize, Serialize};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::fault::ShareFault;
use crate::keys::{PublicKey, SigningKey};
use crate::limits;

/// The version of the format.
const VERSION: u32 = 1;

const MANIFEST: &str = "manifest.json";
const SIGNATURE: &str = "signature.json";
const EVENTS: &str = "events.jsonl";
const REPORT: &str = "views/report.html";
const BLOBS: &str = "blobs/";

/// The prefix of what is signed, so that a signature of a manifest counts for nothing else.
const ABOUT: &str = "callsheet run";

/// The purpose for which a run was exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackageKind {
    /// To be looked at. Keys are masked.
    Masked,
    /// To be resumed elsewhere. Everything is as recorded.
    Whole,
}

/// What goes into the file of a run.
#[derive(Clone, Debug)]
pub struct Packed<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The purpose of the export.
    pub kind: PackageKind,
    /// The events as JSON, one per line.
    pub events: Vec<u8>,
    /// The texts, by their hashes in the record.
    pub blobs: BTreeMap<BlobId, Vec<u8>>,
    /// The report about the run.
    pub report: Vec<u8>,
}

/// The content of a file. All of it matches the manifest.
#[derive(Debug)]
pub struct Unpacked {
    /// The run.
    pub run: RunId,
    /// The purpose of the export.
    pub kind: PackageKind,
    /// The events as JSON, one per line.
    pub events: Vec<u8>,
    /// The texts, by their hashes in the record.
    pub blobs: BTreeMap<BlobId, Vec<u8>>,
    /// The key of the signer, whose signature is valid. The caller decides whether this key may approve anything.
    pub signer: Option<PublicKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    size: usize,
    sha256: BlobId,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    version: u32,
    run: RunId,
    kind: PackageKind,
    parts: Vec<Part>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    key: PublicKey,
    signature: String,
}

fn foreign(error: impl std::fmt::Display) -> ShareFault {
    ShareFault::Foreign(error.to_string())
}

/// Packs a run.
///
/// # Errors
/// The run is too large for a file.
pub fn pack(packed: Packed<'_>, signer: Option<&SigningKey>) -> Result<Vec<u8>, ShareFault> {
    let Packed { run, kind, events, blobs, report } = packed;
    let blobs = blobs.into_iter().map(|(id, bytes)| (format!("{BLOBS}{id}"), bytes));
    let parts: Vec<(String, Vec<u8>)> =
        [(EVENTS.to_owned(), events), (REPORT.to_owned(), report)].into_iter().chain(blobs).collect();
    let whole: usize = parts.iter().map(|(_, bytes)| bytes.len()).sum();
    if whole > limits::FILE || parts.iter().any(|(_, bytes)| bytes.len() > limits::PART) || parts.len() > limits::PARTS
    {
        return Err(ShareFault::TooLarge(format!("the run has {whole} bytes in {} parts", parts.len())));
    }
    let part =
        |(name, bytes): &(String, Vec<u8>)| Part { name: name.clone(), size: bytes.len(), sha256: BlobId::of(bytes) };
    let manifest = Manifest { version: VERSION, run: run.clone(), kind, parts: parts.iter().map(part).collect() };
    let manifest = serde_json::to_vec(&manifest).map_err(foreign)?;
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let mut add = |name: &str, bytes: &[u8]| {
        zip.start_file(name, options).map_err(foreign)?;
        zip.write_all(bytes).map_err(foreign)
    };
    add(MANIFEST, &manifest)?;
    if let Some(signer) = signer {
        let signature = Signature { key: signer.public(), signature: signer.sign(ABOUT, &manifest) };
        add(SIGNATURE, &serde_json::to_vec(&signature).map_err(foreign)?)?;
    }
    for (name, bytes) in &parts {
        add(name, bytes)?;
    }
    zip.finish().map(Cursor::into_inner).map_err(foreign)
}

/// Reads a part. Fails if it is larger than `most` bytes.
fn read(zip: &mut ZipArchive<Cursor<&[u8]>>, name: &str, most: usize) -> Result<Vec<u8>, ShareFault> {
    let file = zip.by_name(name).map_err(|_| ShareFault::Damaged(format!("{name} is missing")))?;
    let mut bytes = Vec::new();
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| ShareFault::Damaged(error.to_string()))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(ShareFault::TooLarge(format!("{name} has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Checks the names and sizes of all parts before any part is unpacked.
fn check(manifest: &Manifest) -> Result<(), ShareFault> {
    let is_run = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let name = manifest.run.as_str();
    if name.is_empty() || name.len() > limits::NAME || !is_run(name) {
        return Err(ShareFault::Damaged("the name of the run is invalid".to_owned()));
    }
    let mut whole = 0_usize;
    for part in &manifest.parts {
        let is_part =
            matches!(part.name.as_str(), EVENTS | REPORT) || part.name.strip_prefix(BLOBS).is_some_and(is_hash);
        if !is_part {
            return Err(ShareFault::Damaged("a part has an unknown name".to_owned()));
        }
        whole = whole.saturating_add(part.size);
        if part.size > limits::PART || whole > limits::UNPACKED {
            return Err(ShareFault::TooLarge(format!("its parts have more than {} bytes", limits::UNPACKED)));
        }
    }
    Ok(())
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Reads a file and checks all of it.
///
/// # Errors
/// The file was not made by `callsheet export`, was changed, or is too large.
pub fn unpack(bytes: &[u8]) -> Result<Unpacked, ShareFault> {
    if bytes.len() > limits::FILE {
        return Err(ShareFault::TooLarge(format!("it has {} bytes", bytes.len())));
    }
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(foreign)?;
    if zip.len() > limits::PARTS.saturating_add(2) {
        return Err(ShareFault::TooLarge(format!("it has {} parts", zip.len())));
    }
    let of_manifest = read(&mut zip, MANIFEST, limits::MANIFEST).map_err(|fault| match fault {
        ShareFault::Damaged(words) => ShareFault::Foreign(words),
        other => other,
    })?;
    let version = serde_json::from_slice::<serde_json::Value>(&of_manifest).map_err(foreign)?;
    let found = version["version"].as_u64().and_then(|found| u32::try_from(found).ok()).unwrap_or(0);
    if found > VERSION {
        return Err(ShareFault::TooNew { found, known: VERSION });
    }
    let manifest: Manifest = serde_json::from_slice(&of_manifest).map_err(foreign)?;
    check(&manifest)?;
    let signer = match zip.index_for_name(SIGNATURE) {
        Some(_) => {
            let signature = read(&mut zip, SIGNATURE, limits::APPROVAL)?;
            let signature: Signature = serde_json::from_slice(&signature).map_err(|_| ShareFault::Signature)?;
            signature.key.check(ABOUT, &of_manifest, &signature.signature)?;
            Some(signature.key)
        }
        None => None,
    };
    let listed = manifest.parts.len().saturating_add(1 + usize::from(signer.is_some()));
    if zip.len() != listed {
        return Err(ShareFault::Damaged("it does not contain exactly the parts that its manifest lists".to_owned()));
    }
    let mut unpacked =
        Unpacked { run: manifest.run, kind: manifest.kind, events: Vec::new(), blobs: BTreeMap::new(), signer };
    for part in manifest.parts {
        let bytes = read(&mut zip, &part.name, part.size)?;
        if bytes.len() != part.size || BlobId::of(&bytes) != part.sha256 {
            return Err(ShareFault::Damaged(format!("{} does not match the manifest", part.name)));
        }
        match part.name.strip_prefix(BLOBS).map(BlobId::new) {
            Some(id) if manifest.kind == PackageKind::Whole && id != part.sha256 => {
                return Err(ShareFault::Damaged(format!("{} does not match its name", part.name)));
            }
            Some(id) => drop(unpacked.blobs.insert(id, bytes)),
            None if part.name == EVENTS => unpacked.events = bytes,
            None => {}
        }
    }
    Ok(unpacked)
}
