//! The scenarios of WACP, played against our state machine.
//!
//! A scenario is a file that any implementation can read: what is given, what
//! is asked, what must then be so. `file` reads it, `order` turns its orders
//! into commands, `play` plays it, `expect` compares, `words` finds what is
//! misspelt, `register` knows the statements, `proof` finds the tests it names,
//! `shape` reads closed sets off the code, `evidence` is what they prove
//! together, `report` says it. Nothing here decides anything about the protocol.
//!
//! Beside them stand the statements of WAKE and WakeLink, which tests all over
//! the workspace prove: `statements` reads and checks them, `listing` asks the
//! test runner which tests there are, `table` writes them down.

pub mod evidence;
pub mod expect;
pub mod file;
pub mod listing;
pub mod order;
pub mod play;
pub mod proof;
pub mod register;
pub mod report;
pub mod shape;
pub mod statements;
pub mod table;
pub mod words;

/// Why a scenario does not pass, or cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// An order uses a word outside a closed set; no implementation reads it.
    Malformed(String),
    /// The file is wrong, or what happened differs from what it says.
    Broken(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Malformed(text) => write!(f, "malformed: {text}"),
            Trouble::Broken(text) => f.write_str(text),
        }
    }
}

pub type Outcome<T> = Result<T, Trouble>;

pub(crate) fn broken<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Trouble::Broken(text.into()))
}
