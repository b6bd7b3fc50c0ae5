//! The keys of the short form as one table (spec 2.8): which task has which key, and what the key is in the grammar
//! of elements. The reader uses it for checks and for building, the printer uses it in the other direction, and the
//! schema for editors is generated from it.

/// A set of kinds of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) struct Kinds(u16);

impl Kinds {
    pub(in crate::template) const ASK: Self = Self(1);
    pub(in crate::template) const RUN: Self = Self(1 << 1);
    pub(in crate::template) const CALL: Self = Self(1 << 2);
    pub(in crate::template) const TASKS: Self = Self(1 << 3);
    /// Tasks that run at the same time.
    pub(in crate::template) const GROUP: Self = Self(1 << 4);
    pub(in crate::template) const EACH: Self = Self(1 << 5);
    pub(in crate::template) const FOLD: Self = Self(1 << 6);
    pub(in crate::template) const LOOP: Self = Self(1 << 7);
    /// Tasks under a condition.
    pub(in crate::template) const CHOICE: Self = Self(1 << 8);
    /// A process that is not a task of its own: the test of a loop.
    pub(in crate::template) const PROCESS: Self = Self(1 << 9);
    /// The outermost level of a file.
    pub(in crate::template) const TEMPLATE: Self = Self(1 << 10);

    const TYPED: Self = Self(1 | 1 << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7);
    const TASK: Self = Self((1 << 9) - 1);

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(in crate::template) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The meaning of a key in the grammar of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum To {
    /// An attribute of the task.
    Attribute(&'static str),
    /// A child that contains a text.
    Text(&'static str),
    /// A child that contains a word or number.
    Word(&'static str),
    /// A child that contains comma-separated words.
    List(&'static str),
    /// A child that contains a task.
    Slot(&'static str),
    /// An attribute of a child.
    In(&'static str, &'static str),
    /// A child whose attributes are written as a map.
    Block(&'static str),
    /// The element with this name, which the reader of this key builds.
    Own(&'static str),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(in crate::template) struct Key {
    pub(in crate::template) name: &'static str,
    /// The tasks that have it.
    pub(in crate::template) of: Kinds,
    pub(in crate::template) to: To,
    /// Its description for editors.
    pub(in crate::template) about: &'static str,
}

const fn key(name: &'static str, of: Kinds, to: To, about: &'static str) -> Key {
    Key { name, of, to, about }
}

use Kinds as K;

/// All keys of a task, in the order in which they are printed.
pub(in crate::template) const KEYS: &[Key] = &[
    key("template", K::TEMPLATE, To::Own("template"), "The name of the template."),
    key("id", K::TASK, To::Attribute("id"), "The name of the task, where `- NAME:` cannot say it."),
    key("about", K::TYPED, To::Text("description"), "What the task is for; without it the text of `ask`, or the name."),
    key("inputs", K::TEMPLATE, To::Own("params"), "What the template is given, by name: a default, nothing, or a map."),
    key("returns", K::TEMPLATE, To::Attribute("returns"), "The type of the result."),
    key("tags", K::TEMPLATE, To::Attribute("tags"), "Words by which requests find it."),
    key("auto_select", K::TEMPLATE, To::Attribute("auto_select"), "A request may run it instead of a plan."),
    key("if", K::CHOICE, To::Own("case"), "The task runs only if this holds."),
    key("choose", K::CHOICE, To::Own("cond"), "Tasks with `if`; the first that holds runs. `else` may end the list."),
    key("each", K::EACH, To::Attribute("items"), "`NAME in LIST`: the task runs once for each element."),
    key(
        "fold",
        K::FOLD,
        To::Attribute("items"),
        "A list: `do` reads each element, `join` adds its result to the rest.",
    ),
    key("start", K::FOLD, To::Text("initial_value"), "What the first `join` adds to."),
    key("at_once", K::GROUP.or(K::EACH), To::Attribute("max_parallel"), "How many run at once, or true."),
    key(
        "on_error",
        K::TASKS.or(K::GROUP).or(K::EACH),
        To::Attribute("on_error"),
        "`collect`: one failure stops no other.",
    ),
    key("most", K::LOOP, To::Word("max_iterations"), "How often the loop tries at most."),
    key("until", K::LOOP, To::Own("termination_condition"), "The loop ends when this holds."),
    key("on_exhausted", K::LOOP, To::Attribute("on_exhausted"), "`accept`: without success, the last try counts."),
    key("call", K::CALL, To::Own("call"), "The template or `skill:NAME` to run."),
    key("with", K::TYPED.or(K::CALL), To::Own("inputs"), "Values by name; `\"{{name}}\"` passes a value as it is."),
    key("system", K::ASK, To::Text("system"), "Joins the system prompt."),
    key("ask", K::ASK, To::Text("instructions"), "What a model is asked."),
    key("run", K::RUN.or(K::PROCESS), To::Own("command"), "A command: a list of words, or a line. No shell."),
    key("timeout", K::RUN.or(K::PROCESS), To::Word("timeout"), "Seconds."),
    key("stdin", K::RUN.or(K::PROCESS), To::Own("stdin"), "What the command reads."),
    key("input_files", K::RUN.or(K::PROCESS), To::Own("input_file"), "Values in files, by name: `{{files.NAME}}`."),
    key(
        "inherit",
        K::RUN.or(K::PROCESS),
        To::In("environment", "inherit"),
        "Which variables the command sees: none, safe or all.",
    ),
    key("env", K::RUN.or(K::PROCESS), To::Own("environment"), "Variables of the command."),
    key("on_nonzero", K::RUN, To::Attribute("on_nonzero"), "`continue`: a failing exit code is a result."),
    key("effects", K::TYPED.or(K::CALL), To::Attribute("effects"), "`read` or `write`; a write waits for approval."),
    key("requires_approval", K::TYPED.or(K::CALL), To::Attribute("requires_approval"), "Asks a person first."),
    key("subtype", K::TYPED, To::Attribute("subtype"), "The row of its context settings."),
    key("expected_output", K::TYPED, To::Text("expected_output"), "What a good result looks like."),
    key("criteria", K::TYPED, To::Text("criteria"), "How the result is judged."),
    key("model", K::TYPED, To::List("model"), "The model, or several, the preferred one first."),
    key("provider", K::TYPED, To::List("provider"), "The provider, or several."),
    key("files", K::TYPED, To::Own("file_paths"), "Files that the model is given."),
    key("gives", K::TYPED, To::Own("output_format"), "The shape of the result: a type, a map of fields, or `@NAME`."),
    key("schema", K::TYPED, To::Own("output_format"), "The same as a JSON Schema."),
    key(
        "on_parse_failure",
        K::TYPED,
        To::In("output_format", "on_parse_failure"),
        "What a reply of another form does.",
    ),
    key(
        "tools",
        K::TYPED,
        To::Own("allowed_tools"),
        "Tools that the model may use. If absent, none. `default` means all.",
    ),
    key("context", K::TYPED, To::Block("context_management"), "What the task sees of its surroundings."),
    key("limits", K::TYPED.or(K::CALL), To::Block("limits"), "Its own limits."),
    key("attempts", K::TYPED, To::In("recovery", "attempts"), "How often it is tried."),
    key("feed_issues", K::TYPED, To::In("recovery", "feed_issues"), "The next attempt sees what was wrong."),
    key("reparse", K::TYPED, To::In("recovery", "reparse"), "A model may split the task if it was too large."),
    key("manual_xml", K::TYPED, To::Word("manual_xml"), "The reply stays as it is."),
    key("disable_reparsing", K::TYPED, To::Word("disable_reparsing"), "The task is never split."),
    key("tasks", K::TASKS.or(K::GROUP), To::Own("steps"), "Tasks in order, each `- NAME:`."),
    key("make", K::LOOP, To::Slot("director"), "The task that makes the result of a try."),
    key("test", K::LOOP, To::Own("script_execution"), "A command that tries it."),
    key("judge", K::LOOP, To::Slot("evaluator"), "The task that judges it."),
    key("do", K::EACH.or(K::FOLD).or(K::CHOICE), To::Own("body"), "The task itself, where its keys would be unclear."),
    key("join", K::FOLD, To::Slot("reduction_task"), "The task that adds a result to the rest."),
    key("else", K::CHOICE, To::Slot("else"), "The task that runs if it does not hold."),
];

/// Elements and attributes of the grammar without a key of their own, each with the key that contains them.
const PARTS: &[(&str, &str)] = &[
    ("path", "files"),
    ("context_query", "files"),
    ("tool", "tools"),
    ("argv", "run"),
    ("arg", "with"),
    ("input", "with"),
    ("var", "env"),
    ("param", "inputs"),
    ("condition", "until"),
    ("recovery", "attempts"),
    ("inner_task", "do"),
    ("as", "each"),
    ("test", "if"),
    ("task", "task"),
];

/// Words for keys in other formats.
pub(in crate::template) const OTHER_WORDS: &[(&str, &str)] = &[
    ("name", "template"),
    ("name", "id"),
    ("description", "about"),
    ("prompt", "ask"),
    ("command", "run"),
    ("when", "if"),
    ("parallel", "at_once"),
    ("concurrency", "at_once"),
    ("output", "gives"),
    ("type", "gives"),
    ("giv", "gives"),
    ("retries", "attempts"),
    ("retry", "attempts"),
    ("vars", "with"),
    ("args", "with"),
    ("steps", "tasks"),
    ("foreach", "each"),
    ("for_each", "each"),
];

/// The key with this name.
pub(in crate::template) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// The name of an element or attribute in the short form.
pub(in crate::template) fn shown(name: &str) -> Option<&'static str> {
    let of = |key: &&Key| match key.to {
        To::Attribute(to) | To::Text(to) | To::Word(to) | To::List(to) | To::Slot(to) | To::Block(to) | To::Own(to) => {
            to == name
        }
        To::In(_, attribute) => attribute == name,
    };
    let part = PARTS.iter().find(|(part, _)| *part == name).map(|(_, key)| *key);
    part.or_else(|| KEYS.iter().find(of).map(|key| key.name))
}

/// Replaces element names such as `<name>` in a message by the words of the short form.
pub(in crate::template) fn in_keys(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, behind)) = rest.split_once('<') {
        out.push_str(before);
        let known = behind.split_once('>').and_then(|(name, after)| Some((shown(name)?, after)));
        rest = match known {
            Some(("task", after)) => {
                out.push_str("this task");
                after
            }
            Some((name, after)) => {
                out.push('`');
                out.push_str(name);
                out.push('`');
                after
            }
            None => {
                out.push('<');
                behind
            }
        };
    }
    out.push_str(rest);
    // Removes doubled quotes, and shows the results of tasks under their plain names.
    out.replace("``", "`").replace("`steps.", "`").replace("record(steps.", "record(").replace("len(steps.", "len(")
}
