//! Questions to the trail: filters, counts, sums, timelines, five views, the
//! comparison of two runs, and what a workspace held (WACP §4.5, §9.4).
//!
//! Entries are looked at one by one, in the order of the run, so that a trail
//! of any length is read in chunks. A [`Reader`] says which of them are seen; a
//! [`Fold`] learns from what is seen. Nothing here ever changes a run, at any
//! time, also while it goes on.

use std::ops::Deref;

use serde_json::Value;
use trail::Micros;

use crate::{
    event::{Actor, Entry, Event},
    id::{Party, TaskId, WorkspaceId},
    role::Role,
    state::{Run, Slot},
};

pub mod access;
pub mod figures;
pub mod past;
pub mod views;

use access::Scope;

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
    pub task: Option<TaskId>,
    /// Fields of the body, by path (`payload.bytes`), and what they must be.
    pub fields: Vec<(String, Value)>,
}

impl Filter {
    fn matches(&self, run: &Run, entry: &Entry) -> bool {
        self.workspace.is_none_or(|id| entry.workspace == Some(id))
            && self.actor.is_none_or(|actor| entry.actor == actor)
            && self
                .event_type
                .is_none_or(|name| entry.event.event_type() == name)
            && self.from.is_none_or(|from| entry.time >= from)
            && self.until.is_none_or(|until| entry.time < until)
            && self.matches_workspace(run, entry)
            && self.matches_fields(&entry.event)
    }

    /// Owner, originator, role and task speak of whole workspaces: every entry
    /// of a matching one is an answer.
    fn matches_workspace(&self, run: &Run, entry: &Entry) -> bool {
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
        self.owner
            .is_none_or(|owner| run.owner_at(id, entry.time) == Some(owner))
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

/// The body of an event as JSON.
pub fn body(event: &Event) -> Value {
    serde_json::from_slice(&event.facts()).unwrap_or_default()
}

fn field<'a>(body: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(body, |value, name| value.get(name))
}

/// Someone who reads a run, and how far they see.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    run: &'a Run,
    scope: &'a Scope,
}

impl<'a> Reader<'a> {
    pub fn new(run: &'a Run, scope: &'a Scope) -> Reader<'a> {
        Reader { run, scope }
    }

    /// The entry, if the reader may see it.
    pub fn see<'e>(&self, entry: &'e Entry) -> Option<Visible<'e>> {
        self.contains(entry.workspace).then_some(Visible(entry))
    }

    /// The entry, if the reader may see it and it matches.
    pub fn find<'e>(&self, filter: &Filter, entry: &'e Entry) -> Option<Visible<'e>> {
        self.see(entry)
            .filter(|entry| filter.matches(self.run, entry))
    }

    /// Those of the entries that the reader may see and that match.
    pub fn select<'e>(
        self,
        filter: &'a Filter,
        entries: impl IntoIterator<Item = &'e Entry, IntoIter: 'a>,
    ) -> impl Iterator<Item = Visible<'e>> + 'a
    where
        'e: 'a,
    {
        let entries = entries.into_iter();
        entries.filter_map(move |entry| self.find(filter, entry))
    }

    /// Those of the entries that the reader may see.
    pub fn read<'e>(
        self,
        entries: impl IntoIterator<Item = &'e Entry, IntoIter: 'a>,
    ) -> impl Iterator<Item = Visible<'e>> + 'a
    where
        'e: 'a,
    {
        entries.into_iter().filter_map(move |entry| self.see(entry))
    }

    fn contains(&self, workspace: Option<WorkspaceId>) -> bool {
        self.scope.contains(self.run, workspace)
    }
}

/// An entry that its reader may see: only a [`Reader`] makes one, and views and
/// figures are made of nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Visible<'e>(&'e Entry);

impl<'e> Visible<'e> {
    pub fn entry(self) -> &'e Entry {
        self.0
    }
}

impl Deref for Visible<'_> {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        self.0
    }
}

/// Something that is learnt from entries, one by one and in their order.
pub trait Fold: Sized {
    fn push(&mut self, entry: Visible<'_>);

    /// The same, of many at once.
    fn over<'e>(mut self, entries: impl IntoIterator<Item = Visible<'e>>) -> Self {
        for entry in entries {
            self.push(entry);
        }
        self
    }
}
