//! Programs and people to whom somebody gave a token, and what they may do.

use callsheet_core::nouns::BlobId;
use callsheet_core::record::AnsweredBy;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::refusal::Refusal;

/// What a client may do. Each right includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientRight {
    /// Look at runs.
    Look,
    /// Also start, resume, retry and cancel runs.
    Steer,
    /// Also approve, deny and answer.
    Approve,
}

impl ClientRight {
    /// The name in commands and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Steer => "steer",
            Self::Approve => "approve",
        }
    }
}

/// A program or a person with a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// Its name, which the record shows.
    pub name: String,
    /// What the client may do.
    pub may: ClientRight,
}

impl Client {
    /// The name under which the record keeps the client's orders.
    pub fn by(&self) -> AnsweredBy {
        AnsweredBy::Api(self.name.clone())
    }

    /// Why the client lacks a right. `None` if it has it.
    pub fn lacks(&self, right: ClientRight) -> Option<String> {
        let (name, may, right_name) = (&self.name, self.may.name(), right.name());
        let words = || format!("the token {name} has the right to {may}, but this needs the right to {right_name}");
        (self.may < right).then(words)
    }
}

/// A client, with the hash of its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownClient {
    /// The client.
    pub client: Client,
    /// The hash of its token.
    pub hash: BlobId,
}

/// The clients to which the person gave tokens.
pub trait Clients: Send + Sync {
    /// All clients whose tokens are valid now.
    ///
    /// # Errors
    /// The list cannot be read.
    fn known(&self) -> Result<Vec<KnownClient>, Refusal>;

    /// The client with this token.
    ///
    /// # Errors
    /// The list cannot be read.
    fn client(&self, token: &str) -> Result<Option<Client>, Refusal> {
        let hash = BlobId::of(token.trim().as_bytes());
        // Compares every hash in constant time, so that the duration reveals nothing.
        let is_it = |known: &KnownClient| bool::from(known.hash.as_str().as_bytes().ct_eq(hash.as_str().as_bytes()));
        let known = self.known()?.into_iter();
        Ok(known.fold(None, |found, known| if is_it(&known) { Some(known.client) } else { found }))
    }
}
