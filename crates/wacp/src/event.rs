//! What happened: the 72 registered event types, and the entry around each.
//!
//! The registry is closed (WACP §9.5). An event is typed; its JSON spelling is
//! made only when an entry is written to the trail, so replay from memory or
//! from another encoding never parses text. Fields are declared in the order of
//! their names, which makes the spelling canonical.

use serde::{Deserialize, Serialize};
use trail::Micros;

use crate::{
    id::{UserId, WorkspaceId},
    role::Role,
};

pub mod communication;
pub mod highway;
pub mod people;
pub mod system;
pub mod work;
pub mod workspace;

pub use communication::*;
pub use highway::*;
pub use people::*;
pub use system::*;
pub use work::*;
pub use workspace::*;

trail::registry! {
    /// Everything that can happen in a run.
    #[derive(Serialize, Deserialize)]
    Event {
        // workspace: 22
        WorkspaceCreated(Box<WorkspaceCreated>) = "workspace_created",
        WorkspaceStateChanged(WorkspaceStateChanged) = "workspace_state_changed",
        WorkspaceRejected(WorkspaceRejected) = "workspace_rejected",
        BudgetWarning(BudgetWarning) = "budget_warning",
        BudgetExceeded(BudgetExceeded) = "budget_exceeded",
        BudgetModified(BudgetModified) = "budget_modified",
        LivenessWarning(LivenessWarning) = "liveness_warning",
        PriorityChanged(PriorityChanged) = "priority_changed",
        VisibilityGranted(VisibilityGranted) = "visibility_granted",
        BatchAbort(BatchAbort) = "batch_abort",
        BatchPriorityChanged(BatchPriorityChanged) = "batch_priority_changed",
        MigrationStarted(MigrationStarted) = "migration_started",
        MigrationCompleted(MigrationCompleted) = "migration_completed",
        MigrationFailed(MigrationFailed) = "migration_failed",
        SuspensionStarted(SuspensionStarted) = "suspension_started",
        SuspensionResumed(SuspensionResumed) = "suspension_resumed",
        GracefulTerminationInitiated(GracefulTerminationInitiated) = "graceful_termination_initiated",
        GracefulTerminationExpired(GracefulTerminationExpired) = "graceful_termination_expired",
        ConflictDetected(Box<ConflictDetected>) = "conflict_detected",
        ConflictResolved(ConflictResolved) = "conflict_resolved",
        WorkspaceOwnershipTransferred(WorkspaceOwnershipTransferred) = "workspace_ownership_transferred",
        WorkspaceReparented(WorkspaceReparented) = "workspace_reparented",
        // user: 12
        UserCreated(UserCreated) = "user_created",
        AuthenticationSucceeded(AuthenticationSucceeded) = "authentication_succeeded",
        AuthenticationFailed(AuthenticationFailed) = "authentication_failed",
        UserSuspended(UserSuspended) = "user_suspended",
        UserResumed(UserResumed) = "user_resumed",
        UserBlocked(UserBlocked) = "user_blocked",
        UserUnblocked(UserUnblocked) = "user_unblocked",
        UserDeactivated(UserDeactivated) = "user_deactivated",
        UserReactivated(UserReactivated) = "user_reactivated",
        CapabilityGranted(CapabilityGranted) = "capability_granted",
        CapabilityRevoked(CapabilityRevoked) = "capability_revoked",
        CapabilityDenied(CapabilityDenied) = "capability_denied",
        // signal: 2
        SignalEmitted(SignalEmitted) = "signal_emitted",
        SignalDelivered(SignalDelivered) = "signal_delivered",
        // envelope and port: 9
        EnvelopeCreated(Box<EnvelopeCreated>) = "envelope_created",
        EnvelopeDelivered(EnvelopeDelivered) = "envelope_delivered",
        EnvelopeRejected(EnvelopeRejected) = "envelope_rejected",
        EnvelopeUndeliverable(EnvelopeUndeliverable) = "envelope_undeliverable",
        EnvelopeRedelivered(EnvelopeRedelivered) = "envelope_redelivered",
        PortRightCreated(PortRightCreated) = "port_right_created",
        PortRightTransferred(PortRightTransferred) = "port_right_transferred",
        PortRightRevoked(PortRightRevoked) = "port_right_revoked",
        PortRightConsumed(PortRightConsumed) = "port_right_consumed",
        // checkpoint: 3
        CheckpointCreated(Box<CheckpointCreated>) = "checkpoint_created",
        CheckpointRejected(CheckpointRejected) = "checkpoint_rejected",
        ResourceDiscrepancy(ResourceDiscrepancy) = "resource_discrepancy",
        // task: 7
        TaskCreated(Box<TaskCreated>) = "task_created",
        TaskApproved(TaskApproved) = "task_approved",
        TaskAssigned(TaskAssigned) = "task_assigned",
        TaskStatusChanged(TaskStatusChanged) = "task_status_changed",
        TaskCompleted(TaskCompleted) = "task_completed",
        TaskFailed(TaskFailed) = "task_failed",
        GraphCreated(GraphCreated) = "graph_created",
        // integration: 3
        IntegrationStarted(IntegrationStarted) = "integration_started",
        IntegrationCompleted(IntegrationCompleted) = "integration_completed",
        IntegrationAborted(IntegrationAborted) = "integration_aborted",
        // highway: 8
        GateTriggered(Box<GateTriggered>) = "gate_triggered",
        GateResolved(Box<GateResolved>) = "gate_resolved",
        GateTimeout(GateTimeout) = "gate_timeout",
        GateReentryBlocked(GateReentryBlocked) = "gate_reentry_blocked",
        HumanInjection(HumanInjection) = "human_injection",
        EscalationReceived(EscalationReceived) = "escalation_received",
        EscalationResolved(EscalationResolved) = "escalation_resolved",
        EscalationTimeout(EscalationTimeout) = "escalation_timeout",
        // recovery: 2
        SystemDegraded(SystemDegraded) = "system_degraded",
        RecoveryCompleted(RecoveryCompleted) = "recovery_completed",
        // security: 1
        IntegrityViolation(IntegrityViolation) = "integrity_violation",
        // trail: 3
        TrailCompacted(TrailCompacted) = "trail_compacted",
        TrailAccessDenied(TrailAccessDenied) = "trail_access_denied",
        TrailSnapshotCreated(TrailSnapshotCreated) = "trail_snapshot_created",
    }
}

/// Who caused an event, as the entry's header names them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The coordinator (WACP §4.8).
    System,
    /// The runtime.
    Protocol,
    /// Another agent, by its role.
    Role(Role),
    /// A person.
    User(UserId),
}

/// One event with its header: what the trail keeps, before hashing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub actor: Actor,
    pub event: Event,
    /// Later than every entry before it in the run.
    pub time: Micros,
    /// The workspace whose local trail it belongs to; `None` for the system's.
    pub workspace: Option<WorkspaceId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_has_seventy_two_types_and_no_name_twice() {
        let names: std::collections::BTreeSet<_> = Event::TYPES.iter().collect();
        assert_eq!((Event::TYPES.len(), names.len()), (72, 72));
    }

    #[test]
    fn an_unknown_event_type_is_refused() {
        assert!(Event::read("workspace_exploded", b"{}").is_err());
        assert!(Event::read("signal_delivered", b"{}").is_err());
    }

    #[test]
    fn an_entry_is_small_enough_to_copy() {
        let sizes = [
            size_of::<Event>(),
            size_of::<TaskApproved>(),
            size_of::<TrailCompacted>(),
            size_of::<Entry>(),
        ];
        assert!(sizes.into_iter().all(|size| size <= 192), "{sizes:?}");
    }
}
