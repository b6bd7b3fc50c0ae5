//! Bytes made small: compressed and, where an earlier text is like them, as what differs from it. The prompts of one skill
//! share most of their text, and the document of a result is a part of the reply that it was read from.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_core::spec::BlobId;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Fewer bytes are kept as they are.
const LEAST: usize = 128;
/// Fewer bytes are nothing that others are like.
const LEAST_BASE: usize = 512;
/// Bytes of a base that are used: its beginning, within what deflate can look back.
const BASE_BYTES: usize = 24 * 1024;
/// Bases that are remembered; the one used longest ago is forgotten first.
const BASES: usize = 32;
const LEVEL: u32 = 3;
/// Deflate makes nothing smaller than by this factor.
const MOST: usize = 1_032;

/// Bytes as they are stored.
#[derive(Debug, PartialEq)]
pub(crate) struct Packed {
    pub hash: BlobId,
    /// The blob that these bytes are told from.
    pub base: Option<BlobId>,
    /// How many there are; `None`: they are as they are.
    pub size: Option<usize>,
    pub bytes: Vec<u8>,
    /// What is remembered once they are stored.
    offered: Option<Base>,
}

#[derive(Clone, Debug, PartialEq)]
struct Base {
    hash: BlobId,
    marks: Marks,
    bytes: Arc<[u8]>,
}

/// Makes bytes small, with what it has seen before.
#[derive(Debug, Default)]
pub(crate) struct Packer(Mutex<State>);

#[derive(Default)]
struct State {
    compress: Option<Compress>,
    bases: VecDeque<Base>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("bases", &self.bases.len()).finish_non_exhaustive()
    }
}

impl Packer {
    /// The bytes of a blob, smaller where that is worth it.
    pub fn pack(&self, hash: BlobId, bytes: &[u8]) -> Packed {
        let plain = |hash, offered| Packed { hash, base: None, size: None, bytes: bytes.to_vec(), offered };
        if bytes.len() < LEAST {
            return plain(hash, None);
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = marks(bytes);
        if let Some(base) = state.like(&marks)
            && let Some(told) = state.compress(bytes, Some(&base.bytes))
            && told.len() < bytes.len() / 3
        {
            return Packed { hash, base: Some(base.hash), size: Some(bytes.len()), bytes: told, offered: None };
        }
        let beginning = bytes.get(..BASE_BYTES).unwrap_or(bytes);
        let offered = (bytes.len() >= LEAST_BASE).then(|| Base { hash: hash.clone(), marks, bytes: beginning.into() });
        match state.compress(bytes, None).filter(|small| small.len() < bytes.len()) {
            Some(small) => Packed { hash, base: None, size: Some(bytes.len()), bytes: small, offered },
            None => plain(hash, offered),
        }
    }

    /// Text alone, compressed without a base; `None`: that would not make it smaller.
    pub fn text(&self, text: &str) -> Option<Vec<u8>> {
        if text.len() < LEAST_BASE {
            return None;
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.compress(text.as_bytes(), None).filter(|small| small.len() < text.len())
    }

    /// These bytes are stored, and later ones may be told from them.
    pub fn stored(&self, packed: Packed) {
        let Some(base) = packed.offered else { return };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.bases.len() >= BASES {
            state.bases.pop_front();
        }
        state.bases.push_back(base);
    }
}

impl State {
    /// The base that shares most marks, if any; it is now the one used last.
    fn like(&mut self, marks: &Marks) -> Option<Base> {
        let shared = |base: &Base| base.marks.iter().zip(marks).filter(|(a, b)| a == b).count();
        let (index, most) = self.bases.iter().map(shared).enumerate().max_by_key(|(_, shared)| *shared)?;
        let base = self.bases.remove(index).filter(|_| most > 0)?;
        self.bases.push_back(base.clone());
        Some(base)
    }

    fn compress(&mut self, bytes: &[u8], base: Option<&[u8]>) -> Option<Vec<u8>> {
        let compress = self.compress.get_or_insert_with(|| Compress::new(Compression::new(LEVEL), false));
        compress.reset();
        if let Some(base) = base {
            compress.set_dictionary(base).ok()?;
        }
        // More is nothing gained.
        let mut small = Vec::with_capacity(bytes.len().saturating_add(16));
        let ended = compress.compress_vec(bytes, &mut small, FlushCompress::Finish).ok()?;
        (ended == Status::StreamEnd).then_some(small)
    }
}

/// The bytes that were packed; `None`: these are none, or not of that base.
pub(crate) fn unpack(bytes: Vec<u8>, size: Option<usize>, base: Option<&[u8]>) -> Option<Vec<u8>> {
    let Some(size) = size else { return Some(bytes) };
    // Of a damaged size no memory is asked for.
    let most = bytes.len().saturating_mul(MOST);
    let mut whole = Vec::with_capacity(size.min(most).saturating_add(1));
    let mut decompress = Decompress::new(false);
    if let Some(base) = base {
        decompress.set_dictionary(base.get(..BASE_BYTES).unwrap_or(base)).ok()?;
    }
    let ended = decompress.decompress_vec(&bytes, &mut whole, FlushDecompress::Finish).ok()?;
    (ended == Status::StreamEnd && whole.len() == size).then_some(whole)
}

/// A text's marks: of the hashes of all its pieces of sixteen bytes the largest one of each of four kinds. Texts that have
/// a long part in common have most likely a mark in common.
type Marks = [u64; 4];

fn marks(bytes: &[u8]) -> Marks {
    static GEAR: [u64; 256] = gear();
    let mut marks = Marks::default();
    let mut hash = 0_u64;
    for byte in bytes {
        hash = (hash << 4).wrapping_add(*GEAR.get(usize::from(*byte)).unwrap_or(&0));
        if let Some(mark) = marks.get_mut(usize::try_from(hash >> 20 & 3).unwrap_or(0)) {
            *mark = (*mark).max(hash);
        }
    }
    marks
}

/// A fixed number without pattern for each byte (splitmix64).
const fn gear() -> [u64; 256] {
    let mut gear = [0; 256];
    let mut index = 0;
    let mut state = 0_u64;
    while index < gear.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        gear[index] = mixed ^ (mixed >> 31);
        index += 1;
    }
    gear
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(n: usize) -> Vec<u8> {
        let rules: String =
            (0..60).map(|n| format!("Rule {n}: answer with the place of {}, in one line.\n", n * n)).collect();
        format!("{{\"label\":\"execute find-{n}\",\"system\":{rules:?},\"need\":\"Where job {n} stands\"}}")
            .into_bytes()
    }

    fn stored(packer: &Packer, bytes: &[u8]) -> (usize, Option<BlobId>) {
        let packed = packer.pack(BlobId::of(bytes), bytes);
        let told = (packed.bytes.len(), packed.base.clone());
        packer.stored(packed);
        told
    }

    #[test]
    fn what_is_like_a_stored_text_is_told_from_it() {
        let packer = Packer::default();
        let first = prompt(1);
        let (whole, base) = stored(&packer, &first);
        assert!(base.is_none() && whole < first.len() / 2, "{whole} of {}", first.len());
        for n in 2..40 {
            let text = prompt(n);
            let packed = packer.pack(BlobId::of(&text), &text);
            assert_eq!(packed.base, Some(BlobId::of(&first)));
            assert!(packed.bytes.len() < 200, "{}", packed.bytes.len());
            assert_eq!(unpack(packed.bytes, packed.size, Some(&first)), Some(text));
        }
    }

    #[test]
    fn a_text_that_was_not_stored_is_no_base() {
        let packer = Packer::default();
        let lost = prompt(1);
        assert!(packer.pack(BlobId::of(&lost), &lost).base.is_none());
        assert!(stored(&packer, &prompt(2)).1.is_none());
        assert_eq!(stored(&packer, &prompt(3)).1, Some(BlobId::of(&prompt(2))));
    }

    #[test]
    fn what_gets_no_smaller_stays_as_it_is() {
        let packer = Packer::default();
        let noise: Vec<u8> = (0..40_u8).flat_map(|n| BlobId::of(&[n]).as_str().as_bytes().to_vec()).collect();
        let noise: Vec<u8> =
            noise.chunks(2).map(|pair| pair.iter().fold(0, |sum, byte| sum * 16 + byte % 16)).collect();
        for bytes in [&b""[..], b"short", &noise] {
            let packed = packer.pack(BlobId::of(bytes), bytes);
            assert!(packed.size.is_none_or(|_| packed.bytes.len() < bytes.len()));
            assert_eq!(unpack(packed.bytes, packed.size, None).as_deref(), Some(bytes));
        }
    }

    #[test]
    fn long_texts_of_all_kinds_come_back() {
        let packer = Packer::default();
        let texts = [
            prompt(1).repeat(40),
            [prompt(2).repeat(40), b"more".to_vec()].concat(),
            vec![b'x'; 3_000_000],
            (0..600_000_u32).flat_map(u32::to_le_bytes).collect(),
        ];
        for text in &texts {
            let packed = packer.pack(BlobId::of(text), text);
            let base = packed.base.as_ref().and_then(|base| texts.iter().find(|text| BlobId::of(text) == *base));
            assert!(unpack(packed.bytes.clone(), packed.size, base.map(Vec::as_slice)).as_ref() == Some(text));
            packer.stored(packed);
        }
    }

    #[test]
    fn damaged_bytes_are_none() {
        let packer = Packer::default();
        let text = prompt(1);
        let packed = packer.pack(BlobId::of(&text), &text);
        let damaged = |change: &dyn Fn(&mut Vec<u8>), size| {
            let mut bytes = packed.bytes.clone();
            change(&mut bytes);
            unpack(bytes, Some(size), None)
        };
        assert_eq!(damaged(&|_| {}, text.len()), Some(text.clone()));
        assert_eq!(damaged(&|bytes| bytes.truncate(bytes.len() / 2), text.len()), None);
        assert_eq!(damaged(&|_| {}, usize::MAX), None);
        assert_eq!(damaged(&|_| {}, 3), None);
        assert_eq!(damaged(&|bytes| *bytes = vec![0xa5; 9], text.len()), None);
    }
}
