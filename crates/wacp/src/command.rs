//! What can be asked, and who asks.
//!
//! A command is imperative and names only what its author may choose:
//! identifiers, times and origins are the runtime's.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trail::Hash;

use crate::{
    checkpoint::NewCheckpoint,
    envelope::NewEnvelope,
    escalation,
    event::{Damaged, Reference},
    gate::{Answer, Modification},
    id::{ConflictId, EnvelopeId, GateId, SignalId, TaskId, UserId, WorkspaceId},
    integration::{Acceptance, Resolution, Salvage},
    right::RightKind,
    role::Text,
    signal::SignalType,
    task::{NewGraph, NewTask},
    user::{Capability, UserChange},
    workspace::{
        Band, NewRun, NewWorkspace, Seen, WindDown,
        budget::{Dimension, Usage},
    },
};

/// Who asks, already authenticated (WACP §11.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Principal {
    /// The software that enforces the protocol.
    Runtime,
    /// Counts what agents use.
    Meter,
    /// The agent of the root workspace.
    Coordinator,
    /// The agent bound to a workspace.
    Agent(WorkspaceId),
    /// A person.
    User(UserId),
    /// Whoever runs the deployment: administers people, never answers for them.
    Operator,
}

/// A command and its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub principal: Principal,
    pub command: Command,
}

impl Order {
    pub fn new(principal: Principal, command: Command) -> Order {
        Order { principal, command }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    // the runtime
    StartRun(Box<NewRun>),
    /// Does the earliest thing that is due; repeat while something is.
    Tick,
    /// The receiver took an envelope out of its inbox.
    Acknowledge {
        workspace: WorkspaceId,
        envelope: EnvelopeId,
    },
    CompleteMigration {
        workspace: WorkspaceId,
    },
    FailMigration {
        workspace: WorkspaceId,
        error: Text,
    },
    FailCreation {
        workspace: WorkspaceId,
    },
    /// Cumulative totals, from someone other than the agent.
    MeterUsage {
        workspace: WorkspaceId,
        totals: Usage,
    },
    ReportViolation {
        workspace: WorkspaceId,
        subject: Damaged,
    },
    Recover {
        downtime_us: u64,
        examined: u64,
        quarantined: u64,
    },
    ReportDegradation {
        reason: Text,
        coordinator_action: Option<Text>,
        affected: Arc<[WorkspaceId]>,
    },
    ShutDown {
        forced: bool,
    },
    Compact(Compaction),
    RecordSnapshot {
        state_hash: Hash,
    },
    RecordAuthenticationFailure {
        entity: Text,
        context: Text,
        reason: Text,
        source: Text,
    },
    RecordAuthentication {
        user: UserId,
        method: Text,
    },

    // whoever manages workspaces: the coordinator, a delegate, or a person
    CreateWorkspace(Box<NewWorkspace>),
    GrantVisibility {
        workspace: WorkspaceId,
        targets: Arc<[Seen]>,
        reason: Option<Text>,
    },
    /// Only while the workspace is idle.
    GrantAuthority {
        workspace: WorkspaceId,
        resources: Arc<[Text]>,
    },
    SetPriority {
        workspace: WorkspaceId,
        priority: Band,
    },
    SetGroupPriority {
        group: Text,
        priority: Band,
    },
    RaiseBudget {
        workspace: WorkspaceId,
        dimension: Dimension,
        limit: u64,
    },
    Suspend {
        workspace: WorkspaceId,
        reason: Text,
    },
    Resume {
        workspace: WorkspaceId,
    },
    Migrate {
        workspace: WorkspaceId,
        new_agent: Text,
        reason: Text,
    },
    Abort {
        workspace: WorkspaceId,
        reason: Option<Text>,
    },
    AbortGroup {
        group: Text,
    },
    TerminateGracefully(Box<WindDown>),
    TransferOwnership {
        workspace: WorkspaceId,
        to: UserId,
        reason: Option<Text>,
    },
    Reparent {
        workspace: WorkspaceId,
        parent: WorkspaceId,
        reason: Text,
    },
    /// Lets a delegate make delegates of its children (WACP §5.4).
    ApproveDelegation {
        delegate: WorkspaceId,
    },
    CreateRight {
        holder: WorkspaceId,
        target: WorkspaceId,
        kind: RightKind,
    },
    RevokeRight {
        holder: WorkspaceId,
        target: WorkspaceId,
        kind: RightKind,
    },

    // work
    SubmitGraph(NewGraph),
    Decompose {
        task: TaskId,
        tasks: Vec<NewTask>,
    },
    RetryTask {
        task: TaskId,
    },
    CancelTask {
        task: TaskId,
    },
    Accept(Box<Acceptance>),
    Revise {
        workspace: WorkspaceId,
    },
    Reject {
        workspace: WorkspaceId,
    },
    ResolveConflict {
        workspace: WorkspaceId,
        conflict: ConflictId,
        resolution: Resolution,
    },
    Salvage(Box<Salvage>),

    // agents
    Emit {
        signal: SignalType,
        reason: Option<Text>,
        reference: Option<Reference>,
    },
    Send(Box<NewEnvelope>),
    CreateCheckpoint(Box<NewCheckpoint>),
    /// What the agent believes it has used, in total.
    ReportUsage {
        totals: Usage,
    },
    /// May the principal read this? Leaves a trace only when it may not.
    Read {
        workspace: WorkspaceId,
        resource: Option<Text>,
    },
    ReadTrail {
        workspace: Option<WorkspaceId>,
    },

    // people
    ResolveGate {
        gate: GateId,
        answer: Answer,
        modification: Option<Modification>,
    },
    Inject(Box<NewEnvelope>),
    AnswerEscalation {
        signal: SignalId,
        answer: escalation::Answer,
    },

    // the coordinator, after a gate was handed to it
    DecideGate {
        gate: GateId,
        proceed: bool,
    },

    // the operator, or a person with the capability
    CreateUser {
        name: Text,
    },
    ChangeUser {
        user: UserId,
        change: UserChange,
        reason: Option<Text>,
    },
    GrantCapability {
        user: UserId,
        capability: Capability,
    },
    RevokeCapability {
        user: UserId,
        capability: Capability,
        reason: Option<Text>,
    },
}

/// What the runtime moved to the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    pub workspace: WorkspaceId,
    pub archived: u64,
    pub preserved: u64,
    pub from: u64,
    pub to: u64,
    pub hash: Hash,
}

impl Command {
    /// The word under which a denial is recorded.
    pub fn name(&self) -> &'static str {
        match self {
            Command::StartRun(_) => "start_run",
            Command::Tick => "tick",
            Command::Acknowledge { .. } => "acknowledge",
            Command::CompleteMigration { .. } => "complete_migration",
            Command::FailMigration { .. } => "fail_migration",
            Command::FailCreation { .. } => "fail_creation",
            Command::MeterUsage { .. } => "meter_usage",
            Command::ReportViolation { .. } => "report_violation",
            Command::Recover { .. } => "recover",
            Command::ReportDegradation { .. } => "report_degradation",
            Command::ShutDown { .. } => "shut_down",
            Command::Compact(_) => "compact",
            Command::RecordSnapshot { .. } => "record_snapshot",
            Command::RecordAuthenticationFailure { .. } => "record_authentication_failure",
            Command::RecordAuthentication { .. } => "record_authentication",
            Command::CreateWorkspace(_) => "create_workspace",
            Command::GrantVisibility { .. } => "grant_visibility",
            Command::GrantAuthority { .. } => "grant_authority",
            Command::SetPriority { .. } => "set_priority",
            Command::SetGroupPriority { .. } => "set_group_priority",
            Command::RaiseBudget { .. } => "raise_budget",
            Command::Suspend { .. } => "suspend",
            Command::Resume { .. } => "resume",
            Command::Migrate { .. } => "migrate",
            Command::Abort { .. } => "abort",
            Command::AbortGroup { .. } => "abort_group",
            Command::TerminateGracefully(_) => "terminate_gracefully",
            Command::TransferOwnership { .. } => "transfer_ownership",
            Command::Reparent { .. } => "reparent",
            Command::ApproveDelegation { .. } => "approve_delegation",
            Command::CreateRight { .. } => "create_right",
            Command::RevokeRight { .. } => "revoke_right",
            Command::SubmitGraph(_) => "submit_graph",
            Command::Decompose { .. } => "decompose",
            Command::RetryTask { .. } => "retry_task",
            Command::CancelTask { .. } => "cancel_task",
            Command::Accept(_) => "accept",
            Command::Revise { .. } => "revise",
            Command::Reject { .. } => "reject",
            Command::ResolveConflict { .. } => "resolve_conflict",
            Command::Salvage(_) => "salvage",
            Command::Emit { .. } => "emit",
            Command::Send(_) => "send",
            Command::CreateCheckpoint(_) => "create_checkpoint",
            Command::ReportUsage { .. } => "report_usage",
            Command::Read { .. } => "read",
            Command::ReadTrail { .. } => "read_trail",
            Command::ResolveGate { .. } => "resolve_gate",
            Command::Inject(_) => "inject",
            Command::AnswerEscalation { .. } => "answer_escalation",
            Command::DecideGate { .. } => "decide_gate",
            Command::CreateUser { .. } => "create_user",
            Command::ChangeUser { .. } => "change_user",
            Command::GrantCapability { .. } => "grant_capability",
            Command::RevokeCapability { .. } => "revoke_capability",
        }
    }
}
