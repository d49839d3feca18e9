//! What a verifier can find wrong, and where.
//!
//! A fault names the first entry at which the trail stops being what it says:
//! everything before that position was checked and holds.

use std::fmt;

use crate::{Hash, Micros, checkpoint::CheckpointFault, rotation::RotationFault};

/// The first bad entry and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// The position in the log at which something else was expected.
    pub position: u64,
    /// The stream of the entry found there, when one was found and reads.
    pub stream: Option<String>,
    pub seq: Option<u64>,
    pub reason: Reason,
}

/// Why verification stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    // One entry by itself.
    #[error("its header is not the canonical header of this format")]
    HeaderMalformed,
    #[error("its header names another stream")]
    StreamDiffers,
    #[error("its header has only some of workspace, local number and local link")]
    LocalIncomplete,
    #[error("its facts are missing")]
    FactsMissing,
    #[error("it has a part \"{0}\" that its header does not name")]
    PartUnknown(String),
    #[error("the part \"{0}\" is there twice")]
    PartTwice(String),
    #[error("the part \"{0}\" is not the one its header commits to")]
    PartChanged(String),
    #[error("it says that the log started, changed its key or was restored, but not how")]
    TurnMalformed,

    // Its place among the others.
    #[error("the entry found here says it stands at {found}")]
    OutOfPlace { found: u64 },
    #[error("its number in its stream should be {expected}")]
    SeqBroken { expected: u64 },
    #[error("it does not follow the entry before it in its stream")]
    PrevHashDiffers,
    #[error("its content does not give the hash stored with it, {stored}")]
    EntryHashDiffers { stored: Hash },
    #[error("the store says that the entry before it in its stream is {}, and it is {}", shown(.found), shown(.expected))]
    PrevDiffers {
        found: Option<u64>,
        expected: Option<u64>,
    },
    #[error("its time is not later than {after}, the time of the entry before it")]
    TimeNotLater { after: Micros },
    #[error("its number in its workspace's chain should be {expected}")]
    LocalSeqBroken { expected: u64 },
    #[error("it does not follow the entry before it in its workspace")]
    LocalPrevDiffers,

    #[error("it changes the log's key: {0}")]
    Rotation(#[from] RotationFault),
    #[error("it says that the log was restored from one that is not the log before it")]
    RestoredFromOther,
    #[error("it says that the log goes on from another place than this")]
    ContinuedElsewhere,
    #[error("content was cut out of it, and no entry says that a rule erased it")]
    ContentCut,

    // The log against checkpoints.
    #[error("the log ends here, but its checkpoint counts {size} entries")]
    Missing { size: u64 },
    #[error("the log goes on here, but its checkpoint counts {size} entries")]
    Extra { size: u64 },
    #[error("the entries from here on do not give the checkpoint's root")]
    RootDiffers,
    #[error(
        "the log was rewritten: from here on it differs from a kept checkpoint of {size} entries"
    )]
    Rewritten { size: u64 },
    #[error("the log was rolled back: a kept checkpoint counts {size} entries")]
    RolledBack { size: u64 },
    #[error("a kept checkpoint is of another log, {0}")]
    OtherOrigin(String),

    // An export file.
    #[error("the first line does not open an export of this format")]
    OpeningMalformed,
    #[error("the export names a key that is not trusted for this log")]
    KeyNotTrusted,
    #[error("its line is not a canonical entry")]
    LineMalformed,
    #[error("its line is longer than {max} bytes")]
    LineTooLong { max: usize },
    #[error("the file ends here without a checkpoint")]
    Truncated,
    #[error("something follows the checkpoint")]
    AfterEnd,
    #[error("the checkpoint: {0}")]
    Checkpoint(#[from] CheckpointFault),
    #[error("reading failed: {0}")]
    Unread(String),
}

fn shown(position: &Option<u64>) -> String {
    position.map_or("none".to_owned(), |position| position.to_string())
}

impl Reason {
    pub fn code(&self) -> &'static str {
        match self {
            Reason::HeaderMalformed => "header_malformed",
            Reason::StreamDiffers => "stream_differs",
            Reason::LocalIncomplete => "local_incomplete",
            Reason::FactsMissing => "facts_missing",
            Reason::PartUnknown(_) => "part_unknown",
            Reason::PartTwice(_) => "part_twice",
            Reason::PartChanged(_) => "part_changed",
            Reason::TurnMalformed => "turn_malformed",
            Reason::Rotation(fault) => fault.code(),
            Reason::RestoredFromOther => "restored_from_other",
            Reason::ContinuedElsewhere => "continued_elsewhere",
            Reason::ContentCut => "part_missing",
            Reason::OutOfPlace { .. } => "out_of_place",
            Reason::PrevDiffers { .. } => "prev_differs",
            Reason::SeqBroken { .. } => "seq_broken",
            Reason::PrevHashDiffers => "prev_hash_differs",
            Reason::EntryHashDiffers { .. } => "entry_hash_differs",
            Reason::TimeNotLater { .. } => "time_not_later",
            Reason::LocalSeqBroken { .. } => "local_seq_broken",
            Reason::LocalPrevDiffers => "local_prev_differs",
            Reason::Missing { .. } => "missing",
            Reason::Extra { .. } => "extra",
            Reason::RootDiffers => "root_differs",
            Reason::Rewritten { .. } => "rewritten",
            Reason::RolledBack { .. } => "rolled_back",
            Reason::OtherOrigin(_) => "other_origin",
            Reason::OpeningMalformed => "opening_malformed",
            Reason::KeyNotTrusted => "key_not_trusted",
            Reason::LineMalformed => "line_malformed",
            Reason::LineTooLong { .. } => "line_too_long",
            Reason::Truncated => "truncated",
            Reason::AfterEnd => "after_end",
            Reason::Checkpoint(fault) => fault.code(),
            Reason::Unread(_) => "unread",
        }
    }

    /// A fault of the place itself, where no entry could be read.
    pub fn at(self, position: u64) -> Fault {
        Fault {
            position,
            stream: None,
            seq: None,
            reason: self,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {}", self.position)?;
        if let (Some(stream), Some(seq)) = (&self.stream, self.seq) {
            write!(f, " ({stream} number {seq})")?;
        }
        write!(f, ": {}", self.reason)
    }
}
