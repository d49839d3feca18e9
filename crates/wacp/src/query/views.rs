//! Five ways to look at a run: as a whole, one workspace in time, who wrote to
//! whom, what people did, and two runs side by side. Each shows what its reader
//! may see and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use trail::Micros;

use super::{Reading, body};
use crate::{
    checkpoint::Artifact,
    event::{Entry, Event, Reference, Resolver},
    gate::{Answer, GateType},
    id::{ArtifactId, CheckpointId, EnvelopeId, GateId, UserId, WorkspaceId},
    role::EnvelopeType,
    signal::SignalType,
    state::Slot,
    task::Status,
    workspace::{
        budget::{Dimension, Usage},
        lifecycle::{Reason, State, Trigger},
    },
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

pub fn overview(reading: &Reading<'_>) -> Overview {
    let run = reading.run;
    let gates = run.gates.values().map(|gate| gate.proposal.workspace());
    let escalations = run.escalations.values();
    let mut view = Overview {
        entries: reading.entries.len() as u64,
        began: reading.entries.first().map(|entry| entry.time),
        last: reading.entries.last().map(|entry| entry.time),
        pending_gates: gates.filter(|id| reading.contains(*id)).count() as u32,
        open_escalations: escalations
            .filter(|escalation| reading.contains(Some(escalation.workspace)))
            .count() as u32,
        ..Overview::default()
    };
    for (at, slot) in run.workspaces.iter().enumerate() {
        if !reading.contains(Some(WorkspaceId(at as u32))) {
            continue;
        }
        *view.workspaces.entry(slot.state()).or_default() += 1;
        if let Slot::Ended(ended) = slot
            && let Some(reason) = ended.reason
        {
            *view.failures.entry(reason).or_default() += 1;
        }
    }
    for task in &run.tasks {
        // A task nobody has worked on is the plan's, and so the coordinator's.
        let mut places = task.history.iter();
        if reading.contains(None) || places.any(|id| reading.contains(Some(*id))) {
            *view.tasks.entry(task.status).or_default() += 1;
        }
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
pub fn workspace_timeline(reading: &Reading<'_>, id: WorkspaceId) -> Vec<Moment> {
    let local = reading
        .entries()
        .filter(|entry| entry.workspace == Some(id));
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
    /// `None`: it was turned away before it became one.
    pub envelope: Option<EnvelopeId>,
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
pub fn message_flow(reading: &Reading<'_>) -> Vec<Message> {
    let mut flow = Flow::default();
    for entry in reading.entries() {
        match &entry.event {
            Event::EnvelopeCreated(e) => {
                let message = Message {
                    in_reply_to: e.in_reply_to,
                    ..Message::new(Some(e.envelope), e.from, e.to, e.envelope_type, entry.time)
                };
                flow.places.insert(e.envelope, flow.messages.len());
                flow.messages.push(message);
            }
            Event::EnvelopeDelivered(e) => flow.set(e.envelope, |m| m.delivered = Some(entry.time)),
            Event::EnvelopeRedelivered(e) => flow.set(e.envelope, |m| m.redeliveries = e.attempt),
            Event::EnvelopeUndeliverable(e) => flow.set(e.envelope, |m| m.refused = true),
            Event::EnvelopeRejected(e) => match e.envelope {
                Some(envelope) => flow.set(envelope, |m| m.refused = true),
                None => flow.messages.push(Message {
                    refused: true,
                    ..Message::new(None, e.from, e.to, e.envelope_type, entry.time)
                }),
            },
            Event::SignalEmitted(e) => {
                if let (SignalType::Acknowledged, Some(Reference::Envelope(id))) =
                    (e.signal_type, e.reference)
                {
                    flow.set(id, |m| m.acknowledged = m.acknowledged.or(Some(entry.time)));
                }
            }
            _ => {}
        }
    }
    flow.messages
}

impl Message {
    fn new(
        envelope: Option<EnvelopeId>,
        from: Option<WorkspaceId>,
        to: WorkspaceId,
        envelope_type: EnvelopeType,
        created: Micros,
    ) -> Message {
        Message {
            envelope,
            from,
            to,
            envelope_type,
            in_reply_to: None,
            created,
            delivered: None,
            acknowledged: None,
            redeliveries: 0,
            refused: false,
        }
    }
}

#[derive(Default)]
struct Flow {
    messages: Vec<Message>,
    places: BTreeMap<EnvelopeId, usize>,
}

impl Flow {
    fn set(&mut self, id: EnvelopeId, change: impl FnOnce(&mut Message)) {
        let place = self.places.get(&id).copied();
        if let Some(message) = place.and_then(|at| self.messages.get_mut(at)) {
            change(message);
        }
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
    /// Where nobody answered and it was handed over: once more, by the
    /// coordinator.
    pub answered: Option<(Micros, Answer, Resolver)>,
}

pub fn highway_activity(reading: &Reading<'_>) -> HighwayActivity {
    let mut view = HighwayActivity::default();
    for entry in reading.entries() {
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
            Event::GateReentryBlocked(e) => {
                if let Some(line) = e.gate.and_then(|gate| view.gates.get_mut(&gate)) {
                    line.answered = Some((entry.time, e.converted_to, Resolver::Coordinator));
                }
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

pub fn compare(first: &Reading<'_>, second: &Reading<'_>) -> Comparison {
    let mut event_types: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    for entry in first.entries() {
        event_types.entry(entry.event.event_type()).or_default().0 += 1;
    }
    for entry in second.entries() {
        event_types.entry(entry.event.event_type()).or_default().1 += 1;
    }
    let mut pairs = first.entries().zip(second.entries());
    let parted = pairs.position(|(a, b)| a.workspace != b.workspace || !is_same(a, b));
    let (a, b) = (first.entries.len(), second.entries.len());
    let parted_at = parted.or((a != b).then_some(a.min(b)));
    Comparison {
        event_types,
        duration_us: (duration(first), duration(second)),
        workspaces: (overview(first).workspaces, overview(second).workspaces),
        tokens: (tokens(first), tokens(second)),
        parted_at: parted_at.map(|at| at as u64),
    }
}

/// What tells when something happened or how long it took, and what is new each
/// time by intent; nothing of it is what happened.
const CIRCUMSTANCES: [&str; 7] = [
    "downtime_us",
    "duration_us",
    "elapsed_us",
    "next_at",
    "proof",
    "silent_us",
    "timeout_at",
];

fn is_same(a: &Entry, b: &Entry) -> bool {
    let essence = |entry: &Entry| {
        let mut body = body(&entry.event);
        if let serde_json::Value::Object(fields) = &mut body {
            fields.retain(|name, _| !CIRCUMSTANCES.contains(&name.as_str()));
        }
        body
    };
    a.event == b.event || (a.event.event_type() == b.event.event_type() && essence(a) == essence(b))
}

fn duration(reading: &Reading<'_>) -> u64 {
    match (reading.entries.first(), reading.entries.last()) {
        (Some(first), Some(last)) => u64::try_from(last.time.0 - first.time.0).unwrap_or(0),
        _ => 0,
    }
}

/// Of each workspace what was measured, or what its agent reported if that is
/// more or all there is.
fn tokens(reading: &Reading<'_>) -> u64 {
    let mut used: BTreeMap<WorkspaceId, (u64, u64)> = BTreeMap::new();
    let mut measure = |id: WorkspaceId, total: u64, more: u64| {
        let (measured, reported) = used.entry(id).or_default();
        *measured = total.max(*measured);
        *reported = reported.saturating_add(more);
    };
    let total = |usage: &Option<Usage>| usage.map_or(0, |usage| usage.tokens);
    for entry in reading.entries() {
        match &entry.event {
            Event::CheckpointCreated(e) => {
                measure(e.workspace, total(&e.consumed), total(&e.resource_usage));
            }
            Event::WorkspaceStateChanged(e) => measure(e.workspace, total(&e.consumed), 0),
            Event::BudgetWarning(e) if e.dimension == Dimension::Tokens => {
                measure(e.source, e.source_consumed, 0);
            }
            _ => {}
        }
    }
    let most = used
        .values()
        .map(|(measured, reported)| *measured.max(reported));
    most.fold(0, u64::saturating_add)
}

/// The artifact with this number: whose it is, in which checkpoint, and what.
pub fn find_artifact<'a>(
    reading: &Reading<'a>,
    id: ArtifactId,
) -> Option<(WorkspaceId, CheckpointId, &'a Artifact)> {
    reading.entries().find_map(|entry| match &entry.event {
        Event::CheckpointCreated(e) => {
            let at = id.0.checked_sub(e.first_artifact.0)?;
            let artifact = e.artifacts.get(usize::try_from(at).ok()?)?;
            Some((e.workspace, e.checkpoint, artifact))
        }
        _ => None,
    })
}

/// The names of body fields that occur, for whoever builds a query.
pub fn known_fields(reading: &Reading<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in reading.entries() {
        if let serde_json::Value::Object(map) = body(&entry.event) {
            names.extend(map.keys().cloned());
        }
    }
    names
}
