//! Why a command had no effect.

/// Closed; the door that asked turns it into its own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    Wake(#[from] wake::Fault),
    #[error(transparent)]
    Inbox(#[from] inbox::Rejection),
    #[error(transparent)]
    Account(#[from] account::Rejection),
    /// The key was revoked between recognition and decision.
    #[error("the key no longer works")]
    KeyGone,
    /// The person lost the right between recognition and decision.
    #[error("the person may no longer do this")]
    PersonGone,
    #[error("too many deliveries; try again in {retry_after_seconds} s")]
    RateLimited { retry_after_seconds: u64 },
    #[error("this Idempotency-Key was used with another body")]
    IdempotencyMismatch,
    #[error("there is no such thing")]
    NotFound,
    /// Nothing was written; it may work later.
    #[error("storage is not available")]
    Unavailable,
    #[error("too many requests are waiting")]
    Busy,
    #[error("the server is stopping")]
    Stopping,
}
