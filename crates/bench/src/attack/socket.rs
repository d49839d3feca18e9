//! A connection on which requests are written by hand and answers are read just
//! far enough.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Whoever is not answered in this time counts as failed.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Socket {
    pub stream: TcpStream,
    read: Vec<u8>,
}

impl Socket {
    pub async fn open(addr: SocketAddr) -> Result<Socket> {
        Socket::open_from(Ipv4Addr::LOCALHOST, addr).await
    }

    /// From one of the addresses of this machine, of which there are many.
    pub async fn open_from(from: Ipv4Addr, addr: SocketAddr) -> Result<Socket> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((from, 0)))?;
        let stream = socket.connect(addr).await?;
        stream.set_nodelay(true)?;
        Ok(Socket {
            stream,
            read: Vec::new(),
        })
    }

    /// Sends a request; gives the status and the body, whose length is stated.
    pub async fn ask(&mut self, request: &[u8]) -> Result<(u16, Vec<u8>)> {
        let asking = async {
            self.stream.write_all(request).await?;
            self.answer().await
        };
        let asked = tokio::time::timeout(PATIENCE, asking).await;
        asked.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }

    async fn answer(&mut self) -> Result<(u16, Vec<u8>)> {
        self.read.clear();
        loop {
            if let Some(end) = find(&self.read, b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.read[..end]).to_ascii_lowercase();
                let status = head.get(9..12).and_then(|status| status.parse().ok());
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length:"));
                let length = length.and_then(|length| length.trim().parse().ok());
                let end = end + 4 + length.unwrap_or(0);
                while self.read.len() < end {
                    self.more().await?;
                }
                let start = end - length.unwrap_or(0);
                let status = status.ok_or_else(|| Error::other("no status"))?;
                return Ok((status, self.read[start..end].to_vec()));
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.read).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

pub fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

/// A whole request of someone with a token.
pub fn request(method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
