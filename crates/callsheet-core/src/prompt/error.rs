//! Why a template cannot be used.

/// A fault of a template file, or of the values given to it. The author of the file must be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// There is no such template (spec 8.6).
    #[error("No prompt template \"{key}\". Known: {known}")]
    UnknownKey {
        /// As asked.
        key: String,
        /// All keys, sorted, separated by commas.
        known: String,
    },
    /// Its parts are in a wrong order (spec 8.2).
    #[error("template \"{template}\" ({source_path}), line {line}: there must be a line \"{expected}\" before this")]
    Parts {
        /// Key.
        template: String,
        /// File.
        source_path: String,
        /// 1-based line of the file: that of the misplaced part, or the one after the last.
        line: u32,
        /// The line that begins the missing part.
        expected: String,
    },
    /// A placeholder that the template may not contain (spec 8.3).
    #[error("template \"{template}\", line {line}: unknown placeholder \"{placeholder}\". Declared: {declared}")]
    Undeclared {
        /// Key.
        template: String,
        /// Name in the braces.
        placeholder: String,
        /// 1-based line in the file.
        line: u32,
        /// All names that it may contain, in order.
        declared: String,
    },
    /// The template lacks a required placeholder (spec 8.3).
    #[error("template \"{template}\": the required placeholder \"{placeholder}\" is missing. Declared: {declared}")]
    Missing {
        /// Key.
        template: String,
        /// Name in the braces.
        placeholder: String,
        /// All names that it may contain, in order.
        declared: String,
    },
    /// A value is missing, which is our own fault (spec 8.3).
    #[error("template \"{template}\": no value for \"{placeholder}\". Declared: {declared}")]
    NoValue {
        /// Key.
        template: String,
        /// Name in the braces.
        placeholder: String,
        /// All names that it may contain, in order.
        declared: String,
    },
    /// A block is not closed, closed without being opened, or nested in another (spec 8.4).
    #[error("template \"{template}\", line {line}: the block \"{placeholder}\" {fault}. Declared: {declared}")]
    Block {
        /// Key.
        template: String,
        /// Name in the braces.
        placeholder: String,
        /// 1-based line in the file.
        line: u32,
        /// What is wrong with it.
        fault: &'static str,
        /// All names that it may contain, in order.
        declared: String,
    },
    /// The file could not be read.
    #[error("template \"{template}\" ({source_path}) cannot be read: {reason}")]
    Unreadable {
        /// Key.
        template: String,
        /// File.
        source_path: String,
        /// The system's reason.
        reason: String,
    },
}
