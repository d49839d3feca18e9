//! A server with a certificate, its owner's token, and an agent whose key the
//! samples get.

use reqwest::{Certificate, Client};
use serde_json::{Value, json};

use crate::{
    documents::Sample,
    harness::{House, peer::Peer, receiver::Identity},
};

/// Whom the samples deliver as.
pub const AGENT: &str = "research-agent-01";

/// One at once, then one every two seconds.
pub const ONE_AND_SOON_ANOTHER: [&str; 2] = ["--rate", "1800/1"];
pub const ONE_AN_HOUR: [&str; 2] = ["--rate", "1/1"];
const UNLIMITED: [&str; 2] = ["--rate", "100000000/1000000"];

pub struct Scene {
    pub house: House,
    pub ann: String,
    pub key: String,
    secret: String,
    identity: Identity,
}

impl Scene {
    pub async fn start() -> Scene {
        Scene::start_with(&UNLIMITED, None).await
    }

    pub async fn limited(rate: &[&str]) -> Scene {
        Scene::start_with(rate, None).await
    }

    /// On a server that lets agents have only a few connections.
    pub async fn narrow() -> Scene {
        Scene::start_with(&UNLIMITED, Some("ulimit -n 128")).await
    }

    async fn start_with(rate: &[&str], prelude: Option<&'static str>) -> Scene {
        let identity = Identity::local();
        let mut house = House::empty();
        house.prelude = prelude;
        house.http = trusting(&identity);
        let ann = house.user("ann", "owner");
        let (certificate, key) = (identity.certificate_file(), identity.key_file());
        let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
        let flags = ["--tls-cert", certificate, "--tls-key", key];
        house.try_serve(&flags).await.unwrap();
        let mut arguments = vec!["key", "create", "--agent", AGENT];
        arguments.extend(rate);
        let made = house.json(&arguments);
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Scene {
            key: text("key"),
            secret: text("webhook_secret"),
            house,
            ann,
            identity,
        }
    }

    /// The endpoint as the white paper writes it.
    pub fn bare(&self) -> String {
        let address = self.house.address();
        assert!(address.starts_with("https://"), "{address}");
        address
    }

    /// As the specification writes it.
    pub fn versioned(&self) -> String {
        format!("{}/wake/v1", self.bare())
    }

    /// As the sample's own document writes it.
    pub fn endpoint_of(&self, sample: &Sample) -> String {
        match sample.document {
            "000" => self.versioned(),
            _ => self.bare(),
        }
    }

    /// As the other document writes it.
    pub fn other_endpoint(&self, sample: &Sample) -> String {
        match sample.document {
            "000" => self.bare(),
            _ => self.versioned(),
        }
    }

    /// Starts a sample with what an agent's environment holds.
    pub fn run(&self, sample: &Sample, mode: &[&str]) -> Peer {
        self.run_at(sample, &self.endpoint_of(sample), &self.key, mode)
    }

    pub fn run_at(&self, sample: &Sample, endpoint: &str, key: &str, mode: &[&str]) -> Peer {
        let file = sample.file();
        let mut arguments = vec![file.as_str(), sample.start];
        arguments.extend(mode);
        let certificate = self.identity.certificate_file();
        let certificate = certificate.to_str().unwrap();
        let environment = [
            ("WAKE_ENDPOINT", endpoint),
            ("WAKE_API_KEY", key),
            ("WAKE_AGENT_ID", AGENT),
            ("WAKE_WEBHOOK_SECRET", &self.secret),
            ("SSL_CERT_FILE", certificate),
            ("NODE_EXTRA_CA_CERTS", certificate),
        ];
        let mut peer = Peer::start(sample.script, &arguments, &environment);
        let supplied = peer.expect("supplied");
        let supplied = supplied.as_array().unwrap().iter();
        let mut supplied: Vec<&str> = supplied.map(|it| it.as_str().unwrap()).collect();
        supplied.push("trust in the server's certificate");
        sample.is_supplied_with(&supplied);
        peer
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub async fn answer(&self, id: &str, answer: Value) {
        let answered = self.house.respond(&self.ann, id, answer).await;
        assert_eq!(answered.status, 200, "{:?}", answered.json());
    }

    /// The one delivery that waits.
    pub async fn waiting(&self) -> String {
        let path = "/api/v1/inbox?status=pending";
        let page = self.house.get(path, &self.ann).await.json();
        let items = page["items"].as_array().unwrap();
        assert_eq!(items.len(), 1, "{items:?}");
        items[0]["id"].as_str().unwrap().to_owned()
    }

    /// Opens connections with these keys in turn until one more is refused with
    /// this status; they stay open as long as what is given lives.
    pub async fn crowd(&self, keys: &[&str], refused: u16) -> Vec<Client> {
        let mut open = Vec::new();
        loop {
            let client = trusting(&self.identity);
            let url = format!("{}/responses", self.versioned());
            let request = client.get(url).bearer_auth(keys[open.len() % keys.len()]);
            let status = request.send().await.unwrap().status().as_u16();
            if status == refused {
                return open;
            }
            assert_eq!(status, 200, "after {}", open.len());
            open.push(client);
            assert!(open.len() < 100, "there is no end to connections");
        }
    }
}

fn trusting(identity: &Identity) -> Client {
    crate::harness::install_tls();
    let certificate = std::fs::read(identity.certificate_file()).unwrap();
    Client::builder()
        .no_proxy()
        .tls_certs_only([Certificate::from_pem(&certificate).unwrap()])
        .build()
        .unwrap()
}

/// One of each kind.
pub fn answers() -> [Value; 3] {
    [
        json!({ "status": "approved", "feedback": "Go on – gern!" }),
        json!({ "status": "rejected", "feedback": "Not this one." }),
        json!({ "status": "redirected", "feedback": "Shorter.",
                "edited_content": { "brief": "…", "n": 1.5 } }),
    ]
}
