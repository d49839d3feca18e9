//! Deliberate breaks of rules, to show that the simulator finds them.
//!
//! The feature `breaks` is turned on by the simulator alone. Without it [`is_on`]
//! is the constant `false`: the shipped program has neither the switch nor what
//! it would switch.

/// A rule that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Writer: commands are acknowledged though the append failed.
    TellsBeforeDurable,
    /// Writer: readers are told of entries before they are durable.
    PublishesEarly,
    /// Writer: memory is kept after a failed commit.
    KeepsMemory,
    /// Writer: buckets are kept that another process may have emptied.
    KeepsBuckets,
    /// Writer: accounts are not advanced by what another process appended.
    IgnoresNewAccounts,
    /// Writer: timers of a batch are not noted.
    ForgetsTimers,
    /// Writer: retention rules count one day less.
    RetentionEarly,
    /// Staging: entries of one batch have the same time.
    SameTime,
    /// Staging: what is left of a key's rate is not written.
    BucketNotKept,
    /// Staging: an idempotency key is not known to later commands of its batch.
    IdempotencyNotStaged,
    /// Staging: the same person sees the same item twice in a batch.
    SeenNotStaged,
    /// Projection: an answer that was taken back stays held.
    UndoneStaysHeld,
    /// Projection: a final answer does not change the time that sweeps go by.
    ChangeTimeStays,
    /// Projection: the writer, and no rebuild, counts answered deliveries as pending.
    LaneNotLeft,
    /// Projection: content is erased and the row does not say so.
    ErasureForgotten,
    /// Deciding: an answer that was held owes no callback.
    NoCallbackAfterHold,
    /// Deciding: a held answer owes a callback at once.
    CallbackForHeld,
    /// Deciding: who was suspended may still answer.
    SuspendedAnswers,
    /// Deciding: who came with a token that was replaced meanwhile may still answer.
    ReplacedTokenAnswers,
    /// Deciding: a revoked key still delivers.
    RevokedKeyDelivers,
    /// Deciding: an answered delivery times out.
    TimesOutAnswered,
    /// Clock: it follows the machine's clock back.
    ClockGoesBack,
}

#[cfg(feature = "breaks")]
impl Break {
    pub const ALL: &[Break] = &[
        Break::TellsBeforeDurable,
        Break::PublishesEarly,
        Break::KeepsMemory,
        Break::KeepsBuckets,
        Break::IgnoresNewAccounts,
        Break::ForgetsTimers,
        Break::RetentionEarly,
        Break::SameTime,
        Break::BucketNotKept,
        Break::IdempotencyNotStaged,
        Break::SeenNotStaged,
        Break::UndoneStaysHeld,
        Break::ChangeTimeStays,
        Break::LaneNotLeft,
        Break::ErasureForgotten,
        Break::NoCallbackAfterHold,
        Break::CallbackForHeld,
        Break::SuspendedAnswers,
        Break::ReplacedTokenAnswers,
        Break::RevokedKeyDelivers,
        Break::TimesOutAnswered,
        Break::ClockGoesBack,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Break::TellsBeforeDurable => "tells-before-durable",
            Break::PublishesEarly => "publishes-early",
            Break::KeepsMemory => "keeps-memory",
            Break::KeepsBuckets => "keeps-buckets",
            Break::IgnoresNewAccounts => "ignores-new-accounts",
            Break::ForgetsTimers => "forgets-timers",
            Break::RetentionEarly => "retention-early",
            Break::SameTime => "same-time",
            Break::BucketNotKept => "bucket-not-kept",
            Break::IdempotencyNotStaged => "idempotency-not-staged",
            Break::SeenNotStaged => "seen-not-staged",
            Break::UndoneStaysHeld => "undone-stays-held",
            Break::ChangeTimeStays => "change-time-stays",
            Break::LaneNotLeft => "lane-not-left",
            Break::ErasureForgotten => "erasure-forgotten",
            Break::NoCallbackAfterHold => "no-callback-after-hold",
            Break::CallbackForHeld => "callback-for-held",
            Break::SuspendedAnswers => "suspended-answers",
            Break::ReplacedTokenAnswers => "replaced-token-answers",
            Break::RevokedKeyDelivers => "revoked-key-delivers",
            Break::TimesOutAnswered => "times-out-answered",
            Break::ClockGoesBack => "clock-goes-back",
        }
    }
}

#[cfg(feature = "breaks")]
thread_local! {
    static BROKEN: std::cell::Cell<Option<Break>> = const { std::cell::Cell::new(None) };
}

/// Breaks one rule, or none, for everything on this thread.
#[cfg(feature = "breaks")]
pub fn set(broken: Option<Break>) {
    BROKEN.set(broken);
}

/// Whether this rule is broken.
#[cfg(feature = "breaks")]
pub(crate) fn is_on(rule: Break) -> bool {
    BROKEN.get() == Some(rule)
}

/// Whether this rule is broken.
#[cfg(not(feature = "breaks"))]
pub(crate) const fn is_on(_: Break) -> bool {
    false
}
