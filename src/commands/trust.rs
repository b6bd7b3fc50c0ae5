//! `trust`: allow this project's configuration file to set what could harm, bound to its content.

use crate::cli::{Exit, Failure};
use crate::config::{Config, KnownStores, Sources, Trust};
use crate::setup::{Setup, config_failure, project_config};

pub(super) fn trust(setup: &Setup, revoke: bool) -> Result<Exit, Failure> {
    let file = project_config(&setup.project);
    let mut trust = Trust::load(&setup.folders);
    let unwritable =
        |error: std::io::Error| Failure::internal(format!("the list of trusted files cannot be written: {error}"), "");
    if revoke {
        let was = trust.revoke(&file).map_err(unwritable)?;
        tell!("{} {}", file.display(), if was { "is no longer trusted" } else { "was not trusted" });
        return Ok(Exit::Complete);
    }
    let has_runs = setup.project.join(".callsheet/callsheet.db").exists();
    if has_runs {
        KnownStores::grant(&setup.folders, &setup.project).map_err(unwritable)?;
        tell!("trusted the runs of {}", setup.project.display());
        if !file.exists() {
            return Ok(Exit::Complete);
        }
    }
    let content = std::fs::read(&file).map_err(|error| {
        Failure::usage(format!("{} cannot be read: {error}", file.display()), "there is nothing to trust")
    })?;
    trust.grant(&file, &content).map_err(unwritable)?;
    let sources = Sources { project: Some(file.clone()), ..Sources::default() };
    let config = Config::load(&sources, Some(&setup.folders)).map_err(config_failure)?;
    tell!("trusted {} as it is now; it sets:", file.display());
    for (name, value) in &config.values {
        tell!("  {name} = {}", value.value);
    }
    Ok(Exit::Complete)
}
