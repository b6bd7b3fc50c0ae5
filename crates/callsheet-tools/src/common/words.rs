//! What tools say to models: the words stand in `prompts/words.txt`.

use std::fmt::Display;

const WORDS: &str = include_str!("../prompts/words.txt");

/// The words of a key with its `{name}`s filled in, in one pass: what is filled in is not scanned.
pub(crate) fn say(key: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut rest = words(key).unwrap_or(key);
    let mut text = String::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let known = after.split_once('}').and_then(|(name, after)| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (value.to_string(), after))
        });
        rest = match known {
            Some((value, after)) => {
                text.push_str(&value);
                after
            }
            None => {
                text.push('{');
                after
            }
        };
    }
    text.push_str(rest);
    text
}

fn words(key: &str) -> Option<&'static str> {
    WORDS.lines().filter_map(|line| line.split_once(" = ")).find(|(known, _)| *known == key).map(|(_, text)| text)
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
        for (key, _) in WORDS.lines().filter_map(|line| line.split_once(" = ")) {
            assert!(code.contains(&format!("\"{key}\"")), "{key} is never said");
        }
        let calls = code.split("say(").skip(1).chain(code.split("failed(").skip(1));
        let said: Vec<&str> =
            calls.filter_map(|after| after.trim_start().strip_prefix('"')?.split('"').next()).collect();
        assert!(said.len() > 20);
        for key in said {
            assert!(words(key).is_some(), "{key} has no words");
        }
    }

    #[test]
    fn values_are_filled_in_once() {
        assert_eq!(say("find-none", &[("pattern", &"{path}"), ("path", &".")]), "no file fits {path} below .");
        assert!(say("command-form", &[]).contains("{\"argv\": [\"cargo\", \"test\"]}"));
    }
}
