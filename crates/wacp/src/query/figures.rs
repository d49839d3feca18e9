//! Figures: how many entries of each kind, how much in sum, how many in each
//! span of time. How many there are at all is counted by counting.

use std::collections::BTreeMap;

use trail::Micros;

use super::{Fold, Reader, Visible, body, field};
use crate::state::Run;

/// What entries are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    Workspace,
    Actor,
    EventType,
}

/// How many entries there are of each.
#[derive(Clone, Debug)]
pub struct Groups<'a> {
    run: &'a Run,
    by: GroupBy,
    pub counts: BTreeMap<String, u64>,
}

impl<'a> Groups<'a> {
    pub fn new(reader: &Reader<'a>, by: GroupBy) -> Groups<'a> {
        Groups {
            run: reader.run,
            by,
            counts: BTreeMap::new(),
        }
    }
}

impl Fold for Groups<'_> {
    fn push(&mut self, entry: Visible<'_>) {
        let key = match self.by {
            GroupBy::Workspace => entry
                .workspace
                .map_or("system".to_owned(), |id| id.to_string()),
            GroupBy::Actor => self.run.actor_name(entry.actor).to_owned(),
            GroupBy::EventType => entry.event.event_type().to_owned(),
        };
        *self.counts.entry(key).or_default() += 1;
    }
}

/// The sum of a numeric field of the body, where it is there.
#[derive(Clone, Debug)]
pub struct Sum<'a> {
    path: &'a str,
    pub total: u64,
}

impl<'a> Sum<'a> {
    pub fn of(path: &'a str) -> Sum<'a> {
        Sum { path, total: 0 }
    }
}

impl Fold for Sum<'_> {
    fn push(&mut self, entry: Visible<'_>) {
        let body = body(&entry.event);
        let amount = field(&body, self.path).and_then(|value| value.as_u64());
        self.total = self.total.saturating_add(amount.unwrap_or(0));
    }
}

/// How many entries fall into each span of time, by the beginning of the span.
#[derive(Clone, Debug)]
pub struct Timeline {
    span_us: i64,
    pub counts: BTreeMap<Micros, u64>,
}

impl Timeline {
    pub fn every(span_us: u64) -> Timeline {
        Timeline {
            span_us: i64::try_from(span_us.max(1)).unwrap_or(i64::MAX),
            counts: BTreeMap::new(),
        }
    }
}

impl Fold for Timeline {
    fn push(&mut self, entry: Visible<'_>) {
        let begin = entry.time.0.div_euclid(self.span_us) * self.span_us;
        *self.counts.entry(Micros(begin)).or_default() += 1;
    }
}
