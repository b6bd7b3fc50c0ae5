//! A server of a run: started at the first call, started again if it ended, ended with the run.

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
    /// A server. Starts nothing. Its program starts only as long as its files are these.
    pub fn new(settings: ServerSettings, ground: Ground, files: Files) -> Self {
        Self { settings, ground, files, state: Mutex::default() }
    }

    /// What it was made from.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// The tools that it declares now.
    ///
    /// # Errors
    /// It cannot be reached, or does not answer.
    pub async fn tools(&self) -> Result<Vec<DeclaredTool>, Trouble> {
        let listed = async { self.connection().await?.tools().await };
        let late = Trouble::Slow { server: self.settings.name.clone(), seconds: self.settings.start.as_secs() };
        let tools = tokio::time::timeout(self.settings.start, listed).await.map_err(|_| late)??;
        Ok(tools.to_vec())
    }

    /// Calls a tool. A server that does not answer in time is ended, since later calls would wait as well.
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

    /// Ends what it started.
    pub async fn end(&self) {
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.end().await;
        }
    }

    async fn drop_connection(&self) {
        // A call that waits for it ends with an error, and the last one to let go of it kills the process.
        drop(self.state.lock().await.connection.take());
    }

    /// The connection, made if there is none.
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
