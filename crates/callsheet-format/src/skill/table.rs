//! Every key of the front matter of skills: its spellings, its type, and its meaning (spec 7.1, 7.3). The reader uses
//! this table, and the JSON Schemas for editors are built from it.

use super::keys::normal;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// A text.
    Text,
    /// The name of a skill.
    Name,
    /// When to use a skill.
    Description,
    /// Short texts, as a list or one per line.
    Lines,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Names of tools, as a list or in one text.
    Tools,
    /// `PROVIDER/MODEL`.
    Model,
    /// A map of limits.
    Limits,
    /// A map with any content. Callsheet's keys in it begin with `callsheet-`.
    Metadata,
    /// Whatever another program reads. It has no effect here.
    Other,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(super) struct SkillKey {
    /// The reader's name for it.
    pub(super) id: &'static str,
    /// Spellings, the canonical one first. Case, `_` and `-` are ignored.
    pub(super) names: &'static [&'static str],
    /// Type.
    pub(super) kind: KeyKind,
    /// What it means.
    pub(super) about: &'static str,
}

/// One limit of the tasks of a skill.
#[derive(Clone, Copy, Debug)]
pub(super) struct SkillLimit {
    /// The field of `SkillLimits`.
    pub(super) id: &'static str,
    /// Spellings, the canonical one first.
    pub(super) names: &'static [&'static str],
    /// The largest value.
    pub(super) most: u64,
    /// Its meaning and its unit.
    pub(super) about: &'static str,
}

const fn key(id: &'static str, names: &'static [&'static str], kind: KeyKind, about: &'static str) -> SkillKey {
    SkillKey { id, names, kind, about }
}

const fn other(id: &'static str, names: &'static [&'static str]) -> SkillKey {
    key(id, names, KeyKind::Other, "read by other programs; no effect here")
}

const fn limit(id: &'static str, names: &'static [&'static str], most: u64, about: &'static str) -> SkillLimit {
    SkillLimit { id, names, most, about }
}

const NAME: SkillKey =
    key("name", &["name"], KeyKind::Name, "name in the catalog; default: the name of the file or folder");
const DESCRIPTION: SkillKey =
    key("description", &["description"], KeyKind::Description, "when to use the skill; the planner sees only this");

const MODEL: SkillKey =
    key("model", &["model"], KeyKind::Model, "model for its tasks: PROVIDER/MODEL, embedded:PATH or scripted:FILE");
const NAMED_ONLY: SkillKey =
    key("named_only", &["disable-model-invocation"], KeyKind::Flag, "no model chooses the skill; a person can name it");

/// Keys of the single-file form. In the folder form, all but `name` and `description` are in `metadata`.
pub(super) const KEYS: &[SkillKey] = &[
    NAME,
    DESCRIPTION,
    key("examples", &["examples"], KeyKind::Lines, "short requests for which the skill is right"),
    key("tools", &["tools"], KeyKind::Tools, "tools that the skill may use; it gets no others"),
    key(
        "mode",
        &["mode"],
        KeyKind::Word(&["interpret", "loop"]),
        "interpret: calls are fixed before the run; loop: a tool conversation",
    ),
    key(
        "execution",
        &["execution"],
        KeyKind::Word(&["per-call", "together", "per-reference"]),
        "per-call: one evaluation for each tool call or, without calls, one for all references; together: one for \
         everything; per-reference: without calls, one for each reference",
    ),
    key("writes", &["writes", "requires-approval"], KeyKind::Flag, "its tasks need approval"),
    key(
        "refine",
        &["refine"],
        KeyKind::Word(&["auto", "always", "never"]),
        "when to refine its tasks before they run; overrides the run's setting",
    ),
    key("merge", &["merge"], KeyKind::Word(&["code", "model"]), "how to merge several results of a task"),
    key(
        "review",
        &["review"],
        KeyKind::Word(&["auto", "always", "never"]),
        "whether a model reviews each result; overrides the run's setting",
    ),
    key(
        "check",
        &["check"],
        KeyKind::Text,
        "check of its changes: a command's name in `[checks]` of the configuration",
    ),
    key(
        "new_files",
        &["new-files"],
        KeyKind::Word(&["any", "named"]),
        "which files its tasks may create: any, or only those that they name",
    ),
    MODEL,
    NAMED_ONLY,
    key("limits", &["limits"], KeyKind::Limits, "limits for each of its tasks"),
];

/// Keys of the folder form.
pub(super) const FOLDER_KEYS: &[SkillKey] = &[
    NAME,
    DESCRIPTION,
    key("when_to_use", &["when_to_use"], KeyKind::Lines, "more about when to use the skill; follows the description"),
    key("license", &["license"], KeyKind::Text, "its license"),
    key("compatibility", &["compatibility"], KeyKind::Text, "system requirements"),
    key(
        "tools",
        &["allowed-tools"],
        KeyKind::Tools,
        "tools that the skill may use, separated by spaces; without this key it reads at once, and each change and each \
         command waits for approval",
    ),
    MODEL,
    NAMED_ONLY,
    other("argument-hint", &["argument-hint"]),
    other("user-invocable", &["user-invocable"]),
    other("context", &["context"]),
    other("agent", &["agent"]),
    other("version", &["version"]),
    key("metadata", &["metadata"], KeyKind::Metadata, "other programs' keys, and Callsheet's as `callsheet-KEY`"),
];

const SMALL: u64 = u32::MAX as u64;

/// Limits.
pub(super) const LIMITS: &[SkillLimit] = &[
    limit("max_turns", &["turns", "max_turns"], SMALL, "limit on turns of a tool conversation"),
    limit("timeout_seconds", &["timeout-s", "timeout_seconds"], SMALL, "time limit per task, in seconds"),
    limit("max_output_bytes", &["max-output-bytes"], u64::MAX, "limit on bytes of one reply"),
    limit("max_calls", &["max-calls"], SMALL, "limit on model calls per task"),
    limit("max_tokens", &["max-tokens"], u64::MAX, "limit on tokens per task, input plus output"),
    limit("parallel", &["parallel"], SMALL, "parallel execution runs of one task"),
    limit(
        "tool_output_tokens",
        &["tool-output-tokens"],
        SMALL,
        "limit on tokens of one tool output shown to the model",
    ),
    limit("reference_tokens", &["reference-tokens"], SMALL, "limit on tokens of one reference"),
];

/// The canonical spelling of each key.
pub(super) fn spellings(keys: &'static [SkillKey]) -> impl Iterator<Item = &'static str> {
    keys.iter().filter_map(|key| key.names.first().copied())
}

/// The normalised form of each spelling, after a normalised prefix, with the reader's name for the key.
pub(super) fn aliases(keys: &[SkillKey], prefix: &str) -> Vec<(String, &'static str)> {
    let spelled = keys.iter().flat_map(|key| key.names.iter().map(|name| (*name, key.id)));
    spelled.map(|(name, id)| (format!("{prefix}{}", normal(name)), id)).collect()
}

/// Like `aliases`, but for limits.
pub(super) fn limit_aliases() -> Vec<(String, &'static str)> {
    let spelled = LIMITS.iter().flat_map(|limit| limit.names.iter().map(|name| (*name, limit.id)));
    spelled.map(|(name, id)| (normal(name), id)).collect()
}
