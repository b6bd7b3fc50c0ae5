//! Which environment variables a command sees: those listed here, and those that the user names in `tools.env`. Any
//! other variable may contain a secret or lead to a program of the user.

use std::ffi::{OsStr, OsString};

/// Variables that name programs, languages and places. None of them is a secret.
const LISTED: [&str; 46] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "CI",
    "EDITOR",
    "CC",
    "CXX",
    "AR",
    "LD",
    "CFLAGS",
    "CPPFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "CMAKE_PREFIX_PATH",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "GOPATH",
    "GOROOT",
    "GOFLAGS",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_USER_HOME",
    "NODE_PATH",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "GEM_HOME",
    "GEM_PATH",
    "DOTNET_ROOT",
];
/// Prefix of the variables that set the language for each kind of text.
const LISTED_BEGINNING: &str = "LC_";

/// Makes programs print plain text and never wait for a terminal that does not exist.
const PLAIN: [(&str, &str); 5] =
    [("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// The listed variables, and those that the user granted by name.
pub(crate) fn listed(granted: &[String]) -> impl Iterator<Item = (OsString, OsString)> {
    let withheld = callsheet_runtime::transport_policy::withheld();
    std::env::vars_os().filter(move |(name, _)| {
        let asked = granted.iter().any(|granted| name == granted.as_str());
        is_listed(name) || (asked && !withheld.iter().any(|key| name == key.as_str()))
    })
}

/// The environment of a command, set up for plain output.
pub(crate) fn of_command(granted: &[String]) -> impl Iterator<Item = (OsString, OsString)> {
    let plain = PLAIN.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    listed(granted).chain(plain)
}

/// Those of the listed variables that `names` contains too, and the language variables.
pub(crate) fn only(names: &[&str]) -> Vec<(OsString, OsString)> {
    let wanted = |name: &OsStr| names.iter().any(|wanted| name == *wanted) || is_of_language(name);
    std::env::vars_os().filter(|(name, _)| wanted(name)).collect()
}

fn is_listed(name: &OsStr) -> bool {
    LISTED.iter().any(|listed| name == *listed) || is_of_language(name)
}

fn is_of_language(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(LISTED_BEGINNING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_is_handed_on() {
        for name in ["PATH", "HOME", "LC_ALL", "CARGO_HOME"] {
            assert!(is_listed(OsStr::new(name)), "{name}");
        }
        for name in ["OPENAI_API_KEY", "DATABASE_URL", "TMUX", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY"] {
            assert!(!is_listed(OsStr::new(name)), "{name}");
        }
        let names: Vec<OsString> = of_command(&[]).map(|(name, _)| name).collect();
        assert!(names.iter().any(|name| name == "NO_COLOR"), "{names:?}");
    }
}
