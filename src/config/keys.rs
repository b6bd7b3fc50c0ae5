//! Every key a configuration file may set: its type, whether an untrusted project may set it, and the words `doctor`
//! and the documentation show.

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
    /// A number above 0 and at most 1.
    Share,
    /// `true` or `false`.
    Flag,
    /// A list of texts.
    List,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text or a list of texts.
    TextOrList,
}

/// One key. `*` in the name stands for a name chosen by the user.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted name.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Ignored in the file of a project that is not trusted.
    pub needs_trust: bool,
    /// What it means.
    pub about: &'static str,
    /// The field of the settings that it sets, where that has another name.
    pub field: Option<&'static str>,
}

impl Key {
    const fn sets(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }
}

const fn open(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, needs_trust: false, about, field: None }
}

const fn guarded(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, needs_trust: true, about, field: None }
}

const POLICY: Kind = Kind::Word(&["auto", "always", "never"]);
const DIALECT: Kind =
    Kind::Word(&["openai", "openai-responses", "anthropic", "gemini", "ollama", "llamacpp", "scripted", "embedded"]);

/// All keys.
pub const KEYS: &[Key] = &[
    guarded("model", Kind::Text, "model of every phase: PROVIDER/MODEL, embedded:PATH or scripted:FILE"),
    guarded("models.plan", Kind::Text, "model that plans"),
    guarded("models.refine", Kind::Text, "model that refines tasks"),
    guarded("models.execute", Kind::Text, "model that executes tasks"),
    guarded("models.iterate", Kind::Text, "model that looks at the list after a round"),
    guarded("providers.*.dialect", DIALECT, "wire format of a provider"),
    guarded("providers.*.base_url", Kind::Text, "where it answers"),
    guarded("providers.*.api_key_env", Kind::Text, "name of the environment variable that holds its key"),
    guarded("providers.*.slots", Kind::Count, "requests it takes at once"),
    guarded("providers.*.window", Kind::AtLeastOne, "context window, tokens"),
    guarded("providers.*.first_byte_seconds", Kind::AtLeastOne, "silence before an answer begins, 120"),
    guarded("providers.*.idle_seconds", Kind::AtLeastOne, "silence in an answer that has begun, 120"),
    guarded("providers.*.constrain", Kind::Flag, "false: ask without grammars and schemas, for looking at models"),
    guarded("providers.*.price_input", Kind::Number, "US dollars for a million tokens read"),
    guarded("providers.*.price_output", Kind::Number, "US dollars for a million tokens written"),
    open("max_rounds", Kind::AtLeastOne, "rounds at most"),
    open("jobs", Kind::AtLeastOne, "work units in flight"),
    open("attempts", Kind::AtLeastOne, "tries of a phase"),
    open("comm_tries", Kind::AtLeastOne, "sends inside one try, for communication failures"),
    open("refine", POLICY, "when tasks are refined before they run"),
    open("iterate", POLICY, "when the list is looked at again after a round"),
    open("merge", Kind::Word(&["code", "model"]), "how several runs of a task become one result"),
    guarded(
        "approval.mode",
        Kind::Word(&["both", "before-run", "before-apply", "never"]),
        "when to ask before something is changed",
    )
    .sets("approval"),
    guarded("approval.headless", Kind::TextOrList, "what to do at a gate when nobody can be asked").sets("headless"),
    guarded("allow_http", Kind::Flag, "http(s) references may be read, and pages fetched by fetch_url"),
    guarded("read_roots", Kind::List, "folders outside the project that may be read"),
    open("skills", Kind::List, "offer only these skills"),
    open("strict", Kind::Flag, "warnings count as errors"),
    open("strict_subtask_context", Kind::Flag, "subtasks of templates inherit nothing of their own accord"),
    guarded("subtask_tools.*.description", Kind::Text, "what models read of a tool whose calls are subtasks"),
    guarded("subtask_tools.*.template_hints", Kind::List, "names or tags of templates that its subtasks use"),
    open("memory.matcher", Kind::Text, "template by which a model chooses among files that were looked up"),
    open("tools.disabled", Kind::List, "tools that are switched off"),
    open("budget.reference", Kind::Count, "tokens of one reference at execution"),
    open("budget.prompt", Kind::Count, "tokens of all references of one prompt"),
    open("budget.preview", Kind::Count, "tokens of one reference at refinement"),
    guarded("limits.max_turns", Kind::Count, "turns of a loop task"),
    guarded("limits.max_context_fraction", Kind::Share, "share of the model's window a prompt may fill"),
    guarded("limits.max_output_bytes", Kind::Count, "bytes of one reply or one stream of a process"),
    guarded("limits.max_calls", Kind::Count, "model calls of a run"),
    guarded("limits.max_tokens", Kind::Count, "tokens of a run, read and written"),
    guarded("limits.max_cost_usd", Kind::Number, "US dollars of a run"),
    guarded("limits.timeout_seconds", Kind::Count, "seconds of one task"),
    guarded("limits.run_timeout_seconds", Kind::Count, "seconds of a run"),
    guarded("limits.warning_threshold", Kind::Share, "share of a limit at which you are told"),
];

/// What `approval.headless` may be in a file or variable; more is given by a flag, for one run.
pub(super) const STANDING_HEADLESS: &[&str] = &["stop", "deny"];

/// The key that a dotted name means.
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
