//! Receipts, exports and verification over a store.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::HashMap,
    io::{self, Write},
    rc::Rc,
    sync::{Mutex, MutexGuard, PoisonError},
};

use store::{EntryQuery, EntryRef, EntryRow, HeadRow, LogEnd, PartRow, Store};
use trail::{
    Checkpoint, Hash, Header, Keyring, Micros, Reason, Receipt, Stream, Verifier, VerifierKey,
    digest::{Digests, StoredEntry, StoredPart},
    erasure::CONTENT_ERASED,
    export::{ExportEntry, ExportPart, ExportWriter},
    merkle::{self, Fetched},
    pipeline, proof,
    receipt::ReceiptPart,
    verify::{Kept, Report, StreamEnd},
};

use uuid::Uuid;

use crate::{
    event::Event,
    reached::{Remembered, Shortfall, contains},
    vault::{Vault, VaultFault},
};

/// Entries handed to one thread at a time while verifying.
const CHUNK: u64 = 2048;

#[derive(Debug, thiserror::Error)]
pub enum ProofFault {
    #[error("there is no entry {0}")]
    NoSuchEntry(u64),
    #[error("the log is empty")]
    Empty,
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the stored tree is incomplete: {0}")]
    Incomplete(#[from] trail::merkle::Unprovable),
    #[error("the stored checkpoint is not signed by the log's key: {0}")]
    Checkpoint(#[from] trail::checkpoint::CheckpointFault),
    #[error(transparent)]
    Vault(#[from] VaultFault),
    #[error(transparent)]
    Trail(#[from] trail::Fault),
    #[error("entry {position}: content was taken away, and no entry says that a rule erased it")]
    Taken { position: u64 },
    #[error("entry {position}: content says it is encrypted with a key that was not given")]
    OtherKey { position: u64 },
    #[error(transparent)]
    Short(#[from] Shortfall),
    #[error("rows are not what was written: {}", .0.join("; "))]
    Rows(Vec<String>),
    #[error("{0} content is encrypted; name its key with --body-key")]
    Sealed(&'static str),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A document that proves one entry to someone who has only the log's key. It is
/// checked before it is given: a damaged tree proves nothing.
pub async fn receipt(
    store: &dyn Store,
    vault: &Vault,
    position: u64,
) -> Result<Receipt, ProofFault> {
    let head = store.head().await?.ok_or(ProofFault::Empty)?;
    let size = head.size;
    let query = EntryQuery {
        from: position,
        to: Some(position + 1),
        limit: 1,
        with_parts: true,
        ..Default::default()
    };
    let entry = store
        .entries(query)
        .await?
        .pop()
        .ok_or(ProofFault::NoSuchEntry(position))?;
    let fetched = fetch(store, &proof::inclusion_needs(position, size)).await?;
    let damaged = || store::Error::Damaged(format!("header of entry {position}"));
    let header = Header::read(&entry.header).ok_or_else(damaged)?;
    let mut parts = vec![ReceiptPart::present(
        "facts",
        &entry.facts_salt,
        &entry.facts,
    )];
    for commitment in header.parts.iter().skip(1) {
        let stored = entry.parts.iter().find(|part| part.name == commitment.name);
        parts.push(match stored {
            None => ReceiptPart::erased(&commitment.name),
            Some(part) => {
                let plain = vault
                    .open_part(position, &part.name, &part.bytes)
                    .ok_or(ProofFault::Sealed("its"))?;
                ReceiptPart::present(&part.name, &part.salt, &plain)
            }
        });
    }
    let inclusion = proof::inclusion_proof(position, size, &fetched)?;
    let prev_hash = previous(store, &entry).await?;
    let hash = trail::entry::entry_hash(
        prev_hash,
        entry.seq,
        trail::entry::local_hash(&entry.header),
    );
    let root = Checkpoint::unsigned(&head.note).map(|signed| signed.root);
    let leaf = merkle::leaf_hash(&hash);
    let is_proven =
        root.is_some_and(|root| proof::verify_inclusion(leaf, position, size, &inclusion, root));
    if !is_proven {
        let what = format!("what proves entry {position}; run `wakeful trail verify`");
        return Err(store::Error::Damaged(what).into());
    }
    Ok(Receipt {
        checkpoint: head.note,
        header: String::from_utf8(entry.header.clone()).map_err(|_| damaged())?,
        inclusion,
        parts,
        position,
        prev_hash,
        seq: entry.seq,
        wakeful_receipt: trail::receipt::VERSION,
    })
}

async fn previous(store: &dyn Store, entry: &EntryRow) -> Result<Option<Hash>, ProofFault> {
    let Some(prev) = entry.prev else {
        return Ok(None);
    };
    let query = EntryQuery {
        from: prev,
        to: Some(prev + 1),
        limit: 1,
        ..Default::default()
    };
    Ok(store
        .entries(query)
        .await?
        .pop()
        .map(|entry| entry.entry_hash))
}

/// That the log of `old` entries is the beginning of the log of now.
pub async fn consistency(store: &dyn Store, old: u64) -> Result<(Vec<Hash>, String), ProofFault> {
    let head = store.head().await?.ok_or(ProofFault::Empty)?;
    let fetched = fetch(store, &proof::consistency_needs(old, head.size)).await?;
    Ok((
        proof::consistency_proof(old, head.size, &fetched)?,
        head.note,
    ))
}

async fn fetch(store: &dyn Store, ranges: &[trail::merkle::Range]) -> Result<Fetched, ProofFault> {
    let mut fetched = Fetched::new();
    for range in ranges {
        fetched.insert(
            *range,
            store.hashes(range.level, range.from, range.to).await?,
        );
    }
    Ok(fetched)
}

/// What verification of a store found.
#[derive(Clone, Debug)]
pub struct StoreReport {
    pub report: Report,
    /// Parts that are encrypted with a key that was not given.
    pub sealed: u64,
    /// Whether the key of rows that no entry proves was there to check them.
    pub rows_checked: bool,
}

/// Verifies a store from its bytes, on as many threads as there are cores: as
/// someone who trusts `key`, or with none as someone who trusts the key that
/// the log itself names. `progress` is told how many entries were read, and that all
/// were when the log is proven and the rows beside it come next.
pub async fn verify(
    store: &dyn Store,
    vault: &Vault,
    key: Option<&VerifierKey>,
    kept: Vec<Checkpoint>,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<StoreReport, ProofFault> {
    let remembered = Remembered::read(store)?;
    let Some(LogEnd { head, streams }) = store.log_end().await? else {
        remembered.nothing_missing()?;
        return Err(ProofFault::Empty);
    };
    // Before anything is read: a size that was made up must not decide how much.
    let signed = Checkpoint::unsigned(&head.note).map(|signed| signed.size);
    if let Some(signed) = signed.filter(|signed| *signed != head.size) {
        let kept = head.size;
        let what =
            format!("head: the log's size is kept as {kept}, but its checkpoint counts {signed}");
        return Err(store::Error::Damaged(what).into());
    }
    let mut verifier = Verifier::new();
    if let Some(key) = key {
        verifier.trust(Keyring::new(key.clone()));
    }
    kept.into_iter().for_each(|kept| verifier.expect(kept));
    let reading = Reading {
        store,
        vault,
        names: store.streams("").await?.into_iter().collect(),
        may_be_sealed: vault.lacks_key(store).await?,
        size: head.size,
        found: Mutex::default(),
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut next = 0;
    // An entry that the checkpoint does not cover is too much, unless the log
    // has grown since: then it is verified next time.
    let surplus = has_entry(store, head.size).await?;
    let grown = store.head().await?.is_some_and(|now| now.size > head.size);
    let end = head.size + u64::from(surplus && !grown);
    let chunks = || {
        (next < end).then(|| {
            let from = next;
            next = (next + CHUNK).min(end);
            progress(from, head.size);
            (from, next)
        })
    };
    let digest = |chunk: &(u64, u64), digests: &mut Digests| reading.digest(*chunk, digests);
    pipeline::link_in_order(&mut verifier, threads, chunks, digest)?;
    // What a rule erased while we read is said in an entry after those we read.
    let now = store.head().await?.map_or(head.size, |now| now.size);
    store.scan(head.size, now, &mut |entry| {
        reading.note_erasure(&entry);
        true
    })?;
    let found = reading.found.into_inner().unwrap_or_default();
    if let Some(error) = found.failure {
        return Err(error.into());
    }
    let checkpoint = verifier.open(&head.note)?;
    let newest = remembered.newest(|note| verifier.open(note).ok());
    let kept = verifier.kept();
    let report = verifier.finish(&checkpoint)?;
    progress(head.size, head.size);
    match &newest {
        Some(newest) => contains(store, newest).await?,
        None => remembered.of_other_log(&checkpoint.origin)?,
    }
    if let Some(position) = found.unopened {
        return Err(ProofFault::OtherKey { position });
    }
    let sealed = found.sealed;
    found.all_erased_by_rule()?;
    let mut wrong = beside_the_log(&head, &streams, &kept, report.last_time);
    if store.block_digests(head.size).await? != kept.blocks {
        wrong.push("subtrees: not the roots that the entries give".to_owned());
    }
    let rows = store.check_rows().await?;
    wrong.extend(rows.wrong);
    match wrong.is_empty() {
        true => Ok(StoreReport {
            report,
            sealed,
            rows_checked: rows.sealed_checked,
        }),
        false => Err(ProofFault::Rows(wrong)),
    }
}

/// What the store keeps about the end of the log, held against the entries.
fn beside_the_log(
    head: &HeadRow,
    streams: &[StreamEnd],
    kept: &Kept,
    last_time: Option<Micros>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if last_time.is_some_and(|last| last != head.last_time) {
        wrong.push("head: not the time of the last entry".to_owned());
    }
    let right: HashMap<&str, &StreamEnd> = kept
        .streams
        .iter()
        .map(|stream| (stream.name.as_str(), stream))
        .collect();
    for stream in streams {
        if right.get(stream.name.as_str()) != Some(&stream) {
            wrong.push(format!("streams: {} does not end like that", stream.name));
        }
    }
    if streams.len() != kept.streams.len() {
        wrong.push("streams: not those that the entries are on".to_owned());
    }
    wrong
}

async fn has_entry(store: &dyn Store, position: u64) -> Result<bool, ProofFault> {
    let query = EntryQuery {
        from: position,
        to: Some(position + 1),
        limit: 1,
        ..Default::default()
    };
    Ok(!store.entries(query).await?.is_empty())
}

/// A store while it is read by several threads.
struct Reading<'a> {
    store: &'a dyn Store,
    vault: &'a Vault,
    names: HashMap<u64, String>,
    /// Content is encrypted, and no key was given.
    may_be_sealed: bool,
    /// How many entries there should be.
    size: u64,
    found: Mutex<Found>,
}

/// What the threads found between them.
#[derive(Default)]
struct Found {
    failure: Option<store::Error>,
    sealed: u64,
    /// The first entry with a part that says it was encrypted with a key which
    /// is not among those given.
    unopened: Option<u64>,
    /// Deliveries whose content is not whole, with the entries about each that lack
    /// something.
    bare: HashMap<Uuid, Vec<u64>>,
    /// Deliveries whose content was erased, with the last entry that says so.
    erased: HashMap<Uuid, u64>,
}

impl Found {
    /// Content goes by a rule, and the rule leaves an entry after it: what is gone
    /// without one was taken away.
    fn all_erased_by_rule(self) -> Result<(), ProofFault> {
        let taken = self.bare.iter().flat_map(|(id, positions)| {
            let erased = self.erased.get(id);
            let taken = move |at: &&u64| erased.is_none_or(|erased| *at > erased);
            positions.iter().filter(taken)
        });
        match taken.min().copied() {
            None => Ok(()),
            Some(position) => Err(ProofFault::Taken { position }),
        }
    }
}

impl Reading<'_> {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Digests a stretch of the log.
    fn digest(&self, (from, to): (u64, u64), digests: &mut Digests) {
        let mut reached = from;
        let scanned = self.store.scan(from, to, &mut |entry| {
            reached = entry.position + 1;
            self.push(&entry, digests);
            !digests.failed()
        });
        // Whatever the end is said to be, nothing is looked for behind a gap.
        if scanned.is_ok() && !digests.failed() && reached < to.min(self.size) {
            digests.fail(Reason::Missing { size: self.size }.at(reached));
        }
        if let Err(error) = scanned {
            self.found().failure.get_or_insert(match error {
                store::Error::Damaged(what) => {
                    store::Error::Damaged(format!("entry {reached}: {what}"))
                }
                other => other,
            });
        }
    }

    fn push(&self, entry: &EntryRef<'_>, digests: &mut Digests) {
        let opened: Vec<(&PartRow, Option<Cow<'_, [u8]>>)> = entry
            .parts
            .iter()
            .map(|part| (part, self.open(entry.position, part)))
            .collect();
        let facts = StoredPart {
            name: "facts",
            salt: entry.facts_salt,
            bytes: entry.facts,
        };
        let plain = opened.iter().filter_map(|(part, plain)| {
            Some(StoredPart {
                name: &part.name,
                salt: &part.salt,
                bytes: plain.as_ref()?,
            })
        });
        let parts: Vec<StoredPart<'_>> = std::iter::once(facts).chain(plain).collect();
        let sealed = opened.len() + 1 - parts.len();
        let stored = StoredEntry {
            position: entry.position,
            stream: self.names.get(&entry.stream).map_or("", String::as_str),
            seq: entry.seq,
            header: entry.header,
            entry_hash: Some(entry.entry_hash),
            prev_hash: None,
            prev: Some(entry.prev),
            parts: &parts,
        };
        match Header::read(entry.header) {
            Some(header) => {
                self.note(entry, &header, sealed as u64);
                digests.push_read(&stored, &header);
            }
            // For it to say what is wrong.
            None => digests.push(&stored),
        }
    }

    /// A part's content; `None` if it is encrypted with a key that was not given.
    fn open<'p>(&self, position: u64, part: &'p PartRow) -> Option<Cow<'p, [u8]>> {
        match self.vault.open_part(position, &part.name, &part.bytes) {
            None if self.may_be_sealed => None,
            // Compared as it is, it is not what the header commits to.
            None if self.vault.has_key_of(&part.bytes) => Some(Cow::Borrowed(&part.bytes)),
            None => {
                let unopened = &mut self.found().unopened;
                *unopened = Some(unopened.map_or(position, |first| first.min(position)));
                None
            }
            plain => plain,
        }
    }

    fn note_erasure(&self, entry: &EntryRef<'_>) {
        let header = Header::read(entry.header);
        if let Some(header) = header.filter(|header| header.event_type == CONTENT_ERASED) {
            self.note(entry, &header, 0);
        }
    }

    /// Remembers what is missing, and what was said to be.
    fn note(&self, entry: &EntryRef<'_>, header: &Header<'_>, sealed: u64) {
        if sealed > 0 {
            self.found().sealed += sealed;
        }
        let is_erasure = header.event_type == CONTENT_ERASED;
        if !is_erasure && header.parts.len() == entry.parts.len() + 1 {
            return;
        }
        let Some(stream) = Stream::parse(&header.stream) else {
            return;
        };
        let Ok(event) = Event::read(&stream, &header.event_type, entry.facts) else {
            return;
        };
        let about = match &event {
            Event::Wake(wake::Event::DeliveryReceived(received)) => vec![received.delivery_id],
            event => event.deliveries(),
        };
        let mut found = self.found();
        for id in about {
            match is_erasure {
                true => {
                    let last = found.erased.entry(id).or_insert(entry.position);
                    *last = entry.position.max(*last);
                }
                false => {
                    found.bare.entry(id).or_default().push(entry.position);
                }
            }
        }
    }
}

/// Writes the whole log up to its checkpoint as a self-contained file.
pub async fn export<W: Write>(
    store: &dyn Store,
    vault: &Vault,
    key: &VerifierKey,
    out: W,
    progress: &dyn Fn(u64, u64),
) -> Result<u64, ProofFault> {
    let head = store.head().await?.ok_or(ProofFault::Empty)?;
    export_until(store, vault, key, &head, out, progress)
}

/// The same up to a head that was read before, on the calling thread, which it
/// blocks. A stretch at a time, which is written when it has been read: whoever
/// takes the bytes slowly must not keep the store from clearing up behind the
/// writer.
pub fn export_until<W: Write>(
    store: &dyn Store,
    vault: &Vault,
    key: &VerifierKey,
    head: &HeadRow,
    mut out: W,
    progress: &dyn Fn(u64, u64),
) -> Result<u64, ProofFault> {
    let stretch = Stretch::default();
    let mut writer = ExportWriter::begin(stretch.clone(), key)?;
    let mut ends: HashMap<u64, Hash> = HashMap::new();
    let mut from = 0;
    while from < head.size {
        let to = (from + CHUNK).min(head.size);
        progress(from, head.size);
        let mut outcome: Result<(), ProofFault> = Ok(());
        let mut reached = to;
        store.scan(from, to, &mut |entry| {
            let prev_hash = ends.insert(entry.stream, entry.entry_hash);
            outcome = export_entry(&mut writer, vault, &entry, prev_hash);
            let goes_on = outcome.is_ok() && !stretch.is_long();
            if !goes_on {
                reached = entry.position + 1;
            }
            goes_on
        })?;
        outcome?;
        out.write_all(&stretch.take())?;
        from = reached;
    }
    writer.finish(&head.note)?;
    out.write_all(&stretch.take())?;
    out.flush()?;
    Ok(head.size)
}

/// What was read of an export and is not yet written. Clones are the same one.
#[derive(Clone, Default)]
struct Stretch(Rc<RefCell<Vec<u8>>>);

impl Stretch {
    /// So much is written at once.
    const BYTES: usize = 1 << 20;

    fn is_long(&self) -> bool {
        self.0.borrow().len() >= Stretch::BYTES
    }

    fn take(&self) -> Vec<u8> {
        self.0.take()
    }
}

impl Write for Stretch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn export_entry<W: Write>(
    writer: &mut ExportWriter<W>,
    vault: &Vault,
    entry: &store::EntryRef<'_>,
    prev_hash: Option<Hash>,
) -> Result<(), ProofFault> {
    let position = entry.position;
    let damaged = || store::Error::Damaged(format!("header of entry {position}"));
    let header = Header::read(entry.header).ok_or_else(damaged)?;
    let mut parts = Vec::with_capacity(header.parts.len());
    for commitment in &header.parts {
        let name = commitment.name.clone();
        let content = match name.as_ref() {
            "facts" => Some((*entry.facts_salt, entry.facts.into())),
            _ => match entry.parts.iter().find(|part| part.name == name) {
                None => None,
                Some(part) => {
                    let plain = vault
                        .open_part(position, &part.name, &part.bytes)
                        .ok_or(ProofFault::Sealed("some"))?;
                    Some((part.salt, plain))
                }
            },
        };
        parts.push(ExportPart { name, content });
    }
    writer.entry(&ExportEntry {
        position,
        seq: entry.seq,
        entry_hash: entry.entry_hash,
        prev_hash,
        header: entry.header,
        parts,
    })?;
    Ok(())
}
