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

/// Declares the commands, each with the word under which a denial is recorded.
macro_rules! commands {
    ($(#[$meta:meta])* $name:ident { $(
        $(#[$about:meta])* $command:ident $(($held:ty))? $({ $($field:ident: $of:ty,)* })? = $word:literal,
    )* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$about])* $command $(($held))? $({ $($field: $of,)* })?,)* }

        impl $name {
            /// All of these words.
            pub const NAMES: &[&str] = &[$($word),*];

            /// The word under which a denial is recorded.
            pub fn name(&self) -> &'static str {
                match self { $($name::$command { .. } => $word,)* }
            }
        }
    };
}

commands! {
    Command {
        // the runtime
        StartRun(Box<NewRun>) = "start_run",
        /// Does the earliest thing that is due; repeat while something is.
        Tick = "tick",
        /// The receiver took an envelope out of its inbox.
        Acknowledge {
            workspace: WorkspaceId,
            envelope: EnvelopeId,
        } = "acknowledge",
        CompleteMigration {
            workspace: WorkspaceId,
        } = "complete_migration",
        FailMigration {
            workspace: WorkspaceId,
            error: Text,
        } = "fail_migration",
        FailCreation {
            workspace: WorkspaceId,
        } = "fail_creation",
        /// Cumulative totals, from someone other than the agent.
        MeterUsage {
            workspace: WorkspaceId,
            totals: Usage,
        } = "meter_usage",
        ReportViolation {
            workspace: WorkspaceId,
            subject: Damaged,
        } = "report_violation",
        Recover {
            downtime_us: u64,
            examined: u64,
            quarantined: u64,
        } = "recover",
        ReportDegradation {
            reason: Text,
            coordinator_action: Option<Text>,
            affected: Arc<[WorkspaceId]>,
        } = "report_degradation",
        ShutDown {
            forced: bool,
        } = "shut_down",
        Compact(Compaction) = "compact",
        RecordSnapshot {
            state_hash: Hash,
        } = "record_snapshot",
        RecordAuthenticationFailure {
            entity: Text,
            context: Text,
            reason: Text,
            source: Text,
        } = "record_authentication_failure",
        RecordAuthentication {
            user: UserId,
            method: Text,
        } = "record_authentication",

        // whoever manages workspaces: the coordinator, a delegate, or a person
        CreateWorkspace(Box<NewWorkspace>) = "create_workspace",
        GrantVisibility {
            workspace: WorkspaceId,
            targets: Arc<[Seen]>,
            reason: Option<Text>,
        } = "grant_visibility",
        /// Only while the workspace is idle.
        GrantAuthority {
            workspace: WorkspaceId,
            resources: Arc<[Text]>,
        } = "grant_authority",
        SetPriority {
            workspace: WorkspaceId,
            priority: Band,
        } = "set_priority",
        SetGroupPriority {
            group: Text,
            priority: Band,
        } = "set_group_priority",
        RaiseBudget {
            workspace: WorkspaceId,
            dimension: Dimension,
            limit: u64,
        } = "raise_budget",
        Suspend {
            workspace: WorkspaceId,
            reason: Text,
        } = "suspend",
        Resume {
            workspace: WorkspaceId,
        } = "resume",
        Migrate {
            workspace: WorkspaceId,
            new_agent: Text,
            reason: Text,
        } = "migrate",
        Abort {
            workspace: WorkspaceId,
            reason: Option<Text>,
        } = "abort",
        AbortGroup {
            group: Text,
        } = "abort_group",
        TerminateGracefully(Box<WindDown>) = "terminate_gracefully",
        TransferOwnership {
            workspace: WorkspaceId,
            to: UserId,
            reason: Option<Text>,
        } = "transfer_ownership",
        Reparent {
            workspace: WorkspaceId,
            parent: WorkspaceId,
            reason: Text,
        } = "reparent",
        /// Lets a delegate make delegates of its children (WACP §5.4).
        ApproveDelegation {
            delegate: WorkspaceId,
        } = "approve_delegation",
        CreateRight {
            holder: WorkspaceId,
            target: WorkspaceId,
            kind: RightKind,
        } = "create_right",
        RevokeRight {
            holder: WorkspaceId,
            target: WorkspaceId,
            kind: RightKind,
        } = "revoke_right",

        // work
        SubmitGraph(NewGraph) = "submit_graph",
        Decompose {
            task: TaskId,
            tasks: Vec<NewTask>,
        } = "decompose",
        RetryTask {
            task: TaskId,
        } = "retry_task",
        CancelTask {
            task: TaskId,
        } = "cancel_task",
        Accept(Box<Acceptance>) = "accept",
        Revise {
            workspace: WorkspaceId,
        } = "revise",
        Reject {
            workspace: WorkspaceId,
        } = "reject",
        ResolveConflict {
            workspace: WorkspaceId,
            conflict: ConflictId,
            resolution: Resolution,
        } = "resolve_conflict",
        Salvage(Box<Salvage>) = "salvage",

        // agents
        Emit {
            signal: SignalType,
            reason: Option<Text>,
            reference: Option<Reference>,
        } = "emit",
        Send(Box<NewEnvelope>) = "send",
        CreateCheckpoint(Box<NewCheckpoint>) = "create_checkpoint",
        /// What the agent believes it has used, in total.
        ReportUsage {
            totals: Usage,
        } = "report_usage",
        /// May the principal read this? Leaves a trace only when it may not.
        Read {
            workspace: WorkspaceId,
            resource: Option<Text>,
        } = "read",
        ReadTrail {
            workspace: Option<WorkspaceId>,
        } = "read_trail",

        // people
        ResolveGate {
            gate: GateId,
            answer: Answer,
            modification: Option<Modification>,
        } = "resolve_gate",
        Inject(Box<NewEnvelope>) = "inject",
        AnswerEscalation {
            signal: SignalId,
            answer: escalation::Answer,
        } = "answer_escalation",

        // the coordinator, after a gate was handed to it
        DecideGate {
            gate: GateId,
            proceed: bool,
        } = "decide_gate",

        // the operator, or a person with the capability
        CreateUser {
            name: Text,
        } = "create_user",
        ChangeUser {
            user: UserId,
            change: UserChange,
            reason: Option<Text>,
        } = "change_user",
        GrantCapability {
            user: UserId,
            capability: Capability,
        } = "grant_capability",
        RevokeCapability {
            user: UserId,
            capability: Capability,
            reason: Option<Text>,
        } = "revoke_capability",
    }
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
