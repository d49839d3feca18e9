//! A play that went wrong, told so that it can be repeated.

use std::fmt;

use wacp::Entry;

use crate::world::{Given, Wrong};

#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    /// How many steps lead to it.
    pub steps: u64,
    pub wrong: Wrong,
    /// The last orders of the run it happened in.
    pub recent: Vec<Given>,
    /// The last entries of its log.
    pub entries: Vec<Entry>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, steps, .. } = self;
        writeln!(f, "the last orders before it:")?;
        for given in &self.recent {
            writeln!(f, "  {given}")?;
        }
        writeln!(f, "the last entries:")?;
        for entry in &self.entries {
            let (name, facts) = (entry.event.event_type(), entry.event.facts());
            writeln!(f, "  {name} {}", String::from_utf8_lossy(&facts))?;
        }
        writeln!(f, "it does not hold that {}:", self.wrong.claim)?;
        writeln!(f, "  {}", self.wrong.sentence)?;
        writeln!(f, "repeat it with:")?;
        write!(f, "  cargo xtask sim --seed {seed} --steps {steps}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::history;

    #[test]
    fn a_failure_says_what_is_wrong_and_how_to_see_it_again() {
        let world = history::busy(100);
        let failure = Failure {
            seed: 7,
            steps: 101,
            wrong: Wrong::new("all is well", "it is not"),
            entries: world.log.copy(),
            recent: world.recent.into(),
        };
        let text = failure.to_string();
        for part in [
            "all is well:\n  it is not",
            "workspace_created {",
            "cargo xtask sim --seed 7 --steps 101",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(failure.recent.len(), 20);
    }
}
