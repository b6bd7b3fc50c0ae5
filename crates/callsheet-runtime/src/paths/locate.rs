//! Resolves a written path: canonicalises the deepest existing ancestor, resolves symbolic links, and compares the
//! result with the roots by components (spec 5.6).

use std::fs::DirEntry;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use callsheet_core::links::decode;
use unicode_normalization::UnicodeNormalization;

use crate::issues::path_reason;

use super::{PathFault, Workspace};

/// A checked path. It contained no symbolic link at the time of the check; opening it refuses a link that appears
/// later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The base of the workspace that contains it. 0 is the project root.
    pub(crate) base: usize,
    /// Canonical path below the base. Empty for the base itself.
    pub(crate) relative: PathBuf,
    /// Canonical text: relative to the project root with `/`, `.` for the root itself, or absolute in a read root.
    pub(crate) text: String,
}

impl Located {
    /// The canonical target path (spec 5.1): relative to the project root, `.` for the root itself, or absolute if it
    /// is in a read root.
    pub fn path(&self) -> &str {
        &self.text
    }
}

/// The canonical existing part of a path, and the part that does not exist.
struct Walked {
    real: PathBuf,
    rest: PathBuf,
    /// Why the first component of `rest` can neither be read nor created.
    problem: Option<String>,
}

impl Workspace {
    /// The existing file or directory that `written` names, relative to the project root or absolute.
    ///
    /// # Errors
    /// `Missing`, `Outside` the project and all read roots, or `Unreadable`.
    pub fn locate(&self, written: &str) -> Result<Located, PathFault> {
        if written.contains('\0') {
            return Err(PathFault::Missing(written.to_owned()));
        }
        let walked = self.walk(written)?;
        let located = self.place(written, &walked)?;
        if walked.rest.as_os_str().is_empty() { Ok(located) } else { Err(PathFault::Missing(written.to_owned())) }
    }

    /// The file that `written` names for writing: inside the project root and not protected. It need not exist.
    ///
    /// # Errors
    /// `Outside`, `Protected`, `Unwritable`, or `Unreadable`.
    pub fn locate_writable(&self, written: &str) -> Result<Located, PathFault> {
        let unwritable = |reason: String| PathFault::Unwritable { path: written.to_owned(), reason };
        if written.contains('\0') {
            return Err(unwritable(path_reason("name-nul")));
        }
        let walked = self.walk(written)?;
        let located = self.place(written, &walked)?;
        if located.base != 0 {
            return Err(PathFault::Outside(written.to_owned()));
        }
        if self.is_protected(&walked.real.join(&walked.rest), &located.relative) {
            return Err(PathFault::Protected(written.to_owned()));
        }
        if let Some(problem) = &walked.problem {
            return Err(unwritable(problem.clone()));
        }
        if located.relative.as_os_str().is_empty() {
            return Err(unwritable(path_reason("project-itself")));
        }
        Ok(located)
    }

    /// The existing file or directory for a path that is spelled as in links (`my%20file.txt`) or as on other systems
    /// (`src\a.txt`).
    pub fn respelled(&self, written: &str) -> Option<Located> {
        let decoded = decode(written);
        let spellings = [decoded.clone().into_owned(), written.replace('\\', "/"), decoded.replace('\\', "/")];
        spellings.iter().filter(|other| *other != written).find_map(|other| self.locate(other).ok())
    }

    /// Whether something exists at an absolute path outside every root. Tells nothing else about it.
    pub(crate) fn exists_outside(&self, written: &str) -> bool {
        !written.contains('\0') && written.starts_with('/') && Path::new(written).symlink_metadata().is_ok()
    }

    /// Whether `written` itself names a symbolic link. False if it does not exist.
    pub(crate) fn is_link(&self, written: &str) -> bool {
        let named = written.trim_end_matches('/');
        !named.contains('\0') && self.root().join(named).is_symlink()
    }

    fn walk(&self, written: &str) -> Result<Walked, PathFault> {
        let start = if written.starts_with('/') { PathBuf::from("/") } else { self.root().to_path_buf() };
        let mut walked = Walked { real: start, rest: PathBuf::new(), problem: None };
        for component in Path::new(written).components() {
            match component {
                Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
                Component::ParentDir if walked.rest.as_os_str().is_empty() => {
                    walked.real.pop();
                }
                Component::ParentDir => {
                    walked.rest.pop();
                    if walked.rest.as_os_str().is_empty() {
                        walked.problem = None;
                    }
                }
                Component::Normal(name) if walked.rest.as_os_str().is_empty() => {
                    self.step(&mut walked, Path::new(name), written)?;
                }
                Component::Normal(name) => walked.rest.push(name),
            }
        }
        Ok(walked)
    }

    fn step(&self, walked: &mut Walked, name: &Path, written: &str) -> Result<(), PathFault> {
        let next = walked.real.join(name);
        match next.canonicalize() {
            Ok(real) => walked.real = real,
            Err(error) => {
                match error.kind() {
                    ErrorKind::NotFound if next.symlink_metadata().is_ok() => {
                        walked.problem = Some(path_reason("broken-link"));
                    }
                    ErrorKind::NotFound => {
                        if let Some(real) = self.other_form(&walked.real, name) {
                            walked.real = real;
                            return Ok(());
                        }
                    }
                    ErrorKind::NotADirectory => {
                        walked.problem = Some(path_reason("part-is-a-file"));
                    }
                    ErrorKind::InvalidFilename => walked.problem = Some(path_reason("name-too-long")),
                    _ if self.base_of(&walked.real).is_some() => {
                        let reason = super::read::reason(&error);
                        return Err(PathFault::Unreadable { path: written.to_owned(), reason });
                    }
                    _ => return Err(PathFault::Outside(written.to_owned())),
                }
                walked.rest.push(name);
            }
        }
        Ok(())
    }

    /// The only entry of a folder whose name is the same in another Unicode form: a letter with its mark as one
    /// character or as two.
    fn other_form(&self, folder: &Path, name: &Path) -> Option<PathBuf> {
        let name = name.to_str().filter(|name| !name.is_ascii())?;
        self.base_of(folder)?;
        let same = |entry: &DirEntry| entry.file_name().to_str().is_some_and(|other| other.nfc().eq(name.nfc()));
        let mut found = folder.read_dir().ok()?.flatten().filter(same);
        let only = found.next().filter(|_| found.next().is_none())?;
        only.path().canonicalize().ok()
    }

    fn base_of(&self, real: &Path) -> Option<usize> {
        self.bases().iter().position(|base| real.starts_with(&base.path))
    }

    fn place(&self, written: &str, walked: &Walked) -> Result<Located, PathFault> {
        let full =
            if walked.rest.as_os_str().is_empty() { walked.real.clone() } else { walked.real.join(&walked.rest) };
        let outside = || PathFault::Outside(written.to_owned());
        let base = self.base_of(&full).ok_or_else(outside)?;
        let base_path = self.bases().get(base).map(|base| base.path.clone()).ok_or_else(outside)?;
        let relative = full.strip_prefix(&base_path).map_err(|_| outside())?.to_path_buf();
        let shown = if base == 0 { &relative } else { &full };
        let Some(text) = shown.to_str() else {
            let reason = path_reason("real-name-not-utf8");
            return Err(PathFault::Unreadable { path: written.to_owned(), reason });
        };
        let text = if text.is_empty() { ".".to_owned() } else { text.to_owned() };
        Ok(Located { base, relative, text })
    }
}
