//! The streams of the log, by kind. Each kind has its own closed registry of
//! event types, so an entry is read by its stream and its type together.

use std::{borrow::Cow, fmt};

/// One hash chain with one writer at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// `admin`: what concerns the whole server.
    Admin,
    /// `account/NAME`: a person, their agents, keys, tokens and devices.
    Account(String),
    /// `agent/AGENT_ID`: an agent's deliveries and what became of them.
    Agent(String),
}

const ADMIN: &str = "admin";

impl Stream {
    /// How the names of the streams of people begin.
    pub const ACCOUNT: &str = "account/";
    /// How the names of the streams of agents begin.
    pub const AGENT: &str = "agent/";

    pub fn account(name: &str) -> Stream {
        Stream::Account(name.to_owned())
    }

    pub fn agent(agent_id: &str) -> Stream {
        Stream::Agent(agent_id.to_owned())
    }

    /// Reads a stream's name. `None` if this version knows no such kind.
    pub fn parse(name: &str) -> Option<Stream> {
        match name {
            ADMIN => Some(Stream::Admin),
            _ => None
                .or_else(|| name.strip_prefix(Stream::ACCOUNT).map(Stream::account))
                .or_else(|| name.strip_prefix(Stream::AGENT).map(Stream::agent)),
        }
    }

    /// The agent on whose stream something stands, by the stream's name.
    pub fn agent_of(name: &str) -> Option<&str> {
        name.strip_prefix(Stream::AGENT)
    }

    /// Its name in headers and in the store.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Stream::Admin => Cow::Borrowed(ADMIN),
            Stream::Account(name) => Cow::Owned([Stream::ACCOUNT, name].concat()),
            Stream::Agent(agent_id) => Cow::Owned([Stream::AGENT, agent_id].concat()),
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_from_its_name_and_another_kind_is_none() {
        let streams = [
            Stream::Admin,
            Stream::account("ann"),
            Stream::agent("a/b"),
            Stream::agent(""),
        ];
        for stream in streams {
            assert_eq!(Stream::parse(&stream.name()), Some(stream));
        }
        for other in ["", "run/1", "admin/x", "agents/a", "Agent/a"] {
            assert_eq!(Stream::parse(other), None, "{other}");
        }
    }
}
