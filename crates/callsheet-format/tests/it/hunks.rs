//! Change sets hunk by hunk, as fixtures: `fixtures/hunks/<name>.txt`, each with files before and after, what a person
//! picks, and what is left. `UPDATE_EXPECT=1` rewrites the expectations.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use callsheet_format::edit::{FileEdit, HunkPick, HunkVerdict, Picked, diff_of, hunks, pick};
use proptest::prelude::*;

/// A text of a fixture: `<CR>` is a carriage return, `<no newline>` at the end takes the last line feed away.
fn text(body: &str) -> String {
    let body = body.replace("<CR>", "\r");
    body.strip_suffix("<no newline>\n").map_or(body.clone(), str::to_owned)
}

/// Parts of a fixture, each introduced by a line `===== name`; the head comes first, without a name.
fn parts(fixture: &str) -> Vec<(String, String)> {
    let mut parts = vec![(String::new(), String::new())];
    for line in fixture.split_inclusive('\n') {
        match line.strip_prefix("===== ") {
            Some(name) => parts.push((name.trim().to_owned(), String::new())),
            None => parts.last_mut().unwrap().1.push_str(line),
        }
    }
    parts
}

fn shown(text: &str) -> String {
    text.replace('\r', "<CR>")
}

fn check(fixture: &str) -> String {
    let parts = parts(fixture);
    let find = |name: &str| parts.iter().find(|(part, _)| part == name).map(|(_, body)| text(body));
    let mut edits: Vec<FileEdit> = Vec::new();
    for (name, body) in &parts {
        if let Some(path) = name.strip_prefix("before ") {
            edits.push(FileEdit {
                path: path.to_owned(),
                before: Some(text(body)),
                after: find(&format!("after {path}")),
            });
        } else if let Some(path) = name.strip_prefix("after ")
            && find(&format!("before {path}")).is_none()
        {
            edits.push(FileEdit { path: path.to_owned(), before: None, after: Some(text(body)) });
        }
    }
    let mut out = String::new();
    for hunk in hunks(&edits) {
        let (number, path, kind) = (hunk.number, &hunk.path, hunk.kind);
        out.push_str(&format!("hunk {number} of {path} ({kind:?}, lines {}-{})\n{}", hunk.first, hunk.last, hunk.text));
    }
    for (name, body) in &parts {
        let Some(words) = name.strip_prefix("pick") else { continue };
        let verdict = |number: &str| match parts.iter().find(|(part, _)| *part == format!("edit {number}")) {
            Some((_, edited)) => HunkVerdict::Edited(text(edited)),
            None => HunkVerdict::Keep,
        };
        let picks: Vec<HunkPick> = words
            .split_whitespace()
            .map(|number| HunkPick { number: number.parse().unwrap(), verdict: verdict(number) })
            .collect();
        assert!(body.trim().is_empty(), "a pick has no body");
        out.push_str(&format!("---- pick{words}\n"));
        match pick(&edits, &picks) {
            Ok(picked) => out.push_str(&left(&picked)),
            Err(fault) => out.push_str(&format!("fault: {fault}\n")),
        }
    }
    shown(&out)
}

fn left(picked: &Picked) -> String {
    format!("{}refused {:?}, edited {:?}\n{}", diff_of(&picked.edits), picked.refused_hunks, picked.edited_hunks, {
        diff_of(&picked.refused)
    })
}

#[test]
fn fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hunks");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 8);
    let mut wrong = Vec::new();
    for path in files {
        let fixture = std::fs::read_to_string(&path).unwrap();
        assert!(fixture.contains("covers: 11.4"), "{} names what it covers", path.display());
        let (given, expected) = fixture.split_once("===== expect\n").unwrap_or((&fixture, ""));
        let found = check(given);
        if found != expected {
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                std::fs::write(&path, format!("{given}===== expect\n{found}")).unwrap();
            } else {
                wrong.push(format!("{}:\n{found}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files of few different lines, so that hunks meet; some are not there before or after.
fn edits() -> impl Strategy<Value = Vec<FileEdit>> {
    let line = prop::sample::select(vec!["a\n", "b\n", "c\r\n", "\n", "d\n", "e\n", "-f\n", "é\n"]);
    let last = prop::sample::select(vec!["", "", "end", "\r", "end\r"]);
    let file = (prop::collection::vec(line, 0..40), last).prop_map(|(lines, last)| lines.concat() + last);
    let side = prop::option::weighted(0.85, file);
    prop::collection::vec((side.clone(), side), 1..4).prop_map(|sides| {
        let files = sides.into_iter().enumerate().filter(|(_, (before, after))| before != after);
        files.map(|(n, (before, after))| FileEdit { path: format!("f{n}"), before, after }).collect()
    })
}

fn picks(edits: &[FileEdit], mut verdict: impl FnMut(u32, String) -> HunkVerdict) -> Vec<HunkPick> {
    hunks(edits)
        .into_iter()
        .map(|hunk| HunkPick { number: hunk.number, verdict: verdict(hunk.number, hunk.text) })
        .collect()
}

proptest! {
    /// covers: 11.4
    #[test]
    fn all_hunks_are_the_set_and_none_is_nothing(edits in edits()) {
        let all = picks(&edits, |_, _| HunkVerdict::Keep);
        prop_assert_eq!(pick(&edits, &all).unwrap(), Picked { edits: edits.clone(), ..Picked::default() });
        let none = pick(&edits, &[]).unwrap();
        prop_assert_eq!(none.edits, vec![]);
        prop_assert_eq!(none.refused, edits);
    }

    /// A hunk that comes back from the editor as it went is kept, whatever the editor does to line endings.
    /// covers: 11.4
    #[test]
    fn a_hunk_edited_to_itself_is_kept(edits in edits(), returns in any::<bool>()) {
        let edited = |_, text: String| if text.is_empty() {
            HunkVerdict::Keep
        } else {
            HunkVerdict::Edited(if returns { text } else { text.replace("\r\n", "\n") })
        };
        let picked = pick(&edits, &picks(&edits, edited)).unwrap();
        prop_assert_eq!(picked.edits, edits);
        prop_assert_eq!(picked.refused, vec![]);
    }

    /// What is kept and what is refused make up the set: the refused part leads from the kept texts to the asked ones,
    /// and the hunks that are left of the kept set are the kept ones.
    /// covers: 11.4
    #[test]
    fn kept_and_refused_make_up_the_set(edits in edits(), keep in prop::collection::vec(any::<bool>(), 60)) {
        let kept = |number: u32| keep[number as usize % keep.len()];
        let all = picks(&edits, |number, _| if kept(number) { HunkVerdict::Keep } else { HunkVerdict::Refuse });
        let picked = pick(&edits, &all).unwrap();
        for edit in &edits {
            let mine = picked.edits.iter().find(|kept| kept.path == edit.path);
            let left = picked.refused.iter().find(|refused| refused.path == edit.path);
            let now = mine.map_or(&edit.before, |mine| &mine.after);
            prop_assert_eq!(left.map_or(now, |left| &left.before), now);
            prop_assert_eq!(left.map_or(now, |left| &left.after), &edit.after);
        }
        let count = all.iter().filter(|pick| pick.verdict == HunkVerdict::Keep).count();
        prop_assert_eq!(picked.refused_hunks.len(), all.len() - count);
        prop_assert_eq!(picked.edits.is_empty(), count == 0);
    }

    /// covers: 11.4
    #[test]
    fn no_edited_text_is_too_odd(edits in edits(), text in "([ +\\-\\\\#@a\r]{0,4}\n){0,8}", number in 0u32..9) {
        let _ = pick(&edits, &[HunkPick { number, verdict: HunkVerdict::Edited(text) }]);
    }
}
