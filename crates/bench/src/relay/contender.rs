//! The relays that take part, and how one comes to have pairs on them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::load::Pair;
use super::peer::{Peer, member};
use super::road::Road;
use crate::child::{Running, free_addr};
use crate::wakeful::Wakeful;

/// Pairs of one person: an account has a few devices, not a thousand.
const PAIRS_PER_PERSON: usize = 20;
/// The bench measures the relay, not its limits.
const LIMITS: &str = "[link]
connections-per-address = 1000000
connections-per-account = 1000000
session-requests = 1000000000000
frames-per-second = 1000000000
frames-at-once = 1000000000
account-frames-per-second = 1000000000
account-frames-at-once = 1000000000
queue-bytes = 4194304
";
/// What one frame has in all.
const FRAME_BYTES: usize = 300;
const NODE_RELAY: &str = include_str!("../../node/relay.cjs");

#[derive(Debug, Clone)]
pub enum Kind {
    /// The path is this program. With little to read to, so that an idle
    /// connection holds little.
    Bare(PathBuf),
    /// The same, reading as much at once as Wakeful does.
    BareReadingMore(PathBuf),
    /// The directory has `ws` in its `node_modules`.
    Node(PathBuf),
    Wakeful(Wakeful),
}

impl Kind {
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Bare(_) => "bare relay",
            Kind::BareReadingMore(_) => "bare, 32 KiB reads",
            Kind::Node(_) => "Node ws",
            Kind::Wakeful(_) => "wakeful",
        }
    }

    /// How it is started; of Wakeful, with its owner's token.
    fn prepare(&self, home: &Path, addr: SocketAddr) -> Result<(Command, Option<String>)> {
        match self {
            Kind::Bare(program) => Ok((bare(program, addr, 4 << 10), None)),
            Kind::BareReadingMore(program) => Ok((bare(program, addr, 32 << 10), None)),
            Kind::Node(packages) => {
                let script = home.join("relay.cjs");
                std::fs::write(&script, NODE_RELAY)?;
                let mut command = Command::new("node");
                command.arg(script);
                command.args([addr.ip().to_string(), addr.port().to_string()]);
                command.env("NODE_PATH", packages.join("node_modules"));
                Ok((command, None))
            }
            Kind::Wakeful(wakeful) => {
                let data = home.join("data");
                std::fs::create_dir(&data)?;
                let owner = wakeful.create(&data)?.owner_token;
                let command = wakeful.serve_with(&data, addr, LIMITS)?;
                Ok((command, Some(owner)))
            }
        }
    }
}

/// A relay that runs.
#[derive(Debug)]
pub struct Relay {
    pub server: Running,
    addr: SocketAddr,
    road: Road,
    owner: Option<String>,
    _home: TempDir,
}

impl Relay {
    pub fn start(kind: &Kind, tls: bool, dir: &Path) -> Result<Relay> {
        let home = tempfile::Builder::new().prefix("bench-").tempdir_in(dir)?;
        let addr = free_addr()?;
        let road = match tls {
            true => Road::tls(home.path())?,
            false => Road::Plain,
        };
        let (mut command, owner) = kind.prepare(home.path(), addr)?;
        if let Some(files) = road.files() {
            command.arg("--tls-cert").arg(&files.certificate);
            command.arg("--tls-key").arg(&files.key);
        }
        let log = home.path().join("log");
        let server = match tls {
            true => Running::start_listening(&mut command, addr, &log)?,
            false => Running::start(&mut command, addr, &log)?,
        };
        Ok(Relay {
            server,
            addr,
            road,
            owner,
            _home: home,
        })
    }

    pub async fn pairs(&self, count: usize) -> Result<Vec<Pair>> {
        let mut pairs = Vec::with_capacity(count);
        let mut person = String::new();
        for n in 0..count {
            let sid = format!("{n:016x}");
            let (client, device) = match &self.owner {
                None => self.bare_pair(&sid).await?,
                Some(owner) => {
                    if n % PAIRS_PER_PERSON == 0 {
                        person = self.person(owner, n).await?;
                    }
                    self.pair(&person, n, &sid).await?
                }
            };
            let head = format!(r#"{{"v":"1.1","sid":"{sid}","seq":42,"p":""#);
            let text = format!("{head}{}\"}}", "x".repeat(FRAME_BYTES - head.len() - 2));
            pairs.push(Pair {
                client: client.into_stream()?,
                device: device.into_stream()?,
                text,
            });
        }
        Ok(pairs)
    }

    /// Somebody who is in and does nothing.
    pub async fn idle(&self, token: &str, n: usize) -> Result<Peer> {
        let mut peer = Peer::open(&self.road, self.addr).await?;
        match &self.owner {
            None => {
                peer.say(&format!("idle {n}")).await?;
                peer.expect("welcome").await?;
            }
            Some(_) => enter(&mut peer, &as_client(token)).await?,
        }
        Ok(peer)
    }

    /// The token of a new person without devices.
    pub async fn person_without_devices(&self, n: usize) -> Result<String> {
        match &self.owner {
            None => Ok(String::new()),
            Some(owner) => self.person(owner, n).await,
        }
    }

    async fn person(&self, owner: &str, n: usize) -> Result<String> {
        let body = format!(r#"{{"name":"p{n}","role":"reviewer"}}"#);
        let answer = self.post("/api/v1/users", owner, &body).await?;
        Ok(member(&answer, "token")?.to_owned())
    }

    async fn bare_pair(&self, name: &str) -> Result<(Peer, Peer)> {
        let mut client = Peer::open(&self.road, self.addr).await?;
        let mut device = Peer::open(&self.road, self.addr).await?;
        for peer in [&mut client, &mut device] {
            peer.say(name).await?;
            peer.expect("welcome").await?;
        }
        Ok((client, device))
    }

    async fn pair(&self, token: &str, n: usize, sid: &str) -> Result<(Peer, Peer)> {
        let agent_id = format!("device-{n}");
        let body = format!(r#"{{"agent_id":"{agent_id}"}}"#);
        let answer = self.post("/api/v1/agents", token, &body).await?;
        let own = member(&answer, "token")?;
        let mut device = Peer::open(&self.road, self.addr).await?;
        let auth = format!(
            r#"{{"type":"auth","api_token":"{own}","client_type":"device","agent_id":"{agent_id}"}}"#
        );
        enter(&mut device, &auth).await?;
        let mut client = Peer::open(&self.road, self.addr).await?;
        enter(&mut client, &as_client(token)).await?;
        // Every device that this person has so far.
        for _ in 0..=n % PAIRS_PER_PERSON {
            client.expect("agent_status").await?;
        }
        let hello = format!(
            r#"{{"type":"relay","agent_id":"{agent_id}","payload":"{{\"sid\":\"{sid}\"}}"}}"#
        );
        client.say(&hello).await?;
        device.expect(sid).await?;
        Ok((client, device))
    }

    async fn post(&self, path: &str, token: &str, body: &str) -> Result<String> {
        let mut stream = self.road.go(self.addr).await?;
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.addr,
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        ensure!(answer.starts_with("HTTP/1.1 201"), "{path}: {answer}");
        Ok(answer)
    }
}

fn bare(program: &Path, addr: SocketAddr, read_bytes: usize) -> Command {
    let mut command = Command::new(program);
    command.args(["bare-relay", "--listen", &addr.to_string()]);
    command.args(["--read-bytes", &read_bytes.to_string()]);
    command
}

fn as_client(token: &str) -> String {
    format!(r#"{{"type":"auth","api_token":"{token}","client_type":"client"}}"#)
}

async fn enter(peer: &mut Peer, auth: &str) -> Result<()> {
    peer.say(auth).await?;
    let entered = peer.expect(r#""status":"authenticated""#).await;
    entered.map(drop).context("not let in")
}
