//! What was asked in one turn and what came of it.

use std::fmt;

use engine::{Command, Refusal, Reply};
use trail::Micros;
use uuid::Uuid;

use super::process::Seen;

#[derive(Debug)]
pub struct Asked {
    /// The engine's time when its turn began.
    pub now: Micros,
    /// Its time when it came to its chores: later if the commit was slow.
    pub chores_at: Micros,
    /// The deliveries whose timers had to be looked at.
    pub due: Vec<Uuid>,
    pub commands: Vec<Command>,
    /// `None` where nobody was told.
    pub told: Vec<Option<Result<Reply, Refusal>>>,
    pub was_degraded: bool,
    /// Whether the process was lost in this turn.
    pub lost: bool,
    pub seen: Seen,
}

impl Asked {
    /// How many commands were carried out or refused.
    pub fn answers(&self) -> usize {
        let told = self.told.iter().flatten();
        let answers = told.filter(|told| **told != Err(Refusal::Unavailable));
        answers.count()
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = if self.lost {
            ", and the process is lost"
        } else {
            ""
        };
        writeln!(
            f,
            "at {:?}, due {:?}, seen {:?}{lost}",
            self.now, self.due, self.seen
        )?;
        for (command, told) in self.commands.iter().zip(&self.told) {
            writeln!(f, "    {command:?} -> {told:?}")?;
        }
        Ok(())
    }
}
