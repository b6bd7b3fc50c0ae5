//! House rules that a formatter cannot hold: sizes, dead files, leftover markers, words for models in code, words for
//! people.
//!
//! Sizes are a ratchet. `tests/tidy.allow` lists what was larger when the rule came, with its size: it may shrink,
//! never grow, and nothing may be added to the list without a word in the commit.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::support::{root, rust_files, walk};

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

/// By itself, or as a line of a list such as that of events.
fn names_module(line: &str, module: &str) -> bool {
    line.ends_with(&format!("mod {module};")) || line.starts_with(&format!("{module}::"))
}

fn declares(file: &Path, module: &str) -> bool {
    file.extension().is_some_and(|ending| ending == "rs")
        && std::fs::read_to_string(file).is_ok_and(|text| text.lines().any(|line| names_module(line.trim(), module)))
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

/// Words that texts for people avoid. Use a plainer one, such as resume, retry, fix, reject, limit, pending or revert.
const UNPLAIN: [&str; 18] = [
    "go on", "goes on", "going on", "went on", "mend", "mends", "mended", "mending", "told", "stands", "taken",
    "let be", "owe", "owes", "owed", "begun", "anew", "set-up",
];

/// Words that help avoids, too: say limit, and name the run only where it matters.
const UNPLAIN_HELP: [&str; 2] = ["at most", "of a run"];

/// Folders whose texts are messages for people.
const MESSAGES: [&str; 21] = [
    "src",
    "crates/callsheet-core/src/evaluate",
    "crates/callsheet-core/src/template",
    "crates/callsheet-core/src/view",
    "crates/callsheet-format/src/skill",
    "crates/callsheet-format/src/template",
    "crates/callsheet-runtime/src/driver",
    "crates/callsheet-runtime/src/effects",
    "crates/callsheet-runtime/src/fault",
    "crates/callsheet-runtime/src/prompting",
    "crates/callsheet-runtime/src/services",
    "crates/callsheet-runtime/src/sheetfile",
    "crates/callsheet-models/src",
    "crates/callsheet-local/src",
    "crates/callsheet-acp/src",
    "crates/callsheet-mcp/src",
    "crates/callsheet-report/src",
    "crates/callsheet-share/src",
    "crates/callsheet-store/src",
    "crates/callsheet-tui/src",
    "crates/callsheet-web/src",
];

/// Files of words, each line `key: words` or `key = words`.
const WORD_FILES: [&str; 3] = [
    "crates/callsheet-format/src/reading/prompts/issues.txt",
    "crates/callsheet-format/src/reading/prompts/task_issues.txt",
    "crates/callsheet-runtime/src/prompts/issues.txt",
];

/// The words of a text in lower case, without what is filled in, each with a blank on both sides.
fn plain_words(text: &str) -> String {
    let mut outside = String::new();
    let mut depth = 0_usize;
    for c in text.to_lowercase().chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push(c),
            _ => {}
        }
    }
    let words = outside.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '\'')));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!(" {} ", words.join(" "))
}

fn unplain(place: &str, text: &str, words: &[&str], found: &mut Vec<String>) {
    let plain = plain_words(text);
    for word in words.iter().filter(|word| plain.contains(&format!(" {word} "))) {
        let before = plain.split(&format!(" {word} ")).next().unwrap_or_default();
        let before: Vec<&str> = before.split(' ').rev().take(6).collect();
        let before: Vec<&str> = before.into_iter().rev().collect();
        found.push(format!("{place}: \"{word}\" after \"{}\"", before.join(" ")));
    }
}

/// Texts with blanks in code that is no test: literals, those in macros, and those of `#[error(…)]`.
#[derive(Default)]
struct Texts(Vec<(usize, String)>);

impl Texts {
    fn text(&mut self, literal: &syn::LitStr) {
        if literal.value().contains(' ') {
            self.0.push((literal.span().start().line, literal.value()));
        }
    }

    fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
        for tree in tokens {
            match tree {
                proc_macro2::TokenTree::Group(group) => self.tokens(group.stream()),
                proc_macro2::TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                        self.text(&text);
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("error")
            && let syn::Meta::List(list) = &attribute.meta
        {
            self.tokens(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.text(literal);
    }
}

fn helps(command: &clap::Command, found: &mut Vec<String>) {
    let help = command.clone().render_long_help().to_string();
    let words: Vec<&str> = UNPLAIN.into_iter().chain(UNPLAIN_HELP).collect();
    unplain(&format!("help of {}", command.get_name()), &help, &words, found);
    command.get_subcommands().for_each(|inner| helps(inner, found));
}

#[test]
fn people_read_plain_words() {
    let mut found = Vec::new();
    helps(&callsheet::cli::command(), &mut found);
    let mut documents = vec![root().join("README.md"), root().join("CONTRIBUTING.md"), root().join("ARCHITECTURE.md")];
    walk(&root().join("docs/guide"), &mut documents);
    for file in documents {
        unplain(&shown(&file), &std::fs::read_to_string(&file).expect("readable"), &UNPLAIN, &mut found);
    }
    for name in WORD_FILES {
        for line in std::fs::read_to_string(root().join(name)).expect("readable").lines() {
            let words = line.split_once([':', '=']).map_or(line, |(_, words)| words);
            unplain(name, words, &UNPLAIN, &mut found);
        }
    }
    let files = MESSAGES.iter().flat_map(|folder| rust_files(&root().join(folder)));
    for file in files.filter(|file| file.file_stem().is_some_and(|stem| stem != "tests")) {
        let parsed = syn::parse_file(&std::fs::read_to_string(&file).expect("readable")).expect("Rust");
        let mut texts = Texts::default();
        texts.visit_file(&parsed);
        for (line, text) in texts.0 {
            unplain(&format!("{}:{line}", shown(&file)), &text, &UNPLAIN, &mut found);
        }
    }
    assert!(found.is_empty(), "say it in plain words (CONTRIBUTING.md):\n{}", found.join("\n"));
}
