//! A place beyond this machine for texts and files by their hash: a bucket of an object store, or a folder that machines share.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use callsheet_core::nouns::BlobId;
use callsheet_runtime::ports::StoreFault;
use futures_util::future::try_join_all;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as Name;
use object_store::{Error, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::blobs::BlobFolder;
use crate::fault::ClusterFault;

/// How long the object store may be away.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many texts are sent at the same time.
const AT_ONCE: usize = 8;
/// How many texts are remembered that are there.
const REMEMBERED: usize = 100_000;

/// A bucket of an object store, or a folder that machines share.
#[derive(Clone, Debug)]
pub struct Bucket(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Folder(BlobFolder),
    Store(Arc<Remote>),
}

#[derive(Debug)]
struct Remote {
    address: String,
    store: Arc<dyn ObjectStore>,
    below: Name,
    /// Texts that are there.
    has: Mutex<BTreeSet<BlobId>>,
    thread: Reactor,
}

impl Bucket {
    /// Opens `s3://BUCKET/PREFIX`, with keys and place from the variables `AWS_…`, or `file:///FOLDER`. Sends nothing yet.
    ///
    /// # Errors
    /// The address is none of both, or contains a key.
    pub fn open(address: &str) -> Result<Self, ClusterFault> {
        let wrong = || {
            ClusterFault::Refused(
                "the object store is s3://BUCKET/PREFIX or file:///FOLDER; keys are never part of the address, but in AWS_ACCESS_KEY_ID \
                 and AWS_SECRET_ACCESS_KEY"
                    .to_owned(),
            )
        };
        let url = reqwest::Url::parse(address).map_err(|_| wrong())?;
        let has_more = !url.username().is_empty() || url.password().is_some() || url.query().is_some();
        if has_more || url.fragment().is_some() {
            return Err(wrong());
        }
        match url.scheme() {
            "file" if url.path().len() > 1 && !url.has_host() => {
                let folder = url.to_file_path().map_err(|()| wrong())?;
                Ok(Self(Kind::Folder(BlobFolder::growing(&folder))))
            }
            "s3" if url.has_host() => {
                Remote::open(address, url.path()).map(|remote| Self(Kind::Store(Arc::new(remote))))
            }
            _ => Err(wrong()),
        }
    }

    /// Puts an empty text and reads it, so that wrong keys are found before anything relies on them.
    ///
    /// # Errors
    /// What the store says.
    pub fn check(&self) -> Result<(), StoreFault> {
        self.put_all(&[Vec::new()])?;
        self.get(&BlobId::of(&[])).map(drop)
    }

    /// Puts a text that is nowhere else, by which another process knows that it reaches the same place.
    pub(crate) fn mark(&self) -> Result<BlobId, StoreFault> {
        let mut mark = vec![0_u8; 32];
        getrandom::fill(&mut mark).map_err(|error| StoreFault::Broken(format!("no random bytes: {error}")))?;
        let id = BlobId::of(&mark);
        self.put_all(&[mark]).map(|()| id)
    }

    /// Refuses a place without this text, which the cluster's own has.
    pub(crate) fn is_of_cluster(&self, marked: Option<&BlobId>) -> Result<(), ClusterFault> {
        let wrong = |why: String| Err(ClusterFault::OtherStore(why));
        match marked.map(|marked| self.get(marked)) {
            Some(Ok(_)) => Ok(()),
            Some(Err(StoreFault::NoBlob(_))) => wrong("the cluster has another one".to_owned()),
            Some(Err(fault)) => wrong(fault.to_string()),
            None => wrong("the cluster has none".to_owned()),
        }
    }

    /// Stores texts. Those that are there are not sent.
    pub(crate) fn put_all(&self, texts: &[Vec<u8>]) -> Result<(), StoreFault> {
        match &self.0 {
            Kind::Folder(folder) => folder.put_all(texts),
            Kind::Store(remote) => texts.chunks(AT_ONCE).try_for_each(|some| Remote::put(remote, some)),
        }
    }

    /// A text.
    pub(crate) fn get(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        match &self.0 {
            Kind::Folder(folder) => folder.get(id),
            Kind::Store(remote) => Remote::get(remote, id),
        }
    }
}

impl Remote {
    fn open(address: &str, below: &str) -> Result<Self, ClusterFault> {
        let refused = |why: String| ClusterFault::Refused(format!("the object store {address}: {why}"));
        // Another part of the program may have chosen it already.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
        let retry = RetryConfig { retry_timeout: PATIENCE, ..RetryConfig::default() };
        let store = AmazonS3Builder::from_env().with_url(address).with_retry(retry).build();
        Ok(Self {
            address: address.to_owned(),
            store: Arc::new(store.map_err(|error| refused(error.to_string()))?),
            below: Name::from_url_path(below).map_err(|error| refused(error.to_string()))?,
            has: Mutex::default(),
            thread: Reactor::start()?,
        })
    }

    fn put(remote: &Arc<Self>, texts: &[Vec<u8>]) -> Result<(), StoreFault> {
        let absent: Vec<(BlobId, Vec<u8>)> = {
            let has = remote.has();
            let named = texts.iter().map(|bytes| (BlobId::of(bytes), bytes));
            named.filter(|(id, _)| !has.contains(id)).map(|(id, bytes)| (id, bytes.clone())).collect()
        };
        let this = Arc::clone(remote);
        remote.thread.wait(async move {
            try_join_all(absent.into_iter().map(|(id, bytes)| this.put_one(id, bytes))).await.map(drop)
        })?
    }

    async fn put_one(&self, id: BlobId, bytes: Vec<u8>) -> Result<(), StoreFault> {
        let name = self.name(&id);
        match self.store.head(&name).await {
            Ok(_) => {}
            Err(Error::NotFound { .. }) => {
                self.store.put(&name, bytes.into()).await.map_err(|error| self.fault(&error))?;
            }
            Err(error) => return Err(self.fault(&error)),
        }
        self.note(id);
        Ok(())
    }

    fn get(remote: &Arc<Self>, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        let (this, wanted) = (Arc::clone(remote), id.clone());
        remote.thread.wait(async move {
            let read = async { this.store.get(&this.name(&wanted)).await?.bytes().await };
            match read.await {
                Ok(bytes) if BlobId::of(&bytes) == wanted => {
                    this.note(wanted);
                    Ok(bytes.to_vec())
                }
                Ok(_) => Err(StoreFault::Broken(format!("{wanted} is damaged in the object store {}", this.address))),
                Err(Error::NotFound { .. }) => Err(StoreFault::NoBlob(wanted)),
                Err(error) => Err(this.fault(&error)),
            }
        })?
    }

    /// A name comes from other processes, so only its letters and digits become part of a path.
    fn name(&self, id: &BlobId) -> Name {
        let name: String = id.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
        let start: String = name.chars().take(2).collect();
        self.below.clone().join(start).join(name)
    }

    /// No message of the store has a key in it: they are in headers of requests alone. Of a page that a server adds, only its
    /// sentence is kept.
    fn fault(&self, error: &Error) -> StoreFault {
        let words = error.to_string();
        let (first, page) = words.split_once("<?xml").unwrap_or((&words, ""));
        let said = page.split_once("<Message>").and_then(|(_, rest)| rest.split_once("</Message>"));
        let said = said.map(|(said, _)| said).unwrap_or_default();
        StoreFault::Remote(format!("the object store {}: {first}{said}", self.address))
    }

    fn note(&self, id: BlobId) {
        let mut has = self.has();
        if has.len() >= REMEMBERED {
            has.clear();
        }
        has.insert(id);
    }

    fn has(&self) -> MutexGuard<'_, BTreeSet<BlobId>> {
        self.has.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that waits for the store, for code that cannot wait asynchronously.
#[derive(Debug)]
struct Reactor {
    handle: Handle,
    /// Ends the thread with this value.
    _stop: oneshot::Sender<()>,
}

impl Reactor {
    fn start() -> Result<Self, ClusterFault> {
        let failed = |error: std::io::Error| ClusterFault::Machine { what: "a thread".into(), why: error.to_string() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (handle, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel::<()>());
        let serve = move || drop(runtime.block_on(stopped));
        std::thread::Builder::new().name("object store".to_owned()).spawn(serve).map_err(failed)?;
        Ok(Self { handle, _stop: stop })
    }

    fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T, StoreFault> {
        let (answer, answered) = sync_channel(1);
        // Nobody waits any more if the caller is gone.
        self.handle.spawn(async move { drop(answer.send(work.await)) });
        let ended = |_| StoreFault::Broken("the thread of the object store ended; this is a bug".to_owned());
        blocking(|| answered.recv()).map_err(ended)
    }
}

/// Waits while other work of this process goes on.
pub(crate) fn blocking<T>(wait: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
        _ => wait(),
    }
}

/// Texts in a folder of this machine, and beyond it if there is a bucket.
#[derive(Clone, Debug)]
pub(crate) struct Blobs {
    folder: BlobFolder,
    pub bucket: Option<Bucket>,
}

impl Blobs {
    pub fn new(folder: &Path, bucket: Option<Bucket>) -> Self {
        Self { folder: BlobFolder::new(folder), bucket }
    }

    /// Stores texts. Returns when they are wherever they belong.
    pub fn put_all(&self, texts: &[Vec<u8>]) -> Result<(), StoreFault> {
        self.folder.put_all(texts)?;
        self.bucket.iter().try_for_each(|bucket| bucket.put_all(texts))
    }

    /// Keeps a text that came from elsewhere, also over a damaged file.
    pub fn keep(&self, bytes: &[u8]) -> Result<(), StoreFault> {
        self.folder.replace(bytes)
    }

    /// A text. One that is only in the bucket is kept.
    pub fn get(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        match (self.folder.get(id), &self.bucket) {
            (Err(StoreFault::NoBlob(_) | StoreFault::Broken(_)), Some(bucket)) => {
                let bytes = bucket.get(id)?;
                self.keep(&bytes)?;
                Ok(bytes)
            }
            (found, _) => found,
        }
    }

    /// Removes from the folder what is not named and was stored last before this moment.
    pub fn remove_unnamed(
        &self,
        named: &BTreeSet<BlobId>,
        before: SystemTime,
        dry_run: bool,
    ) -> std::io::Result<(usize, u64)> {
        self.folder.remove_unnamed(named, before, dry_run)
    }

    /// Removes all others from the folder. One that cannot be removed stays.
    pub fn keep_only(&self, wanted: &BTreeSet<BlobId>) {
        self.folder.keep_only(wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 15.24
    #[test]
    fn an_address_with_a_key_or_of_another_kind_is_refused_without_repeating_it() {
        for address in [
            "",
            "bucket",
            "s3://",
            "s3://key:geheim@bucket/a",
            "s3://key@bucket",
            "s3://bucket?secret=geheim",
            "https://bucket.example.org",
            "file://",
            "file:///",
            "file://host/folder",
        ] {
            let fault = Bucket::open(address).unwrap_err();
            assert!(matches!(&fault, ClusterFault::Refused(words) if !words.contains("geheim")), "{address}: {fault}");
        }
        assert!(Bucket::open("s3://bucket/some/prefix").is_ok());
    }

    /// covers: 15.24
    #[test]
    fn what_is_only_in_the_bucket_is_read_and_kept_here() {
        let folder = tempfile::tempdir().unwrap();
        let bucket = Bucket::open(&format!("file://{}", folder.path().join("shared").display())).unwrap();
        bucket.check().unwrap();
        let one = Blobs::new(&folder.path().join("one"), Some(bucket.clone()));
        let other = Blobs::new(&folder.path().join("other"), Some(bucket));
        one.put_all(&[b"Barrels.".to_vec()]).unwrap();
        let id = BlobId::of(b"Barrels.");
        let alone = Blobs::new(&folder.path().join("other"), None);
        assert!(matches!(alone.get(&id), Err(StoreFault::NoBlob(_))));
        assert_eq!(other.get(&id).unwrap(), b"Barrels.");
        assert_eq!(alone.get(&id).unwrap(), b"Barrels.");
        assert!(matches!(other.get(&BlobId::of(b"never")), Err(StoreFault::NoBlob(_))));
    }

    /// covers: 15.24
    #[test]
    fn a_store_that_is_not_there_is_named() {
        let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let _chosen = rustls::crypto::ring::default_provider().install_default();
        let store = AmazonS3Builder::new()
            .with_url("s3://bucket")
            .with_endpoint("http://127.0.0.1:1")
            .with_allow_http(true)
            .with_access_key_id("id")
            .with_secret_access_key("geheim")
            .with_retry(retry)
            .build()
            .unwrap();
        let remote = Remote {
            address: "s3://bucket".to_owned(),
            store: Arc::new(store),
            below: Name::default(),
            has: Mutex::default(),
            thread: Reactor::start().unwrap(),
        };
        let fault = Bucket(Kind::Store(Arc::new(remote))).check().unwrap_err();
        assert!(
            matches!(&fault, StoreFault::Remote(words) if words.contains("s3://bucket") && !words.contains("geheim")),
            "{fault}"
        );
    }
}
