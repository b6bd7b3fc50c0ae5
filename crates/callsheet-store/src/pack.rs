//! Packs bytes: compresses them and, if an earlier text is similar, stores only the difference from it. The prompts of
//! one skill share most of their text, and the document of a result is a part of the reply that it was read from.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_core::nouns::BlobId;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Shorter blobs are stored unchanged.
const LEAST: usize = 128;
/// Shorter facts are stored unchanged.
const LEAST_FACT: usize = 48;
/// What facts are told from: one of each common kind. The facts of every run are packed with these very bytes, so they
/// never change.
const FACTS: &[u8] = include_bytes!("facts.dict");
/// How many bytes of a base are used: its beginning, as far as deflate can look back.
const BASE_BYTES: usize = 24 * 1024;
/// A difference must be at least this many times smaller than the text. Otherwise the text becomes a base itself, so
/// that later texts have a better one.
const TOLD: usize = 5;
/// How many bases are remembered. The least recently used one is forgotten first.
const BASES: usize = 32;
const LEVEL: u32 = 3;
/// Deflate never compresses better than by this factor.
const MOST: usize = 1_032;

/// Bytes as they are stored.
#[derive(Debug, PartialEq)]
pub(crate) struct Packed {
    pub hash: BlobId,
    /// The blob from which these bytes differ, if they are stored as a difference.
    pub base: Option<BlobId>,
    /// Size of the unpacked bytes. `None` if they are not compressed.
    pub size: Option<usize>,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
struct Base {
    hash: BlobId,
    marks: Marks,
    bytes: Arc<[u8]>,
}

impl Packed {
    /// Stores the bytes unchanged.
    pub fn plain(hash: BlobId, bytes: &[u8]) -> Self {
        Self { hash, base: None, size: None, bytes: bytes.to_vec() }
    }
}

/// Packs bytes, using blobs that it has seen before.
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
    /// Packs the bytes of a blob if that saves enough. Later blobs may use this one as their base, so whoever stores
    /// them checks that the base exists.
    pub fn pack(&self, hash: BlobId, bytes: &[u8]) -> Packed {
        if bytes.len() < LEAST {
            return Packed::plain(hash, bytes);
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = marks(bytes);
        if let Some(base) = state.like(&marks)
            && let Some(told) = state.compress(bytes, Some(&base.bytes))
            && told.len() < bytes.len() / TOLD
        {
            return Packed { hash, base: Some(base.hash), size: Some(bytes.len()), bytes: told };
        }
        if state.bases.len() >= BASES {
            state.bases.pop_front();
        }
        let beginning = bytes.get(..BASE_BYTES).unwrap_or(bytes);
        state.bases.push_back(Base { hash: hash.clone(), marks, bytes: beginning.into() });
        match state.compress(bytes, None).filter(|small| small.len() < bytes.len()) {
            Some(small) => Packed { hash, base: None, size: Some(bytes.len()), bytes: small },
            None => Packed::plain(hash, bytes),
        }
    }

    /// Packs a fact. `None` if that would not make it smaller.
    pub fn fact(&self, text: &str) -> Option<Vec<u8>> {
        if text.len() < LEAST_FACT {
            return None;
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.compress(text.as_bytes(), Some(FACTS)).filter(|small| small.len() < text.len())
    }
}

impl State {
    /// The base that shares the most marks, if any. It becomes the most recently used one.
    fn like(&mut self, marks: &Marks) -> Option<Base> {
        let shared = |base: &Base| base.marks.iter().zip(marks).filter(|(a, b)| a == b).count();
        let most = self.bases.iter().map(shared).enumerate().max_by_key(|(_, shared)| *shared);
        let (index, _) = most.filter(|(_, shared)| *shared > 0)?;
        let base = self.bases.remove(index)?;
        self.bases.push_back(base.clone());
        Some(base)
    }

    fn compress(&mut self, bytes: &[u8], base: Option<&[u8]>) -> Option<Vec<u8>> {
        let compress = self.compress.get_or_insert_with(|| Compress::new(Compression::new(LEVEL), false));
        compress.reset();
        if let Some(base) = base {
            compress.set_dictionary(base).ok()?;
        }
        // A longer result would save nothing.
        let mut small = Vec::with_capacity(bytes.len().saturating_add(16));
        let ended = compress.compress_vec(bytes, &mut small, FlushCompress::Finish).ok()?;
        (ended == Status::StreamEnd).then_some(small)
    }
}

/// Unpacks bytes. `None` if they are not packed bytes, or not with this base.
pub(crate) fn unpack(bytes: Vec<u8>, size: Option<usize>, base: Option<&[u8]>) -> Option<Vec<u8>> {
    let Some(size) = size else { return Some(bytes) };
    // A damaged size must not allocate memory.
    let most = bytes.len().saturating_mul(MOST);
    let mut whole = Vec::with_capacity(size.min(most).saturating_add(1));
    let ended = DECOMPRESS.with_borrow_mut(|decompress| {
        decompress.reset(false);
        if let Some(base) = base {
            decompress.set_dictionary(base.get(..BASE_BYTES).unwrap_or(base)).ok()?;
        }
        decompress.decompress_vec(&bytes, &mut whole, FlushDecompress::Finish).ok()
    })?;
    (ended == Status::StreamEnd && whole.len() == size).then_some(whole)
}

thread_local! {
    /// A log has many small facts, and a new window for each takes longer than to unpack it.
    static DECOMPRESS: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

/// Unpacks a fact.
pub(crate) fn unpack_fact(bytes: Vec<u8>, size: Option<usize>) -> Option<Vec<u8>> {
    unpack(bytes, size, Some(FACTS))
}

/// A text's marks: the largest hash of all its pieces of sixteen bytes, for each of four kinds of hash. Texts with a
/// long common part very likely share a mark.
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

/// A fixed pseudo-random number for each byte (splitmix64).
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

    #[test]
    fn what_is_like_an_earlier_text_is_told_from_it() {
        let packer = Packer::default();
        let first = prompt(1);
        let whole = packer.pack(BlobId::of(&first), &first);
        assert!(whole.base.is_none() && whole.bytes.len() < first.len() / 2, "{} bytes", whole.bytes.len());
        for n in 2..40 {
            let text = prompt(n);
            let packed = packer.pack(BlobId::of(&text), &text);
            assert_eq!(packed.base, Some(BlobId::of(&first)));
            assert!(packed.bytes.len() < 200, "{}", packed.bytes.len());
            assert_eq!(unpack(packed.bytes, packed.size, Some(&first)), Some(text));
        }
    }

    /// Texts without similar ones remove no base, and a base that is used is kept longest.
    #[test]
    fn bases_stay_while_they_are_used() {
        let packer = Packer::default();
        let first = prompt(1);
        packer.pack(BlobId::of(&first), &first);
        for n in 2..3 * BASES {
            let other: Vec<u8> =
                (0..60).flat_map(|line| BlobId::of(&[n as u8, line]).as_str().as_bytes().to_vec()).collect();
            assert_eq!(packer.pack(BlobId::of(&other), &other).base, None);
            let text = prompt(n);
            assert_eq!(packer.pack(BlobId::of(&text), &text).base, Some(BlobId::of(&first)));
        }
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
            assert!(unpack(packed.bytes, packed.size, base.map(Vec::as_slice)).as_ref() == Some(text));
        }
    }

    #[test]
    fn facts_are_told_from_common_ones() {
        let packer = Packer::default();
        let (prompt, reply) = (BlobId::of(b"prompt"), BlobId::of(b"reply"));
        let fact = format!(
            "{{\"event\":\"reply_received\",\"key\":{{\"phase\":\"execute\",\"task\":\"each-2\",\"run\":\"loop\",\"n\":1}},\"prompt\":\"{prompt}\",\"reply\":\"{reply}\"}}"
        );
        let small = packer.fact(&fact).unwrap();
        assert!(small.len() < fact.len() / 2, "{} of {}", small.len(), fact.len());
        assert_eq!(unpack_fact(small, Some(fact.len())), Some(fact.into_bytes()));
        assert_eq!(packer.fact("{}"), None);
        assert_eq!(unpack_fact(b"{}".to_vec(), None).as_deref(), Some(&b"{}"[..]));
        let known = "8a2ccf848992f2b54c475ff0c96283076f3f85581204b30ebba36776e5e660e6";
        assert_eq!(BlobId::of(FACTS).as_str(), known, "records that were written with them could not be read any more");
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
