//! Where a callback may connect to. A name is resolved once for each
//! connection, every address is checked, and the connection goes to exactly
//! those addresses.

use std::net::{IpAddr, SocketAddr};

use ::wake::{net::Cidr, webhook::may_connect};
use account::AllowRule;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Resolves names under one rule, and gives no address that it does not permit.
#[derive(Clone, Debug)]
pub struct Guard {
    networks: Vec<Cidr>,
}

impl Guard {
    pub fn of(rule: &AllowRule) -> Guard {
        Guard {
            networks: rule.networks.clone(),
        }
    }

    pub fn check(&self, address: IpAddr) -> Result<(), String> {
        match may_connect(address, &self.networks) {
            true => Ok(()),
            false => Err(format!(
                "{address} is not a public address; name its network on the allowlist to permit it"
            )),
        }
    }

    async fn addresses(self, host: String) -> Result<Vec<SocketAddr>, String> {
        // The port of the URL is put in its place later.
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0))
            .await
            .map_err(|error| format!("the name does not resolve: {error}"))?
            .collect();
        if found.is_empty() {
            return Err("the name has no address".to_owned());
        }
        found
            .iter()
            .try_for_each(|address| self.check(address.ip()))?;
        Ok(found)
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.clone().addresses(name.as_str().to_owned());
        Box::pin(async move { Ok(Box::new(addresses.await?.into_iter()) as Addrs) })
    }
}
