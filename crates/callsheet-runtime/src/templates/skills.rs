//! Templates as skills (spec "Templates" 16): what a planner reads about one, and what a refinement provides.

use std::collections::BTreeMap;

use callsheet_core::nouns::{
    RepeatClass, Skill, SkillForm, SkillLayer, SkillMode, SkillPolicy, SkillSource, ToolEffect, ToolSpec,
};
use callsheet_core::record::Tree;
use callsheet_core::run::SPAWN_SUBTASK;
use callsheet_core::template::{Filled, Node, Query, Template, ValueType, match_templates};
use callsheet_format::template::{print_templates, read_text};
use serde_json::{Map, Value, json};

/// The text for a model that refines a call of a template.
const REFINEMENT: &str = include_str!("../../prompts/template_skill.md");

/// The template for a call of a skill.
const SKILL_CALL: &str = include_str!("../../prompts/skill_call.xml");

/// Templates of a project, offered beside its skills.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateCatalog {
    /// Every template with everything that it calls. A run of a template begins with a copy.
    pub tree: Tree,
    /// One skill per template.
    pub skills: Vec<Skill>,
    /// The arguments of each template's call, by name.
    pub specs: Vec<ToolSpec>,
    /// Templates that have errors and are not offered, each with its first error.
    pub broken: BTreeMap<String, String>,
    /// Skills and templates of the project that wait for trust (spec 12.7), each with its kind.
    pub untrusted: BTreeMap<String, &'static str>,
}

impl TemplateCatalog {
    /// The templates of a library in `tree`. `writes` says which tools change files. Templates that only others call,
    /// and templates with the name of a tool, are left out.
    pub fn new(tree: Tree, writes: &dyn Fn(&str) -> bool) -> Self {
        let offered = |template: &&Template| {
            let name = template.name.as_str();
            let inner = matches!(template.body.subtype.as_str(), "director" | "evaluator" | "associative_matching");
            !name.contains(':') && !inner && !matches!(name, "default_atomic" | SPAWN_SUBTASK)
        };
        let templates: Vec<&Template> = tree.templates.values().filter(offered).collect();
        let writer = |template: &Template| is_writer(template, &tree, writes);
        let skills = templates.iter().map(|template| skill(template, writer(template))).collect();
        let specs = templates.iter().map(|template| spec(template)).collect();
        Self { skills, specs, tree, broken: BTreeMap::new(), untrusted: BTreeMap::new() }
    }

    /// Suggestions for a request for which no template is chosen automatically (spec "Templates" 10), the best first.
    pub fn suggestions(&self, request: &str) -> Vec<String> {
        let offered = self.tree.templates.values().filter(|template| self.spec(&template.name).is_some());
        match_templates(offered, &Query::of_text(request)).into_iter().map(|row| row.template).collect()
    }

    /// The arguments of a template's call.
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.name == name)
    }
}

/// Whether a task of the template, or of one it calls, waits for approval.
fn is_writer(template: &Template, tree: &Tree, writes: &dyn Fn(&str) -> bool) -> bool {
    let mut seen: Vec<&str> = vec![&template.name];
    let mut open: Vec<&Node> = template.body.walk();
    while let Some(node) = open.pop() {
        if node.requires_approval(writes) {
            return true;
        }
        let called = node.template.as_deref().and_then(|name| tree.templates.get(name));
        if let Some(called) = called.filter(|called| !seen.contains(&called.name.as_str())) {
            seen.push(&called.name);
            open.extend(called.body.walk());
        }
    }
    false
}

fn skill(template: &Template, writes: bool) -> Skill {
    let file = &template.origin.file;
    let layer = if super::is_bundled(file) { SkillLayer::Bundled } else { SkillLayer::Project };
    let source = SkillSource { layer, path: file.clone() };
    let inputs = template.takes();
    let lines = inputs.iter().map(|input| {
        let needed = if input.required { "" } else { "?" };
        let meaning = if input.meaning.is_empty() { String::new() } else { format!(": {}", input.meaning) };
        format!("- {}{needed} ({}){meaning}", input.name, input.kind.as_str())
    });
    let input_requirements = lines.collect::<Vec<_>>().join("\n");
    let needs_arguments = inputs.iter().any(|input| input.required);
    let names: Vec<String> = inputs
        .iter()
        .map(|input| if input.required { input.name.to_owned() } else { format!("{}?", input.name) })
        .collect();
    let description = template.body.intent.description.to_string();
    let description = if names.is_empty() { description } else { format!("{description} ({})", names.join(", ")) };
    Skill {
        name: template.name.clone(),
        description,
        form: SkillForm::SingleFile,
        source,
        refinement: REFINEMENT.replace("{name}", &template.name).replace("{inputs}", &input_requirements),
        execution: template.body.intent.description.to_string(),
        examples: Vec::new(),
        input_requirements,
        policy: SkillPolicy {
            tools: vec![template.name.clone()],
            mode: SkillMode::Template,
            writer: writes.then(|| template.name.clone()),
            needs_arguments,
            ..SkillPolicy::default()
        },
        text: print_templates([template]),
    }
}

/// The arguments of a call. Values of other types are refused before anything runs.
fn spec(template: &Template) -> ToolSpec {
    let inputs = template.takes();
    let properties: Map<String, Value> = inputs
        .iter()
        .map(|input| {
            let mut property = schema_of(input.kind);
            if let (Value::Object(property), false) = (&mut property, input.meaning.is_empty()) {
                property.insert("description".to_owned(), Value::from(input.meaning));
            }
            (input.name.to_owned(), property)
        })
        .collect();
    let required: Vec<&str> = inputs.iter().filter(|input| input.required).map(|input| input.name).collect();
    ToolSpec {
        name: template.name.clone(),
        description: template.body.intent.description.to_string(),
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
        // Its effects wait at their own gates.
        effect: ToolEffect::Read,
        repeat: RepeatClass::Idempotent,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    }
}

fn schema_of(kind: ValueType) -> Value {
    match kind {
        ValueType::Any => json!({}),
        ValueType::StringArray => json!({ "type": "array", "items": { "type": "string" } }),
        other => json!({ "type": other.as_str() }),
    }
}

/// A skill as a template (spec "Templates" 16): its instructions as the system text, its tools, its model.
pub fn skill_call(skill: &Skill) -> Option<Template> {
    let mut template = read_text("skill_call.xml", SKILL_CALL).templates.pop()?;
    template.name = format!("skill:{}", skill.name);
    give_skill(&mut template.body, skill);
    Some(template)
}

/// The instructions, tools, models and limits of a skill become those of a task.
pub(crate) fn give_skill(node: &mut Node, skill: &Skill) {
    node.system = Filled::literal(skill.execution.trim());
    node.tools = Some(skill.policy.tools.clone());
    node.models = skill.policy.model.iter().cloned().collect();
    if skill.policy.writer.is_some() {
        node.approval.required = Some(true);
    }
    node.limits.max_turns = skill.policy.limits.task.max_turns;
    node.limits.timeout_seconds = skill.policy.limits.task.timeout_seconds;
}
