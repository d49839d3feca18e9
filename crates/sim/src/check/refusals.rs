//! A refusal changes nothing: all it leaves is the record of itself, and where
//! somebody was denied, it leaves that (WACP §5.1).

use wacp::{Command, Event, Principal, Refusal};

use super::{Checker, Decided, Verdict, ensure};

#[derive(Debug, Default)]
pub struct Refusals;

/// Events that say "no".
fn says_no(event: &Event) -> bool {
    match event {
        Event::HumanInjection(e) => e.rejected.is_some(),
        Event::EnvelopeRejected(e) => e.envelope.is_none(),
        Event::CapabilityDenied(_)
        | Event::CheckpointRejected(_)
        | Event::WorkspaceRejected(_)
        | Event::TrailAccessDenied(_)
        | Event::IntegrityViolation(_)
        | Event::GateReentryBlocked(_) => true,
        _ => false,
    }
}

impl Checker for Refusals {
    fn claim(&self) -> &'static str {
        "a refusal leaves nothing but its record"
    }

    fn decided(&mut self, decided: &Decided<'_>) -> Verdict {
        let Some(refusal) = decided.refusal else {
            return Ok(());
        };
        let name = decided.order.command.name();
        let other = decided.entries.iter().find(|entry| !says_no(&entry.event));
        ensure(other.is_none(), || {
            format!("{name} was refused ({refusal}) and left {other:?}")
        })?;
        let denied = matches!(
            refusal,
            Refusal::PermissionDenied
                | Refusal::MissingCapability
                | Refusal::WrongScope
                | Refusal::OutOfScope
        );
        // Before there is a run there is no trail to record it in.
        let recorded = !decided.entries.is_empty()
            || matches!(decided.order.command, Command::StartRun(_))
            || decided.order.principal == Principal::Runtime;
        ensure(!denied || recorded, || {
            format!("{name} was denied ({refusal}) and the trail does not say so")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};
    use wacp::Order;

    #[test]
    fn a_refusal_with_consequences_and_a_denial_without_a_record_are_seen() {
        let entries = history::world(1, 50).log.copy();
        let order = Order::new(Principal::Coordinator, Command::Tick);
        let decided = |refusal, entries| Decided {
            order: &order,
            entries,
            refusal,
        };
        let no = Some(Refusal::NothingDue);
        let denied = Some(Refusal::PermissionDenied);
        let mut checker = Refusals;
        assert_eq!(checker.decided(&decided(None, &entries)), Ok(()));
        assert_eq!(checker.decided(&decided(no, &[])), Ok(()));
        assert!(checker.decided(&decided(no, &entries)).is_err());
        assert!(checker.decided(&decided(denied, &[])).is_err());
        let unseen = Some(Refusal::OutOfScope);
        assert!(checker.decided(&decided(unseen, &[])).is_err());
    }
}
