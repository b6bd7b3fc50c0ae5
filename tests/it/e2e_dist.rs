//! What `scripts/dist` gives out, made of the test's binary and installed from local files.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::root;

/// Whether a program can be started here. If not, says what is not tested.
fn has(program: &str, without: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: {program} is not installed, so {without} was not tested");
    }
    found
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let words = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {words}");
    output
}

/// The file in a folder whose name begins and ends like this.
fn file(folder: &Path, begin: &str, end: &str) -> PathBuf {
    let mut files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(begin) && name.ends_with(end)
    };
    files.find(fits).unwrap_or_else(|| panic!("no {begin}…{end} in {}", folder.display()))
}

/// An installed program says its version.
fn runs(program: &Path) {
    let said = done(Command::new(program).arg("--version"));
    let version = concat!("callsheet ", env!("CARGO_PKG_VERSION"));
    assert!(String::from_utf8_lossy(&said.stdout).starts_with(version), "{}: {said:?}", program.display());
}

#[test]
fn every_package_puts_the_binary_where_it_can_be_called() {
    let folder = tempfile::tempdir().unwrap();
    let (out, place) = (folder.path().join("dist"), |name: &str| folder.path().join(name));
    let mut dist = Command::new(root().join("scripts/dist"));
    done(dist.arg(&out).env("CALLSHEET", env!("CARGO_BIN_EXE_callsheet")).env("FAST", "1"));

    let archive = file(&out, "callsheet-", ".tar.gz");
    std::fs::create_dir(place("tar")).unwrap();
    done(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(place("tar")));
    let unpacked = file(&place("tar"), "callsheet-", "");
    runs(&unpacked.join("callsheet"));
    assert!(unpacked.join("man/callsheet.1").exists() && unpacked.join("completions/_callsheet").exists());
    done(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&out));

    if has("dpkg-deb", "the Debian package") {
        done(Command::new("dpkg-deb").arg("-x").arg(file(&out, "callsheet_", ".deb")).arg(place("deb")));
        runs(&place("deb").join("usr/bin/callsheet"));
        let control = done(Command::new("dpkg-deb").arg("-f").arg(file(&out, "callsheet_", ".deb")));
        assert!(String::from_utf8_lossy(&control.stdout).contains("Depends: libc6 (>= 2."), "{control:?}");
    }
    if has("python3", "the wheel") {
        done(Command::new("python3").args(["-m", "venv"]).arg(place("venv")));
        let pip = ["-m", "pip", "install", "--no-index", "--no-deps", "--quiet", "--disable-pip-version-check"];
        done(Command::new(place("venv/bin/python")).args(pip).arg(file(&out, "callsheet-", ".whl")));
        runs(&place("venv/bin/callsheet"));
    }
    if has("npm", "the npm package") {
        let npm = ["install", "--offline", "--no-audit", "--no-fund", "--prefix"];
        let mut command = Command::new("npm");
        done(command.args(npm).arg(place("npm")).arg(file(&out, "callsheet-", ".tgz")).env("HOME", folder.path()));
        runs(&place("npm/node_modules/.bin/callsheet"));
    }
}
