//! What a command sees of the environment.

use std::ffi::{OsStr, OsString};

/// A variable whose name holds one of these words is a secret until shown otherwise.
const SECRET: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];

/// Makes programs give plain text and never wait at a terminal that is not there.
const PLAIN: [(&str, &str); 5] =
    [("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// The environment without the keys of providers.
pub(crate) fn given() -> impl Iterator<Item = (OsString, OsString)> {
    let withheld = callsheet_runtime::transport_policy::withheld();
    std::env::vars_os().filter(move |(name, _)| !withheld.iter().any(|key| name == key.as_str()))
}

/// The environment of a command: without secrets, for plain output.
pub(crate) fn unsecret() -> impl Iterator<Item = (OsString, OsString)> {
    scrubbed(given())
}

fn scrubbed(environment: impl Iterator<Item = (OsString, OsString)>) -> impl Iterator<Item = (OsString, OsString)> {
    let plain = PLAIN.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    environment.filter(|(name, _)| !is_secret(name)).chain(plain)
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    SECRET.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_and_the_rest_is_kept() {
        let names =
            ["PATH", "OPENAI_API_KEY", "github_token", "AWS_SECRET_ACCESS", "DB_PASSWORD", "HOME", "SSH_PASSPHRASE"];
        let kept: Vec<String> = scrubbed(names.iter().map(|name| (OsString::from(name), OsString::from("x"))))
            .map(|(name, _)| name.into_string().unwrap())
            .collect();
        assert_eq!(kept, ["PATH", "HOME", "TERM", "NO_COLOR", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT"]);
    }
}
