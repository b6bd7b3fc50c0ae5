//! Hostile replies of any size, family by family. The benchmark times them and a
//! test reads them.

use callsheet_format::reply::ReplyKind;

/// One kind of hostile text.
pub struct Family {
    /// What it is.
    pub name: &'static str,
    /// As what it is read.
    pub kind: ReplyKind,
    head: &'static str,
    unit: Unit,
    tail: &'static str,
}

enum Unit {
    /// The same again and again.
    Same(&'static str),
    /// With the number of the repetition.
    Numbered(fn(usize) -> String),
}

impl Family {
    /// A text of about `bytes` bytes.
    pub fn text(&self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 1_000);
        text.push_str(self.head);
        let mut number = 0;
        while text.len() < bytes {
            match &self.unit {
                Unit::Same(unit) => text.push_str(unit),
                Unit::Numbered(unit) => text.push_str(&unit(number)),
            }
            number += 1;
        }
        text.push_str(self.tail);
        text
    }
}

const PLAN: &str = "## Goals / summary\nA goal.\n## Tasks\n### Task section 1\n";
const SUMMARY: &str = "## Result summary\nDone.\n";
const CALLS: &str = "## Task\n- **What is needed** x\n## Tool Calls\n";

fn same(name: &'static str, kind: ReplyKind, head: &'static str, unit: &'static str, tail: &'static str) -> Family {
    Family { name, kind, head, unit: Unit::Same(unit), tail }
}

fn numbered(name: &'static str, kind: ReplyKind, head: &'static str, unit: fn(usize) -> String) -> Family {
    Family { name, kind, head, unit: Unit::Numbered(unit), tail: "" }
}

/// All families.
pub fn families() -> Vec<Family> {
    let mut all = structure();
    all.extend(tasks());
    all.extend(lines());
    all.extend(calls());
    all.extend(results());
    all.extend(texts());
    all
}

fn structure() -> Vec<Family> {
    use ReplyKind::Plan;
    vec![
        numbered("nested list", Plan, PLAN, |n| format!("{}- a\n", " ".repeat(n % 400 * 2))),
        same("nested list in a line", Plan, PLAN, "- ", "a\n"),
        same("numbers in a line", Plan, PLAN, "1. ", "a\n"),
        same("nested quotes", Plan, PLAN, "> ", "a\n"),
        same("quotes by lines", Plan, PLAN, "> > > > > > > > a\nb\n", ""),
        numbered("unclosed fences", Plan, PLAN, |n| format!("{}\n", if n % 2 == 0 { "```a" } else { "~~~b" })),
        numbered("fences of all lengths", Plan, PLAN, |n| format!("{}\na\n", "`".repeat(n % 300 + 3))),
        same("fences", Plan, PLAN, "```\na\n```\n", ""),
        same("fences and goals", Plan, "", "## Goals / summary\n```text\na\n```\n", ""),
        same("headings", Plan, PLAN, "## Other\n", ""),
        same("task sections", Plan, PLAN, "### Task section 1\n", ""),
        same("near headings", Plan, PLAN, "## Tesk zection 4\n", ""),
        same("near synonyms", Plan, PLAN, "## Outstandin taks\n", ""),
        same("Tasks headings", Plan, PLAN, "## Tasks\n", ""),
        same("prompt headings", Plan, "", "## Original prompt\n", ""),
        same("bold titles", Plan, PLAN, "**Task section 4:**\n", ""),
        same("underlined", Plan, PLAN, "Tasks\n---\n", ""),
        same("markers", Plan, PLAN, "plan complete\n", ""),
        same("rules", Plan, PLAN, "---\n\n", ""),
        same("blank lines", Plan, PLAN, "\n", ""),
        same("html", Plan, PLAN, "<div><!-- a\n", ""),
        same("emphasis", Plan, PLAN, "*a_b**c__", "\n"),
        same("definitions", Plan, PLAN, "[a]: b\n", ""),
        same("backticks", Plan, PLAN, "` `` ``` ", "\n"),
        numbered("titles as items", Plan, "", |n| format!("- **Task section {n}**\n  - **What is needed** a\n")),
        same("lists one behind another", Plan, PLAN, "- **What is needed** a\n## Tasks\n### Task section 2\n", ""),
        same("fences in fences", Plan, PLAN, "```md\na\n```sh\nb\n```\n```\n", ""),
        same("fences in open fences", Plan, PLAN, "```md\na\n", "```\n"),
    ]
}

fn tasks() -> Vec<Family> {
    use ReplyKind::{Continuation, Iteration, Plan, Sheet};
    vec![
        numbered("tasks", Plan, PLAN, |n| {
            format!(
                "### Task section {}\n- **Name** Job {n}\n- **What is needed** a\n- **Skill** find_code\n- **Expected output** b\n",
                n + 2
            )
        }),
        numbered("tasks without names", Sheet, PLAN, |_| "- **What is needed** a\n- **Skill** find_code\n\n".into()),
        numbered("tasks of one name", Plan, PLAN, |_| "- **Name** a\n- **What is needed** b\n\n".into()),
        numbered("tasks without gaps", Plan, PLAN, |_| "- **Skill** find_code\n- **What is needed** b\n".into()),
        numbered("references in order", Plan, PLAN, |n| {
            format!(
                "### Task section 2\n- **Name** Job {n}\n- **What is needed** a\n- **References** [x](#job-{}-results)\n",
                n / 2
            )
        }),
        numbered("references in a step", Plan, PLAN, |n| {
            format!("- **Name** Job {n}\n- **What is needed** a\n- **References** [x](#job-{}-results)\n\n", n / 2)
        }),
        numbered("near references", Plan, PLAN, |n| {
            format!(
                "### Task section 2\n- **Name** Job {n}\n- **What is needed** a\n- **References** [x](#jobb-{n}-result)\n"
            )
        }),
        numbered("missing references", Plan, PLAN, |n| {
            format!(
                "### Task section 2\n- **Name** Job {n}\n- **What is needed** a\n- **References** [x](#zz{n}-results)\n"
            )
        }),
        numbered("near skills", Plan, PLAN, |n| {
            format!("- **What is needed** a\n- **Skill** fint_code\n- **Expected output** {n}\n\n")
        }),
        numbered("unknown skills", Plan, PLAN, |n| format!("- **What is needed** a\n- **Skill** zz{n}\n\n")),
        numbered("unknown keys", Plan, PLAN, |n| format!("- **Key {n}** value\n")),
        same("one key", Plan, PLAN, "- **References** a.md\n", ""),
        numbered("echoes", Iteration, PLAN, |_| {
            "- **Name** Find Code 1\n- **What is needed** Old need.\n- **Skill** find_code\n\n".into()
        }),
        numbered("renamed tasks", Iteration, PLAN, |n| {
            format!("- **Name** New {n}\n- **What is needed** Open need 3.\n- **Skill** find_code\n\n")
        }),
        numbered("continued", Continuation, PLAN, |n| format!("1) What is needed: thing {n}\n   Skill: find code\n\n")),
        numbered("heading per task", Plan, PLAN, |n| format!("#### Do {n}\nWhat is needed: a\n")),
        numbered("nested keys", Plan, PLAN, |n| format!("- Job {n}\n  - **What is needed** a\n  - **Skill** review\n")),
    ]
}

fn lines() -> Vec<Family> {
    use ReplyKind::Plan;
    const REFERENCES: &str = "## Tasks\n### Task section 1\n- **What is needed** a\n- **References** ";
    vec![
        same("one line of words", Plan, PLAN, "word ", "\n"),
        same("label lines", Plan, PLAN, "a: b\n", ""),
        same("odd characters", Plan, PLAN, "\u{a0}\u{200b}- \u{201c}a\u{201d}\n", ""),
        same("reasoning in a line", Plan, PLAN, "<think>a</think>b", "\n"),
        same("reasoning open", Plan, PLAN, "<think>\n", ""),
        same("closed reasoning", Plan, PLAN, "</think>\n", ""),
        same("reasoning by lines", Plan, PLAN, "<think>\na\n</think>\nb\n", ""),
        numbered("links", Plan, REFERENCES, |n| format!("[t](f{n}.md) ")),
        numbered("odd links", Plan, REFERENCES, |n| format!("\u{201c}[t](f{n}.md)\u{201d}, ")),
        same("open brackets", Plan, REFERENCES, "[", "\n"),
        same("open brackets apart", Plan, REFERENCES, "[ ", "\n"),
        same("open links", Plan, REFERENCES, "[a](b ", "\n"),
        same("patterns", Plan, REFERENCES, "*.md ", "\n"),
        numbered("files as anchors", Plan, REFERENCES, |n| format!("[t](#f{n}.md) ")),
        numbered("paths", Plan, REFERENCES, |n| format!("src/f{n}.rs, ")),
        numbered("prompt anchors", Plan, REFERENCES, |n| format!("[a](#heading-{n}) ")),
    ]
}

fn calls() -> Vec<Family> {
    use ReplyKind::{Refinement, ToolCalls};
    const FENCE: &str = "## Task\n- **What is needed** x\n## Tool Calls\n```json\n";
    vec![
        same("deep JSON", Refinement, FENCE, "{\"a\":", "\n```\n"),
        same("deep arrays", Refinement, FENCE, "[", "\n```\n"),
        same("deep JSON by lines", Refinement, CALLS, "{\"a\":[{\n", ""),
        numbered("calls in an array", Refinement, FENCE, |n| {
            format!(
                "{}{{\"name\": \"search_text\", \"arguments\": {{\"pattern\": \"{n}\"}}}}",
                if n == 0 { "[" } else { "," }
            )
        }),
        numbered("calls in fences", Refinement, CALLS, |n| {
            format!("```json\n{{\"name\": \"search_text\", \"arguments\": {{\"pattern\": \"{n}\"}}}}\n```\n")
        }),
        numbered("equal calls", Refinement, CALLS, |_| {
            "```json\n{\"name\": \"search_text\", \"arguments\": {\"pattern\": \"a\"}}\n```\n".into()
        }),
        numbered("near tools", Refinement, CALLS, |n| format!("```json\n{{\"name\": \"search_txt{}\"}}\n```\n", n % 7)),
        numbered("unknown tools", Refinement, CALLS, |n| format!("```json\n{{\"name\": \"zz{n}\"}}\n```\n")),
        numbered("wrong arguments", Refinement, CALLS, |n| {
            format!("```json\n{{\"name\": \"search_text\", \"arguments\": {{\"patern\": [{n}]}}}}\n```\n")
        }),
        numbered("coerced arguments", Refinement, CALLS, |n| {
            format!(
                "```json\n{{\"name\": \"search_text\", \"arguments\": {{\"pattern\": \"a\", \"limit\": \"{n}\"}}}}\n```\n"
            )
        }),
        numbered("many keys", Refinement, FENCE, |n| {
            format!("{}\"k{n}\": \"1\"", if n == 0 { "{\"name\": \"search_text\", \"arguments\": {" } else { "," })
        }),
        same("JSON soup", Refinement, CALLS, "{'a\": [,{]}\n", ""),
        same("quotes", Refinement, FENCE, "\"'\u{201c}", "\n```\n"),
        same("open strings", Refinement, CALLS, "{\"a\n", ""),
        same("comments", Refinement, FENCE, "/* a */ // b\n", "\n```\n"),
        numbered("tagged calls", ToolCalls, "", |n| {
            format!(
                "<tool_call>\n{{\"name\": \"search_text\", \"arguments\": {{\"pattern\": \"{n}\"}}}}\n</tool_call>\n"
            )
        }),
        same("open tags", ToolCalls, "", "<tool_call><function=search_text><parameter=pattern>a\n", ""),
        same("function tags", ToolCalls, "", "<function=search_text>{\"pattern\": \"a\"}</function>\n", ""),
        same("calls among prose", ToolCalls, "", "Text.\n{\"name\": \"a\"}\n", ""),
    ]
}

fn results() -> Vec<Family> {
    use ReplyKind::{Execution, Merge, WriteExecution};
    const CHANGE: &str = "## Change details\n- **file_path** src/a.rs\n";
    vec![
        numbered("result links", Execution, SUMMARY, |n| format!("[t](f{n}.md) and [u](#h{n})\n")),
        same("result link starts", Execution, SUMMARY, "](", "\n"),
        same("result brackets", Execution, SUMMARY, "[a](", "\n"),
        numbered("result headings", Merge, SUMMARY, |n| format!("## Heading {n}\n")),
        numbered("details", Execution, SUMMARY, |n| format!("## Details\n- **Filename** a{n}.txt\n```\nx\n```\n")),
        same("details without files", Execution, SUMMARY, "## Details\n", ""),
        same("summaries", Execution, "", "## Summary\na\n", ""),
        same(
            "excerpts",
            WriteExecution,
            SUMMARY,
            "## Change details\n- **file_path** src/a.rs\n```\nline 7\n```\n```\nx\n```\n",
            "",
        ),
        same(
            "excerpts not found",
            WriteExecution,
            SUMMARY,
            "## Change details\n- **file_path** src/a.rs\n```\nlime 7 line\n```\n```\nx\n```\n",
            "",
        ),
        same(
            "line changes",
            WriteExecution,
            SUMMARY,
            "## Change details\n- **file_path** src/a.rs\n- **start_line** 7\n- **end_line** 9\n```\nx\n```\n",
            "",
        ),
        same(
            "heading changes",
            WriteExecution,
            SUMMARY,
            "## Change details\n- **file_path** README.md\n- **ast_path** part-7\n```\nx\n```\n",
            "",
        ),
        same("changes without keys", WriteExecution, SUMMARY, "## Changes\n```\nx\n```\n", ""),
        same("keys of a change", WriteExecution, SUMMARY, "- **lines** 1-2\n", ""),
        numbered("whole files", WriteExecution, SUMMARY, |n| {
            format!("## Change details\n- **file_path** new{n}.md\n- **complete_file** true\n```\nx\n```\n")
        }),
        same("one large excerpt", WriteExecution, CHANGE, "```\na\n", "```\n"),
        same(
            "next section",
            WriteExecution,
            "## Result summary\nx\n## Change details\n- **file_path** n.md\n- **complete_file** true\n- **output_mode** next_section\n",
            "## Change\n",
            "",
        ),
    ]
}

/// Texts that nobody had thought of for a certain reader.
fn texts() -> Vec<Family> {
    use ReplyKind::{Execution, Plan, ToolCalls, WriteExecution};
    const REQUESTS: &str = "{\"status\": \"CONTINUATION\", \"notes\": {\"subtask_requests\": [";
    vec![
        same("small fences", Execution, SUMMARY, "```\na\n```\n", ""),
        same("small fences apart", Execution, SUMMARY, "```\na\n```\n\n", ""),
        same("tilde fences", Execution, SUMMARY, "~~~\na\n~~~\n", ""),
        same("fences of one line", Execution, SUMMARY, "```a```\n", ""),
        numbered("fences in a list", Plan, PLAN, |n| format!("- **Job {n}**\n  ```\n  a\n  ```\n")),
        same("fences in quotes", Execution, SUMMARY, "> ```\n> a\n> ```\n", ""),
        numbered("result tables", Execution, SUMMARY, |n| format!("| a{n} | b |\n|---|---|\n| 1 | 2 |\n\n")),
        same("one wide table", Execution, "| a |\n|---|\n", "| a ", "\n"),
        same("one long table", Execution, "| a |\n|---|\n", "| a |\n", ""),
        numbered("key lines", Execution, SUMMARY, |n| format!("key{n}: value\n")),
        numbered("bold key lines", Plan, PLAN, |n| format!("**Key {n}**: value\n")),
        same("lines of DOS", Plan, PLAN, "- **What is needed** a\r\n- **Skill** find_code\r\n\r\n", ""),
        same("lines of old Macs", Plan, PLAN, "- **What is needed** a\r", ""),
        same("nothing to see", Plan, PLAN, "\u{200b}", "\n"),
        same("nothing to see, by lines", Plan, PLAN, "\u{200b}\u{feff}\n", ""),
        same("combining", Plan, PLAN, "a\u{301}\u{302}", "\n"),
        same("right to left", Execution, SUMMARY, "\u{202e}a\u{202c} ", "\n"),
        numbered("inline code", Execution, SUMMARY, |n| format!("`name{n}` ")),
        numbered("quotations", Execution, SUMMARY, |n| format!("He said \"a b c {n}\". ")),
        same("open quotations", Execution, SUMMARY, "\"a b c ", "\n"),
        numbered("large numbers", Execution, SUMMARY, |n| format!("{} ", n + 100_000)),
        same("open comments", Execution, SUMMARY, "<!-- ", "\n"),
        same("open elements", Execution, "<task>", "<task>", ""),
        same("crossed elements", Execution, "<task>", "<a><b></a>", "</task>"),
        same("stray end tags", Execution, "<task><a>", "</b>", "</a></task>"),
        same("elements", Execution, "<task>", "<a>b</a>", "</task>"),
        numbered("attributes", Execution, "<task ", |n| format!("a{n}=\"b\" ")),
        same("entities", Execution, SUMMARY, "&amp;&#65;", "\n"),
        same("open angles", Execution, SUMMARY, "<", "\n"),
        same("closing tags", Execution, SUMMARY, "</a>", "\n"),
        same("data sections", Execution, "<task>", "<![CDATA[a]]>", "</task>"),
        same("placeholders", Execution, SUMMARY, "{{a}} ", "\n"),
        same("open placeholders", Execution, SUMMARY, "{{", "\n"),
        numbered("footnotes", Execution, SUMMARY, |n| format!("[^{n}]: a\n")),
        numbered("link definitions", Execution, SUMMARY, |n| format!("[a{n}]: b\n[a{n}]\n")),
        same("images", Execution, SUMMARY, "![a](b) ", "\n"),
        same("tasks done", Plan, PLAN, "- [x] a\n", ""),
        same("tabs", Plan, PLAN, "\t- a\n", ""),
        numbered("numbered items", Plan, PLAN, |n| format!("{n}. **What is needed**: a\n")),
        same("backslashes", Execution, SUMMARY, "\\", "\n"),
        same("stars", Execution, SUMMARY, "* ", "a\n"),
        same("under lines", Execution, SUMMARY, "_a", "\n"),
        numbered("data usage", Execution, SUMMARY, |_| "\n## Data usage\na\n".into()),
        same("JSON strings", ToolCalls, "{\"name\": \"a\", \"arguments\": {\"b\": \"", "\\\"", "\"}}\n"),
        same("JSON lines", ToolCalls, "", "{\"a\": 1}\n", ""),
        numbered("JSON numbers", ToolCalls, "[0", |n| format!(",{n}")),
        numbered("hunks", WriteExecution, SUMMARY, |n| {
            format!("## Change details\n- **file_path** src/a.rs\n```diff\n@@ -{n} +{n} @@\n-line {n}\n+x\n```\n")
        }),
        numbered("search and replace", WriteExecution, SUMMARY, |n| {
            format!(
                "## Change details\n- **file_path** src/a.rs\n```\n<<<<<<< SEARCH\nline {n}\n=======\nx\n>>>>>>> REPLACE\n```\n"
            )
        }),
        same("subtask requests", Execution, REQUESTS, "{},", "{}]}}\n"),
        same("verdicts", Execution, "", "**Complete**: yes\n", ""),
    ]
}
