//! What an administrative command leads to, or why it is refused.

use trail::{Hash, Micros};
use wake::limits::{AGENT_ID, ORCHESTRATED_AGENTS};

use crate::{
    bucket::{KeyKind, Rate},
    command::{Command, NewKey},
    device,
    event::*,
    rejection::Rejection,
    sign_in,
    state::{Key, Role, State, User, UserState},
};

/// Names that mean something on the trail.
const RESERVED: [&str; 11] = [
    "system", "protocol", "fallback", "operator", "admin", "owner", "reviewer", "viewer", "agent",
    "you", "me",
];

/// This state is held whole in memory, so each kind of thing has a limit.
const MAX_USERS: usize = 10_000;
pub(crate) const MAX_AGENTS: usize = 100_000;
/// Of those that work.
pub(crate) const MAX_KEYS: usize = 200_000;
const MAX_ALLOW_RULES: usize = 1_000;
const RETENTION_DAYS: std::ops::RangeInclusive<u32> = 1..=36_500;

pub fn decide(state: &State, command: &Command, now: Micros) -> Result<Vec<Event>, Rejection> {
    match command {
        Command::CreateUser {
            name,
            role,
            token_id,
            token_hash,
        } => {
            check_name(name)?;
            if state.users.contains_key(name) {
                return Err(Rejection::UserExists(name.clone()));
            }
            let role = match (state.users.is_empty(), role) {
                (true, None | Some(Role::Owner)) => Role::Owner,
                (true, Some(_)) => return Err(Rejection::FirstMustBeOwner),
                (false, role) => role.unwrap_or(Role::Reviewer),
            };
            room(state.users.len(), MAX_USERS, "users")?;
            let token = TokenIssued {
                hash: Hash(*token_hash),
                name: name.clone(),
                token_id: token_id.clone(),
            };
            Ok(vec![
                UserCreated {
                    name: name.clone(),
                    role,
                }
                .into(),
                token.into(),
            ])
        }
        Command::IssueToken {
            name,
            token_id,
            token_hash,
        } => {
            let user = user(state, name)?;
            let token = TokenIssued {
                hash: Hash(*token_hash),
                name: user.name.clone(),
                token_id: token_id.clone(),
            };
            Ok(vec![token.into()])
        }
        Command::SetRole { name, role } => {
            let user = user(state, name)?;
            if *role != Role::Owner {
                spare_last_owner(state, user)?;
            }
            let changed = user.role != *role;
            Ok(once(
                changed,
                RoleSet {
                    name: name.clone(),
                    role: *role,
                },
            ))
        }
        Command::MakeLink {
            name,
            hash,
            expires_at,
        } => sign_in::make_link(state, name, *hash, *expires_at),
        Command::UseLink { hash, session } => sign_in::use_link(state, hash, session, now),
        Command::OpenSession { name, session } => sign_in::open_session(state, name, session, now),
        Command::CloseSession { session_id } => sign_in::close_session(state, session_id),
        Command::CloseSessions { name } => {
            let user = user(state, name)?;
            Ok(sign_in::close_all(state, &user.name))
        }
        Command::RecordPassword { name, keep } => {
            sign_in::set_password(state, name, keep.as_deref())
        }
        Command::SuspendUser { name } => set_state(state, name, UserState::Suspended),
        Command::ResumeUser { name } => set_state(state, name, UserState::Active),
        Command::DeactivateUser { name } => set_state(state, name, UserState::Deactivated),
        Command::CreateKey(new) => create_key(state, new, now),
        Command::RevokeKey { key_id } => {
            let key = key(state, key_id)?;
            let event = KeyRevoked {
                key_id: key_id.clone(),
                owner: owner_of(state, key),
            };
            Ok(once(key.revoked_at.is_none(), event))
        }
        Command::RotateKey {
            key_id,
            new_key_id,
            new_hash,
            old_expires_at,
        } => {
            let old = key(state, key_id)?;
            if !old.is_active(now) {
                return Err(Rejection::KeyRevoked(key_id.clone()));
            }
            room_for_key(state, now)?;
            let owner = owner_of(state, old);
            let created = KeyCreated {
                agent_id: old.agent_id.clone(),
                hash: Hash(*new_hash),
                key_id: new_key_id.clone(),
                orchestrates: old.orchestrates.clone(),
                owner: owner.clone(),
                rate: state.rate_of(old),
                test: old.test,
                usual_rate: old.usual_rate.then_some(true),
            };
            if old.expires_at.is_some_and(|at| at < *old_expires_at) {
                return Err(Rejection::KeyEndsSooner(key_id.clone()));
            }
            let expiry = KeyExpirySet {
                expires_at: *old_expires_at,
                key_id: key_id.clone(),
                owner,
            };
            Ok(vec![created.into(), expiry.into()])
        }
        Command::AddDevice(new) => device::add(state, new),
        Command::IssueDeviceToken(new) => device::issue(state, new),
        Command::ExportDeviceToken { agent_id, owner } => device::export(state, agent_id, owner),
        Command::RemoveAgent { agent_id, by } => {
            device::remove(state, agent_id, by.as_deref(), now)
        }
        Command::AllowWebhook {
            pattern,
            networks,
            ca_pem,
        } => {
            let text = pattern.to_string();
            if state.allowlist.contains_key(&text) {
                return Err(Rejection::AlreadyAllowed(text));
            }
            room(state.allowlist.len(), MAX_ALLOW_RULES, "allowlist entries")?;
            let (ca_pem, networks) = (ca_pem.clone(), networks.clone());
            Ok(vec![
                WebhookAllowed {
                    ca_pem,
                    networks,
                    pattern: pattern.clone(),
                }
                .into(),
            ])
        }
        Command::RemoveWebhook { pattern } => match state.allowlist.contains_key(pattern) {
            true => Ok(vec![
                WebhookRemoved {
                    pattern: pattern.clone(),
                }
                .into(),
            ]),
            false => Err(Rejection::NotAllowed(pattern.clone())),
        },
        Command::SetRetention { kind, days } => {
            if days.is_some_and(|days| !RETENTION_DAYS.contains(&days)) {
                return Err(Rejection::BadRetention);
            }
            let changed = state.retention.get(kind) != days.as_ref();
            Ok(once(
                changed,
                RetentionSet {
                    days: *days,
                    r#type: *kind,
                },
            ))
        }
        Command::SetRate { keys, rate } => {
            check_rate(*rate)?;
            let changed = state.rates.get(keys) != rate.as_ref();
            Ok(once(
                changed,
                RateSet {
                    keys: *keys,
                    rate: *rate,
                },
            ))
        }
        Command::RecordSecret { agent_id } => {
            let agent = state
                .agents
                .get(agent_id)
                .ok_or_else(|| Rejection::NoSuchAgent(agent_id.clone()))?;
            let owner = agent.owner.clone();
            Ok(vec![
                WebhookSecretSet {
                    agent_id: agent_id.clone(),
                    owner,
                }
                .into(),
            ])
        }
    }
}

/// A change that is made already is no event.
fn once(changed: bool, event: impl Into<Event>) -> Vec<Event> {
    if changed {
        vec![event.into()]
    } else {
        Vec::new()
    }
}

pub(crate) fn room(used: usize, max: usize, what: &'static str) -> Result<(), Rejection> {
    if used < max {
        Ok(())
    } else {
        Err(Rejection::TooMany { what, max })
    }
}

/// Keys that no longer work take no room: they are few, and nobody can remove them.
fn room_for_key(state: &State, now: Micros) -> Result<(), Rejection> {
    match state.keys.len() < MAX_KEYS {
        true => Ok(()),
        false => room(state.active_keys(now), MAX_KEYS, "keys"),
    }
}

fn check_name(name: &str) -> Result<(), Rejection> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts || name.len() > 64 || !name.chars().all(plain) {
        return Err(Rejection::BadName(name.to_owned()));
    }
    match RESERVED.contains(&name) {
        true => Err(Rejection::ReservedName(name.to_owned())),
        false => Ok(()),
    }
}

/// A user who has not been deactivated.
fn user<'a>(state: &'a State, name: &str) -> Result<&'a User, Rejection> {
    let user = state
        .users
        .get(name)
        .ok_or_else(|| Rejection::NoSuchUser(name.to_owned()))?;
    match user.state {
        UserState::Deactivated => Err(Rejection::Deactivated(name.to_owned())),
        _ => Ok(user),
    }
}

fn set_state(state: &State, name: &str, to: UserState) -> Result<Vec<Event>, Rejection> {
    let user = user(state, name)?;
    if to != UserState::Active {
        spare_last_owner(state, user)?;
    }
    // Whoever comes back signs in anew.
    let mut events = match to {
        UserState::Active => Vec::new(),
        _ => sign_in::close_all(state, name),
    };
    events.extend(once(
        user.state != to,
        UserStateSet {
            name: name.to_owned(),
            state: to,
        },
    ));
    Ok(events)
}

/// Somebody must be left who can administer the server.
fn spare_last_owner(state: &State, user: &User) -> Result<(), Rejection> {
    let counts = user.role == Role::Owner && user.state == UserState::Active;
    match counts && state.active_owners() == 1 {
        true => Err(Rejection::LastOwner(user.name.clone())),
        false => Ok(()),
    }
}

fn key<'a>(state: &'a State, key_id: &str) -> Result<&'a Key, Rejection> {
    state
        .keys
        .get(key_id)
        .ok_or_else(|| Rejection::NoSuchKey(key_id.to_owned()))
}

fn owner_of(state: &State, key: &Key) -> String {
    state
        .agents
        .get(&key.agent_id)
        .map(|agent| agent.owner.clone())
        .unwrap_or_default()
}

fn check_rate(rate: Option<Rate>) -> Result<(), Rejection> {
    match rate.is_none_or(Rate::lets_something_through) {
        true => Ok(()),
        false => Err(Rejection::BadRate),
    }
}

fn create_key(state: &State, new: &NewKey, now: Micros) -> Result<Vec<Event>, Rejection> {
    check_rate(new.rate)?;
    check_agent_id(&new.agent_id, "agent_id")?;
    new.orchestrates
        .iter()
        .try_for_each(|id| check_agent_id(id, "orchestrates"))?;
    if new.orchestrates.len() > ORCHESTRATED_AGENTS {
        let named = new.orchestrates.len();
        return Err(Rejection::TooManyAgents {
            named,
            max: ORCHESTRATED_AGENTS,
        });
    }
    room_for_key(state, now)?;
    let mut events = Vec::new();
    let owner = match state.agents.get(&new.agent_id) {
        Some(agent) => agent.owner.clone(),
        None => {
            room(state.agents.len(), MAX_AGENTS, "agents")?;
            let owner = match &new.owner {
                Some(name) => user(state, name)?,
                None => state.first_owner().ok_or(Rejection::NoOwner)?,
            };
            let (agent_id, owner) = (new.agent_id.clone(), owner.name.clone());
            events.push(
                AgentAdded {
                    agent_id,
                    owner: owner.clone(),
                }
                .into(),
            );
            owner
        }
    };
    let created = KeyCreated {
        agent_id: new.agent_id.clone(),
        hash: Hash(new.hash),
        key_id: new.key_id.clone(),
        orchestrates: new.orchestrates.clone(),
        owner,
        rate: new
            .rate
            .unwrap_or_else(|| state.usual_rate(KeyKind::of(new.test))),
        test: new.test,
        usual_rate: new.rate.is_none().then_some(true),
    };
    events.push(created.into());
    Ok(events)
}

pub(crate) fn check_agent_id(agent_id: &str, field: &'static str) -> Result<(), Rejection> {
    let fits = agent_id.chars().count() <= AGENT_ID;
    let is_blank = agent_id.trim().is_empty();
    match fits && !is_blank && !agent_id.chars().any(char::is_control) {
        true => Ok(()),
        false => Err(Rejection::BadAgentId { field }),
    }
}
