//! Converts one document in this process.

use callsheet_runtime::ports::DocumentKind;

/// The text of a document as Markdown. Empty if the document contains no text, as with scanned pages.
///
/// # Errors
/// The parser's error, for the log.
pub fn convert(kind: DocumentKind, bytes: &[u8]) -> Result<String, String> {
    match kind {
        DocumentKind::Pdf => {
            let read = unpdf::parse_bytes(bytes);
            let text = read.and_then(|document| unpdf::render::to_markdown(&document, &Default::default()));
            text.map_err(|error| error.to_string())
        }
        DocumentKind::OpenDocument => crate::open_document::markdown(bytes),
        DocumentKind::Office => {
            let read = undoc::parse_bytes(bytes);
            let text = read.and_then(|document| undoc::render::to_markdown(&document, &Default::default()));
            text.map_err(|error| error.to_string())
        }
    }
}
