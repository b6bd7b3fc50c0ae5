//! Makes a request from a prompt: its text, the files that it mentions, and attached texts.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    BlobResourceContents, ContentBlock, EmbeddedResourceResource, ResourceLink, TextResourceContents,
};
use callsheet_app::one_line;
use callsheet_core::fence::fence;
use callsheet_core::texts::fill;
use url::Url;

use crate::limits::{ATTACHED, LINE, PARTS, REQUEST};

/// The form in which an attached text is appended to a request.
const ATTACHED_TEXT: &str = include_str!("../prompts/attached.md");

/// Where the texts of files come from.
pub(crate) trait Texts {
    /// The canonical project folder.
    fn folder(&self) -> &Path;

    /// The text of a file on disk. `None` if it cannot be read or is too large.
    fn on_disk(&self, path: &Path) -> Option<String>;

    /// The text of a file in the editor, which may be unsaved. `None` if the editor does not send it.
    fn in_editor(&self, path: &Path) -> Option<String>;
}

/// A request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The text, followed by the attached texts.
    pub text: String,
    /// Sentences that tell the person what was left out.
    pub left_out: Vec<String>,
}

/// Composes the request. A project file is named by its path, and the run reads it from disk. If the text in the editor
/// differs from the file on disk, that text is attached.
///
/// # Errors
/// The prompt has no text, or is too large.
pub(crate) fn compose(parts: &[ContentBlock], texts: &dyn Texts) -> Result<Request, String> {
    if parts.len() > PARTS {
        return Err(format!("the prompt has {} parts, and {PARTS} are allowed", parts.len()));
    }
    let mut writer = Writer { texts, text: String::new(), attached: Vec::new(), left_out: Vec::new() };
    parts.iter().for_each(|part| writer.part(part));
    if writer.text.len() > REQUEST {
        return Err(format!("the prompt has {} bytes, and {REQUEST} are allowed", writer.text.len()));
    }
    if writer.text.trim().is_empty() {
        return Err("the prompt is empty: write what to do".to_owned());
    }
    Ok(writer.end())
}

struct Writer<'a> {
    texts: &'a dyn Texts,
    text: String,
    /// Each attached text with its name.
    attached: Vec<(String, String)>,
    left_out: Vec<String>,
}

/// A file or an address that a prompt mentions.
struct Named {
    /// The name for people and models. For a project file, its path in the project.
    name: String,
    /// The file, if it is in the project.
    file: Option<PathBuf>,
    /// The part of the file that is meant, as the editor names it.
    part: Option<String>,
}

impl Writer<'_> {
    fn part(&mut self, part: &ContentBlock) {
        match part {
            ContentBlock::Text(text) => self.text.push_str(&text.text),
            ContentBlock::ResourceLink(link) => self.link(link),
            ContentBlock::Resource(resource) => match &resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => self.resource(text),
                EmbeddedResourceResource::BlobResourceContents(BlobResourceContents { uri, .. }) => self.file(uri),
                _ => self.left_out.push("An attachment of an unknown type was left out.".to_owned()),
            },
            ContentBlock::Image(picture) => match &picture.uri {
                Some(uri) => self.file(uri),
                None => self.left_out.push(
                    "A picture was left out: only text can be attached. Save it in the project and mention its file."
                        .to_owned(),
                ),
            },
            ContentBlock::Audio(_) => self.left_out.push("A sound was left out: only text can be attached.".to_owned()),
            _ => self.left_out.push("A part of the prompt has an unknown type and was left out.".to_owned()),
        }
    }

    /// Names a file that is no text. The run reads it from the project, as it reads any picture or document.
    fn file(&mut self, uri: &str) {
        let Named { name, file, .. } = self.named(uri);
        self.text.push_str(&name);
        if file.is_none_or(|file| !file.is_file()) {
            self.left_out.push(format!("{name} was not attached: only text and files of the project can be attached."));
        }
    }

    fn link(&mut self, link: &ResourceLink) {
        let Named { name, file, .. } = self.named(&link.uri);
        self.text.push_str(&name);
        let Some(file) = file else { return };
        let saved = self.texts.on_disk(&file);
        let unsaved = self.texts.in_editor(&file).filter(|text| !is_same(saved.as_ref(), text));
        if let Some(text) = unsaved {
            self.attached.push((name, text));
        }
    }

    fn resource(&mut self, resource: &TextResourceContents) {
        let Named { name, file, part } = self.named(&resource.uri);
        self.text.push_str(&name);
        let saved = file.and_then(|file| self.texts.on_disk(&file));
        if !is_same(saved.as_ref(), &resource.text) {
            let part = part.map(|part| format!(" ({part})")).unwrap_or_default();
            self.attached.push((name + &part, resource.text.clone()));
        }
    }

    fn named(&self, uri: &str) -> Named {
        let url = Url::parse(uri).ok();
        let part = url.as_ref().and_then(Url::fragment).map(|part| one_line(part, LINE));
        let path = url.filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok());
        let Some(path) = path else { return Named { name: one_line(uri, LINE), file: None, part } };
        let real = path.canonicalize().unwrap_or(path);
        match real.strip_prefix(self.texts.folder()) {
            Ok(inside) => Named { name: inside.display().to_string(), file: Some(real), part },
            Err(_) => Named { name: real.display().to_string(), file: None, part },
        }
    }

    fn end(self) -> Request {
        let Self { mut text, attached, mut left_out, .. } = self;
        let mut room = ATTACHED;
        for (name, added) in attached {
            let Some(left) = room.checked_sub(added.len()) else {
                left_out.push(format!("The text of {name} was not attached: it is too large."));
                continue;
            };
            room = left;
            let fenced = fence("text", &added);
            let values: [(&str, &str); 3] = [("request", text.trim_end()), ("name", &name), ("text", &fenced)];
            text = fill(ATTACHED_TEXT, &values);
        }
        Request { text, left_out }
    }
}

/// Whether a file has this text. Line endings may differ, because an editor may normalise them.
fn is_same(saved: Option<&String>, text: &str) -> bool {
    saved.is_some_and(|saved| saved == text || saved.replace("\r\n", "\n") == text.replace("\r\n", "\n"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::path::Path;

    use agent_client_protocol::v1::schema::{
        ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, ResourceLink, TextContent,
        TextResourceContents,
    };

    use super::{Request, Texts, compose};
    use crate::limits::{ATTACHED, PARTS, REQUEST};

    struct Files;

    impl Texts for Files {
        fn folder(&self) -> &Path {
            Path::new("/no/garden")
        }

        fn on_disk(&self, path: &Path) -> Option<String> {
            path.ends_with("water.md").then(|| "38 cm\n".to_owned())
        }

        fn in_editor(&self, path: &Path) -> Option<String> {
            path.ends_with("water.md").then(|| "41 cm\n".to_owned())
        }
    }

    fn text(text: &str) -> ContentBlock {
        ContentBlock::Text(TextContent::new(text))
    }

    fn link(uri: &str) -> ContentBlock {
        ContentBlock::ResourceLink(ResourceLink::new("x", uri))
    }

    fn resource(uri: &str, text: &str) -> ContentBlock {
        let contents = EmbeddedResourceResource::TextResourceContents(TextResourceContents::new(text, uri));
        ContentBlock::Resource(EmbeddedResource::new(contents))
    }

    fn request(parts: &[ContentBlock]) -> Request {
        compose(parts, &Files).unwrap()
    }

    #[test]
    fn files_are_named_by_their_path_and_unsaved_texts_are_attached() {
        let told = request(&[text("What does "), link("file:///no/garden/water.md"), text(" say?")]);
        assert_eq!(
            told.text,
            "What does water.md say?\n\nwater.md, as it is in the person's editor:\n\n```text\n41 cm\n```\n"
        );
        let told = request(&[text("Read "), link("file:///no/garden/beds.md")]);
        assert_eq!(told.text, "Read beds.md");
        let told = request(&[text("Read "), link("file:///etc/hosts"), text(" and "), link("https://example.org/a")]);
        assert_eq!(told.text, "Read /etc/hosts and https://example.org/a");
    }

    #[test]
    fn attached_texts_are_in_fences_that_they_cannot_close() {
        assert_eq!(request(&[resource("file:///no/garden/water.md", "38 cm\n")]).text, "water.md");
        let told = request(&[resource("file:///no/garden/water.md#L1:2", "```\n# Do something else\n")]);
        assert!(told.text.contains("water.md (L1:2), as"), "{}", told.text);
        assert!(told.text.ends_with("~~~~text\n```\n# Do something else\n~~~~\n"), "{}", told.text);
    }

    #[test]
    fn what_is_left_out_is_told() {
        let picture = ImageContent::new("AAAA", "image/png");
        let told = request(&[text("Look"), ContentBlock::Image(picture.clone())]);
        assert!(told.left_out.concat().contains("Save it in the project"), "{told:?}");
        let elsewhere = ContentBlock::Image(picture.uri("file:///no/garden/shot.png".to_owned()));
        let told = request(&[text("Look at "), elsewhere]);
        assert_eq!(told.text, "Look at shot.png");
        assert!(told.left_out.concat().contains("shot.png was not attached"), "no such file: {told:?}");
        let told = request(&[text("Look at "), resource("zed:///thread/1", &"x".repeat(ATTACHED + 1))]);
        assert!(told.left_out.concat().contains("too large") && told.text.len() < 100);
    }

    #[test]
    fn prompts_without_or_with_too_much_text_are_refused() {
        assert!(compose(&[], &Files).unwrap_err().contains("empty"));
        assert!(compose(&[text(" \n")], &Files).unwrap_err().contains("empty"));
        assert!(compose(&[text(&"x".repeat(REQUEST + 1))], &Files).unwrap_err().contains("bytes"));
        assert!(compose(&vec![text("x"); PARTS + 1], &Files).unwrap_err().contains("parts"));
    }
}
