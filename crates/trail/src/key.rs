//! The keys of a log: one signs its checkpoints, the other checks them.
//!
//! Both carry the log's origin as their name, and the text form and key id of
//! C2SP signed-note, so that other people's tools can read them. Ed25519 only,
//! checked strictly: a signature that some implementations accept and others
//! refuse proves nothing to a third party.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use hex::HEXLOWER;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// An origin is a host and a path; this keeps a note small.
pub const MAX_NAME_BYTES: usize = 255;
/// Signed-note's number for Ed25519.
const ED25519: u8 = 0x01;

/// Why a key was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    #[error(
        "a log's name has 1 to {MAX_NAME_BYTES} bytes, no space, no control character, no plus"
    )]
    Name,
    #[error("a verifier key reads name+hash+key, with 8 hex digits and standard base64")]
    Form,
    #[error("only Ed25519 keys are known")]
    Algorithm,
    #[error("the bytes are not an Ed25519 public key")]
    Point,
    #[error("the hash in the key is not the hash of this name and key")]
    Id,
}

impl KeyFault {
    pub fn code(&self) -> &'static str {
        match self {
            KeyFault::Name => "key_name",
            KeyFault::Form => "key_form",
            KeyFault::Algorithm => "key_algorithm",
            KeyFault::Point => "key_point",
            KeyFault::Id => "key_id",
        }
    }
}

/// Whether a text can name a log and its keys.
pub fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len())
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+')
}

/// The secret half. It is wiped when dropped and never shown.
pub struct LogKey {
    secret: SigningKey,
    verifier: VerifierKey,
}

impl LogKey {
    /// The key of the log `name`, from 32 random bytes that the caller keeps.
    pub fn from_seed(name: &str, seed: [u8; 32]) -> Result<LogKey, KeyFault> {
        let seed = Zeroizing::new(seed);
        let secret = SigningKey::from_bytes(&seed);
        let verifier = VerifierKey::new(name, secret.verifying_key())?;
        Ok(LogKey { secret, verifier })
    }

    pub fn name(&self) -> &str {
        self.verifier.name()
    }

    pub fn verifier(&self) -> &VerifierKey {
        &self.verifier
    }

    pub(crate) fn sign_bytes(&self, message: &[u8]) -> [u8; 64] {
        self.secret.sign(message).to_bytes()
    }
}

impl fmt::Debug for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogKey")
            .field("verifier", &self.verifier)
            .finish_non_exhaustive()
    }
}

/// The public half; `name+hash+key` as text.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl VerifierKey {
    fn new(name: &str, key: VerifyingKey) -> Result<VerifierKey, KeyFault> {
        if !is_name(name) {
            return Err(KeyFault::Name);
        }
        let hash = Sha256::new()
            .chain_update(name)
            .chain_update([b'\n', ED25519])
            .chain_update(key.as_bytes())
            .finalize();
        Ok(VerifierKey {
            name: name.to_owned(),
            id: [hash[0], hash[1], hash[2], hash[3]],
            key,
        })
    }

    /// The origin of the log that this key speaks for.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn id(&self) -> [u8; 4] {
        self.id
    }

    pub fn public_bytes(&self) -> [u8; 32] {
        self.key.to_bytes()
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        self.key.verify_strict(message, &signature).is_ok()
    }
}

impl FromStr for VerifierKey {
    type Err = KeyFault;

    fn from_str(text: &str) -> Result<VerifierKey, KeyFault> {
        // Base64 may hold a plus, a name may not.
        let mut fields = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (fields.next(), fields.next(), fields.next())
        else {
            return Err(KeyFault::Form);
        };
        let id = HEXLOWER.decode(id.as_bytes());
        let (Ok(id), Ok(key)) = (id, STANDARD.decode(key)) else {
            return Err(KeyFault::Form);
        };
        let Some((&algorithm, key)) = key.split_first() else {
            return Err(KeyFault::Form);
        };
        if algorithm != ED25519 {
            return Err(KeyFault::Algorithm);
        }
        let key: &[u8; 32] = key.try_into().map_err(|_| KeyFault::Form)?;
        let point = VerifyingKey::from_bytes(key).map_err(|_| KeyFault::Point)?;
        let read = VerifierKey::new(name, point)?;
        // Compared as text, so that a key has exactly one spelling.
        match id == read.id && read.to_string() == text {
            true => Ok(read),
            false => Err(KeyFault::Id),
        }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![ED25519];
        key.extend(self.key.as_bytes());
        let (id, key) = (HEXLOWER.encode(&self.id), STANDARD.encode(key));
        write!(f, "{}+{id}+{key}", self.name)
    }
}

impl fmt::Debug for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifierKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_key_reads_back_and_any_other_spelling_is_refused() {
        let key = LogKey::from_seed("wakeful.example/log", [7; 32]).unwrap();
        let text = key.verifier().to_string();
        assert_eq!(&text.parse::<VerifierKey>().unwrap(), key.verifier());
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let Ok(flipped) = String::from_utf8(bytes) else {
                    continue;
                };
                assert!(flipped.parse::<VerifierKey>().is_err(), "{flipped}");
            }
        }
        for text in ["", "a+b", "a+00000000+", "+00000000+AQ=="] {
            assert!(text.parse::<VerifierKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_secret_is_not_shown() {
        let key = LogKey::from_seed("log", [0xab; 32]).unwrap();
        let shown = format!("{key:?}");
        assert!(!shown.contains("abab") && !shown.contains("171"), "{shown}");
    }

    #[test]
    fn a_name_that_would_break_a_note_is_refused() {
        for name in ["", "a b", "a+b", "a\nb", "a\u{2003}b", &"x".repeat(256)] {
            assert_eq!(LogKey::from_seed(name, [1; 32]).err(), Some(KeyFault::Name));
        }
    }
}
