//! How a chore ends badly.

use std::process::ExitCode;

#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// Asked wrongly; says what would be right.
    Usage(String),
    /// A step failed; says which, and what to do where that is not plain.
    Step(String),
    /// All has been said already.
    Told,
}

impl Failure {
    pub fn text(&self) -> Option<&str> {
        match self {
            Failure::Usage(text) | Failure::Step(text) => Some(text),
            Failure::Told => None,
        }
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Step(_) | Failure::Told => ExitCode::FAILURE,
        }
    }
}

pub type Result<T> = std::result::Result<T, Failure>;
