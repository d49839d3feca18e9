//! What an agent finds in its mailbox, made of what the world is told.
//!
//! An effect names what it is about; what an item says of it is looked up on the
//! trail, since it may no longer stand in the run. So a mailbox keeps effects,
//! and an item is made when it is read.

use serde::Serialize;
use trail::Micros;

use super::{content::Shown, length::Length};
use crate::{
    Run,
    content::Content,
    effect::{Effect, Notice},
    envelope::{Intent, Origin, Priority},
    escalation::Response,
    event::{EnvelopeCreated, GateResolved, GateTriggered, Reference, Resolver, SignalEmitted},
    gate::{self, GateType, Subject},
    id::{EnvelopeId, GateId, Party, SignalId, TaskId, UserId, WorkspaceId},
    role::Text,
    signal::SignalType,
};

/// The entries that items are made of.
pub trait Source {
    /// With the time of the entry, and the payload as it was delivered.
    fn envelope(&self, id: EnvelopeId) -> Option<(Micros, EnvelopeCreated)>;
    fn signal(&self, id: SignalId) -> Option<SignalEmitted>;
    fn gate(&self, id: GateId) -> Option<(GateTriggered, GateResolved)>;
    fn words(&self, content: &Content) -> Shown;
}

/// One item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    Envelope(Letter),
    Signal {
        signal: SignalId,
        from: WorkspaceId,
        #[serde(rename = "type")]
        signal_type: SignalType,
        reason: Option<Text>,
        #[serde(rename = "ref")]
        reference: Option<Reference>,
    },
    /// What became of a question at a gate.
    Gate {
        gate: GateId,
        #[serde(rename = "type")]
        gate_type: GateType,
        answer: gate::Answer,
        /// A person, the fallback, or the runtime.
        by: Text,
        task: Option<TaskId>,
        workspace: Option<WorkspaceId>,
        envelope: Option<EnvelopeId>,
    },
    /// What became of an escalation.
    Escalation {
        signal: SignalId,
        answer: Response,
    },
    /// An envelope will not arrive.
    Undeliverable {
        envelope: EnvelopeId,
    },
    /// Something that the coordinator must decide about.
    Notice(Told),
}

/// An envelope; a request to finish has `intent` and `grace_us`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Letter {
    pub envelope: EnvelopeId,
    pub from: Option<WorkspaceId>,
    pub to: WorkspaceId,
    #[serde(rename = "type")]
    pub envelope_type: Text,
    pub origin: Origin,
    /// The person who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Text>,
    pub priority: Priority,
    pub in_reply_to: Option<EnvelopeId>,
    pub timestamp: Micros,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// How long the agent has to finish.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "length")]
    pub grace: Option<u64>,
    pub payload: Shown,
}

/// A notice, by its word and what it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Told {
    #[serde(rename = "type")]
    pub notice: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope: Option<EnvelopeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Text>,
    /// What that person caused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caused: Vec<WorkspaceId>,
}

fn length<S: serde::Serializer>(us: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match us {
        Some(us) => serializer.collect_str(&Length(*us)),
        None => serializer.serialize_none(),
    }
}

/// The item that an effect puts into a mailbox, and whose; `None` for what is no
/// mail, and for what the source does not have.
pub fn item(run: &Run, effect: &Effect, source: &dyn Source) -> Option<(WorkspaceId, Item)> {
    Some(match effect {
        Effect::Deliver { to, envelope } => (*to, Item::Envelope(letter(run, *envelope, source)?)),
        Effect::DeliverSignal { to, signal } => {
            let said = source.signal(*signal)?;
            let item = Item::Signal {
                signal: *signal,
                from: said.from,
                signal_type: said.signal_type,
                reason: said.reason,
                reference: said.reference,
            };
            (*to, item)
        }
        Effect::ReportUndeliverable { from, envelope } => {
            let envelope = *envelope;
            (*from, Item::Undeliverable { envelope })
        }
        Effect::ReportAnswer { to, gate, answer } => {
            let (asked, resolved) = source.gate(*gate)?;
            let item = Item::Gate {
                gate: *gate,
                gate_type: asked.gate_type,
                answer: *answer,
                by: match resolved.resolver {
                    Resolver::User(user) => person(run, user),
                    Resolver::Fallback => Text::from("fallback"),
                    Resolver::Protocol => Text::from("protocol"),
                },
                task: asked.task,
                workspace: asked.workspace,
                envelope: match asked.subject {
                    Subject::Envelope(envelope) => Some(envelope),
                    _ => None,
                },
            };
            (*to, item)
        }
        Effect::ReportEscalation {
            to,
            signal,
            response,
        } => {
            let item = Item::Escalation {
                signal: *signal,
                answer: *response,
            };
            (*to, item)
        }
        Effect::TellCoordinator(notice) => (WorkspaceId::ROOT, Item::Notice(told(run, notice))),
        Effect::TakeSnapshot { .. }
        | Effect::BindAgent { .. }
        | Effect::UnbindAgent { .. }
        | Effect::ShowGate { .. }
        | Effect::HideGate { .. }
        | Effect::ShowEscalation { .. }
        | Effect::HideEscalation { .. } => return None,
    })
}

fn letter(run: &Run, id: EnvelopeId, source: &dyn Source) -> Option<Letter> {
    let (timestamp, sent) = source.envelope(id)?;
    let name = |started: &crate::event::RunStarted| {
        Text::from(started.taxonomy.envelope_type_name(sent.envelope_type))
    };
    Some(Letter {
        envelope: id,
        from: sent.from,
        to: sent.to,
        envelope_type: run.started().map(name)?,
        origin: sent.origin,
        by: match (sent.origin, sent.originator) {
            (Origin::Human, Party::User(user)) => Some(person(run, user)),
            _ => None,
        },
        priority: sent.priority,
        in_reply_to: sent.in_reply_to,
        timestamp,
        intent: sent.intent,
        grace: sent.grace_us,
        payload: source.words(&sent.payload),
    })
}

fn person(run: &Run, user: UserId) -> Text {
    run.user(user)
        .map_or_else(|| Text::from("?"), |user| user.name.clone())
}

fn told(run: &Run, notice: &Notice) -> Told {
    let of = |notice| Told {
        notice,
        ..Told::default()
    };
    let workspace = |notice, id: &WorkspaceId| Told {
        workspace: Some(*id),
        ..of(notice)
    };
    let gate = |notice, id: &GateId| Told {
        gate: Some(*id),
        ..of(notice)
    };
    match notice {
        Notice::BudgetLow { workspace: id } => workspace("budget_low", id),
        Notice::Silent { workspace: id } => workspace("silent", id),
        Notice::Orphaned { workspace: id } => workspace("orphaned", id),
        Notice::OwnerGone { workspace: id } => workspace("owner_gone", id),
        Notice::GateRejected { gate: id } => gate("gate_rejected", id),
        Notice::GateHandedOver { gate: id } => gate("gate_handed_over", id),
        Notice::EscalationHandedOver { signal } => Told {
            signal: Some(*signal),
            ..of("escalation_handed_over")
        },
        Notice::UserChanged { user, caused } => Told {
            user: Some(person(run, *user)),
            caused: caused.clone(),
            ..of("user_changed")
        },
        Notice::Degraded => of("degraded"),
        Notice::CreationRejected => of("creation_rejected"),
        Notice::DeliveryExhausted { envelope } => Told {
            envelope: Some(*envelope),
            ..of("delivery_exhausted")
        },
    }
}
