//! Requests to one server, over HTTPS, loopback HTTP or its local socket.

use std::{path::Path, time::Duration};

use reqwest::{Certificate, Client, Method};
use serde_json::Value;
use wake::BaseFault;

/// A long poll waits up to a minute; everything else is far shorter.
const TIME: Duration = Duration::from_secs(90);

#[derive(Debug, thiserror::Error)]
pub enum ServerFault {
    #[error("{0} is {1}")]
    Address(String, BaseFault),
    #[error("the certificates cannot be used: {}", innermost(.0))]
    Certificates(reqwest::Error),
    #[error("no client can be made: {}", innermost(.0))]
    Client(reqwest::Error),
    #[error("{base} could not be reached: {}", innermost(.error))]
    Unreachable { base: String, error: reqwest::Error },
}

/// What went wrong at the bottom: each cause above it says the same address again.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
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
        let base =
            wake::base(address).map_err(|fault| ServerFault::Address(address.to_owned(), fault))?;
        let mut client = builder();
        if let Some(pem) = ca_pem {
            let trusted = Certificate::from_pem_bundle(pem).map_err(ServerFault::Certificates)?;
            client = client.tls_certs_merge(trusted);
        }
        Ok(Server {
            client: client.build().map_err(ServerFault::Client)?,
            base,
            token,
        })
    }

    /// A server on this machine, through the socket in its data directory.
    pub fn on_socket(socket: &Path, token: Option<String>) -> Result<Server, ServerFault> {
        let client = builder().unix_socket(socket).build();
        Ok(Server {
            client: client.map_err(ServerFault::Client)?,
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
        let unreachable = |error| ServerFault::Unreachable {
            base: self.base.clone(),
            error,
        };
        let response = request.send().await.map_err(unreachable)?;
        let retry_after = response.headers().get("retry-after");
        Ok(Reply {
            status: response.status().as_u16(),
            retry_after_seconds: retry_after.and_then(|value| value.to_str().ok()?.parse().ok()),
            body: response.bytes().await.map_err(unreachable)?.to_vec(),
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
