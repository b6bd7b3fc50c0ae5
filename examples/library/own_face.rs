//! A face: it prints each event of a run as it is recorded, shows what waits, and answers.
//!
//! ```sh
//! cargo run --example own_face
//! ```

use std::error::Error;
use std::time::Duration;

use callsheet_sdk::{AnsweredBy, Callsheet, Order, RunCommand, RunControl, RunView, Running, models};

/// How often the face looks for new entries.
const LOOK: Duration = Duration::from_millis(50);

/// Prints a run until it ends. A face on another thread, or in another process with the same record, does the same.
async fn show(runs: &dyn RunControl, running: &Running) -> Result<(), Box<dyn Error>> {
    let mut view = RunView::default();
    let mut answered = Vec::new();
    loop {
        // Read this first: entries that are recorded before the end are then shown, too.
        let has_ended = running.is_finished();
        for entry in runs.watch(running.run(), view.cursor())? {
            view.take(&entry).map_err(|reject| reject.to_string())?;
            if let Some(line) = view.event_line(&entry.event) {
                println!("{:>3}  {}", entry.n, line.text);
            }
        }
        if has_ended {
            return Ok(());
        }
        for gate in runs.gates(&view)? {
            if answered.contains(&gate.gate.n) {
                continue;
            }
            answered.push(gate.gate.n);
            for line in gate.diff.lines() {
                println!("   | {line}");
            }
            // A real face asks a person. The revision says what that person had seen.
            let gates = vec![gate.gate.n];
            let approve = RunCommand::Approve { gates, tasks: Vec::new(), later: false, always: None };
            let order = Order { revision: Some(view.cursor()), ..Order::new(AnsweredBy::Terminal, approve)? };
            let receipt = runs.order(running.run(), &order)?;
            println!("   > {}", receipt.what);
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let project = tempfile::tempdir()?;
    std::fs::write(project.path().join("water.md"), "The barrel holds 41 cm.\n")?;
    let model = models::scripted(include_str!("note.toml"))?;
    let callsheet = Callsheet::builder(project.path(), model).attended().build()?;
    let running = callsheet.start("Note the level of the water in level.md.")?;
    show(&*callsheet.runs(), &running).await?;
    let finished = running.finished().await?;
    println!("{:?}: {}", finished.outcome, finished.answer.trim());
    Ok(())
}
