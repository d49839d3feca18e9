//! Every gate is resolved, once: by a person, by its fallback in time, or by
//! the runtime when the question has become idle (WACP §8.1, §8.4). So is every
//! escalation.

use std::collections::{BTreeMap, BTreeSet};

use trail::Micros;
use wacp::{
    Entry, Event,
    event::{GateResolved, Resolver},
    gate::{Answer, GateType},
    id::{GateId, SignalId, WorkspaceId},
};

use super::{Checker, Verdict, View, ensure};

#[derive(Clone, Copy, Debug)]
struct Asked {
    by: WorkspaceId,
    /// When its fallback happens.
    until: Option<Micros>,
    is_creation: bool,
}

#[derive(Debug, Default)]
pub struct Gates {
    /// Asked and not answered.
    pending: BTreeMap<GateId, Asked>,
    /// The workspace that an answer said comes of it.
    promised: Option<WorkspaceId>,
    /// Whose time is over.
    overdue: Option<GateId>,
    escalated: BTreeSet<SignalId>,
}

impl Gates {
    fn resolved(&mut self, e: &GateResolved) -> Verdict {
        let Some(asked) = self.pending.remove(&e.gate) else {
            return Err(format!("{} is answered and was not asked", e.gate));
        };
        ensure(asked.by == e.about.asked_by, || {
            format!("{} is answered to {}", e.gate, e.about.asked_by)
        })?;
        if asked.is_creation {
            self.promised = e.about.workspace;
            ensure(
                self.promised.is_some() == (e.action != Answer::Reject),
                || format!("{} does not say what came of it", e.gate),
            )?;
        }
        let overdue = self.overdue.take();
        let fell_back = e.resolver == Resolver::Fallback;
        ensure(fell_back == (overdue == Some(e.gate)), || {
            format!(
                "{} is answered by {:?}, overdue is {overdue:?}",
                e.gate, e.resolver
            )
        })
    }
}

impl Checker for Gates {
    fn claim(&self) -> &'static str {
        "every gate is resolved, once, and the answer says what comes of it"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        match &entry.event {
            Event::GateTriggered(e) => {
                let before = self.pending.len() as u32;
                let asked = Asked {
                    by: e.asked_by,
                    until: e.timeout_at,
                    is_creation: e.gate_type == GateType::WorkspaceCreate,
                };
                self.pending.insert(e.gate, asked);
                ensure(e.queue_position == before, || {
                    format!(
                        "{} is number {}, and {before} wait",
                        e.gate, e.queue_position
                    )
                })
            }
            Event::WorkspaceCreated(e) => {
                let promised = self.promised.take();
                ensure(promised.is_none_or(|id| id == e.workspace), || {
                    format!("{} is created in place of {promised:?}", e.workspace)
                })
            }
            Event::GateTimeout(e) => {
                let at = self.pending.get(&e.gate).and_then(|asked| asked.until);
                self.overdue = Some(e.gate);
                ensure(at.is_some_and(|at| at <= entry.time), || {
                    format!("{} falls back at {:?}, not at {at:?}", e.gate, entry.time)
                })
            }
            Event::GateResolved(e) => self.resolved(e),
            // Time while nobody could answer does not count.
            Event::RecoveryCompleted(e) => {
                let waiting = self.pending.values_mut();
                for until in waiting.filter_map(|asked| asked.until.as_mut()) {
                    until.0 = until.0.saturating_add(e.downtime_us as i64);
                }
                Ok(())
            }
            Event::EscalationReceived(e) => {
                self.escalated.insert(e.signal);
                Ok(())
            }
            Event::EscalationResolved(e) => ensure(self.escalated.remove(&e.signal), || {
                format!("{} is answered and was not asked", e.signal)
            }),
            _ => Ok(()),
        }
    }

    fn commit(&mut self, _: &View<'_>) -> Verdict {
        ensure(self.promised.is_none(), || {
            format!("{:?} was promised and is not there", self.promised)
        })
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        ensure(view.run.gates.keys().eq(self.pending.keys()), || {
            "other gates wait than the trail says".to_owned()
        })?;
        ensure(view.run.escalations.keys().eq(&self.escalated), || {
            "other escalations wait than the trail says".to_owned()
        })
    }

    /// Only a gate whose timeout was switched off may still wait.
    fn silence(&mut self, _: &View<'_>) -> Verdict {
        let left = self.pending.iter().find(|(_, asked)| asked.until.is_some());
        ensure(left.is_none(), || format!("{left:?} waits for ever"))
    }

    fn end(&mut self, _: &View<'_>) -> Verdict {
        ensure(self.pending.is_empty(), || {
            format!("the run has ended and {:?} wait", self.pending)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn an_answer_twice_or_to_nothing_is_seen() {
        history::twice::<Gates>(|e| matches!(e, Event::GateResolved(_)));
        history::twice::<Gates>(|e| matches!(e, Event::EscalationResolved(_)));
        // A question that still waits at the end is not missed.
        history::doctored::<Gates>(|entries| {
            let answered: Vec<GateId> = entries
                .iter()
                .filter_map(|entry| match &entry.event {
                    Event::GateResolved(e) => Some(e.gate),
                    _ => None,
                })
                .collect();
            let at = entries.iter().position(|entry| {
                matches!(&entry.event, Event::GateTriggered(e) if answered.contains(&e.gate))
            });
            at.map(|at| entries.remove(at)).is_some()
        });
        history::without::<Gates>(|e| matches!(e, Event::GateTimeout(_)));
    }

    #[test]
    fn an_answer_to_another_or_about_nothing_is_seen() {
        let elsewhere = WorkspaceId(u32::MAX);
        history::objects::<Gates>(|entry| match &mut entry.event {
            Event::GateResolved(e) => {
                e.about.asked_by = elsewhere;
                true
            }
            _ => false,
        });
        history::doctored::<Gates>(|entries| {
            let mut creations = BTreeSet::new();
            entries.iter_mut().any(|entry| match &mut entry.event {
                Event::GateTriggered(e) if e.gate_type == GateType::WorkspaceCreate => {
                    !creations.insert(e.gate)
                }
                Event::GateResolved(e) if creations.contains(&e.gate) => {
                    let is_yes = e.about.workspace.is_some();
                    if is_yes {
                        e.about.workspace = Some(elsewhere);
                    }
                    is_yes
                }
                _ => false,
            })
        });
    }

    #[test]
    fn an_early_fallback_is_seen() {
        history::objects::<Gates>(|entry| match &mut entry.event {
            Event::GateTriggered(e) => {
                e.timeout_at = Some(Micros(i64::MAX));
                false
            }
            Event::GateTimeout(_) => {
                entry.time = Micros(0);
                true
            }
            _ => false,
        });
    }

    #[test]
    fn a_gate_that_is_never_answered_is_seen() {
        let world = history::world(1, 100);
        let mut gates = Gates::default();
        let asked = |until| Asked {
            by: WorkspaceId::ROOT,
            until,
            is_creation: false,
        };
        gates.pending.insert(GateId(0), asked(None));
        assert_eq!(gates.silence(&history::view(&world)), Ok(()));
        assert!(gates.end(&history::view(&world)).is_err());
        gates.pending.insert(GateId(1), asked(Some(Micros(1))));
        assert!(gates.silence(&history::view(&world)).is_err());
    }
}
