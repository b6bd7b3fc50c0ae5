//! The address, the token and the certificates of a project's own cluster.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use callsheet_app::Advice;
use callsheet_cluster::{Access, Bucket, Certificate, ClusterFault, Trust};
use serde::{Deserialize, Serialize};

use crate::cli::{ClusterUpArgs, Failure};

/// The variable with the token of a cluster whose folder is not on this machine.
pub const TOKEN: &str = "CALLSHEET_CLUSTER_TOKEN";
/// The variable with the fingerprint of the certificate of such a cluster.
pub const CERTIFICATE: &str = "CALLSHEET_CLUSTER_CERTIFICATE";

/// Where everybody calls, and what is shown there. The ports and the token stay the same, because the engine and workers call
/// the dispatcher where it was before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterDoor {
    listen: SocketAddr,
    engine: SocketAddr,
    token: String,
    workers: String,
    commands: String,
    /// How many nodes the engine has. It keeps them.
    nodes: u32,
    /// The files with a certificate from an authority and its key. `None` stands for the cluster's own.
    #[serde(default)]
    certificate: Option<(PathBuf, PathBuf)>,
    /// Where texts are kept beyond this machine.
    #[serde(default)]
    store: Option<String>,
}

impl ClusterDoor {
    /// The door of the cluster in this folder, if one was ever made.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(file(folder)).ok()?).ok()
    }

    /// The same, for a command that needs it.
    ///
    /// # Errors
    /// There is none.
    pub fn of_project(folder: &Path) -> Result<Self, Failure> {
        Self::read(folder).ok_or_else(|| {
            Failure::usage("this project has no cluster", Advice::command("start one", ["cluster", "up"]))
        })
    }

    /// The door of the cluster in this folder, as the flags say. Its token, its ports and its own certificates are made once.
    ///
    /// # Errors
    /// There is no free port, a certificate cannot be used, or the folder cannot be written.
    pub fn make(folder: &Path, arguments: &ClusterUpArgs) -> Result<Self, Failure> {
        let mut door = match Self::read(folder) {
            Some(door) => door,
            None => {
                let token = || Ok::<_, Failure>(callsheet_app::new_key()? + &callsheet_app::new_key()?);
                let (one, other) = (bound()?, bound()?);
                Self {
                    listen: address_of(&one)?,
                    engine: address_of(&other)?,
                    token: token()?,
                    workers: token()?,
                    commands: token()?,
                    nodes: arguments.nodes.unwrap_or(1),
                    certificate: None,
                    store: None,
                }
            }
        };
        if arguments.nodes.is_some_and(|nodes| nodes != door.nodes) {
            let what = format!("this cluster was made with --nodes {}, and keeps that", door.nodes);
            return Err(Failure::usage(
                what,
                format!("leave --nodes out, or remove {} and all its runs", folder.display()),
            ));
        }
        let ip = arguments.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        door.listen = SocketAddr::new(ip, arguments.port.unwrap_or(door.listen.port()));
        let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
        door.certificate = arguments
            .tls_cert
            .as_ref()
            .zip(arguments.tls_key.as_ref())
            .map(|(certificate, key)| (absolute(certificate), absolute(key)));
        door.store = arguments.store.clone();
        if let Some(bucket) = door.bucket()? {
            bucket.check().map_err(|fault| Failure::usage(fault.to_string(), "nothing was started"))?;
        }
        door.certificate(folder)?;
        door.engine_certificate(folder)?;
        door.write(folder)
            .map_err(|error| Failure::internal(format!("can't write {}: {error}", file(folder).display()), ""))?;
        Ok(door)
    }

    /// Only the user of this process can read the file.
    fn write(&self, folder: &Path) -> std::io::Result<()> {
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(&serde_json::to_vec(self)?)?;
        temporary.persist(file(folder))?;
        Ok(())
    }

    /// Where it listens.
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Where it listens for the engine.
    pub fn engine_listen(&self) -> SocketAddr {
        self.engine
    }

    /// The address for --on, on this machine.
    pub fn address(&self) -> String {
        let ip = match self.listen.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        format!("https://{}", SocketAddr::new(ip, self.listen.port()))
    }

    /// How many nodes the engine has.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The token of clients and the engine.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The token of workers.
    pub fn worker_token(&self) -> &str {
        &self.workers
    }

    /// The token of workers that run commands elsewhere.
    pub fn commands_token(&self) -> &str {
        &self.commands
    }

    /// Where texts are kept beyond this machine.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn bucket(&self) -> Result<Option<Bucket>, Failure> {
        self.store.as_deref().map(opened).transpose()
    }

    /// What is shown to workers and clients.
    ///
    /// # Errors
    /// The certificate cannot be read or made.
    pub fn certificate(&self, folder: &Path) -> Result<Certificate, Failure> {
        let certificate = match &self.certificate {
            Some((certificate, key)) => Certificate::read(certificate, key),
            None => Certificate::own(&folder.join("door.pem")),
        };
        certificate.map_err(unusable)
    }

    /// What is shown to the engine.
    ///
    /// # Errors
    /// The certificate cannot be read or made.
    pub fn engine_certificate(&self, folder: &Path) -> Result<Certificate, Failure> {
        Certificate::own(&engine_certificate(folder)).map_err(unusable)
    }

    /// How this machine reaches it.
    ///
    /// # Errors
    /// The certificate cannot be read.
    pub fn access(&self, folder: &Path) -> Result<Access, Failure> {
        let trust = Trust::Pinned(self.certificate(folder)?.fingerprint());
        Ok(Access { address: self.address(), token: Some(self.token.clone()), trust })
    }
}

fn unusable(fault: ClusterFault) -> Failure {
    Failure::usage(fault.to_string(), "name a certificate and its key in PEM with --tls-cert and --tls-key")
}

/// The object store at this address. Its keys come from the environment; they are masked, and commands of tasks do not get them.
///
/// # Errors
/// The address cannot be used.
pub fn opened(address: &str) -> Result<Bucket, Failure> {
    let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
    let known = keys.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    callsheet_runtime::shown::keep_secret(known);
    callsheet_runtime::transport_policy::withhold(keys.map(str::to_owned));
    Bucket::open(address).map_err(|fault| Failure::usage(fault.to_string(), ""))
}

/// A free port of this machine. It stays free for as long as this lives.
fn bound() -> Result<TcpListener, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|_| no_port())
}

fn address_of(bound: &TcpListener) -> Result<SocketAddr, Failure> {
    bound.local_addr().map_err(|_| no_port())
}

fn no_port() -> Failure {
    Failure::internal("this machine has no free port", "end some programs")
}

fn file(folder: &Path) -> PathBuf {
    folder.join("door.json")
}

/// The file with the certificate that the engine trusts.
pub fn engine_certificate(folder: &Path) -> PathBuf {
    folder.join("engine.pem")
}

/// How a client reaches the cluster at this address: by what the environment says, or as the project's own cluster, whose
/// token is shown nowhere else.
///
/// # Errors
/// The environment names something that is no fingerprint.
pub fn access_to(address: &str, folder: &Path) -> Result<Access, Failure> {
    access(address, own(address, folder), folder, ClusterDoor::token)
}

/// The same for a worker, and whether the folder is that of the cluster.
///
/// # Errors
/// The environment names something that is no fingerprint.
pub fn worker_access_to(address: &str, folder: &Path) -> Result<(Access, bool), Failure> {
    let own = own(address, folder);
    let is_here = own.is_some();
    Ok((access(address, own, folder, ClusterDoor::worker_token)?, is_here))
}

/// The door of the cluster in this folder, if the address is that.
fn own(address: &str, folder: &Path) -> Option<ClusterDoor> {
    ClusterDoor::read(folder).filter(|door| door.address() == address.trim_end_matches('/'))
}

fn access(
    address: &str,
    own: Option<ClusterDoor>,
    folder: &Path,
    token: fn(&ClusterDoor) -> &str,
) -> Result<Access, Failure> {
    let said = |name: &str| std::env::var(name).ok().map(|said| said.trim().to_owned()).filter(|said| !said.is_empty());
    let token = said(TOKEN).or_else(|| own.as_ref().map(|door| token(door).to_owned()));
    let trust = match (said(CERTIFICATE), own) {
        (Some(fingerprint), _) => {
            let wrong = |fault: ClusterFault| Failure::usage(format!("{CERTIFICATE}: {fault}"), "");
            Trust::Pinned(fingerprint.parse().map_err(wrong)?)
        }
        (None, Some(door)) => door.access(folder)?.trust,
        (None, None) => Trust::Authorities,
    };
    token.iter().for_each(|token| keep_token(token));
    Ok(Access { address: address.to_owned(), token, trust })
}

/// Masks the token in what is shown and recorded, and keeps it from commands.
pub fn keep_token(token: &str) {
    callsheet_runtime::shown::keep_secret([(TOKEN.to_owned(), token.to_owned())]);
    callsheet_runtime::transport_policy::withhold([TOKEN.to_owned()]);
}
