//! A receipt: one entry, with the proof that a signed log contains it.
//!
//! It stands alone: with the log's public key, nothing else is needed to see
//! that this very content was on the log when its checkpoint was signed. It
//! says nothing of the entries before it; an export does.

use base64::{Engine, engine::general_purpose::STANDARD};
use hex::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::{
    Hash, Header, Micros, canonical,
    checkpoint::{Checkpoint, CheckpointFault},
    digest::{StoredPart, check_parts},
    entry,
    fault::Reason,
    key::VerifierKey,
    merkle::leaf_hash,
    proof::verify_inclusion,
};

/// The version of the format of receipts.
pub const VERSION: u8 = 1;

/// The document. Fields in canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The signed note.
    pub checkpoint: String,
    /// The exact canonical text of the stored header.
    pub header: String,
    pub inclusion: Vec<Hash>,
    /// Those the header names, in its order.
    pub parts: Vec<ReceiptPart>,
    pub position: u64,
    pub prev_hash: Option<Hash>,
    pub seq: u64,
    pub wakeful_receipt: u8,
}

/// Salt and bytes.
type Content = (Vec<u8>, Vec<u8>);

/// A part; bytes (base64) and salt (hex) are null when it was erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptPart {
    pub bytes: Option<String>,
    pub name: String,
    pub salt: Option<String>,
}

impl ReceiptPart {
    pub fn present(name: &str, salt: &entry::Salt, bytes: &[u8]) -> ReceiptPart {
        ReceiptPart {
            bytes: Some(STANDARD.encode(bytes)),
            name: name.to_owned(),
            salt: Some(HEXLOWER.encode(salt)),
        }
    }

    pub fn erased(name: &str) -> ReceiptPart {
        ReceiptPart {
            bytes: None,
            name: name.to_owned(),
            salt: None,
        }
    }

    /// Salt and bytes, `None` when erased.
    fn content(&self) -> Result<Option<Content>, ReceiptFault> {
        let (salt, bytes) = match (&self.salt, &self.bytes) {
            (None, None) => return Ok(None),
            (Some(salt), Some(bytes)) => (salt, bytes),
            _ => return Err(ReceiptFault::Malformed),
        };
        let salt = HEXLOWER.decode(salt.as_bytes());
        let bytes = STANDARD.decode(bytes);
        match (salt, bytes) {
            (Ok(salt), Ok(bytes)) => Ok(Some((salt, bytes))),
            _ => Err(ReceiptFault::Malformed),
        }
    }
}

/// Why a receipt proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptFault {
    #[error("this is not a receipt of a known version")]
    Malformed,
    #[error("the header is not the canonical header of this format")]
    HeaderMalformed,
    #[error("the first entry of a stream has nothing before it, every other has")]
    PrevHash,
    #[error("the parts are not those that the header names")]
    PartsDiffer,
    #[error("the facts are missing")]
    FactsMissing,
    #[error("the part \"{0}\" is not the one the header commits to")]
    PartChanged(String),
    #[error("the checkpoint: {0}")]
    Checkpoint(#[from] CheckpointFault),
    #[error("the checkpoint is older than the entry")]
    NotCovered,
    #[error("the proof does not lead from the entry to the checkpoint's root")]
    NotIncluded,
}

impl ReceiptFault {
    pub fn code(&self) -> &'static str {
        match self {
            ReceiptFault::Malformed => "receipt_malformed",
            ReceiptFault::HeaderMalformed => "header_malformed",
            ReceiptFault::PrevHash => "prev_hash",
            ReceiptFault::PartsDiffer => "parts_differ",
            ReceiptFault::FactsMissing => "facts_missing",
            ReceiptFault::PartChanged(_) => "part_changed",
            ReceiptFault::Checkpoint(fault) => fault.code(),
            ReceiptFault::NotCovered => "not_covered",
            ReceiptFault::NotIncluded => "not_included",
        }
    }
}

/// What a receipt proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    pub stream: String,
    pub seq: u64,
    pub position: u64,
    pub id: String,
    pub event_type: String,
    pub actor: String,
    pub time: Micros,
    pub entry_hash: Hash,
    pub checkpoint: Checkpoint,
    /// Names of the parts whose content is not shown.
    pub erased: Vec<String>,
}

impl Receipt {
    /// Reads the document; `verify` says what it is worth.
    pub fn read(bytes: &[u8]) -> Result<Receipt, ReceiptFault> {
        serde_json::from_slice(bytes).map_err(|_| ReceiptFault::Malformed)
    }

    pub fn to_vec(&self) -> Vec<u8> {
        canonical::to_vec(self)
    }

    /// The facts of the entry, a JSON object. `verify` says what they are worth.
    pub fn facts(&self) -> Option<Vec<u8>> {
        let facts = self.parts.iter().find(|part| part.name == entry::FACTS)?;
        facts.content().ok()?.map(|(_, bytes)| bytes)
    }

    pub fn verify(&self, key: &VerifierKey) -> Result<Verified, ReceiptFault> {
        if self.wakeful_receipt != VERSION {
            return Err(ReceiptFault::Malformed);
        }
        let header = self.header.as_bytes();
        let local_hash = entry::local_hash(header);
        let header = Header::read(header).ok_or(ReceiptFault::HeaderMalformed)?;
        if self.prev_hash.is_some() != (self.seq > 0) {
            return Err(ReceiptFault::PrevHash);
        }
        let erased = self.check_parts(&header)?;
        let checkpoint = key.open(&self.checkpoint)?;
        if self.position >= checkpoint.size {
            return Err(ReceiptFault::NotCovered);
        }
        let entry_hash = entry::entry_hash(self.prev_hash, self.seq, local_hash);
        let included = verify_inclusion(
            leaf_hash(&entry_hash),
            self.position,
            checkpoint.size,
            &self.inclusion,
            checkpoint.root,
        );
        if !included {
            return Err(ReceiptFault::NotIncluded);
        }
        Ok(Verified {
            stream: header.stream.into_owned(),
            seq: self.seq,
            position: self.position,
            id: header.id.into_owned(),
            event_type: header.event_type.into_owned(),
            actor: header.actor.into_owned(),
            time: header.time,
            entry_hash,
            checkpoint,
            erased,
        })
    }

    /// Gives the names of the erased ones.
    fn check_parts(&self, header: &Header<'_>) -> Result<Vec<String>, ReceiptFault> {
        let shown = self.parts.iter().map(|part| part.name.as_str());
        if !shown.eq(header.parts.iter().map(|named| named.name.as_ref())) {
            return Err(ReceiptFault::PartsDiffer);
        }
        let contents: Vec<_> = self
            .parts
            .iter()
            .map(|part| Ok((part.name.as_str(), part.content()?)))
            .collect::<Result<_, ReceiptFault>>()?;
        let present: Vec<StoredPart<'_>> = contents
            .iter()
            .filter_map(|(name, content)| {
                let (salt, bytes) = content.as_ref()?;
                Some(StoredPart { name, salt, bytes })
            })
            .collect();
        check_parts(header, &present).map_err(|reason| match reason {
            Reason::FactsMissing => ReceiptFault::FactsMissing,
            Reason::PartChanged(name) => ReceiptFault::PartChanged(name),
            _ => ReceiptFault::PartsDiffer,
        })?;
        let erased = contents.iter().filter(|(_, content)| content.is_none());
        Ok(erased.map(|(name, _)| (*name).to_owned()).collect())
    }
}
