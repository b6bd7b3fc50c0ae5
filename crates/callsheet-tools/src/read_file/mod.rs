//! `read_file`: a text file, or some lines of it.
//!
//! Lines have no numbers: a model copies what it reads into exact excerpts, and a copied number would break them. If
//! only a part is shown, the note at the end says which lines these are.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read};

use async_trait::async_trait;
use callsheet_core::evaluate::READ_FILE;
use callsheet_core::nouns::{PICTURE_BYTES, ToolSpec};
use callsheet_runtime::paths::{BINARY_PROBE, EntryKind};
use callsheet_runtime::pictures::picture_of;
use callsheet_runtime::ports::{DocumentKind, Documents, ShownPicture, Tool, ToolContext, ToolFault, ToolOutcome};
use serde::Deserialize;
use serde_json::Value;

use crate::common::document::{self, NoText};
use crate::common::place::{Place, readable};
use crate::common::text::clip;
use crate::common::words::say;
use crate::common::{Stop, Ticket, arguments, blocking, reading_tool};

/// The maximum number of bytes shown.
const CAP: usize = 102_400;

reading_tool!(ReadFile, READ_FILE, "file_access", "text_editor", "read");

#[derive(Deserialize)]
struct Arguments {
    path: String,
    start_line: Option<u64>,
    end_line: Option<u64>,
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        let given = given.clone();
        let scope = context.clone();
        blocking(context, move |ticket| {
            let wanted: Arguments = arguments(&given)?;
            let place = readable(&scope, &wanted.path, ticket)?;
            let cap = CAP.min(scope.max_output_bytes);
            read(&place, &wanted, (cap, &*scope.documents), ticket)
        })
        .await
    }
}

fn read(
    place: &Place,
    wanted: &Arguments,
    (cap, documents): (usize, &dyn Documents),
    ticket: &Ticket,
) -> Result<ToolOutcome, Stop> {
    let name = &place.shown;
    let failed = |error: std::io::Error| Stop::failed("read-failed", &[("path", name), ("error", &error)]);
    let size = match place.kind()? {
        EntryKind::File(size) => size,
        EntryKind::Directory => return Err(Stop::failed("is-a-folder", &[("path", name)])),
        EntryKind::Special => return Err(Stop::failed("is-special", &[("path", name)])),
    };
    let (first, last) = (wanted.start_line.unwrap_or(1).max(1), wanted.end_line.unwrap_or(u64::MAX));
    if last < first {
        return Err(Stop::failed("read-backwards", &[("last", &last), ("first", &first)]));
    }
    let document = match DocumentKind::of(name) {
        Some(kind) => document::text(kind, place.open()?, documents).map_err(|no_text| match no_text {
            NoText::Io(error) => failed(error),
            NoText::Because(reason) => Stop::failed("path-unreadable", &[("path", name), ("reason", &reason)]),
        })?,
        None => None,
    };
    let halted = |halt| match halt {
        Halt::Io(error) => failed(error),
        Halt::Stop(stop) => stop,
    };
    let part = match document {
        Some(text) => LinesRead::take(&mut text.as_bytes(), (first, last), cap, ticket).map_err(halted)?,
        None => {
            let mut file = BufReader::with_capacity(BINARY_PROBE, place.open()?);
            if file.fill_buf().map_err(failed)?.contains(&0) {
                return binary(name, size, file).map_err(failed);
            }
            LinesRead::take(&mut file, (first, last), cap, ticket).map_err(halted)?
        }
    };
    if first > part.total.max(1) {
        return Err(Stop::failed("read-beyond", &[("path", name), ("lines", &part.total), ("first", &first)]));
    }
    Ok(ToolOutcome::Output(part.render(first, last)))
}

/// A picture that models may see, or what is known of any other file.
fn binary(name: &str, size: u64, file: impl Read) -> std::io::Result<ToolOutcome> {
    let mut bytes = Vec::new();
    if size <= PICTURE_BYTES {
        file.take(PICTURE_BYTES).read_to_end(&mut bytes)?;
    }
    let Some(about) = picture_of(&bytes).filter(|about| !about.is_too_large()) else {
        return Ok(ToolOutcome::Output(say("read-binary", &[("path", &name), ("bytes", &size)])));
    };
    let (format, width, height) = (about.format.name(), about.width, about.height);
    let values: [(&str, &dyn Display); 4] =
        [("path", &name), ("format", &format), ("width", &width), ("height", &height)];
    let text = say("read-picture", &values);
    Ok(ToolOutcome::Pictures(text, vec![ShownPicture { about, content: bytes.into() }]))
}

enum Halt {
    Io(std::io::Error),
    Stop(Stop),
}

/// The requested lines, as far as they fit.
struct LinesRead {
    text: String,
    /// The last line in `text`, or 0 if there is none.
    last: u64,
    /// Number of lines of the file.
    total: u64,
    /// Whether the last line in `text` is incomplete.
    broken: bool,
    cap: usize,
}

impl LinesRead {
    fn take(file: &mut impl BufRead, lines: (u64, u64), cap: usize, ticket: &Ticket) -> Result<Self, Halt> {
        let mut part = Self { text: String::new(), last: 0, total: 0, broken: false, cap };
        let mut full = false;
        let mut line = Vec::new();
        loop {
            line.clear();
            // A line is read up to the length that could be shown, and the rest is skipped, so memory stays bounded.
            let taken = file.by_ref().take(cap as u64 + 1).read_until(b'\n', &mut line).map_err(Halt::Io)?;
            if taken == 0 {
                return Ok(part);
            }
            part.total += 1;
            if part.total.is_multiple_of(4_096) {
                ticket.check().map_err(Halt::Stop)?;
            }
            if line.last() != Some(&b'\n') {
                skip_line(file, ticket)?;
            }
            if full || part.total < lines.0 || part.total > lines.1 {
                continue;
            }
            full = !part.add(&String::from_utf8_lossy(&line));
        }
    }

    /// Adds a line. Returns false if it did not fit.
    fn add(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() <= self.cap;
        if fits {
            self.text.push_str(line);
            self.last = self.total;
        } else if self.text.is_empty() {
            // Otherwise nothing would be shown, so the beginning is better.
            self.text.push_str(clip(line, self.cap));
            self.last = self.total;
            self.broken = true;
        }
        fits
    }

    fn render(mut self, first: u64, wanted: u64) -> String {
        if self.total == 0 {
            return say("read-empty", &[]);
        }
        let cut = self.last < wanted.min(self.total);
        if first == 1 && !cut && self.last == self.total && !self.broken {
            return self.text;
        }
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let (last, total) = (self.last, self.total);
        let mut note = say("read-lines", &[("first", &first), ("last", &last), ("total", &total)]);
        if self.broken {
            note.push_str(&say("read-broken", &[]));
        }
        if cut {
            note.push_str(&say("read-more", &[("next", &last.saturating_add(1))]));
        }
        format!("{}[{note}]", self.text)
    }
}

fn skip_line(file: &mut impl BufRead, ticket: &Ticket) -> Result<(), Halt> {
    loop {
        ticket.check().map_err(Halt::Stop)?;
        let buffer = file.fill_buf().map_err(Halt::Io)?;
        if buffer.is_empty() {
            return Ok(());
        }
        let (used, ended) =
            buffer.iter().position(|byte| *byte == b'\n').map_or((buffer.len(), false), |at| (at + 1, true));
        file.consume(used);
        if ended {
            return Ok(());
        }
    }
}
