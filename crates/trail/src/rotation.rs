//! How a log changes its key, and the keys a reader trusts for one log.
//!
//! A rotation is signed by both keys: the old one hands over, the new one
//! shows that it is held. The engine puts a [`Rotation`] into the facts of an
//! entry, so that whoever trusts the first key can follow to the last.

use hex::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::{
    checkpoint::{Checkpoint, CheckpointFault},
    key::{KeyFault, LogKey, VerifierKey},
};

/// Far more than a log changed every month for a lifetime would have.
pub const MAX_KEYS: usize = 1000;

/// The hand-over, as it stands in an entry's facts. Fields in canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    pub new_key: String,
    pub new_signature: String,
    pub old_key: String,
    pub old_signature: String,
}

/// Why a rotation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RotationFault {
    #[error("a key does not read: {0}")]
    Key(#[from] KeyFault),
    #[error("both keys must bear the log's name, and differ")]
    Keys,
    #[error("the old key's signature does not fit")]
    OldSignature,
    #[error("the new key's signature does not fit")]
    NewSignature,
    #[error("the rotation does not start from the current key")]
    NotCurrent,
    #[error("a log has at most {MAX_KEYS} keys")]
    TooMany,
}

impl RotationFault {
    pub fn code(&self) -> &'static str {
        match self {
            RotationFault::Key(fault) => fault.code(),
            RotationFault::Keys => "rotation_keys",
            RotationFault::OldSignature => "rotation_old_signature",
            RotationFault::NewSignature => "rotation_new_signature",
            RotationFault::NotCurrent => "rotation_not_current",
            RotationFault::TooMany => "rotation_too_many",
        }
    }
}

/// What both keys sign: "wakeful/rotation/1" ‖ 0x00 ‖ old key ‖ \n ‖ new key ‖ \n.
/// A checkpoint cannot begin so, for its first line is a name without zeros.
pub fn rotation_message(old: &VerifierKey, new: &VerifierKey) -> Vec<u8> {
    format!("wakeful/rotation/1\0{old}\n{new}\n").into_bytes()
}

impl Rotation {
    pub fn sign(old: &LogKey, new: &LogKey) -> Rotation {
        let message = rotation_message(old.verifier(), new.verifier());
        Rotation {
            new_key: new.verifier().to_string(),
            new_signature: HEXLOWER.encode(&new.sign_bytes(&message)),
            old_key: old.verifier().to_string(),
            old_signature: HEXLOWER.encode(&old.sign_bytes(&message)),
        }
    }

    /// The old and the new key, if both signed.
    pub fn verify(&self) -> Result<(VerifierKey, VerifierKey), RotationFault> {
        let old: VerifierKey = self.old_key.parse()?;
        let new: VerifierKey = self.new_key.parse()?;
        if old.name() != new.name() || old == new {
            return Err(RotationFault::Keys);
        }
        let message = rotation_message(&old, &new);
        let signed = |key: &VerifierKey, signature: &str| {
            let bytes = HEXLOWER.decode(signature.as_bytes()).ok();
            let bytes: Option<[u8; 64]> = bytes.and_then(|bytes| bytes.try_into().ok());
            bytes.is_some_and(|signature| key.verifies(&message, &signature))
        };
        if !signed(&old, &self.old_signature) {
            return Err(RotationFault::OldSignature);
        }
        if !signed(&new, &self.new_signature) {
            return Err(RotationFault::NewSignature);
        }
        Ok((old, new))
    }
}

/// The keys of one log, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyring(Vec<VerifierKey>);

impl Keyring {
    pub fn new(first: VerifierKey) -> Keyring {
        Keyring(vec![first])
    }

    /// The origin that all of them bear.
    pub fn name(&self) -> &str {
        self.current().name()
    }

    pub fn current(&self) -> &VerifierKey {
        self.0
            .last()
            .expect("a ring starts with one key and only grows")
    }

    pub fn keys(&self) -> &[VerifierKey] {
        &self.0
    }

    /// Takes the next key, handed over by the current one.
    pub fn follow(&mut self, rotation: &Rotation) -> Result<(), RotationFault> {
        let (old, new) = rotation.verify()?;
        if &old != self.current() {
            return Err(RotationFault::NotCurrent);
        }
        if self.0.contains(&new) {
            return Err(RotationFault::Keys);
        }
        if self.0.len() == MAX_KEYS {
            return Err(RotationFault::TooMany);
        }
        self.0.push(new);
        Ok(())
    }

    /// Opens a note that any of the keys signed, the newest first.
    pub fn open(&self, note: &str) -> Result<(Checkpoint, &VerifierKey), CheckpointFault> {
        let mut fault = CheckpointFault::NotSigned;
        for key in self.0.iter().rev() {
            match key.open(note) {
                Ok(checkpoint) => return Ok((checkpoint, key)),
                Err(CheckpointFault::NotSigned) => {}
                Err(other) => fault = other,
            }
        }
        Err(fault)
    }
}

impl From<VerifierKey> for Keyring {
    fn from(key: VerifierKey) -> Keyring {
        Keyring::new(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hash;

    fn key(seed: u8) -> LogKey {
        LogKey::from_seed("wakeful.example/log", [seed; 32]).unwrap()
    }

    #[test]
    fn a_reader_follows_rotations_and_opens_notes_of_old_and_new_keys() {
        let (a, b, c) = (key(1), key(2), key(3));
        let mut ring = Keyring::new(a.verifier().clone());
        ring.follow(&Rotation::sign(&a, &b)).unwrap();
        let skipping = Rotation::sign(&a, &c);
        assert_eq!(ring.follow(&skipping), Err(RotationFault::NotCurrent));
        let checkpoint = Checkpoint {
            origin: ring.name().to_owned(),
            size: 1,
            root: Hash::ZERO,
        };
        for (signer, known) in [(&a, true), (&b, true), (&c, false)] {
            let opened = ring.open(&signer.sign(&checkpoint));
            assert_eq!(opened.is_ok(), known);
        }
        let back = Rotation::sign(&b, &a);
        assert_eq!(ring.follow(&back), Err(RotationFault::Keys));
    }

    #[test]
    fn a_rotation_needs_both_signatures() {
        let good = Rotation::sign(&key(1), &key(2));
        let foreign = Rotation::sign(&key(1), &key(3));
        assert!(good.verify().is_ok());
        let old = Rotation {
            old_signature: foreign.old_signature,
            ..good.clone()
        };
        assert_eq!(old.verify(), Err(RotationFault::OldSignature));
        let new = Rotation {
            new_signature: foreign.new_signature,
            ..good.clone()
        };
        assert_eq!(new.verify(), Err(RotationFault::NewSignature));
        let same = Rotation::sign(&key(1), &key(1));
        assert_eq!(same.verify(), Err(RotationFault::Keys));
    }
}
