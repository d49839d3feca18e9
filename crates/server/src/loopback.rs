//! Listening on this machine alone. `localhost` is two addresses: whoever held
//! the one that we do not listen on would be the server to a browser that tries
//! it first, with our own name and port. So we take both.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};

/// A listener, and the one on the other loopback address if it has one.
#[derive(Debug)]
pub struct Listeners {
    first: TcpListener,
    other: Option<TcpListener>,
}

impl Listeners {
    pub async fn bind(address: SocketAddr) -> io::Result<Listeners> {
        let first = TcpListener::bind(address).await?;
        let other = match other_loopback(first.local_addr()?) {
            Some(other) => hold(other).await?,
            None => None,
        };
        Ok(Listeners { first, other })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.first.local_addr()
    }
}

/// The same port on the other address that `localhost` stands for.
fn other_loopback(address: SocketAddr) -> Option<SocketAddr> {
    let other = match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => return None,
    };
    Some(SocketAddr::new(other, address.port()))
}

/// A machine without IPv6 has no such address, and nobody else has it then. A
/// program that has it could pass on all that a browser says to `localhost`, our
/// proofs too: there is no start beside it.
async fn hold(address: SocketAddr) -> io::Result<Option<TcpListener>> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let what = format!(
                "another program listens on {address}, which is localhost too: end it, or \
                 choose another port"
            );
            Err(io::Error::new(error.kind(), what))
        }
        Err(_) => Ok(None),
    }
}

impl Listener for Listeners {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        match &mut self.other {
            None => Listener::accept(&mut self.first).await,
            Some(other) => tokio::select! {
                accepted = Listener::accept(&mut self.first) => accepted,
                accepted = Listener::accept(other) => accepted,
            },
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn there_is_no_start_beside_another_that_is_localhost_too() {
        // Both ways round, where the machine has both addresses.
        for (ours, theirs) in [("127.0.0.1", "[::1]"), ("[::1]", "127.0.0.1")] {
            let Ok(other) = TcpListener::bind(format!("{theirs}:0")).await else {
                continue;
            };
            let port = other.local_addr().unwrap().port();
            let address = format!("{ours}:{port}").parse().unwrap();
            let refused = Listeners::bind(address).await.unwrap_err();
            assert!(refused.to_string().contains("localhost too"), "{refused}");
            drop(other);
            assert!(Listeners::bind(address).await.is_ok());
        }
    }

    #[test]
    fn localhost_is_two_addresses_and_no_other_name_is() {
        let other = |address: &str| other_loopback(address.parse().unwrap());
        assert_eq!(other("127.0.0.1:7377"), "[::1]:7377".parse().ok());
        assert_eq!(other("[::1]:7377"), "127.0.0.1:7377".parse().ok());
        assert_eq!(other("127.0.0.2:7377"), None);
        assert_eq!(other("0.0.0.0:7377"), None);
    }
}
