//! The same things work by every way in: plain loopback over IPv4 and IPv6, TLS,
//! and behind nginx and HAProxy.

use std::net::SocketAddr;

use reqwest::{Certificate, Client, redirect::Policy};
use serde_json::json;

use crate::harness::{
    Answer, House, delivery,
    front::{Front, Kind},
    install_tls,
};

/// A certificate for localhost and its key, as PEM.
pub fn certificate() -> (String, String) {
    install_tls();
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// A server with the owner ann, and one way to it.
struct Way {
    house: House,
    ann: String,
    _front: Option<Front>,
    client: Client,
    base: String,
    secure: bool,
    /// The client's address as the server should see it.
    source: &'static str,
}

impl Way {
    async fn open(name: &'static str) -> Way {
        let (certificate, key) = certificate();
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .tls_certs_only([Certificate::from_pem(certificate.as_bytes()).unwrap()]);
        let mut house = House::empty();
        let ann = house.user("ann", "owner");
        let mut source = "127.0.0.1";
        let mut front = None;
        match name {
            "plain" => house.serve().await,
            "plain over IPv6" => {
                house.listen_on("[::1]:0");
                house.serve().await;
                source = "::1";
            }
            "TLS" | "TLS over IPv6" => {
                let files = ["cert.pem", "key.pem"].map(|file| house.data().join(file));
                std::fs::write(&files[0], &certificate).unwrap();
                std::fs::write(&files[1], &key).unwrap();
                if name == "TLS over IPv6" {
                    house.listen_on("[::1]:0");
                    source = "::1";
                }
                let [cert, key] = files.each_ref().map(|file| file.to_str().unwrap());
                let flags = ["--tls-cert", cert, "--tls-key", key];
                house.try_serve(&flags).await.unwrap();
            }
            _ => {
                house.go_behind(&["127.0.0.1/32", "::1/128"]);
                if name == "nginx over IPv6" {
                    house.listen_on("[::1]:0");
                }
                house.serve().await;
                let kind = match name {
                    "HAProxy" => Kind::Haproxy,
                    _ => Kind::Nginx,
                };
                let address = house.address();
                front = Some(Front::start(kind, &address, &certificate, &key).await);
            }
        }
        let base = match &front {
            Some(front) => format!("https://localhost:{}", front.https.port()),
            None => house.address(),
        };
        let client = match &front {
            // The certificate is for a name, which must not be looked up as ::1.
            Some(front) => client.resolve(
                "localhost",
                SocketAddr::from(([127, 0, 0, 1], front.https.port())),
            ),
            None => client,
        };
        Way {
            secure: base.starts_with("https:"),
            client: client.build().unwrap(),
            _front: front,
            house,
            ann,
            base,
            source,
        }
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answer {
        let url = format!("{}{path}", self.base);
        let mut request = self.client.request(method.parse().unwrap(), url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::read(request.body(body).send().await.unwrap()).await
    }

    async fn form(&self, path: &str, cookies: &str, fields: &[(&str, &str)]) -> Answer {
        let address = reqwest::Url::parse_with_params("http://localhost", fields).unwrap();
        let body = address.query().unwrap_or_default().to_owned();
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.send("POST", path, &[kind, ("cookie", cookies)], body)
            .await
    }
}

const WAYS: [&str; 7] = [
    "plain",
    "plain over IPv6",
    "TLS",
    "TLS over IPv6",
    "nginx",
    "nginx over IPv6",
    "HAProxy",
];

fn cookies(answer: &Answer) -> String {
    let set = answer.headers.get_all("set-cookie").iter();
    let pairs = set.map(|set| set.to_str().unwrap().split(';').next().unwrap());
    pairs.collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn agents_deliver_and_people_sign_in_and_answer_by_every_way() {
    for name in WAYS {
        let mut way = Way::open(name).await;
        let key = way.house.key("a");
        let kind = ("content-type", "application/json");
        // An agent delivers.
        let bearer = format!("Bearer {key}");
        let headers = [kind, ("authorization", bearer.as_str())];
        let body = delivery("a", json!({})).to_string();
        let delivered = way.send("POST", "/wake/v1/deliver", &headers, body).await;
        assert_eq!(delivered.status, 201, "{name}: {}", delivered.text());
        let id = delivered.json()["delivery_id"].as_str().unwrap().to_owned();
        // Its person comes by a link, chooses a password and signs in with it.
        let link = way.house.json(&["user", "sign-in-link", "ann"]);
        let (_, link) = link["url"]
            .as_str()
            .unwrap()
            .split_once("/sign-in/")
            .unwrap();
        // The page key, which the script on the sign-in page chooses.
        let token = &"ab".repeat(32);
        let page = ("page", token.as_str());
        let entered = way.form(&format!("/sign-in/{link}"), "", &[page]).await;
        assert_eq!(entered.status, 303, "{name}: {}", entered.text());
        let session = cookies(&entered);
        let password = "a quiet place to work";
        let set = way
            .form("/you", &session, &[("token", token), ("new", password)])
            .await;
        assert_eq!(set.status, 303, "{name}: {}", set.text());
        let tries = async |given: &str| {
            let fields = [("name", "ann"), ("password", given), page];
            way.form("/sign-in", "", &fields).await
        };
        assert_eq!(tries("wrong").await.status, 401, "{name}");
        let entered = tries(password).await;
        assert_eq!(entered.status, 303, "{name}: {}", entered.text());
        let names_session = match way.secure {
            true => "__Host-wakeful=",
            false => "wakeful=",
        };
        assert!(cookies(&entered).starts_with(names_session), "{name}");
        // They answer, and the agent learns of it.
        let bearer = format!("Bearer {}", way.ann);
        let headers = [kind, ("authorization", bearer.as_str())];
        let path = format!("/api/v1/inbox/{id}/respond");
        let body = json!({ "status": "approved" }).to_string();
        let answered = way.send("POST", &path, &headers, body).await;
        assert_eq!(answered.status, 200, "{name}: {}", answered.text());
        // Who failed is on the trail by the address they came from.
        way.house.stop();
        let trail = way
            .house
            .json(&["trail", "show", "--limit", "200"])
            .to_string();
        let failed = format!("\"source\":\"{}\"", way.source);
        assert!(trail.contains(&failed), "{name}: {trail}");
    }
}

#[tokio::test]
async fn browsers_are_told_to_use_https_where_they_did() {
    for name in WAYS {
        let way = Way::open(name).await;
        for path in ["/healthz", "/sign-in", "/api/v1/me", "/nothing"] {
            let answer = way.send("GET", path, &[], String::new()).await;
            let expected = way.secure.then_some("max-age=31536000");
            let said = answer.header("strict-transport-security");
            assert_eq!(said, expected, "{name} {path}");
        }
    }
}
