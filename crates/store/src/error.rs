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
    /// A store of a later version than this program.
    #[error(
        "the data directory was written by a newer version (schema {found}, this program knows {known}); use that version"
    )]
    TooNew { found: i64, known: i64 },
}
