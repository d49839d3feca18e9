//! A real HTTPS server for callbacks to go to. It answers as it is told and
//! keeps what it saw.

use std::{net::Ipv4Addr, path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, Method, Response, Uri},
};
use hyper_util::service::TowerToHyperService;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::Value;
use server::{
    crowd::Bounds,
    listen::{Tls, TlsMin, listen},
};
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

/// What to answer to one request.
pub enum Reply {
    Status(u16),
    Header(u16, &'static str, String),
    /// 200 with this.
    Json(Value),
    /// Never.
    Hang,
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Seen {
    /// A header that must be there exactly once.
    pub fn header(&self, name: &str) -> &str {
        let values: Vec<_> = self.headers.get_all(name).iter().collect();
        assert_eq!(values.len(), 1, "{name} in {:?}", self.headers);
        values[0].to_str().unwrap()
    }
}

/// A certificate that vouches for itself, and its key.
pub struct Identity {
    pub directory: TempDir,
    certificate: String,
    key: String,
}

impl Identity {
    pub fn of(names: &[&str]) -> Identity {
        Identity::made(names, IsCa::NoCa)
    }

    /// For this machine, with a certificate that is meant to sign others.
    pub fn authority() -> Identity {
        Identity::made(&["localhost"], IsCa::Ca(BasicConstraints::Unconstrained))
    }

    fn made(names: &[&str], is_ca: IsCa) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.is_ca = is_ca;
        let key = KeyPair::generate().unwrap();
        let identity = Identity {
            directory: tempfile::tempdir().unwrap(),
            certificate: params.self_signed(&key).unwrap().pem(),
            key: key.serialize_pem(),
        };
        std::fs::write(identity.certificate_file(), &identity.certificate).unwrap();
        std::fs::write(identity.key_file(), &identity.key).unwrap();
        identity
    }

    /// For this machine under all its own names.
    pub fn local() -> Identity {
        Identity::of(&["localhost", "127.0.0.1", "::1"])
    }

    pub fn certificate_file(&self) -> PathBuf {
        self.directory.path().join("certificate.pem")
    }

    pub fn key_file(&self) -> PathBuf {
        self.directory.path().join("key.pem")
    }
}

pub struct Receiver {
    pub port: u16,
    pub identity: Identity,
    seen: mpsc::UnboundedReceiver<Seen>,
    /// It listens until this is dropped.
    _open: oneshot::Sender<()>,
}

impl Receiver {
    /// Answers every request with this status.
    pub async fn start(status: u16) -> Receiver {
        Receiver::answering(move |_| Reply::Status(status)).await
    }

    pub async fn answering(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Receiver {
        Receiver::with_identity(Identity::local(), reply).await
    }

    pub async fn with_identity(
        identity: Identity,
        reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Receiver {
        super::install_tls();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, seen) = mpsc::unbounded_channel();
        let reply = Arc::new(reply);
        let service = Router::new().fallback(
            move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
                let (sender, reply) = (sender.clone(), reply.clone());
                async move {
                    let request = Seen {
                        method,
                        path: uri.path().to_owned(),
                        headers,
                        body,
                    };
                    let reply = reply(&request);
                    let _ = sender.send(request);
                    answer(reply).await
                }
            },
        );
        let (certificate, key) = (&identity.certificate, &identity.key);
        let oldest = TlsMin::default();
        let tls = Tls::from_pem_since(oldest, certificate.as_bytes(), key.as_bytes()).unwrap();
        let greet = move |_: &_, _: &_| TowerToHyperService::new(service.clone());
        let (open, closed) = oneshot::channel::<()>();
        let end = async move { _ = closed.await };
        let (bounds, origin) = (Bounds::new(Bounds::MOST, Bounds::MOST), |_: &_| None);
        tokio::spawn(async move {
            listen(
                bounds,
                listener,
                Some(tls),
                origin,
                greet,
                end,
                Duration::ZERO,
            )
            .await
        });
        Receiver {
            port,
            identity,
            seen,
            _open: open,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// The next request; fails if none comes.
    pub async fn next(&mut self) -> Seen {
        self.next_within(Duration::from_secs(10)).await
    }

    pub async fn next_within(&mut self, time: Duration) -> Seen {
        let next = tokio::time::timeout(time, self.seen.recv()).await;
        next.expect("no callback came").unwrap()
    }

    /// Whether everything that came was looked at.
    pub fn saw_nothing_more(&mut self) -> bool {
        self.seen.try_recv().is_err()
    }
}

async fn answer(reply: Reply) -> Response<Body> {
    let response = Response::builder();
    let response = match reply {
        Reply::Status(status) => response.status(status),
        Reply::Header(status, name, value) => response.status(status).header(name, value),
        Reply::Json(body) => {
            let response = response.header("content-type", "application/json");
            return response.body(Body::from(body.to_string())).unwrap();
        }
        Reply::Hang => std::future::pending().await,
    };
    response.body(Body::empty()).unwrap()
}
