//! What a change that was cut short still owes.
//!
//! A commit is whole or not at all, so there is nothing to do here as long as
//! the store keeps that promise. If it ever breaks it, the first entries of a
//! decision stand without the last. Each part below looks at what is, does what
//! the missing entries would have done, and does nothing the second time.
//!
//! Nothing is acknowledged before its whole commit is kept, so whoever ordered
//! what was cut short knows that it was not done, and orders it again. That is
//! left to them where nothing here can tell what was meant: an answer to an
//! abort or an integration, an escalation that reached nobody, rights that a new
//! workspace was to have (they may have been revoked), the tasks of a plan that
//! were not created.

use crate::{
    envelope::{self, Progress},
    escalation,
    event::{Aborted, ResolvedBy, Undeliverable},
    gate::{self, Proposal},
    id::{TaskId, WorkspaceId},
    integration::{self, Mode},
    rejection::Refusal,
    stage::Stage,
    state::{Run, Slot},
    task::{self, Status},
    workspace::{
        end,
        lifecycle::{Reason, State, Trigger},
        meter,
    },
};

pub fn finish(stage: &mut Stage<'_>) {
    migrations(stage);
    children(stage);
    places(stage);
    merges(stage);
    inboxes(stage);
    questions(stage);
    drafts(stage);
    tasks(stage);
}

/// Migrations that are half done. They come first: who listens again hears what
/// the rest leads to.
fn migrations(stage: &mut Stage<'_>) {
    let run = stage.run;
    for (_, child) in &run.children {
        let Some(open) = run.open(*child) else {
            continue;
        };
        match (stage.state_of(*child), open.migration.is_some()) {
            (Some(State::Migrating), false) => {
                let before = open.before.unwrap_or(State::Active);
                stage.transition(*child, before, Trigger::MigrationSucceeded, None);
            }
            (Some(State::Active | State::Blocked), true) => {
                let trigger = Trigger::MigrationInitiated;
                stage.transition(*child, State::Migrating, trigger, None);
            }
            _ => {}
        }
    }
}

/// Workspaces that a limit should have stopped, and those that were created and
/// not bound to their task.
fn places(stage: &mut Stage<'_>) {
    let run = stage.run;
    for (_, child) in &run.children {
        let Some(open) = run.open(*child) else {
            continue;
        };
        let unbound = open.task.is_some_and(|task| !is_current(run, task, *child));
        if unbound && stage.state_of(*child) == Some(State::Idle) {
            end::fail(stage, *child, Reason::CreationError);
        }
        meter::enforce(stage, *child);
    }
}

fn is_sealed(state: State) -> bool {
    matches!(state, State::Integrating | State::Conflicted)
}

/// Children of a parent that has ended, or that only waits to be merged.
fn children(stage: &mut Stage<'_>) {
    let run = stage.run;
    for (parent, child) in &run.children {
        match run.state_of(*parent) {
            Some(state) if state.is_terminal() => end::part(stage, *parent, *child),
            Some(state) if is_sealed(state) => {
                end::adopt(stage, *child, *parent, "parent_completed");
            }
            _ => {}
        }
    }
}

fn is_over(stage: &Stage<'_>, id: WorkspaceId) -> bool {
    let state = stage.state_of(id);
    state.is_none_or(|state| state.is_terminal() || is_sealed(state))
}

/// A merge was begun: either all its conflicts were recorded, or it is given up
/// and begun again. Of one whose conflicts are all settled nobody knows how: the
/// work is done again, or salvaged. A salvage is given up with its target.
fn merges(stage: &mut Stage<'_>) {
    let run = stage.run;
    for (source, merge) in &run.merges {
        let state = stage.state_of(*source);
        let found = !merge.open.is_empty() && merge.unrecorded == 0;
        match (merge.mode, state) {
            (Mode::Normal, Some(State::Integrating)) if found => {
                let trigger = Trigger::ConflictDetected;
                stage.transition(*source, State::Conflicted, trigger, None);
            }
            (Mode::Normal, Some(State::Conflicted)) => {}
            (Mode::Salvage, _) if found && !is_over(stage, merge.target) => {}
            _ => {
                let (how, reason) = (ResolvedBy::Abandoned, Aborted::Interrupted);
                integration::abandon::give_up(stage, *source, merge, how, reason);
            }
        }
    }
    for (_, child) in &run.children {
        let waits = run
            .merges
            .get(child)
            .is_some_and(|merge| !merge.open.is_empty());
        if !waits && stage.state_of(*child) == Some(State::Conflicted) {
            end::fail(stage, *child, Reason::AgentRework);
        }
    }
}

/// Envelopes for whoever reads nothing more.
fn inboxes(stage: &mut Stage<'_>) {
    let run = stage.run;
    let mut receivers: Vec<WorkspaceId> = run.inboxes.keys().map(|(to, _)| *to).collect();
    receivers.dedup();
    for to in receivers {
        match run.state_of(to) {
            Some(state) if is_sealed(state) => {
                end::settle(stage, to, Undeliverable::WorkspaceSealed);
            }
            Some(state) if !state.is_terminal() => {}
            _ => end::settle(stage, to, Undeliverable::WorkspaceTerminal),
        }
    }
    // Held at a gate that has answered: only a no leaves it there. One that was
    // to be held and never was gets no further either.
    for ((to, id), pending) in &run.inboxes {
        let asks = |gate| run.gates.contains_key(&gate) || run.escalated_gates.contains_key(&gate);
        let unasked = pending.unasked && pending.progress == Progress::Queued;
        let refused = unasked || pending.gate().is_some_and(|gate| !asks(gate));
        if refused && !stage.gone.contains(id) {
            let reason = Refusal::GateRejectedByFallback;
            envelope::reject_pending(stage, *to, *id, pending, reason);
            envelope::drain(stage, *to, Some(*id));
        }
    }
}

/// Questions about what has ended.
fn questions(stage: &mut Stage<'_>) {
    let run = stage.run;
    for (id, gate) in &run.gates {
        let over = match &gate.proposal {
            Proposal::TaskApproval { task, .. } => run
                .task(*task)
                .is_none_or(|task| task.status != Status::Draft),
            Proposal::Salvage { .. } => false,
            Proposal::EnvelopeDelivery { envelope, to, .. } => {
                let pending = run.inboxes.get(&(*to, *envelope));
                pending.is_none_or(|pending| pending.gate() != Some(*id))
            }
            Proposal::ConflictResolution {
                conflict,
                workspace,
                ..
            } => integration::conflict::find(run, *workspace, *conflict).is_none(),
            proposal => proposal
                .workspace()
                .is_some_and(|workspace| run.open(workspace).is_none()),
        };
        if over {
            gate::invalidate(stage, Some(*id));
        }
    }
    for (signal, escalation) in &run.escalations {
        if run.open(escalation.workspace).is_none() {
            escalation::invalidate(stage, *signal);
        }
    }
}

/// Drafts that nobody is asked about.
fn drafts(stage: &mut Stage<'_>) {
    let run = stage.run;
    if run.open(WorkspaceId::ROOT).is_none() {
        return;
    }
    for (at, task) in run.tasks.iter().enumerate() {
        let waits = task.gate.is_some() || task::is_taken(run, task);
        if task.status == Status::Draft && !waits {
            task::graph::ask_again(stage, TaskId(at as u32), task);
        }
    }
}

/// Tasks that do not know how their workspace stands.
fn tasks(stage: &mut Stage<'_>) {
    let run = stage.run;
    let at_work = run.tasks.iter().filter_map(|task| task.workspace);
    for workspace in at_work {
        let Some(slot) = run.workspace(workspace) else {
            continue;
        };
        let known = slot.task().filter(|task| is_current(run, *task, workspace));
        let Some(task) = known else {
            continue;
        };
        match slot {
            Slot::Open(open) if is_sealed(open.state) => {
                let status = stage.task_status(task);
                if status.is_some_and(|status| status.may_become(Status::Completed)) {
                    task::complete(stage, workspace);
                }
            }
            Slot::Ended(ended) if ended.state == State::Failed => {
                end::fail_task(stage, workspace, ended.reason.unwrap_or(Reason::Rejected));
            }
            Slot::Ended(_) => {
                task::set_status(stage, task, Status::Integrated, Some(workspace));
            }
            Slot::Open(open) => {
                task::set_status(stage, task, Status::Assigned, Some(workspace));
                if open.state != State::Idle {
                    task::set_status(stage, task, Status::InProgress, Some(workspace));
                }
            }
        }
    }
}

fn is_current(run: &Run, task: TaskId, workspace: WorkspaceId) -> bool {
    run.task(task)
        .is_some_and(|task| task.workspace == Some(workspace))
}
