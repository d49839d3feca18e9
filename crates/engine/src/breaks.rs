//! The rules of the engine that the simulator can break (see [`trail::breaks`]).

trail::breaks! {
    /// Writer: commands are acknowledged though the append failed.
    TellsBeforeDurable = "tells-before-durable",
    /// Writer: readers are told of entries before they are durable.
    PublishesEarly = "publishes-early",
    /// Writer: memory is kept after a failed commit.
    KeepsMemory = "keeps-memory",
    /// Writer: buckets are kept that another process may have emptied.
    KeepsBuckets = "keeps-buckets",
    /// Writer: accounts are not advanced by what another process appended.
    IgnoresNewAccounts = "ignores-new-accounts",
    /// Writer: timers of a batch are not noted.
    ForgetsTimers = "forgets-timers",
    /// Writer: retention rules count one day less.
    RetentionEarly = "retention-early",
    /// Staging: entries of one batch have the same time.
    SameTime = "same-time",
    /// Staging: what is left of a key's rate is not written.
    BucketNotKept = "bucket-not-kept",
    /// Staging: an idempotency key is not known to later commands of its batch.
    IdempotencyNotStaged = "idempotency-not-staged",
    /// Staging: the same person sees the same item twice in a batch.
    SeenNotStaged = "seen-not-staged",
    /// Projection: an answer that was taken back stays held.
    UndoneStaysHeld = "undone-stays-held",
    /// Projection: a final answer does not change the time that sweeps go by.
    ChangeTimeStays = "change-time-stays",
    /// Projection: the writer, and no rebuild, counts answered deliveries as pending.
    LaneNotLeft = "lane-not-left",
    /// Projection: content is erased and the row does not say so.
    ErasureForgotten = "erasure-forgotten",
    /// Deciding: an answer that was held owes no callback.
    NoCallbackAfterHold = "no-callback-after-hold",
    /// Deciding: a held answer owes a callback at once.
    CallbackForHeld = "callback-for-held",
    /// Deciding: who was suspended may still answer.
    SuspendedAnswers = "suspended-answers",
    /// Deciding: who came with a token that was replaced meanwhile may still answer.
    ReplacedTokenAnswers = "replaced-token-answers",
    /// Deciding: a revoked key still delivers.
    RevokedKeyDelivers = "revoked-key-delivers",
    /// Deciding: an answered delivery times out.
    TimesOutAnswered = "times-out-answered",
    /// Clock: it follows the machine's clock back.
    ClockGoesBack = "clock-goes-back",
}
