//! Behind a proxy everyone has the address that the proxy says they have.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message, client::IntoClientRequest as _},
};

use crate::{
    harness::{House, PROXY_SECRET, PROXY_SECRET_HEADER},
    scene::by_token,
};

struct Proxied {
    house: House,
    ann: String,
}

impl Proxied {
    async fn start(link: &str) -> Proxied {
        let mut house = House::empty();
        let ann = house.user("ann", "owner");
        let config = house.data().join("wakeful.toml");
        std::fs::write(&config, format!("[link]\n{link}\n")).unwrap();
        let proxied = house.go_behind(&["127.0.0.1/32"]);
        let flags = [
            "--address",
            "https://wake.example.com",
            "--config",
            config.to_str().unwrap(),
        ];
        let flags: Vec<&str> = proxied.iter().map(String::as_str).chain(flags).collect();
        house.try_serve(&flags).await.unwrap();
        Proxied { house, ann }
    }

    /// As a proxy passes on what somebody at this address wants.
    async fn connect(&self, from: &str) -> Result<WebSocketStream<TcpStream>, u16> {
        let address = self.house.address().replace("http://", "");
        let stream = TcpStream::connect(&address).await.unwrap();
        let url = format!("ws://{address}/wss");
        let mut request = url.into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("x-forwarded-for", from.parse().unwrap());
        headers.insert("x-forwarded-proto", "https".parse().unwrap());
        headers.insert(PROXY_SECRET_HEADER, PROXY_SECRET.parse().unwrap());
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(socket),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// What somebody at this address is told who says this first.
    async fn enter(&self, from: &str, auth: Value) -> Value {
        let mut socket = self.connect(from).await.unwrap();
        socket.send(Message::text(auth.to_string())).await.unwrap();
        let told = socket.next().await.unwrap().unwrap();
        serde_json::from_str(told.to_text().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn failures_of_one_client_do_not_lock_the_proxy_out() {
    let proxied = Proxied::start("").await;
    for n in 1..=5 {
        let told = proxied.enter("203.0.113.7", by_token("wl_unknown")).await;
        assert_eq!(told["retry_after"].is_u64(), n == 5, "{told}");
    }
    let told = proxied.enter("203.0.113.7", by_token(&proxied.ann)).await;
    assert_eq!(told["status"], "failed");
    // What a client writes itself stands on the left, and is not believed.
    let forged = "203.0.113.8, 203.0.113.7";
    let told = proxied.enter(forged, by_token(&proxied.ann)).await;
    assert_eq!(told["status"], "failed");
    let told = proxied.enter("203.0.113.8", by_token(&proxied.ann)).await;
    assert_eq!(told["status"], json!("authenticated"));
}

#[tokio::test]
async fn connections_are_counted_by_the_client_s_address() {
    let proxied = Proxied::start("connections-per-address = 2").await;
    let first = proxied.connect("203.0.113.7").await.unwrap();
    let _second = proxied.connect("203.0.113.7").await.unwrap();
    assert_eq!(proxied.connect("203.0.113.7").await.unwrap_err(), 429);
    assert!(proxied.connect("203.0.113.8").await.is_ok());
    drop(first);
}
