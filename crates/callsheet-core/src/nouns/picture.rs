//! Pictures that models see (spec 5.14).

use serde::{Deserialize, Serialize};

use super::BlobId;

/// A format that every provider accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PictureFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
    /// GIF.
    Gif,
}

impl PictureFormat {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Webp => "WebP",
            Self::Gif => "GIF",
        }
    }

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
        }
    }
}

/// What is known of a picture. Its bytes are a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Picture {
    /// Its bytes.
    pub blob: BlobId,
    /// Its format, by its content.
    pub format: PictureFormat,
    /// Pixels in a row.
    pub width: u32,
    /// Pixels in a column.
    pub height: u32,
    /// Number of its bytes.
    pub bytes: u64,
}

/// The maximum number of bytes of a picture. In base64 they are 5,000,000, which is the least that a provider accepts.
pub const PICTURE_BYTES: u64 = 3_750_000;
/// The maximum number of pixels of a side, which is the least that a provider accepts.
pub const PICTURE_SIDE: u32 = 8_000;
/// The maximum number of pictures that a prompt shows of references and fixed calls, that it shows of a conversation's
/// tool outputs, and that one output keeps. From 21 on, a provider accepts only smaller ones.
pub const PICTURES: usize = 10;

/// How many pixels count as one token.
const PIXELS: u64 = 750;
/// The least and the most that a picture counts. Providers scale larger pictures down.
const TOKENS: (u64, u64) = (85, 4_096);

impl Picture {
    /// Whether a provider would refuse it for its size.
    pub fn is_too_large(&self) -> bool {
        self.bytes > PICTURE_BYTES || self.width.max(self.height) > PICTURE_SIDE
    }

    /// Estimated tokens. Providers count differently; this is near the highest count.
    pub fn tokens(&self) -> u32 {
        let pixels = u64::from(self.width).saturating_mul(u64::from(self.height));
        let (least, most) = TOKENS;
        u32::try_from(pixels.div_ceil(PIXELS).clamp(least, most)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 5.14
    #[test]
    fn a_picture_counts_by_its_pixels_within_bounds() {
        let of = |width, height| Picture { blob: BlobId::of(b""), format: PictureFormat::Png, width, height, bytes: 1 };
        assert_eq!(of(1, 1).tokens(), 85);
        assert_eq!(of(1920, 1080).tokens(), 2_765);
        assert_eq!(of(8_000, 8_000).tokens(), 4_096);
        assert!(!of(8_000, 8_000).is_too_large() && of(8_001, 1).is_too_large());
        assert!(Picture { bytes: PICTURE_BYTES + 1, ..of(1, 1) }.is_too_large());
    }
}
