//! Facts of people: their states, what they may do, and every denial.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    id::{UserId, WorkspaceId},
    rejection::Refusal,
    role::{Role, Text},
    user::{Capability, UserState},
};

/// Who administers people and gives capabilities: the deployment's operator, its
/// runtime, a person, and to delegates the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grantor {
    Coordinator,
    Operator,
    Protocol,
    User(UserId),
}

/// A person is known from now on, active, and may do this much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserCreated {
    /// Each once, in the order of the closed set.
    pub capabilities: Arc<[Capability]>,
    pub created_by: Grantor,
    /// The `user_id` that the authentication boundary assigned.
    pub name: Text,
    pub user: UserId,
}

/// A person proved who they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticationSucceeded {
    pub method: Text,
    pub user: UserId,
}

/// Someone failed to prove who they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticationFailed {
    pub context: Text,
    pub entity: Text,
    pub reason: Text,
    pub source: Text,
}

/// A person was paused by an administrator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSuspended {
    pub by: Grantor,
    pub reason: Option<Text>,
    pub user: UserId,
}

/// A paused person is active again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserResumed {
    pub by: Grantor,
    pub reason: Option<Text>,
    pub user: UserId,
}

/// A person waits for a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserBlocked {
    pub by: Grantor,
    pub condition: Option<Text>,
    pub user: UserId,
}

/// The condition is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserUnblocked {
    pub by: Grantor,
    pub condition: Option<Text>,
    pub user: UserId,
}

/// A person may never act again, unless reactivated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserDeactivated {
    pub by: Grantor,
    pub prior_state: UserState,
    pub reason: Option<Text>,
    pub user: UserId,
}

/// A deactivated person is active again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserReactivated {
    pub by: Grantor,
    pub reason: Option<Text>,
    pub user: UserId,
}

/// Who holds or lacks a capability: a person, or a workspace and its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    User(UserId),
    Workspace { role: Role, workspace: WorkspaceId },
}

/// Someone may do more. For a delegate the one capability is
/// `grant_delegation`: the root coordinator's approval to make delegates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityGranted {
    pub capability: Capability,
    pub granted_by: Grantor,
    pub holder: Holder,
}

/// Someone may do less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityRevoked {
    pub capability: Capability,
    pub reason: Option<Text>,
    pub revoked_by: Grantor,
    pub user: UserId,
}

/// Someone tried what they may not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityDenied {
    pub action: Text,
    pub capability: Option<Capability>,
    pub holder: Option<Holder>,
    pub reason: Refusal,
    pub target: Option<WorkspaceId>,
}
