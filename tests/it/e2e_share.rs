//! Runs as files between two machines: each test project has a home of its own, so two of them know nothing of each other.
#![cfg(feature = "share")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::PathBuf;

use callsheet_core::nouns::{BlobId, RunId};
use callsheet_share::{ApprovedGate, SignedApproval, SigningKey};
use serde_json::json;

use crate::support::garden::TestProject;

const REQUEST: &str = "Note the level of the water in level.md.";

/// A project whose run waits before it writes a file.
fn waiting() -> TestProject {
    let garden = TestProject::with("api");
    garden.expect(3, &["run", REQUEST, "--approval", "before-apply"]);
    garden
}

/// A key file in the home, and its two public keys.
fn key(garden: &TestProject) -> (String, String, String) {
    std::fs::create_dir_all(garden.home()).unwrap();
    let file = garden.home().join("me.key").display().to_string();
    let shown = garden.expect(0, &["key", "new", &file]).out;
    let mut keys = shown.lines().map(str::to_owned);
    (file, keys.next().unwrap(), keys.next().unwrap())
}

/// Exports the newest run to a key. Returns the file.
fn export(garden: &TestProject, name: &str, more: &[&str]) -> String {
    let file = garden.home().join(name).display().to_string();
    garden.expect(0, &[&["export", "-o", &file], more].concat());
    file
}

/// covers: 14.1, 14.2, 14.3
#[test]
fn a_run_goes_to_another_machine_and_comes_back() {
    let (ci, mut desk) = (waiting(), TestProject::with("api"));
    let (desk_key, desk_signs, desk_reads) = key(&desk);
    let (ci_key, _, ci_reads) = key(&ci);
    ci.expect(2, &["export"]);
    let file = export(&ci, "run.age", &["--to", &desk_reads]);
    assert!(ci.call(&["export", "-o", &file, "--to", &desk_reads]).err.contains("exists"), "nothing is overwritten");
    let sealed = std::fs::read(&file).unwrap();
    assert!(!sealed.windows(8).any(|part| part == b"level.md"), "it is encrypted");

    assert!(desk.expect(2, &["import", &file]).err.contains("encrypted to a key"));
    assert!(desk.expect(2, &["import", &file, "--key", &ci_key]).err.contains("encrypted to another key"));
    let refused = desk.expect(2, &["import", &file, "--key", &desk_key]);
    assert!(refused.err.contains("was made elsewhere") && refused.err.contains("--trust"), "{}", refused.err);
    assert!(!desk.has_store() || desk.expect(0, &["--json", "runs"]).out.is_empty());
    desk.expect(0, &["import", &file, "--key", &desk_key, "--trust"]);
    assert_eq!(desk.facts(), ci.facts());
    assert!(desk.expect(0, &["import", &file, "--key", &desk_key]).err.contains("nothing is new"));

    // It is approved and ends on the desk, and its record goes back.
    desk.follow("api");
    desk.expect(0, &["approve"]);
    desk.expect(0, &["resume"]);
    assert_eq!(desk.read("level.md"), "41 cm\n");
    assert_eq!(desk.read(".callsheet/runs/.gitignore"), "*\n", "as in the project where it began");
    let unsigned = export(&desk, "unsigned.age", &["--to", &ci_reads]);
    let refused = ci.expect(2, &["import", &unsigned, "--key", &ci_key, "--trust"]);
    assert!(refused.err.contains("approvals from elsewhere"), "{}", refused.err);
    let signed = export(&desk, "signed.age", &["--to", &ci_reads, "--sign", &desk_key]);
    assert!(ci.expect(2, &["import", &signed, "--key", &ci_key]).err.contains(&desk_signs));
    ci.expect(0, &["grants", "add", "approver", &desk_signs]);
    let continued = ci.expect(0, &["import", &signed, "--key", &ci_key]);
    assert!(continued.err.contains("that continue run"), "{}", continued.err);
    assert_eq!(ci.facts(), desk.facts());

    // The same run, continued in two ways, stays as it is.
    let (other, third) = (waiting(), TestProject::bare());
    let (third_key, _, third_reads) = key(&third);
    let run = other.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    let first = export(&other, "first.age", &["--to", &third_reads]);
    third.expect(0, &["import", &first, "--key", &third_key, "--trust"]);
    third.expect(0, &["deny", &run]);
    third.call(&["resume", &run]);
    let before = third.facts();
    other.expect(0, &["deny", &run, "--because", "not now"]);
    other.call(&["resume", &run]);
    let second = export(&other, "second.age", &["--to", &third_reads]);
    let refused = third.expect(2, &["import", &second, "--key", &third_key, "--trust"]);
    assert!(refused.err.contains("differs from event"), "{}", refused.err);
    assert_eq!(third.facts(), before);
}

/// covers: 14.1
#[test]
fn a_masked_run_shows_no_key_and_is_not_resumed() {
    let secret = "sk-a-key-that-nobody-may-see";
    let garden = TestProject::with("api");
    garden.write("water.md", format!("# Water\nThe level is 41 cm. {secret}\n"));
    garden.expect(3, &["run", REQUEST, "--approval", "before-apply"]);
    let file = garden.home().join("run.zip");
    let name = file.display().to_string();
    let mut command = garden.command(&["export", "--masked", "-o", &name]);
    assert!(command.env("OPENAI_API_KEY", secret).status().unwrap().success());
    let mut zip = zip::ZipArchive::new(std::fs::File::open(&file).unwrap()).unwrap();
    let mut masked = 0;
    for at in 0..zip.len() {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut zip.by_index(at).unwrap(), &mut text).unwrap();
        assert!(!text.windows(secret.len()).any(|part| part == secret.as_bytes()));
        masked += usize::from(text.windows(8).any(|part| part == b"[masked:"));
    }
    assert!(masked > 0, "the key was in the record");
    let refused = TestProject::bare().expect(2, &["import", &name, "--trust"]);
    assert!(refused.err.contains("masked") && refused.err.contains("views/report.html"), "{}", refused.err);
}

/// covers: 14.1, 11.16
#[test]
fn nothing_is_written_for_others_if_a_key_of_the_run_is_not_known_here() {
    let garden = waiting();
    let config = "[providers.scripted]\napi_key_env = 'MY_KEY'\n";
    std::fs::write(garden.home().join("config.toml"), config).unwrap();
    let [zip, page] = ["run.zip", "run.html"].map(|name| garden.home().join(name).display().to_string());
    for (command, file) in [(&["export", "--masked", "-o", &zip][..], &zip), (&["report", "-o", &page], &page)] {
        let refused = garden.expect(2, command);
        assert!(refused.err.contains("MY_KEY; this variable is not set here"), "{}", refused.err);
        assert!(!std::path::Path::new(file).exists());
        let mut known = garden.command(command);
        assert!(known.env("MY_KEY", "sk-a-key-that-is-set").status().unwrap().success());
        std::fs::remove_file(file).unwrap();
        garden.expect(0, &[command, &["--without-key", "MY_KEY"]].concat());
        std::fs::remove_file(file).unwrap();
    }
}

/// covers: 14.4
#[test]
fn a_signed_approval_counts_for_its_change_alone() {
    let (ci, desk) = (waiting(), TestProject::bare());
    let (desk_key, desk_signs, desk_reads) = key(&desk);
    let file = export(&ci, "run.age", &["--to", &desk_reads]);
    desk.expect(0, &["import", &file, "--key", &desk_key, "--trust"]);
    let approval = desk.home().join("approval.json").display().to_string();
    desk.expect(0, &["approve", "--sign", &desk_key, "-o", &approval]);
    assert_eq!(desk.count("gate_answered"), 0, "nothing is approved on the desk");

    let refused = ci.expect(2, &["import", &approval]);
    assert!(refused.err.contains("which you have not granted"), "{}", refused.err);
    ci.expect(2, &["grants", "add", "approver", "callsheet-key-0"]);
    ci.expect(0, &["grants", "add", "approver", &desk_signs]);
    let text = std::fs::read_to_string(&approval).unwrap();
    let changed = ci.home().join("changed.json");
    std::fs::write(&changed, text.replace("\\\"gate\\\":1", "\\\"gate\\\":2")).unwrap();
    let refused = ci.expect(2, &["import", &changed.display().to_string()]);
    assert!(refused.err.contains("the signature is invalid"), "{}", refused.err);

    // The same key signed an approval of another change, and one of another run.
    let signing = SigningKey::read(&std::fs::read_to_string(&desk_key).unwrap()).unwrap();
    let run = ci.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    for (run, said) in
        [(run.as_str(), "differs from what this file approves"), ("20260301-101112-other", "there is no run")]
    {
        let gate = ApprovedGate { gate: 1, asked: BlobId::of(b"another change"), tasks: Vec::new() };
        std::fs::write(&changed, SignedApproval::sign(&RunId::new(run), vec![gate], &signing)).unwrap();
        let refused = ci.expect(2, &["import", &changed.display().to_string()]);
        assert!(refused.err.contains(said), "{}", refused.err);
    }

    // An approval that waits for the resume counts only as long as its key is granted.
    ci.expect(0, &["import", &approval]);
    ci.expect(0, &["grants", "revoke", "1"]);
    let revoked = ci.expect(3, &["resume"]);
    assert!(revoked.err.contains("not granted any more") && ci.count("gate_answered") == 0, "{}", revoked.err);
    assert!(!ci.path("level.md").exists());
    ci.expect(0, &["grants", "add", "approver", &desk_signs]);

    ci.expect(0, &["import", &approval]);
    ci.expect(0, &["import", &approval]);
    ci.expect(0, &["resume"]);
    assert_eq!(ci.read("level.md"), "41 cm\n");
    let answered: Vec<_> = ci.facts().into_iter().filter(|fact| fact["event"] == "gate_answered").collect();
    assert_eq!(answered.len(), 1, "{answered:?}");
    assert_eq!(answered[0]["by"], json!({"signed": desk_signs}));
    let late = ci.expect(2, &["import", &approval]);
    assert!(late.err.contains("is not waiting here"), "{}", late.err);
}

/// A copy of the project as it was at the beginning, with the run that waits on `ci`, and what the import said.
fn copied(ci: &TestProject, script: &str) -> (TestProject, String) {
    let fresh = TestProject::with(script);
    let (fresh_key, _, reads) = key(&fresh);
    let (ci_key, file) = (ci.home().join("ci.key").display().to_string(), fresh.home().join("run.age"));
    if !ci.home().join("ci.key").exists() {
        ci.expect(0, &["key", "new", &ci_key]);
    }
    let signs = ci.expect(0, &["key", "show", &ci_key]).out.lines().next().unwrap().to_owned();
    let file = file.display().to_string();
    ci.expect(0, &["export", "-o", &file, "--to", &reads, "--sign", &ci_key]);
    fresh.expect(0, &["grants", "add", "approver", &signs]);
    let imported = fresh.expect(0, &["import", &file, "--key", &fresh_key]);
    (fresh, imported.err)
}

/// covers: 14.2
#[test]
fn a_run_does_not_go_on_without_the_changes_that_it_made_elsewhere() {
    let ci = TestProject::with("two_writers");
    ci.expect(3, &["run", "Make two notes.", "--approval", "before-apply"]);
    ci.expect(0, &["approve"]);
    ci.expect(3, &["resume"]);
    assert_eq!(ci.read("first.md"), "First.\n");

    let (fresh, imported) = copied(&ci, "two_writers");
    assert!(imported.contains("first.md"), "{imported}");
    fresh.expect(0, &["approve"]);
    let before = fresh.facts();
    let refused = fresh.expect(2, &["resume"]);
    assert!(refused.err.contains("first.md") && refused.err.contains("--files-as-they-are"), "{}", refused.err);
    assert_eq!(fresh.facts(), before, "nothing was done");
    fresh.write("first.md", "First.\n");
    fresh.expect(0, &["resume"]);
    assert_eq!(fresh.read("second.md"), "Second.\n");

    // Whoever has the files once may change them.
    let (fresh, _) = copied(&ci, "two_writers");
    fresh.write("first.md", "First.\n");
    fresh.expect(3, &["resume"]);
    fresh.write("first.md", "My own words.\n");
    fresh.expect(0, &["approve"]);
    fresh.expect(0, &["resume"]);

    let (fresh, _) = copied(&ci, "two_writers");
    fresh.expect(0, &["approve"]);
    fresh.expect(0, &["resume", "--files-as-they-are"]);
    assert!(!fresh.path("first.md").exists());
    assert_eq!(fresh.read("second.md"), "Second.\n");

    let run = ci.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    // A fork has the files of its run, whether they are here or not.
    ci.write("first.md", "My own words.\n");
    ci.expect(0, &["fork", &run]);
    ci.expect(3, &["resume"]);
    let (fresh, _) = copied(&ci, "two_writers");
    fresh.expect(0, &["fork", &run]);
    fresh.expect(2, &["resume"]);
}

/// covers: 14.2, 14.5
#[test]
fn a_file_that_is_none_of_ours_is_refused() {
    let garden = waiting();
    let (key, _, reads) = key(&garden);
    let sealed = std::fs::read(export(&garden, "run.age", &["--to", &reads])).unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let file: PathBuf = garden.home().join(name);
        std::fs::write(&file, bytes).unwrap();
        garden.expect(2, &["import", &file.display().to_string(), "--key", &key, "--trust"]).err
    };
    let mut changed = sealed.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert!(refused("changed.age", &changed).contains("damaged or was changed"));
    assert!(refused("short.age", &sealed[..sealed.len() / 2]).contains("error:"));
    assert!(refused("empty", b"").contains("not a file of `callsheet export`"));
    assert!(refused("text.json", b"{\"a\": 1}").contains("not a file of `callsheet export`"));
    garden.expect(2, &["import", "no-such-file"]);
    garden.expect(2, &["export", "--to", "age1nonsense"]);
    garden.expect(2, &["export", "--masked", "--to", &reads]);
    assert!(garden.call(&["export", "--passphrase", "-o", "x.age"]).err.contains("at a terminal"));
    garden.expect(2, &["key", "new", &key]);
    let refused = garden.expect(2, &["key", "new", "me.key"]);
    assert!(refused.err.contains("is in the project") && !garden.path("me.key").exists(), "{}", refused.err);
    garden.expect(2, &["key", "show", "water.md"]);
}
