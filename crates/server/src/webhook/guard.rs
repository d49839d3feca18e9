//! Where a callback may connect to. A name is resolved once for each
//! connection, every address is checked, and the connection goes to exactly
//! those addresses.

use std::net::{IpAddr, SocketAddr};

use ::wake::{
    net::Cidr,
    webhook::{CallbackUrl, HostPattern, may_connect},
};
use account::AllowRule;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The allowlist's rule for this host, as the list is now: the one that says
/// most exactly which host it means.
pub fn rule(accounts: &account::State, callback: &CallbackUrl) -> Option<AllowRule> {
    let matching = accounts.allowlist.values().filter_map(|rule| {
        let pattern = HostPattern::parse(&rule.pattern).ok()?;
        pattern
            .matches(callback)
            .then(|| (pattern.exactness(), rule))
    });
    let most_exact = matching.max_by_key(|(exactness, _)| *exactness);
    most_exact.map(|(_, rule)| rule.clone())
}

/// Resolves names under one rule, and gives no address that it does not permit.
#[derive(Clone, Debug)]
pub struct Guard {
    networks: Vec<Cidr>,
}

impl Guard {
    pub fn of(rule: &AllowRule) -> Guard {
        let networks = rule.networks.iter();
        Guard {
            networks: networks.filter_map(|text| text.parse().ok()).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use trail::Micros;

    #[test]
    fn the_most_exact_entry_decides_whatever_the_order_of_the_list() {
        let mut accounts = account::State::default();
        for pattern in [
            "*.example.com",
            "*.internal.example.com",
            "hooks.internal.example.com",
            "hooks.internal.example.com:8443",
            "zz.example.com",
        ] {
            let rule = AllowRule {
                pattern: pattern.to_owned(),
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
            let found = rule(&accounts, &callback).map(|rule| rule.pattern);
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }
}
