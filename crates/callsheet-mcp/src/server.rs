//! A server of a run. It starts at the first call, starts again if it has ended, and ends with the run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ElicitResult, ResourceContents};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::call::{Call, Step};
use crate::connection::Connection;
use crate::declared::DeclaredTool;
use crate::ground::{Files, Ground};
use crate::limits::STARTS;
use crate::settings::ServerSettings;
use crate::trouble::Trouble;

/// A server.
pub struct Server {
    settings: ServerSettings,
    ground: Ground,
    files: Files,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    starts: usize,
}

impl Server {
    /// A server. This starts nothing. Later, the program starts only while its files match `files`.
    pub fn new(settings: ServerSettings, ground: Ground, files: Files) -> Self {
        Self { settings, ground, files, state: Mutex::default() }
    }

    /// The settings of the server.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// The tools that the server declares now.
    ///
    /// # Errors
    /// The server cannot be reached, or does not answer.
    pub async fn tools(&self) -> Result<Vec<DeclaredTool>, Trouble> {
        let tools = self.within_start(async { self.connection().await?.tools().await }).await?;
        Ok(tools.to_vec())
    }

    /// The addresses of the resources that the server lists.
    pub(crate) async fn resources(&self) -> Result<BTreeSet<String>, Trouble> {
        self.within_start(async { self.connection().await?.resources().await }).await
    }

    /// The contents of a resource.
    pub(crate) async fn resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Trouble> {
        self.within_start(async { self.connection().await?.resource(uri).await }).await
    }

    async fn within_start<T>(&self, work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        let late = Trouble::Slow { server: self.settings.name.clone(), seconds: self.settings.start.as_secs() };
        tokio::time::timeout(self.settings.start, work).await.map_err(|_| late)?
    }

    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        tool: &DeclaredTool,
        arguments: &Value,
        cap: usize,
        time: Duration,
    ) -> Result<Step, Trouble> {
        let call = async { self.connection().await?.call(tool, arguments, cap).await };
        self.in_time(call, time).await
    }

    /// Goes on with a call.
    pub(crate) async fn go_on(&self, call: Call, answer: ElicitResult, time: Duration) -> Result<Step, Trouble> {
        self.in_time(call.go_on(answer), time).await
    }

    /// Waits for a server. Ends one that does not answer in time, because later calls would also wait.
    async fn in_time(
        &self,
        call: impl Future<Output = Result<Step, Trouble>>,
        time: Duration,
    ) -> Result<Step, Trouble> {
        match tokio::time::timeout(time, call).await {
            Ok(Err(trouble @ (Trouble::Ended { .. } | Trouble::Flood { .. }))) => {
                self.drop_connection().await;
                Err(trouble)
            }
            Ok(answered) => answered,
            Err(_) => {
                self.drop_connection().await;
                Err(Trouble::Slow { server: self.settings.name.clone(), seconds: time.as_secs() })
            }
        }
    }

    /// Closes the connection and ends the process, if there is one.
    pub async fn end(&self) {
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.end().await;
        }
    }

    async fn drop_connection(&self) {
        // Calls that still wait on this connection fail. When the last of them drops it, the process is killed.
        drop(self.state.lock().await.connection.take());
    }

    /// The connection. Opens one if there is none.
    async fn connection(&self) -> Result<Arc<Connection>, Trouble> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|connection| !connection.is_over()) {
            return Ok(Arc::clone(connection));
        }
        state.connection = None;
        let server = || self.settings.name.clone();
        if state.starts >= STARTS {
            let reason = format!("it was started {STARTS} times in this run and ended each time.");
            return Err(Trouble::Unusable { server: server(), reason });
        }
        state.starts = state.starts.saturating_add(1);
        let opened = Connection::open(&self.settings, &self.ground, &self.files);
        let seconds = self.settings.start.as_secs();
        let late = |_| Trouble::Unusable {
            server: server(),
            reason: format!("it did not start within {seconds} s (mcp.{}.start_seconds).", server()),
        };
        let connection = Arc::new(tokio::time::timeout(self.settings.start, opened).await.map_err(late)??);
        state.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }
}
