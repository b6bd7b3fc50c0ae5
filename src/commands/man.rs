//! `man`: writes the man pages of all commands, for packages.

use crate::cli::{Exit, Failure, ManArgs, command};

pub(super) fn man(arguments: &ManArgs) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    let made = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command(), folder));
    made.map_err(|error| {
        Failure::usage(format!("can't write man pages to {}: {error}", folder.display()), "choose another folder")
    })?;
    Ok(Exit::Complete)
}
