//! `doctor`: prints the configuration with the origin of each value, and how to fix what is wrong.

use callsheet_app::Advice;
use callsheet_core::nouns::Phase;
use callsheet_core::view::counted;
use callsheet_core::visible::visible_line;
use callsheet_format::skill::{SkillContext, SkillSeverity};
use callsheet_models::config::{ModelRef, ProcessEnvironment, Provider, ask_server};
use callsheet_models::probe;
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::ModelSource;
use callsheet_runtime::services::omitted_rules;
use callsheet_runtime::skills::{SkillDirs, load_skills};
use callsheet_runtime::trust::Trusted;

use crate::cli::{Cli, Exit, Failure};
use crate::config::KEYS;
use crate::left_out::{left_out, left_out_words, shown};
use crate::models::{Choice, Fetch, Models, Tape, choose, provider_settings};
use crate::setup::{Setup, command_words, project_config};
use crate::term::window_words;
use crate::wiring::{skill_dirs, tool_specs};

use super::stored::stored;

/// One finding.
pub(super) struct Finding {
    good: bool,
    what: String,
    mend: Advice,
}

pub(super) fn good(what: impl Into<String>) -> Finding {
    Finding { good: true, what: what.into(), mend: Advice::default() }
}

pub(super) fn bad(what: impl Into<String>, mend: impl Into<Advice>) -> Finding {
    Finding { good: false, what: what.into(), mend: mend.into() }
}

pub(super) fn doctor(cli: &Cli) -> Result<Exit, Failure> {
    let call = command_words(cli);
    let setup = match Setup::new(cli, Vec::new()) {
        Ok(setup) => setup,
        Err(failure) => {
            print_finding((cli.json, &call), &bad(failure.what, failure.advice))?;
            return Ok(Exit::Internal);
        }
    };
    let runtime = super::runtime()?;
    let mut findings = vec![good(format!("callsheet {}", env!("CARGO_PKG_VERSION")))];
    findings.push(good(format!("project {}", setup.project.display())));
    findings.extend(setup.config.notices.iter().map(|notice| bad(&notice.0, "")));
    findings.push(match setup.config.settings() {
        Ok(_) => good("configuration is valid"),
        Err(fault) => bad(fault.to_string(), "fix the value"),
    });
    findings.extend(unwritable(&setup));
    findings.extend(waiting(&setup));
    findings.extend(skills(&setup));
    findings.extend(stored(&setup));
    findings.extend(sandbox(&setup));
    let choice = runtime.block_on(async {
        findings.extend(servers().await);
        #[cfg(feature = "mcp")]
        findings.extend(super::tools::findings(&setup).await);
        let choice = choose(&setup.config, &setup.folders, &ProcessEnvironment, Fetch::Never).await?;
        let mut answers = vec![answers(&setup, &choice).await];
        answers.extend(windows(&setup, &choice).await.into_iter().map(Some));
        Ok::<_, Failure>((choice, answers))
    });
    match choice {
        Ok((choice, answers)) => {
            findings.push(good(format!("model {} ({})", choice.model, choice.reason)));
            findings.extend(answers.into_iter().flatten());
        }
        Err(failure) => findings.push(bad(failure.what, failure.advice)),
    }
    for finding in &findings {
        print_finding((cli.json, &call), finding)?;
    }
    values(&setup)?;
    Ok(if findings.iter().all(|finding| finding.good) { Exit::Complete } else { Exit::Internal })
}

/// Prints a finding. Commands in its advice begin with `call`.
fn print_finding((json, call): (bool, &str), finding: &Finding) -> Result<(), Failure> {
    let mend = finding.mend.for_shell(call);
    if json {
        return super::print_json(&serde_json::json!({ "ok": finding.good, "what": finding.what, "do": mend }));
    }
    let mark = if finding.good { "ok " } else { "!! " };
    let mend = if mend.is_empty() { mend } else { format!("\n   do: {mend}") };
    super::print(&format!("{mark}{}{mend}\n", finding.what))
}

/// The folder in which a run could not write its files.
fn unwritable(setup: &Setup) -> Option<Finding> {
    let folders = [".callsheet/runs", ".callsheet", ""].map(|folder| setup.project.join(folder));
    let nearest = folders.into_iter().find(|folder| folder.is_dir())?;
    let fault = rustix::fs::access(&nearest, rustix::fs::Access::WRITE_OK).err()?;
    let what =
        format!("can't write in {}, so no run can begin here: {fault}", visible_line(&nearest.display().to_string()));
    Some(bad(what, "give yourself write access to the folder, or copy the project"))
}

/// The files of the project that are left out until they are trusted.
fn waiting(setup: &Setup) -> Option<Finding> {
    let waiting = left_out(setup).ok()?;
    left_out_words(setup, &waiting).map(|words| bad(words, Advice::command("read the files, then", ["trust"])))
}

/// The folders with skills, strongest first, each with the number of files with errors.
fn skills(setup: &Setup) -> Vec<Finding> {
    let tools = tool_specs(setup);
    let dirs = SkillDirs { trusted: Trusted::everything(), ..skill_dirs(setup) };
    let loaded = load_skills(&dirs, SkillContext { tools: &tools, read_only_sandbox: false });
    let catalog = &loaded.catalog;
    let folders = dirs.folders().into_iter().filter_map(|(folder, layer)| {
        let used = catalog.skills().filter(|skill| skill.source.layer == layer).count();
        let replaced = catalog.skills().flat_map(|skill| catalog.replaced(&skill.name));
        let replaced = replaced.filter(|source| source.layer == layer).count();
        let others = if replaced > 0 { format!(", {replaced} of them replaced by others") } else { String::new() };
        let count = used.saturating_add(replaced);
        (count > 0).then(|| good(format!("skills in {}: {count}{others}", shown(setup, &folder))))
    });
    let errors = loaded.issues.iter().filter(|issue| issue.severity == SkillSeverity::Error).count();
    let words = || format!("{} in skill files, which are skipped", counted(errors, "error"));
    let broken = (errors > 0).then(|| bad(words(), Advice::command("list them", ["skill", "check"])));
    folders.chain(broken).collect()
}

fn sandbox(setup: &Setup) -> Vec<Finding> {
    let holding = callsheet_tools::holding();
    let lines = holding.lines().into_iter();
    let mut findings: Vec<Finding> = lines
        .map(|line| {
            let text = format!("commands, {}: {}", line.about, line.text);
            if line.held { good(text) } else { bad(text, "approve commands one by one") }
        })
        .collect();
    if let Err(why) = &holding.apart {
        findings.push(bad(
            format!("commands get no namespaces of their own: {why}"),
            "allow user namespaces; if a container around Callsheet confines commands, set tools.contained = true",
        ));
    }
    let kept = setup.folders.kept().into_iter();
    if let Ok(workspace) = Workspace::new(&setup.project, &[]).map(|all| kept.fold(all, Workspace::keeping))
        && workspace.holds_kept()
    {
        findings.push(bad(
            "commands are disabled: the project contains Callsheet's own folders, which contain your approvals, or is inside one",
            "work in another folder, or move Callsheet's folders with CALLSHEET_HOME",
        ));
    }
    findings
}

async fn servers() -> Vec<Finding> {
    let mut findings: Vec<Finding> = probe::running(&ProcessEnvironment)
        .await
        .iter()
        .map(|server| {
            good(format!("{} at {} offers {}", server.provider, server.base_url, counted(server.models.len(), "model")))
        })
        .collect();
    if findings.is_empty() {
        findings.push(good("no local server answers on its default port"));
    }
    findings.extend(
        probe::keys_present(&ProcessEnvironment)
            .iter()
            .map(|key| good(format!("{} is set ({})", key.variable, key.provider))),
    );
    findings
}

/// Whether the server of the model answers and accepts its key. `None` if only a call could tell.
async fn answers(setup: &Setup, choice: &Choice) -> Option<Finding> {
    let ModelRef::Provided { provider, model } = &choice.model else { return None };
    let advice = || Advice::command("fix that, or choose another model", ["init"]).or("to ask it", ["model", "test"]);
    let provider = match Provider::resolve(provider, &provider_settings(&setup.config)) {
        Ok(provider) => provider,
        Err(fault) => return Some(bad(fault.to_string(), advice())),
    };
    match ask_server(&provider, model, &ProcessEnvironment).await {
        Err(fault) => Some(bad(fault.to_string(), advice())),
        Ok(None) => None,
        Ok(Some(Ok(()))) => Some(good(format!("{} answers at {}", provider.name, provider.base_url))),
        Ok(Some(Err(fault))) => Some(bad(format!("{} at {}: {fault}", provider.name, provider.base_url), advice())),
    }
}

/// The context windows of the models that would be used, as their servers report them.
async fn windows(setup: &Setup, choice: &Choice) -> Vec<Finding> {
    // Weights are only loaded for a call.
    if matches!(choice.model, ModelRef::Embedded(_)) {
        return Vec::new();
    }
    let Ok(models) = Models::new(&setup.config, choice, Tape::None, Box::new(|_| {})) else { return Vec::new() };
    models.connect().await;
    let mut findings: Vec<Finding> = models
        .infos()
        .iter()
        .map(|model| good(format!("context window of {}: {}", model.id, window_words(model))))
        .collect();
    if let (Ok(workspace), Ok(model)) = (Workspace::new(&setup.project, &[]), models.model(Phase::Execute, None)) {
        let advice = "shorten the file, or use a model with a larger window";
        findings.extend(omitted_rules(&workspace, model.info()).into_iter().map(|words| bad(words, advice)));
    }
    findings
}

/// Prints each set value with its origin. The other values are built in.
fn values(setup: &Setup) -> Result<(), Failure> {
    for (name, value) in &setup.config.values {
        if setup.json {
            super::print_json(
                &serde_json::json!({ "key": name, "value": value.value, "origin": value.origin.to_string() }),
            )?;
        } else {
            super::print(&format!("   {name} = {} ({})\n", value.value, value.origin))?;
        }
    }
    if !setup.json {
        super::print(&format!(
            "   {} other settings have their defaults; files: {}, {}\n",
            KEYS.len().saturating_sub(setup.config.values.len()),
            setup.folders.config_file().display(),
            project_config(&setup.project).display()
        ))?;
    }
    Ok(())
}
