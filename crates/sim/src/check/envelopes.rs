//! Every envelope comes to an end: taken, refused or given up, in the order of
//! its channel, and sent again at most three times (WACP §4.2).

use std::collections::BTreeMap;

use trail::Micros;
use wacp::{
    Entry, Event,
    envelope::{Priority, Progress},
    event::{Reference, Undeliverable},
    gate::Proposal,
    id::{EnvelopeId, WorkspaceId},
    signal::SignalType,
    workspace::lifecycle::State,
};

use super::{Checker, Verdict, View, ensure};

/// Times that an envelope is sent again.
const AGAIN: u8 = 3;

#[derive(Debug)]
struct Envelope {
    from: Option<WorkspaceId>,
    blocks: bool,
    /// How often it was put into the inbox.
    delivered: u8,
}

#[derive(Debug, Default)]
pub struct Envelopes {
    base_us: u64,
    /// Accepted and not yet at their end.
    waiting: BTreeMap<(WorkspaceId, EnvelopeId), Envelope>,
}

impl Envelopes {
    fn find(&mut self, to: WorkspaceId, id: EnvelopeId) -> Result<&mut Envelope, String> {
        let found = self.waiting.get_mut(&(to, id));
        found.ok_or_else(|| format!("{id} is not under way to {to}"))
    }

    fn delivered(&mut self, to: WorkspaceId, id: EnvelopeId) -> Verdict {
        let from = self.find(to, id)?.from;
        let inbox = (to, EnvelopeId(0))..=(to, EnvelopeId(u64::MAX));
        for ((_, other), known) in self.waiting.range(inbox) {
            if *other == id {
                continue;
            }
            let is_first = *other < id && known.from == from && known.delivered == 0;
            ensure(!is_first, || format!("{id} overtakes {other}"))?;
            let is_again = known.from == from && known.delivered > 1;
            ensure(!is_again, || {
                format!("{id} arrives while {other} is sent again")
            })?;
            let holds = known.blocks && known.delivered > 0;
            ensure(!holds, || format!("{id} passes {other}, which blocks"))?;
        }
        let envelope = self.find(to, id)?;
        envelope.delivered += 1;
        ensure(envelope.delivered == 1, || format!("{id} arrives anew"))
    }

    fn again(&mut self, to: WorkspaceId, id: EnvelopeId, attempt: u8, wait_us: i64) -> Verdict {
        let due = i64::try_from(self.base_us).unwrap_or(i64::MAX) * i64::from(attempt + 1);
        let envelope = self.find(to, id)?;
        let follows = envelope.delivered == attempt && attempt <= AGAIN;
        envelope.delivered += 1;
        ensure(follows && attempt > 0, || {
            format!("{id} is sent again as number {attempt}")
        })?;
        ensure(wait_us == due, || {
            format!("{id} waits {wait_us}, not {due}")
        })
    }

    fn given_up(&mut self, to: WorkspaceId, id: EnvelopeId, exhausted: bool) -> Verdict {
        let delivered = self.find(to, id)?.delivered;
        self.waiting.remove(&(to, id));
        ensure(!exhausted || delivered == AGAIN + 1, || {
            format!("{id} is given up after {delivered} attempts")
        })
    }
}

impl Checker for Envelopes {
    fn claim(&self) -> &'static str {
        "every envelope comes to its end, in order, and is sent again three times at most"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        match &entry.event {
            Event::WorkspaceCreated(e) => {
                if let Some(run) = &e.run {
                    self.base_us = run.limits.redelivery_base_us;
                }
                Ok(())
            }
            Event::EnvelopeCreated(e) => {
                let envelope = Envelope {
                    from: e.from,
                    blocks: e.priority == Priority::Blocking,
                    delivered: 0,
                };
                self.waiting.insert((e.to, e.envelope), envelope);
                Ok(())
            }
            Event::EnvelopeDelivered(e) => self.delivered(e.to, e.envelope),
            Event::EnvelopeRedelivered(e) => {
                let Micros(wait_us) = Micros(e.next_at.0 - entry.time.0);
                self.again(e.to, e.envelope, e.attempt, wait_us)
            }
            Event::EnvelopeUndeliverable(e) => {
                let exhausted = e.reason == Undeliverable::DeliveryExhausted;
                self.given_up(e.to, e.envelope, exhausted)
            }
            Event::EnvelopeRejected(e) => match e.envelope {
                Some(id) => self.given_up(e.to, id, false),
                None => Ok(()),
            },
            Event::SignalEmitted(e) if e.signal_type == SignalType::Acknowledged => {
                if let Some(Reference::Envelope(id)) = e.reference {
                    // A second acknowledgement changes nothing.
                    let taken = self.waiting.remove(&(e.from, id));
                    let early = taken.is_some_and(|envelope| envelope.delivered == 0);
                    return ensure(!early, || format!("{id} is taken before it arrived"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        ensure(view.run.inboxes.keys().eq(self.waiting.keys()), || {
            "the inboxes hold other envelopes than the trail says".to_owned()
        })
    }

    /// Only what a paused receiver or the coordinator keeps waiting may wait.
    fn silence(&mut self, view: &View<'_>) -> Verdict {
        let handed = |to, id| {
            view.run.escalated_gates.values().any(|gate| {
                matches!(gate.proposal, Proposal::EnvelopeDelivery { to: t, envelope, .. }
                    if t == to && envelope <= id)
            })
        };
        for ((to, id), pending) in &view.run.inboxes {
            let state = view.run.state_of(*to);
            let paused = matches!(state, Some(State::Suspended | State::Migrating));
            let kept = !matches!(pending.progress, Progress::Delivered { .. }) && handed(*to, *id);
            ensure(paused || kept, || {
                format!("{id} waits for {to}, which is {state:?}: {pending:?}")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn what_arrives_twice_or_from_nowhere_is_seen() {
        history::twice::<Envelopes>(|e| matches!(e, Event::EnvelopeDelivered(_)));
        history::without::<Envelopes>(|e| matches!(e, Event::EnvelopeCreated(_)));
        history::twice::<Envelopes>(|e| matches!(e, Event::EnvelopeUndeliverable(_)));
    }

    #[test]
    fn what_is_taken_before_it_arrived_is_seen() {
        history::doctored::<Envelopes>(|entries| {
            let acknowledged = entries.iter().find_map(|entry| match &entry.event {
                Event::SignalEmitted(e) => match (e.signal_type, e.reference) {
                    (SignalType::Acknowledged, Some(Reference::Envelope(id))) => Some(id),
                    _ => None,
                },
                _ => None,
            });
            let before = entries.len();
            entries.retain(|entry| match &entry.event {
                Event::EnvelopeDelivered(e) => Some(e.envelope) != acknowledged,
                _ => true,
            });
            entries.len() < before
        });
    }

    #[test]
    fn a_fourth_time_and_a_wrong_wait_are_seen() {
        let again = |change: fn(&mut wacp::event::EnvelopeRedelivered)| {
            history::objects::<Envelopes>(|entry| match &mut entry.event {
                Event::EnvelopeRedelivered(e) => {
                    change(e);
                    true
                }
                _ => false,
            });
        };
        again(|e| e.attempt += 1);
        again(|e| e.attempt = 4);
        again(|e| e.next_at.0 += 1);
    }
}
