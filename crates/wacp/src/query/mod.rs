//! Questions to the trail: filters, counts, sums, timelines, five views, and
//! the comparison of two runs (WACP §4.5, §9.4).
//!
//! A query reads entries and the state they lead to, at any time, also while
//! the run goes on. It never changes anything.

use std::collections::BTreeMap;

use serde_json::Value;
use trail::Micros;

use crate::{
    event::{Actor, Entry, Event},
    id::{Party, WorkspaceId},
    role::Role,
    state::{Run, Slot},
};

pub mod access;
pub mod views;

/// Conditions that must all hold; what is not set does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub workspace: Option<WorkspaceId>,
    pub actor: Option<Actor>,
    pub event_type: Option<&'static str>,
    /// From this moment on.
    pub from: Option<Micros>,
    /// Before this moment.
    pub until: Option<Micros>,
    /// Everything this party answered for when it happened: a transfer does
    /// not rewrite what was before it (WACP §4.8).
    pub owner: Option<Party>,
    /// Everything this party caused.
    pub originator: Option<Party>,
    pub role: Option<Role>,
    pub task: Option<crate::id::TaskId>,
    /// Fields of the body, by path (`payload.bytes`), and what they must be.
    pub fields: Vec<(String, Value)>,
}

impl Filter {
    fn matches(&self, run: &Run, owners: &FormerOwners, entry: &Entry) -> bool {
        self.workspace.is_none_or(|id| entry.workspace == Some(id))
            && self.actor.is_none_or(|actor| entry.actor == actor)
            && self
                .event_type
                .is_none_or(|name| entry.event.event_type() == name)
            && self.from.is_none_or(|from| entry.time >= from)
            && self.until.is_none_or(|until| entry.time < until)
            && self.matches_workspace(run, owners, entry)
            && self.matches_fields(&entry.event)
    }

    /// Owner, originator, role and task speak of whole workspaces: every entry
    /// of a matching one is an answer.
    fn matches_workspace(&self, run: &Run, owners: &FormerOwners, entry: &Entry) -> bool {
        let wanted = self.owner.is_some()
            || self.originator.is_some()
            || self.role.is_some()
            || self.task.is_some();
        if !wanted {
            return true;
        }
        let Some(id) = entry.workspace else {
            return false;
        };
        let Some(slot) = run.workspace(id) else {
            return false;
        };
        let then = || owners.at(id, entry.time).unwrap_or(slot.owner());
        self.owner.is_none_or(|owner| then() == owner)
            && self
                .originator
                .is_none_or(|originator| slot.originator() == originator)
            && self.role.is_none_or(|role| slot.role() == role)
            && self.task.is_none_or(|task| Slot::task(slot) == Some(task))
    }

    fn matches_fields(&self, event: &Event) -> bool {
        if self.fields.is_empty() {
            return true;
        }
        let body = body(event);
        self.fields
            .iter()
            .all(|(path, wanted)| field(&body, path) == Some(wanted))
    }
}

/// Who owned a workspace before each of its transfers, read off the trail: the
/// state knows only who owns it now.
#[derive(Default)]
struct FormerOwners(BTreeMap<WorkspaceId, Vec<(Micros, Party)>>);

impl FormerOwners {
    fn of(entries: &[Entry]) -> FormerOwners {
        let mut owners = FormerOwners::default();
        for entry in entries {
            if let Event::WorkspaceOwnershipTransferred(e) = &entry.event {
                let transfers = owners.0.entry(e.workspace).or_default();
                transfers.push((entry.time, e.from_user));
            }
        }
        owners
    }

    /// The owner at that moment, unless it is still the owner.
    fn at(&self, id: WorkspaceId, time: Micros) -> Option<Party> {
        let transfers = self.0.get(&id)?;
        let later = transfers.iter().find(|(at, _)| *at > time)?;
        Some(later.1)
    }
}

/// The body of an event as JSON.
pub fn body(event: &Event) -> Value {
    serde_json::from_slice(&event.facts()).unwrap_or_default()
}

fn field<'a>(body: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(body, |value, name| value.get(name))
}

/// The entries that match and that the reader may see, in order. `entries` is
/// the run's trail.
pub fn select<'a>(
    run: &'a Run,
    entries: &'a [Entry],
    filter: &'a Filter,
    scope: &'a access::Scope,
) -> impl Iterator<Item = &'a Entry> + 'a {
    let owners = match filter.owner {
        Some(_) => FormerOwners::of(entries),
        None => FormerOwners::default(),
    };
    entries.iter().filter(move |entry| {
        scope.contains(run, entry.workspace) && filter.matches(run, &owners, entry)
    })
}

/// What one reader may see of a run. The views are made of nothing else.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    run: &'a Run,
    scope: &'a access::Scope,
    entries: Vec<&'a Entry>,
}

impl<'a> Reading<'a> {
    /// `entries` is the run's trail.
    pub fn new(run: &'a Run, entries: &'a [Entry], scope: &'a access::Scope) -> Reading<'a> {
        let seen = |entry: &&Entry| scope.contains(run, entry.workspace);
        Reading {
            run,
            scope,
            entries: entries.iter().filter(seen).collect(),
        }
    }

    pub fn entries(&self) -> impl Iterator<Item = &'a Entry> + '_ {
        self.entries.iter().copied()
    }

    fn contains(&self, workspace: Option<WorkspaceId>) -> bool {
        self.scope.contains(self.run, workspace)
    }
}

/// What entries are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    Workspace,
    Actor,
    EventType,
}

/// How many entries there are of each.
pub fn group<'a>(
    run: &Run,
    entries: impl IntoIterator<Item = &'a Entry>,
    by: GroupBy,
) -> BTreeMap<String, u64> {
    let mut groups = BTreeMap::new();
    for entry in entries {
        let key = match by {
            GroupBy::Workspace => entry
                .workspace
                .map_or("system".to_owned(), |id| id.to_string()),
            GroupBy::Actor => run.actor_name(entry.actor).to_owned(),
            GroupBy::EventType => entry.event.event_type().to_owned(),
        };
        *groups.entry(key).or_default() += 1;
    }
    groups
}

/// The sum of a numeric field of the body, where it is there.
pub fn sum<'a>(entries: impl IntoIterator<Item = &'a Entry>, path: &str) -> u64 {
    entries
        .into_iter()
        .filter_map(|entry| field(&body(&entry.event), path)?.as_u64())
        .fold(0, u64::saturating_add)
}

/// How many entries fall into each span of time, by the beginning of the span.
pub fn timeline<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    span_us: u64,
) -> BTreeMap<Micros, u64> {
    let span = i64::try_from(span_us.max(1)).unwrap_or(i64::MAX);
    let mut spans = BTreeMap::new();
    for entry in entries {
        let begin = entry.time.0.div_euclid(span) * span;
        *spans.entry(Micros(begin)).or_default() += 1;
    }
    spans
}
