//! Where a callback may connect to. Names are resolved once, every address is
//! checked, and the connection goes to exactly those addresses.

use std::net::SocketAddr;

use ::wake::{
    net::Cidr,
    webhook::{CallbackUrl, HostPattern, may_connect},
};
use account::AllowRule;

/// The allowlist's rule for this host, as the list is now.
pub fn rule(accounts: &account::State, callback: &CallbackUrl) -> Option<AllowRule> {
    let matches = |rule: &&AllowRule| {
        HostPattern::parse(&rule.pattern).is_ok_and(|pattern| pattern.matches(callback))
    };
    accounts.allowlist.values().find(matches).cloned()
}

/// The addresses to connect to, or why not.
pub async fn addresses(
    callback: &CallbackUrl,
    rule: &AllowRule,
) -> Result<Vec<SocketAddr>, String> {
    let networks: Vec<Cidr> = rule
        .networks
        .iter()
        .filter_map(|text| text.parse().ok())
        .collect();
    let found: Vec<SocketAddr> = match callback.literal() {
        Some(address) => vec![SocketAddr::new(address, callback.port())],
        None => {
            let host = callback.url().host_str().unwrap_or_default();
            tokio::net::lookup_host((host, callback.port()))
                .await
                .map_err(|error| format!("the name does not resolve: {error}"))?
                .collect()
        }
    };
    if found.is_empty() {
        return Err("the name has no address".to_owned());
    }
    match found
        .iter()
        .find(|address| !may_connect(address.ip(), &networks))
    {
        None => Ok(found),
        Some(refused) => Err(format!(
            "{} is not a public address; name its network on the allowlist to permit it",
            refused.ip()
        )),
    }
}
