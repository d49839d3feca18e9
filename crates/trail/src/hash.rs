//! SHA-256 with a domain in front, and the 32-byte value it gives.
//!
//! Every hash in the trail starts with the name of what is hashed and a zero
//! byte, so that no value of one kind can be presented as another. The Merkle
//! tree alone follows RFC 6962 and uses its own one-byte prefixes.

use std::fmt;

use hex::HEXLOWER;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest, Sha256};

/// A SHA-256 value; lowercase hex wherever it is written as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Stands before the first entry of a stream.
    pub const ZERO: Hash = Hash([0; 32]);

    /// SHA-256(domain ‖ 0x00 ‖ pieces…).
    pub fn of(domain: &str, pieces: &[&[u8]]) -> Hash {
        let mut sha = Sha256::new();
        sha.update(domain.as_bytes());
        sha.update([0]);
        for piece in pieces {
            sha.update(piece);
        }
        Hash(sha.finalize().into())
    }

    /// Reads exactly 64 lowercase hex digits.
    pub fn from_hex(text: &str) -> Option<Hash> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok()?;
        Some(Hash(bytes.try_into().ok()?))
    }

    pub fn to_hex(self) -> String {
        HEXLOWER.encode(&self.0)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 64];
        HEXLOWER.encode_mut(&self.0, &mut text);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Hash::from_hex(&text).ok_or_else(|| D::Error::custom("expected 64 lowercase hex digits"))
    }
}
