//! What people did and what happened without them.

use std::collections::BTreeMap;

use trail::Micros;

use crate::{
    event::{Event, Resolver},
    gate::{Answer, GateType},
    id::{GateId, UserId},
    query::{Fold, Visible},
};

/// The gates, injections and escalations of a run. It grows with the gates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HighwayActivity {
    pub gates: BTreeMap<GateId, GateLine>,
    pub injections: u32,
    pub rejected_injections: u32,
    pub escalations: u32,
    pub escalation_answers: u32,
    pub escalation_timeouts: u32,
    /// Answers to gates and escalations, and injections, of each person.
    pub acts: BTreeMap<UserId, u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateLine {
    pub gate_type: GateType,
    pub asked: Micros,
    /// Where nobody answered and it was handed over: once more, by the
    /// coordinator.
    pub answered: Option<(Micros, Answer, AnsweredBy)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsweredBy {
    Coordinator,
    Resolver(Resolver),
}

impl HighwayActivity {
    fn act(&mut self, resolver: Resolver) {
        if let Resolver::User(user) = resolver {
            *self.acts.entry(user).or_default() += 1;
        }
    }
}

impl Fold for HighwayActivity {
    fn push(&mut self, entry: Visible<'_>) {
        match &entry.event {
            Event::GateTriggered(e) => {
                self.gates.insert(
                    e.gate,
                    GateLine {
                        gate_type: e.gate_type,
                        asked: entry.time,
                        answered: None,
                    },
                );
            }
            Event::GateResolved(e) => {
                if let Some(line) = self.gates.get_mut(&e.gate) {
                    let by = AnsweredBy::Resolver(e.resolver);
                    line.answered = Some((entry.time, e.action, by));
                }
                self.act(e.resolver);
            }
            Event::GateReentryBlocked(e) => {
                if let Some(line) = e.gate.and_then(|gate| self.gates.get_mut(&gate)) {
                    line.answered = Some((entry.time, e.converted_to, AnsweredBy::Coordinator));
                }
            }
            Event::HumanInjection(e) => {
                self.injections += u32::from(e.rejected.is_none());
                self.rejected_injections += u32::from(e.rejected.is_some());
                self.act(Resolver::User(e.user));
            }
            Event::EscalationReceived(_) => self.escalations += 1,
            Event::EscalationTimeout(_) => self.escalation_timeouts += 1,
            Event::EscalationResolved(e) => {
                self.escalation_answers += u32::from(matches!(e.resolver, Resolver::User(_)));
                self.act(e.resolver);
            }
            _ => {}
        }
    }
}
