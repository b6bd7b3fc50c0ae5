//! The texts that tools return to models. They are in `prompts/`: one file per tool, and one for shared texts.

use std::fmt::Display;
use std::sync::LazyLock;

use callsheet_core::texts::{Texts, fill};

static WORDS: LazyLock<Texts> = LazyLock::new(|| Texts::of(FILES));

const FILES: &[&str] = &[
    include_str!("../prompts/common.txt"),
    include_str!("../prompts/ask_user.txt"),
    include_str!("../prompts/check_changes.txt"),
    include_str!("../prompts/fetch_url.txt"),
    include_str!("../prompts/find_files.txt"),
    include_str!("../prompts/list_files.txt"),
    include_str!("../prompts/list_paths.txt"),
    include_str!("../prompts/read_file.txt"),
    include_str!("../prompts/run_command.txt"),
    include_str!("../prompts/script.txt"),
    include_str!("../prompts/search_text.txt"),
    include_str!("../prompts/spawn_subtask.txt"),
    include_str!("../prompts/write_file.txt"),
];

/// The text of a key, with each `{name}` replaced by its value.
pub(crate) fn say(key: &str, values: &[(&str, &dyn Display)]) -> String {
    fill(WORDS.get(key).unwrap_or(key), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(folder: &std::path::Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("words.rs") {
                text.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    #[test]
    fn every_key_is_said_somewhere_and_every_key_said_is_known() {
        let mut code = String::new();
        sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut code);
        let mut keys = std::collections::BTreeSet::new();
        for key in FILES.iter().flat_map(|file| file.lines()).filter_map(|line| Some(line.split_once(" = ")?.0)) {
            assert!(keys.insert(key), "{key} stands twice");
            assert!(code.contains(&format!("\"{key}\"")), "{key} is never said");
        }
        let calls = ["say(", "failed(", "refused(", "network("].into_iter().flat_map(|call| code.split(call).skip(1));
        let said: Vec<&str> =
            calls.filter_map(|after| after.trim_start().strip_prefix('"')?.split('"').next()).collect();
        let kinds = code.split("\"fetch-at-").skip(1).filter_map(|after| after.split('"').next());
        for kind in kinds.filter(|kind| !kind.is_empty()) {
            assert!(WORDS.get(&format!("fetch-at-{kind}")).is_some(), "{kind} has no words");
        }
        assert!(said.len() > 20);
        for key in said {
            assert!(WORDS.get(key).is_some(), "{key} has no words");
        }
    }

    #[test]
    fn values_are_filled_in_once() {
        assert_eq!(say("find-none", &[("pattern", &"{path}"), ("path", &".")]), "no file fits {path} below .");
        assert!(say("command-form", &[]).contains("[\"cargo\", \"test\"]"));
    }
}
