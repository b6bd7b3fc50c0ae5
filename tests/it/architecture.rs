//! The architecture, held by tests: who may depend on whom, what core must never touch, and the order of its modules.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{root, rust_files};

/// Crate, and the workspace crates it may use. A crate missing here fails the test: say where it belongs.
const MAY_USE: &[(&str, &[&str])] = &[
    ("callsheet-core", &[]),
    ("callsheet-format", &["callsheet-core"]),
    ("callsheet-runtime", &["callsheet-core", "callsheet-format"]),
    ("callsheet-models", &["callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-local", &["callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-tools", &["callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-acp", &["callsheet-app", "callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-mcp", &["callsheet-app", "callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-store", &["callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-symbols", &["callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-documents", &["callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-lsp", &["callsheet-core", "callsheet-format"]),
    (
        "callsheet-sdk",
        &[
            "callsheet-app",
            "callsheet-core",
            "callsheet-format",
            "callsheet-models",
            "callsheet-runtime",
            "callsheet-store",
            "callsheet-tools",
        ],
    ),
    ("callsheet-share", &["callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-telemetry", &["callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-sim", &["callsheet-core", "callsheet-format", "callsheet-runtime", "callsheet-store"]),
    ("callsheet-app", &["callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-cluster", &["callsheet-app", "callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-report", &["callsheet-app", "callsheet-core", "callsheet-format", "callsheet-runtime"]),
    ("callsheet-tui", &["callsheet-app", "callsheet-core", "callsheet-format", "callsheet-runtime"]),
    (
        "callsheet-web",
        &["callsheet-app", "callsheet-core", "callsheet-format", "callsheet-report", "callsheet-runtime"],
    ),
    (
        "callsheet",
        &[
            "callsheet-acp",
            "callsheet-app",
            "callsheet-cluster",
            "callsheet-core",
            "callsheet-documents",
            "callsheet-format",
            "callsheet-runtime",
            "callsheet-models",
            "callsheet-report",
            "callsheet-local",
            "callsheet-lsp",
            "callsheet-mcp",
            "callsheet-share",
            "callsheet-tools",
            "callsheet-store",
            "callsheet-symbols",
            "callsheet-telemetry",
            "callsheet-tui",
            "callsheet-web",
        ],
    ),
];

/// Libraries that must not be reachable from a crate, with the crate that owns them.
const BANNED: &[(&str, &[&str])] = &[
    ("callsheet-core", &["pulldown-cmark", "saphyr-parser", "similar"]),
    ("callsheet-format", &["tokio", "reqwest", "rusqlite", "rand", "tempfile", "ignore", "tree-sitter"]),
    ("callsheet-runtime", &["reqwest", "rusqlite", "llama-cpp-2", "clap", "tree-sitter", "unpdf", "undoc"]),
    ("callsheet-store", &["reqwest", "llama-cpp-2", "clap"]),
    ("callsheet-tools", &["rusqlite", "llama-cpp-2", "clap"]),
    ("callsheet-models", &["rmcp", "rusqlite", "llama-cpp-2", "clap"]),
    ("callsheet-acp", &["reqwest", "rusqlite", "llama-cpp-2", "clap", "ratatui"]),
    ("callsheet-mcp", &["rusqlite", "llama-cpp-2", "clap"]),
    ("callsheet-local", &["rusqlite", "clap"]),
    ("callsheet-symbols", &["reqwest", "rusqlite", "llama-cpp-2", "clap"]),
    ("callsheet-app", &["axum", "reqwest", "rusqlite", "llama-cpp-2", "clap", "console", "ratatui"]),
    ("callsheet-telemetry", &["rusqlite", "llama-cpp-2", "clap", "axum"]),
    ("callsheet-sdk", &["llama-cpp-2", "clap", "axum", "ratatui"]),
    ("callsheet-share", &["reqwest", "rusqlite", "llama-cpp-2", "clap", "axum"]),
    ("callsheet-tui", &["reqwest", "rusqlite", "llama-cpp-2", "clap"]),
    ("callsheet-web", &["reqwest", "rusqlite", "llama-cpp-2", "clap"]),
    ("callsheet-cluster", &["rusqlite", "llama-cpp-2", "clap", "ratatui"]),
    ("callsheet-lsp", &["tokio", "reqwest", "rusqlite", "llama-cpp-2", "clap", "ignore"]),
];

/// Crates without I/O, clock and randomness, whose modules have an order.
const PURE: [&str; 2] = ["callsheet-core", "callsheet-format"];

/// Normal (not dev, not build) dependencies of a package with every feature on, transitively.
fn tree(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--all-features",
            "-e",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "-p",
            package,
        ])
        .current_dir(root())
        .output()
        .expect("cargo tree starts");
    assert!(output.status.success(), "cargo tree -p {package}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn crates_use_only_what_the_table_allows() {
    let listed: BTreeSet<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    let mut present: BTreeSet<String> = std::fs::read_dir(root().join("crates"))
        .expect("crates/")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    present.insert("callsheet".into());
    for package in &present {
        assert!(listed.contains(package.as_str()), "{package} is not in MAY_USE: say what it may use");
    }
    for (package, allowed) in MAY_USE {
        for used in tree(package).iter().filter(|name| name.starts_with("callsheet") && name != package) {
            assert!(allowed.contains(&used.as_str()), "{package} must not use {used}");
        }
    }
}

#[test]
fn heavy_libraries_stay_with_their_owner() {
    for (package, banned) in BANNED {
        let tree = tree(package);
        for name in *banned {
            assert!(!tree.contains(*name), "{package} must not reach {name}");
        }
    }
}

#[test]
fn core_and_format_touch_no_world() {
    const WORLD: &[&str] = &[
        "std::fs",
        "std::env",
        "std::net",
        "std::time",
        "std::process",
        "std::thread",
        "std::io",
        "tokio::",
        "async fn",
        "HashMap",
        "HashSet",
        "rand::",
        "thread_local!",
        "static mut",
    ];
    for file in PURE.iter().flat_map(|name| rust_files(&root().join("crates").join(name).join("src"))) {
        let text = std::fs::read_to_string(&file).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().unwrap_or_default();
            for word in WORLD {
                assert!(!line.contains(word), "{}:{}: {word} is of the world", file.display(), number + 1);
            }
        }
    }
}

/// Modules of a crate in the order of `lib.rs`, lowest first.
fn modules(lib: &str) -> Vec<String> {
    lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';').map(str::to_owned)).collect()
}

#[test]
fn modules_of_pure_crates_use_only_modules_above_them() {
    for name in PURE {
        let source = root().join("crates").join(name).join("src");
        let order = modules(&std::fs::read_to_string(source.join("lib.rs")).expect("lib.rs"));
        for (rank, module) in order.iter().enumerate() {
            let alone = source.join(module).with_extension("rs");
            for file in rust_files(&source.join(module)).into_iter().chain(alone.exists().then_some(alone)) {
                let text = std::fs::read_to_string(&file).expect("readable");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                for used in crate_paths(code) {
                    let Some(used_rank) = order.iter().position(|name| *name == used) else { continue };
                    assert!(
                        used_rank <= rank,
                        "{}: `{module}` must not use `{used}`, which stands below it in lib.rs",
                        relative(&file).display()
                    );
                }
            }
        }
    }
}

fn crate_paths(code: &str) -> Vec<String> {
    code.match_indices("crate::")
        .map(|(at, found)| {
            code[at + found.len()..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>()
        })
        .collect()
}

fn relative(file: &Path) -> PathBuf {
    file.strip_prefix(root()).unwrap_or(file).to_path_buf()
}

/// A tool is named in its folder, or by a constant of core that its folder uses where the machine must know it.
#[test]
fn a_tool_is_named_in_one_place() {
    let mut folders = vec![root().join("src")];
    let crates = std::fs::read_dir(root().join("crates")).expect("crates/").flatten().map(|entry| entry.path());
    // What the simulation makes up is no tool of ours.
    folders.extend(crates.filter(|path| !path.ends_with("callsheet-sim")).map(|path| path.join("src")));
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| rust_files(folder)).collect();
    for tool in callsheet_tools::registry() {
        let name = format!("\"{}\"", tool.spec().name);
        let names = |file: &&PathBuf| {
            let text = std::fs::read_to_string(file).expect("readable");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            code.lines().any(|line| line.split("//").next().unwrap_or_default().contains(&name))
        };
        let places: Vec<PathBuf> = files.iter().filter(names).map(|file| relative(file)).collect();
        assert_eq!(places.len(), 1, "{name} stands in {places:?}");
    }
}

/// Memory ranks and stores without opening a file: neither its port, nor the lookup, nor the index sees the project. What
/// it finds is looked at by the driver, on the handler's side. Core touches no world at all, which is a test above.
/// covers: C50, C44
#[test]
fn c50_only_the_handler_opens_task_files() {
    let memory = [
        "crates/callsheet-runtime/src/ports/memory.rs",
        "crates/callsheet-runtime/src/file_index/indexed.rs",
        "crates/callsheet-store/src/index.rs",
    ];
    for file in memory {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        for word in ["Workspace", "std::fs", "fs::read", "File::", "tokio::fs", "outline"] {
            assert!(!text.contains(word), "{file} names {word}");
        }
    }
}

/// Rooms of the runtime, lowest first: a room imports only rooms above it in this list.
const ROOMS: &[&str] = &["fault", "services", "replay", "reading", "prompting", "sheetfile", "effects", "driver"];

/// Files of the rooms by module path, with what each imports of the others.
fn room_imports() -> Vec<(String, BTreeSet<String>)> {
    let source = root().join("crates/callsheet-runtime/src");
    let module_of = |file: &Path| {
        let path = file.strip_prefix(&source).unwrap().with_extension("").display().to_string().replace('/', "::");
        path.strip_suffix("::mod").map(str::to_owned).unwrap_or(path)
    };
    let is_of_room = |module: &String| ROOMS.contains(&module.split("::").next().unwrap_or_default());
    let files: Vec<(String, PathBuf)> = rust_files(&source)
        .into_iter()
        .map(|file| (module_of(&file), file))
        .filter(|(name, _)| is_of_room(name))
        .collect();
    let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    // A path leads to the file of its longest beginning that is a module.
    let file_of = |path: &str| {
        let mut path = path.to_owned();
        while !names.contains(&path) {
            path.truncate(path.rfind("::")?);
        }
        Some(path)
    };
    let imports = files.iter().map(|(name, file)| {
        let text = std::fs::read_to_string(file).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        let folder = name.rsplit_once("::").map(|(room, _)| room).unwrap_or_default();
        let named = paths_in(&lines.join(" "), folder);
        let mut used: BTreeSet<String> =
            named.iter().filter_map(|path| file_of(path)).filter(|used| used != name).collect();
        if file.ends_with("mod.rs") {
            // It passes on what its files hold.
            used.extend(names.iter().filter(|other| other.starts_with(&format!("{name}::"))).cloned());
        }
        (name.clone(), used)
    });
    imports.collect()
}

/// Paths below `crate::` and `super::` in code, the members of braces one by one. `folder`: the module that `super` is.
fn paths_in(code: &str, folder: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (start, base) in [("crate::", String::new()), ("super::", format!("{folder}::"))] {
        for (at, _) in code.match_indices(start) {
            let path = code[at + start.len()..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next();
            let path = path.unwrap_or_default();
            let rest = &code[at + start.len() + path.len()..];
            let members = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(members, _)| members);
            let members = members.map(|members| members.split([',', '{']).map(str::trim).collect::<Vec<_>>());
            for member in members.unwrap_or_else(|| vec![""]) {
                paths.push(format!("{base}{path}{member}"));
            }
        }
    }
    paths
}

#[test]
fn rooms_of_the_runtime_import_one_way() {
    let imports = room_imports();
    assert!(imports.len() > ROOMS.len(), "{imports:?}");
    let rank = |module: &str| ROOMS.iter().position(|room| module.split("::").next() == Some(room));
    for (name, used) in &imports {
        for other in used {
            assert!(rank(other) <= rank(name), "{name} must not use {other}");
        }
    }
    // Files that import nothing that is left are taken away, until only circles are left.
    let mut left = imports;
    while let Some(at) = left.iter().position(|(_, used)| used.is_empty()) {
        let (done, _) = left.swap_remove(at);
        for (_, used) in &mut left {
            used.remove(&done);
        }
    }
    assert!(left.is_empty(), "a circle of files: {left:?}");
}

/// The files of the machine: each, and the folders of operators and of events as one each.
fn machine() -> Vec<(String, String)> {
    let source = root().join("crates/callsheet-core/src/run");
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    for file in rust_files(&source) {
        let below = file.strip_prefix(&source).expect("below");
        let part = below.iter().next().expect("a name").to_string_lossy().trim_end_matches(".rs").to_owned();
        let text = std::fs::read_to_string(&file).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        parts.entry(part).or_default().push_str(&format!("{}\n", code.join("\n")));
    }
    parts.into_iter().collect()
}

/// The lines of the struct `name`.
fn fields<'a>(code: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!("struct {name} {{");
    let lines = code.lines().skip_while(|line| !line.ends_with(&head)).skip(1);
    lines.take_while(|line| *line != "}").map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// A run is made of parts, one idea each. A part is changed by its own methods alone, so whoever changes an idea reads one
/// file; what needs several parts is a type of its own.
#[test]
fn the_parts_of_a_run_keep_their_fields() {
    let machine = machine();
    let code = |part: &str| &machine.iter().find(|(name, _)| name == part).expect("a file").1;
    let parts = fields(code("mod"), "Run");
    assert!((2..=12).contains(&parts.len()), "`Run` has {} parts", parts.len());
    for part in parts {
        assert!(!part.starts_with("pub"), "`Run` hands out its part `{part}`");
        let (_, kind) = part.trim_end_matches(',').split_once(": ").expect("a field");
        let (file, name) = kind.split_once("::").unwrap_or(("operators", kind));
        let fields = fields(code(file), name);
        assert!(!fields.is_empty(), "{file}.rs has no struct {name} with fields");
        let public = fields.iter().find(|field| field.starts_with("pub"));
        assert!(public.is_none(), "a field of {name} is public: {public:?}");
    }
    let own: Vec<&String> =
        machine.iter().filter(|(_, code)| code.contains("impl Run {")).map(|(name, _)| name).collect();
    assert!(own.len() <= 4, "`impl Run` stands in {own:?}");
}

/// Files of the machine that a file of it imports from.
fn used_files<'a>(
    name: &str,
    code: &str,
    files: &BTreeSet<&'a str>,
    handed: &BTreeMap<&'a str, &'a str>,
) -> BTreeSet<&'a str> {
    let above = if ["operators", "events"].contains(&name) { "crate::run::" } else { "super::" };
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices(above) {
        let rest = &code[at + above.len()..];
        let end = if rest.starts_with('{') { rest.find('}') } else { rest.find([';', '(', ' ', '<', '>', ',']) };
        let path = rest[..end.unwrap_or(rest.len())].trim_start_matches('{');
        let names = path.split(',').map(|name| name.trim().split("::").next().unwrap_or_default());
        found.extend(names.filter_map(|used| files.get(used).or_else(|| handed.get(used)).copied()));
    }
    found.remove(name);
    found
}

/// No file of the machine uses another one that uses it, over however many others. `mod.rs` only names them.
#[test]
fn files_of_the_machine_use_each_other_one_way() {
    let machine = machine();
    let root = &machine.iter().find(|(name, _)| name == "mod").expect("mod.rs").1;
    // Where a name stands that `mod.rs` hands on.
    let mut handed = BTreeMap::new();
    for line in root.split("pub use ").skip(1) {
        let (file, names) = line.split(';').next().unwrap_or_default().split_once("::").expect("a path");
        for name in names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()) {
            handed.insert(name, file);
        }
    }
    let files: BTreeSet<&str> = machine.iter().map(|(name, _)| name.as_str()).filter(|name| *name != "mod").collect();
    let mut left: Vec<(&str, BTreeSet<&str>)> = machine
        .iter()
        .filter(|(name, _)| name != "mod")
        .map(|(name, code)| (name.as_str(), used_files(name, code, &files, &handed)))
        .collect();
    // What uses nothing that is left is no part of a circle.
    while let Some(free) =
        left.iter().position(|(_, uses)| uses.iter().all(|used| !left.iter().any(|(name, _)| name == used)))
    {
        left.remove(free);
    }
    let circle: Vec<String> = left
        .iter()
        .map(|(name, uses)| {
            let uses: Vec<&str> =
                uses.iter().filter(|used| left.iter().any(|(name, _)| name == *used)).copied().collect();
            format!("{name} uses {}", uses.join(", "))
        })
        .collect();
    assert!(circle.is_empty(), "these files use each other in a circle:\n{}", circle.join("\n"));
}

/// An operator of templates is one file and one line of a list: nobody else tells one from another. A task without a type
/// is an atomic one, and a task with `ref` is a call.
#[test]
fn an_operator_is_named_in_its_file() {
    let operators = root().join("crates/callsheet-core/src/template/operators");
    let list = std::fs::read_to_string(operators.join("mod.rs")).expect("mod.rs");
    let lines = list.lines().skip_while(|line| *line != "operators! {").take_while(|line| *line != "}");
    let names = lines.filter_map(|line| line.split_once("::")?.0.trim().split('(').next().map(str::to_owned));
    let names: Vec<String> = names.filter(|name| name != "Atomic" && name != "Call").collect();
    assert!(names.len() > 5, "{names:?}");
    let crates = std::fs::read_dir(root().join("crates")).expect("crates/").flatten().map(|entry| entry.path());
    let folders: Vec<PathBuf> = crates.map(|path| path.join("src")).chain([root().join("src")]).collect();
    for file in folders.iter().flat_map(|folder| rust_files(folder)).filter(|file| !file.starts_with(&operators)) {
        let text = std::fs::read_to_string(&file).expect("readable");
        for name in &names {
            let named = [format!("Kind::{name}("), format!("operators::{name}")];
            let found = named.iter().find(|named| text.contains(named.as_str()));
            assert!(found.is_none(), "{} tells operators apart: {found:?}", relative(&file).display());
        }
    }
}

/// What is written to a terminal or sent to a browser goes through the one printer of that surface, which takes only text
/// that came through its door.
#[test]
fn each_surface_has_one_printer() {
    let printers = [
        ("src", "src/term/out.rs", &["io::stdout()", "io::stderr()", "stdout().lock", "stderr().lock"][..]),
        ("crates/callsheet-web/src", "crates/callsheet-web/src/drawn.rs", &["Html(", "into_string().into_response"]),
    ];
    for (folder, printer, words) in printers {
        for file in rust_files(&root().join(folder)) {
            if relative(&file) == Path::new(printer) {
                continue;
            }
            let text = std::fs::read_to_string(&file).expect("readable");
            for (number, line) in text.split("#[cfg(test)]").next().unwrap_or_default().lines().enumerate() {
                // What a stream is, and how large, is asked anywhere.
                let line = line.replace("rustix::stdio::stdout()", "").replace("Term::stdout()", "");
                let asks = line.contains(".is_terminal()");
                let prints = words.iter().any(|word| line.contains(word)) && !asks;
                assert!(!prints, "{}:{}: {printer} prints", file.display(), number + 1);
            }
        }
    }
}

/// What a face may not name: it has no run, only what [`callsheet_app::RunView`] shows of one.
const OF_THE_MACHINE: [&str; 3] = ["callsheet_core::run", "Session::view", ".into_run()"];

/// Who names it all the same, and why. This list only shrinks.
const DRIVERS: [(&str, &str); 4] = [
    ("src/library.rs", "the name of the tool that asks for a task"),
    ("src/wiring.rs", "the name of the prompt of that tool"),
    ("src/commands/resume.rs", "hands the run to the driver"),
    ("src/commands/stored.rs", "`doctor` looks at the record for faults of the machine itself"),
];

/// Screen, page, report, language server, command line and plain mode see a run through the application layer, so a run on
/// another machine can look the same.
#[test]
fn faces_do_not_have_the_run_itself() {
    let crates = ["callsheet-acp", "callsheet-tui", "callsheet-web", "callsheet-report", "callsheet-lsp"];
    let mut folders: Vec<PathBuf> = crates.iter().map(|name| root().join("crates").join(name).join("src")).collect();
    folders.push(root().join("src"));
    let mut named: BTreeSet<String> = BTreeSet::new();
    for file in folders.iter().flat_map(|folder| rust_files(folder)) {
        let text = std::fs::read_to_string(&file).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        // A path may be imported in several pieces.
        let code: String = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        let code: String = code.split_whitespace().collect();
        let nested = code.contains("callsheet_core::{") && code.contains("run::");
        if nested || OF_THE_MACHINE.iter().any(|word| code.contains(word)) {
            named.insert(relative(&file).display().to_string());
        }
    }
    let allowed: BTreeSet<String> = DRIVERS.iter().map(|(file, _)| (*file).to_owned()).collect();
    let new: Vec<_> = named.difference(&allowed).collect();
    assert!(new.is_empty(), "these faces have the run itself; ask `RunView`: {new:?}");
    let gone: Vec<_> = allowed.difference(&named).collect();
    assert!(gone.is_empty(), "take these off the list: {gone:?}");
}

/// Public types of one name in a crate that are left, by how many there are. Each needs a name that says which it is.
const ONE_NAME: [(&str, &str, usize); 18] = [
    ("callsheet-core", "Entry", 2),
    ("callsheet-core", "Evaluated", 2),
    ("callsheet-core", "Facts", 2),
    ("callsheet-core", "Found", 2),
    ("callsheet-core", "Issue", 2),
    ("callsheet-core", "Joined", 2),
    ("callsheet-core", "Outcome", 2),
    ("callsheet-core", "Parts", 2),
    ("callsheet-core", "Piece", 2),
    ("callsheet-core", "Settings", 2),
    ("callsheet-core", "Severity", 2),
    ("callsheet-core", "Step", 3),
    ("callsheet-core", "Values", 2),
    ("callsheet-core", "Verdict", 2),
    ("callsheet-core", "Written", 2),
    ("callsheet-format", "Form", 2),
    ("callsheet-format", "Heading", 3),
    ("callsheet-format", "Part", 3),
];

/// No two public types of a crate have one name. The list of those that do only shrinks.
#[test]
fn public_types_of_a_crate_have_names_of_their_own() {
    let crates = std::fs::read_dir(root().join("crates")).expect("crates/").flatten();
    let mut folders: Vec<(String, PathBuf)> =
        crates.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().join("src"))).collect();
    folders.push(("callsheet".to_owned(), root().join("src")));
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (name, folder) in &folders {
        for file in rust_files(folder) {
            let text = std::fs::read_to_string(&file).expect("readable");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for line in code.lines().filter_map(|line| line.trim_start().strip_prefix("pub ")) {
                let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
                let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else { continue };
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                if end == 0 {
                    continue;
                }
                *found.entry((name.clone(), rest[..end].to_owned())).or_default() += 1;
            }
        }
    }
    found.retain(|_, count| *count > 1);
    let left = |(name, of, count): &(&str, &str, usize)| ((name.to_string(), of.to_string()), *count);
    let known: BTreeMap<(String, String), usize> = ONE_NAME.iter().map(left).collect();
    let more: Vec<_> = found.iter().filter(|(name, count)| known.get(name).is_none_or(|known| known < count)).collect();
    assert!(more.is_empty(), "give these names that say which they are: {more:?}");
    let fewer: Vec<_> =
        known.iter().filter(|(name, count)| found.get(*name).is_none_or(|found| found < *count)).collect();
    assert!(fewer.is_empty(), "take these off the list: {fewer:?}");
}
