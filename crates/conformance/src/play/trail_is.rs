//! Whether the trail is as a trail must be: ordered, whole, of known events.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use wacp::{
    Entry, Event, Run, apply,
    compaction::is_essential,
    id::WorkspaceId,
    query::{Filter, Reader, access::Scope},
};

use super::{MADE, Player, crash::reread, identifiers};
use crate::{
    Outcome, broken,
    expect::{facts, is_like},
    file::{Table, Then},
};

impl Player {
    pub(super) fn check_trail(&self, then: &Then) -> Outcome<()> {
        let later = |pair: &[Entry]| matches!(pair, [a, b] if a.time < b.time);
        if then.ordered && !self.entries.windows(2).all(later) {
            return broken("two entries are not in the order of their times");
        }
        if then.replays {
            self.check_replay()?;
        }
        if then.headers {
            self.check_headers()?;
        }
        if then.projects {
            self.check_projection()?;
        }
        if then.unique {
            for (kind, _) in MADE {
                let given = identifiers(&self.entries, kind)?;
                if given.iter().collect::<BTreeSet<_>>().len() < given.len() {
                    return broken(format!("a {kind} has the identifier of another"));
                }
            }
        }
        check_registry(then)?;
        self.check_tiers(&then.stays, true)?;
        self.check_tiers(&then.moves, false)
    }

    pub(super) fn check_replay(&self) -> Outcome<()> {
        let mut replayed = Run::default();
        for entry in &self.entries {
            // Through its spelling, as a trail would keep it.
            apply(&mut replayed, &reread(entry.clone())?);
        }
        if replayed == self.run {
            Ok(())
        } else {
            broken("replaying the entries gives another state")
        }
    }

    /// Every entry says when, who, where and what, and reads back as itself.
    fn check_headers(&self) -> Outcome<()> {
        for (at, entry) in self.entries.iter().enumerate() {
            let kind = entry.event.event_type();
            let place = entry
                .workspace
                .is_none_or(|id| self.run.workspace(id).is_some());
            let sound = entry.time.0 >= super::BEGINS
                && self.run.actor_name(entry.actor) != "?"
                && place
                && Event::TYPES.contains(&kind)
                && facts(&entry.event).is_object();
            if !sound || reread(entry.clone())? != *entry {
                return broken(format!("the header of entry {at}, {kind}, is not whole"));
            }
        }
        Ok(())
    }

    /// The local trails and the system's own entries are the global trail.
    fn check_projection(&self) -> Outcome<()> {
        let mut found = 0;
        for number in 0..self.run.workspaces.len() {
            let id = WorkspaceId(number as u32);
            let filter = Filter {
                workspace: Some(id),
                ..Filter::default()
            };
            let all = Reader::new(&self.run, &Scope::All);
            let local = all.select(&filter, &self.entries);
            let own = self
                .entries
                .iter()
                .filter(|entry| entry.workspace == Some(id));
            let local: Vec<_> = local.map(|entry| entry.entry()).collect();
            if local != own.collect::<Vec<_>>() {
                return broken(format!("the local trail of {id} is not part of the global"));
            }
            found += local.len();
        }
        let system = self
            .entries
            .iter()
            .filter(|entry| entry.workspace.is_none());
        if found + system.count() == self.entries.len() {
            Ok(())
        } else {
            broken("the local trails are not the global one")
        }
    }

    /// Entries that must stay at hand, or may move to the archive.
    fn check_tiers(&self, patterns: &[Table], stays: bool) -> Outcome<()> {
        for pattern in patterns {
            let mut found = false;
            for entry in &self.entries {
                if is_like(pattern, entry, &self.run, &self.names)? {
                    found = true;
                    if is_essential(&entry.event) != stays {
                        return broken(format!(
                            "stays at hand: {}: {}",
                            !stays,
                            Value::Object(pattern.clone())
                        ));
                    }
                }
            }
            if !found {
                return broken(format!("missing {}", Value::Object(pattern.clone())));
            }
        }
        Ok(())
    }
}

/// The registry holds exactly what is named, and nothing else is read.
fn check_registry(then: &Then) -> Outcome<()> {
    if let Some(families) = &then.registry {
        let mut named = BTreeMap::new();
        for (family, types) in families {
            for kind in types {
                if let Some(other) = named.insert(kind.as_str(), family) {
                    return broken(format!("{kind} is named in {other} and {family}"));
                }
            }
        }
        let known: BTreeSet<_> = Event::TYPES.iter().copied().collect();
        let named: BTreeSet<_> = named.into_keys().collect();
        if named != known {
            let differ: Vec<_> = named.symmetric_difference(&known).collect();
            return broken(format!("the registry differs in {differ:?}"));
        }
    }
    for table in &then.unreadable {
        let mut body = table.clone();
        let kind = body.remove("event");
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        let bytes = serde_json::to_vec(&json!(body)).unwrap_or_default();
        if Event::read(kind, &bytes).is_ok() {
            return broken(format!("{} is read", Value::Object(table.clone())));
        }
    }
    Ok(())
}
