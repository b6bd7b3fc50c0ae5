//! Plans a request, lets the program change the plan, and runs it.
//!
//! ```sh
//! cargo run --example plan_and_run                       # a scripted model, without a network
//! cargo run --example plan_and_run -- ollama/qwen2.5:7b  # a real one
//! ```

use std::error::Error;
use std::path::Path;

use callsheet_sdk::{Callsheet, Outcome, models};

const REQUEST: &str = "Who takes care of the troubles with watering?";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let project = tempfile::tempdir()?;
    for name in ["minutes.md", "water.md"] {
        std::fs::copy(folder.join("garden").join(name), project.path().join(name))?;
    }
    let model = match std::env::args().nth(1) {
        Some(name) => models::open(&name).await?,
        None => models::scripted_file(&folder.join("library/replies.toml"))?,
    };
    let callsheet = Callsheet::builder(project.path(), model).build()?;

    let plan = callsheet.plan(REQUEST).await?;
    println!("{} lines of plan", plan.sheet.lines().count());

    // The plan is Markdown. A person would edit it in an editor; this program adds a wish.
    let sheet = plan.sheet.replace("A list of the troubles", "A list of the troubles, the cheapest first");

    let finished = callsheet.run_sheet(&sheet).await?;
    for task in finished.view.tasks() {
        println!("- {}: {}", task.task.name, task.task.expected);
    }
    println!("{}", finished.answer);
    match finished.outcome {
        Outcome::Complete => Ok(()),
        outcome => Err(format!("the run ended as {outcome:?}").into()),
    }
}
