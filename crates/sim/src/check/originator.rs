//! Who caused a workspace is said once and never changes (WACP §4.8).

use std::collections::BTreeMap;

use wacp::{
    Actor, Entry, Event,
    envelope::Origin,
    id::{EnvelopeId, Party, UserId, WorkspaceId},
};

use super::{Checker, Verdict, View, ensure};

#[derive(Debug, Default)]
pub struct Originators {
    known: BTreeMap<WorkspaceId, Party>,
    injected: BTreeMap<EnvelopeId, UserId>,
}

impl Checker for Originators {
    fn claim(&self) -> &'static str {
        "a workspace's originator is its cause, and never changes"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        match &entry.event {
            Event::HumanInjection(e) => {
                if let (Some(envelope), WorkspaceId::ROOT) = (e.envelope, e.to) {
                    self.injected.insert(envelope, e.user);
                }
                Ok(())
            }
            Event::WorkspaceCreated(e) => {
                let cause = e.cause.and_then(|envelope| self.injected.get(&envelope));
                let inherited = e.parent.and_then(|parent| self.known.get(&parent));
                let expected = match (cause, entry.actor) {
                    // What a person creates, nobody else is the cause of.
                    (_, Actor::User(user)) => Party::User(user),
                    (Some(user), _) => Party::User(*user),
                    _ => inherited.copied().unwrap_or(Party::System),
                };
                self.known.insert(e.workspace, e.originator);
                ensure(e.originator == expected, || {
                    format!(
                        "{} is caused by {}, not by {expected}",
                        e.workspace, e.originator
                    )
                })
            }
            Event::EnvelopeCreated(e) => {
                let expected = match (e.from, e.origin, entry.actor) {
                    (Some(from), Origin::Agent, _) => self.known.get(&from).copied(),
                    (None, Origin::Human, Actor::User(user)) => Some(Party::User(user)),
                    _ => Some(e.originator),
                };
                ensure(expected == Some(e.originator), || {
                    format!(
                        "{} is caused by {}, not by {expected:?}",
                        e.envelope, e.originator
                    )
                })
            }
            _ => Ok(()),
        }
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        for (id, originator) in &self.known {
            let found = view.run.workspace(*id).map(|slot| slot.originator());
            ensure(found == Some(*originator), || {
                format!("{id} was caused by {originator} and is now by {found:?}")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};
    use wacp::state::Slot;

    #[test]
    fn another_originator_at_creation_is_seen() {
        history::objects::<Originators>(|entry| match &mut entry.event {
            Event::WorkspaceCreated(e) if e.parent.is_some() => {
                e.originator = Party::User(UserId(77));
                true
            }
            _ => false,
        });
        history::objects::<Originators>(|entry| match &mut entry.event {
            Event::EnvelopeCreated(e) if e.from.is_some() => {
                e.originator = Party::User(UserId(77));
                true
            }
            _ => false,
        });
    }

    #[test]
    fn an_originator_that_changes_later_is_seen() {
        let mut world = history::busy(200);
        let mut checker = Originators::default();
        for entry in world.log.copy() {
            assert_eq!(checker.entry(&entry), Ok(()));
        }
        assert_eq!(checker.interval(&history::view(&world)), Ok(()));
        match &mut world.run.workspaces[1] {
            Slot::Open(open) => open.originator = Party::User(UserId(77)),
            Slot::Ended(ended) => ended.originator = Party::User(UserId(77)),
        }
        assert!(checker.interval(&history::view(&world)).is_err());
    }
}
