//! Nothing is sent without a right held at that moment (WACP §5.6).

use std::collections::{BTreeMap, BTreeSet};

use wacp::{
    Entry, Event,
    id::{EnvelopeId, RightId, WorkspaceId},
    right::RightKind,
};

use super::{Checker, Verdict, ensure};

/// Who holds what towards whom.
type Pair = (WorkspaceId, WorkspaceId);

#[derive(Debug, Default)]
pub struct Rights {
    lasting: BTreeSet<Pair>,
    once: BTreeMap<Pair, Vec<RightId>>,
    /// Sent on a right that must now be used up.
    owed: Option<(Pair, EnvelopeId)>,
}

impl Rights {
    fn add(&mut self, pair: Pair, kind: RightKind, right: RightId) {
        match kind {
            RightKind::Send => {
                self.lasting.insert(pair);
            }
            RightKind::SendOnce => self.once.entry(pair).or_default().push(right),
            RightKind::Receive => {}
        }
    }

    /// Whether it was there.
    fn take(&mut self, pair: Pair, right: RightId) -> bool {
        let held = self.once.get_mut(&pair);
        let place = held
            .as_ref()
            .and_then(|held| held.iter().position(|known| *known == right));
        match (held, place) {
            (Some(held), Some(place)) => {
                held.remove(place);
                true
            }
            _ => false,
        }
    }

    fn sent(&mut self, pair: Pair, envelope: EnvelopeId) -> Verdict {
        if self.lasting.contains(&pair) {
            return Ok(());
        }
        let held = self.once.get(&pair).is_some_and(|held| !held.is_empty());
        self.owed = Some((pair, envelope));
        ensure(held, || {
            format!(
                "{envelope}: {} holds no right to write to {}",
                pair.0, pair.1
            )
        })
    }
}

impl Checker for Rights {
    fn claim(&self) -> &'static str {
        "nothing is sent without a right"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        if let Some((pair, envelope)) = self.owed.take() {
            let used = match &entry.event {
                Event::PortRightConsumed(e) => {
                    (e.holder, e.target) == pair
                        && e.envelope == envelope
                        && self.take(pair, e.right)
                }
                _ => false,
            };
            return ensure(used, || {
                format!("{envelope} was sent and its right remains")
            });
        }
        match &entry.event {
            Event::PortRightCreated(e) => self.add((e.holder, e.target), e.kind, e.right),
            Event::PortRightTransferred(e) => {
                let pair = (e.from, e.target);
                let had = match e.kind {
                    RightKind::SendOnce => self.take(pair, e.right),
                    _ => self.lasting.contains(&pair),
                };
                ensure(had, || {
                    format!("{} gives away what it does not hold", e.from)
                })?;
                self.add((e.to, e.target), e.kind, e.right);
            }
            Event::PortRightRevoked(e) => {
                let pair = (e.holder, e.target);
                let had = match e.kind {
                    RightKind::SendOnce => self.take(pair, e.right),
                    _ => self.lasting.remove(&pair),
                };
                ensure(had, || format!("{} loses what it does not hold", e.holder))?;
            }
            Event::PortRightConsumed(e) => {
                return Err(format!("{} is used up without an envelope", e.right));
            }
            Event::WorkspaceStateChanged(e) if e.to_state.is_terminal() => {
                let gone = |(a, b): &Pair| *a == e.workspace || *b == e.workspace;
                self.lasting.retain(|pair| !gone(pair));
                self.once.retain(|pair, _| !gone(pair));
            }
            Event::EnvelopeCreated(e) => {
                if let Some(from) = e.from {
                    self.sent((from, e.to), e.envelope)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn a_right_that_was_never_created_is_missed() {
        history::doctored::<Rights>(|entries| {
            let sent = entries.iter().find_map(|entry| match &entry.event {
                Event::EnvelopeCreated(e) => Some((e.from?, e.to)),
                _ => None,
            });
            let Some(pair) = sent else {
                return false;
            };
            let before = entries.len();
            entries.retain(|entry| match &entry.event {
                Event::PortRightCreated(e) => (e.holder, e.target) != pair,
                _ => true,
            });
            entries.len() < before
        });
    }

    #[test]
    fn a_right_that_is_not_used_up_or_was_not_held_is_seen() {
        history::without::<Rights>(|e| matches!(e, Event::PortRightConsumed(_)));
        history::twice::<Rights>(|e| matches!(e, Event::PortRightConsumed(_)));
        history::twice::<Rights>(|e| matches!(e, Event::PortRightRevoked(_)));
    }
}
