//! After a stop the trail says what is; this makes the run whole again.
//!
//! Five steps, in order: the entries are examined, the state is rebuilt from
//! those that are sound, what was under way is taken up, timers stand again,
//! and the clock goes on beyond the trail (WACP §10.2–10.4). Doing it twice
//! changes nothing more than doing it once.
//!
//! The order `Recover` is the first of a run after any stop, clean or not. It
//! leaves one entry, `recovery_completed`, or none where nothing was lost: no
//! entry and no time.

use std::sync::Arc;

use crate::{
    apply,
    command::Principal,
    envelope::{self, Progress},
    event::{
        Actor, CapabilityGranted, Entry, Event, Holder, RecoveryCompleted, Scope, SystemDegraded,
    },
    id::{Party, TaskId, UserId, WorkspaceId},
    integration::Mode,
    rejection::Refusal,
    role::{Text, delegation::runtime_only},
    signal,
    stage::{Decision, Stage},
    state::Run,
    workspace::{
        LARGEST, LONGEST_US, is_long,
        lifecycle::{State, is_allowed},
    },
};

pub mod downtime;
mod finish;

/// One unsound entry in so many is damage; more is a broken trail.
const TOLERATED_IN: u64 = 100;
/// So many are always tolerated.
const TOLERATED: u64 = 16;

/// Entries that were set aside leave gaps in the numbers; no larger ones than
/// this.
const LARGEST_GAP: u64 = 1 << 16;

/// A run rebuilt from a trail.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    pub run: Run,
    pub examined: u64,
    /// Which of the examined entries were set aside, counted from 0.
    pub quarantined: Vec<u64>,
}

/// Only a broken trail stops everything (WACP §10.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    #[error("the trail does not begin with the creation of the root")]
    NoBeginning,
    #[error("the creation of a workspace, person, plan or task is missing before entry {0}")]
    LostCreation(u64),
    #[error("{0} of {1} entries are unsound")]
    TooMuchDamage(u64, u64),
}

/// Steps 1 and 2: examines every entry of a trail and applies the sound ones.
pub fn rebuild<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Rebuilt, Halt> {
    resume(Run::default(), entries)
}

/// The same from a snapshot on: examines the entries after it.
pub fn resume<'a>(
    snapshot: Run,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Rebuilt, Halt> {
    let mut rebuilt = Rebuilt {
        run: snapshot,
        examined: 0,
        quarantined: Vec::new(),
    };
    for entry in entries {
        let at = rebuilt.examined;
        rebuilt.examined += 1;
        if rebuilt.run.setup.is_none() && !is_beginning(entry) {
            return Err(Halt::NoBeginning);
        }
        if names_lost(&rebuilt.run, entry) {
            return Err(Halt::LostCreation(at));
        }
        if is_sound(&rebuilt.run, entry) {
            apply(&mut rebuilt.run, entry);
        } else {
            rebuilt.quarantined.push(at);
        }
    }
    let damaged = rebuilt.quarantined.len() as u64;
    if rebuilt.run.setup.is_none() {
        return Err(Halt::NoBeginning);
    }
    if damaged > TOLERATED.max(rebuilt.examined / TOLERATED_IN) {
        return Err(Halt::TooMuchDamage(damaged, rebuilt.examined));
    }
    Ok(rebuilt)
}

fn is_beginning(entry: &Entry) -> bool {
    matches!(&entry.event, Event::WorkspaceCreated(e)
        if e.workspace == WorkspaceId::ROOT && e.run.is_some() && e.parent.is_none())
}

/// Whether an entry rests on a creation that is missing. The number of what was
/// lost would be given out again, with everything that hangs on it: a person's
/// workspaces, for one.
fn names_lost(run: &Run, entry: &Entry) -> bool {
    let is_lost = |number: u32, known: usize| number as usize >= known;
    let stranger = |party: Party| {
        let user = party.user();
        user.is_some_and(|user| is_lost(user.0, run.users.len()))
    };
    if let Actor::User(user) = entry.actor
        && is_lost(user.0, run.users.len())
    {
        return true;
    }
    let person = |user: UserId| stranger(Party::User(user));
    let work = |task: TaskId| is_lost(task.0, run.tasks.len());
    match &entry.event {
        Event::CapabilityGranted(CapabilityGranted {
            holder: Holder::User(user),
            ..
        }) => person(*user),
        Event::CapabilityRevoked(e) => person(e.user),
        Event::AuthenticationSucceeded(e) => person(e.user),
        Event::UserSuspended(e) => person(e.user),
        Event::UserBlocked(e) => person(e.user),
        Event::UserDeactivated(e) => person(e.user),
        Event::TaskApproved(e) => work(e.task),
        Event::TaskAssigned(e) => work(e.task),
        Event::TaskStatusChanged(e) => work(e.task),
        Event::WorkspaceCreated(e) => {
            e.workspace.0 as usize > run.workspaces.len()
                || stranger(e.owner)
                || stranger(e.originator)
                || e.task.is_some_and(work)
        }
        Event::WorkspaceOwnershipTransferred(e) => person(e.to_user),
        Event::EnvelopeCreated(e) => stranger(e.originator),
        Event::UserCreated(e) => e.user.0 as usize > run.users.len(),
        Event::GraphCreated(e) => e.graph.0 as usize > run.graphs.len(),
        Event::TaskCreated(e) => {
            e.task.0 as usize > run.tasks.len() || is_lost(e.graph.0, run.graphs.len())
        }
        // The next number is given out next; one far beyond is only nonsense.
        _ => {
            let next = run.workspaces.len();
            entry.workspace.is_some_and(|id| id.0 as usize == next)
        }
    }
}

/// Whether an entry can stand after those before it: later in time, about
/// things that exist, and along the transition table.
pub fn is_sound(run: &Run, entry: &Entry) -> bool {
    if run.entries > 0 && entry.time <= run.clock {
        return false;
    }
    let known = |id: WorkspaceId| (id.0 as usize) < run.workspaces.len();
    // Numbers go on from where they are.
    let follows = |number: u64, next: u64| (next..next + LARGEST_GAP).contains(&number);
    match &entry.event {
        Event::WorkspaceCreated(e) => {
            e.workspace.0 as usize == run.workspaces.len()
                && e.parent.is_none_or(known)
                && (e.run.is_some() == (e.workspace == WorkspaceId::ROOT))
        }
        Event::WorkspaceStateChanged(e) => {
            run.state_of(e.workspace) == Some(e.from_state)
                && is_allowed(Some(e.from_state), e.to_state, e.trigger)
        }
        Event::WorkspaceReparented(e) => {
            known(e.workspace)
                && known(e.new_parent)
                && e.new_parent != e.workspace
                && !run.is_beneath(e.new_parent, e.workspace)
        }
        Event::TaskCreated(e) => e.task.0 as usize == run.tasks.len(),
        Event::GraphCreated(e) => e.graph.0 as usize == run.graphs.len(),
        Event::UserCreated(e) => e.user.0 as usize == run.users.len(),
        Event::EnvelopeCreated(e) => {
            follows(e.envelope.0, run.next.envelopes) && run.open(e.to).is_some()
        }
        Event::EnvelopeDelivered(e) => run.inboxes.contains_key(&(e.to, e.envelope)),
        Event::EnvelopeRedelivered(e) => run.inboxes.contains_key(&(e.to, e.envelope)),
        Event::EnvelopeUndeliverable(e) => run.inboxes.contains_key(&(e.to, e.envelope)),
        Event::CheckpointCreated(e) => {
            follows(e.checkpoint.0, run.next.checkpoints)
                && follows(e.first_artifact.0, run.next.artifacts)
                && run.state_of(e.workspace) == Some(State::Active)
        }
        // Who is not at work is not replaced.
        Event::MigrationStarted(e) => matches!(
            run.state_of(e.workspace),
            Some(State::Active | State::Blocked)
        ),
        // A merge stands on its workspace: what was never completed has none.
        Event::IntegrationStarted(e) => {
            e.mode == Mode::Salvage || run.state_of(e.source) == Some(State::Integrating)
        }
        Event::ConflictDetected(e) => {
            follows(e.conflict.0.into(), run.next.conflicts.into())
                && run.merges.contains_key(&e.workspace)
        }
        Event::SignalEmitted(e) => follows(e.signal.0, run.next.signals) && known(e.from),
        Event::PortRightCreated(e) => {
            follows(e.right.0, run.next.rights) && known(e.holder) && known(e.target)
        }
        Event::GateTriggered(e) => follows(e.gate.0.into(), run.next.gates.into()),
        Event::GateResolved(e) => run.gates.contains_key(&e.gate),
        _ => entry.workspace.is_none_or(known),
    }
}

/// Steps 3 to 5: what was announced is done, what was under way goes on, and
/// the time that was lost does not count.
pub fn recover(
    stage: &mut Stage<'_>,
    principal: Principal,
    downtime_us: u64,
    examined: u64,
    quarantined: u64,
) -> Decision {
    runtime_only(stage, principal)?;
    let run = stage.before();
    let mut report = RecoveryCompleted {
        downtime_us: downtime_us.min(LONGEST_US),
        ..RecoveryCompleted::default()
    };
    for (id, owed) in &run.owed {
        signal::make_good(stage, *id, *owed);
        report.workspaces_failed += u32::from(stage.state_of(*id) == Some(State::Failed));
    }
    finish::finish(stage);
    let mut parents: Vec<WorkspaceId> = run
        .queued_signals
        .keys()
        .map(|(parent, _)| *parent)
        .collect();
    parents.dedup();
    for parent in parents {
        if stage.state_of(parent).is_some_and(signal::listens) {
            report.signals_requeued += signal::deliver_queued(stage, parent);
        }
    }
    let mut receivers: Vec<WorkspaceId> = run
        .inboxes
        .iter()
        .filter(|(_, pending)| pending.progress == Progress::Queued)
        .map(|((to, _), _)| *to)
        .collect();
    receivers.dedup();
    for to in receivers {
        let before = stage.delivered();
        envelope::drain(stage, to);
        report.envelopes_redelivered += stage.delivered() - before;
    }
    // Where only time was lost, the entry names nothing else.
    if !stage.is_empty() || quarantined > 0 {
        report.quarantined_entries = quarantined.min(LARGEST);
        report.timers_reconstructed = run.deadlines.len() as u32;
        report.trail_entries_examined = examined.min(LARGEST);
        report.workspaces_recovered = run.open_count;
    }
    if report != RecoveryCompleted::default() {
        stage.push(None, report);
    }
    Ok(())
}

/// Writing failed for a while and works again.
pub fn report_degradation(
    stage: &mut Stage<'_>,
    principal: Principal,
    reason: &Text,
    coordinator_action: Option<&Text>,
    affected: &Arc<[WorkspaceId]>,
) -> Decision {
    runtime_only(stage, principal)?;
    if is_long(reason) || coordinator_action.is_some_and(|text| is_long(text)) {
        return Err(Refusal::TooLong);
    }
    if !affected
        .iter()
        .all(|id| stage.before().workspace(*id).is_some())
    {
        return Err(Refusal::TargetNotFound);
    }
    stage.push(
        None,
        SystemDegraded {
            affected: affected.clone(),
            coordinator_action: coordinator_action.cloned(),
            reason: reason.clone(),
            scope: if affected.is_empty() {
                Scope::Run
            } else {
                Scope::Workspaces
            },
        },
    );
    Ok(())
}
