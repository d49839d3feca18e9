//! An agent needs a person: routed to the owner, answered in one of three ways,
//! or by the fallback (WACP §8.1).
//!
//! The owner's state decides at the boundary: active is shown, suspended and
//! blocked wait while the time runs, deactivated is refused and the coordinator
//! is told. A plain "no" never aborts anything.

use serde::{Deserialize, Serialize};
use trail::Micros;

use crate::{
    command::Principal,
    content::Content,
    envelope::{self, NewEnvelope},
    event::{
        Actor, CapabilityDenied, Entry, EscalationReceived, EscalationResolved, EscalationTimeout,
        Event, Holder, Reference, Resolver,
    },
    id::{Party, SignalId, WorkspaceId},
    rejection::Refusal,
    role::{
        EnvelopeType, Text,
        delegation::{Act, deny, forbid},
    },
    signal::{self, SignalType},
    stage::{Decision, Stage},
    state::{Run, Slot},
    user::{self, Capability, UserState},
    workspace::{Deadline, end, lifecycle::Reason},
};

/// The word under which an escalation to someone who has left is recorded.
pub const ACTION: &str = "escalate";

/// What happens when nobody answers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    Approve,
    Reject,
    DelegateToCoordinator,
}

/// A person's answer: three distinct choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Words for the agent.
    Envelope {
        envelope_type: EnvelopeType,
        payload: Content,
    },
    Abort,
    Delegate,
}

/// How an escalation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    Envelope,
    Abort,
    Delegation,
    /// By fallback: go on as you think best.
    Approved,
    /// By fallback: the answer is no; the workspace stays as it is.
    Rejected,
    /// The workspace ended.
    Invalidated,
}

impl Response {
    /// Whether the coordinator has to deal with it now.
    pub fn is_handed_over(self) -> bool {
        matches!(self, Response::Delegation | Response::Rejected)
    }
}

/// An open escalation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    pub workspace: WorkspaceId,
    pub received: Micros,
    pub timeout_at: Option<Micros>,
    pub fallback: Fallback,
}

/// Open escalations of one workspace; an agent that asks more is not waiting.
pub const MAX_OPEN: usize = 16;

/// An agent's escalation signal.
pub fn escalate(
    stage: &mut Stage<'_>,
    principal: Principal,
    from: WorkspaceId,
    reason: Option<Text>,
    reference: Option<Reference>,
) -> Decision {
    let run = stage.before();
    let setting = run
        .started()
        .map(|started| started.highway.escalation)
        .ok_or(Refusal::NotStarted)?;
    if !setting.enabled {
        let denial = (Refusal::EscalationDisabled, None);
        stage.action = ACTION;
        return Err(deny(stage, principal, Some(from), denial));
    }
    if run
        .open(from)
        .is_some_and(|open| open.escalations.len() >= MAX_OPEN)
    {
        return Err(Refusal::GatePending);
    }
    let signal = signal::say(
        stage,
        from,
        SignalType::Escalation,
        reason.clone(),
        reference,
    );
    let owner = run.workspace(from).map_or(Party::System, Slot::owner);
    let person = owner
        .user()
        .and_then(|user| Some((user, run.user(user)?.state)));
    if let Some((user, UserState::Deactivated)) = person {
        stage.push_protocol(
            Some(from),
            CapabilityDenied {
                action: Text::from(ACTION),
                capability: None,
                holder: Some(Holder::User(user)),
                reason: Refusal::UserNotActive,
                target: Some(from),
            },
        );
        return Ok(());
    }
    let queued = matches!(person, Some((_, UserState::Suspended | UserState::Blocked)));
    let timeout_at = setting
        .timeout_us
        .map(|us| Micros(stage.next_time().0.saturating_add(us as i64)));
    stage.push_protocol(
        Some(from),
        EscalationReceived {
            fallback: setting.fallback,
            owner,
            queued,
            reason,
            signal,
            timeout_at,
            workspace: from,
        },
    );
    Ok(())
}

/// A person answers.
pub fn answer(
    stage: &mut Stage<'_>,
    principal: Principal,
    signal: SignalId,
    answer: &Answer,
) -> Decision {
    let Principal::User(user) = principal else {
        return Err(forbid(stage, principal, None));
    };
    let run = stage.before();
    let escalation = run
        .escalations
        .get(&signal)
        .ok_or(Refusal::UnknownEscalation)?;
    let id = escalation.workspace;
    let owner = run.workspace(id).map(Slot::owner);
    // The owner may always answer, others with the capability for any workspace;
    // an abort is an abort and needs what every abort needs.
    let (own, any) = match answer {
        Answer::Abort => Act::Abort.capabilities(),
        // To answer is to give feedback; anything else is to direct.
        Answer::Envelope { envelope_type, .. } if *envelope_type != EnvelopeType::Feedback => (
            Some(Capability::InjectDirective),
            Some(Capability::InjectDirectiveAny),
        ),
        _ => (
            Some(Capability::ViewTrailOwn),
            Some(Capability::InjectDirectiveAny),
        ),
    };
    user::check(run, user, own, any, owner)
        .map_err(|denial| deny(stage, principal, Some(id), denial))?;
    stage.actor = Actor::User(user);
    // Answered, whatever the answer leads to.
    stage.settle_escalation(signal);
    let mut sent = None;
    let response = match answer {
        Answer::Envelope {
            envelope_type,
            payload,
        } => {
            // What a person writes comes without a proof: their sign-in is it.
            let new = NewEnvelope {
                proof: None,
                ..NewEnvelope::to(id, *envelope_type, *payload)
            };
            // Feedback was asked for; anything else is of their own accord.
            let may = match envelope_type {
                EnvelopeType::Feedback => Ok(()),
                _ => envelope::send::may_inject(run),
            };
            let allowed = may.and_then(|()| envelope::send::check_words(run, &new));
            allowed.map_err(|refusal| envelope::send::not_injected(stage, user, &new, refusal))?;
            sent = Some(envelope::send::injected(stage, user, &new));
            Response::Envelope
        }
        Answer::Abort => Response::Abort,
        Answer::Delegate => Response::Delegation,
    };
    stage.push(
        Some(id),
        EscalationResolved {
            envelope: sent,
            resolver: Resolver::User(user),
            response,
            signal,
            workspace: id,
        },
    );
    if response == Response::Abort {
        end::fail(stage, id, Reason::AbortedByHuman);
    }
    Ok(())
}

/// Nobody answered in time.
pub fn time_out(stage: &mut Stage<'_>, signal: SignalId) {
    let Some(escalation) = stage.before().escalations.get(&signal) else {
        return;
    };
    let id = escalation.workspace;
    let elapsed_us = u64::try_from(stage.now.0 - escalation.received.0).unwrap_or(0);
    stage.push(
        Some(id),
        EscalationTimeout {
            elapsed_us,
            fallback: escalation.fallback,
            signal,
            workspace: id,
        },
    );
    let response = match escalation.fallback {
        Fallback::Approve => Response::Approved,
        Fallback::Reject => Response::Rejected,
        Fallback::DelegateToCoordinator => Response::Delegation,
    };
    stage.push(
        Some(id),
        EscalationResolved {
            envelope: None,
            resolver: Resolver::Fallback,
            response,
            signal,
            workspace: id,
        },
    );
}

/// The workspace ended; nobody needs to answer.
pub fn invalidate(stage: &mut Stage<'_>, signal: SignalId) {
    let Some(escalation) = stage.escalation(signal) else {
        return;
    };
    stage.push_protocol(
        Some(escalation.workspace),
        EscalationResolved {
            envelope: None,
            resolver: Resolver::Protocol,
            response: Response::Invalidated,
            signal,
            workspace: escalation.workspace,
        },
    );
}

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    match &entry.event {
        Event::EscalationReceived(e) => {
            if let Some(at) = e.timeout_at {
                run.deadlines.insert((at, Deadline::Escalation(e.signal)));
            }
            run.escalations.insert(
                e.signal,
                Escalation {
                    workspace: e.workspace,
                    received: entry.time,
                    timeout_at: e.timeout_at,
                    fallback: e.fallback,
                },
            );
            if let Some(open) = run.open_mut(e.workspace) {
                open.escalations.push(e.signal);
            }
        }
        Event::EscalationResolved(e) => {
            let Some(escalation) = run.escalations.remove(&e.signal) else {
                return;
            };
            if let Some(at) = escalation.timeout_at {
                run.deadlines.remove(&(at, Deadline::Escalation(e.signal)));
            }
            if let Some(open) = run.open_mut(e.workspace) {
                open.escalations.retain(|known| *known != e.signal);
            }
        }
        _ => {}
    }
}
