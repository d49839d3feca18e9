//! Content by its hash: what was said, without saying it again.
//!
//! Payloads, directives and descriptions are kept beside the trail and can be
//! erased one day; the machine decides and replays with their hash and size.

use serde::{Deserialize, Serialize};
use trail::Hash;

/// The largest content an envelope or a directive may carry.
pub const MAX_BYTES: u64 = 16 << 20;
/// Attachments of one content; more belong in a checkpoint.
pub const MAX_ATTACHMENTS: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    pub attachments: u32,
    /// All bytes, attachments included.
    pub bytes: u64,
    pub format: Format,
    pub hash: Hash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Markdown,
    Json,
    Yaml,
    Patch,
    Binary,
}

impl Content {
    /// Markdown text without attachments.
    pub fn markdown(text: &str) -> Content {
        Content {
            attachments: 0,
            bytes: text.len() as u64,
            format: Format::Markdown,
            hash: Hash::of("wacp/content/1", &[text.as_bytes()]),
        }
    }

    pub fn is_acceptable(&self) -> bool {
        self.bytes <= MAX_BYTES && self.attachments <= MAX_ATTACHMENTS
    }
}
