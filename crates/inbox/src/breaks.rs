//! Deliberate breaks of rules, to show that the simulator finds them.
//!
//! The feature `breaks` is turned on by the simulator alone. Without it [`is_on`]
//! is the constant `false`: the shipped program has neither the switch nor what
//! it would switch.

/// A rule that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// A later answer replaces the first.
    SecondAnswer,
    /// An answer is taken while another person's is held.
    AnswerOverHold,
    /// Anyone may take back a held answer.
    UndoByAnyone,
    /// A hold becomes final a second too soon.
    HoldEndsEarly,
}

#[cfg(feature = "breaks")]
impl Break {
    pub const ALL: &[Break] = &[
        Break::SecondAnswer,
        Break::AnswerOverHold,
        Break::UndoByAnyone,
        Break::HoldEndsEarly,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Break::SecondAnswer => "second-answer",
            Break::AnswerOverHold => "answer-over-hold",
            Break::UndoByAnyone => "undo-by-anyone",
            Break::HoldEndsEarly => "hold-ends-early",
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
