//! A store in memory: the same promises as a database, in code that is obvious.
//! For simulations and tests; nothing of it outlasts the process.
//!
//! A [`Memory`] is a handle. Clones of it are the same store, so whoever drops
//! an engine and starts another one on a clone has lost a process and kept what
//! was durable; [`Memory::fork`] is an independent copy. Calls fail, wait or lie
//! about their outcome if [`Memory::with_faults`] says so.
//!
//! Nobody else can change its rows, so there are no codes to check and nothing
//! to mend.

mod account;
mod data;
mod faults;
mod inbox;
mod kept;
mod log;
mod look;
mod wake;
mod words;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use trail::{Hash, Micros};
use uuid::Uuid;

use crate::{
    AccountRow, AnswerRow, Batch, CallbackRow, DeliveryRow, Due, EntryQuery, EntryRef, EntryRow,
    ErasableQuery, Error, HeadRow, InboxPage, InboxQuery, Loaded, LogEnd, Mended, Needs, Prefix,
    RelayedRow, Result, RowCheck, Store, StreamQuery, SweepPage, SweepQuery, Turn,
};
use data::Data;

pub use faults::{Call, Fault, Faults, Moment};

/// Heads that are remembered beside the data.
const REMEMBERED: usize = 2;
/// Idempotency records forgotten in one step.
const FORGOTTEN: usize = 1000;

#[derive(Clone, Debug, Default)]
pub struct Memory {
    data: Arc<Mutex<Data>>,
    /// What [`Store::remember`] was given: not part of the data, as in a database.
    remembered: Arc<Mutex<Vec<String>>>,
    /// Backups by the name of their file, which is not written.
    backups: Arc<Mutex<BTreeMap<PathBuf, Backup>>>,
    faults: Option<Faults>,
    read_only: bool,
}

/// Keys by their names, as a backup carries them.
type Keys = Vec<(String, Vec<u8>)>;

#[derive(Clone, Debug)]
struct Backup {
    data: Data,
    keys: Keys,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// The same store, whose calls by the writer meet these faults.
    pub fn with_faults(&self, faults: Faults) -> Memory {
        Memory {
            faults: Some(faults),
            ..self.clone()
        }
    }

    /// The same store for somebody who may not write.
    pub fn read_only(&self) -> Memory {
        Memory {
            read_only: true,
            ..self.clone()
        }
    }

    /// A copy that goes its own way, without faults.
    pub fn fork(&self) -> Memory {
        Memory {
            data: Arc::new(Mutex::new(self.data().clone())),
            remembered: Arc::new(Mutex::new(lock(&self.remembered).clone())),
            ..Memory::default()
        }
    }

    /// Puts a backup into a store of its own; also gives the keys that were in it.
    pub fn restored(&self, file: &Path) -> Option<(Memory, Keys)> {
        let Backup { data, keys } = lock(&self.backups).get(file)?.clone();
        let store = Memory {
            data: Arc::new(Mutex::new(data)),
            ..Memory::default()
        };
        Some((store, keys))
    }

    /// How many batches were appended.
    pub fn version(&self) -> u64 {
        self.data().version
    }

    /// Forgets the newest remembered head, which is not synced when it is written.
    pub fn forget_remembered(&self) {
        lock(&self.remembered).pop();
    }

    fn data(&self) -> MutexGuard<'_, Data> {
        lock(&self.data)
    }

    fn writing(&self) -> Result<MutexGuard<'_, Data>> {
        match self.read_only {
            true => Err(Error::Unavailable("this store is read only".into())),
            false => Ok(self.data()),
        }
    }

    /// Does a call of the writer's, with the fault that is due.
    async fn call<T>(
        &self,
        call: Call<'_>,
        work: impl FnOnce(&mut Data) -> Result<T>,
    ) -> Result<T> {
        let fault = self
            .faults
            .as_ref()
            .map_or(Fault::None, |faults| faults.due(&call));
        faults::before(fault).await?;
        let done = work(&mut *self.writing()?);
        if let (Call::Append(_), Ok(_), Some(faults)) = (&call, &done, &self.faults) {
            faults.appended(&call);
        }
        faults::after(fault).await?;
        done
    }
}

#[derive(Debug)]
struct MemoryTurn<'a> {
    store: &'a Memory,
    version: u64,
}

#[async_trait]
impl Turn for MemoryTurn<'_> {
    fn version(&self) -> u64 {
        self.version
    }

    async fn load(&mut self, needs: &Needs) -> Result<Loaded> {
        let load = |data: &mut Data| Ok(data.load(needs));
        self.store.call(Call::Load, load).await
    }

    async fn append(self: Box<Self>, batch: Batch) -> Result<u64> {
        let append = |data: &mut Data| data.append(self.version, &batch);
        self.store.call(Call::Append(&batch), append).await
    }
}

#[async_trait]
impl Store for Memory {
    async fn head(&self) -> Result<Option<HeadRow>> {
        Ok(self.data().head.clone())
    }

    async fn turn(&self) -> Result<Box<dyn Turn + '_>> {
        let version = self.writing()?.version;
        let store = self;
        Ok(Box::new(MemoryTurn { store, version }))
    }

    fn remember(&self, note: &str) {
        let mut remembered = lock(&self.remembered);
        remembered.push(note.to_owned());
        let surplus = remembered.len().saturating_sub(REMEMBERED);
        remembered.drain(..surplus);
    }

    async fn settle(&self, _: Duration) -> Result<()> {
        self.writing().map(drop)
    }

    async fn index_some(&self, limit: usize) -> Result<bool> {
        Ok(self.writing()?.index_some(limit))
    }

    async fn forget_idempotency(&self, before: Micros) -> Result<bool> {
        let forgotten = self.writing()?.forget_idempotency(before, FORGOTTEN);
        Ok(forgotten == FORGOTTEN)
    }

    async fn probe(&self) -> Result<()> {
        self.call(Call::Probe, |_| Ok(())).await
    }

    async fn scrub(&self) -> Result<()> {
        self.call(Call::Scrub, |_| Ok(())).await
    }

    async fn clear_views(&self) -> Result<()> {
        self.writing()?.clear_views();
        Ok(())
    }

    async fn end_rebuild(&self) -> Result<u64> {
        Ok(self.writing()?.end_rebuild())
    }

    fn was_migrated(&self) -> bool {
        false
    }

    async fn is_rebuilding(&self) -> Result<bool> {
        Ok(self.data().rebuilding)
    }

    fn remembered(&self) -> Result<Vec<String>> {
        Ok(lock(&self.remembered).clone())
    }

    async fn due(&self, now: Micros, limit: usize) -> Result<Vec<Due>> {
        self.call(Call::Due, |data| Ok(data.due(now, limit))).await
    }

    async fn next_due(&self, after: Micros) -> Result<Option<Micros>> {
        let data = self.data();
        let due = data
            .due
            .range((Micros(after.0.saturating_add(1)), 0)..)
            .next();
        Ok(due.map(|(at, _)| *at))
    }

    async fn callbacks_due(&self, now: Micros, limit: usize) -> Result<Vec<CallbackRow>> {
        let mut due: Vec<CallbackRow> = self.data().callbacks.values().cloned().collect();
        due.retain(|row| row.next_at.is_some_and(|at| at <= now));
        due.sort_by_key(|row| row.next_at);
        due.truncate(limit);
        Ok(due)
    }

    async fn next_callback(&self) -> Result<Option<Micros>> {
        Ok(self
            .data()
            .callbacks
            .values()
            .filter_map(|row| row.next_at)
            .min())
    }

    async fn callbacks(&self, before: Option<u64>, limit: usize) -> Result<Vec<CallbackRow>> {
        let data = self.data();
        let rows = data.callbacks.range(..before.unwrap_or(u64::MAX));
        Ok(rows.rev().take(limit).map(|(_, row)| row.clone()).collect())
    }

    async fn erasable(&self, query: ErasableQuery) -> Result<Vec<DeliveryRow>> {
        self.call(Call::Erasable, |data| Ok(data.erasable(&query)))
            .await
    }

    async fn delivery(&self, id: Uuid) -> Result<Option<DeliveryRow>> {
        Ok(self.data().delivery(id).cloned())
    }

    async fn deliveries_within(
        &self,
        ids: RangeInclusive<Uuid>,
        limit: usize,
    ) -> Result<Vec<DeliveryRow>> {
        let data = self.data();
        let numbers = data.ids.range(ids).take(limit);
        Ok(numbers.map(|(_, no)| data.deliveries[no].clone()).collect())
    }

    async fn response(&self, id: Uuid) -> Result<Option<AnswerRow>> {
        let data = self.data();
        Ok(data.delivery(id).map(|row| data.answer(row)))
    }

    async fn sweep(&self, query: SweepQuery) -> Result<SweepPage> {
        Ok(self.data().sweep(&query))
    }

    async fn seen(&self, name: &str, ids: Vec<Uuid>) -> Result<HashSet<Uuid>> {
        let data = self.data();
        let is_seen = |id: &Uuid| data.seen.contains(&(name.to_owned(), *id));
        Ok(ids.into_iter().filter(is_seen).collect())
    }

    async fn snoozed(&self, name: &str, now: Micros, limit: usize) -> Result<HashMap<u64, Micros>> {
        Ok(self.data().snoozed_of(name, now, limit))
    }

    async fn is_snoozed(&self, name: &str, delivery: u64, now: Micros) -> Result<bool> {
        Ok(self.data().is_snoozed(name, delivery, now))
    }

    async fn inbox(&self, query: InboxQuery) -> Result<InboxPage> {
        Ok(self.data().inbox(&query))
    }

    async fn entry(&self, position: u64) -> Result<Option<EntryRow>> {
        Ok(self.data().entries.get(position as usize).cloned())
    }

    async fn history(&self, delivery: u64) -> Result<Vec<EntryRow>> {
        Ok(self.data().history_of(delivery))
    }

    async fn entries(&self, query: EntryQuery) -> Result<Vec<EntryRow>> {
        Ok(self.data().entries(&query))
    }

    async fn stream_entries(&self, query: StreamQuery) -> Result<Vec<EntryRow>> {
        Ok(self.data().stream_entries(&query))
    }

    async fn streams(&self, prefix: &str) -> Result<Vec<(u64, String)>> {
        let data = self.data();
        let rows = data.streams.values();
        let rows = rows.filter(|row| row.name.starts_with(prefix));
        Ok(rows.map(|row| (row.no, row.name.clone())).collect())
    }

    async fn next_stream(&self) -> Result<u64> {
        let data = self.data();
        Ok(data.streams.keys().next_back().map_or(0, |no| no + 1))
    }

    async fn stream_number(&self, name: &str) -> Result<Option<u64>> {
        Ok(self.data().stream_numbers.get(name).copied())
    }

    async fn waiting(&self, streams: Vec<u64>) -> Result<HashMap<u64, u64>> {
        Ok(self.data().kept(&streams, |lanes| lanes[0].count))
    }

    async fn deliveries(&self, streams: Vec<u64>) -> Result<HashMap<u64, u64>> {
        let all =
            |lanes: &[crate::LaneRow; crate::STATUSES]| lanes.iter().map(|lane| lane.count).sum();
        Ok(self.data().kept(&streams, all))
    }

    async fn hashes(&self, level: u8, from: u64, to: u64) -> Result<Vec<Hash>> {
        Ok(self.data().hashes(level, from, to))
    }

    async fn accounts(&self) -> Result<Vec<AccountRow>> {
        let data = self.data();
        let rows = data.accounts.iter().map(|((kind, id), body)| AccountRow {
            kind: kind.clone(),
            id: id.clone(),
            body: Some(body.clone()),
        });
        Ok(rows.collect())
    }

    async fn relayed(&self) -> Result<Vec<RelayedRow>> {
        Ok(self.data().relayed.values().cloned().collect())
    }

    async fn secret(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.data().secrets.get(name).cloned())
    }

    async fn backup(&self, file: &Path, keys: Vec<(String, Vec<u8>)>) -> Result<()> {
        let data = self.data().clone();
        lock(&self.backups).insert(file.to_owned(), Backup { data, keys });
        Ok(())
    }

    async fn log_end(&self) -> Result<Option<LogEnd>> {
        Ok(self.data().log_end())
    }

    async fn block_digests(&self, size: u64) -> Result<Vec<Hash>> {
        Ok(self.data().block_digests(size))
    }

    async fn check_start(&self) -> Result<()> {
        Ok(())
    }

    async fn check_rows(&self) -> Result<RowCheck> {
        Ok(RowCheck::default())
    }

    async fn mend_log(&self) -> Result<Mended> {
        self.writing().map(|_| Mended::default())
    }

    async fn sound_prefix(&self) -> Result<Option<Prefix>> {
        Ok(None)
    }

    async fn cut_log(&self, _: u64, _: HeadRow) -> Result<()> {
        Err(Error::Unavailable(
            "a log in memory holds and is not cut".into(),
        ))
    }

    async fn view_digests(&self) -> Result<Vec<(String, Hash)>> {
        Ok(self.data().view_digests())
    }

    fn scan(&self, from: u64, to: u64, visit: &mut dyn FnMut(EntryRef<'_>) -> bool) -> Result<()> {
        let data = self.data();
        let rows = data.entries.iter().skip(from as usize);
        for row in rows.take_while(|row| row.position < to) {
            let keep_going = visit(EntryRef {
                position: row.position,
                stream: row.stream,
                seq: row.seq,
                header: &row.header,
                entry_hash: row.entry_hash,
                facts_salt: &row.facts_salt,
                facts: &row.facts,
                prev: row.prev,
                parts: &row.parts,
            });
            if !keep_going {
                break;
            }
        }
        Ok(())
    }
}
