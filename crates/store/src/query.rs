//! Questions that readers ask.

use trail::Micros;

use crate::rows::{AnsweredRow, DeliveryRow};

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
    pub rows: Vec<AnsweredRow>,
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
}

/// Newest first, before the cursor.
#[derive(Clone, Debug)]
pub struct InboxQuery {
    pub filter: InboxFilter,
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
}

/// Entries from a position on, of one stream or of all.
#[derive(Clone, Debug, Default)]
pub struct EntryQuery {
    pub stream: Option<u64>,
    pub from: u64,
    /// Exclusive.
    pub to: Option<u64>,
    pub limit: usize,
    pub newest_first: bool,
    pub with_parts: bool,
}
