//! What the machine must know about a skill, derived from its header and the tools (spec 2.12, 3.9, 11.1).

use callsheet_core::nouns::{BlobId, SkillCommand, SkillForm, SkillMode, SkillPolicy, ToolEffect, ToolSpec};

use super::header::Header;

/// What is known about the world when skills are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct SkillContext<'a> {
    /// Registered tools, including disabled ones.
    pub tools: &'a [ToolSpec],
    /// Whether tools with the effect `execute` run in a sandbox that cannot write (spec 11.1).
    pub read_only_sandbox: bool,
}

impl SkillContext<'_> {
    /// The effect of a tool. `None` for an unknown one.
    pub(super) fn effect(&self, tool: &str) -> Option<ToolEffect> {
        self.spec(tool).map(|spec| spec.effect)
    }

    /// Whether a tool runs commands.
    pub fn executes(&self, tool: &str) -> bool {
        self.effect(tool) == Some(ToolEffect::Execute)
    }

    /// Whether a tool is another program's.
    fn is_foreign(&self, tool: &str) -> bool {
        self.spec(tool).is_some_and(|spec| spec.named_only)
    }

    fn stages_changes(&self, tool: &str) -> bool {
        self.spec(tool).is_some_and(ToolSpec::stages_changes)
    }

    fn spec(&self, tool: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|spec| spec.name == tool)
    }
}

/// Why tasks of a skill with these tools need approval (spec 11.1): all reasons in words for a person. `None` if they
/// only read. `declared` means that its file sets `writes` or `requires-approval`.
pub fn writer_reason(declared: bool, tools: &[String], context: SkillContext<'_>) -> Option<String> {
    let mut reasons = Vec::new();
    if declared {
        reasons.push("its file declares that it changes files".to_owned());
    }
    for tool in tools {
        match context.effect(tool) {
            Some(ToolEffect::Read) => {}
            Some(_) if context.is_foreign(tool) => reasons.push(format!("its tool {tool} may change anything")),
            Some(ToolEffect::Write) => reasons.push(format!("its tool {tool} changes files")),
            Some(ToolEffect::Execute) if context.read_only_sandbox => {}
            Some(ToolEffect::Execute) => reasons.push(format!("its tool {tool} runs commands")),
            None => reasons.push(format!("its tool {tool} is unknown and may change anything")),
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// What a skill could do that a person must trust first (spec 12.7), in words for a person.
pub fn powers(policy: &SkillPolicy, context: SkillContext<'_>) -> Vec<String> {
    let commands = policy.tools.iter().filter(|tool| context.executes(tool));
    let commands = commands.map(|tool| format!("let a model run commands with the tool {tool}"));
    let foreign = policy.tools.iter().filter(|tool| context.is_foreign(tool));
    let foreign = foreign.map(|tool| format!("let a model call the server tool {tool}"));
    let models = policy.model.iter().chain(&policy.fallbacks).map(|model| format!("choose the model {model}"));
    let unasked = (!policy.commands.is_empty())
        .then(|| format!("once you approved its task, run {} without asking", command_words(&policy.commands)));
    commands.chain(foreign).chain(unasked).chain(models).collect()
}

/// Commands, in words for a person.
fn command_words(commands: &[SkillCommand]) -> String {
    let each: Vec<String> = commands.iter().map(|command| format!("`{command}`")).collect();
    each.join(", ")
}

/// The tools of a skill, and whether its file left them to Callsheet: a published skill that lists none, or none that
/// Callsheet has, works with the usual ones (spec 7.1). One that says that it holds no conversation gets none.
pub(super) fn tools(header: &Header, form: SkillForm, context: SkillContext<'_>) -> (Vec<String>, bool) {
    let listed = header.places.contains_key("tools") && !header.tools_unknown;
    if listed || form != SkillForm::Folder || header.mode == Some(SkillMode::Interpret) {
        return (header.tools.clone(), false);
    }
    // Tools that other programs have too have their names as aliases.
    let usual = context.tools.iter().filter(|tool| !tool.aliases.is_empty() && !tool.named_only);
    (usual.map(|tool| tool.name.clone()).collect(), true)
}

/// How its tasks are done: by default as a conversation, if a skill in folder form has tools.
pub(super) fn mode(header: &Header, form: SkillForm, tools: &[String]) -> SkillMode {
    let by_default = match form {
        SkillForm::Folder if !tools.is_empty() => SkillMode::Loop,
        _ => SkillMode::Interpret,
    };
    header.mode.unwrap_or(by_default)
}

/// The policy of a skill with this header and text.
pub(super) fn derive(header: &Header, form: SkillForm, text: &str, context: SkillContext<'_>) -> SkillPolicy {
    let (tools, usual) = tools(header, form, context);
    let mode = mode(header, form, &tools);
    let interpret = mode == SkillMode::Interpret;
    let mut writer = writer_reason(header.writes, &tools, context);
    if let (Some(reason), false) = (&mut writer, header.commands.is_empty()) {
        let words = command_words(&header.commands);
        reason.push_str(&format!("; once the task is approved, it runs {words} without asking"));
    }
    SkillPolicy {
        hash: Some(BlobId::of(text.as_bytes())),
        model: header.model.clone(),
        fallbacks: Vec::new(),
        execution: header.execution.unwrap_or_default(),
        mode,
        refine: header.refine,
        merge: header.merge,
        review: header.review,
        check: header.check.clone(),
        new_files_named: header.new_files_named,
        named_only: header.named_only,
        asks_each: usual && !header.writes && writer.is_some(),
        commands: header.commands.clone(),
        limits: header.limits.clone(),
        writer,
        writes_files: interpret && tools.iter().any(|tool| context.stages_changes(tool)),
        needs_arguments: interpret && tools.iter().any(|tool| !context.stages_changes(tool)),
        tools,
    }
}
