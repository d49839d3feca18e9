//! From a sender's wish to an accepted envelope, or to a recorded refusal.

use std::sync::Arc;

use super::{Intent, MAX_RIGHTS, MAX_WAITING, NewEnvelope, Priority, Sender, delivery};
use crate::{
    command::Principal,
    content::Content,
    event::{Damaged, EnvelopeCreated, EnvelopeRejected, HumanInjection, PortRightConsumed},
    gate::{self, GateType, Proposal, Subject, Verdict},
    id::{EnvelopeId, Party, UserId, WorkspaceId},
    integrity::{self, Check, Proof},
    rejection::Refusal,
    right::{self, RightKind, Use},
    role::{
        BaseRole, EnvelopeType,
        delegation::{deny, forbid},
    },
    stage::{Decision, Stage},
    state::{Run, Slot},
    user::{self, Capability},
    workspace::lifecycle::{Inbox, State},
};

/// An agent sends an envelope.
pub fn send(stage: &mut Stage<'_>, principal: Principal, new: &NewEnvelope) -> Decision {
    let from = match principal {
        Principal::Coordinator => WorkspaceId::ROOT,
        Principal::Agent(id) => id,
        _ => {
            return Err(forbid(stage, principal, Some(new.to)));
        }
    };
    check_sent(stage.before(), from, new)
        .map_err(|refusal| turn_away(stage, from, new, refusal))?;
    dispatch(stage, from, new, None)
}

/// Records that an agent's envelope was not accepted; returns the refusal.
#[must_use]
pub fn turn_away(
    stage: &mut Stage<'_>,
    from: WorkspaceId,
    new: &NewEnvelope,
    refusal: Refusal,
) -> Refusal {
    if refusal == Refusal::IntegrityViolation {
        integrity::violation(stage, from, Damaged::NewEnvelope);
    }
    let place = stage.before().workspace(from).map(|_| from);
    stage.push_protocol(place, rejected(None, Some(from), new, refusal));
    refusal
}

/// Sends what was checked, on the right that it uses. With a period, it is the
/// request to wind down.
pub fn dispatch(
    stage: &mut Stage<'_>,
    from: WorkspaceId,
    new: &NewEnvelope,
    grace_us: Option<u64>,
) -> Decision {
    let run = stage.before();
    let used = check_sent(run, from, new)?;
    let originator = run.workspace(from).map_or(Party::System, Slot::originator);
    let post = Post {
        sender: Sender::Workspace(from),
        to: new.to,
        envelope_type: new.envelope_type,
        payload: new.payload,
        priority: new.priority,
        in_reply_to: new.in_reply_to,
        originator,
        rights: new.rights.clone(),
        proof: new.proof,
        grace_us,
    };
    accept(stage, post, used)?;
    Ok(())
}

fn rejected(
    envelope: Option<EnvelopeId>,
    from: Option<WorkspaceId>,
    new: &NewEnvelope,
    reason: Refusal,
) -> EnvelopeRejected {
    EnvelopeRejected {
        envelope,
        envelope_type: new.envelope_type,
        from,
        reason,
        to: new.to,
    }
}

/// Everything an agent's envelope must satisfy; gives the right it uses.
pub fn check_sent(run: &Run, from: WorkspaceId, new: &NewEnvelope) -> Result<Use, Refusal> {
    let sender = run.open(from).ok_or(match run.workspace(from) {
        Some(_) => Refusal::PermissionDenied,
        None => Refusal::TargetNotFound,
    })?;
    if new.check == Check::Invalid || new.proof.is_none() {
        return Err(Refusal::IntegrityViolation);
    }
    let speaks = match sender.state {
        State::Active | State::Blocked => true,
        State::Idle => from == WorkspaceId::ROOT,
        _ => false,
    };
    if !speaks {
        return Err(Refusal::PermissionDenied);
    }
    check_shape(run, new)?;
    check_target(run, new.to)?;
    if !permitted(run, from, new.to, new.envelope_type) {
        return Err(Refusal::PermissionDenied);
    }
    for (kind, target) in new.rights.iter() {
        if *kind == RightKind::Receive {
            return Err(Refusal::ReceiveRightFixed);
        }
        if !right::holds(run, from, *target, *kind) {
            return Err(Refusal::NoSendRight);
        }
    }
    right::usable(run, from, new.to).ok_or(Refusal::NoSendRight)
}

/// Structure and type, for agents and people alike.
fn check_shape(run: &Run, new: &NewEnvelope) -> Result<(), Refusal> {
    let started = run.started().ok_or(Refusal::NotStarted)?;
    if !started.taxonomy.has_envelope_type(new.envelope_type) {
        return Err(Refusal::InvalidType);
    }
    let replies = new.in_reply_to.is_none_or(|id| id.0 < run.next.envelopes);
    if !new.payload.is_acceptable() || new.rights.len() > MAX_RIGHTS || !replies {
        return Err(Refusal::InvalidStructure);
    }
    Ok(())
}

fn check_target(run: &Run, to: WorkspaceId) -> Result<(), Refusal> {
    let waiting = run.open(to).map_or(0, |open| open.hindrances);
    if waiting >= MAX_WAITING {
        return Err(Refusal::CapacityExhausted);
    }
    match run.state_of(to).map(State::inbox) {
        None => Err(Refusal::TargetNotFound),
        Some(Inbox::Gone) => Err(Refusal::TargetTerminal),
        Some(Inbox::Sealed) => Err(Refusal::WorkspaceSealed),
        Some(Inbox::Open | Inbox::Queueing) => Ok(()),
    }
}

/// WACP §5.5. A role's send types bind always; who is reached is the right's
/// matter, except that observers are written to by nobody, and nobody is
/// written what was taken from its role. A delegate directs its whole subtree
/// and is asked by it.
pub fn permitted(run: &Run, from: WorkspaceId, to: WorkspaceId, kind: EnvelopeType) -> bool {
    let (Some(sender), Some(receiver)) = (run.open(from), run.open(to)) else {
        return false;
    };
    let (Some(sends), Some(receives)) =
        (run.permissions(sender.role), run.permissions(receiver.role))
    else {
        return false;
    };
    if receives.base == BaseRole::Observer || receives.lost(kind) {
        return false;
    }
    let directs = sender.delegate
        && matches!(kind, EnvelopeType::Directive | EnvelopeType::Feedback)
        && run.is_beneath(to, from);
    directs || sends.may_send(kind)
}

/// An envelope whose sender, type and target are beyond doubt.
#[derive(Clone, Debug)]
pub struct Post {
    pub sender: Sender,
    pub to: WorkspaceId,
    pub envelope_type: EnvelopeType,
    pub payload: Content,
    pub priority: Priority,
    pub in_reply_to: Option<EnvelopeId>,
    pub originator: Party,
    pub rights: Arc<[(RightKind, WorkspaceId)]>,
    pub proof: Option<Proof>,
    /// Set in the request to wind down: how long the receiver has.
    pub grace_us: Option<u64>,
}

/// Accepts and, if the way is free, delivers; no gate is asked.
pub fn post(stage: &mut Stage<'_>, post: Post) -> EnvelopeId {
    let (envelope, to) = (stage.new_envelope(), post.to);
    let (sender, bytes, rights) = (post.sender, post.payload.bytes, post.rights.clone());
    create(stage, envelope, post);
    if delivery::is_free(stage, to, sender) {
        delivery::deliver(stage, to, envelope, sender, bytes, &rights, None);
    }
    envelope
}

fn create(stage: &mut Stage<'_>, envelope: EnvelopeId, post: Post) {
    let from = post.sender.workspace();
    stage.push(
        from.or(Some(post.to)),
        Box::new(EnvelopeCreated {
            envelope,
            from,
            grace_us: post.grace_us,
            in_reply_to: post.in_reply_to,
            intent: post.grace_us.map(|_| Intent::GracefulTermination),
            origin: post.sender.origin(),
            originator: post.originator,
            payload: post.payload,
            priority: post.priority,
            proof: post.proof,
            rights: post.rights,
            to: post.to,
            envelope_type: post.envelope_type,
        }),
    );
}

/// Accepts, uses up the right, asks the gate, delivers.
fn accept(stage: &mut Stage<'_>, post: Post, used: Use) -> Result<EnvelopeId, Refusal> {
    let (sender, to) = (post.sender, post.to);
    let (bytes, rights) = (post.payload.bytes, post.rights.clone());
    let envelope = stage.new_envelope();
    let once = match used {
        Use::Once(right) => Some(right),
        _ => None,
    };
    let proposal = Proposal::EnvelopeDelivery {
        envelope,
        envelope_type: post.envelope_type,
        from: sender.workspace(),
        in_reply_to: post.in_reply_to,
        payload: post.payload,
        priority: post.priority,
        rights: post.rights.clone(),
        to,
    };
    create(stage, envelope, post);
    if let (Some(right), Some(holder)) = (once, sender.workspace()) {
        stage.push_protocol(
            Some(holder),
            PortRightConsumed {
                envelope,
                holder,
                right,
                target: to,
            },
        );
    }
    match gate::guard(
        stage,
        GateType::EnvelopeDelivery,
        Subject::Envelope(envelope),
        proposal,
    )? {
        Verdict::Paused => {}
        Verdict::Proceed => {
            if delivery::is_free(stage, to, sender) {
                delivery::deliver(stage, to, envelope, sender, bytes, &rights, None);
            }
        }
    }
    Ok(envelope)
}

/// A person writes to any workspace. Only the check of the sender's role falls
/// away (WACP §8.1).
pub fn inject(stage: &mut Stage<'_>, principal: Principal, new: &NewEnvelope) -> Decision {
    let Principal::User(user) = principal else {
        return Err(forbid(stage, principal, Some(new.to)));
    };
    let run = stage.before();
    let owner = match new.to {
        // To speak to the coordinator is to ask, not to direct.
        WorkspaceId::ROOT => Some(Party::User(user)),
        to => run.workspace(to).map(Slot::owner),
    };
    let allowed = user::check(
        run,
        user,
        Some(Capability::InjectDirective),
        Some(Capability::InjectDirectiveAny),
        owner,
    );
    allowed.map_err(|denial| deny(stage, principal, Some(new.to), denial))?;
    stage.actor = crate::event::Actor::User(user);
    check_injection(run, new).map_err(|refusal| not_injected(stage, user, new, refusal))?;
    injected(stage, user, new);
    Ok(())
}

/// Records that a person's envelope was not accepted; returns the refusal.
#[must_use]
pub fn not_injected(
    stage: &mut Stage<'_>,
    user: UserId,
    new: &NewEnvelope,
    refusal: Refusal,
) -> Refusal {
    if refusal == Refusal::IntegrityViolation {
        integrity::violation(stage, new.to, Damaged::NewEnvelope);
    }
    let place = stage.before().workspace(new.to).map(|_| new.to);
    stage.push(
        place,
        HumanInjection {
            envelope: None,
            envelope_type: new.envelope_type,
            rejected: Some(refusal),
            to: new.to,
            user,
        },
    );
    refusal
}

fn check_injection(run: &Run, new: &NewEnvelope) -> Result<(), Refusal> {
    may_inject(run)?;
    check_words(run, new)
}

/// Whether people may write of their own accord.
pub fn may_inject(run: &Run) -> Result<(), Refusal> {
    match run
        .started()
        .is_some_and(|started| started.highway.injection)
    {
        true => Ok(()),
        false => Err(Refusal::InjectionDisabled),
    }
}

/// Everything a person's envelope must satisfy, asked for or not.
pub fn check_words(run: &Run, new: &NewEnvelope) -> Result<(), Refusal> {
    check_shape(run, new)?;
    // People hold no rights to pass on.
    if !new.rights.is_empty() {
        return Err(Refusal::InvalidStructure);
    }
    check_target(run, new.to)?;
    if new.check == Check::Invalid {
        return Err(Refusal::IntegrityViolation);
    }
    if !reads(run, new.to, new.envelope_type) {
        return Err(Refusal::PermissionDenied);
    }
    Ok(())
}

/// Whether a role still reads what its base reads; a person writes to no other.
fn reads(run: &Run, to: WorkspaceId, kind: EnvelopeType) -> bool {
    let role = run.workspace(to).map(Slot::role);
    let receives = role.and_then(|role| run.permissions(role));
    receives.is_none_or(|receives| !receives.lost(kind))
}

/// Records an accepted injection and sends it on its way, past no gate: the
/// person is the highway.
pub fn injected(stage: &mut Stage<'_>, user: UserId, new: &NewEnvelope) -> EnvelopeId {
    let envelope = post(
        stage,
        Post {
            sender: Sender::User(user),
            to: new.to,
            envelope_type: new.envelope_type,
            payload: new.payload,
            priority: new.priority,
            in_reply_to: new.in_reply_to,
            originator: Party::User(user),
            rights: Arc::from([]),
            proof: new.proof,
            grace_us: None,
        },
    );
    stage.push(
        Some(new.to),
        HumanInjection {
            envelope: Some(envelope),
            envelope_type: new.envelope_type,
            rejected: None,
            to: new.to,
            user,
        },
    );
    envelope
}
