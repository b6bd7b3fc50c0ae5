//! Accepts command lines in the style of other programs: a request alone, or after `-p`, is run.

use std::ffi::{OsStr, OsString};

use clap::CommandFactory;

use super::Cli;

/// Inserts the command `run` if a line contains no command. The first word that is not a flag is a request if it
/// contains a blank or follows the flag `-p`. A single word is the name of a command.
pub fn as_command(words: Vec<OsString>) -> Vec<OsString> {
    let taking = flags_with_value();
    let takes = |word: &OsStr| word.to_str().is_some_and(|word| taking.iter().any(|flag| flag == word));
    let (mut prints, mut is_value, mut request) = (false, false, false);
    for word in words.iter().skip(1) {
        let text = word.to_string_lossy();
        if std::mem::take(&mut is_value) {
            continue;
        }
        if text == "-p" || text == "--print" {
            prints = true;
        } else if takes(word) {
            is_value = true;
        } else if text == "-" || !text.starts_with('-') {
            request = prints || text.trim().contains(char::is_whitespace);
            if !request {
                return words;
            }
            break;
        }
    }
    if !(request || prints) {
        return words;
    }
    let mut words = words.into_iter();
    words.next().into_iter().chain([OsString::from("run")]).chain(words).collect()
}

/// The flags of `run`, and of every command, that take a value.
fn flags_with_value() -> Vec<String> {
    let mut command = Cli::command();
    command.build();
    let run = command.find_subcommand("run").cloned().unwrap_or_default();
    let flags = run.get_arguments().filter(|flag| !flag.is_positional() && flag.get_action().takes_values());
    let names = flags.flat_map(|flag| {
        let long = flag.get_long().map(|long| format!("--{long}"));
        long.into_iter().chain(flag.get_short().map(|short| format!("-{short}")))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::as_command;

    fn read(line: &[&str]) -> String {
        let words = std::iter::once("callsheet").chain(line.iter().copied()).map(Into::into).collect();
        let words = as_command(words).into_iter().map(|word| word.into_string().unwrap());
        words.skip(1).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_request_alone_is_run_and_a_word_is_a_command() {
        for (line, expected) in [
            (&["what is here?"][..], "run|what is here?"),
            (&["doctor"], "doctor"),
            (&["nonsense"], "nonsense"),
            (&["-C", "my folder", "doctor"], "-C|my folder|doctor"),
            (&["-C", "x", "what is here?"], "run|-C|x|what is here?"),
            (&["--model", "a/b", "what is here?"], "run|--model|a/b|what is here?"),
            (&["-p", "explain"], "run|-p|explain"),
            (&["-p"], "run|-p"),
            (&["-p", "--output-format", "json", "explain"], "run|-p|--output-format|json|explain"),
            (&["run", "-p", "explain"], "run|-p|explain"),
            (&["show", "a b"], "show|a b"),
            (&["--json"], "--json"),
            (&[], ""),
            (&["--help"], "--help"),
        ] {
            assert_eq!(read(line), expected, "{line:?}");
        }
    }
}
