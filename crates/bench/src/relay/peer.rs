//! One end of a WebSocket, as cheap as can be: the load must not be what is
//! measured. Frames are masked with zeros, so that they are made once and sent
//! as they are.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::road::{Road, Stream};

#[derive(Debug)]
pub struct Peer {
    stream: Stream,
    /// Read, and not looked at yet.
    read: Vec<u8>,
}

/// A frame as a client sends it.
pub fn masked(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        short @ 0..126 => frame.push(0x80 | short as u8),
        long => {
            frame.push(0x80 | 126);
            frame.extend(u16::try_from(long).unwrap_or(u16::MAX).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

/// Bytes of the frame that a server sends for so long a text.
pub fn received_bytes(text: usize) -> usize {
    text + if text < 126 { 2 } else { 4 }
}

impl Peer {
    pub async fn open(road: &Road, addr: SocketAddr) -> Result<Peer> {
        let mut stream = road.go(addr).await?;
        let request = format!(
            "GET /wss HTTP/1.1\r\nHost: {addr}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        let mut peer = Peer {
            stream,
            read: Vec::new(),
        };
        let head = loop {
            if let Some(end) = memchr::memmem::find(&peer.read, b"\r\n\r\n") {
                break end + 4;
            }
            peer.read_more().await?;
        };
        ensure!(
            peer.read.starts_with(b"HTTP/1.1 101"),
            "not upgraded: {}",
            String::from_utf8_lossy(&peer.read)
        );
        peer.read.drain(..head);
        Ok(peer)
    }

    async fn read_more(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.read).await?;
        ensure!(read > 0, "the server closed the connection");
        Ok(())
    }

    pub async fn say(&mut self, text: &str) -> Result<()> {
        self.stream.write_all(&masked(text)).await?;
        Ok(self.stream.flush().await?)
    }

    /// The next text.
    pub async fn hear(&mut self) -> Result<String> {
        loop {
            if let Some((start, end)) = whole_frame(&self.read) {
                let text = String::from_utf8_lossy(&self.read[start..end]).into_owned();
                let opcode = self.read[0] & 0xf;
                self.read.drain(..end);
                if opcode != 1 {
                    bail!("not a text but {opcode}: {text}");
                }
                return Ok(text);
            }
            self.read_more().await?;
        }
    }

    /// The next text, which must hold this.
    pub async fn expect(&mut self, part: &str) -> Result<String> {
        let text = self.hear().await?;
        ensure!(text.contains(part), "{text} is not {part}");
        Ok(text)
    }

    /// Nothing may be left over before the clock runs.
    pub fn into_stream(self) -> Result<Stream> {
        ensure!(self.read.is_empty(), "something was not read");
        Ok(self.stream)
    }
}

/// Where the first frame's content begins and ends, if all of it is there.
fn whole_frame(read: &[u8]) -> Option<(usize, usize)> {
    let start = match *read.get(1)? {
        126 => 4,
        127 => 10,
        _ => 2,
    };
    let length = match start {
        2 => usize::from(read[1]),
        4 => usize::from(u16::from_be_bytes(read.get(2..4)?.try_into().ok()?)),
        _ => usize::try_from(u64::from_be_bytes(read.get(2..10)?.try_into().ok()?)).ok()?,
    };
    (read.len() >= start + length).then_some((start, start + length))
}

/// The value of a string member, as these servers write it.
pub fn member<'t>(text: &'t str, name: &str) -> Result<&'t str> {
    let key = format!("\"{name}\":\"");
    let (_, rest) = text.split_once(&key).context("no such member")?;
    let (value, _) = rest.split_once('"').context("no end of it")?;
    Ok(value)
}
