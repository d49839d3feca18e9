//! What is proven of every run: one small file per claim.

pub mod standing;

/// Nothing, or the sentence that says what is wrong.
pub type Verdict = Result<(), String>;

/// Whether it holds; otherwise the sentence.
pub fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(wrong()) }
}
