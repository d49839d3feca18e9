//! A crash: what was in memory is gone, and perhaps some of the trail with it.
//!
//! The run is rebuilt from the entries that are left, each through its own
//! spelling. What `recover` then does is an order like any other.

use serde::Deserialize;
use serde_json::Value;
use wacp::{
    Entry, Event, Measured,
    recovery::{self, Halt},
};

use super::Player;
use crate::{
    Outcome, Trouble, broken,
    expect::is_like,
    file::{Table, Then},
};

/// What becomes of the trail.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Crash {
    /// Everything after the last entry like this is lost.
    keeps_until: Option<Table>,
    /// The first entry like this is lost.
    loses: Option<Table>,
    /// The last entry like this stands at the end again.
    repeats: Option<Table>,
    /// How often.
    times: Option<usize>,
}

/// How rebuilding went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rebuilt {
    Whole { quarantined: usize },
    Halted(&'static str),
}

impl Player {
    pub(super) fn crash(&mut self, crash: Value) -> Outcome<()> {
        let crash: Crash = serde_json::from_value(crash)
            .map_err(|error| Trouble::Broken(format!("crash: {error}")))?;
        let mut entries = std::mem::take(&mut self.entries);
        if let Some(pattern) = &crash.keeps_until {
            let at = self.last_like(&entries, pattern)?;
            entries.truncate(at + 1);
            // The world is told of nothing that is not durable.
            self.told.retain(|(after, _)| *after <= at + 1);
        }
        if let Some(pattern) = &crash.loses {
            let at = self.first_like(&entries, pattern)?;
            entries.remove(at);
        }
        if let Some(pattern) = &crash.repeats {
            let again = entries[self.last_like(&entries, pattern)?].clone();
            entries.extend(std::iter::repeat_n(again, crash.times.unwrap_or(1)));
        }
        let entries = entries
            .into_iter()
            .map(reread)
            .collect::<Outcome<Vec<_>>>()?;
        match recovery::rebuild(&entries) {
            Ok(rebuilt) => {
                self.run = rebuilt.run;
                self.measured = Measured::default();
                self.rebuilt = Some(Rebuilt::Whole {
                    quarantined: rebuilt.quarantined.len(),
                });
                // What was set aside is no part of the run any more.
                let numbered = entries.into_iter().zip(0..);
                self.entries = numbered
                    .filter(|(_, at)| !rebuilt.quarantined.contains(at))
                    .map(|(entry, _)| entry)
                    .collect();
            }
            Err(halt) => {
                self.run = wacp::Run::default();
                self.rebuilt = Some(Rebuilt::Halted(match halt {
                    Halt::NoBeginning => "no_beginning",
                    Halt::LostCreation(_) => "lost_creation",
                    Halt::TooMuchDamage(..) => "too_much_damage",
                }));
            }
        }
        Ok(())
    }

    fn last_like(&self, entries: &[Entry], pattern: &Table) -> Outcome<usize> {
        self.places(entries, pattern)?.pop().map_or_else(
            || {
                broken(format!(
                    "no entry is like {}",
                    Value::Object(pattern.clone())
                ))
            },
            Ok,
        )
    }

    fn first_like(&self, entries: &[Entry], pattern: &Table) -> Outcome<usize> {
        self.places(entries, pattern)?.first().copied().map_or_else(
            || {
                broken(format!(
                    "no entry is like {}",
                    Value::Object(pattern.clone())
                ))
            },
            Ok,
        )
    }

    fn places(&self, entries: &[Entry], pattern: &Table) -> Outcome<Vec<usize>> {
        let mut places = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            if is_like(pattern, entry, &self.run, &self.names)? {
                places.push(at);
            }
        }
        Ok(places)
    }

    pub(super) fn check_rebuilt(&self, then: &Then) -> Outcome<()> {
        let Some(expected) = &then.rebuilt else {
            return match &self.rebuilt {
                Some(Rebuilt::Halted(why)) if !then.says_nothing() => {
                    broken(format!("rebuilding halted: {why}"))
                }
                _ => Ok(()),
            };
        };
        let fits = match &self.rebuilt {
            None => false,
            Some(Rebuilt::Whole { quarantined }) => *expected == *quarantined as u64,
            Some(Rebuilt::Halted(why)) => *expected == *why,
        };
        if fits {
            Ok(())
        } else {
            broken(format!("rebuilding gave {:?}", self.rebuilt))
        }
    }
}

/// An entry as a trail gives it back.
pub(super) fn reread(entry: Entry) -> Outcome<Entry> {
    let event = Event::read(entry.event.event_type(), &entry.event.facts())
        .map_err(|error| Trouble::Broken(format!("an entry does not read: {error}")))?;
    Ok(Entry { event, ..entry })
}
