//! What one connection does over and over: deliver, run a cycle, poll, sweep.
//!
//! Requests are built before the clock runs; only an id or a counter is written
//! into them afterwards, so that the generator takes little from the server.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;

use crate::connection::Connection;

pub const AGENT: &str = "bench-agent";
pub const SWEEP: usize = 200;

/// A realistic delivery of some 330 bytes; the zeros become a running number.
pub const DELIVERY: &str = concat!(
    r#"{"agent_id":"bench-agent","provider":"claude","type":"output","#,
    r#""headline":"Market report 0000000000 is ready for your review","#,
    r#""summary":"Analysed the top ten competitors and their pricing.","#,
    r#""details":{"url":"https://reports.example/q3/competitors","word_count":3200,"#,
    r#""sections":["pricing","hiring","funding"],"confidence":0.87},"timeout_seconds":3600}"#
);
const NUMBER: &[u8] = b"0000000000";
const ANSWER: &str = r#"{"status":"approved","feedback":"ok"}"#;
/// A cycle whose answer is not seen after this many polls has failed.
const POLLS_MAX: usize = 1000;

pub type Id = [u8; 36];

/// A server and whom it believes us to be.
#[derive(Debug, Clone)]
pub struct Target {
    pub addr: SocketAddr,
    pub agent_key: String,
    pub owner_token: String,
}

#[derive(Debug)]
pub enum Work {
    Deliver,
    /// Deliver, respond, poll until the answer is seen.
    Cycle,
    /// Poll one of these at random.
    Poll(Vec<Id>),
    /// Sweep 200 after this time.
    Sweep(String),
}

/// The requests of one connection.
#[derive(Debug)]
pub struct Requests {
    deliver: Vec<u8>,
    number_at: usize,
    agent_tail: String,
    respond_tail: String,
    agent_head: String,
    scratch: Vec<u8>,
}

impl Requests {
    pub fn new(target: &Target) -> Self {
        let Target { addr, .. } = target;
        let host = format!("Host: {addr}\r\nAuthorization: Bearer");
        let json = "Content-Type: application/json\r\nContent-Length:";
        let agent_head = format!("{host} {}\r\n", target.agent_key);
        let deliver = format!(
            "POST /wake/v1/deliver HTTP/1.1\r\n{agent_head}{json} {}\r\n\r\n{DELIVERY}",
            DELIVERY.len()
        )
        .into_bytes();
        Requests {
            number_at: memmem::rfind(&deliver, NUMBER).expect("the delivery holds a number"),
            deliver,
            agent_tail: format!(" HTTP/1.1\r\n{agent_head}\r\n"),
            respond_tail: format!(
                "/respond HTTP/1.1\r\n{host} {}\r\n{json} {}\r\n\r\n{ANSWER}",
                target.owner_token,
                ANSWER.len()
            ),
            agent_head,
            scratch: Vec::with_capacity(512),
        }
    }

    /// Does the work once; an error is a failed operation.
    pub async fn perform(&mut self, conn: &mut Connection, work: &Work) -> Result<()> {
        match work {
            Work::Deliver => self.deliver(conn).await.map(drop),
            Work::Cycle => self.cycle(conn).await,
            Work::Poll(ids) => {
                let id = fastrand::choice(ids).context("no ids to poll")?;
                self.poll(conn, id).await.map(drop)
            }
            Work::Sweep(since) => {
                let body = self.sweep(conn, Some(since)).await?;
                let found = memmem::find_iter(body, b"\"delivery_id\"").count();
                ensure!(
                    found == SWEEP,
                    "a sweep gave {found} deliveries, not {SWEEP}"
                );
                Ok(())
            }
        }
    }

    /// Delivers, and returns the answer's body.
    pub async fn deliver<'c>(&mut self, conn: &'c mut Connection) -> Result<&'c [u8]> {
        let digits = &mut self.deliver[self.number_at..self.number_at + NUMBER.len()];
        for digit in digits {
            *digit = fastrand::digit(10) as u8;
        }
        expect(201, conn.exchange(&self.deliver).await?)
    }

    pub async fn respond(&mut self, conn: &mut Connection, id: &Id) -> Result<()> {
        self.write("POST /api/v1/inbox/", id, true);
        expect(200, conn.exchange(&self.scratch).await?).map(drop)
    }

    /// Polls, and says whether the delivery has been answered.
    async fn poll(&mut self, conn: &mut Connection, id: &Id) -> Result<bool> {
        self.write("GET /wake/v1/response/", id, false);
        let body = expect(200, conn.exchange(&self.scratch).await?)?;
        Ok(field(body, b"status")? != b"pending")
    }

    async fn cycle(&mut self, conn: &mut Connection) -> Result<()> {
        let id = delivery_id(self.deliver(conn).await?)?;
        self.respond(conn, &id).await?;
        for _ in 0..POLLS_MAX {
            if self.poll(conn, &id).await? {
                return Ok(());
            }
        }
        bail!("no answer after {POLLS_MAX} polls")
    }

    /// Sweeps up to 200, and returns the answer's body.
    pub async fn sweep<'c>(
        &mut self,
        conn: &'c mut Connection,
        since: Option<&str>,
    ) -> Result<&'c [u8]> {
        let since = since.map(|since| format!("&since={since}"));
        let request = format!(
            "GET /wake/v1/responses?agent_id={AGENT}&limit={SWEEP}{} HTTP/1.1\r\n{}\r\n",
            since.unwrap_or_default(),
            self.agent_head
        );
        expect(200, conn.exchange(request.as_bytes()).await?)
    }

    fn write(&mut self, head: &str, id: &Id, respond: bool) {
        self.scratch.clear();
        self.scratch.extend_from_slice(head.as_bytes());
        self.scratch.extend_from_slice(id);
        let tail = if respond {
            &self.respond_tail
        } else {
            &self.agent_tail
        };
        self.scratch.extend_from_slice(tail.as_bytes());
    }
}

fn expect(status: u16, answer: crate::connection::Answer<'_>) -> Result<&[u8]> {
    if answer.status != status {
        let text = String::from_utf8_lossy(&answer.body[..answer.body.len().min(300)]);
        bail!("status {} instead of {status}: {text}", answer.status);
    }
    Ok(answer.body)
}

pub fn delivery_id(body: &[u8]) -> Result<Id> {
    Ok(field(body, b"delivery_id")?.try_into()?)
}

/// The first string value under `name`, without parsing the rest.
pub fn field<'b>(body: &'b [u8], name: &[u8]) -> Result<&'b [u8]> {
    let quoted = |at: &usize| body.get(at.wrapping_sub(1)) == Some(&b'"');
    let value = memmem::find_iter(body, name)
        .find(quoted)
        .and_then(|at| body[at + name.len()..].strip_prefix(b"\""))
        .and_then(|rest| rest.trim_ascii_start().strip_prefix(b":"))
        .and_then(|rest| rest.trim_ascii_start().strip_prefix(b"\""))
        .and_then(|rest| Some(&rest[..memchr::memchr(b'"', rest)?]));
    value.with_context(|| format!("no {} in the answer", String::from_utf8_lossy(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_whatever_the_spacing() {
        assert_eq!(
            field(br#"{"status":"pending"}"#, b"status").unwrap(),
            b"pending"
        );
        assert_eq!(field(br#"{"status": "x"}"#, b"status").unwrap(), b"x");
        assert!(field(br#"{"status":null}"#, b"status").is_err());
    }

    #[test]
    fn the_delivery_is_json_of_a_realistic_size() {
        let value: serde_json::Value = serde_json::from_str(DELIVERY).unwrap();
        assert_eq!(value["agent_id"], AGENT);
        assert!((280..=360).contains(&DELIVERY.len()), "{}", DELIVERY.len());
    }
}
