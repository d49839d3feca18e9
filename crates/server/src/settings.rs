//! What an operator can set.

use ::wake::{limits, net::Cidr};
use account::secret::SecretHash;
use wakelink::relay::Limits;

use crate::{crowd::Bounds, limits::People, proxy::ProxySecret};

#[derive(Clone, Debug)]
pub struct Settings {
    /// Scheme, host and port under which agents reach this server.
    pub address: String,
    /// The port that this server listens on.
    pub port: u16,
    pub max_details_bytes: usize,
    /// Peers that may speak for others with forwarding headers.
    pub proxies: Vec<Cidr>,
    /// What they prove themselves with. Without one, anyone at their addresses is
    /// believed: so loopback, where every program is, needs one.
    pub proxy_secret: Option<ProxySecret>,
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

impl Settings {
    /// The port that a proof of presence names: none where TLS tells who answers.
    pub fn proven_port(&self) -> u16 {
        if self.is_secure() { 0 } else { self.port }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            address: "http://127.0.0.1:7377".to_owned(),
            port: 7377,
            max_details_bytes: limits::DETAILS_BYTES,
            proxies: Vec::new(),
            proxy_secret: None,
            setup: None,
            link: Limits::default(),
            people: People::default(),
            connections: Bounds::MOST,
        }
    }
}
