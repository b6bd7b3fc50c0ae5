//! The help of the program, with commands in groups, and examples below the help of each command.

use clap::CommandFactory;

use super::Cli;

/// The commands in groups for people.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Start", &["run", "plan", "template", "init", "demo"]),
    ("Look", &["watch", "show", "runs", "report", "serve", "export", "import"]),
    ("Steer", &["approve", "deny", "resume", "continue", "retry", "drop", "fork", "cancel", "undo"]),
    (
        "More",
        &[
            "sheet",
            "skill",
            "model",
            "doctor",
            "config",
            "grants",
            "trust",
            "tools",
            "key",
            "find",
            "index",
            "acp",
            "lsp",
            "mcp",
            "cluster",
            "worker",
            "prompts",
            "gc",
            "completions",
        ],
    ),
];

/// Examples by command. Each line works as it is.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "callsheet run \"Which decisions in these notes are still open?\"",
            "callsheet run --sheet sheet.md",
            "callsheet run \"Sort the notes by date\" --set limits.max_calls=40",
        ],
    ),
    (
        "plan",
        &[
            "callsheet plan \"Bring the user manual up to date\"",
            "callsheet plan \"Translate the guides\" -o guides.md",
        ],
    ),
    ("template", &["callsheet template list", "callsheet template run extract_data document=@notes.md fields=names"]),
    ("init", &["callsheet init", "callsheet init --model ollama/qwen3:4b"]),
    ("demo", &["callsheet demo", "callsheet demo --fast"]),
    ("watch", &["callsheet watch", "callsheet watch 20260301"]),
    ("show", &["callsheet show", "callsheet show --why", "callsheet show 20260301 --task find-code-1"]),
    ("runs", &["callsheet runs", "callsheet runs --json"]),
    ("report", &["callsheet report 20260301 -o report.html"]),
    ("serve", &["callsheet serve", "callsheet serve --port 4000", "callsheet serve tokens add dashboard --may look"]),
    ("export", &["callsheet export 20260301 --masked", "callsheet export 20260301 --passphrase -o run.age"]),
    ("import", &["callsheet import run.age --key ~/me.key", "callsheet import approval.json"]),
    ("key", &["callsheet key new ~/me.key", "callsheet key show ~/me.key"]),
    ("approve", &["callsheet approve --resume", "callsheet approve 20260301 write-notes-1 --hunks 1,3"]),
    ("deny", &["callsheet deny --because \"not in this file\" --resume"]),
    (
        "resume",
        &[
            "callsheet resume",
            "callsheet resume 20260301 --set limits.max_calls=200",
            "callsheet resume --answer \"the fourth bed\"",
        ],
    ),
    ("continue", &["callsheet continue 20260301 \"Now do the same for the guides\""]),
    ("retry", &["callsheet retry 20260301", "callsheet retry 20260301 find-code-1"]),
    ("drop", &["callsheet drop 20260301 write-notes-1"]),
    ("fork", &["callsheet fork 20260301 --at write-notes-1"]),
    ("cancel", &["callsheet cancel"]),
    ("undo", &["callsheet undo", "callsheet undo 20260301"]),
    ("sheet", &["callsheet sheet new sheet.md", "callsheet sheet check sheet.md", "callsheet sheet fmt todo.md"]),
    ("skill", &["callsheet skill list", "callsheet skill new compare_texts"]),
    ("model", &["callsheet model list", "callsheet model test"]),
    ("doctor", &["callsheet doctor"]),
    ("config", &["callsheet config", "callsheet config limits"]),
    ("grants", &["callsheet grants", "callsheet grants add host crates.io", "callsheet grants revoke 3"]),
    ("trust", &["callsheet trust"]),
    ("tools", &["callsheet tools", "callsheet tools confirm memory"]),
    ("find", &["callsheet find \"who looks after the pump\""]),
    ("index", &["callsheet index"]),
    ("acp", &["callsheet acp"]),
    ("lsp", &["callsheet lsp"]),
    ("mcp", &["callsheet mcp", "callsheet mcp --may approve", "callsheet mcp login tracker"]),
    ("cluster", &["callsheet cluster up", "callsheet cluster up --port 8080 --workers 3", "callsheet cluster workers"]),
    ("worker", &["callsheet worker --at https://127.0.0.1:8080"]),
    ("prompts", &["callsheet prompts list"]),
    ("gc", &["callsheet gc --dry-run"]),
    ("completions", &["callsheet completions bash"]),
];

/// The help of the program, with the groups in place of the list of `clap`.
const TEMPLATE: &str = "{about}\n\n{usage-heading} {usage}{after-help}\nOptions:\n{options}";

/// The whole command line with its help.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    let groups: String = GROUPS.iter().map(|(title, names)| group(&command, title, names)).collect();
    for (name, examples) in EXAMPLES.iter().copied() {
        if command.find_subcommand(name).is_some() {
            let lines: String = examples.iter().map(|line| format!("\n  {line}")).collect();
            command = command.mut_subcommand(name, |of| of.after_help(format!("Examples:{lines}")));
        }
    }
    command.help_template(TEMPLATE).after_help(groups.trim_start().to_owned())
}

/// The commands of a group in this build, each with the start of its description.
fn group(command: &clap::Command, title: &str, names: &[&str]) -> String {
    let known = names.iter().filter_map(|name| command.find_subcommand(name));
    let line = |of: &clap::Command| {
        let about = of.get_about().map(ToString::to_string).unwrap_or_default();
        let first = about.split(['.', ':', ';']).next().unwrap_or_default();
        format!("  {:<12} {first}\n", of.get_name())
    };
    format!("\n{title}:\n{}", known.map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group_and_has_examples() {
        let command = Cli::command();
        for of in command.get_subcommands().filter(|of| !of.is_hide_set()) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&of.get_name())).count();
            assert_eq!(groups, 1, "{}", of.get_name());
            assert!(EXAMPLES.iter().any(|(name, _)| *name == of.get_name()), "{} has no example", of.get_name());
        }
    }

    #[test]
    fn examples_are_understood() {
        for (name, examples) in EXAMPLES {
            for line in *examples {
                let words = shlex::split(line).unwrap();
                assert_eq!(words.get(1).map(String::as_str), Some(*name), "{line}");
                if let Err(error) = command().try_get_matches_from(words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
