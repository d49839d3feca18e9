//! One HTTP/1.1 keep-alive connection that costs almost nothing: bytes out,
//! status and body in.
//!
//! It knows only what a server that states `Content-Length` needs; anything else
//! is an error, so that no answer is ever half read and counted.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HEADERS_MAX: usize = 32;
/// A sweep of 200 is some 40 KiB; ten megabytes is a server gone wrong.
const BODY_MAX: usize = 10 << 20;

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    inbound: Vec<u8>,
}

#[derive(Debug)]
pub struct Answer<'a> {
    pub status: u16,
    pub body: &'a [u8],
    head: &'a [u8],
}

impl Answer<'_> {
    pub fn header(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(self.head).ok()?;
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    body_at: usize,
    body_end: usize,
}

impl Connection {
    pub async fn open(addr: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(addr).await?;
        stream.set_nodelay(true)?;
        Ok(Connection {
            stream,
            inbound: Vec::with_capacity(2048),
        })
    }

    /// Sends a whole request and reads its whole answer.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.inbound.clear();
        let head = loop {
            if self.stream.read_buf(&mut self.inbound).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(head) = parse(&self.inbound)? {
                break head;
            }
        };
        while self.inbound.len() < head.body_end {
            self.inbound.reserve(head.body_end - self.inbound.len());
            if self.stream.read_buf(&mut self.inbound).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Answer {
            status: head.status,
            body: &self.inbound[head.body_at..head.body_end],
            head: &self.inbound[..head.body_at],
        })
    }
}

fn parse(bytes: &[u8]) -> Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let body_at = match response.parse(bytes).map_err(Error::other)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let length = response
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| {
            std::str::from_utf8(header.value)
                .ok()?
                .parse::<usize>()
                .ok()
        })
        .filter(|length| *length <= BODY_MAX)
        .ok_or_else(|| Error::other("the answer states no usable Content-Length"))?;
    Ok(Some(Head {
        status: response.code.unwrap_or_default(),
        body_at,
        body_end: body_at + length,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_whole_and_states_its_length() {
        let whole = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";
        let head = parse(whole).unwrap().unwrap();
        assert_eq!(
            (head.status, &whole[head.body_at..head.body_end]),
            (201, &b"{}"[..])
        );
        assert_eq!(parse(&whole[..30]).unwrap(), None);
        assert!(parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
    }
}
