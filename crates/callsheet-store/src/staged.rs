//! Blobs in memory: those that the next transaction stores, and those that the latest transactions stored, because a
//! reply is read and shown soon after it was stored.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use callsheet_core::nouns::BlobId;

/// How many bytes of stored blobs are kept.
const KEPT: usize = 2 * 1024 * 1024;

/// Blobs, grouped by their state.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    /// They stay here until they are stored, so that a reader always finds them.
    waiting: BTreeMap<BlobId, Arc<Vec<u8>>>,
    stored: BTreeMap<BlobId, Arc<Vec<u8>>>,
    /// The stored ones, oldest first.
    order: VecDeque<BlobId>,
    kept: usize,
}

impl Staged {
    pub fn add(&mut self, id: BlobId, bytes: Vec<u8>) {
        self.waiting.insert(id, Arc::new(bytes));
    }

    pub fn get(&self, id: &BlobId) -> Option<Arc<Vec<u8>>> {
        self.waiting.get(id).or_else(|| self.stored.get(id)).map(Arc::clone)
    }

    /// What the next transaction stores.
    pub fn waiting(&self) -> Vec<(BlobId, Arc<Vec<u8>>)> {
        self.waiting.iter().map(|(id, bytes)| (id.clone(), Arc::clone(bytes))).collect()
    }

    /// Call this when the transaction is committed.
    pub fn stored(&mut self, blobs: Vec<(BlobId, Arc<Vec<u8>>)>) {
        for (id, bytes) in blobs {
            self.waiting.remove(&id);
            let size = bytes.len();
            if self.stored.insert(id.clone(), bytes).is_none() {
                self.order.push_back(id);
                self.kept = self.kept.saturating_add(size);
            }
        }
        while self.kept > KEPT {
            let Some(oldest) = self.order.pop_front() else { break };
            let size = self.stored.remove(&oldest).map_or(0, |bytes| bytes.len());
            self.kept = self.kept.saturating_sub(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_blobs_are_kept_until_later_ones_take_their_room() {
        let mut staged = Staged::default();
        let blob = |byte: u8, size: usize| (BlobId::of(&[byte]), vec![byte; size]);
        for byte in 0..5 {
            let (id, bytes) = blob(byte, KEPT / 4);
            staged.add(id.clone(), bytes);
            assert_eq!(staged.waiting().len(), 1);
            let waiting = staged.waiting();
            staged.stored(waiting);
            assert!(staged.get(&id).is_some());
        }
        assert!(staged.waiting().is_empty());
        assert!(staged.get(&BlobId::of(&[0])).is_none(), "the oldest is gone");
        assert!(staged.get(&BlobId::of(&[1])).is_some());
        let (id, bytes) = blob(9, KEPT + 1);
        staged.stored(vec![(id.clone(), Arc::new(bytes))]);
        assert!(
            staged.get(&id).is_none() && staged.get(&BlobId::of(&[4])).is_none(),
            "one that is too large takes all"
        );
    }
}
