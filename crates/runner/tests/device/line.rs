//! The relay's end of a device's connection, in a test's hands, and a client
//! that talks through it.

use std::{net::SocketAddr, time::Duration};

use client::{Server, link::Backoff};
use futures_util::{SinkExt as _, StreamExt as _};
use runner::{Device, Ended, Hands, Network, Target, Timing};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{Request, Response},
    },
};
use wakelink::{
    Hello, Packet, Secret, Session,
    ewsp::{Draw, Initiator, Opened, Sid},
};

pub const AGENT: &str = "WL35080814";
const TOKEN: &str = "wld_test";
/// Nothing here takes so long unless it never comes.
const LIMIT: Duration = Duration::from_secs(10);

pub fn secret() -> Secret {
    Secret::new([7; 32])
}

/// Where a device connects to.
pub struct Relay {
    listener: TcpListener,
}

/// One connection of a device.
pub struct Line {
    socket: WebSocketStream<TcpStream>,
}

/// A device that runs until the test is over or stops it.
pub struct Running {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Ended>,
}

impl Relay {
    pub async fn start() -> Relay {
        Relay::at("127.0.0.1:0".parse().unwrap()).await
    }

    pub async fn at(address: SocketAddr) -> Relay {
        let listener = TcpListener::bind(address).await.unwrap();
        Relay { listener }
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// The next connection, before it has said anything.
    pub async fn connection(&self) -> Line {
        let (stream, _) = timeout(LIMIT, self.listener.accept())
            .await
            .unwrap()
            .unwrap();
        #[expect(clippy::result_large_err, reason = "its shape is the library's")]
        let check = |request: &Request, response: Response| {
            assert_eq!(request.uri().path(), "/wss");
            Ok(response)
        };
        let socket = accept_hdr_async(stream, check).await.unwrap();
        Line { socket }
    }

    /// The next connection, let in.
    pub async fn admit(&self) -> Line {
        let mut line = self.connection().await;
        let auth = line.hear().await;
        assert_eq!(
            auth,
            json!({
                "type": "auth", "api_token": TOKEN, "client_type": "device", "agent_id": AGENT
            })
        );
        let admitted = json!({
            "type": "auth_response", "status": "authenticated", "session_token": "wls_x",
            "expires_in": 86400, "max_requests": 10000
        });
        line.say(&admitted.to_string()).await;
        line
    }

    /// A device that connects here, with these machines and networks.
    pub fn device(&self, targets: Vec<Target>, networks: Vec<Network>) -> Running {
        self.device_with(targets, networks, Timing::default())
    }

    /// The same, which does not wait long for a server.
    pub fn device_with(
        &self,
        targets: Vec<Target>,
        networks: Vec<Network>,
        timing: Timing,
    ) -> Running {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let device = Device {
            server: Server::at(&format!("http://{}", self.address()), None, None).unwrap(),
            agent_id: AGENT.to_owned(),
            token: TOKEN.to_owned(),
            secret: secret(),
            hands: Hands::new(AGENT, targets, networks).unwrap(),
            timing: Timing {
                backoff: Backoff::new(Duration::from_millis(20), Duration::from_millis(200)),
                refused: Duration::from_millis(50),
                ..timing
            },
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let stop = async move { drop(stopped.await) };
            device.run(stop).await
        });
        Running {
            stop: Some(stop),
            task,
        }
    }
}

impl Running {
    pub async fn stop(mut self) -> Ended {
        self.stop.take().unwrap().send(()).unwrap();
        self.ended().await
    }

    /// Why it ended by itself.
    pub async fn ended(self) -> Ended {
        timeout(LIMIT, self.task).await.unwrap().unwrap()
    }
}

impl Line {
    pub async fn say(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    pub async fn text(&mut self) -> String {
        loop {
            let message = timeout(LIMIT, self.socket.next()).await.unwrap();
            if let Message::Text(text) = message.unwrap().unwrap() {
                return text.to_string();
            }
        }
    }

    pub async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// Closes it as a server does that does not want the device any more.
    pub async fn close(mut self) {
        self.socket.close(None).await.unwrap();
    }

    /// A client that met the device and has not confirmed yet.
    pub async fn meet(&mut self, number: u8) -> Session {
        let draw = Draw::new(&[number; 64]);
        let initiator = Initiator::new(Sid::new([number; 8]), draw);
        self.say(&initiator.hello().text()).await;
        let reply = Hello::read(&self.text().await).unwrap();
        let mut session = initiator.finish(AGENT, &secret(), &reply).unwrap();
        let confirmation = Packet::read(&self.text().await).unwrap();
        assert_eq!(session.open(&confirmation), Ok(Opened::Confirmation));
        session
    }

    /// A client that both have confirmed.
    pub async fn client(&mut self, number: u8) -> Session {
        let mut session = self.meet(number).await;
        let confirmation = session.confirm().unwrap();
        self.say(&confirmation.text()).await;
        session
    }

    pub async fn ask(&mut self, session: &mut Session, content: &str) -> Value {
        let packet = session.seal(content.as_bytes()).unwrap();
        self.say(&packet.text()).await;
        let packet = Packet::read(&self.text().await).unwrap();
        let Ok(Opened::Content(content)) = session.open(&packet) else {
            panic!("an answer does not open");
        };
        serde_json::from_slice(&content).unwrap()
    }
}
