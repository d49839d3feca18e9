//! The few kinds of failure that a caller treats differently.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another writer was first. Load again and decide again.
    #[error("another writer was first")]
    Conflict,
    /// The disk is full or failing: nothing was written, and it may work later.
    #[error("storage is not available: {0}")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What is stored cannot be what was written.
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    /// The rows carry codes of another key.
    #[error(
        "keys/seal.key is not the key that this data was written with: put that key back. \
         Without it, `wakeful backup` and `wakeful restore` make a new log of the same data"
    )]
    OtherSeal,
    /// The entries do not give what was signed.
    #[error("the log itself is damaged: {0}; `wakeful trail continue` goes on from what holds")]
    Broken(String),
    /// A store of a later version than this program.
    #[error(
        "the data directory was written by a newer version (schema {found}, this program knows {known}); use that version"
    )]
    TooNew { found: i64, known: i64 },
}
