//! Users, agents, keys and rules as they stand, and how events change them.
//!
//! `apply` cannot fail and decides nothing: an event that names something
//! unknown changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use trail::{Hash, Micros};
use wake::{
    Kind,
    net::Cidr,
    webhook::{CallbackUrl, HostPattern},
};

use crate::{
    bucket::{KeyKind, Rate},
    device::Device,
    event::Event,
    secret::SecretHash,
    sign_in::{Link, Method, Session},
};

trail::closed! {
    /// What a person may do; each may also do what those before it may.
    Role {
        Viewer = "viewer",
        Reviewer = "reviewer",
        Owner = "owner",
    }
}

impl Role {
    pub fn may_answer(self) -> bool {
        self >= Role::Reviewer
    }
}

trail::closed! {
    /// Whether a person can come in.
    UserState {
        Active = "active",
        Suspended = "suspended",
        Deactivated = "deactivated",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub name: String,
    pub role: Role,
    pub state: UserState,
    pub created_at: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub token_id: String,
    pub name: String,
    pub hash: Hash,
    pub created_at: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub agent_id: String,
    pub owner: String,
    pub created_at: Micros,
    /// What it has for the relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Device>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    pub key_id: String,
    pub agent_id: String,
    pub hash: Hash,
    pub test: bool,
    pub orchestrates: Vec<String>,
    /// Its own rate, unless it follows the usual one: see [`State::rate_of`].
    pub rate: Rate,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub usual_rate: bool,
    pub created_at: Micros,
    pub expires_at: Option<Micros>,
    pub revoked_at: Option<Micros>,
}

impl Key {
    pub fn is_active(&self, now: Micros) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }

    /// Whether deliveries of this agent may be read with the key.
    pub fn may_read(&self, agent_id: &str) -> bool {
        self.agent_id == agent_id || self.orchestrates.iter().any(|other| other == agent_id)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowRule {
    pub pattern: HostPattern,
    pub networks: Vec<Cidr>,
    pub ca_pem: Option<String>,
    pub created_at: Micros,
}

/// What an event takes away beside what it names, by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    /// A newer one was issued.
    Token(String),
    /// Enough newer ones of the same agent no longer work either.
    Key(String),
}

/// Keys of an agent that no longer work and are kept to be shown. With more than
/// none, an agent that ever had a key still has one, and so is not removed.
pub const ENDED_KEYS: usize = 10;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub users: BTreeMap<String, User>,
    pub tokens: BTreeMap<String, Token>,
    pub agents: BTreeMap<String, Agent>,
    pub keys: BTreeMap<String, Key>,
    /// By the text of their pattern.
    pub allowlist: BTreeMap<String, AllowRule>,
    /// Days by delivery type.
    pub retention: BTreeMap<Kind, u32>,
    /// Usual rates that differ from those of WAKE.
    pub rates: BTreeMap<KeyKind, Rate>,
    pub sessions: BTreeMap<String, Session>,
    /// By whom they sign in.
    pub links: BTreeMap<String, Link>,
    #[serde(skip)]
    session_by_hash: BTreeMap<SecretHash, String>,
    #[serde(skip)]
    token_by_hash: BTreeMap<SecretHash, String>,
    #[serde(skip)]
    key_by_hash: BTreeMap<SecretHash, String>,
    #[serde(skip)]
    keys_by_agent: BTreeMap<String, BTreeSet<String>>,
    #[serde(skip)]
    device_by_hash: BTreeMap<SecretHash, String>,
    #[serde(skip)]
    devices_by_owner: BTreeMap<String, BTreeSet<String>>,
}

impl State {
    /// The active user whose token hashes to this.
    pub fn user_by_token(&self, hash: &SecretHash) -> Option<&User> {
        let token = self.tokens.get(self.token_by_hash.get(hash)?)?;
        self.users
            .get(&token.name)
            .filter(|user| user.state == UserState::Active)
    }

    /// The session whose secret hashes to this and its active user.
    pub fn user_by_session(&self, hash: &SecretHash, now: Micros) -> Option<(&Session, &User)> {
        let session = self.sessions.get(self.session_by_hash.get(hash)?)?;
        let user = self.users.get(&session.name)?;
        let lasts = now < session.expires_at && user.state == UserState::Active;
        lasts.then_some((session, user))
    }

    /// The key that hashes to this, if it still works.
    pub fn key_by_secret(&self, hash: &SecretHash, now: Micros) -> Option<&Key> {
        self.keys
            .get(self.key_by_hash.get(hash)?)
            .filter(|key| key.is_active(now))
    }

    /// The keys of an agent, whether they work or not.
    pub fn keys_of(&self, agent_id: &str) -> impl Iterator<Item = &Key> {
        let ids = self.keys_by_agent.get(agent_id).into_iter().flatten();
        ids.filter_map(|key_id| self.keys.get(key_id))
    }

    /// The keys that work.
    pub fn active_keys(&self, now: Micros) -> usize {
        let keys = self.keys.values();
        keys.filter(|key| key.is_active(now)).count()
    }

    /// Forgets an agent's keys that no longer work, but for those that ended last.
    /// It goes by the time of an event, so that a replay forgets the same.
    fn forget_ended_keys(&mut self, agent_id: &str, at: Micros) -> Vec<Gone> {
        let ended = self.keys_of(agent_id).filter(|key| !key.is_active(at));
        let ended = ended.map(|key| (key.revoked_at.or(key.expires_at), key.key_id.clone()));
        let mut ended: Vec<(Option<Micros>, String)> = ended.collect();
        ended.sort_unstable();
        ended.truncate(ended.len().saturating_sub(ENDED_KEYS));
        let ended = ended.into_iter().map(|(_, key_id)| key_id);
        ended
            .filter(|key_id| self.forget_key(key_id))
            .map(Gone::Key)
            .collect()
    }

    fn note_key(&mut self, key: Key) {
        self.key_by_hash.insert(key.hash.0, key.key_id.clone());
        let own = self.keys_by_agent.entry(key.agent_id.clone());
        own.or_default().insert(key.key_id.clone());
        self.keys.insert(key.key_id.clone(), key);
    }

    fn forget_key(&mut self, key_id: &str) -> bool {
        let Some(key) = self.keys.remove(key_id) else {
            return false;
        };
        self.key_by_hash.remove(&key.hash.0);
        if let Some(own) = self.keys_by_agent.get_mut(&key.agent_id) {
            own.remove(key_id);
        }
        true
    }

    /// The device whose token hashes to this, if its owner is active.
    pub fn device_by_token(&self, hash: &SecretHash) -> Option<&Agent> {
        let agent = self.agents.get(self.device_by_hash.get(hash)?)?;
        self.users
            .get(&agent.owner)
            .filter(|user| user.state == UserState::Active)
            .map(|_| agent)
    }

    /// The agents of someone's that may connect to the relay.
    pub fn devices_of(&self, owner: &str) -> impl Iterator<Item = &str> {
        let devices = self.devices_by_owner.get(owner);
        devices.into_iter().flatten().map(String::as_str)
    }

    /// Whether someone has a device of this name.
    pub fn has_device(&self, owner: &str, agent_id: &str) -> bool {
        let devices = self.devices_by_owner.get(owner);
        devices.is_some_and(|devices| devices.contains(agent_id))
    }

    /// The name of the token that hashes to this.
    pub fn token_id(&self, hash: &SecretHash) -> Option<&str> {
        self.token_by_hash.get(hash).map(String::as_str)
    }

    /// Takes the device out of the look-ups.
    fn forget_device(&mut self, agent_id: &str) {
        let Some(agent) = self.agents.get_mut(agent_id) else {
            return;
        };
        let Some(device) = agent.link.take() else {
            return;
        };
        self.device_by_hash.remove(&device.hash.0);
        if let Some(devices) = self.devices_by_owner.get_mut(&agent.owner) {
            devices.remove(agent_id);
            if devices.is_empty() {
                self.devices_by_owner.remove(&agent.owner);
            }
        }
    }

    fn note_device(&mut self, agent_id: String, device: Device) {
        self.forget_device(&agent_id);
        let Some(agent) = self.agents.get_mut(&agent_id) else {
            return;
        };
        self.device_by_hash.insert(device.hash.0, agent_id.clone());
        self.devices_by_owner
            .entry(agent.owner.clone())
            .or_default()
            .insert(agent_id);
        agent.link = Some(device);
    }

    /// What keys of a kind may do, unless they have a rate of their own.
    pub fn usual_rate(&self, kind: KeyKind) -> Rate {
        let set = self.rates.get(&kind).copied();
        set.unwrap_or(kind.rate())
    }

    /// What a key may do now.
    pub fn rate_of(&self, key: &Key) -> Rate {
        match key.usual_rate {
            true => self.usual_rate(KeyKind::of(key.test)),
            false => key.rate,
        }
    }

    /// The allowlist's rule for a callback: of those that match, the one that says
    /// most exactly which host it means.
    pub fn allow_rule(&self, callback: &CallbackUrl) -> Option<&AllowRule> {
        let rules = self.allowlist.values();
        rules
            .filter(|rule| rule.pattern.matches(callback))
            .max_by_key(|rule| rule.pattern.exactness())
    }

    pub fn first_owner(&self) -> Option<&User> {
        let owners = self.users.values().filter(|user| is_active_owner(user));
        owners.min_by_key(|user| user.created_at)
    }

    pub fn active_owners(&self) -> usize {
        self.users
            .values()
            .filter(|user| is_active_owner(user))
            .count()
    }

    /// Restores the look-ups by hash after the maps were filled from storage.
    pub fn reindex(&mut self) {
        self.token_by_hash = self
            .tokens
            .values()
            .map(|token| (token.hash.0, token.token_id.clone()))
            .collect();
        self.session_by_hash = self
            .sessions
            .values()
            .map(|session| (session.hash.0, session.session_id.clone()))
            .collect();
        self.key_by_hash = self
            .keys
            .values()
            .map(|key| (key.hash.0, key.key_id.clone()))
            .collect();
        self.keys_by_agent.clear();
        for key in self.keys.values() {
            let own = self.keys_by_agent.entry(key.agent_id.clone());
            own.or_default().insert(key.key_id.clone());
        }
        let devices: Vec<(String, Device)> = self
            .agents
            .values_mut()
            .filter_map(|agent| Some((agent.agent_id.clone(), agent.link.take()?)))
            .collect();
        self.device_by_hash.clear();
        self.devices_by_owner.clear();
        for (agent_id, device) in devices {
            self.note_device(agent_id, device);
        }
    }

    /// Changes what the event says; gives what is gone with it though it names
    /// something else.
    pub fn apply(&mut self, event: &Event, at: Micros) -> Vec<Gone> {
        let mut gone = Vec::new();
        match event.clone() {
            Event::UserCreated(e) => {
                let user = User {
                    name: e.name,
                    role: e.role,
                    state: UserState::Active,
                    created_at: at,
                };
                self.users.insert(user.name.clone(), user);
            }
            Event::RoleSet(e) => {
                if let Some(user) = self.users.get_mut(&e.name) {
                    user.role = e.role;
                }
            }
            Event::UserStateSet(e) => {
                if let Some(user) = self.users.get_mut(&e.name) {
                    user.state = e.state;
                }
            }
            Event::TokenIssued(e) => {
                // A new token replaces the user's older ones.
                let old = self.tokens.values().filter(|token| token.name == e.name);
                let old: Vec<String> = old.map(|token| token.token_id.clone()).collect();
                for token_id in old {
                    if let Some(token) = self.tokens.remove(&token_id) {
                        self.token_by_hash.remove(&token.hash.0);
                        gone.push(Gone::Token(token_id));
                    }
                }
                self.token_by_hash.insert(e.hash.0, e.token_id.clone());
                let token = Token {
                    token_id: e.token_id,
                    name: e.name,
                    hash: e.hash,
                    created_at: at,
                };
                self.tokens.insert(token.token_id.clone(), token);
            }
            Event::SignInLinkMade(e) => {
                let link = Link {
                    name: e.name,
                    hash: e.hash,
                    expires_at: e.expires_at,
                };
                self.links.insert(link.name.clone(), link);
            }
            Event::SessionOpened(e) => {
                if e.method == Method::Link {
                    self.links.remove(&e.name);
                }
                self.session_by_hash.insert(e.hash.0, e.session_id.clone());
                let session = Session {
                    session_id: e.session_id,
                    name: e.name,
                    hash: e.hash,
                    method: e.method,
                    page_key: e.page_key,
                    browser: e.browser,
                    created_at: at,
                    expires_at: e.expires_at,
                };
                self.sessions.insert(session.session_id.clone(), session);
            }
            Event::SessionClosed(e) => {
                if let Some(session) = self.sessions.remove(&e.session_id) {
                    self.session_by_hash.remove(&session.hash.0);
                }
            }
            Event::AgentAdded(e) => {
                let agent = Agent {
                    agent_id: e.agent_id,
                    owner: e.owner,
                    created_at: at,
                    link: None,
                };
                self.agents.insert(agent.agent_id.clone(), agent);
            }
            Event::AgentRemoved(e) => {
                self.forget_device(&e.agent_id);
                self.agents.remove(&e.agent_id);
            }
            Event::DeviceTokenIssued(e) => {
                let device = Device {
                    token_id: e.token_id,
                    hash: e.hash,
                    issued_at: at,
                };
                self.note_device(e.agent_id, device);
            }
            Event::DeviceTokenRevoked(e) => self.forget_device(&e.agent_id),
            Event::KeyCreated(e) => {
                let agent_id = e.agent_id.clone();
                self.note_key(Key {
                    key_id: e.key_id,
                    agent_id: e.agent_id,
                    hash: e.hash,
                    test: e.test,
                    orchestrates: e.orchestrates,
                    rate: e.rate,
                    usual_rate: e.usual_rate.unwrap_or(false),
                    created_at: at,
                    expires_at: None,
                    revoked_at: None,
                });
                gone = self.forget_ended_keys(&agent_id, at);
            }
            Event::KeyExpirySet(e) => {
                if let Some(key) = self.keys.get_mut(&e.key_id) {
                    key.expires_at = Some(e.expires_at);
                    let agent_id = key.agent_id.clone();
                    gone = self.forget_ended_keys(&agent_id, at);
                }
            }
            Event::KeyRevoked(e) => {
                if let Some(key) = self.keys.get_mut(&e.key_id) {
                    key.revoked_at = Some(at);
                    let agent_id = key.agent_id.clone();
                    gone = self.forget_ended_keys(&agent_id, at);
                }
            }
            Event::WebhookAllowed(e) => {
                let rule = AllowRule {
                    pattern: e.pattern,
                    networks: e.networks,
                    ca_pem: e.ca_pem,
                    created_at: at,
                };
                self.allowlist.insert(rule.pattern.to_string(), rule);
            }
            Event::WebhookRemoved(e) => {
                self.allowlist.remove(&e.pattern);
            }
            Event::RetentionSet(e) => match e.days {
                Some(days) => {
                    self.retention.insert(e.r#type, days);
                }
                None => {
                    self.retention.remove(&e.r#type);
                }
            },
            Event::RateSet(e) => match e.rate {
                Some(rate) => {
                    self.rates.insert(e.keys, rate);
                }
                None => {
                    self.rates.remove(&e.keys);
                }
            },
            Event::AccessDenied(_)
            | Event::AccessFailed(_)
            | Event::DeviceTokenExported(_)
            | Event::LogKeyRotated(_)
            | Event::LogContinued(_)
            | Event::LogRestored(_)
            | Event::LogStarted(_)
            | Event::PasswordSet(_)
            | Event::RelaysCounted(_)
            | Event::WebhookSecretSet(_) => {}
        }
        gone
    }
}

impl State {
    /// Someone who may do what takes this role, now.
    pub fn may_act_as(&self, name: &str, role: Role) -> bool {
        let user = self.users.get(name);
        user.is_some_and(|user| user.state == UserState::Active && user.role >= role)
    }
}

fn is_active_owner(user: &User) -> bool {
    user.role == Role::Owner && user.state == UserState::Active
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_entry_decides_whatever_the_order_of_the_list() {
        let mut accounts = State::default();
        for pattern in [
            "*.example.com",
            "*.internal.example.com",
            "hooks.internal.example.com",
            "hooks.internal.example.com:8443",
            "zz.example.com",
        ] {
            let rule = AllowRule {
                pattern: HostPattern::parse(pattern).unwrap(),
                networks: Vec::new(),
                ca_pem: None,
                created_at: Micros(0),
            };
            accounts.allowlist.insert(pattern.to_owned(), rule);
        }
        for (url, expected) in [
            ("https://a.example.com/", Some("*.example.com")),
            ("https://zz.example.com/", Some("zz.example.com")),
            (
                "https://a.internal.example.com/",
                Some("*.internal.example.com"),
            ),
            (
                "https://hooks.internal.example.com/",
                Some("hooks.internal.example.com"),
            ),
            (
                "https://hooks.internal.example.com:8443/",
                Some("hooks.internal.example.com:8443"),
            ),
            (
                "https://x.hooks.internal.example.com/",
                Some("*.internal.example.com"),
            ),
            ("https://a.example.com:8443/", None),
        ] {
            let callback = CallbackUrl::parse(url).unwrap();
            let found = accounts.allow_rule(&callback);
            let found = found.map(|rule| rule.pattern.to_string());
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }

    fn key_created(key_id: &str) -> Event {
        crate::event::KeyCreated {
            agent_id: "crew".to_owned(),
            hash: Hash(crate::secret::hash(key_id)),
            key_id: key_id.to_owned(),
            orchestrates: Vec::new(),
            owner: "ann".to_owned(),
            rate: KeyKind::Live.rate(),
            test: false,
            usual_rate: None,
        }
        .into()
    }

    fn key_revoked(key_id: &str) -> Event {
        let (key_id, owner) = (key_id.to_owned(), "ann".to_owned());
        crate::event::KeyRevoked { key_id, owner }.into()
    }

    #[test]
    fn of_an_agents_keys_that_no_longer_work_those_that_ended_last_are_kept() {
        let mut state = State::default();
        state.apply(&key_created("works"), Micros(1));
        state.apply(&key_created("expires"), Micros(2));
        let expiry = crate::event::KeyExpirySet {
            expires_at: Micros(50),
            key_id: "expires".to_owned(),
            owner: "ann".to_owned(),
        };
        state.apply(&expiry.into(), Micros(3));
        let mut gone = Vec::new();
        for number in 0..ENDED_KEYS + 4 {
            let key_id = format!("key_{number:02}");
            let at = Micros(10 + number as i64);
            gone.extend(state.apply(&key_created(&key_id), at));
            gone.extend(state.apply(&key_revoked(&key_id), at));
        }
        let forgotten = ["key_00", "key_01", "key_02", "key_03"];
        let expected = forgotten.map(|key_id| Gone::Key(key_id.to_owned()));
        assert_eq!(gone, expected);
        assert_eq!(state.keys.len(), ENDED_KEYS + 2, "and those that work");
        assert_eq!(state.keys_of("crew").count(), ENDED_KEYS + 2);
        let mut read = state.clone();
        read.reindex();
        assert_eq!(read, state);
        // One whose time is over counts from the next change on.
        let gone = state.apply(&key_revoked("works"), Micros(60));
        let expected = ["key_04", "key_05"].map(|key_id| Gone::Key(key_id.to_owned()));
        assert_eq!(gone, expected);
        assert!(state.keys.contains_key("expires") && state.keys.contains_key("works"));
        // To revoke again changes nothing; what was forgotten is unknown.
        let revoke = |key_id: &str| crate::Command::RevokeKey {
            key_id: key_id.to_owned(),
        };
        let now = Micros(70);
        assert_eq!(crate::decide(&state, &revoke("works"), now), Ok(Vec::new()));
        let unknown = crate::Rejection::NoSuchKey("key_00".to_owned());
        assert_eq!(crate::decide(&state, &revoke("key_00"), now), Err(unknown));
        assert_eq!(state.apply(&key_revoked("key_00"), now), []);
    }

    #[test]
    fn keys_that_no_longer_work_take_no_room() {
        let mut state = State::default();
        state.apply(&key_created("key"), Micros(1));
        let owner = crate::event::UserCreated {
            name: "ann".to_owned(),
            role: Role::Owner,
        };
        state.apply(&owner.into(), Micros(1));
        let key = state.keys["key"].clone();
        for number in 0..crate::decide::MAX_KEYS {
            let (key_id, agent_id) = (format!("key_{number}"), format!("agent {}", number / 10));
            let key = Key {
                key_id: key_id.clone(),
                agent_id,
                revoked_at: Some(Micros(1)),
                ..key.clone()
            };
            state.keys.insert(key_id, key);
        }
        let create = crate::Command::CreateKey(crate::command::NewKey {
            agent_id: "crew".to_owned(),
            owner: None,
            key_id: "new".to_owned(),
            hash: [1; 32],
            test: false,
            orchestrates: Vec::new(),
            rate: None,
        });
        let rotate = crate::Command::RotateKey {
            key_id: "key".to_owned(),
            new_key_id: "new".to_owned(),
            new_hash: [1; 32],
            old_expires_at: Micros(9),
        };
        for command in [&create, &rotate] {
            assert!(crate::decide(&state, command, Micros(2)).is_ok());
        }
        for key in state.keys.values_mut() {
            key.revoked_at = None;
        }
        for command in [&create, &rotate] {
            let refused = crate::decide(&state, command, Micros(2));
            let (what, max) = ("keys", crate::decide::MAX_KEYS);
            assert_eq!(refused, Err(crate::Rejection::TooMany { what, max }));
        }
    }
}
