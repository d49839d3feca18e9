//! The networks on which a device may wake others: where its packets go, and
//! through which interface.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::UdpSocket;

use crate::MagicPacket;

/// Where magic packets go by custom: discard.
pub const PORT: u16 = 9;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The one through which packets leave; the system chooses if there is none.
    pub interface: Option<String>,
    /// A broadcast address, or a multicast address of IPv6.
    pub broadcast: IpAddr,
    pub port: u16,
}

/// Everyone on the network that the system prefers.
impl Default for Network {
    fn default() -> Network {
        Network {
            interface: None,
            broadcast: Ipv4Addr::BROADCAST.into(),
            port: PORT,
        }
    }
}

impl Network {
    pub async fn send(&self, packet: &MagicPacket) -> io::Result<()> {
        let from: IpAddr = match self.broadcast {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind(SocketAddr::new(from, 0)).await?;
        if let Some(interface) = &self.interface {
            bind(&socket, interface)?;
        }
        if self.broadcast.is_ipv4() {
            socket.set_broadcast(true)?;
        }
        let to = SocketAddr::new(self.broadcast, self.port);
        let sent = socket.send_to(packet.bytes(), to).await?;
        match sent == packet.bytes().len() {
            true => Ok(()),
            false => Err(io::Error::other("only a part of the packet was sent")),
        }
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", SocketAddr::new(self.broadcast, self.port))?;
        match &self.interface {
            Some(interface) => write!(f, " on {interface}"),
            None => Ok(()),
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn bind(socket: &UdpSocket, interface: &str) -> io::Result<()> {
    socket.bind_device(Some(interface.as_bytes()))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn bind(_: &UdpSocket, _: &str) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "an interface can be chosen on Linux alone; name the network's broadcast address instead",
    ))
}
