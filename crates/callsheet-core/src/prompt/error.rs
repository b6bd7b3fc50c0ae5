//! Why a template cannot be used.

/// A fault of a template file, or of the values given to it. The person who wrote the file must hear it.
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
    /// Its parts do not follow each other as they must (spec 8.2).
    #[error("template \"{template}\" ({source_path}), line {line}: there must be a line \"{expected}\" before this")]
    Parts {
        /// Key.
        template: String,
        /// File.
        source_path: String,
        /// 1-based line of the file: that of a part that must not follow here, or the one behind the last.
        line: u32,
        /// The line that begins the part which is missing.
        expected: String,
    },
    /// A placeholder that the template may not hold (spec 8.3).
    #[error("template \"{template}\", line {line}: unknown placeholder \"{placeholder}\". Declared: {declared}")]
    Undeclared {
        /// Key.
        template: String,
        /// Name in the braces.
        placeholder: String,
        /// 1-based line in the file.
        line: u32,
        /// All names it may hold, in order.
        declared: String,
    },
    /// A placeholder that the template must hold (spec 8.3).
    #[error("template \"{template}\": the required placeholder \"{placeholder}\" is missing. Declared: {declared}")]
    Missing {
        /// Key.
        template: String,
        /// Name in the braces.
        placeholder: String,
        /// All names it may hold, in order.
        declared: String,
    },
    /// A value was not supplied: our own fault (spec 8.3).
    #[error("template \"{template}\": no value for \"{placeholder}\". Declared: {declared}")]
    NoValue {
        /// Key.
        template: String,
        /// Name in the braces.
        placeholder: String,
        /// All names it may hold, in order.
        declared: String,
    },
    /// A block that is not closed, closed without being open, or inside another (spec 8.4).
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
        /// All names it may hold, in order.
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
