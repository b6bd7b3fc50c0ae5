//! Reads what is known of a picture (spec 5.14): only its header, never its pixels. Formats are told by the content, so
//! a name or a media type that somebody claims does not count.

use std::sync::{Arc, LazyLock};

use callsheet_core::nouns::{BlobId, PICTURE_BYTES, PICTURE_SIDE, Picture, PictureFormat};
use callsheet_core::texts::{Texts, fill};

use crate::fault::DriveFault;
use crate::paths::{Located, Workspace};
use crate::ports::{Message, ModelInfo, ShownPicture};
use crate::services::Services;

static WORDS: LazyLock<Texts> = LazyLock::new(|| Texts::of(&[include_str!("prompts/pictures.txt")]));

/// Bytes of the beginning of a large file in which its size in pixels is looked for.
const HEADER: usize = 256 * 1024;

const FORMATS: [(imagesize::ImageType, PictureFormat); 4] = [
    (imagesize::ImageType::Png, PictureFormat::Png),
    (imagesize::ImageType::Jpeg, PictureFormat::Jpeg),
    (imagesize::ImageType::Webp, PictureFormat::Webp),
    (imagesize::ImageType::Gif, PictureFormat::Gif),
];

/// The picture that these bytes are. `None` if they are text, something else or damaged.
pub fn picture_of(bytes: &[u8]) -> Option<Picture> {
    let found = imagesize::image_type(bytes).ok()?;
    let format = FORMATS.iter().find(|(kind, _)| *kind == found).map(|(_, format)| *format)?;
    // A text may begin like a picture.
    if !crate::paths::is_binary(bytes) && std::str::from_utf8(bytes).is_ok() {
        return None;
    }
    let size = imagesize::blob_size(bytes).ok()?;
    let side = |pixels: usize| u32::try_from(pixels).ok().filter(|pixels| *pixels > 0);
    let (width, height) = (side(size.width)?, side(size.height)?);
    Some(Picture { blob: BlobId::of(bytes), format, width, height, bytes: bytes.len() as u64 })
}

/// The picture in a file that is too large to be shown. Its hash is that of its beginning.
pub(crate) fn large_picture(workspace: &Workspace, located: &Located, bytes: u64) -> Option<Picture> {
    let head = workspace.read(located, HEADER).ok()?;
    Some(Picture { bytes, ..picture_of(&head.bytes)? })
}

/// Estimated tokens of the file, if it is a picture.
pub(crate) fn tokens_of(workspace: &Workspace, located: &Located) -> Option<u32> {
    large_picture(workspace, located, 0).map(|picture| picture.tokens())
}

/// A line about a picture from `prompts/pictures.txt`.
pub(crate) fn words(key: &str, picture: &Picture, number: usize) -> String {
    let (format, number) = (picture.format.name(), number.to_string());
    let numbers = [picture.width, picture.height].map(|pixels| pixels.to_string());
    let [width, height] = &numbers;
    let bytes = picture.bytes.to_string();
    let (most, side) = (PICTURE_BYTES.to_string(), PICTURE_SIDE.to_string());
    let values: [(&str, &str); 7] = [
        ("number", &number),
        ("format", format),
        ("width", width),
        ("height", height),
        ("bytes", &bytes),
        ("most", &most),
        ("side", &side),
    ];
    fill(WORDS.get(key).unwrap_or(key), &values)
}

/// A recorded picture with its bytes.
pub(crate) fn loaded(services: &Services, about: &Picture) -> Result<ShownPicture, DriveFault> {
    let content = services.store.blob(&about.blob)?;
    Ok(ShownPicture { about: about.clone(), content: Arc::from(content) })
}

/// Reads the bytes of the pictures in messages that were read from a record. A model that sees none gets none.
pub(crate) fn load_all(services: &Services, messages: &mut [Message], model: &ModelInfo) -> Result<(), DriveFault> {
    for message in messages {
        let Message::User { pictures, .. } = message else { continue };
        if !pictures.is_empty() && !model.capabilities.vision {
            services.tell_unseen(model);
            pictures.clear();
        }
        for picture in pictures {
            *picture = loaded(services, &picture.about)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A PNG of two by three pixels, as far as its header goes.
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x02\0\0\0";
    const GIF: &[u8] = b"GIF89a\x05\0\x04\0\x80\0\0";

    /// covers: 5.14
    #[test]
    fn the_content_tells_the_format() {
        let of = |bytes: &[u8]| picture_of(bytes).map(|found| (found.format, found.width, found.height));
        assert_eq!(of(PNG), Some((PictureFormat::Png, 2, 3)));
        assert_eq!(of(GIF), Some((PictureFormat::Gif, 5, 4)));
        for other in
            [&b"GIF89a is the name of a format"[..], b"<svg width=\"2\" height=\"3\"/>", b"", b"\x89PNG", b"BM\0\0"]
        {
            assert_eq!(of(other), None, "{other:?}");
        }
        let empty = [&PNG[..16], &[0; 8], &PNG[24..]].concat();
        assert_eq!(of(&empty), None, "a side without pixels");
    }

    const STARTS: [&[u8]; 5] =
        [PNG, GIF, b"\xff\xd8\xff\xe0\0\x10JFIF\0", b"RIFF\x24\0\0\0WEBPVP8 ", b"RIFF\0\0\0\0WEBPVP8L"];

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(start in 0..STARTS.len(), keep in 0_usize..40, rest in prop::collection::vec(any::<u8>(), 0..300)) {
            let start = STARTS.get(start).copied().unwrap_or_default();
            let bytes = [start.get(..keep).unwrap_or(start), &rest].concat();
            let _read = picture_of(&bytes);
        }
    }
}
