//! References to symbols of code and changes of them, with the built binary.
#![cfg(feature = "symbols")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const PUMP: &str = "/// Waters.\npub struct Pump {\n    on: bool,\n    level: u32,\n}\n\nimpl Pump {\n    /// Begins.\n    pub fn start(&mut self) {\n        self.on = true;\n    }\n\n    pub fn stop(&mut self) {\n        self.on = false;\n    }\n}\n\n// Nobody needs it.\nfn old() {}\n";

fn sheet(references: &str) -> String {
    format!(
        "## Goals / summary\nA pump that stops.\n## Tasks\n### Task section 1\n- **Name** Write Pump 1\n- **What is needed** The pump stops when it runs dry.\n- **Skill** edit_code\n- **References** {references}\n- **Expected output** The changed file.\n"
    )
}

/// covers: 5.3, 3.9, 3.10
#[test]
fn a_symbol_is_shown_and_changed() {
    let garden = TestProject::with("symbols");
    garden.write("pump.rs", PUMP);
    garden.write("work.md", sheet("[Start](pump.rs#start) [Stop](pump.rs#Pump::stop)"));
    garden.expect(0, &["run", "--sheet", "work.md", "--headless", "approve"]);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("    /// Begins.\n    pub fn start") && !prompt.contains("pub struct Pump"), "{prompt}");
    assert_eq!(
        garden.read("pump.rs"),
        "/// Waters.\npub struct Pump {\n    on: bool,\n    level: u32,\n}\n\nimpl Pump {\n    /// Begins.\n    pub fn start(&mut self) {\n        self.on = !self.dry();\n    }\n\n    fn dry(&self) -> bool {\n        self.level == 0\n    }\n\n    pub fn stop(&mut self) {\n        self.on = false;\n    }\n}\n"
    );
    garden.expect(0, &["undo"]);
    assert_eq!(garden.read("pump.rs"), PUMP);
}

/// covers: 5.3, symbol-not-found, symbol-ambiguous, symbol-unsupported
#[test]
fn what_is_no_symbol_is_said_with_candidates() {
    let garden = TestProject::bare();
    garden.write("pump.rs", format!("{PUMP}impl Tap {{\n    fn stop() {{}}\n}}\n"));
    garden.write("pump.zig", "fn start() void {}\n");
    garden.write("work.md", sheet("[a](pump.rs#Pump.begin) [b](pump.rs#stop) [c](pump.zig#start)"));
    let said = garden.expect(2, &["sheet", "check", "work.md"]).out;
    for part in ["symbol-not-found", "Pump.start", "symbol-ambiguous", "Pump.stop, Tap.stop", "symbol-unsupported"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

/// covers: 5.10
#[test]
fn a_person_marks_what_is_no_longer_relevant() {
    let garden = TestProject::with("answer");
    let sheet = sheet("[Water](water.md)").replace("edit_code", "read_files");
    garden.write("work.md", format!("{sheet}## No longer relevant\n- [Old](minutes.md)\n"));
    garden.expect(0, &["run", "--sheet", "work.md"]);
    let kept = garden.expect(0, &["show", "--plan"]).out;
    assert!(kept.contains("## No longer relevant\n- [](minutes.md)\n"), "{kept}");
}
