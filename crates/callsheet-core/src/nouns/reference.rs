//! References: links that a task reads (spec 5.1). The canonical text is stored; `sheet::reference` reads aliases.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Slug;

/// A Markdown link in a task: `[title](target)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reference {
    /// Link text. May be empty.
    pub title: String,
    /// The canonical target.
    pub target: Target,
}

/// A part of a file, task output or page (spec 5.3).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fragment {
    /// 1-based, inclusive lines.
    Lines {
        /// First line.
        first: u32,
        /// Last line. Not less than `first`.
        last: u32,
    },
    /// A heading of a Markdown file or a symbol of a code file, without `#`.
    Anchor(String),
}

/// A part of the sheet itself (`plan:`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanPart {
    /// The person's request.
    OriginalPrompt,
    /// The goals.
    Goals,
    /// One task section, counted from 1, in COARSE form.
    Section(u32),
}

/// Canonical targets of spec 5.1. `Display` gives the canonical text, which reads back as the same value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// `project_description`.
    ProjectDescription,
    /// `current_file`, with an optional fragment.
    CurrentFile(Option<Fragment>),
    /// `plan:<section>`.
    Plan(PlanPart),
    /// `#<slug>-results`, or `task://<slug>.md#<heading>` with a heading.
    TaskOutput {
        /// The producer.
        slug: Slug,
        /// One section of its document.
        heading: Option<String>,
    },
    /// `task://<slug>/<filename>`: a recorded details file.
    TaskDetail {
        /// The producer.
        slug: Slug,
        /// File name, one component.
        file: String,
    },
    /// `#<heading-slug>` of the original prompt or a follow-up.
    PromptHeading(String),
    /// A file relative to the project root (or absolute inside a read root), with an optional fragment.
    File {
        /// Path with `/` separators.
        path: String,
        /// Part of it.
        fragment: Option<Fragment>,
    },
    /// A directory relative to the project root, written with a trailing `/`.
    Directory(String),
    /// An `http://` or `https://` address.
    Http(String),
    /// `mcp:<server>/<uri>`: a resource of an MCP server.
    Resource {
        /// The name of the server in the settings.
        server: String,
        /// The address of the resource, as the server lists it.
        uri: String,
    },
}

impl fmt::Display for Fragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines { first, last } if first == last => write!(f, "L{first}"),
            Self::Lines { first, last } => write!(f, "L{first}-L{last}"),
            Self::Anchor(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProjectDescription => f.write_str("project_description"),
            Self::CurrentFile(None) => f.write_str("current_file"),
            Self::CurrentFile(Some(part)) => write!(f, "current_file#{part}"),
            Self::Plan(PlanPart::OriginalPrompt) => f.write_str("plan:original-prompt"),
            Self::Plan(PlanPart::Goals) => f.write_str("plan:goals-summary"),
            Self::Plan(PlanPart::Section(n)) => write!(f, "plan:task-section-{n}"),
            Self::TaskOutput { slug, heading: None } => write!(f, "#{slug}-results"),
            Self::TaskOutput { slug, heading: Some(heading) } => write!(f, "task://{slug}.md#{heading}"),
            Self::TaskDetail { slug, file } => write!(f, "task://{slug}/{file}"),
            Self::PromptHeading(heading) => write!(f, "#{heading}"),
            Self::File { path, fragment: None } => f.write_str(path),
            Self::File { path, fragment: Some(part) } => write!(f, "{path}#{part}"),
            Self::Directory(path) => write!(f, "{}/", path.trim_end_matches('/')),
            Self::Http(url) => f.write_str(url),
            Self::Resource { server, uri } => write!(f, "mcp:{server}/{uri}"),
        }
    }
}

impl Target {
    /// The task whose output this reads, if it reads one.
    pub fn producer(&self) -> Option<&Slug> {
        match self {
            Self::TaskOutput { slug, .. } | Self::TaskDetail { slug, .. } => Some(slug),
            _ => None,
        }
    }

    /// What contains this target: the file of a fragment, or the output with a section or a details file.
    pub fn whole(&self) -> Option<Self> {
        match self {
            Self::CurrentFile(Some(_)) => Some(Self::CurrentFile(None)),
            Self::File { path, fragment: Some(_) } => Some(Self::File { path: path.clone(), fragment: None }),
            Self::TaskOutput { slug, heading: Some(_) } | Self::TaskDetail { slug, .. } => {
                Some(Self::TaskOutput { slug: slug.clone(), heading: None })
            }
            _ => None,
        }
    }

    /// Whether it is shared. A shared reference never forms a separate execution run (spec 10.2).
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::ProjectDescription | Self::Plan(_) | Self::PromptHeading(_))
    }
}
