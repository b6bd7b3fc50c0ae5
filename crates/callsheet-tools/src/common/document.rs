//! PDF and office files, which tools read as Markdown (spec 5.4).

use std::fs::File;
use std::io::{self, Read};

use callsheet_core::nouns::BlobId;
use callsheet_runtime::ports::{DOCUMENT_LIMIT, DocumentKind, Documents};
use callsheet_runtime::references::{document_text, document_too_large};

/// Why a document has no text.
pub(crate) enum NoText {
    /// The file cannot be read.
    Io(io::Error),
    /// As a clause for a model.
    Because(String),
}

/// The text of an opened document. `None` if this program reads no documents.
pub(crate) fn text(kind: DocumentKind, file: File, documents: &dyn Documents) -> Result<Option<String>, NoText> {
    let size = file.metadata().map_err(NoText::Io)?.len();
    if size > DOCUMENT_LIMIT {
        return Err(NoText::Because(document_too_large(size)));
    }
    let mut bytes = Vec::new();
    file.take(DOCUMENT_LIMIT).read_to_end(&mut bytes).map_err(NoText::Io)?;
    document_text(documents, kind, &BlobId::of(&bytes), &bytes).map_err(NoText::Because)
}
