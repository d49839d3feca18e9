//! Signals, envelopes, and the rights to send them.

use wacp::{
    Command, Principal,
    event::Reference,
    id::{EnvelopeId, WorkspaceId},
    right::RightKind,
    role::EnvelopeType,
    signal::SignalType,
    workspace::lifecycle::State,
};

use super::{Kind, kind};
use crate::player::{AT_WORK, Player, text};

pub const KINDS: &[Kind] = &[
    kind("emit", 130, emit),
    kind("send", 140, send),
    kind("acknowledge", 60, acknowledge),
    kind("create_right", 12, create_right),
    kind("revoke_right", 8, revoke_right),
];

fn emit(player: &mut Player<'_>) -> (Principal, Command) {
    let states = [
        State::Idle,
        State::Active,
        State::Active,
        State::Blocked,
        State::Suspended,
    ];
    let state = player.dice.pick(&states);
    let id = player.in_state(&[state]);
    let apt: &[SignalType] = match state {
        State::Idle => &[SignalType::Ready],
        State::Blocked => &[SignalType::Started, SignalType::Escalation],
        _ => &[
            SignalType::Started,
            SignalType::Blocked,
            SignalType::Complete,
            SignalType::Failed,
            SignalType::Escalation,
        ],
    };
    let mut signal = if player.dice.chance(75) {
        player.dice.pick(apt)
    } else {
        player.dice.pick(&SignalType::ALL)
    };
    // The root's failure ends the run: once in a while is enough.
    if id == WorkspaceId::ROOT && signal == SignalType::Failed && !player.dice.rarely(5) {
        signal = SignalType::Started;
    }
    let needs = signal.needs_reason() && !player.dice.chance(3);
    let reference = match player.dice.roll(20) {
        0 => Some(Reference::Workspace(player.workspace())),
        1 => {
            let last = player.run.next.envelopes + 1;
            Some(Reference::Envelope(EnvelopeId(player.dice.roll(last))))
        }
        _ => None,
    };
    let command = Command::Emit {
        signal,
        reason: (needs || player.dice.chance(10)).then(|| player.words("why")),
        reference,
    };
    (Principal::Agent(id), command)
}

fn send(player: &mut Player<'_>) -> (Principal, Command) {
    if player.dice.chance(60) {
        down(player)
    } else {
        up(player)
    }
}

/// A coordinator or a delegate writes to a workspace beneath it.
fn down(player: &mut Player<'_>) -> (Principal, Command) {
    let states = [State::Idle, State::Active, State::Blocked, State::Suspended];
    let to = player.in_state(&states);
    let kinds = [EnvelopeType::Directive, EnvelopeType::Feedback];
    let kind = player.dice.pick(&kinds);
    let new = player.envelope(to, kind);
    let parent = Principal::Agent(player.parent_of(to));
    let by = player.either(Principal::Coordinator, parent);
    (by, Command::Send(Box::new(new)))
}

/// A worker asks, mostly the coordinator.
fn up(player: &mut Player<'_>) -> (Principal, Command) {
    let from = player.in_state(&AT_WORK);
    let to = match player.dice.roll(10) {
        0..=4 => player.parent_of(from),
        5..=6 => WorkspaceId::ROOT,
        _ => player.workspace(),
    };
    let kind = player.dice.pick(&[
        EnvelopeType::Query,
        EnvelopeType::Query,
        EnvelopeType::Query,
        EnvelopeType::Registered(0),
        EnvelopeType::Registered(9),
    ]);
    let new = player.envelope(to, kind);
    (Principal::Agent(from), Command::Send(Box::new(new)))
}

fn acknowledge(player: &mut Player<'_>) -> (Principal, Command) {
    let unknown = EnvelopeId(player.dice.roll(player.run.next.envelopes + 2));
    let other = (player.workspace(), unknown);
    let (workspace, envelope) = player.one_of(player.run.inboxes.keys().copied(), other);
    let agent = Principal::Agent(workspace);
    let command = Command::Acknowledge {
        workspace,
        envelope,
    };
    (player.either(Principal::Runtime, agent), command)
}

fn right(player: &mut Player<'_>) -> RightKind {
    let kinds = [RightKind::Send, RightKind::SendOnce, RightKind::SendOnce];
    if player.dice.chance(5) {
        RightKind::Receive
    } else {
        player.dice.pick(&kinds)
    }
}

fn create_right(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::CreateRight {
        holder: player.workspace(),
        target: player.workspace(),
        kind: right(player),
    };
    (Principal::Coordinator, command)
}

fn revoke_right(player: &mut Player<'_>) -> (Principal, Command) {
    let run = player.run;
    let lasting = run.rights.keys().map(|pair| (*pair, RightKind::Send));
    let once = run.rights_once.keys();
    let held = lasting.chain(once.map(|pair| (*pair, RightKind::SendOnce)));
    let other = (player.workspace(), player.workspace());
    let other = (other, right(player));
    let ((holder, target), kind) = player.one_of(held, other);
    let command = Command::RevokeRight {
        holder,
        target,
        kind,
    };
    (Principal::Coordinator, command)
}

/// A signal as its agent would emit it.
pub(crate) fn emission(signal: SignalType) -> Command {
    Command::Emit {
        signal,
        reason: signal.needs_reason().then(|| text("why")),
        reference: None,
    }
}
