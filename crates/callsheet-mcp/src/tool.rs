//! Offers a server's tool as a tool of a run.

use std::sync::Arc;

use async_trait::async_trait;
use callsheet_core::nouns::ToolSpec;
use callsheet_runtime::ports::{HeldCall, Midway, Tool, ToolContext, ToolFault, ToolOutcome};
use serde_json::Value;

use crate::call::{Call, Step};
use crate::declared::DeclaredTool;
use crate::form::Form;
use crate::results::Answer;
use crate::server::Server;
use crate::trouble::Trouble;

struct ServerTool {
    server: Arc<Server>,
    declared: DeclaredTool,
    spec: ToolSpec,
}

/// The confirmed tools of a server, as tools of a run. This does not start the server.
pub fn server_tools(server: &Arc<Server>, confirmed: Vec<DeclaredTool>) -> Vec<Arc<dyn Tool>> {
    let tool = |declared: DeclaredTool| {
        let spec = declared.spec(server.settings());
        Arc::new(ServerTool { server: Arc::clone(server), declared, spec }) as Arc<dyn Tool>
    };
    confirmed.into_iter().map(tool).collect()
}

#[async_trait]
impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, arguments: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        let call = self.server.call(&self.declared, arguments, context.max_output_bytes, context.timeout);
        outcome(&self.server, call, context).await
    }

    async fn end(&self) {
        self.server.end().await;
    }
}

/// A call whose server asks a person.
struct Held {
    server: Arc<Server>,
    call: Box<Call>,
    form: Form,
}

impl Held {
    fn asks(self, wrong: Option<&str>) -> ToolOutcome {
        let question = self.form.question(&self.server.settings().name, wrong);
        ToolOutcome::Midway(Midway::new(question, Box::new(self)))
    }
}

#[async_trait]
impl HeldCall for Held {
    async fn go_on(mut self: Box<Self>, answer: Option<&str>, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        let result = match self.form.result(answer) {
            Ok(result) => result,
            Err(wrong) => return Ok(self.asks(Some(&wrong))),
        };
        let Self { server, call, .. } = *self;
        outcome(&server, server.go_on(*call, result, context.timeout), context).await
    }
}

/// What a call led to, for the run.
async fn outcome(
    server: &Arc<Server>,
    call: impl Future<Output = Result<Step, Trouble>>,
    context: &ToolContext,
) -> Result<ToolOutcome, ToolFault> {
    let step = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return Err(ToolFault::Cancelled),
        step = call => step,
    };
    match step {
        Ok(Step::Ended(Answer::Result(text, pictures))) if pictures.is_empty() => Ok(ToolOutcome::Output(text)),
        Ok(Step::Ended(Answer::Result(text, pictures))) => Ok(ToolOutcome::Pictures(text, pictures)),
        Ok(Step::Ended(Answer::Failed(text))) => Ok(ToolOutcome::Failed(text)),
        Ok(Step::Asks(call, form)) => Ok(Held { server: Arc::clone(server), call, form }.asks(None)),
        Err(trouble) => trouble.outcome(),
    }
}
