//! The table of blobs.

use callsheet_core::nouns::BlobId;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::pack::{Packed, unpack};
use crate::rows::{hash_of, length};

/// A blob as it is stored, and its base, if it is stored as a difference from one.
type BlobRow = (Vec<u8>, Option<usize>, Option<(Vec<u8>, Option<usize>)>);

fn blob_of(row: &Row<'_>) -> rusqlite::Result<BlobRow> {
    let size = |size: Option<i64>| size.map(|size| usize::try_from(size).unwrap_or(0));
    let base: Option<Vec<u8>> = row.get(2)?;
    let base_size = size(row.get(3)?);
    Ok((row.get(0)?, size(row.get(1)?), base.map(|bytes| (bytes, base_size))))
}

/// Unpacks a blob. `None` if there is no such blob, `Some(None)` if its bytes cannot be unpacked.
fn unpacked(connection: &Connection, id: &BlobId) -> rusqlite::Result<Option<Option<Vec<u8>>>> {
    let mut statement = connection.prepare_cached(
        "SELECT blob.bytes, blob.size, base.bytes, base.size
         FROM blobs blob LEFT JOIN blobs base ON base.id = blob.base WHERE blob.hash = ?1",
    )?;
    let row = statement.query_row(params![hash_of(id)], blob_of).optional()?;
    Ok(row.map(|(bytes, size, base)| {
        let base = base.map(|(bytes, size)| unpack(bytes, size, None).unwrap_or_default());
        unpack(bytes, size, base.as_deref())
    }))
}

/// The bytes of a hash. `None` if there is no such blob, `Some(None)` if the bytes are not what was stored.
pub(crate) fn read(connection: &Connection, id: &BlobId) -> rusqlite::Result<Option<Option<Vec<u8>>>> {
    Ok(unpacked(connection, id)?.map(|bytes| bytes.filter(|bytes| BlobId::of(bytes) == *id)))
}

/// Whether these bytes are stored undamaged.
pub(crate) fn holds(connection: &Connection, id: &BlobId, bytes: &[u8]) -> rusqlite::Result<bool> {
    Ok(unpacked(connection, id)?.flatten().is_some_and(|found| found == bytes))
}

/// Stores a blob, unless it is already stored undamaged. Storing it again repairs a damaged blob and all blobs that
/// have it as their base. If the base of this blob is not stored, because that write failed or has not happened yet,
/// the blob is stored whole.
pub(crate) fn insert(connection: &Connection, packed: &Packed, bytes: &[u8]) -> rusqlite::Result<()> {
    let base = match &packed.base {
        None => None,
        Some(hash) => connection
            .prepare_cached("SELECT id FROM blobs WHERE hash = ?1 AND base IS NULL")?
            .query_row(params![hash_of(hash)], |row| row.get::<_, i64>(0))
            .optional()?,
    };
    let plain = Packed::plain(packed.hash.clone(), bytes);
    let told = if packed.base.is_some() && base.is_none() { &plain } else { packed };
    let inserted = connection
        .prepare_cached("INSERT OR IGNORE INTO blobs (hash, base, size, bytes) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![hash_of(&told.hash), base, told.size.map(length), told.bytes])?;
    if inserted == 0 && !holds(connection, &plain.hash, bytes)? {
        connection.execute(
            "UPDATE blobs SET base = NULL, size = NULL, bytes = ?2 WHERE hash = ?1",
            params![hash_of(&plain.hash), plain.bytes],
        )?;
    }
    Ok(())
}
