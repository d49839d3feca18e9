//! The model of accounts: people, keys, rules. What an administrative command
//! must come to.

use std::collections::{BTreeMap, BTreeSet};

use account::{
    Actor, KeyKind, Rate, Rejection, Role,
    command::{Command, NewKey},
    secret::SecretHash,
};
use engine::Refusal;
use trail::Micros;

/// One token of a rate, so that an hour's refill is a whole number.
const TOKEN: i128 = 3_600_000_000;

#[derive(Clone, Debug, Default)]
pub struct Accounts {
    pub people: BTreeMap<String, Person>,
    pub keys: BTreeMap<String, Key>,
    pub agents: BTreeSet<String>,
    pub allowed: BTreeSet<String>,
    /// Days by the name of a type.
    pub retention: BTreeMap<wake::Kind, u32>,
    pub rates: BTreeMap<&'static str, Rate>,
}

#[derive(Clone, Debug)]
pub struct Person {
    pub role: Role,
    pub active: bool,
    pub token: SecretHash,
}

#[derive(Clone, Debug)]
pub struct Key {
    pub agent: String,
    pub test: bool,
    pub own_rate: Option<Rate>,
    pub revoked_at: Option<Micros>,
    pub expires_at: Option<Micros>,
    /// What is left of its rate and when that was so; `None` before its first use.
    left: Option<(i128, Micros)>,
}

impl Key {
    pub fn works(&self, now: Micros) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }

    /// Takes one token, or gives the seconds until there is one.
    pub fn take(&mut self, rate: Rate, now: Micros) -> Result<(), u64> {
        let full = i128::from(rate.burst) * TOKEN;
        let (left, at) = self.left.unwrap_or((full, now));
        let refill = i128::from((now.0 - at.0).max(0)) * i128::from(rate.per_hour);
        let left_now = (left + refill).min(full);
        if left_now < TOKEN {
            let a_second = i128::from(rate.per_hour) * 1_000_000;
            let missing = TOKEN - left_now;
            let seconds = missing / a_second + i128::from(missing % a_second != 0);
            return Err(u64::try_from(seconds).unwrap_or(u64::MAX));
        }
        self.left = Some((left_now - TOKEN, now.max(at)));
        Ok(())
    }
}

impl Accounts {
    pub fn may(&self, name: &str, role: Role) -> bool {
        let person = self.people.get(name);
        person.is_some_and(|person| person.active && person.role >= role)
    }

    pub fn may_administer(&self, actor: &Actor) -> Result<(), Refusal> {
        let may = match actor {
            Actor::Operator | Actor::System => true,
            Actor::Person(name) => self.may(name, Role::Owner),
            Actor::Agent(_) => false,
        };
        match may {
            true => Ok(()),
            false => Err(Refusal::PersonGone),
        }
    }

    pub fn rate(&self, key: &Key) -> Rate {
        let kind = KeyKind::of(key.test);
        let usual = self.rates.get(kind.as_str()).copied();
        key.own_rate.unwrap_or(usual.unwrap_or(kind.rate()))
    }

    /// Forgets keys that no longer work, of each agent all but the last ten that
    /// ended.
    fn forget_ended_keys(&mut self, agent: &str, at: Micros) {
        let ended = self.keys.iter();
        let ended = ended.filter(|(_, key)| key.agent == agent && !key.works(at));
        let mut ended: Vec<_> = ended
            .map(|(key_id, key)| (key.revoked_at.or(key.expires_at), key_id.clone()))
            .collect();
        ended.sort();
        while ended.len() > 10 {
            self.keys.remove(&ended.remove(0).1);
        }
    }

    /// Carries a command out; gives the number of entries that it makes. The first
    /// of them gets the time `at`, each later one another microsecond.
    pub fn administer(
        &mut self,
        command: &Command,
        now: Micros,
        at: Micros,
    ) -> Result<u64, Rejection> {
        let entries = self.change(command, now, at)?;
        let last = Micros(at.0 + entries as i64 - 1);
        let agent = match command {
            Command::CreateKey(new) => Some(new.agent_id.clone()),
            Command::RevokeKey { key_id } | Command::RotateKey { key_id, .. } => {
                Some(self.key(key_id)?.agent.clone())
            }
            _ => None,
        };
        if let Some(agent) = agent.filter(|_| entries > 0) {
            self.forget_ended_keys(&agent, last);
        }
        Ok(entries)
    }

    fn change(&mut self, command: &Command, now: Micros, at: Micros) -> Result<u64, Rejection> {
        match command {
            Command::CreateUser {
                name,
                role,
                token_hash,
                ..
            } => {
                if self.people.contains_key(name) {
                    return Err(Rejection::UserExists(name.clone()));
                }
                let role = role.unwrap_or(Role::Reviewer);
                let person = Person {
                    role,
                    active: true,
                    token: *token_hash,
                };
                self.people.insert(name.clone(), person);
                Ok(2)
            }
            Command::IssueToken {
                name, token_hash, ..
            } => {
                self.person(name)?.token = *token_hash;
                Ok(1)
            }
            Command::SetRole { name, role } => {
                self.spare_last_owner(name, *role != Role::Owner)?;
                let person = self.person(name)?;
                let changed = person.role != *role;
                person.role = *role;
                Ok(u64::from(changed))
            }
            Command::SuspendUser { name } => self.set_active(name, false),
            Command::ResumeUser { name } => self.set_active(name, true),
            Command::CreateKey(new) => Ok(self.create_key(new)),
            Command::RevokeKey { key_id } => {
                let key = self.key(key_id)?;
                let changed = key.revoked_at.is_none();
                key.revoked_at.get_or_insert(at);
                Ok(u64::from(changed))
            }
            Command::RotateKey {
                key_id,
                new_key_id,
                old_expires_at,
                ..
            } => {
                let key = self.key(key_id)?;
                if !key.works(now) {
                    return Err(Rejection::KeyRevoked(key_id.clone()));
                }
                let new = Key {
                    expires_at: None,
                    left: None,
                    ..key.clone()
                };
                if key.expires_at.is_some_and(|at| at < *old_expires_at) {
                    return Err(Rejection::KeyEndsSooner(key_id.clone()));
                }
                key.expires_at = Some(*old_expires_at);
                self.keys.insert(new_key_id.clone(), new);
                Ok(2)
            }
            Command::AllowWebhook { pattern, .. } => match self.allowed.insert(pattern.to_string())
            {
                true => Ok(1),
                false => Err(Rejection::AlreadyAllowed(pattern.to_string())),
            },
            Command::RemoveWebhook { pattern } => match self.allowed.remove(pattern) {
                true => Ok(1),
                false => Err(Rejection::NotAllowed(pattern.clone())),
            },
            Command::SetRetention { kind, days } => {
                let before = match days {
                    Some(days) => self.retention.insert(*kind, *days),
                    None => self.retention.remove(kind),
                };
                Ok(u64::from(before != *days))
            }
            Command::SetRate { keys, rate } => {
                let before = match rate {
                    Some(rate) => self.rates.insert(keys.as_str(), *rate),
                    None => self.rates.remove(keys.as_str()),
                };
                Ok(u64::from(before != *rate))
            }
            other => unreachable!("no order asks for {other:?}"),
        }
    }

    fn create_key(&mut self, new: &NewKey) -> u64 {
        let is_new_agent = self.agents.insert(new.agent_id.clone());
        let key = Key {
            agent: new.agent_id.clone(),
            test: new.test,
            own_rate: new.rate,
            revoked_at: None,
            expires_at: None,
            left: None,
        };
        self.keys.insert(new.key_id.clone(), key);
        1 + u64::from(is_new_agent)
    }

    fn person(&mut self, name: &str) -> Result<&mut Person, Rejection> {
        let person = self.people.get_mut(name);
        person.ok_or_else(|| Rejection::NoSuchUser(name.to_owned()))
    }

    fn key(&mut self, key_id: &str) -> Result<&mut Key, Rejection> {
        let key = self.keys.get_mut(key_id);
        key.ok_or_else(|| Rejection::NoSuchKey(key_id.to_owned()))
    }

    fn set_active(&mut self, name: &str, active: bool) -> Result<u64, Rejection> {
        self.spare_last_owner(name, !active)?;
        let person = self.person(name)?;
        let changed = person.active != active;
        person.active = active;
        Ok(u64::from(changed))
    }

    fn spare_last_owner(&mut self, name: &str, loses: bool) -> Result<(), Rejection> {
        self.person(name)?;
        let owners = self
            .people
            .keys()
            .filter(|name| self.may(name, Role::Owner));
        match loses && owners.eq([name]) {
            true => Err(Rejection::LastOwner(name.to_owned())),
            false => Ok(()),
        }
    }
}
