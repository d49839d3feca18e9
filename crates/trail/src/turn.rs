//! What happens to the log itself: it starts, its key changes, it goes on from
//! a backup. These are the only entries whose facts a verifier reads, because
//! whom to trust depends on them.

use serde::Deserialize;

use crate::{
    Hash,
    checkpoint::{Checkpoint, CheckpointFault},
    fault::Reason,
    key::VerifierKey,
    rotation::{Keyring, Rotation, RotationFault},
};

#[derive(Clone, Debug)]
pub(crate) enum Turn {
    Started(VerifierKey),
    Rotated(Rotation),
    /// Goes on under another key, from the log of this checkpoint.
    Restored(VerifierKey, Checkpoint),
    /// Goes on under another key after its first entries, because those that
    /// came after them do not hold.
    Continued(VerifierKey, Continued),
}

#[derive(Deserialize)]
struct Started {
    key: String,
}

#[derive(Deserialize)]
struct Restored {
    key: String,
    old_checkpoint: String,
}

/// Where a log goes on, and what its last checkpoint said of it.
#[derive(Clone, Debug)]
pub(crate) struct Continued {
    kept: u64,
    root: Hash,
    old: Checkpoint,
}

#[derive(Deserialize)]
struct ContinuedFacts {
    key: String,
    kept: u64,
    missing: u64,
    old_checkpoint: String,
    root: Hash,
}

impl Turn {
    /// `None` for an entry about anything else.
    pub fn read(event_type: &str, facts: &[u8]) -> Result<Option<Turn>, Reason> {
        let turn = match event_type {
            "log_started" => Turn::started(facts),
            "log_key_rotated" => serde_json::from_slice(facts).ok().map(Turn::Rotated),
            "log_restored" => Turn::restored(facts),
            "log_continued" => Turn::continued(facts),
            _ => return Ok(None),
        };
        turn.ok_or(Reason::TurnMalformed).map(Some)
    }

    fn started(facts: &[u8]) -> Option<Turn> {
        let started: Started = serde_json::from_slice(facts).ok()?;
        Some(Turn::Started(started.key.parse().ok()?))
    }

    fn restored(facts: &[u8]) -> Option<Turn> {
        let restored: Restored = serde_json::from_slice(facts).ok()?;
        let old = Checkpoint::unsigned(&restored.old_checkpoint)?;
        Some(Turn::Restored(restored.key.parse().ok()?, old))
    }

    fn continued(facts: &[u8]) -> Option<Turn> {
        let facts: ContinuedFacts = serde_json::from_slice(facts).ok()?;
        let old = Checkpoint::unsigned(&facts.old_checkpoint)?;
        let (kept, root) = (facts.kept, facts.root);
        if facts.missing != old.size.saturating_sub(kept) {
            return None;
        }
        let continued = Continued { kept, root, old };
        Some(Turn::Continued(facts.key.parse().ok()?, continued))
    }
}

/// Whom the log says to trust, and whom a reader does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    /// The reader's keys, and those they were followed to.
    pub ring: Option<Keyring>,
    /// The key that the log named last.
    pub named: Option<VerifierKey>,
}

impl Trust {
    /// Takes a turn; before it the log had this size and root.
    pub fn take(&mut self, turn: &Turn, size: u64, root: Hash) -> Result<(), Reason> {
        let named = match turn {
            Turn::Started(key) => key.clone(),
            Turn::Restored(_, old) if (old.size, old.root) != (size, root) => {
                return Err(Reason::RestoredFromOther);
            }
            Turn::Restored(key, _) => key.clone(),
            Turn::Continued(key, continued) => {
                let Continued {
                    kept,
                    root: said,
                    old,
                } = continued;
                let is_here = (*kept, *said) == (size, root);
                if !is_here || (old.size == size && old.root != root) {
                    return Err(Reason::ContinuedElsewhere);
                }
                key.clone()
            }
            Turn::Rotated(rotation) => {
                let (old, new) = rotation.verify()?;
                if self.named.as_ref().is_some_and(|named| *named != old) {
                    return Err(RotationFault::NotCurrent.into());
                }
                if let Some(ring) = self.ring.as_mut().filter(|ring| *ring.current() == old) {
                    ring.follow(rotation)?;
                }
                new
            }
        };
        self.named = Some(named);
        Ok(())
    }

    /// Opens the log's note with a key that the reader trusts; a reader who
    /// trusts none takes the one that the log named last.
    pub fn open(&self, note: &str) -> Result<Checkpoint, CheckpointFault> {
        match (&self.ring, &self.named) {
            (Some(ring), _) => ring.open(note).map(|(checkpoint, _)| checkpoint),
            (None, Some(named)) => named.open(note),
            (None, None) => Err(CheckpointFault::NotSigned),
        }
    }
}
