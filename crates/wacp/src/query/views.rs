//! Five ways to look at a run: as a whole, one workspace in time, who wrote to
//! whom, what people did, and two runs side by side.

use std::collections::{BTreeMap, BTreeSet};

use trail::Micros;

use super::body;
use crate::{
    checkpoint::Artifact,
    event::{Entry, Event, Resolver},
    gate::{Answer, GateType},
    id::{ArtifactId, CheckpointId, EnvelopeId, GateId, UserId, WorkspaceId},
    role::EnvelopeType,
    state::Run,
    task::Status,
    workspace::lifecycle::{Reason, State, Trigger},
};

/// A run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    pub entries: u64,
    pub began: Option<Micros>,
    pub last: Option<Micros>,
    pub workspaces: BTreeMap<State, u32>,
    pub failures: BTreeMap<Reason, u32>,
    pub tasks: BTreeMap<Status, u32>,
    pub pending_gates: u32,
    pub open_escalations: u32,
}

pub fn overview(run: &Run, entries: &[Entry]) -> Overview {
    let mut view = Overview {
        entries: entries.len() as u64,
        began: entries.first().map(|entry| entry.time),
        last: entries.last().map(|entry| entry.time),
        pending_gates: run.gates.len() as u32,
        open_escalations: run.escalations.len() as u32,
        ..Overview::default()
    };
    for slot in &run.workspaces {
        *view.workspaces.entry(slot.state()).or_default() += 1;
        if let crate::state::Slot::Ended(ended) = slot
            && let Some(reason) = ended.reason
        {
            *view.failures.entry(reason).or_default() += 1;
        }
    }
    for task in &run.tasks {
        *view.tasks.entry(task.status).or_default() += 1;
    }
    view
}

/// One step of a workspace's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    pub time: Micros,
    pub event_type: &'static str,
    pub change: Option<(State, State, Trigger)>,
}

/// One workspace in time: its local trail, shortened.
pub fn workspace_timeline(entries: &[Entry], id: WorkspaceId) -> Vec<Moment> {
    let local = entries.iter().filter(|entry| entry.workspace == Some(id));
    local
        .map(|entry| Moment {
            time: entry.time,
            event_type: entry.event.event_type(),
            change: match &entry.event {
                Event::WorkspaceStateChanged(e) => Some((e.from_state, e.to_state, e.trigger)),
                _ => None,
            },
        })
        .collect()
}

/// One envelope's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub envelope: EnvelopeId,
    pub from: Option<WorkspaceId>,
    pub to: WorkspaceId,
    pub envelope_type: EnvelopeType,
    pub in_reply_to: Option<EnvelopeId>,
    pub created: Micros,
    pub delivered: Option<Micros>,
    pub acknowledged: Option<Micros>,
    pub redeliveries: u8,
    pub refused: bool,
}

/// Who wrote to whom, in the order of writing.
pub fn message_flow(entries: &[Entry]) -> Vec<Message> {
    let mut messages: BTreeMap<EnvelopeId, Message> = BTreeMap::new();
    for entry in entries {
        match &entry.event {
            Event::EnvelopeCreated(e) => {
                messages.insert(
                    e.envelope,
                    Message {
                        envelope: e.envelope,
                        from: e.from,
                        to: e.to,
                        envelope_type: e.envelope_type,
                        in_reply_to: e.in_reply_to,
                        created: entry.time,
                        delivered: None,
                        acknowledged: None,
                        redeliveries: 0,
                        refused: false,
                    },
                );
            }
            Event::EnvelopeDelivered(e) => set(&mut messages, e.envelope, |m| {
                m.delivered = Some(entry.time);
            }),
            Event::EnvelopeRedelivered(e) => set(&mut messages, e.envelope, |m| {
                m.redeliveries = e.attempt;
            }),
            Event::EnvelopeUndeliverable(e) => set(&mut messages, e.envelope, |m| m.refused = true),
            Event::EnvelopeRejected(e) => {
                if let Some(envelope) = e.envelope {
                    set(&mut messages, envelope, |m| m.refused = true);
                }
            }
            Event::SignalEmitted(e) => {
                if let (
                    crate::signal::SignalType::Acknowledged,
                    Some(crate::event::Reference::Envelope(id)),
                ) = (e.signal_type, e.reference)
                {
                    set(&mut messages, id, |m| {
                        m.acknowledged = m.acknowledged.or(Some(entry.time));
                    });
                }
            }
            _ => {}
        }
    }
    messages.into_values().collect()
}

fn set(
    messages: &mut BTreeMap<EnvelopeId, Message>,
    id: EnvelopeId,
    change: impl FnOnce(&mut Message),
) {
    if let Some(message) = messages.get_mut(&id) {
        change(message);
    }
}

/// What people did and what happened without them.
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
    pub answered: Option<(Micros, Answer, Resolver)>,
}

pub fn highway_activity(entries: &[Entry]) -> HighwayActivity {
    let mut view = HighwayActivity::default();
    for entry in entries {
        match &entry.event {
            Event::GateTriggered(e) => {
                view.gates.insert(
                    e.gate,
                    GateLine {
                        gate_type: e.gate_type,
                        asked: entry.time,
                        answered: None,
                    },
                );
            }
            Event::GateResolved(e) => {
                if let Some(line) = view.gates.get_mut(&e.gate) {
                    line.answered = Some((entry.time, e.action, e.resolver));
                }
                act(&mut view, e.resolver);
            }
            Event::HumanInjection(e) => {
                view.injections += u32::from(e.rejected.is_none());
                view.rejected_injections += u32::from(e.rejected.is_some());
                act(&mut view, Resolver::User(e.user));
            }
            Event::EscalationReceived(_) => view.escalations += 1,
            Event::EscalationTimeout(_) => view.escalation_timeouts += 1,
            Event::EscalationResolved(e) => {
                view.escalation_answers += u32::from(matches!(e.resolver, Resolver::User(_)));
                act(&mut view, e.resolver);
            }
            _ => {}
        }
    }
    view
}

fn act(view: &mut HighwayActivity, resolver: Resolver) {
    if let Resolver::User(user) = resolver {
        *view.acts.entry(user).or_default() += 1;
    }
}

/// Two runs side by side: the same plan under another configuration, say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Entries of each type: in the first, in the second.
    pub event_types: BTreeMap<&'static str, (u64, u64)>,
    pub duration_us: (u64, u64),
    pub workspaces: (BTreeMap<State, u32>, BTreeMap<State, u32>),
    pub tokens: (u64, u64),
    /// The first position at which the two differ in what happened, if any.
    pub parted_at: Option<u64>,
}

pub fn compare(first: (&Run, &[Entry]), second: (&Run, &[Entry])) -> Comparison {
    let mut event_types: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    for entry in first.1 {
        event_types.entry(entry.event.event_type()).or_default().0 += 1;
    }
    for entry in second.1 {
        event_types.entry(entry.event.event_type()).or_default().1 += 1;
    }
    let pairs = first.1.iter().zip(second.1);
    let parted = pairs
        .clone()
        .position(|(a, b)| a.event != b.event || a.workspace != b.workspace);
    let length = first.1.len().min(second.1.len());
    let parted_at = parted.or((first.1.len() != second.1.len()).then_some(length));
    let (a, b) = (overview(first.0, first.1), overview(second.0, second.1));
    Comparison {
        event_types,
        duration_us: (duration(first.1), duration(second.1)),
        workspaces: (a.workspaces, b.workspaces),
        tokens: (tokens(first.1), tokens(second.1)),
        parted_at: parted_at.map(|at| at as u64),
    }
}

fn duration(entries: &[Entry]) -> u64 {
    match (entries.first(), entries.last()) {
        (Some(first), Some(last)) => u64::try_from(last.time.0 - first.time.0).unwrap_or(0),
        _ => 0,
    }
}

fn tokens(entries: &[Entry]) -> u64 {
    let reported = entries.iter().filter_map(|entry| match &entry.event {
        Event::CheckpointCreated(e) => e.resource_usage.map(|usage| usage.tokens),
        _ => None,
    });
    reported.fold(0, u64::saturating_add)
}

/// The artifact with this number: whose it is, in which checkpoint, and what.
/// Whether it may be read is decided by `Command::Read` on its workspace.
pub fn find_artifact(
    entries: &[Entry],
    id: ArtifactId,
) -> Option<(WorkspaceId, CheckpointId, &Artifact)> {
    entries.iter().find_map(|entry| match &entry.event {
        Event::CheckpointCreated(e) => {
            let at = id.0.checked_sub(e.first_artifact.0)?;
            let artifact = e.artifacts.get(usize::try_from(at).ok()?)?;
            Some((e.workspace, e.checkpoint, artifact))
        }
        _ => None,
    })
}

/// The names of body fields that occur, for whoever builds a query.
pub fn known_fields(entries: &[Entry]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in entries {
        if let serde_json::Value::Object(map) = body(&entry.event) {
            names.extend(map.keys().cloned());
        }
    }
    names
}
