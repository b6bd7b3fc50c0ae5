//! Where a task that is done for each item of a list has its items from (spec 3.16).

use std::collections::BTreeMap;

use callsheet_core::links::parse_target;
use callsheet_core::nouns::Target;
use callsheet_format::items::{Item, items_of};
use callsheet_format::reply::references::written_links;

use crate::file_index::{FileText, read_text};
use crate::paths::{Located, Workspace, walker};

use super::gather::Gatherer;
use super::resolve::{Request, Sources};

/// What the target contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemSource {
    /// A folder: the paths of the text files below it, in path order.
    Files(Vec<String>),
    /// A text, with a file name whose extension says its format.
    Text {
        /// The file name.
        name: String,
        /// All of the text.
        text: String,
    },
}

/// Reads the source of items.
///
/// # Errors
/// A text that says why there is nothing to read.
pub(crate) fn item_source(target: &Target, request: &Request<'_>, sources: &Sources<'_>) -> Result<ItemSource, String> {
    let workspace = sources.disk.workspace;
    if let Target::Directory(path) = target {
        let folder = workspace.locate(path).map_err(|fault| fault.to_string())?;
        let shown = |path: &String| !request.is_restricted(&Target::File { path: path.clone(), fragment: None });
        return Ok(ItemSource::Files(texts_below(workspace, &folder).filter(shown).collect()));
    }
    let refused = BTreeMap::new();
    let mut gatherer = Gatherer::new(request, sources, &refused);
    let piece = gatherer.piece(target);
    let why = || gatherer.issues.first().map_or_else(|| "it is empty".to_owned(), |issue| issue.what.clone());
    let excerpt = piece.ok_or_else(why)?.excerpt;
    if excerpt.gap.is_some() {
        return Err("it is too large to be read as a list".to_owned());
    }
    let name = match target {
        Target::File { path, .. } => path.clone(),
        Target::TaskDetail { file, .. } => file.clone(),
        _ => "output.md".to_owned(),
    };
    Ok(ItemSource::Text { name, text: excerpt.head })
}

/// Paths of the text files below a folder, in path order. Hidden and ignored files are left out.
fn texts_below<'a>(workspace: &'a Workspace, folder: &Located) -> impl Iterator<Item = String> + use<'a> {
    let base = workspace.bases().get(folder.base).map(|base| base.path.join(&folder.relative));
    let walk = base.map(|base| walker(&base).hidden(true).sort_by_file_name(Ord::cmp).build().flatten());
    let files = walk.into_iter().flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let paths = files.filter_map(|entry| Some(workspace.locate(entry.path().to_str()?).ok()?.path().to_owned()));
    paths.filter(|path| !matches!(read_text(workspace, path), FileText::Binary))
}

/// The items of a folder or of a whole file before a run begins. `None` if only the run can tell.
///
/// # Errors
/// A text that says why it has none.
pub fn known_items(target: &Target, workspace: &Workspace) -> Option<Result<Vec<Item>, String>> {
    match target {
        Target::Directory(path) => {
            let folder = workspace.locate(path).map_err(|fault| fault.to_string());
            Some(folder.map(|folder| texts_below(workspace, &folder).map(item_of_path).collect()))
        }
        Target::File { path, fragment: None } => {
            let FileText::Text(bytes) = read_text(workspace, path) else { return None };
            Some(items_of(path, &String::from_utf8_lossy(&bytes)).map_err(|fault| fault.to_string()))
        }
        _ => None,
    }
}

/// A file of a folder as an item.
pub(crate) fn item_of_path(path: String) -> Item {
    Item::plain(path.clone(), path)
}

/// The file of the project that an item names: all of its text is a path or one link.
pub fn file_of_item(item: &Item, workspace: &Workspace) -> Option<String> {
    let links = written_links(&item.text);
    let written = match links.as_slice() {
        [only] => only.target.to_string(),
        _ => item.text.trim_matches('`').to_owned(),
    };
    let Ok(Target::File { path, fragment: None }) = parse_target(&written) else { return None };
    let located = workspace.locate(&path).ok()?;
    workspace.kind(&located).is_ok().then_some(path)
}
