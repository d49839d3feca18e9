//! Plain rows, one type for each table.

use trail::{Hash, Micros, entry::Salt};
use uuid::Uuid;

/// Where the log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadRow {
    pub size: u64,
    /// The time of the last entry: later ones are later.
    pub last_time: Micros,
    /// The signed checkpoint.
    pub note: String,
}

/// One stream: its chain's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRow {
    pub no: u64,
    pub name: String,
    pub next_seq: u64,
    pub head: Option<Hash>,
    /// The position of its last entry.
    pub last: Option<u64>,
}

/// How many statuses a delivery can have. Codes of rows are below it.
pub const STATUSES: usize = 4;
/// The same of its kinds, of the formats of its details, and of the surfaces through
/// which people answer. A row with another code is not given, so that nobody guesses
/// what it says.
pub const KINDS: usize = 4;
pub const FORMATS: usize = 4;
pub const CHANNELS: usize = 3;

/// The lanes of an agent's deliveries, by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LanesRow {
    /// The number of the agent's stream.
    pub stream: u64,
    pub by_status: [LaneRow; STATUSES],
}

/// How many deliveries have one status, and the number that the next one gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneRow {
    pub count: u64,
    pub next_no: u64,
}

/// An entry as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRow {
    pub position: u64,
    pub stream: u64,
    pub seq: u64,
    /// The position of the entry before it in its stream.
    pub prev: Option<u64>,
    pub header: Vec<u8>,
    pub entry_hash: Hash,
    pub facts_salt: Salt,
    pub facts: Vec<u8>,
    /// What may be erased, and is still there.
    pub parts: Vec<PartRow>,
}

/// How the bytes of an encrypted part begin: no JSON text begins so. Nobody looks
/// for words in such a part.
pub const ENCRYPTED: u8 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartRow {
    pub name: String,
    pub salt: Salt,
    pub bytes: Vec<u8>,
}

/// An entry while it is being walked over.
#[derive(Clone, Copy, Debug)]
pub struct EntryRef<'a> {
    pub position: u64,
    pub stream: u64,
    pub seq: u64,
    pub header: &'a [u8],
    pub entry_hash: Hash,
    pub facts_salt: &'a Salt,
    pub facts: &'a [u8],
    /// The position of the entry before it in its stream.
    pub prev: Option<u64>,
    pub parts: &'a [PartRow],
}

/// The root of a complete block of 256^level leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtreeRow {
    pub level: u8,
    pub index: u64,
    pub hash: Hash,
}

/// A delivery as it stands. `no` is the position of the entry that received it,
/// where its `details` are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRow {
    pub no: u64,
    pub id: Uuid,
    pub stream: u64,
    pub kind: u8,
    pub status: u8,
    pub test: bool,
    pub provider: String,
    pub headline: String,
    pub summary: String,
    pub details_format: Option<u8>,
    pub created_at: Micros,
    /// Creation, or the final answer.
    pub changed_at: Micros,
    /// Its number in the lane of its stream and status.
    pub lane_no: u64,
    /// Its number in the pending lane, which it had first.
    pub pending_no: u64,
    pub timeout_at: Option<Micros>,
    pub timed_out: bool,
    pub callback: Option<String>,
    pub answered_by: Option<String>,
    /// The entry whose parts are the texts of the answer, or of the held one;
    /// `None` when it has no texts.
    pub answer_position: Option<u64>,
    pub hold: Option<HoldRow>,
    pub erased: Erased,
    /// When a timer must look at it: the end of a hold or of its time-out.
    pub due_at: Option<Micros>,
}

impl DeliveryRow {
    /// What an agent is told of it, without the texts.
    pub(crate) fn answer(&self) -> AnswerRow {
        AnswerRow {
            id: self.id,
            stream: self.stream,
            status: self.status,
            changed_at: self.changed_at,
            answer_position: self.answer_position,
            erased: self.erased,
            feedback: None,
            edited_content: None,
        }
    }
}

/// What is gone of a delivery's content. The number is its code in the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Erased {
    #[default]
    Nothing = 0,
    All = 1,
    /// Everything up to the erasure; the answer came later and is kept.
    BeforeAnswer = 2,
}

impl Erased {
    pub fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn of(code: u8) -> Option<Erased> {
        let all = [Erased::Nothing, Erased::All, Erased::BeforeAnswer];
        all.into_iter().find(|erased| erased.code() == code)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRow {
    pub by: String,
    pub channel: u8,
    pub status: u8,
    pub until: Micros,
}

/// What an agent is told of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRow {
    pub id: Uuid,
    pub stream: u64,
    pub status: u8,
    pub changed_at: Micros,
    pub answer_position: Option<u64>,
    pub erased: Erased,
    pub feedback: Option<Vec<u8>>,
    pub edited_content: Option<Vec<u8>>,
}

/// A callback that is or was owed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackRow {
    /// The position of the entry that caused it.
    pub no: u64,
    pub delivery_id: Uuid,
    /// The same for every attempt, so that a receiver recognises a repetition.
    pub webhook_id: String,
    pub attempts: u32,
    pub state: u8,
    /// When to try (again); `None` when it is done.
    pub next_at: Option<Micros>,
    pub last_error: Option<String>,
}

/// One thing of the account state, as JSON; `None` removes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    pub kind: String,
    pub id: String,
    pub body: Option<String>,
}

/// What passed between one person's device and their clients, and when it was
/// last there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelayedRow {
    pub owner: String,
    pub agent_id: String,
    pub seen_at: Option<Micros>,
    pub to_device: u64,
    pub to_device_bytes: u64,
    pub from_device: u64,
    pub from_device_bytes: u64,
    pub refused: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayedChange {
    /// So much more than before.
    More(RelayedRow),
    /// The device is no more.
    Gone { owner: String, agent_id: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketRow {
    pub key_id: String,
    pub level: i64,
    pub at: Micros,
}

/// What was answered to a request with an idempotency key: given again, byte for
/// byte, when the request is repeated. No content that may be erased is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyRow {
    pub key_id: String,
    pub idempotency_key: String,
    /// Of the request's body.
    pub digest: Hash,
    pub status: u16,
    /// JSON.
    pub body: Vec<u8>,
    pub created_at: Micros,
}

/// Something whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A delivery: a hold or its time-out ends.
    Delivery(Uuid),
}

/// Where the log ends, and each of its streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEnd {
    pub head: HeadRow,
    pub streams: Vec<trail::verify::StreamEnd>,
}

/// What a check of rows found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowCheck {
    /// What is wrong, each with its table's name first.
    pub wrong: Vec<String>,
    /// Whether rows that carry a code were compared with it.
    pub sealed_checked: bool,
}

/// What was made anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Tables whose rows had differed.
    pub changed: Vec<String>,
}

/// The beginning of a log that holds, when not all of it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub size: u64,
    pub root: Hash,
    /// The time of its last entry.
    pub last_time: Micros,
    /// The last signed note, if it is another than the one in the data.
    pub last_note: Option<String>,
    /// What is wrong after it.
    pub reason: String,
}
