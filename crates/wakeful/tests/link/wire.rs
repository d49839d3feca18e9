//! One end of a WebSocket over TLS.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, Message, protocol::WebSocketConfig},
};

/// Nothing takes longer, unless the server hangs.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Wire(pub WebSocketStream<TlsStream<TcpStream>>);

/// How one knows the server.
#[derive(Clone)]
pub struct Trust {
    connector: TlsConnector,
    port: u16,
}

impl Trust {
    pub fn new(pem: &str, address: &str) -> Trust {
        let mut roots = rustls::RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        roots.add(certificate).unwrap();
        let config = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (_, port) = address.rsplit_once(':').unwrap();
        Trust {
            connector: TlsConnector::from(Arc::new(config)),
            port: port.parse().unwrap(),
        }
    }

    pub async fn try_connect(&self) -> Result<Wire, tungstenite::Error> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let name = ServerName::try_from("localhost").unwrap();
        let stream = self.connector.connect(name, stream).await?;
        let url = format!("wss://localhost:{}/wss", self.port);
        // There may be thousands of these in one test.
        let small = WebSocketConfig::default().read_buffer_size(4 << 10);
        let (socket, response) = client_async_with_config(url, stream, Some(small)).await?;
        assert_eq!(response.status(), 101);
        Ok(Wire(socket))
    }

    pub async fn connect(&self) -> Wire {
        self.try_connect().await.unwrap()
    }
}

impl Wire {
    pub async fn send(&mut self, message: Message) {
        let sent = tokio::time::timeout(PATIENCE, self.0.send(message));
        sent.await.expect("the server does not read").unwrap();
    }

    pub async fn say_text(&mut self, text: &str) {
        self.send(Message::Text(text.into())).await;
    }

    pub async fn say(&mut self, value: Value) {
        self.say_text(&value.to_string()).await;
    }

    async fn next(&mut self) -> Option<Result<Message, tungstenite::Error>> {
        let next = tokio::time::timeout(PATIENCE, self.0.next());
        next.await.expect("the server says nothing")
    }

    /// The next text frame, as it is.
    #[track_caller]
    pub fn hear_text(&mut self) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        async move {
            match self.next().await {
                Some(Ok(Message::Text(text))) => text.as_str().to_owned(),
                other => panic!("no text frame but {other:?}, for {caller}"),
            }
        }
    }

    /// The same as JSON.
    #[track_caller]
    pub fn hear(&mut self) -> impl Future<Output = Value> {
        let heard = self.hear_text();
        async { serde_json::from_str(&heard.await).unwrap() }
    }

    /// The next frame must be an error with this code, and nothing ends by it.
    #[track_caller]
    pub fn is_told(&mut self, code: &str, request_id: Option<&str>) -> impl Future<Output = ()> {
        let (code, caller) = (code.to_owned(), std::panic::Location::caller());
        let request_id = request_id.map(Value::from);
        let heard = self.hear();
        async move {
            let heard = heard.await;
            assert_eq!(heard["type"], "error", "{heard} for {caller}");
            assert_eq!(heard["code"], code.as_str(), "{heard} for {caller}");
            assert_eq!(
                heard.get("request_id"),
                request_id.as_ref(),
                "{heard} for {caller}"
            );
            let sentence = heard["error"].as_str().unwrap();
            assert!(sentence.len() > 10, "no sentence: {heard}");
        }
    }

    /// Nothing but the close frame comes: its code.
    #[track_caller]
    pub fn is_closed(&mut self) -> impl Future<Output = u16> {
        let caller = std::panic::Location::caller();
        async move {
            match self.next().await {
                Some(Ok(Message::Close(Some(frame)))) => frame.code.into(),
                other => panic!("no close frame but {other:?}, for {caller}"),
            }
        }
    }

    /// Whatever the server had to say to this end it has said: a ping that was
    /// sent after it is answered next.
    #[track_caller]
    pub fn hears_nothing(&mut self) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            self.send(Message::Ping("?".into())).await;
            match self.next().await {
                Some(Ok(Message::Pong(_))) => {}
                other => panic!("heard {other:?}, for {caller}"),
            }
        }
    }

    pub async fn leave(mut self) {
        let _ = self.0.close(None).await;
        while let Some(Ok(_)) = self.next().await {}
    }
}
