//! The text of PDF and office files (spec 5.4).

use callsheet_core::nouns::BlobId;

/// A kind of document, by the extension of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// PDF.
    Pdf,
    /// A text document, a workbook or slides in an Office Open XML format.
    Office,
    /// A text document, a workbook or slides in an OpenDocument format.
    OpenDocument,
}

/// Bytes of the largest document that is read.
pub const DOCUMENT_LIMIT: u64 = 64 * 1024 * 1024;

const EXTENSIONS: [(&str, DocumentKind); 7] = [
    ("pdf", DocumentKind::Pdf),
    ("docx", DocumentKind::Office),
    ("xlsx", DocumentKind::Office),
    ("pptx", DocumentKind::Office),
    ("odt", DocumentKind::OpenDocument),
    ("ods", DocumentKind::OpenDocument),
    ("odp", DocumentKind::OpenDocument),
];

impl DocumentKind {
    const ALL: [Self; 3] = [Self::Pdf, Self::Office, Self::OpenDocument];

    /// The kind of a file.
    pub fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
        let known = EXTENSIONS.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known));
        known.map(|(_, kind)| *kind)
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Office => "office",
            Self::OpenDocument => "opendocument",
        }
    }

    /// The kind with this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }
}

/// Why a document has no text. A retry does not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentFault {
    /// This program cannot read such documents.
    #[error("this program does not read such files")]
    NoReader,
    /// Reading it took more memory or time than is allowed.
    #[error("reading it takes too much memory or time")]
    TooLarge,
    /// It is damaged, encrypted or of another format.
    #[error("it is damaged, encrypted or of another format")]
    Unreadable,
    /// It contains no text, such as scanned pages.
    #[error("it contains no text")]
    NoText,
}

/// Reads documents as text.
pub trait Documents: Send + Sync {
    /// The text of a document as Markdown. `id` is the id of its bytes. Blocks while another process reads it.
    ///
    /// # Errors
    /// See `DocumentFault`.
    fn text(&self, kind: DocumentKind, id: &BlobId, bytes: &[u8]) -> Result<String, DocumentFault>;
}

/// Reads no documents. They are binary files then.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDocuments;

impl Documents for NoDocuments {
    fn text(&self, _: DocumentKind, _: &BlobId, _: &[u8]) -> Result<String, DocumentFault> {
        Err(DocumentFault::NoReader)
    }
}
