//! What happened how often: the proof that a play met every rule.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use wacp::{Entry, Event, Refusal};

use crate::orders;

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub steps: u64,
    pub runs: u64,
    pub entries: u64,
    /// Accepted and refused, of each kind of command.
    pub commands: BTreeMap<&'static str, (u64, u64)>,
    pub events: BTreeMap<&'static str, u64>,
    pub refusals: BTreeMap<&'static str, u64>,
    pub faults: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub fn decided(&mut self, command: &'static str, refusal: Option<Refusal>) {
        self.steps += 1;
        let (accepted, refused) = self.commands.entry(command).or_default();
        match refusal {
            None => *accepted += 1,
            Some(refusal) => {
                *refused += 1;
                *self.refusals.entry(refusal.code()).or_default() += 1;
            }
        }
    }

    pub fn recorded(&mut self, entries: &[Entry]) {
        self.entries += entries.len() as u64;
        for entry in entries {
            *self.events.entry(entry.event.event_type()).or_default() += 1;
            // What was accepted first and then refused at its gate.
            let at_gate = match &entry.event {
                Event::EnvelopeRejected(e) => e.envelope.map(|_| e.reason),
                Event::WorkspaceRejected(e) => Some(e.reason),
                _ => None,
            };
            let rejected = [
                Refusal::GateRejectedByHuman,
                Refusal::GateRejectedByFallback,
            ];
            if let Some(refusal) = at_gate.filter(|refusal| rejected.contains(refusal)) {
                *self.refusals.entry(refusal.code()).or_default() += 1;
            }
        }
    }

    pub fn fault(&mut self, name: &'static str) {
        *self.faults.entry(name).or_default() += 1;
    }

    pub fn add(&mut self, other: &Tally) {
        self.steps += other.steps;
        self.runs += other.runs;
        self.entries += other.entries;
        for (name, (accepted, refused)) in &other.commands {
            let sum = self.commands.entry(name).or_default();
            *sum = (sum.0 + accepted, sum.1 + refused);
        }
        let maps = [
            (&mut self.events, &other.events),
            (&mut self.refusals, &other.refusals),
            (&mut self.faults, &other.faults),
        ];
        for (sums, counts) in maps {
            for (name, count) in counts {
                *sums.entry(name).or_default() += count;
            }
        }
    }

    pub fn accepted_percent(&self) -> u64 {
        let accepted: u64 = self.commands.values().map(|(accepted, _)| accepted).sum();
        accepted * 100 / self.steps.max(1)
    }

    /// Event types that never occurred, and kinds of command that never were
    /// accepted, or never refused where they can be.
    pub fn gaps(&self) -> Vec<String> {
        let events = Event::TYPES
            .iter()
            .filter(|n| !self.events.contains_key(*n));
        let mut gaps: Vec<String> = events.map(|name| format!("no {name}")).collect();
        for kind in orders::kinds() {
            let (accepted, refused) = self.commands.get(kind.name).copied().unwrap_or_default();
            if accepted == 0 {
                gaps.push(format!("no {} was accepted", kind.name));
            }
            if refused == 0 {
                gaps.push(format!("no {} was refused", kind.name));
            }
        }
        gaps
    }

    /// Reasons for a refusal that nobody has met.
    pub fn unseen_refusals(&self) -> BTreeSet<&'static str> {
        let all = Refusal::CODES.iter().copied();
        all.filter(|code| !self.refusals.contains_key(code))
            .collect()
    }

    /// Everything, to be read.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut line = |args: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{args}");
        };
        line(format_args!(
            "{:<32}{:>12}{:>12}",
            "command", "accepted", "refused"
        ));
        for (name, (accepted, refused)) in &self.commands {
            line(format_args!("{name:<32}{accepted:>12}{refused:>12}"));
        }
        for (title, counts) in [
            ("event", &self.events),
            ("refusal", &self.refusals),
            ("fault", &self.faults),
        ] {
            line(format_args!("\n{title:<32}{:>12}", "count"));
            for (name, count) in counts {
                line(format_args!("{name:<32}{count:>12}"));
            }
        }
        line(format_args!(
            "\n{} steps in {} runs, {} entries, {} % of the orders accepted",
            self.steps,
            self.runs,
            self.entries,
            self.accepted_percent()
        ));
        let unseen: Vec<&str> = self.unseen_refusals().into_iter().collect();
        line(format_args!("refusals never seen: {}", unseen.join(" ")));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_tally_has_a_gap_for_everything() {
        let gaps = Tally::default().gaps();
        assert_eq!(gaps.len(), 72 + 2 * orders::kinds().count());
    }

    #[test]
    fn sums_add_up() {
        let mut one = Tally::default();
        one.decided("tick", None);
        one.decided("tick", Some(Refusal::NothingDue));
        one.fault("crash");
        let mut sum = one.clone();
        sum.add(&one);
        assert_eq!(sum.commands["tick"], (2, 2));
        assert_eq!((sum.refusals["nothing_due"], sum.faults["crash"]), (2, 2));
        assert_eq!((sum.steps, sum.accepted_percent()), (4, 50));
        assert!(!sum.unseen_refusals().contains("nothing_due"));
    }
}
