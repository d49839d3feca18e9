//! Whether the deadlines are those the file says.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Player;
use crate::{
    Outcome, broken,
    expect::has,
    file::{Then, duration},
};

impl Player {
    pub(super) fn check_time(&self, then: &Then) -> Outcome<()> {
        // Most orders say nothing of it, and many deadlines may stand.
        if then.due.is_empty() && then.not_due.is_empty() && then.next_due.is_none() {
            return Ok(());
        }
        let standing: Vec<BTreeMap<String, Value>> = self
            .run
            .deadlines
            .iter()
            .map(|(at, what)| {
                let in_us = rounded(at.0 - self.now.0);
                let mut deadline = BTreeMap::from([("in_us".to_owned(), json!(in_us))]);
                if let Some((kind, of)) = json!(what).as_object().and_then(|o| o.iter().next()) {
                    deadline.insert("what".into(), json!(kind));
                    deadline.insert("of".into(), of.clone());
                }
                deadline
            })
            .collect();
        for (patterns, wanted) in [(&then.due, true), (&then.not_due, false)] {
            for pattern in patterns {
                let found = standing.iter().any(|deadline| {
                    pattern
                        .iter()
                        .all(|(key, value)| has(key, value, &json!(deadline), &self.names, 0))
                });
                if found != wanted {
                    return broken(format!(
                        "due {wanted}: {}; standing: {}",
                        Value::Object(pattern.clone()),
                        json!(standing)
                    ));
                }
            }
        }
        if let Some(expected) = &then.next_due {
            let next = self
                .run
                .next_deadline()
                .map(|at| rounded(at.0 - self.now.0) as u64);
            if next != duration(expected) || (expected != "none" && next.is_none()) {
                return broken(format!("the next thing is due in {next:?} µs"));
            }
        }
        Ok(())
    }
}

/// To the millisecond: entries of one moment lie microseconds apart.
fn rounded(us: i64) -> i64 {
    us / 1_000 * 1_000
}
