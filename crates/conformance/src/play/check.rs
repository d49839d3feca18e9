//! Whether what happened, and what the world was told, is what the file says.

use serde_json::{Value, json};
use wacp::{Entry, Event};

use super::{Mark, Player, closed::check_closed};
use crate::{
    Outcome, broken,
    expect::{facts, has, is_like},
    file::{Table, Then},
    words,
};

impl Player {
    pub(super) fn check(&self, then: &Then, mark: Mark) -> Outcome<()> {
        let entries = self.entries.get(mark.entries..).unwrap_or_default();
        if then.refused.is_some() && self.refused != then.refused {
            return broken(format!(
                "expected the refusal {:?}, got {:?}",
                then.refused.as_deref().unwrap_or_default(),
                self.refused.as_deref().unwrap_or("none")
            ));
        }
        words::check(then, &self.names)?;
        self.check_events(then, entries)?;
        self.check_told(then, mark)?;
        self.check_state(then)?;
        self.check_time(then)?;
        self.check_trail(then)?;
        self.check_queries(then)?;
        self.check_comparison(then)?;
        check_closed(then)?;
        self.check_rebuilt(then)
    }

    fn check_events(&self, then: &Then, entries: &[Entry]) -> Outcome<()> {
        let mut rest = entries.iter();
        for pattern in &then.events {
            let mut found = false;
            for entry in rest.by_ref() {
                if is_like(pattern, entry, &self.run, &self.names)? {
                    found = true;
                    break;
                }
            }
            if !found {
                return broken(format!(
                    "missing {}\nhappened:\n{}",
                    Value::Object(pattern.clone()),
                    self.happened(entries)
                ));
            }
        }
        if let Some(only) = &then.only {
            let types: Vec<_> = entries.iter().map(|e| e.event.event_type()).collect();
            if types != *only {
                return broken(format!("expected only {only:?}, got {types:?}"));
            }
        }
        for pattern in &then.never {
            for entry in entries {
                if is_like(pattern, entry, &self.run, &self.names)? {
                    return broken(format!(
                        "must not happen: {}",
                        Value::Object(pattern.clone())
                    ));
                }
            }
        }
        for (kind, count) in &then.count {
            if !Event::TYPES.contains(&kind.as_str()) {
                return broken(format!("no event is called `{kind}`"));
            }
            let of_kind = entries.iter().filter(|e| e.event.event_type() == kind);
            let happened = of_kind.count();
            if happened != *count {
                return broken(format!("{kind} happened {happened} times, not {count}"));
            }
        }
        Ok(())
    }

    fn check_told(&self, then: &Then, mark: Mark) -> Outcome<()> {
        let told = self.told.get(mark.told..).unwrap_or_default();
        let told: Vec<Value> = told.iter().map(|(_, effect)| json!(effect)).collect();
        if let Some(other) = told.iter().find(|effect| !words::is_effect(effect)) {
            return broken(format!("no list has the effect {other}"));
        }
        let is_told = |pattern: &Table, effect: &Value| {
            pattern
                .iter()
                .all(|(key, expected)| has(key, expected, effect, &self.names, self.now.0))
        };
        let mut rest = told.iter();
        for pattern in &then.tells {
            if !rest.by_ref().any(|effect| is_told(pattern, effect)) {
                return broken(format!(
                    "nobody is told {}; told: {}",
                    Value::Object(pattern.clone()),
                    json!(told)
                ));
            }
        }
        for pattern in &then.never_tells {
            if told.iter().any(|effect| is_told(pattern, effect)) {
                return broken(format!(
                    "must not be told: {}",
                    Value::Object(pattern.clone())
                ));
            }
        }
        Ok(())
    }

    fn happened(&self, entries: &[Entry]) -> String {
        let lines = entries.iter().map(|entry| {
            let (actor, kind) = (self.run.actor_name(entry.actor), entry.event.event_type());
            format!("  {kind} by {actor} {}", facts(&entry.event))
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
