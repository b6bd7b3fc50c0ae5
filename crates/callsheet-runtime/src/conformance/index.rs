//! What every `Index` must do. Adapters call [`crate::index_conformance!`] with a function that returns a [`IndexWorld`].

use std::sync::Arc;

use callsheet_core::nouns::BlobId;

use crate::ports::{Index, IndexEntry, IndexFault, IndexMode};

/// Opens an index. Each opening sees the same data.
pub trait IndexWorld {
    /// Opens it as another process would.
    fn open(&self) -> Arc<dyn Index>;
}

/// Makes one `#[test]` for each check, for the [`IndexWorld`] that the given function returns.
#[macro_export]
macro_rules! index_conformance {
    ($world:path) => {
        $crate::index_conformance!(@tests $world;
            a_new_index_is_empty
            c44_a_relative_path_is_refused_and_nothing_changes
            c44_there_are_three_modes
            c44_an_equal_base_name_elsewhere_is_another_file
            another_opening_sees_the_same
        );
    };
    (@tests $world:path; $($name:ident)+) => {
        $(#[test]
        fn $name() {
            let world = $world();
            $crate::conformance::index::$name(&world);
        })+
    };
}

/// An entry of a file.
pub fn entry(path: &str, text: &str) -> IndexEntry {
    let size = u64::try_from(text.len()).unwrap_or(0);
    IndexEntry { path: path.to_owned(), text: text.to_owned(), size, hash: BlobId::of(text.as_bytes()) }
}

fn paths(index: &dyn Index) -> Vec<String> {
    index.entries().unwrap().into_iter().map(|entry| entry.path).collect()
}

/// covers: templates 13
pub fn a_new_index_is_empty(world: &impl IndexWorld) {
    assert_eq!(world.open().entries().unwrap(), Vec::new());
    assert_eq!(world.open().entry("/a").unwrap(), None);
}

/// covers: templates 13, C44
pub fn c44_a_relative_path_is_refused_and_nothing_changes(world: &impl IndexWorld) {
    let index = world.open();
    index.update_global_index(&[entry("/kept", "kept")], IndexMode::Merge).unwrap();
    for mode in [IndexMode::Merge, IndexMode::Replace, IndexMode::Remove] {
        for bad in ["src/lib.rs", "./a", "", "a\0"] {
            let fault = index.update_global_index(&[entry("/new", "new"), entry(bad, "bad")], mode).unwrap_err();
            assert!(matches!(fault, IndexFault::RelativePath(path) if path == bad), "{bad:?}");
        }
    }
    for bad in ["a\0b", "\u{1b}[2J"] {
        let fault = index.update_global_index(&[entry("/new", "new"), entry("/bad", bad)], IndexMode::Replace);
        assert!(matches!(fault, Err(IndexFault::NotText(path)) if path == "/bad"), "{bad:?}");
    }
    assert_eq!(paths(&*index), ["/kept"]);
}

/// covers: templates 13, C44
pub fn c44_there_are_three_modes(world: &impl IndexWorld) {
    let index = world.open();
    assert_eq!(IndexMode::default(), IndexMode::Merge);
    index.update_global_index(&[entry("/b", "b"), entry("/a", "a")], IndexMode::Merge).unwrap();
    index.update_global_index(&[entry("/b", "new b"), entry("/c", "c")], IndexMode::Merge).unwrap();
    assert_eq!(paths(&*index), ["/a", "/b", "/c"]);
    assert_eq!(index.entry("/b").unwrap(), Some(entry("/b", "new b")));
    index.update_global_index(&[entry("/a", ""), entry("/none", "")], IndexMode::Remove).unwrap();
    assert_eq!(paths(&*index), ["/b", "/c"]);
    index.update_global_index(&[entry("/d", "d")], IndexMode::Replace).unwrap();
    assert_eq!(index.entries().unwrap(), [entry("/d", "d")]);
    index.update_global_index(&[], IndexMode::Replace).unwrap();
    assert_eq!(paths(&*index), Vec::<String>::new());
}

/// covers: templates 13, C44
pub fn c44_an_equal_base_name_elsewhere_is_another_file(world: &impl IndexWorld) {
    let index = world.open();
    index.update_global_index(&[entry("/a/mod.rs", "one")], IndexMode::Merge).unwrap();
    for other in ["/b/mod.rs", "/mod.rs", "/a/b/mod.rs", "/a/MOD.rs", "mod.rs"] {
        assert_eq!(index.entry(other).unwrap(), None, "{other}");
    }
}

/// covers: templates 13
pub fn another_opening_sees_the_same(world: &impl IndexWorld) {
    world.open().update_global_index(&[entry("/a", "a")], IndexMode::Merge).unwrap();
    assert_eq!(world.open().entries().unwrap(), [entry("/a", "a")]);
}
