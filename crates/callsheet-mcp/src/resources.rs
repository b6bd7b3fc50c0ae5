//! Resources of servers as references of tasks (spec 5.13). Only what a server lists is read: an address that a model
//! made up could carry a secret to the server.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use callsheet_core::fuzzy::nearest;
use callsheet_core::visible::visible_line;
use callsheet_runtime::ports::{Page, Resource, ResourceFault, Resources};
use rmcp::model::ResourceContents;
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};

use crate::limits::RESOURCE;
use crate::results::picture;
use crate::server::Server;

/// How many resources are named instead of one that is missing.
const NAMED: usize = 5;

/// The resources of servers, by the names of these.
pub struct ServerResources {
    servers: BTreeMap<String, Arc<Server>>,
    threads: Threads,
}

/// Where servers are talked to while a caller waits.
enum Threads {
    /// The threads of the caller, of which there are several.
    Shared(Handle),
    /// Own threads, which start when they are needed.
    Own(OnceLock<Option<Runtime>>),
}

impl ServerResources {
    /// The resources of these servers. This starts none of them.
    pub fn new(servers: impl IntoIterator<Item = Arc<Server>>) -> Self {
        let servers = servers.into_iter().map(|server| (server.settings().name.clone(), server)).collect();
        let shared = Handle::try_current().ok().filter(|now| now.runtime_flavor() == RuntimeFlavor::MultiThread);
        Self { servers, threads: shared.map_or_else(|| Threads::Own(OnceLock::new()), Threads::Shared) }
    }

    fn link(server: &str, uri: &str) -> String {
        format!("mcp:{server}/{uri}")
    }

    /// Waits for the result of work in the background.
    fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (sender, receiver) = channel();
        let work = async move {
            // The caller waits for it.
            let _sent = sender.send(work.await);
        };
        match &self.threads {
            Threads::Shared(threads) => drop(threads.spawn(work)),
            Threads::Own(threads) => {
                let begin = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().ok();
                drop(threads.get_or_init(begin).as_ref()?.spawn(work));
            }
        }
        let is_worker = Handle::try_current().is_ok_and(|now| now.runtime_flavor() == RuntimeFlavor::MultiThread);
        if is_worker { tokio::task::block_in_place(|| receiver.recv()).ok() } else { receiver.recv().ok() }
    }
}

#[async_trait]
impl Resources for ServerResources {
    fn read(&self, name: &str, uri: &str) -> Result<Resource, ResourceFault> {
        let Some(server) = self.servers.get(name).map(Arc::clone) else {
            let known = nearest(name, self.servers.keys().map(String::as_str), NAMED);
            return Err(ResourceFault::Missing(known.iter().map(|server| Self::link(server, "")).collect()));
        };
        let wanted = uri.to_owned();
        let read = async move {
            let listed = server.resources().await?;
            if !listed.contains(&wanted) {
                return Ok(Err(listed));
            }
            server.resource(&wanted).await.map(Ok)
        };
        let broken = || ResourceFault::Unreadable("its server could not be asked".to_owned());
        match self.wait(read).ok_or_else(broken)? {
            Ok(Ok(contents)) => content(uri, contents),
            Ok(Err(listed)) => {
                let near = nearest(uri, listed.iter().map(String::as_str), NAMED);
                Err(ResourceFault::Missing(near.iter().map(|uri| Self::link(name, uri)).collect()))
            }
            Err(trouble) => Err(ResourceFault::Unreadable(visible_line(&trouble.to_string()))),
        }
    }

    async fn end(&self) {
        for server in self.servers.values() {
            server.end().await;
        }
    }
}

impl Drop for ServerResources {
    fn drop(&mut self) {
        if let Threads::Own(threads) = &mut self.threads
            && let Some(threads) = threads.take().flatten()
        {
            threads.shutdown_background();
        }
    }
}

/// The text of a resource, cut like a page, or else the first picture.
fn content(uri: &str, contents: Vec<ResourceContents>) -> Result<Resource, ResourceFault> {
    let mut found: Option<(String, String)> = None;
    let (mut shown, mut other) = (None, None);
    for part in contents {
        match part {
            ResourceContents::TextResourceContents { mime_type, text, .. } => match &mut found {
                Some((_, known)) => known.push_str(&format!("\n\n{text}")),
                None => found = Some((mime_type.unwrap_or_else(|| "text/plain".to_owned()), text)),
            },
            ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
                shown = shown.or_else(|| picture(&blob));
                other = Some(mime_type);
            }
            _ => {}
        }
    }
    let Some((media_type, mut text)) = found else {
        if let Some(shown) = shown {
            return Ok(Resource::Picture(shown));
        }
        let kind = other.flatten().unwrap_or_else(|| "an unknown type".to_owned());
        return Err(ResourceFault::Unreadable(format!(
            "content of type {} is neither text nor a picture that can be shown",
            visible_line(&kind)
        )));
    };
    let most = text.floor_char_boundary(RESOURCE);
    let truncated = most < text.len();
    text.truncate(most);
    Ok(Resource::Text(Page { url: uri.to_owned(), media_type, text, truncated }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(contents: Value) -> Result<Resource, ResourceFault> {
        content("a://b", serde_json::from_value(contents).unwrap())
    }

    fn text(contents: Value) -> Page {
        match of(contents) {
            Ok(Resource::Text(page)) => page,
            other => panic!("{other:?}"),
        }
    }

    /// covers: 5.13
    #[test]
    fn texts_are_joined_and_a_picture_is_told_by_its_content() {
        let two =
            json!([{"uri": "a://b", "text": "one", "mimeType": "text/markdown"}, {"uri": "a://c", "text": "two"}]);
        let two = text(two);
        assert_eq!((two.text.as_str(), two.media_type.as_str(), two.truncated), ("one\n\ntwo", "text/markdown", false));
        let claimed = of(json!([{"uri": "a://b", "blob": "QUJD", "mimeType": "image/png"}])).unwrap_err();
        assert!(claimed.to_string().starts_with("content of type image/png is neither text nor"), "{claimed}");
        let dot = "R0lGODlhBQAEAIAAAA==";
        let shown = of(json!([{"uri": "a://b", "blob": dot, "mimeType": "application/x"}])).unwrap();
        assert!(matches!(&shown, Resource::Picture(shown) if shown.about.width == 5), "{shown:?}");
        let long = text(json!([{"uri": "a://b", "text": "ä".repeat(RESOURCE)}]));
        assert!(long.truncated && long.text.len() <= RESOURCE);
    }
}
