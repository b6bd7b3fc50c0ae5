//! A server of a run. It starts at the first call, starts again if it has ended, and ends with the run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;

use crate::connection::Connection;
use crate::declared::DeclaredTool;
use crate::ground::{Files, Ground};
use crate::limits::STARTS;
use crate::results::Answer;
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
        let listed = async { self.connection().await?.tools().await };
        let late = Trouble::Slow { server: self.settings.name.clone(), seconds: self.settings.start.as_secs() };
        let tools = tokio::time::timeout(self.settings.start, listed).await.map_err(|_| late)??;
        Ok(tools.to_vec())
    }

    /// Calls a tool. Ends a server that does not answer in time, because later calls would also wait.
    pub(crate) async fn call(
        &self,
        tool: &DeclaredTool,
        arguments: &Value,
        cap: usize,
        time: Duration,
    ) -> Result<Answer, Trouble> {
        let call = async {
            let connection = self.connection().await?;
            connection.call(tool, arguments, cap).await
        };
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
