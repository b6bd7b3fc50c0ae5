//! `trust`: allow this project's configuration file to set what could harm, bound to its content.

use crate::cli::{Exit, Failure};
use crate::config::{Config, Sources, Trust};
use crate::setup::{Setup, config_failure, project_config};

pub(super) fn trust(setup: &Setup, revoke: bool) -> Result<Exit, Failure> {
    let file = project_config(&setup.project);
    let mut trust = Trust::load(&setup.folders);
    let unwritable =
        |error: std::io::Error| Failure::internal(format!("the list of trusted files cannot be written: {error}"), "");
    if revoke {
        let was = trust.revoke(&file).map_err(unwritable)?;
        let now = if was { "is no longer trusted" } else { "was not trusted" };
        return super::say(setup, &format!("{} {now}", file.display())).map(|()| Exit::Complete);
    }
    let content = std::fs::read(&file).map_err(|error| {
        Failure::usage(format!("{} cannot be read: {error}", file.display()), "there is nothing to trust")
    })?;
    trust.grant(&file, &content).map_err(unwritable)?;
    let sources = Sources { project: Some(file.clone()), ..Sources::default() };
    let config = Config::load(&sources, Some(&setup.folders)).map_err(config_failure)?;
    let mut words = format!("trusted {} as it is now; it sets:", file.display());
    config.values.iter().for_each(|(name, value)| words.push_str(&format!("\n  {name} = {}", value.value)));
    super::say(setup, &words).map(|()| Exit::Complete)
}
