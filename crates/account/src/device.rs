//! Devices: agents that have a token of their own for the relay. Such an agent
//! belongs to one person, and nobody else can take or renew its token.
//!
//! The token itself is kept sealed, elsewhere: its owner may read it again.

use serde::{Deserialize, Serialize};
use trail::{Hash, Micros};

use crate::{
    decide::{MAX_AGENTS, check_agent_id, room},
    event::{
        AgentAdded, AgentRemoved, DeviceTokenExported, DeviceTokenIssued, DeviceTokenRevoked, Event,
    },
    rejection::Rejection,
    secret::SecretHash,
    sign_in::active,
    state::{Agent, State},
};

/// What an agent has for the relay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    pub token_id: String,
    pub hash: Hash,
    pub issued_at: Micros,
}

/// A token for a device, whose owner asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDeviceToken {
    pub agent_id: String,
    pub owner: String,
    pub token_id: String,
    pub hash: SecretHash,
}

impl NewDeviceToken {
    fn issued(&self) -> Event {
        DeviceTokenIssued {
            agent_id: self.agent_id.clone(),
            hash: Hash(self.hash),
            owner: self.owner.clone(),
            token_id: self.token_id.clone(),
        }
        .into()
    }
}

/// A new agent, with its token.
pub fn add(state: &State, new: &NewDeviceToken) -> Result<Vec<Event>, Rejection> {
    check_agent_id(&new.agent_id, "agent_id")?;
    active(state, &new.owner)?;
    if state.agents.contains_key(&new.agent_id) {
        return Err(Rejection::AgentExists(new.agent_id.clone()));
    }
    room(state.agents.len(), MAX_AGENTS, "agents")?;
    let added = AgentAdded {
        agent_id: new.agent_id.clone(),
        owner: new.owner.clone(),
    };
    Ok(vec![added.into(), new.issued()])
}

/// A token for an agent that is there; the one before opens nothing from now on.
pub fn issue(state: &State, new: &NewDeviceToken) -> Result<Vec<Event>, Rejection> {
    own(state, &new.agent_id, &new.owner)?;
    Ok(vec![new.issued()])
}

/// Its owner reads the token again.
pub fn export(state: &State, agent_id: &str, owner: &str) -> Result<Vec<Event>, Rejection> {
    let agent = own(state, agent_id, owner)?;
    let device = agent.link.as_ref();
    let device = device.ok_or_else(|| Rejection::NoDeviceToken(agent_id.to_owned()))?;
    let exported = DeviceTokenExported {
        agent_id: agent_id.to_owned(),
        owner: owner.to_owned(),
        token_id: device.token_id.clone(),
    };
    Ok(vec![exported.into()])
}

/// Nothing opens with it from now on. An agent that has delivered stays known,
/// so that what it delivered has a name to it.
pub fn remove(
    state: &State,
    agent_id: &str,
    by: Option<&str>,
    now: Micros,
) -> Result<Vec<Event>, Rejection> {
    let agent = match by {
        Some(owner) => own(state, agent_id, owner)?,
        None => agent(state, agent_id)?,
    };
    let mut keys = state.keys_of(agent_id);
    let (agent_id, owner) = (agent_id.to_owned(), agent.owner.clone());
    match keys.next() {
        None => Ok(vec![AgentRemoved { agent_id, owner }.into()]),
        Some(first) => {
            if first.is_active(now) || keys.any(|key| key.is_active(now)) {
                return Err(Rejection::AgentHasKeys(agent_id));
            }
            match agent.link {
                Some(_) => Ok(vec![DeviceTokenRevoked { agent_id, owner }.into()]),
                None => Err(Rejection::NotADevice(agent_id)),
            }
        }
    }
}

fn agent<'a>(state: &'a State, agent_id: &str) -> Result<&'a Agent, Rejection> {
    let agent = state.agents.get(agent_id);
    agent.ok_or_else(|| Rejection::NoSuchAgent(agent_id.to_owned()))
}

/// Somebody else's is the same as none.
fn own<'a>(state: &'a State, agent_id: &str, owner: &str) -> Result<&'a Agent, Rejection> {
    active(state, owner)?;
    let agent = agent(state, agent_id)?;
    match agent.owner == owner {
        true => Ok(agent),
        false => Err(Rejection::NoSuchAgent(agent_id.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, decide};

    const NOW: Micros = Micros(1_000_000);

    fn state() -> State {
        let mut state = State::default();
        for name in ["ann", "bob"] {
            let create = Command::CreateUser {
                name: name.to_owned(),
                role: None,
                token_id: format!("tok_{name}"),
                token_hash: [name.as_bytes()[0]; 32],
            };
            apply(&mut state, &create).unwrap();
        }
        state
    }

    fn apply(state: &mut State, command: &Command) -> Result<Vec<&'static str>, Rejection> {
        let events = decide(state, command, NOW)?;
        for event in &events {
            state.apply(event, NOW);
        }
        Ok(events.iter().map(Event::event_type).collect())
    }

    fn token(agent_id: &str, owner: &str, hash: u8) -> NewDeviceToken {
        NewDeviceToken {
            agent_id: agent_id.to_owned(),
            owner: owner.to_owned(),
            token_id: format!("dev_{hash}"),
            hash: [hash; 32],
        }
    }

    #[test]
    fn a_device_is_its_owners_alone() {
        let mut state = state();
        let add = Command::AddDevice(token("lamp", "bob", 1));
        let events = apply(&mut state, &add).unwrap();
        assert_eq!(events, ["agent_added", "device_token_issued"]);
        assert_eq!(
            apply(&mut state, &Command::AddDevice(token("lamp", "ann", 2))),
            Err(Rejection::AgentExists("lamp".to_owned()))
        );
        let gone = Rejection::NoSuchAgent("lamp".to_owned());
        for command in [
            Command::IssueDeviceToken(token("lamp", "ann", 2)),
            Command::ExportDeviceToken {
                agent_id: "lamp".to_owned(),
                owner: "ann".to_owned(),
            },
            Command::RemoveAgent {
                agent_id: "lamp".to_owned(),
                by: Some("ann".to_owned()),
            },
        ] {
            assert_eq!(apply(&mut state, &command), Err(gone.clone()));
        }
        let found = state.device_by_token(&[1; 32]).unwrap();
        assert_eq!(
            (found.agent_id.as_str(), found.owner.as_str()),
            ("lamp", "bob")
        );
        assert_eq!(state.devices_of("bob").collect::<Vec<_>>(), ["lamp"]);
        assert_eq!(state.devices_of("ann").count(), 0);
    }

    #[test]
    fn a_new_token_ends_the_one_before_and_so_does_removal() {
        let mut state = state();
        apply(&mut state, &Command::AddDevice(token("lamp", "bob", 1))).unwrap();
        apply(
            &mut state,
            &Command::IssueDeviceToken(token("lamp", "bob", 2)),
        )
        .unwrap();
        assert!(state.device_by_token(&[1; 32]).is_none());
        assert!(state.device_by_token(&[2; 32]).is_some());
        // What is read from storage finds the same.
        let mut read: State =
            serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        read.reindex();
        assert_eq!(read, state);
        let remove = Command::RemoveAgent {
            agent_id: "lamp".to_owned(),
            by: Some("bob".to_owned()),
        };
        assert_eq!(apply(&mut state, &remove).unwrap(), ["agent_removed"]);
        assert!(state.device_by_token(&[2; 32]).is_none());
        assert_eq!(state.devices_of("bob").count(), 0);
    }

    #[test]
    fn nobody_who_is_suspended_has_a_device_that_works() {
        let mut state = state();
        apply(&mut state, &Command::AddDevice(token("lamp", "bob", 1))).unwrap();
        let name = "bob".to_owned();
        apply(&mut state, &Command::SuspendUser { name }).unwrap();
        assert!(state.device_by_token(&[1; 32]).is_none());
        let again = apply(
            &mut state,
            &Command::IssueDeviceToken(token("lamp", "bob", 2)),
        );
        assert_eq!(again, Err(Rejection::Suspended("bob".to_owned())));
    }

    #[test]
    fn an_agent_with_keys_is_not_removed_and_one_that_had_some_stays_known() {
        let mut state = state();
        let key = Command::CreateKey(crate::command::NewKey {
            agent_id: "crew".to_owned(),
            owner: Some("bob".to_owned()),
            key_id: "key_1".to_owned(),
            hash: [9; 32],
            test: false,
            orchestrates: Vec::new(),
            rate: None,
        });
        apply(&mut state, &key).unwrap();
        apply(
            &mut state,
            &Command::IssueDeviceToken(token("crew", "bob", 1)),
        )
        .unwrap();
        let remove = Command::RemoveAgent {
            agent_id: "crew".to_owned(),
            by: None,
        };
        let kept = Rejection::AgentHasKeys("crew".to_owned());
        assert_eq!(apply(&mut state, &remove), Err(kept));
        let key_id = "key_1".to_owned();
        apply(&mut state, &Command::RevokeKey { key_id }).unwrap();
        assert_eq!(
            apply(&mut state, &remove).unwrap(),
            ["device_token_revoked"]
        );
        assert!(state.agents.contains_key("crew"));
        assert!(state.device_by_token(&[1; 32]).is_none());
        let done = Rejection::NotADevice("crew".to_owned());
        assert_eq!(apply(&mut state, &remove), Err(done));
    }
}
