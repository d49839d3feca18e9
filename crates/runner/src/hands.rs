//! What a device does for a client that has confirmed. Only machines on the
//! list are woken, and only on the networks that were chosen; both are the
//! device's own, and nothing that arrives can change them.

use std::time::Instant;

use serde_json::{Value, json};
use wakelink::{
    Answer, Command, Request,
    command::{Code, TARGET_CHARACTERS},
    ewsp::PACKET_BYTES,
};

use crate::{Mac, MagicPacket, Network};

/// The longest list of machines …
const TARGETS: usize = 256;
/// … and of what `info` says of it: sealed and in base64, with its id and what
/// is around it, that fits into one packet.
const INFO_BYTES: usize = PACKET_BYTES / 4 * 3 - 2048;
/// One packet goes to each for one command.
const NETWORKS: usize = 16;

/// A machine that may be woken.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pub name: String,
    pub mac: Mac,
    /// SecureOn, for cards that want it.
    pub password: Option<[u8; 6]>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("name", &self.name)
            .field("mac", &self.mac)
            .finish_non_exhaustive()
    }
}

/// Why a list cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListFault {
    #[error("{0:?} is no name for a machine: 1 to 64 characters, and not a hardware address")]
    Name(String),
    #[error("{0} is on the list twice")]
    Twice(String),
    #[error("at most {TARGETS} machines and {NETWORKS} networks")]
    TooMany,
    #[error("the names of the machines are too long to be told in one answer")]
    TooLong,
}

#[derive(Debug)]
pub struct Hands {
    agent_id: String,
    targets: Vec<Target>,
    networks: Vec<Network>,
    since: Instant,
}

impl Hands {
    /// Without networks, packets go to everyone on the one the system prefers.
    pub fn new(
        agent_id: &str,
        targets: Vec<Target>,
        mut networks: Vec<Network>,
    ) -> Result<Hands, ListFault> {
        if networks.is_empty() {
            networks.push(Network::default());
        }
        if targets.len() > TARGETS || networks.len() > NETWORKS {
            return Err(ListFault::TooMany);
        }
        for (at, target) in targets.iter().enumerate() {
            let length = target.name.chars().count();
            let ambiguous = target.name.parse::<Mac>().is_ok();
            if !(1..=TARGET_CHARACTERS).contains(&length) || ambiguous {
                return Err(ListFault::Name(target.name.clone()));
            }
            let earlier = &targets[..at];
            if earlier
                .iter()
                .any(|one| one.name == target.name || one.mac == target.mac)
            {
                return Err(ListFault::Twice(target.name.clone()));
            }
        }
        let hands = Hands {
            agent_id: agent_id.to_owned(),
            targets,
            networks,
            since: Instant::now(),
        };
        match hands.info().to_string().len() <= INFO_BYTES {
            true => Ok(hands),
            false => Err(ListFault::TooLong),
        }
    }

    /// Does what a packet asks for, or says why not.
    pub async fn answer(&self, content: &[u8]) -> Answer {
        let Request { id, command } = match Request::read(content) {
            Ok(request) => request,
            Err(answer) => return answer,
        };
        match command {
            Command::Ping => Answer::done(id, None),
            Command::Info => Answer::done(id, Some(self.info())),
            Command::Wake { target } => self.wake(id, &target).await,
        }
    }

    fn info(&self) -> Value {
        let targets: Vec<Value> = self
            .targets
            .iter()
            .map(|target| json!({ "name": target.name, "mac": target.mac.to_string() }))
            .collect();
        json!({
            "agent_id": self.agent_id,
            "version": env!("CARGO_PKG_VERSION"),
            "commands": Command::NAMES,
            "uptime_seconds": self.since.elapsed().as_secs(),
            "targets": targets,
        })
    }

    async fn wake(&self, id: String, named: &str) -> Answer {
        let mac: Option<Mac> = named.parse().ok();
        let mut targets = self.targets.iter();
        let Some(target) = targets.find(|one| one.name == named || Some(one.mac) == mac) else {
            let sentence = "That machine is not on this device's list.";
            return Answer::refused(Some(id), Code::NotAllowed, sentence);
        };
        let packet = MagicPacket::new(target.mac, target.password);
        let mut sent = Vec::new();
        let mut faults = Vec::new();
        for network in &self.networks {
            match network.send(&packet).await {
                Ok(()) => sent.push(network.to_string()),
                Err(error) => faults.push(format!("{network}: {error}")),
            }
        }
        for fault in &faults {
            tracing::warn!("a magic packet was not sent to {fault}");
        }
        if sent.is_empty() {
            let sentence = format!("No packet could be sent: {}.", faults.join("; "));
            return Answer::refused(Some(id), Code::Failed, &sentence);
        }
        let (name, mac) = (&target.name, target.mac.to_string());
        let result = json!({ "name": name, "mac": mac, "sent": sent, "not_sent": faults });
        Answer::done(id, Some(result))
    }
}
