//! A client's end: which devices are there, and a conversation with one of
//! them. One thing at a time: a call waits for its answer, and notes whatever
//! else comes meanwhile.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};
use wakelink::{
    Answer, Hello, Packet, Refusal, Secret, Session,
    device::SESSION_AGE,
    ewsp::{Draw, Initiator, Opened, Sid},
    frame::{AgentStatus, Auth, Error, Frame, Relay},
};

use crate::{
    Server,
    link::{Admission, LinkFault, Socket},
};

/// How long a device may take to answer, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(10);
/// Changes of presence that are kept until someone asks.
const CHANGES: usize = 1024;
/// Devices whose presence is kept: more than a person has.
const DEVICES: usize = 10_000;

/// A device came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    pub agent_id: String,
    pub online: bool,
}

#[derive(Debug)]
pub struct Caller {
    socket: Socket,
    admission: Admission,
    online: BTreeMap<String, bool>,
    /// Not asked for yet, oldest first.
    changes: VecDeque<Presence>,
    patience: Duration,
    last_id: u64,
}

/// A session with a device, which both have confirmed.
#[derive(Debug)]
pub struct Conversation {
    agent_id: String,
    secret: Secret,
    session: Session,
    since: Instant,
}

/// What the relay passes on or says, apart from presence.
enum Said {
    Packet(String),
    Error { code: String, error: String },
    Gone(String),
}

impl Caller {
    pub async fn connect(server: &Server, auth: Auth) -> Result<Caller, LinkFault> {
        let (socket, admission) = Socket::connect(server, auth).await?;
        Ok(Caller {
            socket,
            admission,
            online: BTreeMap::new(),
            changes: VecDeque::new(),
            patience: PATIENCE,
            last_id: 0,
        })
    }

    /// Connects with the server's own token: a session token as it is; an
    /// account token gets one first, so that it never enters the socket.
    pub async fn sign_in(server: &Server) -> Result<Caller, LinkFault> {
        let token = server.token().unwrap_or_default();
        if token.starts_with("wls_") {
            return Caller::connect(server, Auth::session(token)).await;
        }
        let reply = server
            .request("POST", "/api/v1/auth/session", &[], None)
            .await?;
        let answer = reply.json();
        let token = answer["session_token"].as_str();
        let detail = answer["detail"].as_str();
        let retry_after_seconds = reply.retry_after_seconds;
        match (token, reply.status) {
            (Some(token), 200..300) => Caller::connect(server, Auth::session(token)).await,
            (_, 401 | 403) => Err(LinkFault::Refused {
                error: detail.unwrap_or("it gave no reason").to_owned(),
                retry_after_seconds,
            }),
            (_, status) => Err(LinkFault::Answered {
                base: server.base().to_owned(),
                status,
                detail: match (detail, status) {
                    (Some(detail), _) => format!(": {detail}"),
                    (None, 200..300) => ", and no session".to_owned(),
                    (None, _) => String::new(),
                },
                retry_after_seconds,
            }),
        }
    }

    /// With another time for a device to answer in.
    pub fn patient(self, patience: Duration) -> Caller {
        Caller { patience, ..self }
    }

    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Whether a device is connected, as far as the server has said.
    pub fn is_online(&self, agent_id: &str) -> Option<bool> {
        self.online.get(agent_id).copied()
    }

    /// Waits for a device to come or go. What the server says right after
    /// authentication counts as a change.
    pub async fn changed(&mut self) -> Result<Presence, LinkFault> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Ok(change);
            }
            self.hear().await?;
        }
    }

    /// Says hello to a device and makes sure that it has the secret.
    pub async fn meet(
        &mut self,
        agent_id: &str,
        secret: &Secret,
    ) -> Result<Conversation, LinkFault> {
        let deadline = Instant::now() + self.patience;
        let initiator = Initiator::new(Sid::new(random()?), Draw::new(&random()?));
        let (hello, sid) = (initiator.hello().text(), initiator.hello().sid);
        let relay = Frame::Relay(Relay {
            payload: hello,
            signature: None,
            agent_id: agent_id.to_owned(),
            request_id: Some(sid.text()),
        });
        self.socket.send(relay.text()).await?;
        let mut met: Option<Session> = None;
        loop {
            let text = self.packet(agent_id, deadline).await?;
            // A hello that does not fit is dropped: the right one may follow.
            if let Ok(reply) = Hello::read(&text) {
                met = initiator.finish(agent_id, secret, &reply).ok().or(met);
                continue;
            }
            let (Some(session), Ok(packet)) = (met.as_mut(), Packet::read(&text)) else {
                continue;
            };
            match session.open(&packet) {
                Ok(_) => break,
                Err(Refusal::Forged) => return Err(LinkFault::OtherSecret),
                Err(_) => {}
            }
        }
        let mut session = met.ok_or(LinkFault::Unreadable)?;
        let confirmation = session.confirm().map_err(LinkFault::Sealed)?;
        self.socket.send(confirmation.text()).await?;
        Ok(Conversation {
            agent_id: agent_id.to_owned(),
            secret: secret.clone(),
            session,
            since: Instant::now(),
        })
    }

    /// Asks the device for something, `do` and what belongs to it, and
    /// waits for the answer.
    pub async fn call(
        &mut self,
        with: &mut Conversation,
        mut fields: Map<String, Value>,
    ) -> Result<Answer, LinkFault> {
        if with.since.elapsed() >= SESSION_AGE {
            let (agent_id, secret) = (with.agent_id.clone(), with.secret.clone());
            *with = self.meet(&agent_id, &secret).await?;
        }
        let deadline = Instant::now() + self.patience;
        self.last_id += 1;
        let id = self.last_id.to_string();
        fields.insert("id".to_owned(), id.as_str().into());
        let asked = Value::Object(fields).to_string();
        let packet = with.session.seal(asked.as_bytes());
        let packet = packet.map_err(LinkFault::Sealed)?;
        self.socket.send(packet.text()).await?;
        loop {
            let text = self.packet(&with.agent_id, deadline).await?;
            // Whatever does not open was not said by the device.
            let opened = Packet::read(&text).and_then(|packet| with.session.open(&packet));
            let Ok(Opened::Content(content)) = opened else {
                continue;
            };
            let answer: Answer =
                serde_json::from_slice(&content).map_err(|_| LinkFault::Unreadable)?;
            if answer.id.as_ref().is_none_or(|of| *of == id) {
                return Ok(answer);
            }
        }
    }

    pub async fn close(self) {
        self.socket.close().await;
    }

    /// The next packet, while this device is there and time is left.
    async fn packet(&mut self, agent_id: &str, deadline: Instant) -> Result<String, LinkFault> {
        loop {
            let patience = self.patience.as_secs();
            let heard = timeout_at(deadline, self.hear()).await;
            match heard.map_err(|_| LinkFault::NoAnswer(patience))?? {
                Some(Said::Packet(text)) => return Ok(text),
                Some(Said::Error { code, error }) => {
                    return Err(LinkFault::Relay { code, error });
                }
                Some(Said::Gone(gone)) if gone == agent_id => {
                    return Err(LinkFault::Relay {
                        code: "AGENT_OFFLINE".to_owned(),
                        error: "The device went offline.".to_owned(),
                    });
                }
                _ => {}
            }
        }
    }

    async fn hear(&mut self) -> Result<Option<Said>, LinkFault> {
        let text = self.socket.next().await?;
        Ok(match Frame::read(&text) {
            Ok(Frame::AgentStatus(AgentStatus { agent_id, online })) => {
                let before = self.online.get(&agent_id).copied();
                if before.is_some() || self.online.len() < DEVICES {
                    self.online.insert(agent_id.clone(), online);
                }
                self.changes.push_back(Presence {
                    agent_id: agent_id.clone(),
                    online,
                });
                if self.changes.len() > CHANGES {
                    self.changes.pop_front();
                }
                (before == Some(true) && !online).then_some(Said::Gone(agent_id))
            }
            Ok(Frame::Error(Error { code, error, .. })) => Some(Said::Error { code, error }),
            Ok(_) => None,
            Err(_) => Some(Said::Packet(text)),
        })
    }
}

fn random<const N: usize>() -> Result<[u8; N], LinkFault> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| LinkFault::Random)?;
    Ok(bytes)
}
