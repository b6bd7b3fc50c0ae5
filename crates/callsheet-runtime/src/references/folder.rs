//! Shows a folder that a reference names (spec 5.1): the texts of its files, those most related to the task's need
//! first, as far as there is room.

use callsheet_core::nouns::{PICTURES, Target, tokens};
use callsheet_core::words::{Counts, Question, Words, scores};
use callsheet_format::prompt::{Shown, cut};

use crate::file_index::LARGEST;
use crate::paths::{EntryKind, Located, walker};
use crate::pictures::words;
use callsheet_core::texts::fill;

use super::files::{self, Content};
use super::gather::{Gatherer, Piece};
use super::render::block_of;
use super::resolve::{Block, Item, Resolved};

const CONTENTS_OMITTED: &str = include_str!("prompts/contents-omitted.txt");

/// The maximum number of files of a folder whose texts are read, in path order.
const FILES: usize = 200;
/// The maximum number of bytes of these files together.
const BYTES: u64 = 8 * 1024 * 1024;
/// A file is left out if fewer tokens of it could be shown.
const LEAST: u32 = 100;

impl Gatherer<'_> {
    /// The files below a folder: the texts that match the need first, the others by name, then the pictures for a model
    /// that sees. Ignored, hidden, other binary and large files are left out, and so are those that are no longer
    /// relevant.
    pub(super) fn inside(&mut self, folder: &Located) -> Vec<Piece> {
        let workspace = self.sources.disk.workspace;
        let Some(base) = workspace.bases().get(folder.base).map(|base| base.path.clone()) else { return Vec::new() };
        let walk = walker(&base.join(&folder.relative)).hidden(true).sort_by_file_name(Ord::cmp).build().flatten();
        let files = walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let (mut bytes, mut inside, mut pictures) = (0_u64, Vec::new(), Vec::new());
        for entry in files.take(FILES) {
            let Some(located) = entry.path().to_str().and_then(|path| workspace.locate(path).ok()) else { continue };
            let Ok(EntryKind::File(size)) = workspace.kind(&located) else { continue };
            let path = located.path().to_owned();
            let target = Target::File { path: path.clone(), fragment: None };
            if size > LARGEST || bytes.saturating_add(size) > BYTES || self.request.is_restricted(&target) {
                continue;
            }
            bytes = bytes.saturating_add(size);
            match files::read(self.sources.disk, &located, None) {
                Ok(Content::Text(text)) => inside.extend(self.text(&path, &path, text, None)),
                Ok(Content::Picture(about, Some(content))) if self.request.first_picture.is_some() => {
                    pictures.push(self.picture(&path, &path, about, Some(content)));
                }
                // The folder's list of names has it.
                Ok(Content::Picture(_, Some(_))) => self.unseen = true,
                Ok(Content::Picture(_, None)) => self.too_large.push(path),
                _ => {}
            }
        }
        let mut inside = ranked(self.request.need, inside);
        inside.extend(pictures);
        inside
    }
}

/// The best first. Pieces without any of the words stay in the order of their names.
fn ranked(need: &str, mut files: Vec<Piece>) -> Vec<Piece> {
    let question = Question::of(need);
    files.sort_by(|a, b| a.identity.cmp(&b.identity));
    let count = |file: &Piece| {
        let mut words = Words::of(&file.identity);
        words.add(&file.excerpt.head, 1);
        question.count(&words)
    };
    let counts: Vec<Counts> = files.iter().map(count).collect();
    let mut scored: Vec<(f64, Piece)> = scores(&counts).into_iter().zip(files).collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().map(|(_, file)| file).collect()
}

impl Resolved {
    /// Adds the names in the folder, then its files: completely while there is room; the next one is cut, and the rest
    /// is counted.
    pub(super) fn add_folder(&mut self, item: &Item<'_>, first: usize, share: u32) {
        let piece = &item.piece;
        let target = item.wanted.reference.target.to_string();
        // If there are many names, most of the room is reserved for texts.
        let all = piece.tokens() <= share;
        let names = cut(&piece.excerpt, if all { share } else { share / 4 });
        let mut left = share.saturating_sub(tokens(&names.text));
        let mut blocks = Vec::new();
        let mut omitted = 0_usize;
        for file in &piece.inside {
            let needed = file.tokens();
            if let Some(picture) = &file.picture {
                let number = first.saturating_add(self.pictures.len());
                if omitted > 0 || needed > left || number > PICTURES {
                    omitted += 1;
                    continue;
                }
                left = left.saturating_sub(needed);
                self.pictures.push(picture.clone());
                let text = block_of("", &file.identity, file.language, &words("shown", &picture.about, number));
                blocks.push(Block { target: file.identity.clone(), text, tokens: needed, whole: true });
                continue;
            }
            if omitted > 0 || needed > left && left < LEAST {
                omitted += 1;
                continue;
            }
            let Shown { text, whole } = cut(&file.excerpt, left);
            left = if whole { left.saturating_sub(needed) } else { 0 };
            if let Some((path, hash)) = &file.file {
                self.shown(path, hash, whole && !file.shortened && file.excerpt.is_whole_text());
            }
            if !text.trim().is_empty() {
                let text = block_of("", &file.identity, file.language, &text);
                blocks.push(Block { target: file.identity.clone(), text, tokens: needed, whole });
            }
        }
        let title = &item.wanted.reference.title;
        let mut text = block_of(title, &target, piece.language, &names.text);
        if omitted > 0 {
            text.push_str(&format!("\n{}\n", fill(CONTENTS_OMITTED, &[("count", &omitted.to_string())])));
        }
        let whole = names.whole && omitted == 0 && blocks.iter().all(|block| block.whole);
        self.blocks.push(Block { target, text, tokens: piece.tokens(), whole });
        self.blocks.extend(blocks);
    }
}
