//! The rules of the inbox that the simulator can break (see [`trail::breaks`]).

trail::breaks! {
    /// A later answer replaces the first.
    SecondAnswer = "second-answer",
    /// An answer is taken while another person's is held.
    AnswerOverHold = "answer-over-hold",
    /// Anyone may take back a held answer.
    UndoByAnyone = "undo-by-anyone",
    /// A hold becomes final a second too soon.
    HoldEndsEarly = "hold-ends-early",
}
