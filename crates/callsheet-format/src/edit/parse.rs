//! Reads one `Change details` block: its keys and fences become one of the four ways to address a change (spec 3.9).

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::{Issue, IssueCode, RepairCode, Span};

use crate::edit::{Change, ChangeWay, SymbolPosition};
use crate::reading::Diagnostics;

/// A labelled line of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeKey {
    /// The label as written, without markup.
    pub label: String,
    /// Its value. May be empty.
    pub value: String,
    /// Its place.
    pub span: Span,
}

/// A fence of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeFence {
    /// Its lines, each with its ending. Empty for a fence without lines.
    pub content: String,
    /// Its place.
    pub span: Span,
    /// Whether it has a closing line.
    pub closed: bool,
    /// Whether it is uncertain which line closes it.
    pub unsure: bool,
}

/// The parts of a `Change details` section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeBlock {
    /// 1-based number among the blocks of the reply.
    pub number: usize,
    /// Labelled lines in order.
    pub keys: Vec<ChangeKey>,
    /// Fences in order.
    pub fences: Vec<ChangeFence>,
    /// Everything up to the end of the reply, if `output_mode` is `next_section`.
    pub tail: Option<String>,
    /// Whether the tail contains another change block.
    pub tail_holds_block: bool,
    /// The whole block.
    pub span: Span,
}

/// Whether a label names the file of a change. Only then does a synonym of the heading count (spec 3.3).
pub fn is_path_key(label: &str) -> bool {
    matches!(normalize(label).as_str(), "file path" | "path" | "file")
}

#[derive(Default)]
struct Keys {
    path: Option<String>,
    first: Option<u32>,
    last: Option<u32>,
    whole: Option<bool>,
    overwrite: Option<bool>,
    symbol: Option<String>,
    location: Option<SymbolPosition>,
    next_section: bool,
}

/// Reads one block. `None` after an error, which is noted.
pub fn read_change(block: &ChangeBlock, notes: &mut Diagnostics) -> Option<Change> {
    let mut reader = BlockReader { block, notes };
    match reader.read() {
        Ok(change) => Some(change),
        Err(issue) => {
            notes.push(*issue);
            None
        }
    }
}

type Refused = Box<Issue>;

struct BlockReader<'a> {
    block: &'a ChangeBlock,
    notes: &'a mut Diagnostics,
}

impl BlockReader<'_> {
    fn read(&mut self) -> Result<Change, Refused> {
        let mut keys = Keys::default();
        for key in &self.block.keys {
            self.key(&mut keys, key)?;
        }
        if let Some(open) = self.block.fences.iter().find(|fence| !fence.closed) {
            return Err(self.issue(IssueCode::ContentTruncated, "", open.span, &[]));
        }
        if let Some(unsure) = self.block.fences.iter().find(|fence| fence.unsure) {
            return Err(self.issue(IssueCode::ContentTruncated, "nested", unsure.span, &[]));
        }
        let path = keys.path.take().filter(|path| !path.is_empty());
        let Some(path) = path else {
            return Err(self.issue(IssueCode::AddressMissing, "path", self.block.span, &[]));
        };
        let way = self.way(&keys)?;
        Ok(Change { path, way, span: self.block.span })
    }

    fn issue(&self, code: IssueCode, variant: &str, span: Span, facts: &[(&str, &str)]) -> Refused {
        Box::new(self.notes.issue(code, variant, span, facts).item(&format!("change {}", self.block.number)))
    }

    fn conflict(&self, variant: &str, span: Span, facts: &[(&str, &str)]) -> Refused {
        self.issue(IssueCode::AddressConflict, variant, span, facts)
    }

    fn key(&mut self, keys: &mut Keys, key: &ChangeKey) -> Result<(), Refused> {
        let label = normalize(&key.label);
        let value = self.value(key);
        match label.as_str() {
            "file path" | "path" | "file" => {
                let path = value.strip_prefix("./").unwrap_or(&value).to_owned();
                if keys.path.as_ref().is_some_and(|known| *known != path) {
                    return Err(self.conflict("twice", key.span, &[("key", "file_path")]));
                }
                self.canonical(key, "file_path");
                keys.path = Some(path);
            }
            "output mode" => match normalize(&value).as_str() {
                "next section" => keys.next_section = true,
                "fenced" | "replace" | "" => {}
                _ => return Err(self.conflict("value", key.span, &[("key", "output_mode"), ("value", &value)])),
            },
            "start line" => keys.first = Some(self.line(keys.first, key, "start_line", &value)?),
            "end line" => keys.last = Some(self.line(keys.last, key, "end_line", &value)?),
            "lines" | "line range" | "line" => {
                let (first, last) = self.range(key, &value)?;
                if keys.first.is_some_and(|known| known != first) || keys.last.is_some_and(|known| known != last) {
                    return Err(self.conflict("twice", key.span, &[("key", "lines")]));
                }
                self.canonical(key, "start_line");
                (keys.first, keys.last) = (Some(first), Some(last));
            }
            "complete file" => keys.whole = Some(self.flag(key, "complete_file", &value)?),
            "overwrite" => keys.overwrite = Some(self.flag(key, "overwrite", &value)?),
            "ast path" => {
                keys.symbol = Some(value).filter(|symbol| !symbol.is_empty());
            }
            "location" => keys.location = self.location(key, &value)?,
            _ => return Err(self.conflict("unknown", key.span, &[("key", &key.label)]).keyed(&key.label)),
        }
        Ok(())
    }

    /// Notes an alias of a key.
    fn canonical(&mut self, key: &ChangeKey, name: &str) {
        if normalize(&key.label) != normalize(name) {
            self.notes.repair(RepairCode::ChangeKey, key.span, &key.label, name);
        }
    }

    /// The value without surrounding code style or link.
    fn value(&mut self, key: &ChangeKey) -> String {
        let value = key.value.trim();
        let bare = value.trim_matches('`').trim();
        let bare = match bare.strip_prefix('[').and_then(|link| link.strip_suffix(')')) {
            Some(link) if is_path_key(&key.label) => link.split_once("](").map_or(bare, |(_, target)| target),
            _ => bare,
        };
        if bare != value {
            self.notes.repair(RepairCode::ChangeKey, key.span, value, bare);
        }
        bare.to_owned()
    }

    fn line(&self, known: Option<u32>, key: &ChangeKey, name: &str, value: &str) -> Result<u32, Refused> {
        match value.parse() {
            Ok(line) if known.is_none_or(|known| known == line) => Ok(line),
            Ok(_) => Err(self.conflict("twice", key.span, &[("key", name)])),
            // A line number is never guessed (spec 4.6).
            Err(_) => Err(self.conflict("value", key.span, &[("key", name), ("value", value)])),
        }
    }

    fn range(&self, key: &ChangeKey, value: &str) -> Result<(u32, u32), Refused> {
        let plain = value.replace(['\u{2013}', '\u{2014}'], "-").to_lowercase();
        let plain = plain.replace(" to ", "-");
        let mut ends = plain.split('-').map(|end| end.trim().trim_start_matches(['l', '#']).parse::<u32>());
        match (ends.next(), ends.next(), ends.next()) {
            (Some(Ok(line)), None, None) => Ok((line, line)),
            (Some(Ok(first)), Some(Ok(last)), None) => Ok((first, last)),
            _ => Err(self.conflict("value", key.span, &[("key", "lines"), ("value", value)])),
        }
    }

    fn flag(&mut self, key: &ChangeKey, name: &str, value: &str) -> Result<bool, Refused> {
        let lower = value.to_lowercase();
        let flag = match lower.as_str() {
            "true" | "yes" | "1" | "" => true,
            "false" | "no" | "0" => false,
            _ => return Err(self.conflict("value", key.span, &[("key", name), ("value", value)])),
        };
        let canonical = if flag { "true" } else { "false" };
        if value != canonical {
            self.notes.repair(RepairCode::ChangeKey, key.span, value, canonical);
        }
        Ok(flag)
    }

    fn location(&mut self, key: &ChangeKey, value: &str) -> Result<Option<SymbolPosition>, Refused> {
        Ok(match normalize(value).as_str() {
            "" => None,
            "replace" => Some(SymbolPosition::Replace),
            "replace with comment" | "with comment" => Some(SymbolPosition::ReplaceWithComment),
            "before" | "before comment" => Some(SymbolPosition::Before),
            "after" => Some(SymbolPosition::After),
            "remove" => Some(SymbolPosition::Remove),
            _ => return Err(self.conflict("value", key.span, &[("key", "location"), ("value", value)])),
        })
    }

    /// Determines which of the four ways the block uses.
    fn way(&mut self, keys: &Keys) -> Result<ChangeWay, Refused> {
        let span = self.block.span;
        let lines = keys.first.is_some() || keys.last.is_some();
        let whole = keys.whole == Some(true);
        let symbol = keys.symbol.is_some();
        if usize::from(lines) + usize::from(whole) + usize::from(symbol) > 1 {
            return Err(self.conflict("ways", span, &[]));
        }
        if keys.next_section && !whole {
            return Err(self.conflict("next-section", span, &[]));
        }
        if keys.overwrite == Some(true) && !whole {
            return Err(self.conflict("overwrite", span, &[]));
        }
        if whole {
            return self.whole(keys);
        }
        if let Some(path) = &keys.symbol {
            return self.symbol(path, keys.location.unwrap_or_default());
        }
        if keys.location.is_some() {
            return Err(self.issue(IssueCode::AddressMissing, "location", span, &[]));
        }
        if lines {
            let (Some(first), Some(last)) = (keys.first, keys.last) else {
                return Err(self.issue(IssueCode::AddressMissing, "line", span, &[]));
            };
            let new = self.one_fence("lines")?;
            return Ok(ChangeWay::Lines { first, last, new });
        }
        match self.block.fences.as_slice() {
            [old, new] => Ok(ChangeWay::Excerpt { old: chomp(&old.content), new: chomp(&new.content) }),
            [] | [_] => Err(self.issue(IssueCode::AddressMissing, "", span, &[])),
            more => Err(self.fences("excerpt", more.len())),
        }
    }

    fn whole(&mut self, keys: &Keys) -> Result<ChangeWay, Refused> {
        let overwrite = keys.overwrite.unwrap_or(false);
        match keys.location {
            Some(SymbolPosition::Remove) if self.block.fences.is_empty() && self.block.tail.is_none() => {
                return Ok(ChangeWay::Delete);
            }
            Some(SymbolPosition::Remove) => return Err(self.fences("remove", self.block.fences.len())),
            Some(SymbolPosition::Replace) | None => {}
            Some(_) => return Err(self.conflict("ways", self.block.span, &[])),
        }
        if let Some(content) = self.block.tail.clone().filter(|_| keys.next_section) {
            if !self.block.fences.is_empty() || self.block.tail_holds_block {
                return Err(self.conflict("next-section", self.block.span, &[]));
            }
            return Ok(ChangeWay::Whole { content, overwrite });
        }
        if keys.next_section {
            // The usual form is one fence with nothing after it.
            self.notes.repair(RepairCode::ChangeKey, self.block.span, "next_section", "fenced");
        }
        Ok(ChangeWay::Whole { content: self.one_fence("whole")?, overwrite })
    }

    fn symbol(&mut self, path: &str, location: SymbolPosition) -> Result<ChangeWay, Refused> {
        let new = match (location, self.block.fences.as_slice()) {
            (SymbolPosition::Remove, []) => None,
            (SymbolPosition::Remove, more) => return Err(self.fences("remove", more.len())),
            (_, _) => Some(self.one_fence("symbol")?),
        };
        Ok(ChangeWay::Symbol { path: path.to_owned(), location, new })
    }

    fn one_fence(&self, way: &str) -> Result<String, Refused> {
        match self.block.fences.as_slice() {
            [one] => Ok(one.content.clone()),
            [] => Err(self.issue(IssueCode::AddressMissing, "fence", self.block.span, &[])),
            more => Err(self.fences(way, more.len())),
        }
    }

    fn fences(&self, way: &str, count: usize) -> Refused {
        self.conflict(&format!("fences-{way}"), self.block.span, &[("count", &count.to_string())])
    }
}

/// Names the key of a rejected block.
trait Keyed {
    fn keyed(self, key: &str) -> Self;
}

impl Keyed for Refused {
    fn keyed(self, key: &str) -> Self {
        Box::new(self.key(key))
    }
}

/// Removes the line ending that a fence adds to its last line.
fn chomp(content: &str) -> String {
    super::text::without_final(content).to_owned()
}
