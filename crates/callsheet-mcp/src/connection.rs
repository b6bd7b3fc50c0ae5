//! One connection to a server: opens it, sends requests and closes it.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, Weak};

use callsheet_core::visible::visible_line;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, Request, RequestOptionalParam, ResourceContents, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer, RequestContext, RoleClient, RunningService,
    ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::common::client_side_sse::FixedInterval;
use rmcp::transport::streamable_http_client::{InsufficientScopeError, StreamableHttpClientTransportConfig};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::call::{Call, Step};
use crate::declared::DeclaredTool;
use crate::flow::{Flow, Metered};
use crate::form::Form;
use crate::ground::{Files, Ground};
use crate::http::{MeteredClient, use_tls};
use crate::limits::{ERROR, FAREWELL, MESSAGE, PAGES, REOPEN, REOPENED, RESOURCES, SCOPE, TOOLS};
use crate::login::authorized;
use crate::process::Process;
use crate::settings::{Reach, ServerAddress, ServerSettings};
use crate::trouble::Trouble;

/// A question that a server asks during a call, and the way to answer it.
pub(crate) struct Asked {
    pub form: Form,
    pub answer: oneshot::Sender<ElicitResult>,
}

/// Receives what a server sends by itself. A server can announce that its tools changed, and ask a person during a
/// call.
struct Listener {
    changed: Arc<AtomicBool>,
    /// Held by the connection and by each open call.
    calls: Weak<()>,
    questions: mpsc::Sender<Asked>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("callsheet", env!("CARGO_PKG_VERSION"));
        let mut able = ClientCapabilities::default();
        let form = FormElicitationCapability::new().with_schema_validation(true);
        able.elicitation = Some(ElicitationCapability::new().with_form(form));
        ClientConfig::new(able, own)
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let declined = ElicitResult::new(ElicitationAction::Decline);
        let (answer, answered) = oneshot::channel();
        let has_call = self.calls.strong_count() > 1;
        let Some(form) = Form::of(asked).filter(|_| has_call) else { return Ok(declined) };
        if self.questions.send(Asked { form, answer }).await.is_err() {
            return Ok(declined);
        }
        Ok(answered.await.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::SeqCst);
    }
}

/// A connection to a server.
pub(crate) struct Connection {
    server: String,
    service: RunningService<RoleClient, Listener>,
    /// The process of the server. `None` if the server has an address.
    process: Option<Mutex<Process>>,
    flow: Flow,
    changed: Arc<AtomicBool>,
    tools: StdMutex<Option<Arc<Vec<DeclaredTool>>>>,
    /// Cloned by each open call.
    calls: Arc<()>,
    questions: Mutex<mpsc::Receiver<Asked>>,
}

impl Connection {
    /// Connects. The library waits only ten seconds for the first answer in the newer revision, which is not enough for
    /// a server that starts slowly. So if the first attempt fails, a second one uses the older revision alone.
    pub(crate) async fn open(settings: &ServerSettings, ground: &Ground, files: &Files) -> Result<Self, Trouble> {
        match Self::attempt(settings, ground, files, either_revision()).await {
            Err(Trouble::Unusable { .. }) => {
                Self::attempt(settings, ground, files, ClientLifecycleMode::Initialize).await
            }
            connected => connected,
        }
    }

    async fn attempt(
        settings: &ServerSettings,
        ground: &Ground,
        files: &Files,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, Trouble> {
        let changed = Arc::new(AtomicBool::new(false));
        let (calls, (sender, questions)) = (Arc::new(()), mpsc::channel(1));
        let listener = Listener { changed: Arc::clone(&changed), calls: Arc::downgrade(&calls), questions: sender };
        let flow = Flow::default();
        let unusable = |reason: String| Trouble::Unusable { server: settings.name.clone(), reason };
        let (served, process) = match &settings.reach {
            Reach::Program(program) => {
                unaltered(settings, ground, files)?;
                let started = Process::start(settings, program, ground);
                let (process, stdout, stdin) =
                    started.map_err(|error| unusable(format!("`{}` did not start: {error}.", program.command)))?;
                let transport = AsyncRwTransport::new_client(Metered::new(stdout, flow.clone()), stdin)
                    .with_max_line_length(MESSAGE);
                (serve_client_with_lifecycle(listener, transport, lifecycle).await, Some(process))
            }
            Reach::Address(address) => {
                let client = MeteredClient::new(http_client().map_err(unusable)?, flow.clone());
                let config = config(address).map_err(unusable)?;
                let login = authorized(settings, address, &ground.logins).await.map_err(unusable)?;
                let served = match login {
                    Some(login) => {
                        let client = AuthClient::new(client, login);
                        let transport = StreamableHttpClientTransport::with_client(client, config);
                        serve_client_with_lifecycle(listener, transport, lifecycle).await
                    }
                    None => {
                        let transport = StreamableHttpClientTransport::with_client(client, config);
                        serve_client_with_lifecycle(listener, transport, lifecycle).await
                    }
                };
                (served, None)
            }
        };
        let server = settings.name.clone();
        match (served, process) {
            (Ok(service), process) => {
                let process = process.map(Mutex::new);
                let (tools, questions) = (StdMutex::default(), Mutex::new(questions));
                Ok(Self { server, service, process, flow, changed, tools, calls, questions })
            }
            (Err(error), _) if lacking_scope(&error).is_some() => {
                Err(Trouble::Scope { server, scope: lacking_scope(&error).unwrap_or_default() })
            }
            (Err(error), _) if error.is_authorization_required() => Err(Trouble::Login { server }),
            (Err(_), _) if flow.is_over() => Err(Trouble::Flood { server }),
            (Err(error), process) => {
                let said = match process {
                    Some(mut process) => format!(" ({})", process.said().await),
                    None => String::new(),
                };
                Err(unusable(format!("it did not answer as an MCP server: {}{said}.", initial(&error))))
            }
        }
    }

    /// Whether the connection can no longer be used.
    pub(crate) fn is_over(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed() || self.flow.is_over()
    }

    /// The tools that the server declares. They are requested once, and again after the server says that they changed.
    pub(crate) async fn tools(&self) -> Result<Arc<Vec<DeclaredTool>>, Trouble> {
        let known = self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some(known) if !self.changed.load(Ordering::SeqCst) => return Ok(known),
            _ => {}
        }
        // The flag is cleared first, because the tools may change again during the request. If the request fails or is
        // dropped, `again` sets the flag.
        self.changed.store(false, Ordering::SeqCst);
        let again = Again { changed: &self.changed, is_needed: true };
        let tools = Arc::new(self.listed().await?);
        again.came();
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&tools));
        Ok(tools)
    }

    async fn listed(&self) -> Result<Vec<DeclaredTool>, Trouble> {
        self.flow.begin();
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let (listed, next) = self.page(page).await?;
            tools.extend(listed.into_iter().map(DeclaredTool::of));
            cursor = next;
            if cursor.is_none() && tools.len() <= TOOLS {
                return Ok(tools);
            }
            if tools.len() > TOOLS {
                break;
            }
        }
        let reason = format!("it lists more than {TOOLS} tools, or more than {PAGES} pages of them.");
        Err(Trouble::Unusable { server: self.server.clone(), reason })
    }

    /// A page of the list, and the cursor of the next page. Tools are returned as plain JSON, so one malformed tool
    /// does not invalidate the others.
    async fn page(&self, page: PaginatedRequestParams) -> Result<(Vec<Value>, Option<String>), Trouble> {
        let request = ClientRequest::ListToolsRequest(RequestOptionalParam::with_param(page));
        let result = match self.asked(self.service.peer().send_request(request)).await? {
            ServerResult::ListToolsResult(result) => serde_json::to_value(result).unwrap_or_default(),
            ServerResult::CustomResult(result) => result.0,
            _ => Value::Null,
        };
        let Some(tools) = result.get("tools").and_then(Value::as_array) else {
            let reason = "its answer contains no list of tools.".to_owned();
            return Err(Trouble::Unusable { server: self.server.clone(), reason });
        };
        let next = result.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        Ok((tools.clone(), next))
    }

    /// The addresses of the resources that the server lists.
    pub(crate) async fn resources(&self) -> Result<BTreeSet<String>, Trouble> {
        self.flow.begin();
        let mut listed = BTreeSet::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ClientRequest::ListResourcesRequest(RequestOptionalParam::with_param(page));
            let ServerResult::ListResourcesResult(page) = self.asked(self.peer().send_request(request)).await? else {
                return Err(Trouble::Odd { server: self.server.clone() });
            };
            listed.extend(page.resources.into_iter().map(|resource| resource.uri.clone()));
            cursor = page.next_cursor;
            if cursor.is_none() && listed.len() <= RESOURCES {
                return Ok(listed);
            }
            if listed.len() > RESOURCES {
                break;
            }
        }
        let reason = format!("it lists more than {RESOURCES} resources, or more than {PAGES} pages of them.");
        Err(Trouble::Unusable { server: self.server.clone(), reason })
    }

    /// The contents of a resource.
    pub(crate) async fn resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Trouble> {
        self.flow.begin();
        let request = ClientRequest::ReadResourceRequest(Request::new(ReadResourceRequestParams::new(uri)));
        match self.asked(self.peer().send_request(request)).await? {
            ServerResult::ReadResourceResult(result) => Ok(result.contents),
            ServerResult::InputRequiredResult(_) => Err(Trouble::AsksBack { server: self.server.clone() }),
            _ => Err(Trouble::Odd { server: self.server.clone() }),
        }
    }

    /// The answer to a request. Fails if the server sends too much data before it.
    pub(crate) async fn asked<T>(&self, request: impl Future<Output = Result<T, ServiceError>>) -> Result<T, Trouble> {
        let answered = tokio::select! {
            biased;
            () = self.flow.exceeded() => return Err(Trouble::Flood { server: self.server.clone() }),
            answered = request => answered,
        };
        match answered {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.trouble(error).await),
        }
    }

    /// Begins a call of a tool, if the server still declares it exactly as the person confirmed it.
    pub(crate) async fn call(
        self: Arc<Self>,
        tool: &DeclaredTool,
        arguments: &Value,
        cap: usize,
    ) -> Result<Step, Trouble> {
        let (server, name) = (self.server.clone(), tool.name.clone());
        match self.tools().await?.iter().find(|now| now.name == tool.name) {
            None => return Err(Trouble::Gone { server, tool: name }),
            Some(now) if now != tool => return Err(Trouble::Changed { server, tool: name }),
            Some(_) => {}
        }
        self.flow.begin();
        Call::begin(self, name, arguments, cap).await
    }

    /// The name of the server.
    pub(crate) fn name(&self) -> &str {
        &self.server
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Counts a call as open until the returned value is dropped.
    pub(crate) fn begins_call(&self) -> Arc<()> {
        Arc::clone(&self.calls)
    }

    /// The next question that the server asks during a call.
    pub(crate) async fn question(&self) -> Asked {
        match self.questions.lock().await.recv().await {
            Some(asked) => asked,
            // The connection is over, which ends the call.
            None => std::future::pending().await,
        }
    }

    async fn trouble(&self, error: ServiceError) -> Trouble {
        let server = self.server.clone();
        if self.flow.is_over() {
            return Trouble::Flood { server };
        }
        if let Some(scope) = lacking_scope(&error) {
            return Trouble::Scope { server, scope };
        }
        if error.is_authorization_required() {
            return Trouble::Login { server };
        }
        match (error, &self.process) {
            (ServiceError::McpError(error), _) => Trouble::Refused { server, error: clipped(&error.message) },
            (ServiceError::TransportClosed | ServiceError::TransportSend(_), Some(process)) => {
                Trouble::Ended { server, said: process.lock().await.said().await }
            }
            (ServiceError::TransportSend(error), None) => Trouble::Ended { server, said: chain(&*error.error) },
            (error, _) => Trouble::Ended { server, said: chain(&error) },
        }
    }

    /// Closes the connection and ends the process.
    pub(crate) async fn end(self) {
        let Self { mut service, process, .. } = self;
        // This closes the stdin of the process.
        let _closed = service.close_with_timeout(FAREWELL).await;
        drop(service);
        if let Some(process) = process {
            process.into_inner().end().await;
        }
    }
}

/// Requests the tools again later, unless `came` says that a list came.
struct Again<'a> {
    changed: &'a AtomicBool,
    is_needed: bool,
}

impl Again<'_> {
    fn came(mut self) {
        self.is_needed = false;
    }
}

impl Drop for Again<'_> {
    fn drop(&mut self) {
        if self.is_needed {
            self.changed.store(true, Ordering::SeqCst);
        }
    }
}

/// Checks that the files of a server's program are as the person confirmed them.
fn unaltered(settings: &ServerSettings, ground: &Ground, files: &Files) -> Result<(), Trouble> {
    let now = ground.files(settings);
    let differs = |path: &&PathBuf| now.get(*path) != files.get(*path);
    let paths: BTreeSet<&PathBuf> = now.keys().chain(files.keys()).filter(differs).collect();
    let shown = |path: &&PathBuf| {
        let path = path.strip_prefix(&ground.project).unwrap_or(path);
        visible_line(&path.display().to_string())
    };
    let names: Vec<String> = paths.iter().map(shown).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(Trouble::Altered { server: settings.name.clone(), files: names.join(", ") }),
    }
}

/// Offers both revisions of the protocol: the newer one without sessions, and the older one with a handshake.
fn either_revision() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

pub(crate) fn http_client() -> Result<reqwest::Client, String> {
    use_tls();
    let redirects = reqwest::redirect::Policy::none();
    reqwest::Client::builder()
        .redirect(redirects)
        .build()
        .map_err(|error| format!("no HTTP client: {}.", chain(&error)))
}

fn config(address: &ServerAddress) -> Result<StreamableHttpClientTransportConfig, String> {
    let mut headers = HashMap::new();
    for (name, value) in &address.headers {
        let header = reqwest::header::HeaderName::from_bytes(name.as_bytes());
        let value = reqwest::header::HeaderValue::from_str(value);
        let (Ok(header), Ok(mut value)) = (header, value) else {
            return Err(format!("the header `{name}` can't be sent: its name or value is invalid."));
        };
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str()).custom_headers(headers);
    let mut again = FixedInterval::default();
    again.max_times = Some(REOPENED);
    again.duration = REOPEN;
    config.retry_config = Arc::new(again);
    config.max_sse_event_size = MESSAGE;
    config.max_json_response_size = MESSAGE;
    Ok(config)
}

fn initial(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => initial(fallback),
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "its first message was not an answer".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => chain(&*error.error),
        other => chain(other),
    }
}

/// The scope that the login lacks, if that is why the server refused. It is empty if the server does not name it, or
/// names it with characters that a shell could take for something else.
fn lacking_scope(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut source = Some(error);
    while let Some(current) = source {
        let sent: Option<&(dyn std::error::Error + 'static)> = match current.downcast_ref::<ServiceError>() {
            Some(ServiceError::TransportSend(inner)) => Some(&*inner.error),
            _ => None,
        };
        let inner = sent.or_else(|| match current.downcast_ref::<ClientInitializeError>() {
            Some(ClientInitializeError::TransportError { error, .. }) => Some(&*error.error),
            Some(ClientInitializeError::LegacyFallbackFailed { fallback, .. }) => Some(&**fallback),
            _ => None,
        });
        if let Some(lacking) = current.downcast_ref::<InsufficientScopeError>() {
            let scope = lacking.required_scope.clone().unwrap_or_default();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || " :._-/".contains(c);
            return Some(if scope.len() <= SCOPE && scope.chars().all(is_plain) { scope } else { String::new() });
        }
        source = inner.or_else(|| current.source());
    }
    None
}

/// An error with its causes, without control characters.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text.push_str(&format!(": {words}"));
        }
        cause = inner.source();
    }
    clipped(&text)
}

pub(crate) fn clipped(text: &str) -> String {
    visible_line(&text.chars().take(ERROR).collect::<String>())
}
