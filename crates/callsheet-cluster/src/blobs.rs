//! Texts by their hash, in a folder that the processes of a machine share.

use std::collections::BTreeSet;
use std::fs::{DirEntry, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use callsheet_core::nouns::BlobId;
use callsheet_runtime::ports::StoreFault;

/// How many texts are written at the same time.
const AT_ONCE: usize = 8;

/// A folder with one file for each text. Files never change, so processes need no lock.
#[derive(Clone, Debug)]
pub(crate) struct BlobFolder {
    folder: PathBuf,
    /// Whether texts may be removed from it.
    shrinks: bool,
}

impl BlobFolder {
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), shrinks: true }
    }

    /// One from which nothing is ever removed. It may be on a disk that knows no locks.
    pub fn growing(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), shrinks: false }
    }

    /// Stores a text. Returns when a power cut can no longer take it.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobId, StoreFault> {
        let id = BlobId::of(bytes);
        let file = self.file(&id);
        let stored = || {
            // Nothing is removed meanwhile that this relies on.
            let lock = if self.shrinks { Some(self.lock()?) } else { None };
            lock.as_ref().map_or(Ok(()), File::lock_shared)?;
            match File::open(&file) {
                Ok(known) => known.set_modified(SystemTime::now()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => self.write(&file, bytes),
                Err(error) => Err(error),
            }
        };
        stored().map_err(|error| fault(&file, &error))?;
        Ok(id)
    }

    fn lock(&self) -> std::io::Result<File> {
        std::fs::create_dir_all(&self.folder)?;
        File::options().create(true).append(true).open(self.folder.join("lock"))
    }

    /// Removes what is not named and was stored last before this moment. Returns how many texts that are, and their bytes.
    pub fn remove_unnamed(
        &self,
        named: &BTreeSet<BlobId>,
        before: SystemTime,
        dry_run: bool,
    ) -> std::io::Result<(usize, u64)> {
        let lock = self.lock()?;
        lock.lock()?;
        let (mut texts, mut bytes) = (0, 0);
        for file in self.files() {
            let is_named = file.file_name().to_str().is_some_and(|name| named.contains(&BlobId::new(name)));
            let data = file.metadata()?;
            if is_named || data.modified()? >= before {
                continue;
            }
            if !dry_run {
                std::fs::remove_file(file.path())?;
            }
            (texts, bytes) = (texts + 1, bytes + data.len());
        }
        Ok((texts, bytes))
    }

    fn files(&self) -> impl Iterator<Item = DirEntry> {
        let folders = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten())
    }

    /// Stores texts. The disk confirms them together, which takes about as long as one.
    pub fn put_all(&self, texts: &[Vec<u8>]) -> Result<(), StoreFault> {
        for some in texts.chunks(AT_ONCE) {
            std::thread::scope(|scope| {
                let started: Vec<_> = some.iter().map(|bytes| scope.spawn(move || self.put(bytes))).collect();
                let crashed = |_| Err(StoreFault::Broken("a thread that writes texts crashed".to_owned()));
                started.into_iter().try_for_each(|one| one.join().unwrap_or_else(crashed).map(drop))
            })?;
        }
        Ok(())
    }

    /// Stores a text, also over a damaged file.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), StoreFault> {
        let file = self.file(&BlobId::of(bytes));
        self.write(&file, bytes).map_err(|error| fault(&file, &error))
    }

    pub fn get(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        let file = self.file(id);
        match std::fs::read(&file) {
            Ok(bytes) if BlobId::of(&bytes) == *id => Ok(bytes),
            Ok(_) => Err(StoreFault::Broken(format!("{} is damaged", file.display()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(StoreFault::NoBlob(id.clone())),
            Err(error) => Err(fault(&file, &error)),
        }
    }

    /// Removes all others. One that cannot be removed stays.
    pub fn keep_only(&self, wanted: &BTreeSet<BlobId>) {
        for file in self.files() {
            if file.file_name().to_str().is_none_or(|name| !wanted.contains(&BlobId::new(name))) {
                let _stays = std::fs::remove_file(file.path());
            }
        }
    }

    /// A name comes from other processes, so only its letters and digits become part of a path.
    fn file(&self, id: &BlobId) -> PathBuf {
        let name: String = id.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
        let start: String = name.chars().take(2).collect();
        self.folder.join(start).join(name)
    }

    fn write(&self, file: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let folder = file.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder)?;
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(bytes)?;
        temporary.as_file().sync_data()?;
        temporary.persist(file)?;
        Ok(())
    }
}

fn fault(file: &Path, error: &std::io::Error) -> StoreFault {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => StoreFault::Full(error.to_string()),
        _ => StoreFault::Broken(format!("{}: {error}", file.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 15.6
    #[test]
    fn a_text_is_read_as_it_was_stored_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(folder.path());
        let texts: Vec<Vec<u8>> = (0..20_u8).map(|n| vec![n; usize::from(n) * 100]).collect();
        blobs.put_all(&texts).unwrap();
        for text in &texts {
            assert_eq!(&blobs.get(&BlobId::of(text)).unwrap(), text);
        }
        let id = blobs.put(b"whole").unwrap();
        std::fs::write(blobs.file(&id), b"half").unwrap();
        assert!(matches!(blobs.get(&id), Err(StoreFault::Broken(_))));
        assert!(matches!(blobs.get(&BlobId::of(b"never")), Err(StoreFault::NoBlob(_))));
    }

    /// covers: 15.25
    #[test]
    fn only_what_nobody_names_and_nobody_stored_lately_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(folder.path());
        let old = SystemTime::now() - std::time::Duration::from_secs(100_000);
        let put = |text: &[u8]| {
            let id = blobs.put(text).unwrap();
            File::open(blobs.file(&id)).unwrap().set_modified(old).unwrap();
            id
        };
        let (named, again, unnamed) = (put(b"named"), put(b"again"), put(b"unnamed"));
        let fresh = blobs.put(b"fresh").unwrap();
        assert_eq!(blobs.put(b"again").unwrap(), again);
        let (wanted, before) = (BTreeSet::from([named.clone()]), old + std::time::Duration::from_secs(1));
        assert_eq!(blobs.remove_unnamed(&wanted, before, true).unwrap(), (1, 7));
        assert!(blobs.get(&unnamed).is_ok());
        assert_eq!(blobs.remove_unnamed(&wanted, before, false).unwrap(), (1, 7));
        assert!(matches!(blobs.get(&unnamed), Err(StoreFault::NoBlob(_))));
        assert!([named, again, fresh].iter().all(|id| blobs.get(id).is_ok()));
    }
}
