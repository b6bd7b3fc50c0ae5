//! All keys of a configuration file: the type, whether an untrusted project may set it, and the description for
//! `doctor` and the documentation.

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number, at least 0.
    Count,
    /// A whole number, at least 1.
    AtLeastOne,
    /// A number, at least 0.
    Number,
    /// A number above 0 and up to 1.
    Share,
    /// `true` or `false`.
    Flag,
    /// A list of texts.
    List,
    /// One of these words.
    Word(&'static [&'static str]),
    /// What happens at a gate if nobody can answer: a word, or slugs of tasks.
    Headless,
    /// A program and its arguments: a list, or a text of words.
    Command,
}

/// Which files may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetBy {
    /// The file of any project.
    AnyProject,
    /// The file of a project that the user trusts.
    TrustedProject,
    /// Only the user's file.
    User,
}

/// A key. `*` in its name stands for a name that the user chooses.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The dotted name.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// Which files may set it.
    pub set_by: SetBy,
    /// The description.
    pub about: &'static str,
    /// The field of the settings that it sets, if the field has another name.
    pub field: Option<&'static str>,
}

impl Key {
    const fn sets(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }
}

const fn open(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, set_by: SetBy::AnyProject, about, field: None }
}

const fn guarded(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, set_by: SetBy::TrustedProject, about, field: None }
}

const fn own(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, set_by: SetBy::User, about, field: None }
}

const POLICY: Kind = Kind::Word(&["auto", "always", "never"]);
const DIALECT: Kind =
    Kind::Word(&["openai", "openai-responses", "anthropic", "gemini", "ollama", "llamacpp", "scripted", "embedded"]);

/// All keys.
pub const KEYS: &[Key] = &[
    guarded("model", Kind::Text, "model for every phase: PROVIDER/MODEL, embedded:PATH or scripted:FILE"),
    guarded("models.plan", Kind::Text, "model that plans"),
    guarded("models.refine", Kind::Text, "model that refines tasks"),
    guarded("models.execute", Kind::Text, "model that executes tasks"),
    guarded("models.iterate", Kind::Text, "model that reviews the task list after a round"),
    guarded("providers.*.dialect", DIALECT, "wire format of a provider"),
    guarded("providers.*.base_url", Kind::Text, "address of the provider"),
    guarded("providers.*.api_key_env", Kind::Text, "name of the environment variable with the API key"),
    guarded("providers.*.slots", Kind::Count, "requests that the provider accepts in parallel"),
    guarded("providers.*.window", Kind::AtLeastOne, "context window in tokens"),
    guarded(
        "providers.*.vision",
        Kind::Flag,
        "whether its models see pictures; by default as its server or the table of vendors says",
    ),
    guarded(
        "providers.*.first_byte_seconds",
        Kind::AtLeastOne,
        "seconds a provider may be silent before a reply begins; default 120",
    ),
    guarded(
        "providers.*.idle_seconds",
        Kind::AtLeastOne,
        "seconds a provider may be silent within a reply; default 120",
    ),
    guarded("providers.*.constrain", Kind::Flag, "false: do not constrain replies with grammars and schemas"),
    guarded("providers.*.sampling", Kind::Flag, "false: send neither temperature nor seed"),
    guarded(
        "providers.*.omit",
        Kind::List,
        "parameters not to send, such as seed; system: its text goes into the first message",
    ),
    guarded(
        "providers.*.max_tokens_name",
        Kind::Text,
        "name of the provider's parameter for the limit of a reply; by default max_tokens",
    ),
    guarded("providers.*.max_output", Kind::AtLeastOne, "largest limit of a reply in tokens that the provider accepts"),
    guarded("providers.*.price_input", Kind::Number, "US dollars per million input tokens"),
    guarded(
        "providers.*.price_cached_input",
        Kind::Number,
        "US dollars per million input tokens that the provider had cached; by default as other input",
    ),
    guarded("providers.*.price_output", Kind::Number, "US dollars per million output tokens"),
    open("max_rounds", Kind::AtLeastOne, "limit on rounds"),
    open(
        "jobs",
        Kind::AtLeastOne,
        "number of parallel work units; by default 4, or one above the slots of the model's provider",
    ),
    open("attempts", Kind::AtLeastOne, "attempts per phase"),
    open("comm_tries", Kind::AtLeastOne, "sends per attempt, for communication failures"),
    open("plan", POLICY, "whether a request is planned; auto: unless it is one task"),
    open("refine", POLICY, "when to refine tasks before they run"),
    open(
        "sections",
        Kind::Word(&["dependencies", "strict"]),
        "order of task sections; dependencies: a task that only reads starts when its inputs exist and no earlier task that changes files is unfinished",
    ),
    open("iterate", POLICY, "when to review the task list after a round"),
    open("merge", Kind::Word(&["code", "model"]), "how to merge several runs of a task into one result"),
    open("review", POLICY, "whether a model reviews each result; auto: it does not"),
    open(
        "join",
        POLICY,
        "whether a model writes one answer from several results; auto: when a model planned their tasks",
    ),
    open(
        "temperature",
        Kind::Number,
        "sampling temperature of executions; other calls use 0, attempts after the first at least 0.3",
    ),
    open("seed", Kind::Count, "sampling seed, raised by 1 with each attempt"),
    guarded("approval.mode", Kind::Word(&["both", "before-run", "before-apply", "never"]), "when to ask for approval")
        .sets("approval"),
    guarded("approval.headless", Kind::Headless, "what to do when an approval is needed and nobody can answer")
        .sets("headless"),
    guarded("allow_http", Kind::Flag, "allow http(s) references and fetch_url"),
    own("mcp.*.command", Kind::Command, "program of an MCP server and its arguments; it runs outside the sandbox"),
    own("mcp.*.args", Kind::List, "further arguments of the program"),
    own("mcp.*.env.*", Kind::Text, "variable that the program sees; `${NAME}` means a variable of yours"),
    own(
        "mcp.*.cwd",
        Kind::Text,
        "folder that the program starts in; a relative one is below the project; by default an empty one of Callsheet",
    ),
    own("mcp.*.url", Kind::Text, "address of an MCP server that speaks streamable HTTP"),
    own("mcp.*.headers.*", Kind::Text, "header of every request to the address; `${NAME}` means a variable of yours"),
    own("mcp.*.client_id", Kind::Text, "client that logs in at the address; by default Callsheet registers itself"),
    own("mcp.*.client_secret", Kind::Text, "secret of that client; `${NAME}` means a variable of yours"),
    own("mcp.*.callback_port", Kind::AtLeastOne, "port to which your browser comes back after a login; default any"),
    own("mcp.*.read", Kind::List, "tools of the server that only read; calls of all others wait for your approval"),
    own("mcp.*.start_seconds", Kind::AtLeastOne, "seconds that the server may take to start; default 60"),
    guarded("read_roots", Kind::List, "folders outside the project that tasks may read"),
    own(
        "log.file",
        Kind::Text,
        "file for a log of JSON lines, relative to the folder of this file; CALLSHEET_LOG says what is logged; default none",
    ),
    own(
        "notify",
        Kind::List,
        "program and arguments that tell you when a run waits for you or has ended while nobody looks; Callsheet adds a sentence as the last argument",
    ),
    own(
        "tools.caches",
        Kind::List,
        "folders outside the project that approved commands may write to, such as `~/.cache`; default none",
    ),
    own(
        "tools.shown",
        Kind::List,
        "your folders and files that commands may read, in addition to the project and the programs they need",
    ),
    own("tools.environment", Kind::List, "names of further environment variables that commands see"),
    own(
        "tools.hosts",
        Kind::List,
        "hosts that commands may connect to, such as `crates.io`, `*.npmjs.org` or `localhost:5432`; default none",
    ),
    own(
        "tools.memory_mb",
        Kind::AtLeastOne,
        "limit on the memory of all processes of a command together, in MiB; default three quarters of the machine's memory",
    ),
    own(
        "tools.cpu_seconds",
        Kind::AtLeastOne,
        "limit on the processor time of all processes of a command together, in seconds; default none, because its time limit ends it",
    ),
    own(
        "tools.contained",
        Kind::Flag,
        "true: a container around Callsheet confines commands if the system does not allow them a sandbox of their own",
    ),
    guarded(
        "checks.*",
        Kind::Command,
        "command that checks the changes of skills that name it, on a copy of the project",
    ),
    guarded(
        "hooks.pre-plan.*",
        Kind::Command,
        "command that is asked before a run or a follow-up begins; a code other than 0 refuses it",
    ),
    guarded(
        "hooks.pre-tool.*",
        Kind::Command,
        "command that is asked before each tool call; a code other than 0 refuses the call",
    ),
    guarded(
        "hooks.pre-write.*",
        Kind::Command,
        "command that is asked before changes are written; a code other than 0 refuses them",
    ),
    guarded("hooks.post-task.*", Kind::Command, "command that runs after a task ended"),
    guarded("hooks.run-end.*", Kind::Command, "command that runs after a run ended or began to wait for you"),
    guarded("hooks.timeout_seconds", Kind::AtLeastOne, "time limit of a hook, in seconds; default 30"),
    open("skills", Kind::List, "limit plans to these skills"),
    open("strict", Kind::Flag, "treat warnings as errors"),
    open(
        "pace",
        Kind::Number,
        "share of its recorded time that each reply takes with --replay; 1 is the recorded speed, 0 (the default) replies at once",
    ),
    open("strict_subtask_context", Kind::Flag, "subtasks of templates inherit no context by default"),
    guarded("subtask_tools.*.description", Kind::Text, "description for models of a tool whose calls become subtasks"),
    guarded("subtask_tools.*.template_hints", Kind::List, "names or tags of templates for its subtasks"),
    open("memory.matcher", Kind::Text, "template with which a model chooses among the files found"),
    open("tools.disabled", Kind::List, "disabled tools"),
    open("budget.reference", Kind::Count, "token limit per reference at execution"),
    open("budget.prompt", Kind::Count, "token limit for all references in one prompt"),
    open("budget.material", Kind::Count, "token limit of the files that an unplanned request reads"),
    open("budget.preview", Kind::Count, "token limit per reference at refinement"),
    guarded("limits.max_turns", Kind::Count, "limit on turns of a loop task"),
    guarded("limits.max_context_fraction", Kind::Share, "share of the context window that a prompt may fill"),
    guarded("limits.max_output_bytes", Kind::Count, "limit on bytes of one reply or one process stream"),
    guarded("limits.max_items", Kind::AtLeastOne, "limit on elements of a list that a task goes through; default 1000"),
    guarded("limits.max_calls", Kind::Count, "limit on model calls per run"),
    guarded("limits.max_tokens", Kind::Count, "limit on tokens per run, input plus output"),
    guarded("limits.max_cost_usd", Kind::Number, "limit on cost per run, in US dollars"),
    guarded(
        "limits.day_cost_usd",
        Kind::Number,
        "limit on cost of all runs of a project within 24 hours, in US dollars",
    ),
    guarded("limits.allow_unpriced", Kind::Flag, "use models without a known price under a limit on cost"),
    guarded("limits.timeout_seconds", Kind::Count, "time limit per task, in seconds"),
    guarded("limits.run_timeout_seconds", Kind::Count, "time limit per run, in seconds"),
    guarded("limits.warning_threshold", Kind::Share, "share of a limit at which Callsheet warns you"),
];

/// The values of `approval.headless` that a file or variable may set. Other values can only be set by a flag, for one
/// run.
pub(super) const STANDING_HEADLESS: &[&str] = &["stop", "deny"];

/// The key for a dotted name.
pub fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| {
        let mut pattern = key.name.split('.');
        let mut parts = name.split('.');
        loop {
            match (pattern.next(), parts.next()) {
                (None, None) => return true,
                (Some("*"), Some(part)) if !part.is_empty() => {}
                (Some(wanted), Some(part)) if wanted == part => {}
                _ => return false,
            }
        }
    })
}
