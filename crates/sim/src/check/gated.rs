//! Nothing that a gate guards happens without a yes (WACP §8.1).

use std::collections::{BTreeMap, BTreeSet};

use wacp::{
    Actor, Entry, Event, Principal,
    event::{ResolvedBy, WorkspaceStateChanged},
    gate::{Answer, GateType, Proposal, Subject, config::Highway},
    id::{ConflictId, EnvelopeId, GateId, WorkspaceId},
    integration::Mode,
    task::Status,
    workspace::lifecycle::Reason,
};

use super::{Checker, Decided, Verdict, View, ensure};

/// What was said yes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Yes {
    About(GateType, Subject),
    /// To a conflict, however it is settled: a person may settle it otherwise.
    Conflict(ConflictId),
    /// To a new workspace under this one.
    Child(WorkspaceId),
}

impl Yes {
    fn to(gate_type: GateType, subject: Subject, parent: Option<WorkspaceId>) -> Option<Yes> {
        match (subject, parent) {
            (Subject::Conflict(id, _), _) => Some(Yes::Conflict(id)),
            (Subject::Proposal, parent) => parent.map(Yes::Child),
            _ => Some(Yes::About(gate_type, subject)),
        }
    }
}

#[derive(Debug, Default)]
pub struct Gated {
    highway: Option<Highway>,
    asked: BTreeMap<GateId, Option<Yes>>,
    granted: BTreeMap<Yes, u32>,
    conflicts: BTreeMap<ConflictId, WorkspaceId>,
    /// Envelopes that no gate asks about: people's and the runtime's own.
    free: BTreeSet<EnvelopeId>,
}

impl Gated {
    fn guards(&self, gate_type: GateType) -> bool {
        let highway = self.highway.as_ref();
        highway.is_some_and(|highway| highway.gate(gate_type).enabled)
    }

    fn grant(&mut self, yes: Option<Yes>) {
        if let Some(yes) = yes {
            *self.granted.entry(yes).or_default() += 1;
        }
    }

    fn take(&mut self, yes: Yes, what: impl FnOnce() -> String) -> Verdict {
        let left = self.granted.get_mut(&yes).filter(|left| **left > 0);
        match left {
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Err(format!("nobody said yes when {}", what())),
        }
    }

    fn aborted(&mut self, e: &WorkspaceStateChanged) -> Verdict {
        let by_coordinator = matches!(
            e.reason,
            Some(Reason::AbortedByCoordinator | Reason::BatchAbort | Reason::TaskCancelled)
        );
        if !by_coordinator || !self.guards(GateType::WorkspaceAbort) {
            return Ok(());
        }
        let about = Yes::About(GateType::WorkspaceAbort, Subject::Workspace(e.workspace));
        self.take(about, || format!("{} was aborted", e.workspace))
    }

    fn settled(&mut self, conflict: ConflictId, how: ResolvedBy) -> Verdict {
        let asks = match how {
            // Whoever is escalated to is asked, gate or no gate (§7.8).
            ResolvedBy::Escalate => true,
            ResolvedBy::CoordinatorResolve | ResolvedBy::AgentRework => {
                self.guards(GateType::ConflictResolution)
            }
            ResolvedBy::Timeout | ResolvedBy::Abandoned => false,
        };
        if !asks {
            return Ok(());
        }
        if how != ResolvedBy::AgentRework {
            return self.take(Yes::Conflict(conflict), || {
                format!("{conflict} was settled")
            });
        }
        // A yes to one is a yes to doing all of the work again.
        let workspace = self.conflicts.get(&conflict);
        let same = self
            .conflicts
            .iter()
            .filter(|(_, id)| Some(*id) == workspace);
        let agreed = same.map(|(id, _)| self.granted.get(&Yes::Conflict(*id)));
        let agreed = agreed.flatten().any(|count| *count > 0);
        ensure(agreed, || {
            format!("nobody said yes when {conflict} was to be reworked")
        })
    }
}

impl Checker for Gated {
    fn claim(&self) -> &'static str {
        "nothing that a gate guards happens without a yes"
    }

    /// What was handed to the coordinator is taken up by nobody else.
    fn decided(&mut self, decided: &Decided<'_>) -> Verdict {
        let coordinator = matches!(
            decided.order.principal,
            Principal::Coordinator | Principal::Agent(WorkspaceId::ROOT)
        );
        let taken_up = decided
            .entries
            .iter()
            .find(|entry| matches!(&entry.event, Event::GateReentryBlocked(e) if e.gate.is_some()));
        ensure(coordinator || taken_up.is_none(), || {
            format!("{:?} took up {taken_up:?}", decided.order.principal)
        })
    }

    /// A yes is to what follows at once; only an envelope may have to wait.
    fn commit(&mut self, _: &View<'_>) -> Verdict {
        self.granted.retain(|yes, left| {
            *left > 0 && matches!(yes, Yes::About(GateType::EnvelopeDelivery, _))
        });
        Ok(())
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        match &entry.event {
            Event::GateTriggered(e) => {
                let parent = match &e.proposal {
                    Proposal::WorkspaceCreate { new, .. } => Some(new.parent),
                    _ => None,
                };
                let yes = Yes::to(e.gate_type, e.subject, parent);
                self.asked.insert(e.gate, yes);
                Ok(())
            }
            Event::GateResolved(e) if e.action != Answer::Reject => {
                let yes = self.asked.get(&e.gate).copied().flatten();
                self.grant(yes);
                Ok(())
            }
            Event::GateReentryBlocked(e) if e.converted_to == Answer::Approve => {
                let asked = e.gate.and_then(|gate| self.asked.get(&gate).copied());
                let again = Yes::to(e.gate_type, e.subject, None);
                self.grant(asked.flatten().or(again));
                Ok(())
            }
            Event::WorkspaceCreated(e) => {
                if let Some(run) = &e.run {
                    self.highway = Some(run.highway);
                }
                // A person's own wish is the answer.
                let person = matches!(entry.actor, Actor::User(_));
                match e.parent {
                    Some(parent) if !person && self.guards(GateType::WorkspaceCreate) => self
                        .take(Yes::Child(parent), || {
                            format!("{} was created", e.workspace)
                        }),
                    _ => Ok(()),
                }
            }
            Event::TaskStatusChanged(e)
                if (e.from_status, e.to_status) == (Status::Draft, Status::Pending)
                    && self.guards(GateType::TaskApproval) =>
            {
                let about = Yes::About(GateType::TaskApproval, Subject::Task(e.task));
                self.take(about, || format!("{} was approved", e.task))
            }
            Event::EnvelopeCreated(e) => {
                if e.from.is_none() {
                    self.free.insert(e.envelope);
                }
                Ok(())
            }
            Event::EnvelopeDelivered(e) => {
                let free = self.free.remove(&e.envelope);
                if free || !self.guards(GateType::EnvelopeDelivery) {
                    return Ok(());
                }
                let about = Subject::Envelope(e.envelope);
                let about = Yes::About(GateType::EnvelopeDelivery, about);
                self.take(about, || format!("{} was delivered", e.envelope))
            }
            Event::IntegrationStarted(e) if self.guards(GateType::Integration) => {
                let subject = match e.mode {
                    Mode::Normal => Subject::Workspace(e.source),
                    Mode::Salvage => Subject::Salvage(e.source, e.target, e.checkpoint),
                };
                let about = Yes::About(GateType::Integration, subject);
                self.take(about, || format!("{} was merged", e.source))
            }
            Event::ConflictDetected(e) => {
                self.conflicts.insert(e.conflict, e.workspace);
                Ok(())
            }
            Event::ConflictResolved(e) => self.settled(e.conflict, e.strategy),
            Event::WorkspaceStateChanged(e) => self.aborted(e),
            // What follows is the coordinator's abort, only later.
            Event::GracefulTerminationInitiated(e) if self.guards(GateType::WorkspaceAbort) => {
                let subject = Subject::WindDown(e.workspace, e.grace_us);
                let about = Yes::About(GateType::WorkspaceAbort, subject);
                self.take(about, || format!("{} was to wind down", e.workspace))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use wacp::event::Reference;

    use super::{super::history, *};

    /// Whether an entry is what a yes to this subject leads to at once. What
    /// follows a yes may be about something else: the way was not free yet.
    fn is_done(subject: Subject, next: &Event) -> bool {
        match (subject, next) {
            (Subject::Task(id), Event::TaskApproved(e)) => e.task == id,
            (Subject::Proposal, Event::WorkspaceCreated(_)) => true,
            (Subject::Envelope(id), Event::EnvelopeDelivered(e)) => e.envelope == id,
            (Subject::Workspace(id), Event::SignalEmitted(e)) => {
                e.reference == Some(Reference::Workspace(id))
            }
            (Subject::Workspace(id), Event::WorkspaceStateChanged(e)) => e.workspace == id,
            _ => false,
        }
    }

    /// Turns the first yes at this kind of gate that was acted on into a no.
    fn denied(kind: GateType) {
        history::doctored::<Gated>(|entries| {
            let asked = entries.iter().filter_map(|entry| match &entry.event {
                Event::GateTriggered(e) if e.gate_type == kind => Some((e.gate, e.subject)),
                _ => None,
            });
            let asked: BTreeMap<GateId, Subject> = asked.collect();
            let acted_on = |pair: &[Entry]| match &pair[0].event {
                Event::GateResolved(e) if e.action != Answer::Reject => asked
                    .get(&e.gate)
                    .is_some_and(|subject| is_done(*subject, &pair[1].event)),
                _ => false,
            };
            let Some(at) = entries.windows(2).position(acted_on) else {
                return false;
            };
            if let Event::GateResolved(e) = &mut entries[at].event {
                e.action = Answer::Reject;
            }
            true
        });
    }

    #[test]
    fn what_goes_on_after_a_no_is_seen() {
        for kind in [
            GateType::TaskApproval,
            GateType::WorkspaceCreate,
            GateType::EnvelopeDelivery,
            GateType::Integration,
            GateType::WorkspaceAbort,
        ] {
            denied(kind);
        }
    }

    #[test]
    fn a_conflict_settled_without_a_yes_is_seen() {
        let mut gated = Gated::default();
        assert!(gated.settled(ConflictId(0), ResolvedBy::Escalate).is_err());
        assert_eq!(gated.settled(ConflictId(0), ResolvedBy::Timeout), Ok(()));
        gated.grant(Some(Yes::Conflict(ConflictId(0))));
        assert_eq!(gated.settled(ConflictId(0), ResolvedBy::Escalate), Ok(()));
        assert!(gated.settled(ConflictId(0), ResolvedBy::Escalate).is_err());
        gated.highway = Some(Highway::gated());
        gated.conflicts.insert(ConflictId(1), WorkspaceId(1));
        gated.conflicts.insert(ConflictId(2), WorkspaceId(1));
        let rework = ResolvedBy::AgentRework;
        assert!(gated.settled(ConflictId(1), rework).is_err());
        gated.grant(Some(Yes::Conflict(ConflictId(2))));
        assert_eq!(gated.settled(ConflictId(1), rework), Ok(()));
    }
}
