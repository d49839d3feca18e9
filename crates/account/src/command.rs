//! What an owner or the operator can ask for. Hashes and ids come with the
//! command: nothing here draws a random number.

use trail::Micros;
use wake::{Kind, net::Cidr, webhook::HostPattern};

use crate::{
    bucket::{KeyKind, Rate},
    device::NewDeviceToken,
    secret::SecretHash,
    sign_in::NewSession,
    state::Role,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    CreateUser {
        name: String,
        role: Option<Role>,
        token_id: String,
        token_hash: SecretHash,
    },
    IssueToken {
        name: String,
        token_id: String,
        token_hash: SecretHash,
    },
    SetRole {
        name: String,
        role: Role,
    },
    SuspendUser {
        name: String,
    },
    ResumeUser {
        name: String,
    },
    DeactivateUser {
        name: String,
    },
    CreateKey(NewKey),
    RevokeKey {
        key_id: String,
    },
    RotateKey {
        key_id: String,
        new_key_id: String,
        new_hash: SecretHash,
        old_expires_at: Micros,
    },
    /// A new agent with a token for the relay, by the one it belongs to.
    AddDevice(NewDeviceToken),
    /// A new token for one that is there.
    IssueDeviceToken(NewDeviceToken),
    ExportDeviceToken {
        agent_id: String,
        owner: String,
    },
    /// By the one it belongs to, or else by who administers.
    RemoveAgent {
        agent_id: String,
        by: Option<String>,
    },
    AllowWebhook {
        pattern: HostPattern,
        networks: Vec<Cidr>,
        ca_pem: Option<String>,
    },
    RemoveWebhook {
        pattern: String,
    },
    SetRetention {
        kind: Kind,
        days: Option<u32>,
    },
    /// The usual rate of one kind of keys; `None` for the one of WAKE.
    SetRate {
        keys: KeyKind,
        rate: Option<Rate>,
    },
    RecordSecret {
        agent_id: String,
    },
    /// A link for someone to sign in with, once.
    MakeLink {
        name: String,
        hash: SecretHash,
        expires_at: Micros,
    },
    UseLink {
        hash: SecretHash,
        session: NewSession,
    },
    /// For someone whose password was right.
    OpenSession {
        name: String,
        session: NewSession,
    },
    CloseSession {
        session_id: String,
    },
    /// Ends all of someone's sessions.
    CloseSessions {
        name: String,
    },
    /// A password was set; every session but this one ends.
    RecordPassword {
        name: String,
        keep: Option<String>,
    },
}

/// A key for an agent, which is made if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    pub agent_id: String,
    /// For a new agent; the first active owner otherwise.
    pub owner: Option<String>,
    pub key_id: String,
    pub hash: SecretHash,
    pub test: bool,
    pub orchestrates: Vec<String>,
    pub rate: Option<Rate>,
}
