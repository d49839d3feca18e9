//! The relay's end of a client's connection, and a device behind it.

use std::time::Duration;

use client::{
    Server,
    link::{Auth, Caller, LinkFault},
};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_tungstenite::{WebSocketStream, accept_async, tungstenite::Message};
use wakelink::{
    Packet, Request, Secret,
    device::{Heard, Sessions},
    ewsp::{Draw, Sid},
};

pub const AGENT: &str = "WL35080814";
/// Nothing here takes so long unless it never comes.
const LIMIT: Duration = Duration::from_secs(10);

pub fn secret() -> Secret {
    Secret::new([7; 32])
}

pub async fn listen() -> (TcpListener, Server) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    (listener, Server::at(&address, None, None).unwrap())
}

/// One client's connection.
pub struct Line {
    socket: WebSocketStream<TcpStream>,
}

impl Line {
    /// The next connection, and how it wants to be let in.
    pub async fn accept(listener: &TcpListener) -> (Line, Value) {
        let (stream, _) = timeout(LIMIT, listener.accept()).await.unwrap().unwrap();
        let socket = accept_async(stream).await.unwrap();
        let mut line = Line { socket };
        let auth = serde_json::from_str(&line.text().await).unwrap();
        (line, auth)
    }

    pub async fn say(&mut self, frame: &Value) {
        self.pass_on(&frame.to_string()).await;
    }

    pub async fn pass_on(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    pub async fn text(&mut self) -> String {
        let message = timeout(LIMIT, self.socket.next()).await.unwrap();
        message.unwrap().unwrap().into_text().unwrap().to_string()
    }

    pub async fn close(mut self) {
        self.socket.close(None).await.unwrap();
    }
}

/// A client that was let in, and the other end of its line.
pub async fn connected(patience: Duration) -> (Caller, Line) {
    let (listener, server) = listen().await;
    let connecting: JoinHandle<Result<Caller, LinkFault>> =
        tokio::spawn(async move { Caller::connect(&server, Auth::client("wl_x")).await });
    let (mut line, _) = Line::accept(&listener).await;
    line.say(&json!({
        "type": "auth_response", "status": "authenticated", "session_token": "wls_x",
        "expires_in": 60, "max_requests": 7
    }))
    .await;
    let caller = connecting.await.unwrap().unwrap();
    (caller.patient(patience), line)
}

/// A device behind the relay.
pub struct Device {
    pub sessions: Sessions,
    number: u8,
}

impl Device {
    pub fn new(secret: Secret) -> Device {
        Device {
            sessions: Sessions::new(AGENT, secret),
            number: 0,
        }
    }

    pub fn hear(&mut self, text: &str) -> Heard {
        self.number += 1;
        let draw = Draw::new(&[self.number; 64]);
        self.sessions.hear(text, Duration::ZERO, || draw).unwrap()
    }

    /// What it says to a client's hello, which comes in an envelope.
    pub async fn greet(&mut self, line: &mut Line) -> [String; 2] {
        let envelope: Value = serde_json::from_str(&line.text().await).unwrap();
        assert_eq!(envelope["type"], "relay");
        assert_eq!(envelope["agent_id"], AGENT);
        match self.hear(envelope["payload"].as_str().unwrap()) {
            Heard::Hello(texts) => texts,
            other => panic!("{other:?}"),
        }
    }

    /// Meets the client on the line, as it should be.
    pub async fn meet(&mut self, line: &mut Line) {
        for text in self.greet(line).await {
            line.pass_on(&text).await;
        }
        assert_eq!(self.hear(&line.text().await), Heard::Confirmed);
    }

    /// The next command.
    pub async fn asked(&mut self, line: &mut Line) -> (Sid, Request) {
        match self.hear(&line.text().await) {
            Heard::Content { sid, content } => (sid, Request::read(&content).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    pub fn answer(&mut self, sid: Sid, answer: &Value) -> Packet {
        let text = self.sessions.say(sid, answer.to_string().as_bytes());
        Packet::read(&text.unwrap()).unwrap()
    }
}
