//! Requests to one server, over HTTPS, loopback HTTP or its local socket.

use std::{path::Path, time::Duration};

use reqwest::{Certificate, Client, Method, Url};
use serde_json::Value;

/// A long poll waits up to a minute; everything else is far shorter.
const TIME: Duration = Duration::from_secs(90);

#[derive(Debug, thiserror::Error)]
pub enum ServerFault {
    #[error("{0} is not an address; write https://host or http://127.0.0.1:port")]
    BadAddress(String),
    #[error("{0} is not HTTPS; plain HTTP is only for this machine itself")]
    Insecure(String),
    #[error("the server could not be reached: {0}")]
    Unreachable(#[from] reqwest::Error),
}

/// One server, and who we are to it.
#[derive(Clone)]
pub struct Server {
    client: Client,
    base: String,
    token: Option<String>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub retry_after_seconds: Option<u64>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

impl Server {
    /// A server at an address; `/wake/v1` at its end is accepted and dropped.
    pub fn at(
        address: &str,
        token: Option<String>,
        ca_pem: Option<&[u8]>,
    ) -> Result<Server, ServerFault> {
        let url = Url::parse(address).map_err(|_| ServerFault::BadAddress(address.to_owned()))?;
        let loopback = match url.host_str() {
            None => return Err(ServerFault::BadAddress(address.to_owned())),
            Some(host) => {
                let bare = host.trim_matches(['[', ']']);
                bare == "localhost"
                    || bare
                        .parse::<std::net::IpAddr>()
                        .is_ok_and(|address| address.is_loopback())
            }
        };
        if url.scheme() != "https" && !(url.scheme() == "http" && loopback) {
            return Err(ServerFault::Insecure(address.to_owned()));
        }
        let base = address
            .trim_end_matches('/')
            .trim_end_matches("/wake/v1")
            .to_owned();
        let mut client = builder();
        if let Some(pem) = ca_pem {
            client = client.tls_certs_merge(Certificate::from_pem_bundle(pem)?);
        }
        Ok(Server {
            client: client.build()?,
            base,
            token,
        })
    }

    /// A server on this machine, through the socket in its data directory.
    pub fn on_socket(socket: &Path, token: Option<String>) -> Result<Server, ServerFault> {
        let client = builder().unix_socket(socket).build()?;
        Ok(Server {
            client,
            base: "http://localhost".to_owned(),
            token,
        })
    }

    pub async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Reply, ServerFault> {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body);
        }
        let response = request.send().await?;
        let retry_after = response.headers().get("retry-after");
        Ok(Reply {
            status: response.status().as_u16(),
            retry_after_seconds: retry_after.and_then(|value| value.to_str().ok()?.parse().ok()),
            body: response.bytes().await?.to_vec(),
        })
    }
}

fn builder() -> reqwest::ClientBuilder {
    Client::builder()
        .timeout(TIME)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("wakeful/", env!("CARGO_PKG_VERSION")))
}
