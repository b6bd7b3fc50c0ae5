//! A model, a tool and an approver that this program brings itself.
//!
//! ```sh
//! cargo run --example own_parts
//! ```

use std::error::Error;
use std::sync::Arc;

use callsheet_sdk::serde_json::{Value, json};
use callsheet_sdk::{
    Approver, Callsheet, CancellationToken, Capabilities, Decision, DeltaSink, GateKind, GateView, Message, Model,
    ModelFault, ModelInfo, ModelReply, ModelRequest, RepeatClass, StopReason, Tool, ToolCall, ToolContext, ToolEffect,
    ToolFault, ToolOutcome, ToolSpec, async_trait,
};

/// Reads the sensor in a rain barrel.
struct WaterLevel(ToolSpec);

impl WaterLevel {
    fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { "barrel": { "type": "integer", "minimum": 1, "maximum": 2 } },
            "required": ["barrel"],
        });
        // A tool that only reads needs no approval.
        let (effect, repeat) = (ToolEffect::Read, RepeatClass::Read);
        let description = "The level of the water in a rain barrel, in centimetres.";
        Self(ToolSpec::new("water_level", description, parameters, effect, repeat))
    }
}

#[async_trait]
impl Tool for WaterLevel {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, arguments: &Value, _context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        let level = match arguments.get("barrel").and_then(Value::as_u64) {
            Some(1) => "41 cm",
            // The model reads why a call failed, and may try another one.
            _ => return Ok(ToolOutcome::Failed("only barrel 1 has a sensor".to_owned())),
        };
        Ok(ToolOutcome::Output(level.to_owned()))
    }
}

/// A model without a model: it knows what to say to each task.
struct Rules(ModelInfo);

impl Rules {
    fn new() -> Self {
        let capabilities = Capabilities { tools: true, ..Capabilities::default() };
        Self(ModelInfo { window: Some(8_192), capabilities, ..ModelInfo::new("rules", "1") })
    }
}

#[async_trait]
impl Model for Rules {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        _cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFault> {
        let measured = request.messages.iter().find(|message| matches!(message, Message::Tool { .. }));
        let mut reply = ModelReply { model: self.0.id.clone(), stop: StopReason::End, ..ModelReply::default() };
        match (request.label.as_str(), measured) {
            (label, None) if label.starts_with("execute measure") => {
                let arguments = json!({ "barrel": 1 });
                reply.calls = vec![ToolCall { name: "water_level".to_owned(), id: "call-1".to_owned(), arguments }];
                reply.stop = StopReason::Tools;
            }
            (label, Some(level)) if label.starts_with("execute measure") => {
                reply.text = format!("## Result summary\nBarrel 1 holds {} of water.\n", level.text());
            }
            (label, _) if label.starts_with("execute note") => {
                // The prompt shows the result of the first task.
                let mut shown = request.messages.iter().flat_map(|message| message.text().lines());
                let level = shown.rfind(|line| line.starts_with("Barrel 1 holds")).unwrap_or_default();
                reply.text = format!(
                    "## Change details\n- **file_path** level.md\n- **complete_file** true\n\
                     ```markdown\n{level}\n```\n## Result summary\nWrote [the level](level.md).\n"
                );
            }
            (label, _) => return Err(ModelFault::Configuration { message: format!("no rule for {label}") }),
        }
        deltas(&reply.text);
        Ok(reply)
    }
}

/// Lets runs change one file.
struct OneFile(&'static str);

#[async_trait]
impl Approver for OneFile {
    fn name(&self) -> &str {
        "one-file"
    }

    async fn decide(&self, gate: &GateView) -> Decision {
        match &gate.gate.kind {
            GateKind::BeforeRun(_) => {
                let names: Vec<&str> = gate.writers.iter().map(|writer| writer.task.name.as_str()).collect();
                println!("wants to change something: {}", names.join(", "));
                Decision::Approve
            }
            GateKind::BeforeApply { .. }
                if !gate.hunks.is_empty() && gate.hunks.iter().all(|hunk| hunk.path == self.0) =>
            {
                println!("{}", gate.diff.trim_end());
                Decision::Approve
            }
            _ => Decision::Deny { because: format!("only {} may change", self.0) },
        }
    }
}

/// The skill that gives tasks the tool.
const SKILL: &str = "---
name: measure
description: Measure the level of the water in a rain barrel.
tools: [water_level]
mode: loop
---
Say in What is needed which barrel is measured.
---
Measure, then say what you measured.
";

const SHEET: &str = "
## Goals / summary
Note the level of the water in barrel 1.

**plan complete**
## Tasks
### Task section 1
- **Name** Measure
- **What is needed** The level of the water in barrel 1.
- **Skill** measure

### Task section 2
- **Name** Note
- **What is needed** Write the level into level.md.
- **Skill** write_document
- **References** [Level](#measure-results)
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (project, skills) = (tempfile::tempdir()?, tempfile::tempdir()?);
    std::fs::write(skills.path().join("measure.md"), SKILL)?;
    let callsheet = Callsheet::builder(project.path(), Arc::new(Rules::new()))
        .tool(WaterLevel::new())
        .skills(skills.path())
        .approver(OneFile("level.md"))
        .build()?;
    let finished = callsheet.run_sheet(SHEET).await?;
    println!("{:?}: {}", finished.outcome, finished.answer.trim());
    println!("level.md: {}", std::fs::read_to_string(project.path().join("level.md"))?.trim());
    Ok(())
}
