//! Pages, fetched once per run and stored where no command writes (spec 5.7).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_core::nouns::{BlobId, Target};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::pictures::picture_of;
use crate::ports::{Fetch, FetchFault, NoResources, Page, Resource, ResourceFault, Resources, ShownPicture};
use crate::runfiles::KeptFiles;

/// The pages of one run. Several references to the same page wait for one fetch. A failed fetch can be repeated.
pub struct Pages {
    fetch: Option<Arc<dyn Fetch>>,
    resources: Arc<dyn Resources>,
    files: Option<KeptFiles>,
    cells: Mutex<BTreeMap<String, Arc<OnceCell<Page>>>>,
    pictures: Mutex<BTreeMap<String, ShownPicture>>,
}

#[derive(Serialize, Deserialize)]
struct StoredPage {
    asked: String,
    url: String,
    media_type: String,
    truncated: bool,
    text: String,
}

impl Pages {
    /// Pages that are fetched through `fetch`, if there is network access, and stored in `files`.
    pub fn new(fetch: Option<Arc<dyn Fetch>>, files: Option<KeptFiles>) -> Self {
        let (cells, pictures) = (Mutex::default(), Mutex::default());
        Self { fetch, resources: Arc::new(NoResources), files, cells, pictures }
    }

    /// The same, with resources of these servers. They are kept like pages.
    pub fn with_resources(self, resources: Arc<dyn Resources>) -> Self {
        Self { resources, ..self }
    }

    /// The page, if it was already fetched in this run.
    pub fn cached(&self, url: &str) -> Option<Page> {
        self.cell(url).get().cloned().or_else(|| self.kept(url))
    }

    /// The page. It is fetched if necessary.
    ///
    /// # Errors
    /// As `Fetch::fetch`; `Off` without network access.
    pub async fn page(&self, url: &str, cancel: &CancellationToken) -> Result<Page, FetchFault> {
        let cell = self.cell(url);
        let fetched = cell.get_or_try_init(|| async {
            if let Some(page) = self.kept(url) {
                return Ok(page);
            }
            let fetch = self.fetch.as_ref().ok_or(FetchFault::Off);
            let page = fetch?.fetch(url, cancel).await?;
            self.keep(url, &page);
            Ok(page)
        });
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(FetchFault::Cancelled),
            page = fetched => page.cloned(),
        }
    }

    /// Ends the servers whose resources were read.
    pub(crate) async fn end(&self) {
        self.resources.end().await;
    }

    fn cell(&self, url: &str) -> Arc<OnceCell<Page>> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        cells.entry(url.to_owned()).or_default().clone()
    }

    fn name(url: &str, ending: &str) -> String {
        let id = BlobId::of(url.as_bytes());
        format!("pages/{}.{ending}", id.as_str().get(..16).unwrap_or_default())
    }

    fn kept(&self, url: &str) -> Option<Page> {
        let bytes = self.files.as_ref()?.read(&Self::name(url, "json")).ok()??;
        let kept: StoredPage = serde_json::from_slice(&bytes).ok().filter(|kept: &StoredPage| kept.asked == url)?;
        let StoredPage { url, media_type, truncated, text, .. } = kept;
        Some(Page { url, media_type, text, truncated })
    }

    /// Stores a page. If that fails, the page is fetched again after a resume; nothing else is lost.
    fn keep(&self, url: &str, page: &Page) {
        let Some(files) = &self.files else { return };
        let kept = StoredPage {
            asked: url.to_owned(),
            url: page.url.clone(),
            media_type: page.media_type.clone(),
            truncated: page.truncated,
            text: page.text.clone(),
        };
        if let Ok(bytes) = serde_json::to_vec(&kept)
            && let Err(fault) = files.write(&Self::name(url, "json"), &bytes, false)
        {
            tracing::warn!(%fault, "a page could not be kept");
        }
    }
}

impl Pages {
    /// The picture of a resource, if it was already read in this run.
    fn picture(&self, link: &str) -> Option<ShownPicture> {
        let mut pictures = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = pictures.get(link) {
            return Some(known.clone());
        }
        let content = self.files.as_ref()?.read(&Self::name(link, "picture")).ok()??;
        let kept = ShownPicture { about: picture_of(&content)?, content: content.into() };
        pictures.insert(link.to_owned(), kept.clone());
        Some(kept)
    }

    /// Stores a picture. If that fails, it is read again after a resume; nothing else is lost.
    fn keep_picture(&self, link: &str, picture: &ShownPicture) {
        self.pictures.lock().unwrap_or_else(PoisonError::into_inner).insert(link.to_owned(), picture.clone());
        let kept = self.files.as_ref().map(|files| files.write(&Self::name(link, "picture"), &picture.content, false));
        if let Some(Err(fault)) = kept {
            tracing::warn!(%fault, "a picture could not be kept");
        }
    }
}

impl Resources for Pages {
    fn read(&self, server: &str, uri: &str) -> Result<Resource, ResourceFault> {
        let link = Target::Resource { server: server.to_owned(), uri: uri.to_owned() }.to_string();
        if let Some(known) = self.cached(&link) {
            return Ok(Resource::Text(known));
        }
        if let Some(known) = self.picture(&link) {
            return Ok(Resource::Picture(known));
        }
        let resource = self.resources.read(server, uri)?;
        match &resource {
            Resource::Text(page) => {
                self.keep(&link, page);
                // Another reader may have been first, with the same text.
                let _first = self.cell(&link).set(page.clone());
            }
            Resource::Picture(picture) => self.keep_picture(&link, picture),
        }
        Ok(resource)
    }
}
