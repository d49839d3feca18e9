//! Checkpoints: "this log has this many entries and this root", signed.
//!
//! The text is a C2SP tlog-checkpoint in a signed note. Ours has exactly three
//! lines; others may add their signatures (witnesses do), which are passed
//! over here. Reading is strict, so that one checkpoint has one text.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    Hash,
    canonical::MAX_INTEGER,
    key::{LogKey, VerifierKey},
};

/// Three lines and room for many witnesses.
pub const MAX_NOTE_BYTES: usize = 64 * 1024;
/// More signatures than any network of witnesses we would be part of.
pub const MAX_SIGNATURES: usize = 100;
const SIGNATURE_START: &str = "\u{2014} ";

/// How many entries a log has, and their root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

/// Why a note was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointFault {
    #[error(
        "the note is longer than {MAX_NOTE_BYTES} bytes or has more than {MAX_SIGNATURES} signatures"
    )]
    TooLong,
    #[error("the note does not have the form of a signed note")]
    NoteMalformed,
    #[error("the signed text is not a checkpoint of three lines")]
    BodyMalformed,
    #[error("the checkpoint is of another log than the key")]
    OtherOrigin,
    #[error("no signature in the note is by the expected key")]
    NotSigned,
    #[error("the signature does not fit the text")]
    BadSignature,
}

impl CheckpointFault {
    pub fn code(&self) -> &'static str {
        match self {
            CheckpointFault::TooLong => "note_too_long",
            CheckpointFault::NoteMalformed => "note_malformed",
            CheckpointFault::BodyMalformed => "checkpoint_malformed",
            CheckpointFault::OtherOrigin => "checkpoint_other_origin",
            CheckpointFault::NotSigned => "checkpoint_not_signed",
            CheckpointFault::BadSignature => "checkpoint_bad_signature",
        }
    }
}

impl Checkpoint {
    /// The text that is signed.
    pub fn body(&self) -> String {
        let root = STANDARD.encode(self.root.0);
        format!("{}\n{}\n{root}\n", self.origin, self.size)
    }

    /// What a note says, whoever signed it: to hold against a tree that is at hand.
    pub fn unsigned(note: &str) -> Option<Checkpoint> {
        let end = note.find("\n\n")?;
        Checkpoint::read(&note[..end + 1])
    }

    fn read(body: &str) -> Option<Checkpoint> {
        let mut lines = body.strip_suffix('\n')?.split('\n');
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let root: [u8; 32] = STANDARD.decode(root).ok()?.try_into().ok()?;
        let read = Checkpoint {
            origin: origin.to_owned(),
            size: size.parse().ok()?,
            root: Hash(root),
        };
        // Writing it again refuses leading zeros, plus signs and further lines.
        (read.size <= MAX_INTEGER as u64 && read.body() == body).then_some(read)
    }
}

impl LogKey {
    /// The signed note.
    ///
    /// # Panics
    /// When the checkpoint is of another log than the key: a program must not
    /// sign in the name of a log that is not its own.
    pub fn sign(&self, checkpoint: &Checkpoint) -> String {
        assert_eq!(checkpoint.origin, self.name(), "a log signs for itself");
        let body = checkpoint.body();
        let mut signed = self.verifier().id().to_vec();
        signed.extend(self.sign_bytes(body.as_bytes()));
        let signature = STANDARD.encode(signed);
        format!("{body}\n{SIGNATURE_START}{} {signature}\n", self.name())
    }
}

impl VerifierKey {
    /// Reads a note and checks that this key signed it.
    pub fn open(&self, note: &str) -> Result<Checkpoint, CheckpointFault> {
        if note.len() > MAX_NOTE_BYTES {
            return Err(CheckpointFault::TooLong);
        }
        // The text may hold no empty line, so the first one ends it.
        let end = note.find("\n\n").ok_or(CheckpointFault::NoteMalformed)?;
        let (body, signatures) = (&note[..end + 1], &note[end + 2..]);
        let ours = self.signature_among(signatures)?;
        let ours = ours.ok_or(CheckpointFault::NotSigned)?;
        if !self.verifies(body.as_bytes(), &ours) {
            return Err(CheckpointFault::BadSignature);
        }
        let checkpoint = Checkpoint::read(body).ok_or(CheckpointFault::BodyMalformed)?;
        match checkpoint.origin == self.name() {
            true => Ok(checkpoint),
            false => Err(CheckpointFault::OtherOrigin),
        }
    }

    /// Every line must have the form of a signature; ours may stand there once.
    fn signature_among(&self, lines: &str) -> Result<Option<[u8; 64]>, CheckpointFault> {
        const MALFORMED: CheckpointFault = CheckpointFault::NoteMalformed;
        let lines = lines.strip_suffix('\n').ok_or(MALFORMED)?;
        let mut ours = None;
        for (count, line) in lines.split('\n').enumerate() {
            if count == MAX_SIGNATURES {
                return Err(CheckpointFault::TooLong);
            }
            let line = line.strip_prefix(SIGNATURE_START).ok_or(MALFORMED)?;
            let (name, signature) = line.split_once(' ').ok_or(MALFORMED)?;
            let signature = STANDARD.decode(signature).map_err(|_| MALFORMED)?;
            let (id, signature) = signature.split_at_checked(4).ok_or(MALFORMED)?;
            if !crate::key::is_name(name) || signature.is_empty() {
                return Err(MALFORMED);
            }
            if name == self.name() && id == self.id() {
                let signature = signature.try_into().map_err(|_| MALFORMED)?;
                if ours.replace(signature).is_some() {
                    return Err(MALFORMED);
                }
            }
        }
        Ok(ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> LogKey {
        LogKey::from_seed("wakeful.example/log", [3; 32]).unwrap()
    }

    fn checkpoint() -> Checkpoint {
        Checkpoint {
            origin: "wakeful.example/log".to_owned(),
            size: 1234,
            root: Hash([9; 32]),
        }
    }

    #[test]
    fn a_signed_checkpoint_opens_and_any_flipped_bit_is_refused() {
        let note = key().sign(&checkpoint());
        assert_eq!(key().verifier().open(&note), Ok(checkpoint()));
        for at in 0..note.len() {
            for bit in 0..8 {
                let mut bytes = note.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                if let Ok(flipped) = String::from_utf8(bytes) {
                    assert!(key().verifier().open(&flipped).is_err(), "{flipped}");
                }
            }
        }
    }

    #[test]
    fn signatures_of_others_are_passed_over() {
        let note = key().sign(&checkpoint());
        let witness = format!("\u{2014} witness.example {}\n", STANDARD.encode([5; 76]));
        let (body, ours) = note.split_once("\n\n").unwrap();
        for signatures in [format!("{ours}{witness}"), format!("{witness}{ours}")] {
            let note = format!("{body}\n\n{signatures}");
            assert_eq!(key().verifier().open(&note), Ok(checkpoint()));
        }
        let alone = format!("{body}\n\n{witness}");
        assert_eq!(
            key().verifier().open(&alone),
            Err(CheckpointFault::NotSigned)
        );
    }

    #[test]
    fn what_is_signed_but_not_a_plain_checkpoint_is_refused() {
        let signed = |body: &str| {
            let mut bytes = key().verifier().id().to_vec();
            bytes.extend(key().sign_bytes(body.as_bytes()));
            let signature = STANDARD.encode(bytes);
            format!("{body}\n\u{2014} wakeful.example/log {signature}\n")
        };
        let root = STANDARD.encode([9; 32]);
        let open = |body: &str| key().verifier().open(&signed(body));
        assert!(open(&format!("wakeful.example/log\n7\n{root}\n")).is_ok());
        for size in ["07", "+7", "-7", " 7", "7 ", "9007199254740992", "x"] {
            let body = format!("wakeful.example/log\n{size}\n{root}\n");
            assert_eq!(open(&body), Err(CheckpointFault::BodyMalformed), "{size}");
        }
        let extended = format!("wakeful.example/log\n7\n{root}\nmore\n");
        assert_eq!(open(&extended), Err(CheckpointFault::BodyMalformed));
        let other = format!("other\n7\n{root}\n");
        assert_eq!(open(&other), Err(CheckpointFault::OtherOrigin));
    }

    #[test]
    fn a_note_that_is_too_long_is_refused_unread() {
        let note = key().sign(&checkpoint());
        let long = note.clone() + &"x".repeat(MAX_NOTE_BYTES);
        assert_eq!(key().verifier().open(&long), Err(CheckpointFault::TooLong));
        let witness = format!("\u{2014} w {}\n", STANDARD.encode([5; 76]));
        let many = note + &witness.repeat(MAX_SIGNATURES);
        assert_eq!(key().verifier().open(&many), Err(CheckpointFault::TooLong));
    }
}
