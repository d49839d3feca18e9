//! In whose name something is done, as the trail says it.

use std::borrow::Cow;

use crate::{Role, State};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The server itself: timers, retention rules, counts.
    System,
    /// Whoever has the data directory or its socket.
    Operator,
    /// By name.
    Person(String),
    /// By its id.
    Agent(String),
}

impl Actor {
    pub fn person(name: &str) -> Actor {
        Actor::Person(name.to_owned())
    }

    pub fn agent(agent_id: &str) -> Actor {
        Actor::Agent(agent_id.to_owned())
    }

    /// Its name on the trail. No person has one of these names.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Actor::System => Cow::Borrowed("system"),
            Actor::Operator => Cow::Borrowed("operator"),
            Actor::Person(name) => Cow::Borrowed(name),
            Actor::Agent(agent_id) => trail::Stream::agent(agent_id).name(),
        }
    }

    /// The operator, the server itself, or an owner who still is one.
    pub fn may_administer(&self, accounts: &State) -> bool {
        match self {
            Actor::System | Actor::Operator => true,
            Actor::Person(name) => accounts.may_act_as(name, Role::Owner),
            Actor::Agent(_) => false,
        }
    }
}
