//! Receipts, exports and verification over a store.

use std::io::Write;

use store::{EntryQuery, EntryRow, Store};
use trail::{
    Checkpoint, Hash, Header, Receipt, Verifier, VerifierKey,
    digest::{Digests, StoredEntry, StoredPart},
    export::{ExportEntry, ExportPart, ExportWriter},
    merkle::Fetched,
    pipeline, proof,
    receipt::ReceiptPart,
    verify::Report,
};

use crate::vault::Vault;

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
    Trail(#[from] trail::Fault),
    #[error("{0} content is encrypted; name its key with --body-key")]
    Sealed(&'static str),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A document that proves one entry to someone who has only the log's key.
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
    Ok(Receipt {
        checkpoint: head.note,
        header: String::from_utf8(entry.header.clone()).map_err(|_| damaged())?,
        inclusion: proof::inclusion_proof(position, size, &fetched)?,
        parts,
        position,
        prev_hash: previous(store, &entry).await?,
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
    /// Parts that could not be opened, and so were not compared.
    pub sealed: u64,
}

/// Verifies a store from its bytes, on as many threads as there are cores.
/// `progress` is told how many entries were read.
pub async fn verify(
    store: &dyn Store,
    vault: &Vault,
    key: &VerifierKey,
    kept: Vec<Checkpoint>,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<StoreReport, ProofFault> {
    let head = store.head().await?.ok_or(ProofFault::Empty)?;
    let checkpoint = key.open(&head.note)?;
    if checkpoint.size != head.size {
        let (kept, signed) = (head.size, checkpoint.size);
        let what = format!("the log's size is kept as {kept}, but its checkpoint counts {signed}");
        return Err(store::Error::Damaged(what).into());
    }
    let names: std::collections::HashMap<u64, String> =
        store.stream_names().await?.into_iter().collect();
    let mut verifier = Verifier::new();
    kept.into_iter().for_each(|kept| verifier.expect(kept));
    let sealed = std::sync::atomic::AtomicU64::new(0);
    let failure = std::sync::Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut next = 0;
    // One more than the checkpoint covers, so that a surplus entry is noticed.
    let end = head.size + 1;
    let chunks = || {
        (next < end).then(|| {
            let from = next;
            next = (next + CHUNK).min(end);
            progress(from, head.size);
            (from, next)
        })
    };
    let digest = |(from, to): &(u64, u64), digests: &mut Digests| {
        let mut reached = *from;
        let scanned = store.scan(*from, *to, &mut |entry| {
            reached = entry.position + 1;
            let stream = names.get(&entry.stream).map_or("", String::as_str);
            let opened: Vec<_> = entry
                .parts
                .iter()
                .map(|part| vault.open_part(entry.position, &part.name, &part.bytes))
                .collect();
            let mut parts = Vec::with_capacity(1 + opened.len());
            parts.push(StoredPart {
                name: "facts",
                salt: entry.facts_salt,
                bytes: entry.facts,
            });
            for (part, plain) in entry.parts.iter().zip(&opened) {
                match plain {
                    Some(plain) => {
                        parts.push(StoredPart {
                            name: &part.name,
                            salt: &part.salt,
                            bytes: plain,
                        });
                    }
                    // Compared as it is, it is not what the header commits to.
                    None if vault.has_key_of(&part.bytes) => {
                        parts.push(StoredPart {
                            name: &part.name,
                            salt: &part.salt,
                            bytes: &part.bytes,
                        });
                    }
                    None => {
                        sealed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            }
            digests.push(&StoredEntry {
                position: entry.position,
                stream,
                seq: entry.seq,
                header: entry.header,
                entry_hash: Some(entry.entry_hash),
                prev_hash: None,
                parts: &parts,
            });
            !digests.failed()
        });
        let scanned = scanned.map_err(|error| match error {
            store::Error::Damaged(what) => {
                store::Error::Damaged(format!("entry {reached}: {what}"))
            }
            other => other,
        });
        if let (Err(error), Ok(mut failure)) = (scanned, failure.lock()) {
            failure.get_or_insert(error);
        }
    };
    pipeline::link_in_order(&mut verifier, threads, chunks, digest)?;
    if let Some(error) = failure.into_inner().unwrap_or_default() {
        return Err(error.into());
    }
    let report = verifier.finish(&checkpoint)?;
    Ok(StoreReport {
        report,
        sealed: sealed.into_inner(),
    })
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
    let mut writer = ExportWriter::begin(out, key)?;
    let mut ends: std::collections::HashMap<u64, Hash> = std::collections::HashMap::new();
    let mut outcome: Result<(), ProofFault> = Ok(());
    store.scan(0, head.size, &mut |entry| {
        if entry.position % CHUNK == 0 {
            progress(entry.position, head.size);
        }
        let prev_hash = ends.insert(entry.stream, entry.entry_hash);
        outcome = export_entry(&mut writer, vault, &entry, prev_hash);
        outcome.is_ok()
    })?;
    outcome?;
    writer.finish(&head.note)?.flush()?;
    Ok(head.size)
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
