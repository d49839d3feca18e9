//! No identifier is ever given twice (WACP §4.7).

use std::collections::BTreeMap;

use wacp::{Entry, Event};

use super::{Checker, Verdict, ensure};

#[derive(Debug, Default)]
pub struct Ids {
    /// The least number of each kind that was not given yet.
    free: BTreeMap<&'static str, u64>,
}

impl Ids {
    fn give(&mut self, kind: &'static str, id: u64, count: u64) -> Verdict {
        let free = self.free.entry(kind).or_default();
        let (least, fresh) = (*free, id >= *free);
        *free = id + count;
        ensure(fresh, || {
            format!("{kind} {id} is given, and everything below {least} was")
        })
    }
}

impl Checker for Ids {
    fn claim(&self) -> &'static str {
        "no identifier is given twice"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        match &entry.event {
            Event::WorkspaceCreated(e) => self.give("workspace", u64::from(e.workspace.0), 1),
            Event::UserCreated(e) => self.give("user", u64::from(e.user.0), 1),
            Event::EnvelopeCreated(e) => self.give("envelope", e.envelope.0, 1),
            Event::SignalEmitted(e) => self.give("signal", e.signal.0, 1),
            Event::CheckpointCreated(e) => {
                self.give("artifact", e.first_artifact.0, e.artifacts.len() as u64)?;
                self.give("checkpoint", e.checkpoint.0, 1)
            }
            Event::TaskCreated(e) => self.give("task", u64::from(e.task.0), 1),
            Event::GraphCreated(e) => self.give("graph", u64::from(e.graph.0), 1),
            Event::GateTriggered(e) => self.give("gate", u64::from(e.gate.0), 1),
            Event::PortRightCreated(e) => self.give("right", e.right.0, 1),
            Event::ConflictDetected(e) => self.give("conflict", u64::from(e.conflict.0), 1),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn a_second_use_of_any_number_is_seen() {
        type Meant = fn(&Event) -> bool;
        let kinds: [Meant; 10] = [
            |e| matches!(e, Event::WorkspaceCreated(_)),
            |e| matches!(e, Event::UserCreated(_)),
            |e| matches!(e, Event::EnvelopeCreated(_)),
            |e| matches!(e, Event::SignalEmitted(_)),
            |e| matches!(e, Event::CheckpointCreated(_)),
            |e| matches!(e, Event::TaskCreated(_)),
            |e| matches!(e, Event::GraphCreated(_)),
            |e| matches!(e, Event::GateTriggered(_)),
            |e| matches!(e, Event::PortRightCreated(_)),
            |e| matches!(e, Event::ConflictDetected(_)),
        ];
        for meant in kinds {
            history::twice::<Ids>(meant);
        }
    }
}
