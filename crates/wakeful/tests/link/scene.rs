//! A server with a certificate, people, and devices of theirs.

use reqwest::{Certificate, Client};
use serde_json::{Value, json};

use crate::{
    harness::{House, install_tls},
    wire::{Trust, Wire},
};

pub struct Scene {
    pub house: House,
    pub ann: String,
    pub trust: Trust,
    pem: String,
    flags: Vec<String>,
}

/// A device and its token.
#[derive(Clone, Debug)]
pub struct Device {
    pub agent_id: String,
    pub token: String,
}

impl Scene {
    pub async fn start() -> Scene {
        Scene::start_with("").await
    }

    /// With these lines under `[link]`.
    pub async fn start_with(link: &str) -> Scene {
        install_tls();
        let mut house = House::empty();
        let ann = house.user("ann", "owner");
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let file = |name: &str, text: &str| {
            let path = house.data().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let flags = vec![
            "--tls-cert".to_owned(),
            file("cert.pem", &made.cert.pem()),
            "--tls-key".to_owned(),
            file("key.pem", &made.signing_key.serialize_pem()),
            "--config".to_owned(),
            file("wakeful.toml", &format!("[link]\n{link}\n")),
        ];
        let pem = made.cert.pem();
        house.http = Client::builder()
            .no_proxy()
            .tls_certs_only([Certificate::from_pem(pem.as_bytes()).unwrap()])
            .build()
            .unwrap();
        let mut scene = Scene {
            ann,
            trust: Trust::new(&pem, "none:1"),
            house,
            pem,
            flags,
        };
        scene.serve().await;
        scene
    }

    pub async fn serve(&mut self) {
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        self.house.try_serve(&flags).await.unwrap();
        self.trust = Trust::new(&self.pem, &self.house.address());
    }

    pub fn certificate_file(&self) -> String {
        let path = self.house.data().join("cert.pem");
        path.to_str().unwrap().to_owned()
    }

    /// A new device of the one whose token this is.
    pub async fn device(&self, token: &str, agent_id: &str) -> Device {
        let body = json!({ "agent_id": agent_id });
        let made = self.house.post("/api/v1/agents", token, body).await;
        assert_eq!(made.status, 201, "{}", made.text());
        Device {
            agent_id: agent_id.to_owned(),
            token: made.json()["token"].as_str().unwrap().to_owned(),
        }
    }

    /// Connects and says this first; gives what the server says to it.
    pub async fn enter(&self, auth: Value) -> (Wire, Value) {
        let mut wire = self.trust.connect().await;
        wire.say(auth).await;
        let answer = wire.hear().await;
        assert_eq!(answer["type"], "auth_response", "{answer}");
        (wire, answer)
    }

    /// A client of the one whose token this is, that has heard of all devices.
    pub async fn client(&self, token: &str) -> Wire {
        let (mut wire, answer) = self.enter(by_token(token)).await;
        assert_eq!(answer["status"], "authenticated", "{answer}");
        for _ in 0..self.count_devices(token).await {
            assert_eq!(wire.hear().await["type"], "agent_status");
        }
        wire
    }

    async fn count_devices(&self, token: &str) -> usize {
        let agents = self.house.get("/api/v1/agents", token).await.json();
        let agents = agents["agents"].as_array().unwrap().clone();
        agents
            .iter()
            .filter(|agent| !agent["link"].is_null())
            .count()
    }

    pub async fn connect_device(&self, device: &Device) -> Wire {
        let (wire, answer) = self.enter(as_device(device)).await;
        assert_eq!(answer["status"], "authenticated", "{answer}");
        wire
    }

    /// A device of ann's that is connected, and a client of hers.
    pub async fn pair(&self, agent_id: &str) -> (Wire, Wire) {
        let device = self.device(&self.ann, agent_id).await;
        let wire = self.connect_device(&device).await;
        (self.client(&self.ann).await, wire)
    }
}

pub fn by_token(token: &str) -> Value {
    json!({ "type": "auth", "api_token": token, "client_type": "client" })
}

pub fn by_session(token: &str) -> Value {
    json!({ "type": "auth", "session_token": token, "client_type": "client" })
}

pub fn as_device(device: &Device) -> Value {
    json!({
        "type": "auth", "api_token": device.token, "client_type": "device",
        "agent_id": device.agent_id
    })
}

pub fn relay(agent_id: &str, payload: &str) -> Value {
    json!({ "type": "relay", "agent_id": agent_id, "payload": payload })
}

pub fn status(agent_id: &str, online: bool) -> Value {
    json!({ "type": "agent_status", "agent_id": agent_id, "online": online })
}
