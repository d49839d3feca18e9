//! Whether the data reach as far as the log was signed.
//!
//! The store remembers the last signed head beside its database. A database
//! that ends before it has lost acknowledged entries, however whole and signed
//! the rest is: its write-ahead log was damaged or removed, or it was replaced
//! by an older copy. Nobody goes on from there without saying so.
//!
//! What is remembered counts only if the log's key signed it. A record that is
//! torn or unreadable says nothing: it is written after the commit, without a
//! sync, so that the database may be ahead of it and must start without it.

use store::Store;
use trail::{
    Checkpoint, Hash, VerifierKey,
    merkle::{Fetched, Frontier},
};

/// How the data are not what was signed.
#[derive(Debug, thiserror::Error)]
pub enum Shortfall {
    #[error(
        "entries are missing: the log was signed up to {signed}, and the data end at {found}. \
         Its write-ahead log was damaged or removed, or the database was replaced \
         by an older copy. Put the files back as they were, or restore a backup into another \
         directory; to go on without what is missing, run `wakeful trail continue`, which records it"
    )]
    Missing { signed: u64, found: u64 },
    #[error(
        "the first {size} entries are not those that were signed: the database was replaced by \
         another one of the same log. Put back the one that was here, or restore a backup into \
         another directory; to go on with this one, run `wakeful trail continue`, which records it"
    )]
    Differs { size: u64 },
    #[error(
        "the file head is of the log {origin}, and the data are of another one. Put back the \
         database and the keys that were here; to go on with these, run `wakeful trail continue`, \
         which records it"
    )]
    OtherLog { origin: String },
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the stored tree is incomplete: {0}")]
    Incomplete(#[from] trail::merkle::Unprovable),
}

impl Shortfall {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Shortfall::Missing { .. } => "entries_missing",
            Shortfall::Differs { .. } => "entries_differ",
            Shortfall::OtherLog { .. } => "other_log",
            Shortfall::Store(_) | Shortfall::Incomplete(_) => "damaged",
        }
    }
}

/// The heads that a store remembers. Read them before the store's own head:
/// while a server runs, that one is never behind them then.
#[derive(Debug)]
pub struct Remembered(Vec<String>);

impl Remembered {
    pub fn read(store: &dyn Store) -> Result<Remembered, Shortfall> {
        Ok(Remembered(store.remembered()?))
    }

    /// The newest of them that `open` accepts.
    pub fn newest(&self, open: impl Fn(&str) -> Option<Checkpoint>) -> Option<Checkpoint> {
        let signed = self.0.iter().filter_map(|note| open(note));
        signed.max_by_key(|checkpoint| checkpoint.size)
    }

    /// Among heads of which none was accepted: one of another log than this.
    pub fn of_other_log(&self, origin: &str) -> Result<(), Shortfall> {
        let others = self.0.iter().filter_map(|note| Checkpoint::unsigned(note));
        match others
            .map(|other| other.origin)
            .find(|other| other != origin)
        {
            Some(origin) => Err(Shortfall::OtherLog { origin }),
            None => Ok(()),
        }
    }

    /// For a store without a head: how far it had come, if that is remembered.
    pub fn nothing_missing(&self) -> Result<(), Shortfall> {
        let sizes = self.0.iter().filter_map(|note| Checkpoint::unsigned(note));
        match sizes.map(|checkpoint| checkpoint.size).max() {
            Some(signed @ 1..) => Err(Shortfall::Missing { signed, found: 0 }),
            _ => Ok(()),
        }
    }
}

/// Checks a store that is about to be written to, as someone who trusts `key`.
pub async fn check(store: &dyn Store, key: &VerifierKey) -> Result<(), crate::StartFault> {
    let remembered = Remembered::read(store)?;
    let newest = remembered.newest(|note| key.open(note).ok());
    if let Some(newest) = &newest {
        contains(store, newest).await?;
    }
    let Some(head) = store.head().await? else {
        return Ok(remembered.nothing_missing()?);
    };
    let own = key.open(&head.note);
    let own = own.map_err(|fault| crate::StartFault::WrongKey(fault.to_string()))?;
    match newest {
        Some(newest) if newest.size == own.size => {}
        Some(_) => store.remember(&head.note),
        None => {
            remembered.of_other_log(key.name())?;
            if own.size > 1 {
                tracing::warn!(
                    entries = own.size,
                    "the file head is missing or empty: nobody can tell whether entries after \
                     these were lost; expected once after an upgrade from a version without it"
                );
            }
            store.remember(&head.note);
        }
    }
    Ok(())
}

/// The same for whoever only looks.
pub async fn look(store: &dyn Store, key: &VerifierKey) -> Result<(), Shortfall> {
    let remembered = Remembered::read(store)?;
    match remembered.newest(|note| key.open(note).ok()) {
        Some(newest) => contains(store, &newest).await,
        None => remembered.of_other_log(key.name()),
    }
}

/// Checks that a store's log begins with what a checkpoint says.
pub async fn contains(store: &dyn Store, signed: &Checkpoint) -> Result<(), Shortfall> {
    let head = store.head().await?;
    let found = head.and_then(|head| Checkpoint::unsigned(&head.note));
    let root = match found {
        Some(found) if found.size == signed.size => found.root,
        Some(found) if found.size > signed.size => root(store, signed.size).await?,
        shorter => {
            return Err(Shortfall::Missing {
                signed: signed.size,
                found: shorter.map_or(0, |found| found.size),
            });
        }
    };
    match root == signed.root {
        true => Ok(()),
        false => Err(Shortfall::Differs { size: signed.size }),
    }
}

/// The root over the first entries of a stored tree.
async fn root(store: &dyn Store, size: u64) -> Result<Hash, Shortfall> {
    let mut fetched = Fetched::new();
    for range in Frontier::restore_needs(size) {
        let hashes = store.hashes(range.level, range.from, range.to).await?;
        fetched.insert(range, hashes);
    }
    Ok(Frontier::restore(size, &fetched)?.root())
}
