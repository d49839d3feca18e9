//! A client's end: which devices are there, and a conversation with one of
//! them. One thing at a time: a call waits for its answer, and notes whatever
//! else comes meanwhile.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use wakelink::{
    Answer, Hello, Packet, Refusal, Secret, Session,
    device::{SESSION_AGE, SESSION_SILENCE},
    ewsp::{Draw, Initiator, Opened, Sid},
    frame::{AgentStatus, Auth, Error, Frame, Relay},
};

use crate::{
    Server,
    link::{Admission, LinkFault, Socket},
};

/// How long a device may take to answer, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(10);
/// To end a session in.
const GOODBYE: Duration = Duration::from_secs(2);
/// Longer than anybody waits.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);
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
    /// The session that was made for this connection, and ends with it.
    opened: Option<(Server, Token)>,
}

/// Stays out of what is printed.
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A session with a device, which both have confirmed.
#[derive(Debug)]
pub struct Conversation {
    agent_id: String,
    secret: Secret,
    session: Session,
    since: Instant,
    /// When something was last said in it.
    used: Instant,
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
            opened: None,
        })
    }

    /// Connects with the server's own token: a session token as it is; an
    /// account token gets one first, so that it never enters the socket.
    pub async fn sign_in(server: &Server) -> Result<Caller, LinkFault> {
        let token = server.token().unwrap_or_default();
        if token.starts_with(wake::secret::LINK_SESSION) {
            return Caller::connect(server, Auth::session(token)).await;
        }
        let reply = server
            .request("POST", "/api/v1/auth/session", &[], None)
            .await?;
        let answer = reply.json();
        let token = answer["session_token"].as_str();
        let detail = reply.problem().detail;
        let retry_after_seconds = reply.retry_after_seconds;
        match (token, reply.status) {
            (Some(token), 200..300) => {
                let mut caller = Caller::connect(server, Auth::session(token)).await?;
                caller.opened = Some((server.clone(), Token(token.to_owned())));
                Ok(caller)
            }
            (_, 401 | 403) => Err(LinkFault::Refused {
                error: detail.unwrap_or_else(|| "it gave no reason".to_owned()),
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

    /// Who has more patience than there is time waits as long as there is.
    fn deadline(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.patience).unwrap_or(now + FOREVER)
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
        let deadline = self.deadline();
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
            used: Instant::now(),
        })
    }

    /// Asks the device for something, `do` and what belongs to it, and
    /// waits for the answer.
    pub async fn call(
        &mut self,
        with: &mut Conversation,
        mut fields: Map<String, Value>,
    ) -> Result<Answer, LinkFault> {
        // Well before the device forgets it.
        if with.since.elapsed() >= SESSION_AGE || with.used.elapsed() >= SESSION_SILENCE / 2 {
            let (agent_id, secret) = (with.agent_id.clone(), with.secret.clone());
            *with = self.meet(&agent_id, &secret).await?;
        }
        let deadline = self.deadline();
        with.used = Instant::now();
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

    /// Leaves, and ends the session that was made for this alone: a person has
    /// only so many.
    pub async fn close(self) {
        self.socket.close().await;
        if let Some((server, Token(token))) = self.opened {
            let body = json!({ "session_token": token }).to_string().into_bytes();
            let ending = server.request("POST", "/api/v1/auth/session/end", &[], Some(body));
            // One that is not ended ends by itself.
            let _ = timeout(GOODBYE, ending).await;
        }
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
