//! Where a server's program comes from, where it starts, and which of its files commands could rewrite (spec 13.6).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::BlobId;
use callsheet_runtime::paths::{ever_changeable, firm, host_folders, is_below, plain, read_regular};

use crate::login::Logins;
use crate::settings::{Reach, ServerProgram, ServerSettings};

/// The files of a server's program that commands could rewrite, with the hashes of their contents.
pub type Files = BTreeMap<PathBuf, BlobId>;

/// The folders around a server.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The project folder.
    pub project: PathBuf,
    /// The folder in which a server of the user's configuration starts. It contains no files of a project.
    pub apart: PathBuf,
    /// The notes about commands, which record where commands could ever write.
    pub notes: PathBuf,
    /// The log that gets the server's stderr.
    pub log: Option<PathBuf>,
    /// The logins of the person.
    pub logins: Logins,
}

impl Ground {
    /// The folder in which a program starts.
    pub(crate) fn folder(&self, settings: &ServerSettings, program: &ServerProgram) -> PathBuf {
        match (&program.folder, &settings.project) {
            (Some(folder), _) => self.project.join(folder),
            (None, Some(project)) => project.clone(),
            (None, None) => self.apart.clone(),
        }
    }

    /// The files of a server that commands could rewrite. These are the program and the arguments whose path is in, or
    /// leads through, a folder that commands of any project could ever change.
    pub fn files(&self, settings: &ServerSettings) -> Files {
        let Reach::Program(program) = &settings.reach else { return Files::new() };
        let (folder, changeable) = (self.folder(settings, program), self.changeable());
        // A command without a `/` comes from `PATH`.
        let named = Some(&program.command).filter(|command| command.contains('/'));
        let paths = named.into_iter().chain(&program.args).map(|word| folder.join(word));
        let theirs = |path: &PathBuf| is_below(&plain(path), &changeable) || firm(path, &changeable).is_none();
        let hashed = |path: PathBuf| Some((plain(&path), BlobId::of(&read_regular(&path).ok()?)));
        paths.filter(theirs).filter_map(hashed).collect()
    }

    /// The program to start. `None` if no folder of the `PATH` has it, not counting folders that commands could change.
    pub(crate) fn executable(&self, command: &str, folder: &Path, path: &OsStr) -> Option<PathBuf> {
        if command.contains('/') {
            return Some(folder.join(command));
        }
        let changeable = self.changeable();
        let is_program = |path: &PathBuf| {
            let real = firm(path, &changeable).and_then(|real| real.metadata().ok());
            real.is_some_and(|real| real.is_file() && real.permissions().mode() & 0o111 != 0)
        };
        host_folders(path, &changeable).into_iter().map(|folder| folder.join(command)).find(is_program)
    }

    /// The `PATH` without the folders that commands could change.
    pub(crate) fn path(&self, path: &OsStr) -> OsString {
        std::env::join_paths(host_folders(path, &self.changeable())).unwrap_or_default()
    }

    fn changeable(&self) -> Vec<PathBuf> {
        let mut folders = ever_changeable(&self.notes);
        folders.push(self.project.clone());
        folders
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn ground(root: &Path) -> Ground {
        for name in ["project", "apart", "outside"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let at = |name: &str| root.join(name);
        Ground {
            project: at("project"),
            apart: at("apart"),
            notes: at("notes"),
            log: None,
            logins: Logins::new(at("logins")),
        }
    }

    fn server(command: &str, args: &[&str], project: Option<&Path>) -> ServerSettings {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let program = ServerProgram { command: command.to_owned(), args, ..ServerProgram::default() };
        ServerSettings { project: project.map(Path::to_path_buf), ..ServerSettings::new("s", Reach::Program(program)) }
    }

    #[test]
    fn files_that_commands_could_rewrite_are_those_below_the_project_or_behind_its_links() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let ground = ground(&root);
        fs::write(root.join("project/srv.py"), "1").unwrap();
        fs::write(root.join("outside/own.py"), "1").unwrap();
        symlink(root.join("outside/own.py"), root.join("project/link.py")).unwrap();
        symlink(root.join("project"), root.join("outside/to")).unwrap();
        let own = root.join("outside/own.py").display().to_string();
        let through = root.join("outside/to/srv.py").display().to_string();
        let files = |server: ServerSettings| ground.files(&server).into_keys().collect::<Vec<_>>();
        let project = Some(ground.project.as_path());
        assert_eq!(files(server("python3", &["srv.py", &own, "-x", "."], project)), [root.join("project/srv.py")]);
        assert_eq!(files(server("./srv.py", &["gone.py"], project)), [root.join("project/srv.py")]);
        assert_eq!(files(server("python3", &["link.py"], project)), [root.join("project/link.py")]);
        assert_eq!(files(server("python3", &[&through], project)), [PathBuf::from(&through)]);
        assert_eq!(files(server("python3", &["srv.py", &own], None)), Vec::<PathBuf>::new(), "it starts elsewhere");
        let before = ground.files(&server("python3", &["srv.py"], project));
        fs::write(root.join("project/srv.py"), "2").unwrap();
        assert_ne!(ground.files(&server("python3", &["srv.py"], project)), before);
    }
}
