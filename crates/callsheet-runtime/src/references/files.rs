//! Reads a file of the project as text: a small file completely, a large one only at its two ends. Always gives its
//! size in lines and tokens, and its hash.

use std::io::{self, Read};
use std::sync::Arc;

use callsheet_core::nouns::{BlobHasher, BlobId, Picture, TokenCount};
use callsheet_format::prompt::{Excerpt, Gap, line_count};

use crate::issues::path_reason;
use crate::paths::{BINARY_PROBE, EntryKind, FileBytes, Listing, Located, PathFault, reason};
use crate::pictures::{large_picture, picture_of};
use crate::ports::{DOCUMENT_LIMIT, DocumentFault, DocumentKind, Documents};

use super::answer::Disk;

/// Files up to this size are read completely. Of larger files, only the ends are kept.
const WHOLE_LIMIT: u64 = 4 * 1024 * 1024;

/// A larger file is not read: its hash and its lines would require reading all of it.
const READ_LIMIT: u64 = 1024 * MIB;
const MIB: u64 = 1024 * 1024;

/// Bytes kept of each end of a large file.
const END_LIMIT: usize = 1024 * 1024;

/// The maximum number of names shown for a directory (spec 5.1).
const NAMES: usize = 200;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text(TextFile),
    Binary {
        bytes: u64,
    },
    /// A picture. The content is missing if it is too large to be shown.
    Picture(Picture, Option<Arc<[u8]>>),
    Directory(Listing),
}

/// A text file, or the requested lines of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextFile {
    pub(super) bytes: u64,
    pub(super) hash: BlobId,
    pub(super) excerpt: Excerpt,
    /// Whether the excerpt is the whole text, so that its headings can be found.
    pub(super) complete: bool,
}

/// Reads what is at a located path. `lines` limits a text to a range. Bytes that are not UTF-8 are replaced.
pub(super) fn read(disk: Disk<'_>, located: &Located, lines: Option<(u32, u32)>) -> Result<Content, PathFault> {
    let unreadable = |reason: String| PathFault::Unreadable { path: located.path().to_owned(), reason };
    match disk.workspace.kind(located)? {
        EntryKind::Directory => Ok(Content::Directory(disk.workspace.list(located, NAMES)?)),
        EntryKind::Special => Err(unreadable(path_reason("not-regular"))),
        EntryKind::File(bytes) => match DocumentKind::of(located.path()) {
            Some(_) if bytes > DOCUMENT_LIMIT => Err(unreadable(document_too_large(bytes))),
            Some(kind) => document(disk, located, kind, lines),
            None if bytes <= WHOLE_LIMIT => Ok(small(whole(disk, located, WHOLE_LIMIT)?, lines)),
            None if bytes > READ_LIMIT => Err(unreadable(too_large(bytes, READ_LIMIT))),
            None => {
                let window = lines.unwrap_or((1, u32::MAX));
                let scanned = disk.large.content(disk.workspace.open(located)?, window, |file| scan(file, window));
                match scanned.map_err(|error| unreadable(reason(&error)))? {
                    Content::Binary { bytes } => Ok(large_picture(disk.workspace, located, bytes)
                        .map_or(Content::Binary { bytes }, |about| Content::Picture(about, None))),
                    content => Ok(content),
                }
            }
        },
    }
}

fn too_large(bytes: u64, limit: u64) -> String {
    let (size, limit) = ((bytes / MIB).to_string(), (limit / MIB).to_string());
    callsheet_core::texts::fill(
        &path_reason("too-large-to-read"),
        &[("size", size.as_str()), ("limit", limit.as_str())],
    )
}

fn whole(disk: Disk<'_>, located: &Located, limit: u64) -> Result<FileBytes, PathFault> {
    disk.workspace.read(located, usize::try_from(limit).unwrap_or(usize::MAX))
}

/// A text file that was read completely.
fn small(content: FileBytes, lines: Option<(u32, u32)>) -> Content {
    let bytes = content.bytes.len() as u64;
    if let Some(about) = picture_of(&content.bytes) {
        let shown = !about.is_too_large();
        return Content::Picture(about, shown.then(|| Arc::from(content.bytes)));
    }
    if content.is_binary() {
        return Content::Binary { bytes };
    }
    let hash = BlobId::of(&content.bytes);
    let text = match String::from_utf8(content.bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    let excerpt = excerpt(text, lines);
    Content::Text(TextFile { bytes, hash, excerpt, complete: lines.is_none() && !content.truncated })
}

/// A PDF or office file as Markdown. A program that reads no documents takes it as any other file.
fn document(
    disk: Disk<'_>,
    located: &Located,
    kind: DocumentKind,
    lines: Option<(u32, u32)>,
) -> Result<Content, PathFault> {
    let content = whole(disk, located, DOCUMENT_LIMIT)?;
    let (bytes, hash) = (content.bytes.len() as u64, BlobId::of(&content.bytes));
    match document_text(disk.documents, kind, &hash, &content.bytes) {
        Ok(Some(text)) => {
            let excerpt = excerpt(text, lines);
            Ok(Content::Text(TextFile { bytes, hash, excerpt, complete: lines.is_none() }))
        }
        Ok(None) => Ok(small(content, lines)),
        Err(reason) => Err(PathFault::Unreadable { path: located.path().to_owned(), reason }),
    }
}

/// Why a document of this size is not read, as a clause.
pub fn document_too_large(bytes: u64) -> String {
    too_large(bytes, DOCUMENT_LIMIT)
}

/// The text of a document as Markdown. `None` if this program reads no documents, so that it is like any other file.
///
/// # Errors
/// Why it has no text, as a clause.
pub fn document_text(
    documents: &dyn Documents,
    kind: DocumentKind,
    id: &BlobId,
    bytes: &[u8],
) -> Result<Option<String>, String> {
    let reason = match documents.text(kind, id, bytes) {
        Ok(text) => return Ok(Some(text)),
        Err(DocumentFault::NoReader) => return Ok(None),
        Err(DocumentFault::TooLarge) => "document-too-large",
        Err(DocumentFault::Unreadable) => "document-unreadable",
        Err(DocumentFault::NoText) => "document-without-text",
    };
    Err(path_reason(reason))
}

fn excerpt(text: String, lines: Option<(u32, u32)>) -> Excerpt {
    match lines {
        Some((first, last)) => Excerpt::lines(&text, first, last),
        None => Excerpt::whole(text),
    }
}

/// Reads a large file in pieces, and keeps the ends of the lines in `window`.
fn scan(mut file: impl Read, window: (u32, u32)) -> io::Result<Content> {
    let mut scan = Scan { window, line: 1, ..Scan::default() };
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        scan.take(buffer.get(..read).unwrap_or_default());
    }
    Ok(scan.finish())
}

#[derive(Default)]
struct Scan {
    window: (u32, u32),
    line: u32,
    bytes: u64,
    binary: bool,
    hasher: BlobHasher,
    ends_open: bool,
    seen: TokenCount,
    head: Vec<u8>,
    tail: Vec<u8>,
    dropped: bool,
}

impl Scan {
    fn take(&mut self, piece: &[u8]) {
        let probe = (BINARY_PROBE as u64).saturating_sub(self.bytes);
        let probe = usize::try_from(probe).unwrap_or(BINARY_PROBE).min(piece.len());
        self.binary |= piece.get(..probe).unwrap_or_default().contains(&0);
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        self.hasher.update(piece);
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if (self.window.0..=self.window.1).contains(&self.line) {
                self.keep(part);
            }
            self.ends_open = !part.ends_with(b"\n");
            if !self.ends_open {
                self.line = self.line.saturating_add(1);
            }
        }
    }

    fn keep(&mut self, part: &[u8]) {
        self.seen.add_bytes(part);
        let room = END_LIMIT.saturating_sub(self.head.len()).min(part.len());
        let (head, tail) = part.split_at_checked(room).unwrap_or((part, &[]));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        if self.tail.len() > 2 * END_LIMIT {
            self.tail.drain(..self.tail.len() - END_LIMIT);
            self.dropped = true;
        }
    }

    fn finish(self) -> Content {
        if self.binary {
            return Content::Binary { bytes: self.bytes };
        }
        let total = if self.ends_open { self.line } else { self.line.saturating_sub(1) };
        let (first, last) = (self.window.0.max(1), self.window.1.min(total));
        let excerpt = if self.dropped {
            let head = self
                .head
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(&*self.head, |at| self.head.get(..=at).unwrap_or_default());
            let tail = self
                .tail
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(&*self.tail, |at| self.tail.get(at + 1..).unwrap_or_default());
            let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
            let mut kept = TokenCount::default();
            kept.add(&head);
            kept.add(&tail);
            let lines = last.saturating_sub(first).saturating_add(1);
            let whole_lines = |text: &str| if text.ends_with('\n') { line_count(text) } else { 0 };
            let kept_lines = whole_lines(&head).saturating_add(line_count(&tail));
            let gap = Gap {
                lines: lines.saturating_sub(kept_lines),
                tokens: self.seen.tokens().saturating_sub(kept.tokens()),
            };
            Excerpt { first, total, head: head.into_owned(), gap: Some(gap), tail: tail.into_owned() }
        } else {
            let mut bytes = self.head;
            bytes.extend_from_slice(&self.tail);
            let head = String::from_utf8_lossy(&bytes).into_owned();
            Excerpt { first, total, head, gap: None, tail: String::new() }
        };
        let hash = self.hasher.finish();
        Content::Text(TextFile { bytes: self.bytes, hash, excerpt, complete: false })
    }
}
