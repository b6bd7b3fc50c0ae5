//! Hostile replies are read in linear work (spec 4.1): shown by what reading allocates, since a clock in a test tells of
//! the machine. The families and a benchmark of them are in `benches/hostile`.
//!
//! covers: 4.1
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::families::families;
use crate::world::{read, settle, world};

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; the counter is a thread-local cell without a
// destructor, and touching it does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.with(|bytes| bytes.set(bytes.get().wrapping_add(layout.size())));
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above with this `layout`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that reading a family of this size allocates.
fn work(family: &crate::families::Family, size: usize) -> usize {
    let text = family.text(size);
    let mut context = world();
    settle(family.kind, &text, &mut context);
    let before = BYTES.with(Cell::get);
    read(family.kind, &text, &context);
    BYTES.with(Cell::get).wrapping_sub(before)
}

#[test]
fn twice_the_text_is_twice_the_work() {
    for family in families() {
        let (small, large) = (work(&family, 8 * 1024), work(&family, 16 * 1024));
        assert!(large < small * 5 / 2 + 100_000, "{}: {small} bytes, then {large}", family.name);
    }
}
