//! What changed, as facts on `account/{owner}` and `admin`.

use serde::{Deserialize, Serialize};
use trail::{Hash, Micros, Stream};
use wake::{Kind, net::Cidr, webhook::HostPattern};

use crate::{
    bucket::{KeyKind, Rate},
    sign_in::Method,
    state::Role,
};

trail::registry! {
    /// Users, agents, keys, tokens and server-wide rules.
    Event {
        AccessDenied(AccessDenied) = "access_denied",
        AccessFailed(AccessFailed) = "access_failed",
        AgentAdded(AgentAdded) = "agent_added",
        AgentRemoved(AgentRemoved) = "agent_removed",
        DeviceTokenExported(DeviceTokenExported) = "device_token_exported",
        DeviceTokenIssued(DeviceTokenIssued) = "device_token_issued",
        DeviceTokenRevoked(DeviceTokenRevoked) = "device_token_revoked",
        KeyCreated(KeyCreated) = "key_created",
        KeyExpirySet(KeyExpirySet) = "key_expiry_set",
        KeyRevoked(KeyRevoked) = "key_revoked",
        LogContinued(LogContinued) = "log_continued",
        LogKeyRotated(LogKeyRotated) = "log_key_rotated",
        LogRestored(LogRestored) = "log_restored",
        LogStarted(LogStarted) = "log_started",
        PasswordSet(PasswordSet) = "password_set",
        RateSet(RateSet) = "rate_set",
        RelaysCounted(RelaysCounted) = "relays_counted",
        RetentionSet(RetentionSet) = "retention_set",
        RoleSet(RoleSet) = "role_set",
        SessionClosed(SessionClosed) = "session_closed",
        SessionOpened(SessionOpened) = "session_opened",
        SignInLinkMade(SignInLinkMade) = "sign_in_link_made",
        TokenIssued(TokenIssued) = "token_issued",
        UserCreated(UserCreated) = "user_created",
        UserStateSet(UserStateSet) = "user_state_set",
        WebhookAllowed(WebhookAllowed) = "webhook_allowed",
        WebhookRemoved(WebhookRemoved) = "webhook_removed",
        WebhookSecretSet(WebhookSecretSet) = "webhook_secret_set",
    }
}

/// The first entry of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogStarted {
    pub algorithm: String,
    pub key: String,
    pub origin: String,
}

/// A backup was restored: what follows is a new log that begins with the
/// entries of the old one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRestored {
    pub key: String,
    pub old_checkpoint: String,
    pub old_origin: String,
    pub origin: String,
}

/// The log goes on, under a new key and origin, after its first `kept` entries:
/// what came after them does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogContinued {
    pub kept: u64,
    pub key: String,
    /// How many entries the old checkpoint counts that are not kept.
    pub missing: u64,
    pub old_checkpoint: String,
    pub old_origin: String,
    pub origin: String,
    /// What was found wrong, and where.
    pub reason: String,
    /// Of the tree of the entries that were kept.
    pub root: Hash,
}

/// The log's signing key changed; both keys sign the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogKeyRotated {
    pub new_key: String,
    pub new_signature: String,
    pub old_key: String,
    pub old_signature: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserCreated {
    pub name: String,
    pub role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleSet {
    pub name: String,
    pub role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserStateSet {
    pub name: String,
    pub state: crate::state::UserState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenIssued {
    pub hash: Hash,
    pub name: String,
    pub token_id: String,
}

/// The password's hash is kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordSet {
    pub name: String,
}

/// A link that signs this person in, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInLinkMade {
    pub expires_at: Micros,
    pub hash: Hash,
    pub name: String,
}

/// Someone signed in to the pages; a link is used up by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// What it was opened with, in our words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    pub expires_at: Micros,
    pub hash: Hash,
    pub method: Method,
    pub name: String,
    /// Hash of the page key. A session without one only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_key: Option<Hash>,
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionClosed {
    pub name: String,
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAdded {
    pub agent_id: String,
    pub owner: String,
}

/// It had no keys and never had; nothing of it is left but its entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRemoved {
    pub agent_id: String,
    pub owner: String,
}

/// The agent may connect to the relay as a device; the token before this one
/// opens nothing any more. The token itself is kept sealed, elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTokenIssued {
    pub agent_id: String,
    pub hash: Hash,
    pub owner: String,
    pub token_id: String,
}

/// Its owner read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTokenExported {
    pub agent_id: String,
    pub owner: String,
    pub token_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTokenRevoked {
    pub agent_id: String,
    pub owner: String,
}

/// What passed between a device and its owner's clients: how much, and never
/// what. One entry a device and hour at the most, so that traffic cannot fill
/// the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelaysCounted {
    pub agent_id: String,
    pub from_device: u64,
    pub from_device_bytes: u64,
    pub owner: String,
    /// What was sent to it and went nowhere.
    pub refused: u64,
    /// When it was last connected, if it ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Micros>,
    pub since: Micros,
    pub to_device: u64,
    pub to_device_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCreated {
    pub agent_id: String,
    pub hash: Hash,
    pub key_id: String,
    pub orchestrates: Vec<String>,
    pub owner: String,
    pub rate: Rate,
    pub test: bool,
    /// The key has no rate of its own: `rate` was the usual one when it was
    /// made, and later ones apply to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_rate: Option<bool>,
}

/// Rotation: the old key works until then, beside its successor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyExpirySet {
    pub expires_at: Micros,
    pub key_id: String,
    pub owner: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRevoked {
    pub key_id: String,
    pub owner: String,
}

/// The agent's webhook secret was made or rotated; the secret is kept sealed,
/// elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookSecretSet {
    pub agent_id: String,
    pub owner: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAllowed {
    pub ca_pem: Option<String>,
    pub networks: Vec<Cidr>,
    pub pattern: HostPattern,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookRemoved {
    pub pattern: String,
}

/// The usual rate of one kind of keys; `None`: the one that WAKE gives them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateSet {
    pub keys: KeyKind,
    pub rate: Option<Rate>,
}

/// `None`: content of this type is kept for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionSet {
    pub days: Option<u32>,
    pub r#type: Kind,
}

/// Requests that failed before anyone was recognised, one entry a source and
/// minute, so that nobody can fill the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessFailed {
    pub count: u64,
    pub source: String,
}

/// Someone who was recognised asked for what is not theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessDenied {
    pub code: String,
    pub stream: String,
    pub what: String,
    pub who: String,
}

impl Event {
    /// Whether it changes who may do what; the others are for the record.
    pub fn changes_accounts(&self) -> bool {
        !matches!(
            self,
            Event::AccessDenied(_)
                | Event::AccessFailed(_)
                | Event::DeviceTokenExported(_)
                | Event::LogKeyRotated(_)
                | Event::LogContinued(_)
                | Event::LogRestored(_)
                | Event::LogStarted(_)
                | Event::PasswordSet(_)
                | Event::RelaysCounted(_)
                | Event::WebhookSecretSet(_)
        )
    }

    /// The stream that this event belongs on.
    pub fn stream(&self) -> Stream {
        let account = Stream::account;
        match self {
            Event::UserCreated(facts) => account(&facts.name),
            Event::RoleSet(facts) => account(&facts.name),
            Event::UserStateSet(facts) => account(&facts.name),
            Event::TokenIssued(facts) => account(&facts.name),
            Event::PasswordSet(facts) => account(&facts.name),
            Event::SignInLinkMade(facts) => account(&facts.name),
            Event::SessionOpened(facts) => account(&facts.name),
            Event::SessionClosed(facts) => account(&facts.name),
            Event::AgentAdded(facts) => account(&facts.owner),
            Event::AgentRemoved(facts) => account(&facts.owner),
            Event::DeviceTokenIssued(facts) => account(&facts.owner),
            Event::DeviceTokenExported(facts) => account(&facts.owner),
            Event::DeviceTokenRevoked(facts) => account(&facts.owner),
            Event::RelaysCounted(facts) => account(&facts.owner),
            Event::KeyCreated(facts) => account(&facts.owner),
            Event::KeyExpirySet(facts) => account(&facts.owner),
            Event::KeyRevoked(facts) => account(&facts.owner),
            Event::WebhookSecretSet(facts) => account(&facts.owner),
            Event::AccessDenied(facts) => Stream::parse(&facts.stream).unwrap_or(Stream::Admin),
            Event::LogStarted(_)
            | Event::LogContinued(_)
            | Event::LogRestored(_)
            | Event::LogKeyRotated(_)
            | Event::WebhookAllowed(_)
            | Event::WebhookRemoved(_)
            | Event::RetentionSet(_)
            | Event::RateSet(_)
            | Event::AccessFailed(_) => Stream::Admin,
        }
    }
}
