//! Two runs side by side: the same plan under another configuration, say.

use std::collections::BTreeMap;

use trail::Micros;

use super::Overview;
use crate::{
    event::{Entry, Event},
    id::WorkspaceId,
    query::{Fold, Reader, Visible, body},
    workspace::{
        budget::{Dimension, Usage},
        lifecycle::State,
    },
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Entries of each type: in the first, in the second.
    pub event_types: BTreeMap<&'static str, (u64, u64)>,
    pub duration_us: (u64, u64),
    pub workspaces: (BTreeMap<State, u32>, BTreeMap<State, u32>),
    pub tokens: (u64, u64),
    /// The first position at which the two differ in what happened, if any.
    pub parted_at: Option<u64>,
}

/// Reads both at once, entry by entry.
pub fn compare<'e, 'o>(
    (first, entries): (Reader<'_>, impl IntoIterator<Item = Visible<'e>>),
    (second, others): (Reader<'_>, impl IntoIterator<Item = Visible<'o>>),
) -> Comparison {
    let (mut entries, mut others) = (entries.into_iter(), others.into_iter());
    let (mut a, mut b) = (Side::default(), Side::default());
    let mut parted_at = None;
    for at in 0.. {
        let pair = (entries.next(), others.next());
        let same = match pair {
            (None, None) => break,
            (Some(one), Some(other)) => is_same(&one, &other),
            _ => false,
        };
        parted_at = parted_at.or((!same).then_some(at));
        pair.0.into_iter().for_each(|entry| a.push(entry));
        pair.1.into_iter().for_each(|entry| b.push(entry));
    }
    let mut event_types: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    for (name, count) in &a.event_types {
        event_types.entry(name).or_default().0 = *count;
    }
    for (name, count) in &b.event_types {
        event_types.entry(name).or_default().1 = *count;
    }
    let workspaces = |reader: &Reader<'_>| Overview::of(reader).workspaces;
    Comparison {
        event_types,
        duration_us: (a.duration_us(), b.duration_us()),
        workspaces: (workspaces(&first), workspaces(&second)),
        tokens: (a.tokens(), b.tokens()),
        parted_at,
    }
}

/// What tells when something happened or how long it took, and what is new each
/// time by intent; nothing of it is what happened.
const CIRCUMSTANCES: [&str; 7] = [
    "downtime_us",
    "duration_us",
    "elapsed_us",
    "next_at",
    "proof",
    "silent_us",
    "timeout_at",
];

fn is_same(a: &Entry, b: &Entry) -> bool {
    let essence = |entry: &Entry| {
        let mut body = body(&entry.event);
        if let serde_json::Value::Object(fields) = &mut body {
            fields.retain(|name, _| !CIRCUMSTANCES.contains(&name.as_str()));
        }
        body
    };
    let alike = || a.event.event_type() == b.event.event_type() && essence(a) == essence(b);
    a.workspace == b.workspace && (a.event == b.event || alike())
}

/// What is counted of one of the two.
#[derive(Default)]
struct Side {
    event_types: BTreeMap<&'static str, u64>,
    began: Option<Micros>,
    last: Option<Micros>,
    /// By workspace: what was measured, and what its agent reported.
    used: BTreeMap<WorkspaceId, (u64, u64)>,
}

impl Side {
    fn duration_us(&self) -> u64 {
        match (self.began, self.last) {
            (Some(began), Some(last)) => u64::try_from(last.0 - began.0).unwrap_or(0),
            _ => 0,
        }
    }

    /// Of each workspace what was measured, or what its agent reported if that
    /// is more or all there is.
    fn tokens(&self) -> u64 {
        let used = self.used.values();
        let most = used.map(|(measured, reported)| *measured.max(reported));
        most.fold(0, u64::saturating_add)
    }

    fn measure(&mut self, id: WorkspaceId, total: u64, more: u64) {
        let (measured, reported) = self.used.entry(id).or_default();
        *measured = total.max(*measured);
        *reported = reported.saturating_add(more);
    }
}

impl Fold for Side {
    fn push(&mut self, entry: Visible<'_>) {
        *self
            .event_types
            .entry(entry.event.event_type())
            .or_default() += 1;
        self.began = self.began.or(Some(entry.time));
        self.last = Some(entry.time);
        let total = |usage: &Option<Usage>| usage.map_or(0, |usage| usage.tokens);
        match &entry.event {
            Event::CheckpointCreated(e) => {
                self.measure(e.workspace, total(&e.consumed), total(&e.resource_usage));
            }
            Event::WorkspaceStateChanged(e) => self.measure(e.workspace, total(&e.consumed), 0),
            Event::BudgetWarning(e) if e.dimension == Dimension::Tokens => {
                self.measure(e.source, e.source_consumed, 0);
            }
            _ => {}
        }
    }
}
