//! House rules that a formatter cannot hold: sizes, dead files, leftover markers, words for models in code.
//!
//! Sizes are a ratchet. `tests/tidy.allow` lists what was larger when the rule came, with its size: it may shrink,
//! never grow, and nothing may be added to the list without a word in the commit.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::Visit;

mod support;
use support::{root, rust_files, walk};

const MAX_FILE: usize = 600;
const MAX_FUNCTION: usize = 70;
const MAX_LITERAL: usize = 240;

fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "bench", "fuzz"] {
        files.extend(rust_files(&root().join(folder)));
    }
    files
}

fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}

fn allowed() -> BTreeMap<String, usize> {
    std::fs::read_to_string(root().join("tests/tidy.allow"))
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .filter_map(|line| {
            let (size, what) = line.split_once(' ')?;
            Some((what.to_owned(), size.parse().ok()?))
        })
        .collect()
}

struct Sizes {
    file: String,
    in_test: bool,
    functions: Vec<(String, usize)>,
    literals: Vec<(String, usize)>,
}

impl Sizes {
    fn function(&mut self, name: &syn::Ident, span: proc_macro2::Span) {
        let lines = span.end().line.saturating_sub(span.start().line) + 1;
        self.functions.push((format!("{}::{name}", self.file), lines));
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string().contains("test"))
    })
}

impl<'ast> Visit<'ast> for Sizes {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig.ident, item.span());
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig.ident, item.span());
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let outer = self.in_test;
        self.in_test |= is_test(&item.attrs);
        syn::visit::visit_item_mod(self, item);
        self.in_test = outer;
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        let size = literal.value().chars().count();
        if !self.in_test && size > MAX_LITERAL {
            let line = literal.span().start().line;
            self.literals.push((format!("{}:{line}", self.file), size));
        }
    }
}

fn measure(file: &Path) -> Sizes {
    let text = std::fs::read_to_string(file).expect("readable");
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", shown(file)));
    let in_test = file.components().any(|part| part.as_os_str() == "tests");
    let mut sizes = Sizes { file: shown(file), in_test, functions: Vec::new(), literals: Vec::new() };
    sizes.visit_file(&parsed);
    sizes
}

#[test]
fn files_and_functions_stay_small() {
    let allowed = allowed();
    let mut found = Vec::new();
    for file in sources() {
        let lines = std::fs::read_to_string(&file).expect("readable").lines().count();
        let name = shown(&file);
        if lines > allowed.get(&name).copied().unwrap_or(MAX_FILE).max(MAX_FILE) {
            found.push(format!("{name}: {lines} lines, at most {MAX_FILE}"));
        }
        for (function, lines) in measure(&file).functions {
            if lines > allowed.get(&function).copied().unwrap_or(MAX_FUNCTION).max(MAX_FUNCTION) {
                found.push(format!("{function}: {lines} lines, at most {MAX_FUNCTION}"));
            }
        }
    }
    assert!(found.is_empty(), "split these by idea:\n{}", found.join("\n"));
}

#[test]
fn allowances_are_still_needed() {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    for file in sources() {
        sizes.insert(shown(&file), std::fs::read_to_string(&file).expect("readable").lines().count());
        sizes.extend(measure(&file).functions);
    }
    for (what, size) in allowed() {
        let now = sizes.get(&what).copied().unwrap_or(0);
        assert!(now == size, "tests/tidy.allow: {what} is {now}, not {size}: write the new size, or drop the line");
    }
}

#[test]
fn no_long_texts_in_code() {
    let found: Vec<String> = sources()
        .iter()
        .flat_map(|file| measure(file).literals)
        .map(|(place, size)| format!("{place}: a text of {size} characters belongs into a file"))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_source_file_is_reached() {
    for file in sources() {
        let name = shown(&file);
        let stem = file.file_stem().expect("stem").to_string_lossy().into_owned();
        let top = ["main", "lib", "build"].contains(&stem.as_str());
        let target = ["tests", "benches", "examples", "fuzz_targets", "bin"]
            .iter()
            .any(|folder| file.parent().is_some_and(|parent| parent.ends_with(folder)));
        if top || target {
            continue;
        }
        let (folder, module) = if stem == "mod" {
            let own = file.parent().expect("folder");
            (own.parent().expect("parent").to_path_buf(), own.file_name().expect("name").to_string_lossy().into_owned())
        } else {
            (file.parent().expect("folder").to_path_buf(), stem)
        };
        let named = std::fs::read_dir(&folder).expect("folder").flatten().any(|entry| declares(&entry.path(), &module))
            || declares(&folder.with_extension("rs"), &module);
        assert!(named, "{name} is named by no `mod {module};`");
    }
}

fn declares(file: &Path, module: &str) -> bool {
    file.extension().is_some_and(|ending| ending == "rs")
        && std::fs::read_to_string(file)
            .is_ok_and(|text| text.lines().any(|line| line.trim_end().ends_with(&format!("mod {module};"))))
}

#[test]
fn no_leftover_markers() {
    let markers =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("todo", "!("), concat!("dbg", "!(")];
    let mut found = Vec::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).expect("readable");
        for (number, line) in text.lines().enumerate() {
            let (code, comment) = line.split_once("//").unwrap_or((line, ""));
            let words = markers.iter().filter(|marker| !marker.contains('('));
            let calls = markers.iter().filter(|marker| marker.contains('('));
            if words.into_iter().any(|word| comment.contains(word)) || calls.into_iter().any(|call| code.contains(call))
            {
                found.push(format!("{}:{}: {}", shown(&file), number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "finish or drop these:\n{}", found.join("\n"));
}

#[test]
fn no_conflict_marks_and_no_trailing_blanks() {
    let mut files = Vec::new();
    walk(&root(), &mut files);
    let text_like = ["rs", "md", "toml", "sh", "yml"];
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|ending| text_like.contains(&&*ending.to_string_lossy())))
    {
        if file.components().any(|part| part.as_os_str() == "fixtures" || part.as_os_str() == "cases") {
            continue;
        }
        let text = std::fs::read_to_string(file).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            assert!(
                !line.starts_with("<<<<<<<") && !line.starts_with(">>>>>>>"),
                "{}:{}: conflict mark",
                shown(file),
                number + 1
            );
            assert!(line.trim_end() == line, "{}:{}: trailing blank", shown(file), number + 1);
        }
    }
}
