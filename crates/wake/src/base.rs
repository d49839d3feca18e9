//! The address under which agents reach a server.

use std::net::IpAddr;

use url::{Host, Url};

/// Why an address is not one that agents may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaseFault {
    #[error("not an address; write https://host or http://127.0.0.1:port")]
    NotAnAddress,
    #[error("not HTTPS; plain HTTP is only for this machine itself")]
    Insecure,
}

/// Scheme, host, port and perhaps a path, without a slash at the end. `/wake/v1`
/// at the end is dropped, since both spellings of an endpoint are in use.
/// What begins with `http://` afterwards is this machine itself.
pub fn base(address: &str) -> Result<String, BaseFault> {
    let url = Url::parse(address).map_err(|_| BaseFault::NotAnAddress)?;
    let loopback = match url.host() {
        None => return Err(BaseFault::NotAnAddress),
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).to_canonical().is_loopback(),
    };
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        _ => return Err(BaseFault::Insecure),
    }
    let named = !url.username().is_empty() || url.password().is_some();
    if named || url.query().is_some() || url.fragment().is_some() {
        return Err(BaseFault::NotAnAddress);
    }
    let text = url.as_str().trim_end_matches('/');
    let text = text.strip_suffix("/wake/v1").unwrap_or(text);
    Ok(text.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::{BaseFault, base};

    #[test]
    fn both_spellings_of_an_endpoint_have_the_same_base() {
        for address in [
            "https://wake.example.com",
            "https://wake.example.com/",
            "https://wake.example.com/wake/v1",
            "https://wake.example.com/wake/v1/",
            "HTTPS://Wake.Example.com:443",
        ] {
            assert_eq!(base(address).unwrap(), "https://wake.example.com");
        }
        assert_eq!(
            base("https://example.com/agents/wake/v1").unwrap(),
            "https://example.com/agents"
        );
    }

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        for address in [
            "http://127.0.0.1:7377",
            "http://127.8.0.1",
            "http://[::1]:7377",
            "http://localhost:7377",
        ] {
            assert_eq!(base(address).as_deref(), Ok(address));
        }
        for address in [
            "http://wake.example.com",
            "http://127.0.0.1.example.com",
            "http://localhost.example.com",
            "http://localhost@example.com",
            "http://10.0.0.1",
            "ftp://127.0.0.1",
        ] {
            assert_eq!(base(address), Err(BaseFault::Insecure), "{address}");
        }
    }

    #[test]
    fn what_is_not_an_address_is_refused() {
        for address in [
            "",
            "wake.example.com",
            "https://",
            "https://a:b@example.com",
            "https://example.com/?x=1",
            "https://example.com/#x",
        ] {
            assert_eq!(base(address), Err(BaseFault::NotAnAddress), "{address}");
        }
    }
}
