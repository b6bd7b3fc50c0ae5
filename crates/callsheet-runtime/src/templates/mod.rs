//! Template files of all layers: the project's, the user's, the built-in ones (spec "Templates" 2.1). Reading is
//! confined: a link that leads out of its folder is not followed.

mod skills;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::{BlobId, ToolSpec};
use callsheet_core::template::{Issue, Template};
use callsheet_format::skill::{SkillContext, powers as powers_of_skill};
use callsheet_format::template::{Known, Layer, Library, TemplateFile, is_yaml, powers, read_file_with};

pub(crate) use skills::give_skill;
pub use skills::{TemplateCatalog, skill_call};

use crate::paths::Workspace;
use crate::references::near_paths;
use crate::skills::{SkillDirs, load_skills};
use crate::trust::{LeftOut, Trusted, folded};

/// The largest template or schema file, bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The maximum number of files of one folder.
const MAX_FILES: usize = 1_000;

/// The built-in templates.
const BUILT_IN: &[(&str, &str)] = &[
    ("bundled: changelog.yaml", include_str!("../../../../templates/changelog.yaml")),
    ("bundled: default_atomic.yaml", include_str!("../../../../templates/default_atomic.yaml")),
    ("bundled: extract_data.yaml", include_str!("../../../../templates/extract_data.yaml")),
    ("bundled: match_files.yaml", include_str!("../../../../templates/match_files.yaml")),
    ("bundled: review_diff.yaml", include_str!("../../../../templates/review_diff.yaml")),
    ("bundled: summarise_files.yaml", include_str!("../../../../templates/summarise_files.yaml")),
    ("bundled: tests_until_green.yaml", include_str!("../../../../templates/tests_until_green.yaml")),
    ("bundled: triage.yaml", include_str!("../../../../templates/triage.yaml")),
];

/// Whether a template file is built in.
pub(crate) fn is_bundled(file: &str) -> bool {
    BUILT_IN.iter().any(|(name, _)| *name == file)
}

/// Whether a file contains templates, by its extension: XML or the short form.
pub fn is_template_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "xml") || path.to_str().is_some_and(is_yaml)
}

/// Where templates are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateDirs {
    /// The project's root; its `.callsheet/templates/` is read.
    pub project: Option<PathBuf>,
    /// The user's skills folder. An untrusted template cannot take a name from it.
    pub user: Option<PathBuf>,
    /// The user's skills folder, whose names no untrusted template takes.
    pub skills: Option<PathBuf>,
    /// The user's home, where other programs keep skills. The same holds for their names.
    pub home: Option<PathBuf>,
    /// Files of the project that its user trusts.
    pub trusted: Trusted,
}

/// An unreadable file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableTemplate {
    /// The file.
    pub file: String,
    /// Why it cannot be read.
    pub reason: String,
}

/// A library, and the files that do not belong to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedTemplates {
    /// The library.
    pub library: Library,
    /// Files that cannot be read.
    pub unreadable: Vec<UnreadableTemplate>,
    /// Files of the project that are not used until they are trusted (spec 12.7).
    pub left_out: Vec<LeftOut>,
}

/// The report about files that a person named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedTemplates {
    /// Every issue, file by file.
    pub issues: Vec<Issue>,
    /// Files that cannot be read.
    pub unreadable: Vec<UnreadableTemplate>,
    /// How many files were read.
    pub files: usize,
}

impl TemplateDirs {
    fn folders(&self) -> Vec<(Layer, PathBuf)> {
        let project = self.project.iter().map(|root| (Layer::Project, root.join(".callsheet/templates")));
        project.chain(self.user.iter().map(|user| (Layer::User, user.clone()))).collect()
    }
}

/// Reads and checks every layer: a few small files. Blocks. `known` is what else templates are checked against; schemas
/// and paths are looked up here.
pub fn load_templates(dirs: &TemplateDirs, known: &Known<'_>, strict: bool) -> LoadedTemplates {
    let mut found = CollectedFiles::default();
    found.layers(dirs, &known.specs);
    let library = found.load(dirs, known, strict);
    LoadedTemplates { library, unreadable: found.unreadable, left_out: found.left_out }
}

/// Reads and checks the files and folders that a person names, together with the current library, which contains what
/// they call. Reports only on the named files.
pub fn check_templates(paths: &[&Path], dirs: &TemplateDirs, known: &Known<'_>, strict: bool) -> CheckedTemplates {
    let mut found = CollectedFiles::default();
    for path in paths {
        if path.is_dir() {
            found.scan(path, Layer::Project, None);
        } else {
            found.take(path, Layer::Project, None);
        }
    }
    let named: BTreeSet<String> = found.files.iter().map(|file| file.file.clone()).collect();
    let unreadable = std::mem::take(&mut found.unreadable);
    found.layers(dirs, &known.specs);
    let library = found.load(dirs, known, strict);
    let issues = library.issues().iter().filter(|issue| named.contains(&issue.file)).cloned().collect();
    CheckedTemplates { issues, unreadable, files: named.len() }
}

/// Reads and checks the text of one file in an editor, together with the current library.
pub fn check_template_text(
    path: &Path,
    text: &str,
    dirs: &TemplateDirs,
    known: &Known<'_>,
    strict: bool,
) -> Vec<Issue> {
    let mut found = CollectedFiles::default();
    let file = path.display().to_string();
    // The file on disk with this name is not read as well.
    found.places.insert(file.clone(), path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
    found.files.push(TemplateFile { layer: Layer::Project, file: file.clone(), bytes: text.as_bytes().to_vec() });
    found.layers(dirs, &known.specs);
    let library = found.load(dirs, known, strict);
    library.issues().iter().filter(|issue| issue.file == file).cloned().collect()
}

/// Files being collected.
#[derive(Default)]
struct CollectedFiles {
    files: Vec<TemplateFile>,
    /// The real path of each file, by its shown name.
    places: BTreeMap<String, PathBuf>,
    unreadable: Vec<UnreadableTemplate>,
    left_out: Vec<LeftOut>,
}

impl CollectedFiles {
    /// Reads every layer. A file is read only once. Files of the project that could act are left out unless they are
    /// trusted.
    fn layers(&mut self, dirs: &TemplateDirs, tools: &[ToolSpec]) {
        let named = self.files.len();
        for (layer, folder) in dirs.folders() {
            self.scan(&folder, layer, dirs.project.as_deref());
        }
        for (name, text) in BUILT_IN {
            let (file, bytes) = ((*name).to_owned(), text.as_bytes().to_vec());
            self.files.push(TemplateFile { layer: Layer::BuiltIn, file, bytes });
        }
        self.leave_out(named, dirs, tools);
    }

    fn leave_out(&mut self, named: usize, dirs: &TemplateDirs, tools: &[ToolSpec]) {
        let waits = |(at, file): (usize, &TemplateFile)| {
            let path = self.places.get(&file.file).filter(|_| at >= named && file.layer == Layer::Project)?;
            (!dirs.trusted.holds(path, &file.bytes)).then(|| (at, path.clone()))
        };
        let waiting: BTreeMap<usize, PathBuf> = self.files.iter().enumerate().filter_map(waits).collect();
        if waiting.is_empty() {
            return;
        }
        let context = SkillContext { tools, read_only_sandbox: false };
        let aliases = Known { specs: tools.to_vec(), ..Known::default() };
        let read = |file: &TemplateFile| read_file_with(&file.file, &file.bytes, &aliases).templates;
        let templates: Vec<Vec<Template>> = self.files.iter().map(read).collect();
        let layers: Vec<Layer> = self.files.iter().map(|file| file.layer).collect();
        let known = || templates.iter().zip(&layers).flat_map(|(all, layer)| all.iter().map(move |one| (one, *layer)));
        let own = SkillDirs { user: dirs.skills.clone(), home: dirs.home.clone(), ..SkillDirs::default() };
        let loaded = load_skills(&own, context);
        let acting =
            loaded.catalog.skills().map(|one| (one.name.clone(), !powers_of_skill(&one.policy, context).is_empty()));
        let skills: BTreeMap<String, bool> = acting.collect();
        let acts = |name: &str| {
            context.executes(name)
                || skills.get(name.strip_prefix("skill:").unwrap_or(name)).copied().unwrap_or_default()
        };
        let stands_in = |name: &str| {
            let alike = |other: &str| folded(other) == folded(name);
            let other = known().any(|(one, layer)| layer != Layer::Project && alike(&one.name));
            let what = if other { "template" } else { "skill" };
            let words = || format!("replace the {what} {name}, which is built in or yours");
            (other || skills.keys().any(|skill| alike(skill))).then(words)
        };
        let find = |name: &str| known().find(|(one, _)| one.name == name).map(|(one, _)| one);
        let mut kept = Vec::new();
        for (at, (file, own)) in self.files.iter().zip(&templates).enumerate() {
            let Some(path) = waiting.get(&at) else {
                kept.push(file.clone());
                continue;
            };
            let gains = own.iter().flat_map(|one| powers(one, &find, &acts).into_iter().chain(stands_in(&one.name)));
            let gains: Vec<String> = gains.collect();
            if gains.is_empty() {
                kept.push(file.clone());
                continue;
            }
            let names = own.iter().map(|one| one.name.clone()).collect();
            let hash = BlobId::of(&file.bytes);
            self.left_out.push(LeftOut { path: path.clone(), hash, kind: "template", names, gains });
        }
        self.files = kept;
    }

    fn load(&self, dirs: &TemplateDirs, known: &Known<'_>, strict: bool) -> Library {
        let schema = |file: &str, name: &str| {
            let folder = self.places.get(file)?.parent()?.join("schemas");
            confined(&folder.join(format!("{name}.json")), &folder).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        };
        let exists = |path: &str| dirs.project.as_ref().is_none_or(|root| root.join(path).exists());
        let leads_out = |root: &PathBuf, path: &str| {
            let (root, path) = (root.canonicalize(), root.join(path).canonicalize());
            root.is_ok_and(|root| path.is_ok_and(|path| !path.starts_with(root)))
        };
        let escapes = |path: &str| dirs.project.as_ref().is_some_and(|root| leads_out(root, path));
        let near = |path: &str| {
            let workspace = dirs.project.as_ref().and_then(|root| Workspace::new(root, &[]).ok());
            workspace.map(|workspace| near_paths(&workspace, path)).unwrap_or_default()
        };
        let known = Known {
            schema: Some(&schema),
            exists: Some(&exists),
            near: Some(&near),
            escapes: Some(&escapes),
            ..known.clone()
        };
        Library::load(&self.files, &known, strict)
    }

    /// The template files directly in a folder, sorted by name. A missing folder has none.
    fn scan(&mut self, folder: &Path, layer: Layer, shown_from: Option<&Path>) {
        let mut tell = |reason: String| {
            self.unreadable.push(UnreadableTemplate { file: folder.display().to_string(), reason });
        };
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return,
            Err(fault) => return tell(fault.to_string()),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| is_template_file(path));
        paths.sort();
        if paths.len() > MAX_FILES {
            tell(format!("has more than {MAX_FILES} templates; Callsheet reads only the first ones"));
            paths.truncate(MAX_FILES);
        }
        for path in paths {
            self.take(&path, layer, shown_from);
        }
    }

    fn take(&mut self, path: &Path, layer: Layer, shown_from: Option<&Path>) {
        let shown = shown_from.and_then(|from| path.strip_prefix(from).ok()).unwrap_or(path).display().to_string();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match confined(path, folder) {
            Ok(bytes) => {
                let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
                if !self.places.values().any(|known| *known == real) {
                    self.places.insert(shown.clone(), real);
                    self.files.push(TemplateFile { layer, file: shown, bytes });
                }
            }
            Err(reason) => self.unreadable.push(UnreadableTemplate { file: shown, reason }),
        }
    }
}

/// The bytes of a file below `folder`, at most one more than the limit, so that core can refuse it by size.
fn confined(path: &Path, folder: &Path) -> Result<Vec<u8>, String> {
    let inside = |fault: std::io::Error| format!("cannot be read: {fault}");
    let (real, root) = (path.canonicalize().map_err(inside)?, folder.canonicalize().map_err(inside)?);
    if !real.starts_with(&root) {
        return Err("is a link out of its folder".to_owned());
    }
    if !real.is_file() {
        return Err("is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = crate::paths::open_regular_file(&real).map_err(inside)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(inside)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "<task type=\"atomic\" name=\"one\"><description>A</description>\
                        <instructions>B</instructions><output_format type=\"json\" schema=\"@shape\"/></task>";

    #[test]
    fn bundled_templates_have_no_issue_and_all_are_embedded() {
        let loaded = load_templates(&TemplateDirs::default(), &Known::default(), true);
        assert_eq!(loaded.library.issues(), []);
        let embedded: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates");
        let mut files: Vec<String> = fs::read_dir(folder)
            .expect("folder")
            .map(|entry| format!("bundled: {}", entry.expect("entry").file_name().to_string_lossy()))
            .collect();
        files.sort();
        assert_eq!(files, embedded);
    }

    #[test]
    fn layers_are_read_and_links_out_are_not() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().canonicalize().expect("root");
        let own = root.join("project/.callsheet/templates");
        fs::create_dir_all(own.join("schemas")).expect("folders");
        fs::create_dir_all(root.join("user")).expect("folders");
        fs::write(own.join("one.xml"), TASK).expect("write");
        fs::write(own.join("schemas/shape.json"), "{\"type\": \"object\"}").expect("write");
        fs::write(root.join("user/one.xml"), TASK).expect("write");
        fs::write(root.join("secret.xml"), "<templates/>").expect("write");
        std::os::unix::fs::symlink(root.join("secret.xml"), own.join("two.xml")).expect("link");
        let dirs = TemplateDirs {
            project: Some(root.join("project")),
            user: Some(root.join("user")),
            home: None,
            skills: None,
            trusted: Trusted::everything(),
        };
        let loaded = load_templates(&dirs, &Known::default(), false);
        let codes: Vec<String> =
            loaded.library.issues().iter().map(|issue| format!("{} {}", issue.code, issue.file)).collect();
        let user = root.join("user/one.xml").display().to_string();
        assert_eq!(codes, [format!("T519 {user}"), format!("T034 {user}")], "{:#?}", loaded.library.issues());
        assert_eq!(loaded.library.get("one").map(|known| known.layer), Some(Layer::Project));
        assert!(loaded.library.get("default_atomic").is_some());
        assert_eq!(loaded.unreadable.len(), 1);
        assert!(loaded.unreadable[0].reason.contains("link out"), "{:?}", loaded.unreadable);
    }

    /// covers: 12.7
    #[test]
    fn no_untrusted_template_has_a_name_of_the_users_skills_nor_one_like_it() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().canonicalize().expect("root");
        let own = root.join(".callsheet/templates");
        fs::create_dir_all(&own).expect("folders");
        fs::create_dir_all(root.join("skills")).expect("folders");
        let skill = "---\nname: my_skill\ndescription: Mine.\n---\nSay which.\n---\nDo it.\n";
        fs::write(root.join("skills/my_skill.md"), skill).expect("write");
        for name in ["my-skill", "summarise-files", "read-files", "other"] {
            fs::write(own.join(format!("{name}.xml")), TASK.replace("\"one\"", &format!("\"{name}\""))).expect("write");
        }
        let dirs =
            TemplateDirs { project: Some(root.clone()), skills: Some(root.join("skills")), ..TemplateDirs::default() };
        let loaded = load_templates(&dirs, &Known::default(), false);
        let names: Vec<&str> = loaded.left_out.iter().flat_map(|one| &one.names).map(String::as_str).collect();
        assert_eq!(names, ["my-skill", "read-files", "summarise-files"]);
    }
}
