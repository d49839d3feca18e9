//! How a workspace's events change the state.

use std::sync::Arc;

use trail::Micros;

use crate::{
    envelope,
    event::{Entry, Event, WorkspaceCreated, WorkspaceStateChanged},
    gate,
    id::{Party, WorkspaceId},
    state::{Run, Setup, Slot},
    workspace::{
        Ended, Grace, Migration, Seen, Workspace,
        budget::Meter,
        deadline::{reschedule, schedule, unschedule},
        lifecycle::{State, Trigger},
        meter,
    },
};

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    match &entry.event {
        Event::WorkspaceCreated(e) => created(run, e, entry.time),
        Event::WorkspaceStateChanged(e) => changed(run, e, entry.time),
        Event::BudgetWarning(e) => {
            meter::raise_to(run, e.source, e.dimension, e.source_consumed);
            let bit = 1 << e.dimension as u8;
            reschedule(run, e.workspace, |open| {
                if let Some(meter) = &mut open.meter {
                    meter.warned |= bit;
                }
            });
        }
        Event::BudgetExceeded(e) => {
            meter::raise_to(run, e.source, e.dimension, e.source_consumed);
        }
        Event::BudgetModified(e) => {
            let parent = run.open(e.workspace).and_then(|open| open.parent);
            if let Some(parent) = parent {
                meter::reserve(run, parent, e.workspace, true);
            }
            reschedule(run, e.workspace, |open| {
                if let Some(meter) = &mut open.meter {
                    *meter.limits.limit_mut(e.dimension) = Some(e.new_limit);
                    // A raised limit deserves its own warning.
                    meter.warned &= !(1 << e.dimension as u8);
                }
            });
            if let Some(parent) = parent {
                meter::reserve(run, parent, e.workspace, false);
            }
        }
        Event::PriorityChanged(e) => {
            if let Some(open) = run.open_mut(e.workspace) {
                open.priority = e.new_priority;
            }
        }
        Event::BatchPriorityChanged(e) => {
            for id in e.affected.iter() {
                if let Some(open) = run.open_mut(*id) {
                    open.priority = e.new_priority;
                }
            }
        }
        Event::VisibilityGranted(e) => {
            if let Some(open) = run.open_mut(e.workspace) {
                open.visibility = joined(&open.visibility, &e.targets);
                open.authority = joined(&open.authority, &e.authority);
            }
        }
        Event::MigrationStarted(e) => {
            run.agents.insert(e.new_agent.clone(), e.workspace);
            if let Some(open) = run.open_mut(e.workspace) {
                open.migration = Some(Migration {
                    new_agent: e.new_agent.clone(),
                    started: entry.time,
                });
            }
        }
        Event::MigrationCompleted(e) => migrated(run, e.workspace),
        Event::GracefulTerminationInitiated(e) => {
            let ends = Micros(entry.time.0.saturating_add(e.grace_us as i64));
            reschedule(run, e.workspace, |open| {
                open.grace = Some(Grace {
                    ends,
                    grace_us: e.grace_us,
                });
            });
        }
        Event::WorkspaceOwnershipTransferred(e) => {
            if let Some(open) = run.open_mut(e.workspace) {
                open.owner = Party::User(e.to_user);
                let former = run.former_owners.entry(e.workspace).or_default();
                former.push((entry.time, e.from_user));
            }
        }
        Event::WorkspaceReparented(e) => {
            if let Some(totals) = &e.consumed {
                meter::raise_all(run, e.workspace, totals);
            }
            if let Some(old) = run.open(e.workspace).and_then(|open| open.parent) {
                meter::reserve(run, old, e.workspace, true);
                run.children.remove(&(old, e.workspace));
                // Elsewhere a merge is another question.
                crate::gate::apply::forget_merge(run, e.workspace);
                crate::signal::reparented(run, e.workspace, old, e.new_parent);
            }
            if let Some(open) = run.open_mut(e.workspace) {
                open.parent = Some(e.new_parent);
                run.children.insert((e.new_parent, e.workspace));
                meter::reserve(run, e.new_parent, e.workspace, false);
            }
        }
        _ => {}
    }
}

/// The union, in order of first appearance.
fn joined<T: Clone + PartialEq>(old: &Arc<[T]>, more: &[T]) -> Arc<[T]> {
    if more.is_empty() {
        return old.clone();
    }
    let fresh = more.iter().filter(|item| !old.contains(item));
    old.iter().chain(fresh).cloned().collect()
}

fn created(run: &mut Run, e: &WorkspaceCreated, time: Micros) {
    if let Some(started) = &e.run {
        run.setup = Some(Box::new(Setup::from((**started).clone())));
    }
    let id = e.workspace;
    run.next.workspaces = run.next.workspaces.max(id.0 + 1);
    let visibility: Arc<[Seen]> = e.visibility.clone();
    run.workspaces.push(Slot::Open(Box::new(Workspace {
        state: State::Idle,
        before: None,
        role: e.role,
        delegate: e.delegate,
        may_grant_delegation: false,
        metered: e.metered,
        priority: e.priority,
        parent: e.parent,
        owner: e.owner,
        originator: e.originator,
        task: e.task,
        agent: e.agent.clone(),
        group: e.group.clone(),
        directive: e.directive,
        context: e.context,
        visibility,
        authority: e.authority.clone(),
        mounts: e.mounts.clone(),
        since: time,
        timed_us: 0,
        wall_us: 0,
        timeout_us: e.timeout_us,
        liveness_us: e.liveness_us,
        heard: time,
        grace: None,
        migration: None,
        meter: (!e.budget.is_unlimited()).then(|| Box::new(Meter::new(e.budget))),
        register: Default::default(),
        gates: Vec::new(),
        escalations: Vec::new(),
        hindrances: 0,
        taken: Default::default(),
    })));
    run.agents.insert(e.agent.clone(), id);
    run.open_count += 1;
    if let Some(parent) = e.parent {
        run.children.insert((parent, id));
        meter::reserve(run, parent, id, false);
    }
    if let Some(group) = &e.group {
        run.groups.insert((group.clone(), id));
        *run.group_sizes.entry(group.clone()).or_default() += 1;
    }
    schedule(run, id);
}

fn changed(run: &mut Run, e: &WorkspaceStateChanged, time: Micros) {
    let id = e.workspace;
    run.owed.remove(&id);
    if let Some(totals) = &e.consumed {
        meter::raise_all(run, id, totals);
    }
    if e.to_state.is_terminal() {
        ended(run, e);
        return;
    }
    // Told just before; but this says it too.
    if e.trigger == Trigger::MigrationSucceeded {
        migrated(run, id);
    }
    reschedule(run, id, |open| open.enter(e.to_state, time));
    envelope::pause_or_resume(run, id, e.from_state, e.to_state, time);
}

impl Workspace {
    /// Enters a state: the clocks of the old one are read.
    pub(crate) fn enter(&mut self, to: State, time: Micros) {
        if self.state.is_timed() {
            self.timed_us += self.spent(time);
        }
        if self.state.is_metered() {
            self.wall_us = self.wall_time(time);
            if let Some(meter) = &mut self.meter {
                let wall = super::budget::Dimension::WallTime as usize;
                meter.own[wall] = self.wall_us;
                meter.used[wall] = self.wall_us;
            }
        }
        self.before = match to {
            State::Suspended | State::Migrating => Some(self.state),
            _ => None,
        };
        if to == State::Integrating {
            self.grace = None;
        }
        self.state = to;
        self.since = time;
    }
}

/// The new agent is in the place of the old one.
fn migrated(run: &mut Run, id: WorkspaceId) {
    let Some(open) = run.open_mut(id) else {
        return;
    };
    let Some(migration) = open.migration.take() else {
        return;
    };
    let old = std::mem::replace(&mut open.agent, migration.new_agent.clone());
    if old != migration.new_agent {
        run.agents.remove(&old);
    }
}

/// Keeps the few dozen bytes and lets everything else go.
fn ended(run: &mut Run, e: &WorkspaceStateChanged) {
    let id = e.workspace;
    unschedule(run, id);
    let Some(parent) = run.open(id).map(|open| open.parent) else {
        return;
    };
    if let Some(parent) = parent {
        run.children.remove(&(parent, id));
        meter::reserve(run, parent, id, true);
    }
    crate::right::forget(run, id);
    gate::forget_workspace(run, id);
    crate::integration::forget(run, id);
    let queued: Vec<_> = run
        .queued_signals
        .range((id, crate::id::SignalId(0))..=(id, crate::id::SignalId(u64::MAX)))
        .map(|(key, _)| *key)
        .collect();
    for key in queued {
        run.queued_signals.remove(&key);
    }
    let slot = &mut run.workspaces[id.0 as usize];
    let Slot::Open(open) = slot else {
        return;
    };
    let register = std::mem::take(&mut open.register);
    let group = open.group.take();
    run.agents.remove(&open.agent);
    if let Some(migration) = &open.migration {
        run.agents.remove(&migration.new_agent);
    }
    let keep = e.to_state == State::Failed && register.head().is_some();
    *slot = Slot::Ended(Ended {
        state: e.to_state,
        reason: e.reason,
        role: open.role,
        parent: open.parent,
        owner: open.owner,
        originator: open.originator,
        task: open.task,
        register: keep.then(|| Box::new(register)),
    });
    run.open_count -= 1;
    if let Some(group) = group {
        run.groups.remove(&(group, id));
    }
}

/// Something was heard of a workspace.
pub(crate) fn heard(run: &mut Run, id: WorkspaceId, time: Micros) {
    if run.open(id).is_some_and(|open| open.liveness_us.is_some()) {
        reschedule(run, id, |open| open.heard = time);
    }
}
