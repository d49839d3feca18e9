//! What an operator can set.

use ::wake::{limits, net::Cidr};
use account::secret::SecretHash;
use wakelink::relay::Limits;

use crate::{crowd::Bounds, limits::People};

#[derive(Clone, Debug)]
pub struct Settings {
    /// Scheme, host and port under which agents reach this server.
    pub address: String,
    pub max_details_bytes: usize,
    /// Peers that may speak for others with forwarding headers.
    pub proxies: Vec<Cidr>,
    /// The hash of the link by which the first person comes in.
    pub setup: Option<SecretHash>,
    /// Of the relay.
    pub link: Limits,
    /// Of each person.
    pub people: People,
    /// Connections at once, beside those of the relay.
    pub connections: usize,
}

impl Settings {
    /// Whether browsers reach this server by HTTPS alone.
    pub fn is_secure(&self) -> bool {
        !self.proxies.is_empty() || self.address.starts_with("https:")
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            address: "http://127.0.0.1:7377".to_owned(),
            max_details_bytes: limits::DETAILS_BYTES,
            proxies: Vec::new(),
            setup: None,
            link: Limits::default(),
            people: People::default(),
            connections: Bounds::MOST,
        }
    }
}
