//! A play that went wrong, told so that it can be repeated.

use std::fmt;

use super::broken::Rule;

#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub steps: u64,
    pub sentence: String,
    pub broken: Option<Rule>,
    /// The last turns.
    pub recent: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the last turns before it:")?;
        for turn in &self.recent {
            write!(f, "  {turn}")?;
        }
        writeln!(f, "it went wrong:\n  {}", self.sentence)?;
        let (seed, steps) = (self.seed, self.steps);
        write!(
            f,
            "repeat it with:\n  cargo xtask sim --engine --seed {seed} --steps {steps}"
        )?;
        match self.broken {
            Some(rule) => write!(f, " --break {}", rule.as_str()),
            None => Ok(()),
        }
    }
}
