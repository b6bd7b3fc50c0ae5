//! The name of a model (spec 7.9).

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// `PROVIDER/MODEL`, split at the first `/`. `embedded:PATH` and `scripted:FILE` are the only forms with a colon.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelRef {
    /// A model of a provider.
    Provided {
        /// Before the first `/`.
        provider: String,
        /// The rest. It may contain more slashes and colons.
        model: String,
    },
    /// A GGUF file.
    Embedded(PathBuf),
    /// A script.
    Scripted(PathBuf),
}

/// A text that does not name a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` does not name a model: write PROVIDER/MODEL, embedded:PATH or scripted:FILE")]
pub struct ModelRefError {
    /// Text as given.
    pub text: String,
}

impl FromStr for ModelRef {
    type Err = ModelRefError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let wrong = || ModelRefError { text: text.to_owned() };
        for (prefix, form) in
            [("embedded:", Self::Embedded as fn(PathBuf) -> Self), ("scripted:", Self::Scripted as fn(PathBuf) -> Self)]
        {
            if let Some(path) = trimmed.strip_prefix(prefix) {
                return if path.is_empty() { Err(wrong()) } else { Ok(form(PathBuf::from(path))) };
            }
        }
        match trimmed.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !provider.contains(':') && !model.is_empty() => {
                Ok(Self::Provided { provider: provider.to_owned(), model: model.to_owned() })
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provided { provider, model } => write!(f, "{provider}/{model}"),
            Self::Embedded(path) => write!(f, "embedded:{}", path.display()),
            Self::Scripted(path) => write!(f, "scripted:{}", path.display()),
        }
    }
}
