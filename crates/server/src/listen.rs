//! Connections: accepted, protected, served, and let go at the end.

use std::{
    convert::Infallible,
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{body::Body, http::Response, serve::Listener};
use hyper::{
    Request,
    body::Incoming,
    rt::{Read, Sleep, Timer, Write},
    server::conn::{http1, http2},
    service::Service,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// A client that sends no request holds a connection for this long at most.
const HEADER_TIME: Duration = Duration::from_secs(15);
/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 256;

/// A certificate and its key, ready to protect connections.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// From a chain of certificates and a private key, both as PEM.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> io::Result<Tls> {
        let chain = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(io::Error::other)?;
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

/// Serves what connects until `stop` ends; then lets requests in flight take
/// `grace` more. Every connection gets a service of its own from `greet`.
pub async fn listen<L, S>(
    mut listener: L,
    tls: Option<Tls>,
    greet: impl Fn(&L::Addr) -> S,
    stop: impl Future<Output = ()>,
    grace: Duration,
) where
    L: Listener,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let (stopping, stopped) = watch::channel(());
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let service = greet(&address);
        let stopped = stopped.clone();
        match tls.clone() {
            Some(tls) => drop(tokio::spawn(protect(stream, tls, service, stopped))),
            None => drop(tokio::spawn(http1(TokioIo::new(stream), service, stopped))),
        }
    }
    drop((listener, stopped));
    let _ = stopping.send(());
    // Every connection holds a receiver until it ends.
    let ended = tokio::time::timeout(grace, stopping.closed()).await;
    if ended.is_err() {
        tracing::warn!("requests were still in flight at the end");
    }
}

async fn protect<S>(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    tls: Tls,
    service: S,
    stopped: Stopped,
) where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    // Who does not speak TLS, or not in time, is no one's failure but theirs.
    let Ok(Ok(stream)) = tokio::time::timeout(HEADER_TIME, tls.0.accept(stream)).await else {
        return;
    };
    match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => http2(TokioIo::new(stream), service, stopped).await,
        _ => http1(TokioIo::new(stream), service, stopped).await,
    }
}

async fn http1<S>(io: impl Read + Write + Send + Unpin + 'static, service: S, stopped: Stopped)
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send,
    S::Future: Send,
{
    let connection = http1::Builder::new()
        .timer(Patience::default())
        .header_read_timeout(HEADER_TIME)
        .serve_connection(io, service)
        .with_upgrades();
    drive(
        connection,
        http1::UpgradeableConnection::graceful_shutdown,
        stopped,
    )
    .await;
}

async fn http2<S>(io: impl Read + Write + Send + Unpin + 'static, service: S, stopped: Stopped)
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .serve_connection(io, service);
    drive(connection, http2::Connection::graceful_shutdown, stopped).await;
}

type Stopped = watch::Receiver<()>;

/// A connection until it ends; after `stopped` it takes no further request.
async fn drive<C: Future>(connection: C, finish: fn(Pin<&mut C>), mut stopped: Stopped) {
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        // A client that goes away in the middle is ordinary.
        _ = connection.as_mut() => return,
        _ = stopped.changed() => finish(connection.as_mut()),
    }
    let _ = connection.await;
}

/// The timer of one connection. hyper asks for a new sleep with every request
/// and drops it when the request is there; to enter and leave the runtime's
/// timers each time cost as much as reading the request. Here one alarm stays
/// set: it goes off once per [`HEADER_TIME`], and is set again if whoever
/// waits then has waited for less.
#[derive(Clone, Debug, Default)]
struct Patience(Arc<Mutex<Option<Alarm>>>);

type Alarm = Pin<Box<tokio::time::Sleep>>;

struct Wait {
    until: Instant,
    patience: Patience,
}

impl Timer for Patience {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, until: Instant) -> Pin<Box<dyn Sleep>> {
        let patience = self.clone();
        Box::pin(Wait { until, patience })
    }
}

impl Sleep for Wait {}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let until = tokio::time::Instant::from_std(self.until);
        let mut alarm = self
            .patience
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let alarm = alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        while alarm.as_mut().poll(context).is_ready() {
            if alarm.deadline() >= until {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(until);
        }
        Poll::Pending
    }
}
