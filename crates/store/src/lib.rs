//! Where it is kept. A [`Turn`] loads what a batch needs and makes entries, the
//! rows they change and the callbacks they owe durable in one transaction;
//! everything else reads.
//!
//! Row types are plain: what a status number means is the engine's business.
//! Tables are of two kinds. *Views* (deliveries, lanes, blocks, history,
//! callbacks' existence, accounts, relayed, search) can be rebuilt from the trail.
//! *Kept state* (secrets, rate buckets, idempotency records, seen marks,
//! progress of callbacks) is in the backup and is not rebuilt.
//!
//! Nothing outside this crate names a database.

pub mod batch;
pub mod durable;
mod error;
mod location;
pub mod memory;
mod query;
mod rows;
mod seal;
pub mod sqlite;

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
    path::Path,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use trail::{Hash, Micros};
use uuid::Uuid;

pub use batch::{Batch, Loaded, Needs};
pub use error::Error;
use location::Kind;
pub use location::{Location, UnknownStore};
pub use query::{
    Aside, EntryQuery, ErasableQuery, InboxFilter, InboxPage, InboxQuery, Lane, Since, StreamQuery,
    SweepPage, SweepQuery,
};
pub use rows::*;
pub use seal::RowSeal;

pub type Result<T> = std::result::Result<T, Error>;

/// Opens a store, creating it if it is not there. Rows that no entry proves are
/// sealed with `seal`; a store whose rows were sealed with another is refused.
pub async fn open(location: &Location, seal: &RowSeal) -> Result<Arc<dyn Store>> {
    let Kind::Sqlite(directory) = location.kind();
    Ok(Arc::new(sqlite::Sqlite::open(directory, seal)?))
}

/// Opens an existing store without writing to it. Without the seal nobody can
/// tell whether the rows that no entry proves were changed.
pub fn open_read_only(location: &Location, seal: Option<&RowSeal>) -> Result<Arc<dyn Store>> {
    let Kind::Sqlite(directory) = location.kind();
    Ok(Arc::new(sqlite::Sqlite::open_read_only(directory, seal)?))
}

/// Makes a consistent copy of a store in a place that has none.
pub async fn copy(store: &dyn Store, to: &Location) -> Result<()> {
    let Kind::Sqlite(directory) = to.kind();
    let file = sqlite::files::database(directory);
    sqlite::create_private(&file).map_err(|error| Error::Unavailable(Box::new(error)))?;
    store.backup(&file, Vec::new()).await
}

/// Seals all rows of a copy with another key: for a backup whose key is gone.
pub fn reseal(location: &Location, seal: &RowSeal) -> Result<()> {
    let Kind::Sqlite(directory) = location.kind();
    sqlite::reseal(directory, seal, true)
}

/// Seals the rows of a copy whose views are only made anew and compared.
pub fn reseal_kept(location: &Location, seal: &RowSeal) -> Result<()> {
    let Kind::Sqlite(directory) = location.kind();
    sqlite::reseal(directory, seal, false)
}

/// Puts a backup into a place that has no store; gives the keys that
/// were in it, which are not kept in the store. Secrets that no key opens, in
/// it or `with_seal_key` beside it, are left out.
pub fn restore(
    file: &Path,
    location: &Location,
    with_seal_key: bool,
) -> Result<Vec<(String, Vec<u8>)>> {
    let Kind::Sqlite(directory) = location.kind();
    sqlite::restore(file, directory, with_seal_key)
}

/// A turn to write. Between its beginning and its end nobody else appends, or its
/// own append fails: several processes may take turns on one store.
#[async_trait]
pub trait Turn: std::fmt::Debug + Send {
    /// How many batches were appended before. What a process has read or derived
    /// earlier still holds if this has not changed since.
    fn version(&self) -> u64;
    /// The rows that a batch of commands needs, in one go.
    async fn load(&mut self, needs: &Needs) -> Result<Loaded>;
    /// Appends a batch that was decided in this turn, and ends it. All or nothing,
    /// durable when it returns; `Conflict` if somebody else has appended since the
    /// turn began. Gives the version that it leaves. The caller then gives the
    /// batch's head to [`Store::remember`].
    async fn append(self: Box<Self>, batch: Batch) -> Result<u64>;
}

impl dyn Store {
    /// Loads in a turn of its own.
    pub async fn load(&self, needs: &Needs) -> Result<Loaded> {
        self.turn().await?.load(needs).await
    }

    /// Appends in a turn of its own what does not depend on anything loaded before.
    pub async fn append(&self, batch: Batch) -> Result<()> {
        self.turn().await?.append(batch).await.map(drop)
    }
}

/// One backend. The first group is for the single writer, which calls one
/// method at a time; the second may be called by anyone and never waits for it.
#[async_trait]
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    /// Where the log ends, or `None` in a new store.
    async fn head(&self) -> Result<Option<HeadRow>>;
    /// Begins a turn to write.
    async fn turn(&self) -> Result<Box<dyn Turn + '_>>;
    /// Remembers a signed head beside the database, without a sync of its own.
    fn remember(&self, note: &str);
    /// Leaves everything in the one file and nothing in its log, if no reader
    /// needs the log for so long, and syncs what is remembered beside it.
    async fn settle(&self, patience: Duration) -> Result<()>;
    /// Adds at most `limit` deliveries to the full-text index, which may lag;
    /// true while there is more to add. Details are part of it unless they are
    /// [`ENCRYPTED`].
    async fn index_some(&self, limit: usize) -> Result<bool>;
    /// Forgets some idempotency records older than this; true while there may be
    /// more.
    async fn forget_idempotency(&self, before: Micros) -> Result<bool>;
    /// Writes something of ordinary size and removes it: whether storage that
    /// failed works again.
    async fn probe(&self) -> Result<()>;
    /// After an erasure: leaves no copy of removed bytes in logs or free pages.
    async fn scrub(&self) -> Result<()>;
    /// Empties the views, before they are rebuilt from the trail.
    async fn clear_views(&self) -> Result<()>;
    /// Marks the views as whole again. Removes parts that were erased and have come
    /// back; returns how many.
    async fn end_rebuild(&self) -> Result<u64>;
    /// Whether opening it brought it from an older version to this one. If it is also
    /// rebuilding, a step asked for that: nobody can vouch for the rows as they were,
    /// or a replay makes others.
    fn was_migrated(&self) -> bool;
    /// Whether a rebuild was begun and not ended: the views are not to be used.
    async fn is_rebuilding(&self) -> Result<bool>;

    /// The heads that are remembered beside the database: at most two, which may
    /// be torn, older than the head or of another log.
    fn remembered(&self) -> Result<Vec<String>>;
    /// What is due, soonest first.
    async fn due(&self, now: Micros, limit: usize) -> Result<Vec<Due>>;
    async fn next_due(&self, after: Micros) -> Result<Option<Micros>>;
    /// Callbacks to send, soonest first.
    async fn callbacks_due(&self, now: Micros, limit: usize) -> Result<Vec<CallbackRow>>;
    async fn next_callback(&self) -> Result<Option<Micros>>;
    async fn callbacks(&self, before: Option<u64>, limit: usize) -> Result<Vec<CallbackRow>>;
    /// Deliveries with content whose time ended before a moment, the oldest first.
    async fn erasable(&self, query: ErasableQuery) -> Result<Vec<DeliveryRow>>;

    async fn delivery(&self, id: Uuid) -> Result<Option<DeliveryRow>>;
    /// Deliveries whose ids are in this range, in the order of their ids.
    async fn deliveries_within(
        &self,
        ids: RangeInclusive<Uuid>,
        limit: usize,
    ) -> Result<Vec<DeliveryRow>>;
    /// A delivery and the two texts of its answer.
    async fn response(&self, id: Uuid) -> Result<Option<AnswerRow>>;
    async fn sweep(&self, query: SweepQuery) -> Result<SweepPage>;
    /// Those among these deliveries that a person has looked at.
    async fn seen(&self, name: &str, ids: Vec<Uuid>) -> Result<HashSet<Uuid>>;
    /// What waits and is out of a person's sight now, at most `limit`, and until when.
    async fn snoozed(&self, name: &str, now: Micros, limit: usize) -> Result<HashMap<u64, Micros>>;
    /// Whether a delivery is out of a person's sight now.
    async fn is_snoozed(&self, name: &str, delivery: u64, now: Micros) -> Result<bool>;
    async fn inbox(&self, query: InboxQuery) -> Result<InboxPage>;
    /// One entry with its parts.
    async fn entry(&self, position: u64) -> Result<Option<EntryRow>>;
    /// Entries about one delivery, oldest first: the one that received it and the
    /// newest thousand.
    async fn history(&self, delivery: u64) -> Result<Vec<EntryRow>>;
    async fn entries(&self, query: EntryQuery) -> Result<Vec<EntryRow>>;
    async fn stream_entries(&self, query: StreamQuery) -> Result<Vec<EntryRow>>;
    /// The streams whose names begin with this ASCII prefix, in the order of their
    /// numbers: those of one kind, or all of them.
    async fn streams(&self, prefix: &str) -> Result<Vec<(u64, String)>>;
    /// The number that the next new stream gets.
    async fn next_stream(&self) -> Result<u64>;
    async fn stream_number(&self, name: &str) -> Result<Option<u64>>;
    /// How many deliveries of each of these streams wait for an answer; those
    /// without any are left out.
    async fn waiting(&self, streams: Vec<u64>) -> Result<HashMap<u64, u64>>;
    /// The same of all there are, answered or not.
    async fn deliveries(&self, streams: Vec<u64>) -> Result<HashMap<u64, u64>>;
    /// Hashes [from, to) of a level of the Merkle tree: 0 are the leaves.
    async fn hashes(&self, level: u8, from: u64, to: u64) -> Result<Vec<Hash>>;
    async fn accounts(&self) -> Result<Vec<AccountRow>>;
    /// Of every device that there is an entry about.
    async fn relayed(&self) -> Result<Vec<RelayedRow>>;
    async fn secret(&self, name: &str) -> Result<Option<Vec<u8>>>;
    /// A consistent copy of everything, while the writer goes on, with `keys`
    /// put into it under their names.
    async fn backup(&self, file: &Path, keys: Vec<(String, Vec<u8>)>) -> Result<()>;
    /// The head of the log and the ends of its streams, of one moment.
    async fn log_end(&self) -> Result<Option<LogEnd>>;
    /// For each level of the tree from 1 on, a digest of the block roots that a
    /// log of this size has ([`trail::verify::block_digest`]).
    async fn block_digests(&self, size: u64) -> Result<Vec<Hash>>;
    /// What a start must know about the store's own indices, at a cost that does
    /// not grow with it.
    async fn check_start(&self) -> Result<()>;
    /// Holds the rows that neither the log nor a comparison of views proves
    /// against what must be true of them.
    async fn check_rows(&self) -> Result<RowCheck>;
    /// Makes everything anew that follows from the headers of the entries: links,
    /// numbers, hashes, ends of streams, block roots, the head's size and time.
    /// Removes kept rows that somebody changed. Fails, and changes nothing, if
    /// that does not give the root of the head's checkpoint.
    async fn mend_log(&self) -> Result<Mended>;
    /// The longest beginning of the log that holds; `None` if all of it does.
    async fn sound_prefix(&self) -> Result<Option<Prefix>>;
    /// Drops what comes after the first `size` entries, which end with `head`.
    async fn cut_log(&self, size: u64, head: HeadRow) -> Result<()>;
    /// A digest of every view, to compare a rebuilt store with a live one.
    async fn view_digests(&self) -> Result<Vec<(String, Hash)>>;

    /// Walks entries [from, to) in order on the calling thread, which it blocks:
    /// for verification and export. `visit` returns false to stop.
    fn scan(&self, from: u64, to: u64, visit: &mut dyn FnMut(EntryRef<'_>) -> bool) -> Result<()>;
}
