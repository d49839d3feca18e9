//! How often what happened in a play.

use std::{collections::BTreeMap, fmt};

use engine::{
    Command, Refusal, Reply,
    command::{Inbox, Wake},
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub steps: u64,
    pub turns: u64,
    /// By what was asked or done, and what came of it.
    by_name: BTreeMap<(&'static str, &'static str), u64>,
}

impl Counts {
    pub fn add(&mut self, what: &'static str, outcome: &'static str) {
        *self.by_name.entry((what, outcome)).or_default() += 1;
    }

    /// A fault is a step.
    pub fn fault(&mut self, name: &'static str) {
        self.steps += 1;
        self.add("fault", name);
    }

    /// A command is a step. `None` if nobody was told what came of it.
    pub fn command(&mut self, command: &Command, told: &Option<Result<Reply, Refusal>>) {
        self.steps += 1;
        let outcome = match told {
            None => "nobody was told",
            Some(Ok(Reply::Repeated { .. })) => "repeated",
            Some(Ok(Reply::Held { .. })) => "held",
            Some(Ok(_)) => "done",
            Some(Err(refusal)) => code(refusal),
        };
        self.add(name(command), outcome);
    }

    pub fn sum(&mut self, other: &Counts) {
        self.steps += other.steps;
        self.turns += other.turns;
        for (name, count) in &other.by_name {
            *self.by_name.entry(*name).or_default() += count;
        }
    }

    /// Everything that happened.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let names = self.by_name.keys();
        names.map(|(what, outcome)| format!("{what}: {outcome}"))
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in self.names().zip(self.by_name.values()) {
            writeln!(f, "{count:>10}  {name}")?;
        }
        write!(f, "{} steps in {} turns", self.steps, self.turns)
    }
}

fn name(command: &Command) -> &'static str {
    match command {
        Command::Wake(Wake::Deliver(_)) => "deliver",
        Command::Inbox(Inbox::Respond { .. }) => "respond",
        Command::Inbox(Inbox::Undo { .. }) => "undo",
        Command::Inbox(Inbox::See { .. }) => "see",
        Command::Inbox(Inbox::Snooze { .. }) => "snooze",
        Command::Wake(Wake::RecordAttempt(_)) => "attempt",
        Command::Wake(Wake::ReplayCallback { .. }) => "replay",
        Command::Wake(Wake::EraseNow { .. }) => "erase",
        _ => "administer",
    }
}

fn code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Wake(fault) => fault.code(),
        Refusal::Inbox(rejection) => rejection.code(),
        Refusal::Account(rejection) => rejection.code(),
        Refusal::KeyGone => "key_gone",
        Refusal::PersonGone => "person_gone",
        Refusal::RateLimited { .. } => "rate_limited",
        Refusal::IdempotencyMismatch => "idempotency_mismatch",
        Refusal::NotFound => "not_found",
        Refusal::Unavailable => "unavailable",
        Refusal::Busy => "busy",
        Refusal::Stopping => "stopping",
    }
}
