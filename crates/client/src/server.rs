//! Requests to one server, over HTTPS, loopback HTTP or its local socket.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use reqwest::{Certificate, Client, ClientBuilder, Method};
use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};
use wake::BaseFault;

/// A long poll waits up to a minute; everything else is far shorter.
const TIME: Duration = Duration::from_secs(90);
/// The longest answer that is read. The largest that a server of ours gives to a
/// plain request is a full sweep: each answer with an edit of 1 MiB and feedback of
/// 20,000 characters, which JSON can make 240 kB of, and little besides. Memory is
/// taken only as bytes arrive.
pub const ANSWER_BYTES: usize = wake::limits::SWEEP_MAX * ((1 << 20) + (256 << 10));

#[derive(Debug, thiserror::Error)]
pub enum ServerFault {
    #[error("{0} is {1}")]
    Address(String, BaseFault),
    #[error("the certificates cannot be used: {}", innermost(.0))]
    Certificates(reqwest::Error),
    #[error("no client can be made: {}", innermost(.0))]
    Client(reqwest::Error),
    #[error("{base} {}", unreached(.error))]
    Unreachable { base: String, error: reqwest::Error },
    #[error("{base} answered with more than {} MiB: ask for fewer at a time", ANSWER_BYTES >> 20)]
    TooLong { base: String },
}

/// Why a request got no answer. Something that answers without TLS was reached.
fn unreached(error: &reqwest::Error) -> String {
    match speaks_no_tls(error) {
        true => "answers, but not with HTTPS: is it an http:// address?".to_owned(),
        false => format!("could not be reached: {}", innermost(error)),
    }
}

/// An I/O error does not name what it holds as its source, so both ways are followed.
fn speaks_no_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    use rustls::{Error::InvalidMessage, InvalidMessage::InvalidContentType};
    let held = error.downcast_ref::<std::io::Error>();
    let held = held.and_then(std::io::Error::get_ref);
    matches!(
        error.downcast_ref(),
        Some(InvalidMessage(InvalidContentType))
    ) || held.is_some_and(|held| speaks_no_tls(held))
        || error.source().is_some_and(speaks_no_tls)
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
    way: Way,
    base: String,
    token: Option<String>,
}

/// How connections to it are made.
#[derive(Clone, Default)]
struct Way {
    ca_pem: Option<Vec<u8>>,
    socket: Option<PathBuf>,
}

impl Way {
    fn builder(&self) -> Result<ClientBuilder, ServerFault> {
        let mut client = Client::builder()
            .timeout(TIME)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("wakeful/", env!("CARGO_PKG_VERSION")));
        if let Some(pem) = &self.ca_pem {
            let trusted = Certificate::from_pem_bundle(pem).map_err(ServerFault::Certificates)?;
            client = client.tls_certs_merge(trusted);
        }
        if let Some(socket) = &self.socket {
            client = client.unix_socket(socket.as_path());
        }
        Ok(client)
    }
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

/// A refusal as a program reads it: why, and the answer that stands if there is
/// one. Content stays as it is written: a number may be larger than any that we
/// can hold.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// Stable: decide on it.
    pub code: Option<String>,
    /// For people.
    pub detail: Option<String>,
    pub answered_by: Option<String>,
    pub status_given: Option<String>,
    pub responded_at: Option<String>,
    pub feedback: Option<String>,
    pub edited_content: Option<Box<RawValue>>,
}

/// A JSON object whose members are not yet read.
type Members = BTreeMap<String, Box<RawValue>>;

/// A member, if it is there, is not null and is of this type.
fn read<T: DeserializeOwned>(members: &Members, name: &str) -> Option<T> {
    serde_json::from_str::<Option<T>>(members.get(name)?.get()).ok()?
}

impl Reply {
    /// Why it was refused. A member that is not of the type we write is left out,
    /// and the others are read all the same.
    pub fn problem(&self) -> Problem {
        let members: Members = serde_json::from_slice(&self.body).unwrap_or_default();
        Problem {
            code: read(&members, "code"),
            detail: read(&members, "detail"),
            answered_by: read(&members, "answered_by"),
            status_given: read(&members, "status_given"),
            responded_at: read(&members, "responded_at"),
            feedback: read(&members, "feedback"),
            edited_content: read(&members, "edited_content"),
        }
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
        let way = Way {
            ca_pem: ca_pem.map(<[u8]>::to_vec),
            socket: None,
        };
        Server::by(way, base, token)
    }

    /// A server on this machine, through the socket in its data directory.
    pub fn on_socket(socket: &Path, token: Option<String>) -> Result<Server, ServerFault> {
        let way = Way {
            ca_pem: None,
            socket: Some(socket.to_owned()),
        };
        Server::by(way, "http://localhost".to_owned(), token)
    }

    fn by(way: Way, base: String, token: Option<String>) -> Result<Server, ServerFault> {
        Ok(Server {
            client: way.builder()?.build().map_err(ServerFault::Client)?,
            way,
            base,
            token,
        })
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// The key or token that requests carry.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    fn unreachable(&self, error: reqwest::Error) -> ServerFault {
        ServerFault::Unreachable {
            base: self.base.clone(),
            error,
        }
    }

    /// Asks for a connection to become something else than HTTP; gives the
    /// answer, from which it can be had. Only HTTP/1.1 can do this.
    pub(crate) async fn upgrade(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<reqwest::Response, ServerFault> {
        let client = self.way.builder()?.http1_only().build();
        let client = client.map_err(ServerFault::Client)?;
        let mut request = client.get(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request
            .send()
            .await
            .map_err(|error| self.unreachable(error))
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
        let unreachable = |error| self.unreachable(error);
        let mut response = request.send().await.map_err(unreachable)?;
        let retry_after = response.headers().get("retry-after");
        let retry_after_seconds = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > ANSWER_BYTES {
                let base = self.base.clone();
                return Err(ServerFault::TooLong { base });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply {
            status: response.status().as_u16(),
            retry_after_seconds,
            body,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(body: &str) -> Problem {
        let reply = Reply {
            status: 409,
            retry_after_seconds: None,
            body: body.into(),
        };
        reply.problem()
    }

    #[test]
    fn a_member_of_a_wrong_type_hides_no_other() {
        let found = problem(
            r#"{"code":7,"detail":"Bob was first.","answered_by":["bob"],"status_given":"approved",
                "responded_at":null,"feedback":{},"edited_content":{"n":1e999}}"#,
        );
        assert_eq!(found.code, None);
        assert_eq!(found.detail.as_deref(), Some("Bob was first."));
        assert_eq!(found.answered_by, None);
        assert_eq!(found.status_given.as_deref(), Some("approved"));
        assert_eq!(found.responded_at, None);
        assert_eq!(found.feedback, None);
        let edited = found.edited_content.map(|raw| raw.get().to_owned());
        assert_eq!(edited.as_deref(), Some(r#"{"n":1e999}"#));
    }

    #[test]
    fn what_is_no_object_says_nothing() {
        for body in ["", "null", "[1]", "<html>", r#"{"detail":"#] {
            assert_eq!(problem(body).detail, None, "{body}");
        }
        assert!(
            problem(r#"{"edited_content":null}"#)
                .edited_content
                .is_none()
        );
    }
}
