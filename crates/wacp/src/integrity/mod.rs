//! Proofs that a message is what its sender wrote.
//!
//! A sender proves every field it supplies, and a nonce, with HMAC-SHA256 under
//! its workspace's secret over the canonical JSON of the fields' hashes. The
//! runtime verifies with the same functions before it asks the machine, because
//! secrets never enter the state; what it found comes in as a [`Check`].

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use trail::Hash;

use crate::{
    checkpoint::NewCheckpoint,
    command::Principal,
    envelope::{self, NewEnvelope},
    event::{Damaged, IntegrityViolation},
    id::WorkspaceId,
    rejection::Refusal,
    role::delegation::runtime_only,
    stage::{Decision, Stage},
};

/// A workspace's secret, shared by its agent and the runtime.
pub type Secret = [u8; 32];

/// What the runtime found when it verified the proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The proof fits, bound to the sender's identity.
    #[default]
    Valid,
    Invalid,
}

/// What a sender adds to a message: it stands in the entry, so that whoever has
/// the secret can verify the message again from the trail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Proof {
    pub mac: Hash,
    /// The hash of a number that the sender uses once.
    pub nonce: Hash,
}

impl Proof {
    /// Stands where nobody verifies: in examples, and where a caller vouches
    /// for what it sends.
    pub fn unverified(about: Hash) -> Proof {
        Proof {
            mac: about,
            nonce: about,
        }
    }
}

/// The hash of a nonce, as it is proven and written.
pub fn nonce(bytes: &[u8]) -> Hash {
    Hash::of("wacp/nonce/1", &[bytes])
}

/// The hash of each field that a sender supplies, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fields {
    pub nonce: Hash,
    pub fields: std::collections::BTreeMap<&'static str, Hash>,
}

impl Fields {
    fn new(nonce: Hash) -> Fields {
        Fields {
            nonce,
            fields: Default::default(),
        }
    }

    fn with<T: Serialize>(mut self, name: &'static str, value: &T) -> Fields {
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        self.fields.insert(
            name,
            Hash::of("wacp/field/1", &[name.as_bytes(), &[0], &bytes]),
        );
        self
    }

    /// The fields of an envelope.
    pub fn of_envelope(from: WorkspaceId, new: &NewEnvelope, nonce: Hash) -> Fields {
        Fields::new(nonce)
            .with("from", &from)
            .with("in_reply_to", &new.in_reply_to)
            .with("payload", &new.payload)
            .with("priority", &new.priority)
            .with("rights", &new.rights)
            .with("to", &new.to)
            .with("type", &new.envelope_type)
    }

    /// The fields of a checkpoint.
    pub fn of_checkpoint(workspace: WorkspaceId, new: &NewCheckpoint, nonce: Hash) -> Fields {
        Fields::new(nonce)
            .with("artifacts", &new.artifacts)
            .with("confidence", &new.confidence)
            .with("content", &new.content)
            .with("intent", &new.intent)
            .with("parent", &new.parent)
            .with("resource_usage", &new.resource_usage)
            .with("status", &new.status)
            .with("type", &new.checkpoint_type)
            .with("workspace", &workspace)
    }

    fn mac(&self, secret: &Secret) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
        // A map with sorted keys and only hex strings in it is canonical.
        let mut sorted = std::collections::BTreeMap::new();
        sorted.extend(self.fields.iter().map(|(name, hash)| (*name, *hash)));
        sorted.insert("nonce", self.nonce);
        mac.update(&trail::canonical::to_vec(&sorted));
        mac
    }

    /// The proof under a secret.
    pub fn prove(&self, secret: &Secret) -> Proof {
        Proof {
            mac: Hash(self.mac(secret).finalize().into_bytes().into()),
            nonce: self.nonce,
        }
    }

    /// Whether a proof fits, in constant time.
    pub fn verify(&self, secret: &Secret, proof: &Proof) -> Check {
        let fits = self.mac(secret).verify_slice(&proof.mac.0).is_ok();
        match fits && self.nonce == proof.nonce {
            true => Check::Valid,
            false => Check::Invalid,
        }
    }
}

/// The runtime found something changed after it was accepted: it is rejected,
/// never silently passed on (WACP §11.8).
pub fn report(
    stage: &mut Stage<'_>,
    principal: Principal,
    workspace: WorkspaceId,
    subject: Damaged,
) -> Decision {
    runtime_only(stage, principal)?;
    let run = stage.before();
    if run.workspace(workspace).is_none() {
        return Err(Refusal::TargetNotFound);
    }
    match subject {
        Damaged::Envelope(id) => {
            let pending = run
                .inboxes
                .get(&(workspace, id))
                .ok_or(Refusal::UnknownEnvelope)?;
            violation(stage, workspace, subject);
            crate::gate::invalidate(stage, pending.gate());
            envelope::reject_pending(stage, workspace, id, pending, Refusal::IntegrityViolation);
            envelope::drain(stage, workspace);
        }
        Damaged::Checkpoint(id) => {
            if crate::checkpoint::register(run, workspace).is_none_or(|r| r.find(id).is_none()) {
                return Err(Refusal::UnknownCheckpoint);
            }
            violation(stage, workspace, subject);
        }
        Damaged::NewCheckpoint | Damaged::NewEnvelope => violation(stage, workspace, subject),
    }
    Ok(())
}

pub fn violation(stage: &mut Stage<'_>, workspace: WorkspaceId, subject: Damaged) {
    stage.push_protocol(Some(workspace), IntegrityViolation { subject, workspace });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{content::Content, role::EnvelopeType};

    #[test]
    fn a_proof_fits_its_fields_its_secret_and_its_nonce_and_nothing_else() {
        let new = NewEnvelope::to(
            WorkspaceId(1),
            EnvelopeType::Directive,
            Content::markdown("go"),
        );
        let fields = Fields::of_envelope(WorkspaceId::ROOT, &new, nonce(b"n1"));
        let proof = fields.prove(&[7; 32]);
        assert_eq!(fields.verify(&[7; 32], &proof), Check::Valid);
        assert_eq!(fields.verify(&[8; 32], &proof), Check::Invalid);
        let other = [
            Fields::of_envelope(WorkspaceId(2), &new, nonce(b"n1")),
            Fields::of_envelope(WorkspaceId::ROOT, &new, nonce(b"n2")),
            Fields::of_envelope(
                WorkspaceId::ROOT,
                &NewEnvelope {
                    payload: Content::markdown("stop"),
                    ..new.clone()
                },
                nonce(b"n1"),
            ),
            Fields::of_envelope(
                WorkspaceId::ROOT,
                &NewEnvelope {
                    to: WorkspaceId(3),
                    ..new.clone()
                },
                nonce(b"n1"),
            ),
        ];
        for changed in other {
            assert_eq!(changed.verify(&[7; 32], &proof), Check::Invalid);
        }
    }
}
