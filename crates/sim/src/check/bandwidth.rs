//! Who has received as many bytes as it may gets nothing more: a limit is
//! passed by one envelope at most, however many arrive together (WACP §6.6).

use std::collections::BTreeMap;

use wacp::{
    Entry, Event,
    gate::{Modification, Subject},
    id::{EnvelopeId, GateId, WorkspaceId},
    workspace::budget::Dimension,
};

use super::{Checker, Verdict, View, ensure};

#[derive(Debug, Default)]
struct Inbox {
    limit: u64,
    received: u64,
}

#[derive(Debug, Default)]
pub struct Bandwidth {
    inboxes: BTreeMap<WorkspaceId, Inbox>,
    /// What was written to those, and not yet delivered.
    bytes: BTreeMap<EnvelopeId, u64>,
    /// Which of it is asked about, and may be changed.
    asked: BTreeMap<GateId, EnvelopeId>,
}

impl Inbox {
    fn is_full(&self) -> bool {
        self.received >= self.limit
    }
}

impl Checker for Bandwidth {
    fn claim(&self) -> &'static str {
        "nothing is delivered beyond a limit on bytes"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        match &entry.event {
            Event::WorkspaceCreated(e) => {
                if let Some(limit) = e.budget.bandwidth_limit {
                    self.inboxes
                        .insert(e.workspace, Inbox { limit, received: 0 });
                }
            }
            Event::BudgetModified(e) if e.dimension == Dimension::NetworkBytes => {
                if let Some(inbox) = self.inboxes.get_mut(&e.workspace) {
                    inbox.limit = e.new_limit;
                }
            }
            Event::WorkspaceStateChanged(e) if e.to_state.is_terminal() => {
                self.inboxes.remove(&e.workspace);
            }
            Event::EnvelopeCreated(e) if self.inboxes.contains_key(&e.to) => {
                self.bytes.insert(e.envelope, e.payload.bytes);
            }
            Event::GateTriggered(e) => {
                if let Subject::Envelope(envelope) = e.subject {
                    self.asked.insert(e.gate, envelope);
                }
            }
            Event::GateResolved(e) => {
                let envelope = self.asked.remove(&e.gate);
                if let (Some(envelope), Some(Modification::Payload(payload))) =
                    (envelope, &e.modification)
                    && let Some(bytes) = self.bytes.get_mut(&envelope)
                {
                    *bytes = payload.bytes;
                }
            }
            Event::EnvelopeDelivered(e) => {
                let written = self.bytes.remove(&e.envelope).unwrap_or(0);
                if let Some(inbox) = self.inboxes.get_mut(&e.to) {
                    ensure(!inbox.is_full(), || {
                        format!("{} receives {} beyond its limit", e.to, e.envelope)
                    })?;
                    inbox.received += e.payload.map_or(written, |payload| payload.bytes);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn commit(&mut self, _: &View<'_>) -> Verdict {
        let full = self.inboxes.iter().find(|(_, inbox)| inbox.is_full());
        ensure(full.is_none(), || {
            format!("{full:?} has all it may receive and goes on")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn what_arrives_after_the_limit_is_seen() {
        history::doctored::<Bandwidth>(|entries| {
            let mut received = BTreeMap::<WorkspaceId, u32>::new();
            for entry in entries.iter() {
                if let Event::EnvelopeDelivered(e) = &entry.event {
                    *received.entry(e.to).or_default() += 1;
                }
            }
            let often = |id: &WorkspaceId| received.get(id).is_some_and(|count| *count > 1);
            let created = entries.iter_mut().find_map(|entry| match &mut entry.event {
                Event::WorkspaceCreated(e) if e.parent.is_some() && often(&e.workspace) => Some(e),
                _ => None,
            });
            created
                .map(|e| e.budget.bandwidth_limit = Some(0))
                .is_some()
        });
    }

    #[test]
    fn who_goes_on_beyond_the_limit_is_seen() {
        let world = history::busy(100);
        let mut checker = Bandwidth::default();
        assert_eq!(checker.commit(&history::view(&world)), Ok(()));
        let inbox = Inbox {
            limit: 100,
            received: 120,
        };
        checker.inboxes.insert(WorkspaceId(1), inbox);
        assert!(checker.commit(&history::view(&world)).is_err());
    }
}
