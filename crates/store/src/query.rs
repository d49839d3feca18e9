//! Questions that readers ask.

use trail::Micros;

use crate::rows::{AnswerRow, DeliveryRow};

/// Deliveries of one stream with one status, in the order of their changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    pub stream: u64,
    pub status: u8,
}

#[derive(Clone, Debug)]
pub struct SweepQuery {
    pub lanes: Vec<Lane>,
    /// Exclusive.
    pub since: Option<Micros>,
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub struct SweepPage {
    pub rows: Vec<AnswerRow>,
    /// All that match after `since`, not only these.
    pub total: u64,
}

#[derive(Clone, Debug, Default)]
pub struct InboxFilter {
    pub stream: Option<u64>,
    pub kinds: Vec<u8>,
    pub statuses: Vec<u8>,
    pub test: Option<bool>,
    /// Words that must all occur.
    pub search: Option<String>,
    /// What one person has put aside is left out, or is all there is.
    pub aside: Option<Aside>,
}

/// What a person has put aside, as it stands at one moment.
#[derive(Clone, Debug)]
pub struct Aside {
    pub name: String,
    pub now: Micros,
    /// Whether it alone is wanted, rather than all else.
    pub only: bool,
}

/// What changed last comes first: a new delivery, or one just answered. A
/// search gives the newest delivery first.
#[derive(Clone, Debug)]
pub struct InboxQuery {
    pub filter: InboxFilter,
    /// `next` of the page before.
    pub before: Option<u64>,
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub struct InboxPage {
    pub rows: Vec<DeliveryRow>,
    /// Where the next page starts, if there may be one. A page can be short, or
    /// even empty, and still have a next one: how much one request looks
    /// through is bounded.
    pub next: Option<u64>,
    /// Rows that belong here and were changed by someone else: they are not given.
    pub changed: usize,
}

/// Entries of one stream, newest first, along its links.
#[derive(Clone, Debug)]
pub struct StreamQuery {
    pub stream: u64,
    /// Where to begin: an entry of the stream; its last one if not given.
    pub from: Option<u64>,
    pub limit: usize,
}

/// Entries of all streams from a position on.
#[derive(Clone, Debug, Default)]
pub struct EntryQuery {
    pub from: u64,
    /// Exclusive.
    pub to: Option<u64>,
    pub limit: usize,
    pub newest_first: bool,
    pub with_parts: bool,
}

/// Which deliveries of a kind may be erased.
#[derive(Clone, Copy, Debug)]
pub struct ErasableQuery {
    pub kind: u8,
    pub since: Since,
    pub before: Micros,
    pub limit: usize,
}

/// The moment from which the days of a retention rule are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The final answer.
    Answer,
    /// The time-out of a delivery that nobody answered; not used for updates.
    TimeOut,
    /// The creation of an update that nobody answered.
    Creation,
}
