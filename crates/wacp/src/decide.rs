//! The switchboard: who asks what, to which noun.

use trail::Micros;

use crate::{
    checkpoint,
    command::{Command, Order, Principal},
    compaction, envelope, escalation,
    event::Entry,
    gate,
    id::WorkspaceId,
    integration, integrity, query, recovery,
    rejection::{Refusal, Rejection},
    right,
    role::{
        self,
        delegation::{deny, forbid},
    },
    signal,
    stage::{Decision, Stage},
    state::Run,
    task, user,
    workspace::{
        adjust, creation, end, lifecycle::Reason, measured::Measured, meter, ownership, pause,
        run as whole, visibility, wind_down,
    },
};

/// Decides a command on a run: reads, and changes nothing.
///
/// `now` is [`Run::time`] of the clock, and so later than every entry of the
/// run. The entries of the decision have the times `now`, `now` + 1 µs and so
/// on, in their order: these are the times that stand on the trail.
///
/// What is due goes first: a command that arrives after a deadline is refused
/// until the runtime has ticked, so that timeouts and budgets precede agents'
/// signals. Aborts precede even those (WACP §6.7).
pub fn decide(
    run: &Run,
    measured: &Measured,
    order: &Order,
    now: Micros,
) -> Result<Vec<Entry>, Rejection> {
    debug_assert!(now > run.clock, "{now:?} is not later than the last entry");
    let principal = match order.principal {
        Principal::Agent(WorkspaceId::ROOT) => Principal::Coordinator,
        other => other,
    };
    let actor = role::delegation::actor(run, principal);
    let mut stage = Stage::new((run, measured), actor, order.command.name(), now);
    match admit(&mut stage, principal, &order.command) {
        Ok(()) => Ok(stage.finish()),
        Err(refusal) => Err(Rejection {
            refusal,
            record: stage.finish(),
        }),
    }
}

fn admit(stage: &mut Stage<'_>, principal: Principal, command: &Command) -> Decision {
    if !matches!(command, Command::StartRun(_)) {
        may_proceed(stage, command)?;
    }
    if stage.before().setup.is_some() {
        is_known(stage, principal)?;
    }
    dispatch(stage, principal, command)
}

fn may_proceed(stage: &Stage<'_>, command: &Command) -> Result<(), Refusal> {
    let run = stage.before();
    if run.setup.is_none() {
        return Err(Refusal::NotStarted);
    }
    let reads = matches!(
        command,
        Command::Read { .. }
            | Command::ReadTrail { .. }
            | Command::Compact(_)
            | Command::RecordSnapshot { .. }
            | Command::Recover { .. }
    );
    // After the end the trail can be read, kept and recovered, no more.
    if !run.is_running() && !reads {
        return Err(Refusal::RunEnded);
    }
    let goes_first = matches!(
        command,
        Command::Tick
            | Command::Abort { .. }
            | Command::AbortGroup { .. }
            | Command::ShutDown { .. }
            | Command::Recover { .. }
            | Command::Read { .. }
            | Command::ReadTrail { .. }
    );
    if !goes_first && run.next_deadline().is_some_and(|at| at <= stage.now) {
        return Err(Refusal::DueFirst);
    }
    Ok(())
}

/// Nobody acts who was not authenticated as someone of this run (WACP §11.8);
/// that somebody tried is on the trail.
fn is_known(stage: &mut Stage<'_>, principal: Principal) -> Decision {
    let reason = match principal {
        Principal::Agent(id) if stage.before().workspace(id).is_none() => Refusal::TargetNotFound,
        Principal::User(user) if stage.before().user(user).is_none() => Refusal::UnknownUser,
        _ => return Ok(()),
    };
    Err(deny(stage, principal, None, (reason, None)))
}

fn dispatch(stage: &mut Stage<'_>, by: Principal, command: &Command) -> Decision {
    use Command as C;
    match command {
        C::StartRun(new) => whole::start(stage, by, new),
        C::Tick => whole::tick(stage, by),
        C::Acknowledge {
            workspace,
            envelope,
        } => envelope::acknowledge(stage, by, *workspace, *envelope),
        C::CompleteMigration { workspace } => pause::complete_migration(stage, by, *workspace),
        C::FailMigration { workspace, error } => {
            pause::fail_migration(stage, by, *workspace, error)
        }
        C::FailCreation { workspace } => creation::fail(stage, by, *workspace),
        C::MeterUsage { workspace, totals } => meter::measure(stage, by, *workspace, totals),
        C::ReportViolation { workspace, subject } => {
            integrity::report(stage, by, *workspace, *subject)
        }
        C::Recover {
            downtime_us,
            examined,
            quarantined,
        } => recovery::recover(stage, by, *downtime_us, *examined, *quarantined),
        C::ReportDegradation {
            reason,
            coordinator_action,
            affected,
        } => recovery::report_degradation(stage, by, reason, coordinator_action.as_ref(), affected),
        C::ShutDown { forced } => whole::shut_down(stage, by, *forced),
        C::Compact(done) => compaction::compact(stage, by, done),
        C::RecordSnapshot { state_hash } => compaction::record_snapshot(stage, by, *state_hash),
        C::RecordAuthenticationFailure {
            entity,
            context,
            reason,
            source,
        } => user::record_failure(stage, by, [entity, context, reason, source]),
        C::RecordAuthentication { user, method } => {
            user::record_authentication(stage, by, *user, method)
        }
        C::CreateWorkspace(new) => creation::create(stage, by, new),
        C::GrantVisibility {
            workspace,
            targets,
            reason,
        } => adjust::grant_visibility(stage, by, *workspace, targets, reason.as_ref()),
        C::GrantAuthority {
            workspace,
            resources,
        } => adjust::grant_authority(stage, by, *workspace, resources),
        C::SetPriority {
            workspace,
            priority,
        } => adjust::set_priority(stage, by, *workspace, *priority),
        C::SetGroupPriority { group, priority } => {
            adjust::set_group_priority(stage, by, group, *priority)
        }
        C::RaiseBudget {
            workspace,
            dimension,
            limit,
        } => adjust::raise_budget(stage, by, *workspace, *dimension, *limit),
        C::Suspend { workspace, reason } => pause::suspend(stage, by, *workspace, reason),
        C::Resume { workspace } => pause::resume(stage, by, *workspace),
        C::Migrate {
            workspace,
            new_agent,
            reason,
        } => pause::migrate(stage, by, *workspace, new_agent, reason),
        C::Abort { workspace, reason } => end::abort(stage, by, *workspace, reason.as_ref()),
        C::AbortGroup { group } => end::abort_group(stage, by, group),
        C::TerminateGracefully(request) => wind_down::terminate_gracefully(stage, by, request),
        C::TransferOwnership {
            workspace,
            to,
            reason,
        } => ownership::transfer(stage, by, *workspace, *to, reason.as_ref()),
        C::Reparent {
            workspace,
            parent,
            reason,
        } => ownership::reparent(stage, by, *workspace, *parent, reason),
        C::ApproveDelegation { delegate } => creation::approve_delegation(stage, by, *delegate),
        C::CreateRight {
            holder,
            target,
            kind,
        } => right::grant(stage, by, *holder, *target, *kind),
        C::RevokeRight {
            holder,
            target,
            kind,
        } => right::revoke(stage, by, *holder, *target, *kind),
        C::SubmitGraph(new) => task::submit(stage, by, new),
        C::Decompose { task, tasks } => task::decompose(stage, by, *task, tasks),
        C::RetryTask { task } => task::retry(stage, by, *task),
        C::CancelTask { task } => task::cancel(stage, by, *task),
        C::Accept(acceptance) => integration::accept(stage, by, acceptance),
        C::Revise { workspace } => {
            integration::refuse_work(stage, by, *workspace, Reason::RevisionRequired)
        }
        C::Reject { workspace } => {
            integration::refuse_work(stage, by, *workspace, Reason::Rejected)
        }
        C::ResolveConflict {
            workspace,
            conflict,
            resolution,
        } => integration::resolve(stage, by, *workspace, *conflict, resolution),
        C::Salvage(salvage) => integration::salvage(stage, by, salvage),
        C::Emit {
            signal,
            reason,
            reference,
        } => signal::emit(stage, by, *signal, reason.as_ref(), *reference),
        C::Send(new) => envelope::send(stage, by, new),
        C::CreateCheckpoint(new) => checkpoint::create(stage, by, new),
        C::ReportUsage { totals } => match by {
            Principal::Agent(id) => meter::report(stage, id, totals),
            _ => Err(forbid(stage, by, None)),
        },
        C::Read {
            workspace,
            resource,
        } => visibility::read(stage, by, *workspace, resource.as_ref()),
        C::ReadTrail { workspace } => query::access::read(stage, by, *workspace),
        C::ResolveGate {
            gate,
            answer,
            modification,
        } => gate::resolve(stage, by, *gate, *answer, modification.as_ref()),
        C::Inject(new) => envelope::inject(stage, by, new),
        C::AnswerEscalation { signal, answer } => escalation::answer(stage, by, *signal, answer),
        C::DecideGate { gate, proceed } => gate::decide(stage, by, *gate, *proceed),
        C::CreateUser { name } => user::create(stage, by, name),
        C::ChangeUser {
            user,
            change,
            reason,
        } => user::change(stage, by, *user, *change, reason.as_ref()),
        C::GrantCapability { user, capability } => user::grant(stage, by, *user, *capability),
        C::RevokeCapability {
            user,
            capability,
            reason,
        } => user::revoke(stage, by, *user, *capability, reason.as_ref()),
    }
}

/// Changes the state by one entry. It cannot fail and does not decide.
pub fn apply(run: &mut Run, entry: &Entry) {
    use crate::event::Event as E;
    run.clock = entry.time;
    run.entries += 1;
    match &entry.event {
        E::SignalEmitted(_) | E::SignalDelivered(_) => signal::apply(run, entry),
        E::EnvelopeCreated(_)
        | E::EnvelopeDelivered(_)
        | E::EnvelopeRejected(_)
        | E::EnvelopeUndeliverable(_)
        | E::EnvelopeRedelivered(_)
        | E::HumanInjection(_) => envelope::apply::apply(run, entry),
        E::PortRightCreated(_)
        | E::PortRightTransferred(_)
        | E::PortRightRevoked(_)
        | E::PortRightConsumed(_) => right::apply(run, entry),
        E::CheckpointCreated(_) | E::IntegrityViolation(_) | E::TrailCompacted(_) => {
            checkpoint::apply(run, entry)
        }
        E::TaskCreated(_)
        | E::TaskApproved(_)
        | E::TaskAssigned(_)
        | E::TaskStatusChanged(_)
        | E::TaskCompleted(_)
        | E::GraphCreated(_) => task::apply::apply(run, entry),
        E::IntegrationStarted(_)
        | E::IntegrationCompleted(_)
        | E::IntegrationAborted(_)
        | E::ConflictDetected(_)
        | E::ConflictResolved(_) => integration::apply::apply(run, entry),
        E::GateTriggered(_) | E::GateResolved(_) | E::GateReentryBlocked(_) => {
            gate::apply::apply(run, entry)
        }
        E::EscalationReceived(_) | E::EscalationResolved(_) => escalation::apply(run, entry),
        E::UserCreated(_)
        | E::UserSuspended(_)
        | E::UserResumed(_)
        | E::UserBlocked(_)
        | E::UserUnblocked(_)
        | E::UserDeactivated(_)
        | E::UserReactivated(_)
        | E::CapabilityGranted(_)
        | E::CapabilityRevoked(_) => user::apply(run, entry),
        E::WorkspaceCreated(_)
        | E::WorkspaceStateChanged(_)
        | E::BudgetWarning(_)
        | E::BudgetExceeded(_)
        | E::BudgetModified(_)
        | E::PriorityChanged(_)
        | E::BatchPriorityChanged(_)
        | E::VisibilityGranted(_)
        | E::MigrationStarted(_)
        | E::MigrationCompleted(_)
        | E::GracefulTerminationInitiated(_)
        | E::WorkspaceOwnershipTransferred(_)
        | E::WorkspaceReparented(_) => crate::workspace::apply::apply(run, entry),
        E::RecoveryCompleted(e) => recovery::downtime::put_off(run, e.downtime_us),
        // What is only told: who was denied, why, and what an entry before or
        // after this one does.
        E::WorkspaceRejected(_)
        | E::LivenessWarning(_)
        | E::BatchAbort(_)
        | E::MigrationFailed(_)
        | E::SuspensionStarted(_)
        | E::SuspensionResumed(_)
        | E::GracefulTerminationExpired(_)
        | E::AuthenticationSucceeded(_)
        | E::AuthenticationFailed(_)
        | E::CapabilityDenied(_)
        | E::CheckpointRejected(_)
        | E::ResourceDiscrepancy(_)
        | E::TaskFailed(_)
        | E::GateTimeout(_)
        | E::EscalationTimeout(_)
        | E::SystemDegraded(_)
        | E::TrailAccessDenied(_)
        | E::TrailSnapshotCreated(_) => {}
    }
    if let Some(id) = entry.workspace {
        crate::workspace::apply::heard(run, id, entry.time);
    }
}

/// Decides at the clock's time and, whatever the answer, applies what it
/// recorded and notes what it measured.
pub fn step(
    run: &mut Run,
    measured: &mut Measured,
    order: &Order,
    clock: Micros,
) -> (Vec<Entry>, Option<Refusal>) {
    let (entries, refusal) = match decide(run, measured, order, run.time(clock)) {
        Ok(entries) => (entries, None),
        Err(rejection) => (rejection.record, Some(rejection.refusal)),
    };
    for entry in &entries {
        apply(run, entry);
    }
    if refusal.is_none() {
        measured.note(run, order);
    }
    (entries, refusal)
}
