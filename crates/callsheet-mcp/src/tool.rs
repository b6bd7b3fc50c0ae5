//! Offers a server's tool as a tool of a run.

use std::sync::Arc;

use async_trait::async_trait;
use callsheet_core::nouns::ToolSpec;
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use serde_json::Value;

use crate::declared::DeclaredTool;
use crate::results::Answer;
use crate::server::Server;

struct ServerTool {
    server: Arc<Server>,
    declared: DeclaredTool,
    spec: ToolSpec,
}

/// The confirmed tools of a server, as tools of a run. This does not start the server.
pub fn server_tools(server: Server, confirmed: Vec<DeclaredTool>) -> Vec<Arc<dyn Tool>> {
    let server = Arc::new(server);
    let tool = |declared: DeclaredTool| {
        let spec = declared.spec(server.settings());
        Arc::new(ServerTool { server: Arc::clone(&server), declared, spec }) as Arc<dyn Tool>
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
        let answered = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(ToolFault::Cancelled),
            answered = call => answered,
        };
        match answered {
            Ok(Answer::Result(text)) => Ok(ToolOutcome::Output(text)),
            Ok(Answer::Failed(text)) => Ok(ToolOutcome::Failed(text)),
            Err(trouble) => trouble.outcome(),
        }
    }

    async fn end(&self) {
        self.server.end().await;
    }
}
