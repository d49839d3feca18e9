//! Port rights: who may write to whom (WACP §5.6).
//!
//! Nothing is sent without one. A receive right belongs to its workspace for
//! ever; a send right is copied when it travels in an envelope; a send-once
//! right moves, and is gone when used.

use serde::{Deserialize, Serialize};

use crate::{
    command::Principal,
    event::{Entry, Event, PortRightCreated, PortRightRevoked, PortRightTransferred},
    id::{RightId, WorkspaceId},
    rejection::Refusal,
    role::{Role, delegation::coordinator_only},
    stage::{Decision, Stage},
    state::{Run, Slot},
};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RightKind {
    Send,
    Receive,
    SendOnce,
}

/// Send-once rights one workspace can hold towards another.
const MAX_ONCE: usize = 1024;

/// The right a send would use: a lasting one before one that is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Send,
    Once(RightId),
}

pub fn usable(run: &Run, holder: WorkspaceId, target: WorkspaceId) -> Option<Use> {
    if run.rights.contains_key(&(holder, target)) {
        return Some(Use::Send);
    }
    oldest(run, holder, target).map(Use::Once)
}

fn oldest(run: &Run, holder: WorkspaceId, target: WorkspaceId) -> Option<RightId> {
    run.rights_once.get(&(holder, target))?.first().copied()
}

/// The right of this kind that the holder would use or give away.
fn held(run: &Run, holder: WorkspaceId, target: WorkspaceId, kind: RightKind) -> Option<RightId> {
    match kind {
        RightKind::Send => run.rights.get(&(holder, target)).copied(),
        RightKind::SendOnce => oldest(run, holder, target),
        RightKind::Receive => None,
    }
}

/// Whether the holder has a right of this kind to give away.
pub fn holds(run: &Run, holder: WorkspaceId, target: WorkspaceId, kind: RightKind) -> bool {
    held(run, holder, target, kind).is_some()
}

/// Records a new right.
pub fn create(stage: &mut Stage<'_>, holder: WorkspaceId, target: WorkspaceId, kind: RightKind) {
    let right = stage.new_right();
    stage.push(
        Some(holder),
        PortRightCreated {
            holder,
            kind,
            right,
            target,
        },
    );
}

/// Who directs whatever hangs under `parent` and is asked by it: the
/// coordinator, and every delegate on the way down (WACP §5.4, §5.5).
pub fn superiors(run: &Run, parent: WorkspaceId) -> Vec<WorkspaceId> {
    let mut found = vec![WorkspaceId::ROOT];
    let mut at = Some(parent);
    while let Some(id) = at {
        if run.open(id).is_some_and(|open| open.delegate) {
            found.push(id);
        }
        at = run.workspace(id).and_then(Slot::parent);
    }
    found
}

/// The rights that the matrix gives the two at the beginning, each unless it is
/// held already.
pub fn connect(stage: &mut Stage<'_>, superior: WorkspaceId, id: WorkspaceId, role: Role) {
    let run = stage.before();
    let Some(permissions) = run.permissions(role) else {
        return;
    };
    if !permissions.receive.is_empty() && !run.rights.contains_key(&(superior, id)) {
        create(stage, superior, id, RightKind::Send);
    }
    if !permissions.send.is_empty() && !run.rights.contains_key(&(id, superior)) {
        create(stage, id, superior, RightKind::Send);
    }
}

/// The coordinator opens a way.
pub fn grant(
    stage: &mut Stage<'_>,
    principal: Principal,
    holder: WorkspaceId,
    target: WorkspaceId,
    kind: RightKind,
) -> Decision {
    coordinator_only(stage, principal, Some(holder))?;
    both_open(stage.before(), holder, target)?;
    if kind == RightKind::Receive {
        return Err(Refusal::ReceiveRightFixed);
    }
    let key = (holder, target);
    let once = stage.before().rights_once.get(&key);
    match kind {
        // A second lasting right would say nothing new.
        RightKind::Send if stage.before().rights.contains_key(&key) => return Ok(()),
        RightKind::SendOnce if once.is_some_and(|once| once.len() >= MAX_ONCE) => {
            return Err(Refusal::CapacityExhausted);
        }
        _ => {}
    }
    create(stage, holder, target, kind);
    Ok(())
}

/// The coordinator closes a way, at once; what is under way still arrives.
pub fn revoke(
    stage: &mut Stage<'_>,
    principal: Principal,
    holder: WorkspaceId,
    target: WorkspaceId,
    kind: RightKind,
) -> Decision {
    coordinator_only(stage, principal, Some(holder))?;
    if kind == RightKind::Receive {
        return Err(Refusal::ReceiveRightFixed);
    }
    let key = (holder, target);
    let rights: Vec<RightId> = match kind {
        RightKind::Send => stage
            .before()
            .rights
            .get(&key)
            .copied()
            .into_iter()
            .collect(),
        _ => stage
            .before()
            .rights_once
            .get(&key)
            .cloned()
            .unwrap_or_default(),
    };
    if rights.is_empty() {
        return Err(Refusal::NoSendRight);
    }
    for right in rights {
        stage.push(
            Some(holder),
            PortRightRevoked {
                holder,
                kind,
                right,
                target,
            },
        );
    }
    Ok(())
}

fn both_open(run: &Run, a: WorkspaceId, b: WorkspaceId) -> Result<(), Refusal> {
    for id in [a, b] {
        match (run.workspace(id), run.open(id)) {
            (None, _) => return Err(Refusal::TargetNotFound),
            (_, None) => return Err(Refusal::TargetTerminal),
            _ => {}
        }
    }
    Ok(())
}

/// A right travels with a delivered envelope, if the sender still has it.
pub fn transfer(
    stage: &mut Stage<'_>,
    from: WorkspaceId,
    to: WorkspaceId,
    kind: RightKind,
    target: WorkspaceId,
) {
    let right = match kind {
        // One that was used or given away a moment ago is not held any more.
        RightKind::SendOnce => {
            let held = stage.before().rights_once.get(&(from, target));
            let mut held = held.into_iter().flatten().copied();
            held.find(|right| !stage.is_spent(*right))
        }
        kind => held(stage.before(), from, target, kind),
    };
    let usable = stage
        .state_of(target)
        .is_some_and(|state| !state.is_terminal());
    if let Some(right) = right.filter(|_| usable) {
        stage.push_protocol(
            Some(from),
            PortRightTransferred {
                from,
                kind,
                right,
                target,
                to,
            },
        );
    }
}

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    match &entry.event {
        Event::PortRightCreated(e) => {
            run.next.rights = run.next.rights.max(e.right.0.saturating_add(1));
            add(run, e.holder, e.target, e.kind, e.right);
        }
        Event::PortRightTransferred(e) => {
            if e.kind == RightKind::SendOnce {
                remove(run, e.from, e.target, e.right);
            }
            add(run, e.to, e.target, e.kind, e.right);
        }
        Event::PortRightRevoked(e) => remove(run, e.holder, e.target, e.right),
        Event::PortRightConsumed(e) => remove(run, e.holder, e.target, e.right),
        _ => {}
    }
}

fn add(run: &mut Run, holder: WorkspaceId, target: WorkspaceId, kind: RightKind, right: RightId) {
    if kind == RightKind::Receive || run.open(holder).is_none() {
        return;
    }
    if run.open(target).is_none() {
        return;
    }
    run.right_holders.insert((target, holder));
    let key = (holder, target);
    match kind {
        RightKind::Send => {
            run.rights.entry(key).or_insert(right);
        }
        _ => run.rights_once.entry(key).or_default().push(right),
    }
}

pub(crate) fn remove(run: &mut Run, holder: WorkspaceId, target: WorkspaceId, right: RightId) {
    let key = (holder, target);
    if run.rights.get(&key) == Some(&right) {
        run.rights.remove(&key);
    }
    if let Some(once) = run.rights_once.get_mut(&key) {
        once.retain(|known| *known != right);
        if once.is_empty() {
            run.rights_once.remove(&key);
        }
    }
    if !run.rights.contains_key(&key) && !run.rights_once.contains_key(&key) {
        run.right_holders.remove(&(target, holder));
    }
}

/// Drops all rights of and to a workspace that has ended.
pub(crate) fn forget(run: &mut Run, id: WorkspaceId) {
    let of = |id| (id, WorkspaceId(0))..=(id, WorkspaceId(u32::MAX));
    let holders: Vec<WorkspaceId> = run
        .right_holders
        .range(of(id))
        .map(|(_, holder)| *holder)
        .collect();
    for holder in holders {
        run.rights.remove(&(holder, id));
        run.rights_once.remove(&(holder, id));
        run.right_holders.remove(&(id, holder));
    }
    let lasting = run.rights.range(of(id)).map(|((_, target), _)| *target);
    let once = run
        .rights_once
        .range(of(id))
        .map(|((_, target), _)| *target);
    let targets: Vec<WorkspaceId> = lasting.chain(once).collect();
    for target in targets {
        run.rights.remove(&(id, target));
        run.rights_once.remove(&(id, target));
        run.right_holders.remove(&(target, id));
    }
}
