//! The basis of a command: the project, the user's folders, the configuration and the store.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use callsheet_app::{Advice, LocalRuns, Refusal};
pub use callsheet_app::{find_run, new_run, recorded, run_name, shell_word};
#[cfg(feature = "cluster")]
use callsheet_cluster::RemoteStore;
pub use callsheet_core::view::civil;
use callsheet_core::visible::visible_line;
use callsheet_runtime::ports::{Store, StoreFault};
use callsheet_runtime::shown::keep_secret;
use callsheet_runtime::templates::LoadedTemplates;
use callsheet_runtime::transport_policy::withhold;
use callsheet_runtime::trust::Trusted;
use callsheet_store::SqliteStore;

use crate::cli::{Cli, Failure};
#[cfg(feature = "cluster")]
use crate::cluster_door::access_to;
use crate::config::{Config, ConfigFault, Folders, GrantList, Setting, Sources, Trust};
use crate::host::Program;
use crate::models::{provider_settings, secrets};
use crate::place::{Elsewhere, elsewhere, note, project_of};
use crate::term::Notices;

/// The folder of a cluster, in that of the project's runs.
#[cfg(feature = "cluster")]
const CLUSTER: &str = "cluster";

/// A project and the configuration in force there.
#[derive(Clone)]
pub struct Setup {
    /// The canonical path of the project folder.
    pub project: PathBuf,
    /// The user's folders.
    pub folders: Folders,
    /// The configuration from all layers.
    pub config: Config,
    /// `--json`.
    pub json: bool,
    /// The folder that a person sees paths from. `None` if they see whole paths, as in an editor.
    pub here: Option<PathBuf>,
    /// The number of `--verbose` flags.
    pub verbose: u8,
    /// How this person calls the program for this project, including the folder if they named it.
    pub command: String,
    /// The templates of all layers, which are read once.
    pub templates: OnceLock<Arc<LoadedTemplates>>,
    /// What is trusted in a copy of a project. `None` stands for what this user trusts.
    pub vouched: Option<Trusted>,
    /// The cluster whose runs are used instead of those of this machine.
    #[cfg(feature = "cluster")]
    pub on: Option<Arc<RemoteStore>>,
}

impl Setup {
    /// Reads everything except the store.
    ///
    /// # Errors
    /// The folder or the home folder does not exist, or the configuration is invalid.
    pub fn new(cli: &Cli, flags: Vec<Setting>) -> Result<Self, Failure> {
        #[cfg(not(feature = "cluster"))]
        if cli.on.is_some() {
            return Err(crate::commands::no_clusters());
        }
        let folders = Folders::from_environment()
            .ok_or_else(|| Failure::internal("there is no home directory", "set HOME or CALLSHEET_HOME"))?;
        let asked = cli.project.clone().unwrap_or_else(|| PathBuf::from("."));
        let here = asked.canonicalize().map_err(|error| {
            Failure::usage(format!("can't use the project folder {}: {error}", asked.display()), "")
        })?;
        if !here.is_dir() {
            return Err(Failure::usage(format!("{} is not a folder", here.display()), ""));
        }
        // A named folder is used as it is.
        let project = if cli.project.is_some() { here } else { project_of(&here, &folders) };
        refuse_links(&project)?;
        let environment: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("CALLSHEET_"))
            .collect();
        let sources =
            Sources { user: Some(folders.config_file()), project: Some(project_config(&project)), environment, flags };
        // A message about an invalid configuration may contain a key, too.
        keep_secret(secrets(&BTreeMap::new()));
        let config = Config::load(&sources, Some(&folders)).map_err(config_failure)?;
        let log = cli.log.clone().or_else(|| crate::log::configured(&config));
        if let Some(log) = log {
            crate::log::begin(&log)?;
        }
        #[cfg(feature = "mcp")]
        crate::servers::mask_secrets(&config, &folders);
        #[cfg(feature = "otel")]
        for name in callsheet_telemetry::SECRETS {
            keep_secret(std::env::var(name).ok().map(|value| (name.to_owned(), value)));
            withhold([name.to_owned()]);
        }
        let keys = callsheet_models::config::vendors().iter().filter_map(|vendor| vendor.api_key_env.clone());
        let providers = provider_settings(&config);
        keep_secret(secrets(&providers));
        withhold(keys.chain(providers.into_values().filter_map(|provider| provider.api_key_env)));
        let command = command_words(cli);
        let templates = OnceLock::new();
        let here = Some(std::env::current_dir().unwrap_or_default());
        #[cfg(feature = "cluster")]
        let cluster = folders.store(&project).join(CLUSTER);
        Ok(Self {
            project,
            folders,
            config,
            json: cli.prints_json(),
            here,
            verbose: cli.verbose,
            command,
            templates,
            vouched: None,
            #[cfg(feature = "cluster")]
            on: remote(cli, &cluster)?,
        })
    }

    /// A path of the project as seen from the person's current folder.
    pub fn seen_from_here(&self, path: &str) -> String {
        let whole = self.project.join(path);
        let inside = self.here.as_ref().and_then(|here| whole.strip_prefix(here).ok());
        let seen = inside.unwrap_or(&whole).display().to_string();
        if path.ends_with('/') && !seen.ends_with('/') { seen + "/" } else { seen }
    }

    /// The project files that this user trusts.
    pub fn trusted(&self) -> Trusted {
        self.vouched.clone().unwrap_or_else(|| Trust::load(&self.folders).trusted())
    }

    /// The permissions that this user granted for longer than one answer.
    pub fn grants(&self) -> GrantList {
        GrantList::new(&self.folders, &self.project)
    }

    /// Opens the project's store and creates it if necessary.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn store(&self) -> Result<Arc<dyn Store>, Failure> {
        #[cfg(feature = "cluster")]
        if let Some(remote) = &self.on {
            return Ok(Arc::clone(remote) as Arc<dyn Store>);
        }
        Ok(Arc::new(SqliteStore::open(&self.store_folder()).map_err(store_failure)?))
    }

    /// The folder with notes about running commands of all projects.
    pub fn notes(&self) -> PathBuf {
        self.folders.state.join("commands")
    }

    /// The folder with the runs of the project. It is in the user's state folder, never in the project.
    pub fn store_folder(&self) -> PathBuf {
        self.folders.store(&self.project)
    }

    /// The folder of the project's own cluster: the engine's data, the door, messages, and the texts of runs.
    #[cfg(feature = "cluster")]
    pub fn cluster_folder(&self) -> PathBuf {
        self.store_folder().join(CLUSTER)
    }

    /// Whether there is a store, which need not contain a run.
    pub fn has_store(&self) -> bool {
        #[cfg(feature = "cluster")]
        if self.on.is_some() {
            return true;
        }
        callsheet_store::database(&self.store_folder()).exists()
    }

    /// Records the path of the project, because it has a run now.
    pub fn note_place(&self) {
        if let Err(error) = note(&self.project, &self.store_folder()) {
            let place = self.project.display();
            tell!("note: can't note the id of {place}, so its runs will not be found if it is renamed: {error}");
        }
    }

    /// The runs of this project from its former paths.
    pub fn elsewhere(&self) -> Vec<Elsewhere> {
        elsewhere(&self.project, &self.folders)
    }

    /// A message that the project has runs under a former path, with the command that adopts them.
    pub fn elsewhere_words(&self) -> Option<String> {
        self.adopt().map(|advice| advice.for_shell(&self.command))
    }

    /// Advice to take over the runs that the project has under a former path.
    fn adopt(&self) -> Option<Advice> {
        let places: Vec<String> =
            self.elsewhere().iter().map(|one| visible_line(&one.project.display().to_string())).collect();
        let from = places.join(", ");
        let what = format!("this project was at {from} before, and its runs are kept for that place; take them over");
        (!places.is_empty()).then(|| Advice::command(what, ["runs", "--adopt"]))
    }

    /// The flags with which another process of this program has the same runs. Its project is named if `named`.
    pub fn place_flags(&self, named: bool) -> Vec<OsString> {
        let project = named.then(|| [OsString::from("-C"), self.project.as_os_str().to_owned()]);
        let flags = project.into_iter().flatten();
        #[cfg(feature = "cluster")]
        let flags = flags.chain(self.on.iter().flat_map(|on| [OsString::from("--on"), on.address().into()]));
        flags.collect()
    }

    /// Whether the person named the project folder.
    pub fn is_named(&self) -> bool {
        self.command.contains(" -C ")
    }

    /// What a person must know about the project: it was found in a folder above, or it has runs under a former path.
    pub fn place_words(&self) -> Option<String> {
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
        let above = self.project != here && here.starts_with(&self.project);
        let named = self.is_named();
        let above = (above && !named).then(|| {
            format!("the project is {}, which this folder is in", visible_line(&self.project.display().to_string()))
        });
        let parts: Vec<String> = above.into_iter().chain(self.elsewhere_words()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The runs of the project, for a command line. Notices go to stderr.
    pub fn runs(&self) -> LocalRuns {
        LocalRuns::new(Arc::new(self.program()))
    }

    /// Where the runs are, for a person.
    pub fn runs_place(&self) -> String {
        #[cfg(feature = "cluster")]
        if let Some(remote) = &self.on {
            return format!("the cluster at {}", remote.address());
        }
        self.project.display().to_string()
    }

    /// This program for the project.
    pub fn program(&self) -> Program {
        Program::new(self.clone(), Arc::new(Notices))
    }

    /// The existing store of a project. Commands that only read never create one.
    ///
    /// # Errors
    /// There is no store, or it cannot be used.
    pub fn existing_store(&self) -> Result<Arc<dyn Store>, Failure> {
        if self.has_store() { self.store() } else { Err(self.no_runs().into()) }
    }

    /// A refusal that says that the project has no runs, and what to do.
    pub fn no_runs(&self) -> Refusal {
        let advice = self.adopt().unwrap_or_else(|| Advice::command("start one", ["run", "…"]));
        Refusal::usage(format!("there are no runs in {}", self.project.display()), advice)
    }
}

/// The beginning of a command for the same project and the same cluster.
pub fn command_words(cli: &Cli) -> String {
    let named = cli.project.as_ref().map(|folder| format!(" -C {}", shell_word(&folder.to_string_lossy())));
    format!("callsheet{}{}", named.unwrap_or_default(), on_words(cli))
}

/// The words of a command that choose the cluster of this one.
fn on_words(cli: &Cli) -> String {
    cli.on.as_ref().map(|address| format!(" --on {}", shell_word(address))).unwrap_or_default()
}

/// The runs of the cluster that the command names. `folder` is the one of the project's own cluster.
#[cfg(feature = "cluster")]
fn remote(cli: &Cli, folder: &std::path::Path) -> Result<Option<Arc<RemoteStore>>, Failure> {
    let Some(address) = cli.on.as_deref() else { return Ok(None) };
    let remote = RemoteStore::new(&access_to(address, folder)?);
    remote.map(|remote| Some(Arc::new(remote))).map_err(|fault| Failure::usage(fault.to_string(), ""))
}

/// Refuses a link in place of Callsheet's folder or of a file in it, because other files would be read and written.
fn refuse_links(project: &Path) -> Result<(), Failure> {
    let own = project.join(".callsheet");
    let inside = std::fs::read_dir(&own).into_iter().flatten().flatten().map(|entry| entry.path());
    match std::iter::once(own.clone()).chain(inside).find(|path| path.is_symlink()) {
        None => Ok(()),
        Some(link) => {
            let what = format!("{} is a link, and Callsheet does not follow links there", link.display());
            Err(Failure::usage(what, "remove it, or replace it with the folder it points to"))
        }
    }
}

/// The project's configuration file.
pub fn project_config(project: &Path) -> PathBuf {
    project.join(".callsheet/config.toml")
}

/// Turns a configuration fault into a failure.
pub fn config_failure(fault: ConfigFault) -> Failure {
    if fault.place.starts_with("flag ") {
        return Failure::usage(format!("{}: {}", fault.place, fault.what), "");
    }
    Failure::internal(format!("configuration: {fault}"), Advice::command("fix it; see all values", ["doctor"]))
}

/// Turns a store fault into a failure with advice.
pub fn store_failure(fault: StoreFault) -> Failure {
    Refusal::from(fault).into()
}
