//! What the server asks of the program.

use std::path::{Path, PathBuf};

/// What kind of file this is to Callsheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sheet, with keys or as a checklist.
    Sheet,
    /// A skill.
    Skill,
    /// A file of templates, in any of their forms.
    Template,
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The file cannot be used like this.
    Error,
    /// The file can be used.
    Warning,
    /// Useful to know.
    Note,
}

/// What is wrong with a file, and where. Lines and columns count from 1, columns count characters, and the end is
/// exclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How serious it is.
    pub weight: Weight,
    /// Its code.
    pub code: String,
    /// What is wrong and what to do.
    pub message: String,
    /// Line and column where it begins.
    pub start: (u32, u32),
    /// Line and column where it ends.
    pub end: (u32, u32),
    /// Corrections, of which one would do.
    pub fixes: Vec<Fix>,
}

/// A part of a line and the text that would be right there. Lines and columns count as in [`Finding`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The line.
    pub line: u32,
    /// The first column.
    pub column: u32,
    /// The text that stands there.
    pub wrong: String,
    /// The text that would be right.
    pub right: String,
}

/// What the cursor is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'a> {
    /// The name of a skill.
    Skill(&'a str),
    /// The target of a link.
    Target(&'a str),
    /// The inside of a placeholder, and the byte of the cursor in the text.
    Value(&'a str, usize),
    /// A byte of a file of templates, which may be in the name of a called template.
    Call(usize),
}

/// Where something is defined. The line and the column count as in [`Finding`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Something that can be named, with a description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub about: String,
}

/// The project that an editor has open. All texts are those in the editor, saved or not.
pub trait Project {
    /// What kind of file this is. `None` if Callsheet does not use it.
    fn kind(&self, file: &Path, text: &str) -> Option<Kind>;

    /// All issues of a file, as the command line reports them.
    fn check(&self, kind: Kind, file: &Path, text: &str) -> Vec<Finding>;

    /// Skills that a task may name.
    fn skills(&self) -> Vec<Entry>;

    /// Tools that a skill may name.
    fn tools(&self) -> Vec<Entry>;

    /// Paths of the files of the project.
    fn paths(&self) -> Vec<String>;

    /// Parts of a file that a link may name: headings or symbols.
    fn anchors(&self, path: &str) -> Vec<Entry>;

    /// What a prompt would show of a link's target, with an estimate of its tokens, in Markdown. If it would show
    /// nothing, the reason.
    fn shown(&self, target: &str) -> String;

    /// Where something is defined that a file names. `None` if no file defines it.
    fn defined(&self, file: &Path, text: &str, named: Named<'_>) -> Option<Definition>;

    /// The names that a placeholder of a template can use.
    fn values(&self, file: &Path, text: &str) -> Vec<Entry>;
}
